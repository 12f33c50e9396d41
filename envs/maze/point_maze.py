"""Point mazes: a point walks through a maze of unit cells to a goal that no straight walk reaches.

    import gymnasium
    env = gymnasium.make("envs:PointMaze-v0")  # the 10 x 10 maze of the paper
    env = gymnasium.make("envs:Corridor-v0", length=10)  # or UMaze-v0
    env = gymnasium.make("envs:TreeMaze-v0", size=10, seed=0)  # random ones

The tasks are those of Trott et al., "Keeping your distance: solving sparse reward tasks using self-balancing shaped
rewards" (2019), Secs. 4 and B and App. F, "2D point maze navigation". The learner sees where the point and the goal
are, but never the walls: the distance to the goal leads it into dead ends right beside the goal.

Cell (x, y) is the unit square around the integers x and y; x points right and y up. Between two neighbours there is
either a passage or a thin wall.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from envs.goal_task import GoalEnv, GoalTask
from envs.maze.layouts import corridor_layout, paper_layout, tree_layout, u_layout
from envs.maze.physics import LARGEST, push

Cell = tuple[int, int]
"""(x, y)"""
START_MARGIN = 0.05
"""Distance that starts keep from walls."""
PICTURE, FINER = 480, 4
"""Longer side of a picture in pixels; how many times finer it is drawn, to smooth the edges."""
BORDER, THICK = 0.2, 0.06
"""What a picture shows around the maze, and the thickness of its walls, in cells."""
SOLID, FREE, WALL, POINT, GOAL = (235, 235, 235), (255, 255, 255), (60, 60, 60), (0, 114, 178), (213, 94, 0)
START_SQUARE, GOAL_SQUARE = (204, 227, 240), (247, 223, 204)


class PointMaze(GoalTask):
    """A maze of unit cells, with one start cell and one goal cell.

    State: float64 (x, y); observation: the same as float32; goal: float32 (x, y). An action is a displacement of up to
    0.95 along both axes. Walls stop the part of it that leads into them; the point slides along and bounces back from
    each by a random distance of up to 0.01, the only noise. Success: within 0.15 of the goal.
    """

    observation_shape = goal_shape = (2,)
    n_actions = 2
    action_range: float = 0.95
    tolerance = 0.15
    max_steps = 50

    def __init__(self, right: np.ndarray, up: np.ndarray, start: Cell, goal: Cell, goal_margin: float):
        """A maze of width x height cells; those without any passage are solid, all others must be connected.

        right: bool [width - 1, height], passages between (x, y) and (x + 1, y). up: bool [width, height - 1], between
        (x, y) and (x, y + 1). goal_margin: distance that goals keep from walls. ValueError for what makes no maze.
        """
        right, up = np.asarray(right, bool), np.asarray(up, bool)
        if right.ndim != 2 or up.ndim != 2 or (up.shape[0], right.shape[1]) != (right.shape[0] + 1, up.shape[1] + 1):
            shapes = f"{right.shape} and {up.shape}"
            raise ValueError(f"right and up must be [width - 1, height] and [width, height - 1], not {shapes}")
        self.width, self.height = up.shape[0], right.shape[1]
        if max(self.width, self.height) > LARGEST:
            raise ValueError(f"a maze has at most {LARGEST} cells along a side, not {max(self.width, self.height)}")
        if not 0 <= goal_margin < 0.5:
            raise ValueError(f"goal_margin must lie in [0, 0.5), not {goal_margin}: a cell reaches 0.5 from its centre")
        self._vertical = np.pad(right, ((1, 1), (0, 0)))
        self._horizontal = np.pad(up, ((0, 0), (1, 1)))
        solid = ~(self._vertical[1:] | self._vertical[:-1] | self._horizontal[:, 1:] | self._horizontal[:, :-1])
        self.cells = np.argwhere(~solid)
        """int64 [number of cells, 2]"""
        self.start_cell, self.goal_cell, self.goal_margin = start, goal, float(goal_margin)
        for name, cell in (("start", start), ("goal", goal)):
            if not self._has(cell):
                raise ValueError(f"the {name} cell {cell} lies outside of the maze")
        if lost := {(int(x), int(y)) for x, y in self.cells} - self._search(start).keys():
            raise ValueError(f"the maze is not connected: no way leads from {start} to {min(lost)}")

    # --- the task -----------------------------------------------------------------------------------------------------

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self._points(n, self.start_cell, START_MARGIN, rng)

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self._points(n, self.goal_cell, self.goal_margin, rng).astype(np.float32)

    def _points(self, n: int, cell: Cell, margin: float, rng: np.random.Generator) -> np.ndarray:
        """Draw uniformly in `cell`, again where a walk by `margin` off the centre, along both axes, hits a wall."""
        points = np.empty((n, 2))
        drawn = np.arange(n)
        while len(drawn):
            points[drawn] = cell + rng.uniform(-0.5, 0.5, (len(drawn), 2))
            outwards = margin * np.sign(points - cell)
            free = self.move(points, outwards, np.zeros((n, 2))) == points + outwards
            drawn = np.flatnonzero(~free.all(axis=1))
        return points

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        displacements = np.clip(actions, -self.action_range, self.action_range)
        return self.move(states, displacements, rng.random((len(states), 2)))

    def move(self, positions: np.ndarray, displacements: np.ndarray, backoff: np.ndarray) -> np.ndarray:
        """Return where n points [n, 2] are after `displacements` [n, 2]: float64 [n, 2].

        backoff: [n, 2] in [0, 1], the part of BACKOFF by which points bounce back from walls across x and across y.
        ValueError for points that are in no cell, or numbers that are not finite.
        """
        positions, displacements, backoff = (np.asarray(a, np.float64) for a in (positions, displacements, backoff))
        if not positions.shape == displacements.shape == backoff.shape == (len(positions), 2):
            shapes = f"{positions.shape}, {displacements.shape} and {backoff.shape}"
            raise ValueError(f"positions, displacements and backoff must be [n, 2], not {shapes}")
        after = np.empty_like(positions)
        i = push(positions, displacements, backoff, self._vertical, self._horizontal, after)
        if i >= 0:
            raise ValueError(f"cannot step from {positions[i]} by {displacements[i]} with the backoff {backoff[i]}")
        return after

    def observe(self, states: np.ndarray) -> np.ndarray:
        return states.astype(np.float32)

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return states.astype(np.float32)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        apart = np.subtract(a, b, dtype=np.float64)
        return np.hypot(apart[..., 0], apart[..., 1])

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        low, high = np.array([[-0.5, -0.5], [self.width - 0.5, self.height - 0.5]], np.float32)
        return low, high, low, high

    def check(self, state: np.ndarray) -> None:
        """ValueError unless the point is in a cell of the maze."""
        try:
            self.move(state[None], np.zeros((1, 2)), np.zeros((1, 2)))
        except ValueError:
            raise ValueError(f"the point {state.tolist()} lies in no cell of the maze") from None

    def contains(self, goal: np.ndarray) -> bool:
        return bool((np.abs(self.cells - goal).max(axis=1) <= 0.5).any())

    def picture(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Draw walls, the squares of start (blue) and goal (orange), the point, a circle where it meets its goal."""
        import pygame  # not needed for training

        left_edge, _, _, top_edge = self.extent
        scale = PICTURE * FINER / (max(self.width, self.height) + 2 * BORDER)

        def place(point) -> tuple[float, float]:  # on the canvas, where y points down
            return float(point[0] - left_edge + BORDER) * scale, float(top_edge + BORDER - point[1]) * scale

        def box(x: float, y: float, to_x: float, to_y: float, colour: tuple[int, int, int]) -> None:
            (left, bottom), (right, top) = (map(round, place(corner)) for corner in ((x, y), (to_x, to_y)))
            pygame.draw.rect(canvas, colour, (left, top, right - left, bottom - top))

        size = [round((side + 2 * BORDER) * scale / FINER) for side in (self.width, self.height)]
        canvas = pygame.Surface((size[0] * FINER, size[1] * FINER), depth=32)  # needs no display
        canvas.fill(SOLID)
        for x, y in self.cells:
            box(x - 0.5, y - 0.5, x + 0.5, y + 0.5, FREE)
        for (x, y), colour in ((self.start_cell, START_SQUARE), (self.goal_cell, GOAL_SQUARE)):
            box(x - 0.5, y - 0.5, x + 0.5, y + 0.5, colour)
        for (x, y), (to_x, to_y) in self.walls():
            box(x - THICK / 2, y - THICK / 2, to_x + THICK / 2, to_y + THICK / 2, WALL)
        pygame.draw.circle(canvas, GOAL, place(goal), self.tolerance * scale, round(0.04 * scale))
        pygame.draw.circle(canvas, POINT, place(state), 0.09 * scale)
        small = pygame.transform.smoothscale(canvas, size)
        return np.ascontiguousarray(pygame.surfarray.array3d(small).swapaxes(0, 1))

    # --- the maze -----------------------------------------------------------------------------------------------------

    @property
    def passages(self) -> int:
        """Number of passages between two cells; in a tree, one less than cells."""
        return int(self._vertical.sum() + self._horizontal.sum())

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """x from, x to, y from, y to."""
        return -0.5, self.width - 0.5, -0.5, self.height - 0.5

    def path(self, start: Cell, goal: Cell) -> list[Cell]:
        """Cells of a shortest path from `start` to `goal`, both included. ValueError for a cell outside the maze."""
        for cell in (start, goal):
            if not self._has(cell):
                raise ValueError(f"the cell {cell} lies outside of the maze")
        before = self._search(start)
        cells = [goal]
        while cells[-1] != start:
            cells.append(before[cells[-1]])
        return cells[::-1]

    def walls(self) -> np.ndarray:
        """Ends of every wall between two cells, or a cell and the outside: float64 [number of walls, 2, 2]."""
        open_ = np.zeros((self.width + 2, self.height + 2), bool)
        open_[self.cells[:, 0] + 1, self.cells[:, 1] + 1] = True
        upright = np.argwhere((open_[1:, 1:-1] | open_[:-1, 1:-1]) & ~self._vertical) - 0.5
        level = np.argwhere((open_[1:-1, 1:] | open_[1:-1, :-1]) & ~self._horizontal) - 0.5
        return np.concatenate([np.stack([a, a + step], axis=1) for a, step in ((upright, (0, 1)), (level, (1, 0)))])

    def _has(self, cell: Cell) -> bool:
        return bool((self.cells == cell).all(axis=1).any())

    def _search(self, start: Cell) -> dict[Cell, Cell]:
        """Map each reachable cell to the one before it on a shortest path from `start`, by breadth-first search."""
        before, queue = {start: start}, deque([start])
        while queue:
            x, y = queue.popleft()
            for passage, cell in (
                (self._vertical[x, y], (x - 1, y)),
                (self._vertical[x + 1, y], (x + 1, y)),
                (self._horizontal[x, y], (x, y - 1)),
                (self._horizontal[x, y + 1], (x, y + 1)),
            ):
                if passage and cell not in before:
                    before[cell] = (x, y)
                    queue.append(cell)
        return before


