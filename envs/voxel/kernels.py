"""Physics of the voxel world: one step of n episodes, and their observations.

A state is a row of uint8: the cells, air (0) or a material (1 to 3), layer by layer, each row by row, so that cell
(x, y, z) is number (z * size + y) * size + x; then the eight numbers of the pose, see X to BAG. x counts to the east,
y to the north, z up. Below the arena is ground, which nothing can break.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

MATERIALS = 3
X, Y, Z, HEADING, PITCH, BAG = range(6)
"""Places in a pose. Z: of the feet, `height` on a full column. BAG: blocks left of the first material; then others."""
POSE = BAG + MATERIALS
HEADINGS = np.array([(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)])
"""[8, 2]: cells to the east and north in one step ahead, clockwise from the north."""
PITCHES = np.array([-30.0, 0.0, 30.0, 45.0, 60.0])
"""Degrees below the horizon."""
TURNS = np.array([-2, -1, 1, 2])
"""Eighths of a circle, clockwise."""
EYE, REACH = 1.62, 4.0
"""The eye's height above the feet, and how far from it a block can be broken or placed against, in cells."""

LOOK, BREAK, PLACE = 12, 17, 18
"""Actions 0 to 7 move, a % 4 quarters of a circle clockwise from ahead, 1 + a // 4 cells; 8 to 11 turn by TURNS; LOOK
and the four after it look at PITCHES; BREAK removes a block; PLACE and the two after it place one of each material."""
N_ACTIONS = PLACE + MATERIALS
FILLED, BROKEN, BODY = 1, 2, 3
"""Marks of cells in an observation: placing a block now would fill it; breaking would clear it; the agent is in it."""


def _path(pitch: float, straight: float) -> list[tuple[int, int]]:
    """Cells that a ray from the eye enters within REACH, as (columns ahead, layers above the feet), nearest first.

    straight: the length of a step ahead by one column, 1 or, along a diagonal, the square root of 2. A diagonal ray
    goes from column to column through the edge that they share, between the two others there.
    """
    fall = straight * math.tan(math.radians(pitch))  # per column
    length = straight / math.cos(math.radians(pitch))  # of the ray, per column
    columns, layers, at = 0, math.floor(EYE), 0.0
    cells = []
    while at * length <= REACH:
        cells.append((columns, layers))
        border = layers if fall > 0 else layers + 1
        level = (EYE - border) / fall if fall else math.inf  # where it leaves the layer
        if level < columns + 0.5:
            at, layers = level, layers - (1 if fall > 0 else -1)
        else:
            at, columns = columns + 0.5, columns + 1
    return cells


PATHS_AHEAD = [[_path(pitch, straight) for pitch in PITCHES] for straight in (1.0, math.sqrt(2.0))]
LENGTHS = np.array([[len(path) for path in paths] for paths in PATHS_AHEAD])
PATHS = np.zeros((*LENGTHS.shape, LENGTHS.max(), 2), np.int64)
"""[straight or diagonal, pitch, cell, 2]; the first LENGTHS[...] cells count."""
for _kind, _paths in enumerate(PATHS_AHEAD):
    for _pitch, _cells in enumerate(_paths):
        PATHS[_kind, _pitch, : len(_cells)] = _cells


@njit(cache=True)
def aim(cells, pose, size, height):
    """Follow the ray from the eye: number of the cell that BREAK clears, and of the one that PLACE fills, or -1.

    PLACE fills the last cell before what the ray meets, a block or the arena's ground, unless that cell is above the
    arena or the agent is in it. Beyond the border there is nothing to meet.
    """
    heading, pitch = pose[HEADING], pose[PITCH]
    before = -1
    for i in range(LENGTHS[heading % 2, pitch]):
        ahead, up = PATHS[heading % 2, pitch, i]
        x, y, z = pose[X] + ahead * HEADINGS[heading, 0], pose[Y] + ahead * HEADINGS[heading, 1], pose[Z] + up
        if not (0 <= x < size and 0 <= y < size):
            return -1, -1
        cell = (z * size + y) * size + x
        if z < 0:
            return -1, before
        if z < height and cells[cell] != 0:
            return cell, before
        before = cell if z < height and (ahead > 0 or up > 1) else -1
    return -1, -1


