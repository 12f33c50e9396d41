"""Physics of the point mazes: where a point stops when pushed through a maze of thin walls.

Cell (x, y) is the unit square around the integers x and y. The lines between cells lie at the halves; each stretch of
them is either a passage or a wall.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

BACKOFF = 0.01
"""A point bounces back from a wall by a random distance of up to this."""
NEAREST = 1e-9
"""But at least by this: a point exactly on a wall would belong to the cell behind it."""
LARGEST = 1000
"""Most cells along a side of the maze: this far from 0, a float64 still resolves NEAREST."""


@njit(cache=True)
def _cell(coordinate):
    """Index of the cell that holds a coordinate, as a float: cell i is the interval [i - 0.5, i + 0.5)."""
    cell = np.floor(coordinate + 0.5)
    return cell - 1.0 if coordinate < cell - 0.5 else cell  # where the sum above was rounded up


@njit(cache=True)
def push(positions, displacements, backoff, vertical, horizontal, after):
    """Write where n points [n, 2] stop into `after`; return the number of the first impossible one, else -1.

    `vertical[i, y]`: whether row y has a passage through the line x = i - 0.5; `horizontal[x, j]`: whether column x
    has one through y = j - 0.5. A wall takes what is left of the displacement across it and leaves the one along it.
    So each direction is stopped at most once, and until then the point is, at the fraction t of its way, where it would
    be without walls: the lines it meets are found in order, without moving it from one to the next.
    """
    width, height = horizontal.shape[0], vertical.shape[1]
    for i in range(len(positions)):
        x, y = positions[i]
        dx, dy = displacements[i]
        back_x, back_y = backoff[i]
        column, row = _cell(x), _cell(y)
        if not (0.0 <= column < width and 0.0 <= row < height and 0.0 <= back_x <= 1.0 and 0.0 <= back_y <= 1.0):
            return i
        if not (math.isfinite(dx) and math.isfinite(dy)):
            return i
        cx, cy = int(column), int(row)
        if not (vertical[cx, cy] or vertical[cx + 1, cy] or horizontal[cx, cy] or horizontal[cx, cy + 1]):
            return i  # a cell without passages is solid
        end_x, end_y = x + dx, y + dy
        while True:
            step_x = 1 if end_x >= cx + 0.5 else (-1 if end_x < cx - 0.5 else 0)
            step_y = 1 if end_y >= cy + 0.5 else (-1 if end_y < cy - 0.5 else 0)
            if step_x == 0 and step_y == 0:
                break
            line_x, line_y = cx + 0.5 * step_x, cy + 0.5 * step_y
            if step_y == 0 or (step_x != 0 and (line_x - x) / dx <= (line_y - y) / dy):
                if vertical[cx + (step_x > 0), cy]:
                    cx += step_x
                else:
                    end_x = line_x - step_x * max(BACKOFF * back_x, NEAREST)
            elif horizontal[cx, cy + (step_y > 0)]:
                cy += step_y
            else:
                end_y = line_y - step_y * max(BACKOFF * back_y, NEAREST)
        after[i, 0], after[i, 1] = end_x, end_y
    return -1
