"""A builder that knows how: for each goal of `build.VoxelBuild`, a list of actions that builds it in an empty arena.

It walks backwards along the rectangle and places the blocks in front of its feet; for the last one, it steps inside. It
shows that every goal can be built in time, and what a successful episode looks like.
"""

from __future__ import annotations

import numpy as np

from envs.voxel.build import VoxelBuild
from envs.voxel.kernels import HEADING, HEADINGS, LOOK, PITCH, PITCHES, PLACE, TURNS, X, Y

STEEP, FLAT = PITCHES.tolist().index(60.0), PITCHES.tolist().index(45.0)
"""STEEP aims at the ground one cell ahead. So does FLAT if a block stands behind that; it also aims at
the top of a block ahead."""
Cell = tuple[int, int]


def plan(task: VoxelBuild, state: np.ndarray, goal: np.ndarray) -> list[int]:
    """Return actions that build `goal` [cells], a hollow rectangle, from a `state` without blocks, else ValueError."""
    cells, pose = state[: task.cells], state[task.cells :].tolist()
    cuboid = np.asarray(goal).reshape(task.height, task.size, task.size)
    zs, ys, xs = np.nonzero(cuboid)
    ring = _ring((int(xs.min()), int(ys.min())), (int(xs.max()), int(ys.max()))) if len(xs) else []
    level, material = (int(zs.max()) + 1, int(cuboid.max())) if len(xs) else (0, 0)
    whole = np.zeros_like(cuboid)
    for x, y in ring:
        whole[:level, y, x] = material
    if cells.any() or len(ring) < 8 or level > 2 or not (whole == cuboid).all():
        raise ValueError("the builder needs an empty arena, and a hollow rectangle of one material, 1 or 2 blocks high")
    walker = _Walker((pose[X], pose[Y]), pose[HEADING], pose[PITCH], PLACE + material - 1)
    ring, inside = min(_closings(ring), key=lambda closing: walker.steps_to(closing[0][1], closing[0][0]))
    walker.go(ring[1])
    for i in range(1, len(ring)):
        walker.go(ring[i])
        walker.face(ring[i - 1])
        walker.place(level, backed=i > 1 and _ahead(ring[i], ring[i - 1]) == ring[i - 2])
    walker.go(inside)
    walker.face(ring[-1])
    walker.place(level, backed=False)
    return walker.actions


def _ring(low: Cell, high: Cell) -> list[Cell]:
    """The cells of a rectangle in order, clockwise from its south-western corner."""
    (x, y), (to_x, to_y) = low, high
    west, north = [(x, v) for v in range(y, to_y)], [(u, to_y) for u in range(x, to_x)]
    return west + north + [(to_x, v) for v in range(to_y, y, -1)] + [(u, y) for u in range(to_x, x, -1)]


def _ahead(here: Cell, there: Cell) -> Cell:
    """The cell as far beyond `there` as `there` is from `here`."""
    return 2 * there[0] - here[0], 2 * there[1] - here[1]


def _closings(ring: list[Cell]) -> list[tuple[list[Cell], Cell]]:
    """Every order, either way round, that does not end at a corner, and the inner cell from which to place the last."""
    found = []
    for way in (ring, ring[::-1]):
        for i in range(len(way)):
            order = way[i:] + way[:i]
            (x, y), (_, first_y), before = order[-1], order[0], order[-2]
            if _ahead(before, (x, y)) != order[0]:
                continue
            xs, ys = [cell[0] for cell in ring], [cell[1] for cell in ring]
            if first_y == y:
                found.append((order, (x, y + (1 if y == min(ys) else -1))))
            else:
                found.append((order, (x + (1 if x == min(xs) else -1), y)))
    return found


class _Walker:
    """Keeps track of where the agent is after its `actions`, as long as nothing is in its way."""

    def __init__(self, at: Cell, heading: int, pitch: int, place: int):
        self.at, self.heading, self.pitch, self.put = at, heading, pitch, place
        self.actions: list[int] = []

    def steps_to(self, at: Cell, facing: Cell) -> int:
        """Number of actions until it stands there and looks that way."""
        twin = _Walker(self.at, self.heading, self.pitch, self.put)
        twin.go(at)
        twin.face(facing)
        return len(twin.actions)

    def go(self, to: Cell) -> None:
        """Walk straight along each axis, after a turn by 45 degrees if the agent faces along a diagonal."""
        if self.at == to:
            return
        if self.heading % 2:
            self._turn(1)
        for axis in (0, 1):
            away = to[axis] - self.at[axis]
            heading = next(h for h in (0, 2, 4, 6) if HEADINGS[h][axis] == np.sign(away)) if away else 0
            side = (heading - self.heading) % 8 // 2
            self.actions += [side + 4] * (abs(away) // 2) + [side] * (abs(away) % 2)
        self.at = to

    def face(self, cell: Cell) -> None:
        """Turn to a neighbouring cell."""
        wanted = (cell[0] - self.at[0], cell[1] - self.at[1])
        by = ([tuple(heading) for heading in HEADINGS.tolist()].index(wanted) - self.heading + 3) % 8 - 3  # -3 to 4
        while by:
            one = max(-2, min(2, by))
            self._turn(one)
            by -= one

    def place(self, level: int, backed: bool) -> None:
        """Place a column of `level` blocks on the ground ahead; backed: one already stands behind it."""
        if not (backed and self.pitch == FLAT):
            self._look(STEEP)
        self.actions.append(self.put)
        if level == 2:
            self._look(FLAT)
            self.actions.append(self.put)

    def _turn(self, eighths: int) -> None:
        self.actions.append(8 + TURNS.tolist().index(eighths))
        self.heading = (self.heading + eighths) % 8

    def _look(self, pitch: int) -> None:
        if self.pitch != pitch:
            self.actions.append(LOOK + pitch)
            self.pitch = pitch
