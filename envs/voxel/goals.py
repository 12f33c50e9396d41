"""Goals of the construction task: every hollow rectangle that an arena has room for."""

from __future__ import annotations

import numpy as np

from envs.voxel.kernels import MATERIALS


def hollow_rectangles(
    size: int, height: int, sides: tuple[int, int], heights: tuple[int, int], most_blocks: int
) -> np.ndarray:
    """All goals: uint8 [number, height, size, size], cells as in a state.

    Each is one block thick, of one of the materials, `heights` high and `sides` long (both: from, to), at any place on
    the ground, and has at most `most_blocks` blocks. ValueError for what does not fit, or if no goal is left.
    """
    (shortest, longest), (lowest, highest) = sides, heights
    if not 3 <= shortest <= longest:
        raise ValueError(f"sides must be from, to with 3 <= from <= to, not {sides}: below 3, nothing is hollow")
    if longest > size:
        raise ValueError(f"the arena of {size} x {size} cells is too small for goals with sides of up to {longest}")
    if not 1 <= lowest <= highest <= height:
        raise ValueError(f"heights must be from, to within 1 to {height}, the arena's height, not {heights}")
    fewest = 4 * (shortest - 1) * lowest
    if most_blocks < fewest:
        raise ValueError(f"no goal has at most {most_blocks} blocks: the smallest has {fewest}")
    goals = []
    for level in range(lowest, highest + 1):
        for wide in range(shortest, longest + 1):
            for deep in range(shortest, longest + 1):
                if 2 * (wide + deep - 2) * level > most_blocks:
                    continue
                for y in range(size - deep + 1):
                    for x in range(size - wide + 1):
                        goal = np.zeros((height, size, size), np.uint8)
                        goal[:level, y : y + deep, x : x + wide] = 1
                        goal[:level, y + 1 : y + deep - 1, x + 1 : x + wide - 1] = 0
                        goals.append(goal)
    shapes = np.stack(goals)
    return np.concatenate([shapes * np.uint8(material) for material in range(1, MATERIALS + 1)])
