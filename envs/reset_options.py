"""Checks of what `reset` is given, in every environment and vector environment, before anything changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode


def check_names(options: dict[str, Any] | None, right: tuple[str, ...]) -> None:
    """ValueError for options of `reset` that are not in `right`."""
    if unknown := (options or {}).keys() - set(right):
        choices = f"choose from: {', '.join(right)}" if right else "there are none"
        raise ValueError(f"unknown reset options {sorted(map(str, unknown))}; {choices}")


def asked_array(name: str, value: Any, shapes: tuple[tuple[int, ...], ...], dtype: Any) -> np.ndarray:
    """Return a copy of `value` as an array of `dtype`. ValueError unless it has one of the `shapes` and consists of
    finite numbers that `dtype` can hold: whole ones for a type of integers."""
    with np.errstate(all="ignore"):  # what does not fit is reported below
        try:
            asked = np.asarray(value, np.float64)
            array = asked.astype(dtype)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be numbers, not {shown(value)}") from None
    if asked.shape not in shapes:
        raise ValueError(f"{name} must have the shape {' or '.join(map(str, shapes))}, not {asked.shape}")
    if not np.isfinite(array).all() or (array.dtype.kind in "iu" and (array != asked).any()):
        kind = f"numbers of the type {array.dtype}" if array.dtype.kind in "iu" else "finite numbers"
        raise ValueError(f"{name} must be {kind}, not {shown(value)}")
    return array


def asked_number(name: str, options: dict[str, Any] | None, low: float, high: float) -> None:
    """ValueError if `options` set `name` to anything but a number from `low` to `high`."""
    if options and name in options and not low <= float(asked_array(name, options[name], ((),), np.float64)) <= high:
        raise ValueError(f"{name} must lie in [{low}, {high}], not {options[name]!r}")


def asked_goals(options: dict[str, Any], *shapes: tuple[int, ...]) -> np.ndarray | None:
    """Return a float32 copy of `options["goal"]`, or None without one. ValueError unless it has one of the `shapes`,
    whose last axis is x and y, and lies within the unit square."""
    if "goal" not in options:
        return None
    goals = asked_array("goal", options["goal"], shapes, np.float32)
    if not ((goals >= 0) & (goals <= 1)).all():
        raise ValueError(f"goal must be x, y within the unit square, not {shown(options['goal'])}")
    return goals


def asked_truths(name: str, value: Any, n: int | None) -> list[bool]:
    """Return a truth value for each of n episodes, or for the only one if n is None. ValueError unless `value` is one
    truth value, or n of them."""
    shapes = ((),) if n is None else ((), (n,))
    truths = np.asarray(value) if np.ndim(value) < 2 else np.empty(0)
    if truths.dtype != bool or truths.shape not in shapes:
        many = "" if n is None else f" or {n} of them"
        raise ValueError(f"{name} must be a truth value{many}, not {shown(value)}")
    return np.broadcast_to(truths, n or 1).tolist()


def shown(value: Any) -> str:
    """Show `value` in one line, shortened if need be."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:80]}..."


def autoreset_mode_of(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the mode of a vector environment in lock-step. ValueError unless it is NEXT_STEP or DISABLED."""
    ours, names = (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED), {one.value: one for one in AutoresetMode}
    if (found := names.get(mode, mode) if isinstance(mode, str) else mode) not in ours:
        right = " or ".join(map(str, ours))
        raise ValueError(
            f'autoreset_mode must be {right}, not {mode!r}; make_vec(..., vectorization_mode="sync") has the other one'
        )
    return found


def new_streams(
    streams: list[np.random.Generator], seed: int | Sequence[int | None] | None, mask: list[bool]
) -> list[np.random.Generator]:
    """Return the random streams of n episodes, one each, after a reset of those in `mask` [n].

    streams: those before the reset, [] at first. seed: a number (episode i gets seed + i), or n seeds, where None
    continues the stream, or None for all. ValueError for a wrong number of seeds or a first reset that leaves episodes
    out, and gymnasium's error for a bad seed.
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
            raise ValueError("the first reset must include all episodes")
        return [np_random(one)[0] for one in seeds]
    return [
        np_random(one)[0] if asked and one is not None else stream for one, asked, stream in zip(seeds, mask, streams)
    ]