@njit(cache=True)
def _room(cells, x, y, z, size, height):
    """Whether an agent has room with its feet in (x, y, z): two free cells."""
    for level in range(z, min(z + 2, height)):
        if cells[(level * size + y) * size + x] != 0:
            return False
    return True


@njit(cache=True)
def _walk(cells, pose, dx, dy, size, height):
    """Walk to a neighbouring cell: level, or up onto one block; then down to firm ground. Else stand still."""
    x, y, z = np.int64(pose[X]), np.int64(pose[Y]), np.int64(pose[Z])
    to_x, to_y = x + dx, y + dy
    if not (0 <= to_x < size and 0 <= to_y < size):
        return
    for level in (z, z + 1):
        if (
            _room(cells, x, y, level, size, height)
            and _room(cells, to_x, to_y, level, size, height)
            and _room(cells, to_x, y, level, size, height)  # nobody squeezes diagonally between two blocks
            and _room(cells, x, to_y, level, size, height)
        ):
            while level > 0 and cells[((level - 1) * size + to_y) * size + to_x] == 0:
                level -= 1
            pose[X], pose[Y], pose[Z] = to_x, to_y, level
            return


@njit(cache=True)
def advance(states, actions, size, height):
    """Advance n states [n, size * size * height + POSE] by a step, in place; return the first impossible one, else -1.

    Those before it have been changed. An action that cannot be done changes nothing. No agent can break what it stands
    on: each ray leaves the agent's own column above its floor.
    """
    n_cells = size * size * height
    for i in range(len(states)):
        cells, pose, action = states[i, :n_cells], states[i, n_cells:], actions[i]
        inside = pose[X] < size and pose[Y] < size and pose[Z] <= height
        if not (inside and pose[HEADING] < 8 and pose[PITCH] < len(PITCHES) and 0 <= action < N_ACTIONS):
            return i
        if action < 8:
            dx, dy = HEADINGS[(pose[HEADING] + 2 * (action % 4)) % 8]
            for _ in range(1 + action // 4):
                _walk(cells, pose, dx, dy, size, height)
        elif action < LOOK:
            pose[HEADING] = (pose[HEADING] + TURNS[action - 8]) % 8
        elif action < BREAK:
            pose[PITCH] = action - LOOK
        elif action == BREAK:
            broken, _ = aim(cells, pose, size, height)
            if broken >= 0:
                if cells[broken] > MATERIALS:
                    return i
                pose[BAG + cells[broken] - 1] += 1
                cells[broken] = 0
        else:
            _, filled = aim(cells, pose, size, height)
            if filled >= 0 and pose[BAG + action - PLACE] > 0:
                pose[BAG + action - PLACE] -= 1
                cells[filled] = 1 + action - PLACE
    return -1


@njit(cache=True)
def describe(states, size, height, bag, out):
    """Write n observations float32 [n, ...] into `out`: see `build.VoxelBuild`. bag: blocks in a full one."""
    n_cells = size * size * height
    for i in range(len(states)):
        cells, pose, seen = states[i, :n_cells], states[i, n_cells:], out[i]
        seen[:n_cells] = cells
        seen[n_cells:] = 0.0
        marks = seen[n_cells:]
        broken, filled = aim(cells, pose, size, height)
        if broken >= 0:
            marks[broken] = BROKEN
        if filled >= 0:
            marks[filled] = FILLED
        for level in range(pose[Z], min(pose[Z] + 2, height)):
            marks[(level * size + pose[Y]) * size + pose[X]] = BODY
        at = 2 * n_cells
        for place, values in ((X, size), (Y, size), (Z, height + 1), (HEADING, 8), (PITCH, len(PITCHES))):
            seen[at + pose[place]] = 1.0
            at += values
        for k in range(MATERIALS):
            seen[at + k] = pose[BAG + k] / bag
