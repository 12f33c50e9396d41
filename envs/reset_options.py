"""What `reset` of tasks with goals, and of their vector environments, may be told: read and checked before anything is
changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random


def check_names(options: dict[str, Any], right: tuple[str, ...]) -> None:
    """ValueError for options of `reset` that there are not."""
    if unknown := options.keys() - set(right):
        raise ValueError(f"unknown reset options {sorted(unknown)}: right are {', '.join(right[:-1])} and {right[-1]}")


def asked_goals(options: dict[str, Any], *shapes: tuple[int, ...]) -> np.ndarray | None:
    """A copy, float32, of `options["goal"]`, None without. ValueError unless it has one of the `shapes`, the last of
    which is two for x and y, and lies within the unit square."""
    if "goal" not in options:
        return None
    goals = np.array(options["goal"], np.float32)
    if goals.shape not in shapes or not ((goals >= 0) & (goals <= 1)).all():
        raise ValueError(f"goal must be x, y within the unit square, not {options['goal']!r}")
    return goals


def asked_truths(name: str, value: Any, n: int) -> list[bool]:
    """One truth value for each of n episodes. ValueError unless `value` is one, or n of them."""
    truths = np.asarray(value)
    if truths.dtype != bool or truths.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a truth value or {n} of them, not {value!r}")
    return np.broadcast_to(truths, n).tolist()


def new_streams(
    streams: list[np.random.Generator], seed: int | Sequence[int | None] | None, mask: list[bool]
) -> list[np.random.Generator]:
    """The random streams of n episodes, one each, after a reset of those in `mask` [n]; `streams`: those before it, []
    at first. seed: episode i gets seed + i; or n seeds, where None goes on with the stream; None for all.

    ValueError, or gymnasium's for a bad seed.
    """
    n = len(mask)
    seeds: list[int | None]
    if seed is None or isinstance(seed, int):
        seeds = [None if seed is None else seed + i for i in range(n)]
    else:
        seeds = [None if one is None else int(one) for one in seed]
    if len(seeds) != n:
        raise ValueError(f"{len(seeds)} seeds for {n} episodes")
    if not streams:
        if not all(mask):
            raise ValueError("the first reset must be one of all episodes")
        return [np_random(one)[0] for one in seeds]
    return [
        np_random(one)[0] if asked and one is not None else stream for one, asked, stream in zip(seeds, mask, streams)
    ]
