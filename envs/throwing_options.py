"""What `reset(options=...)` of the ball-throwing tasks may say, read and checked before anything is changed."""

from __future__ import annotations

from typing import Any

import numpy as np


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
