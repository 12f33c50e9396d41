"""Layouts of the point mazes: where the passages between neighbouring cells are.

Each is a pair of arrays `right, up`: bool [width - 1, height], passages between the cells (x, y) and (x + 1, y), and
bool [width, height - 1], passages between (x, y) and (x, y + 1).
"""

from __future__ import annotations

import numpy as np

from envs.maze.physics import LARGEST

Layout = tuple[np.ndarray, np.ndarray]

RIGHT = "011111101 100101010 010101001 100000010 010101010 111110011 000000100 110010111 001110101 110101110"
"""The paper's maze: a row of cells per word, the top row first; 1 is a passage to the right neighbour."""
UP = "1010000011 0111010100 1011001110 0111111101 1101001101 0100011101 1111101010 1101100100 1011011011"
"""The same for passages to the upper neighbour; the top row has none."""


def paper_layout() -> Layout:
    """10 x 10 cells, any two joined by exactly one path. This is the maze of Fig. 3."""
    right, up = (np.array([[bit == "1" for bit in row] for row in rows.split()[::-1]]).T for rows in (RIGHT, UP))
    return right, up


def corridor_layout(length: int) -> Layout:
    """length + 1 cells in a row. ValueError for a length below 1."""
    _check("length", length, 1)
    return np.ones((length, 1), bool), np.ones((length + 1, 0), bool)


def u_layout(length: int) -> Layout:
    """From (0, 0) `length` cells to the right, two up, `length` back to (0, 2). ValueError for a length below 1."""
    _check("length", length, 1)
    right, up = np.zeros((length, 3), bool), np.zeros((length + 1, 2), bool)
    right[:, [0, 2]] = up[length] = True
    return right, up


def tree_layout(size: int, seed: int) -> Layout:
    """size x size cells, any two joined by exactly one path: a random maze for each seed.

    The maze grows from (0, 0): again and again, all cells that are still solid are visited in a random order, and each
    with neighbours in the maze joins it by a passage to a random one of them. ValueError for a size below 2, where
    there is nowhere to go, or a negative seed.
    """
    _check("size", size, 2)
    rng = np.random.default_rng(seed)
    right, up = np.zeros((size - 1, size), bool), np.zeros((size, size - 1), bool)
    grown, solid = {(0, 0)}, [(x, y) for x in range(size) for y in range(size)][1:]
    while solid:
        rng.shuffle(solid)
        for x, y in solid:
            near = [cell for cell in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)) if cell in grown]
            if near:
                other_x, other_y = near[rng.integers(len(near))]
                (right if other_y == y else up)[min(x, other_x), min(y, other_y)] = True
                grown.add((x, y))
        solid = [cell for cell in solid if cell not in grown]
    return right, up


def _check(name: str, value: int, smallest: int) -> None:
    if not smallest <= value < LARGEST:
        raise ValueError(f"{name} must be {smallest} to {LARGEST - 1}, not {value}")