# ---- the mazes -------------------------------------------------------------------------------------------------------


def point_maze() -> PointMaze:
    """The paper's maze: 10 x 10 cells, 22 moves from the start cell to the goal cell."""
    return PointMaze(*paper_layout(), (0, 0), (9, 9), 0.175)


def corridor(length: int) -> PointMaze:
    """The goal is `length` cells straight ahead. ValueError for a length below 1."""
    return PointMaze(*corridor_layout(length), (0, 0), (length, 0), 0.1)


def u_maze(length: int) -> PointMaze:
    """The goal is 2 cells away behind a wall, and 2 length + 2 cells to walk. ValueError for a length below 1."""
    return PointMaze(*u_layout(length), (0, 0), (0, 2), 0.1)


def tree_maze(size: int, seed: int) -> PointMaze:
    """A random maze from corner to corner, see `tree_layout`. ValueError for a size below 2 or a negative seed."""
    return PointMaze(*tree_layout(size, seed), (0, 0), (size - 1, size - 1), 0.175)


def point_maze_env(render_mode: str | None = None) -> GoalEnv:
    """`point_maze`, one episode at a time."""
    return GoalEnv(point_maze(), render_mode)


def corridor_env(length: int = 10, render_mode: str | None = None) -> GoalEnv:
    """`corridor`, one episode at a time."""
    return GoalEnv(corridor(length), render_mode)


def u_maze_env(length: int = 10, render_mode: str | None = None) -> GoalEnv:
    """`u_maze`, one episode at a time."""
    return GoalEnv(u_maze(length), render_mode)


def tree_maze_env(size: int = 10, seed: int = 0, render_mode: str | None = None) -> GoalEnv:
    """`tree_maze`, one episode at a time."""
    return GoalEnv(tree_maze(size, seed), render_mode)
