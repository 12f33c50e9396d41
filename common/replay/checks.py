"""Checks of all that a sampler is told and asked: errors are one line, and come before anything changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def _wrong(slots, values, stored):
    """What is wrong: slots outside 0 .. stored - 1 (1), values that are not finite (2), both (3), or nothing (0)."""
    outside = infinite = False
    for k in range(slots.size):  # no branch in the loops: a batch takes a tenth of the time of NumPy's calls
        outside |= (slots[k] < 0) | (slots[k] >= stored)
    for k in range(values.size):
        infinite |= not (values[k] - values[k] == 0.0)
    return outside + 2 * infinite


NO_SLOTS = np.empty(0, np.int64)


def checked(indices: Any, signals: Mapping[str, Any], *names: str, stored: int) -> tuple[np.ndarray, ...]:
    """Return the slots int64 [n] of a batch, and its signals `names`, float64 [n] each: every `update` begins here.

    Args:
        indices: whole numbers [n].
        signals: of the batch, as `Sampler.update` gets them.
        stored: number of filled slots: the first ones.

    Raises:
        ValueError: a signal is missing, not finite, or does not have one entry per slot.
        IndexError: a slot holds no transition.
        TypeError: slots are not whole numbers.
    """
    slots = whole(indices)
    found = [slots]
    for name in names:
        if name not in signals:
            raise ValueError(f"update() needs the signal {name!r}; it got: {', '.join(sorted(signals)) or 'nothing'}")
        column = flat(signals[name], np.float64)
        if column.size != slots.size:
            raise ValueError(f"the signal {name!r} has {column.size} entries for {slots.size} slots")
        if _wrong(slots, column, stored):
            _refuse(slots, name, column, stored)
        found.append(column)
    return tuple(found)


def all_finite(signals: Mapping[str, Any]) -> None:
    """ValueError if a signal is not finite: for samplers that read none, so that all samplers refuse the same."""
    for name, values in signals.items():
        column = flat(values, np.float64)
        if _wrong(NO_SLOTS, column, 0):
            _refuse(NO_SLOTS, name, column, 0)


def sizes(errors: Callable[[np.ndarray], np.ndarray], slots: np.ndarray) -> np.ndarray:
    """Return |TD errors| float64 [n] of `slots` [n] by today's networks. ValueError unless `errors` returns one finite
    number per slot."""
    found = np.asarray(errors(slots), np.float64)
    if found.shape != slots.shape:
        raise ValueError(f"errors must return one number per slot, {[*slots.shape]}, not {[*found.shape]}")
    all_finite({"errors": found})
    return np.abs(found)


def finite_return(value: float, what: str) -> float:
    """Return `value`, the return of `what`, such as "an episode". ValueError if it is not finite."""
    if not math.isfinite(value):
        raise ValueError(f"the return of {what} must be finite, not {value}")
    return float(value)


def at_least(least: float, **settings: float) -> None:
    """ValueError for a setting below `least`."""
    for name, value in settings.items():
        if not value >= least:
            raise ValueError(f"{name} must be at least {least}, not {value}")


def positive(**settings: float | None) -> None:
    """ValueError for a setting that is neither positive nor None."""
    for name, value in settings.items():
        if not (value is None or value > 0):
            raise ValueError(f"{name} must be positive, not {value}")


def flat(values: Any, dtype: type) -> np.ndarray:
    """Return `values` as [n], in one type and memory layout, so that each kernel is compiled exactly once."""
    array: np.ndarray = np.asarray(values, dtype)
    return array if array.ndim == 1 and array.flags.c_contiguous else np.ascontiguousarray(array).reshape(-1)


def drawable(n: int, stored: int) -> None:
    """ValueError unless a batch of `n` can be drawn from `stored` transitions, some more than once if need be."""
    if n < 1:
        raise ValueError(f"a batch has at least 1 transition, not {n}")
    if not stored:
        raise ValueError("nothing to draw: no transition has been added yet")


def whole(indices: Any) -> np.ndarray:
    """Return slots int64 [n]. TypeError if they are not whole numbers: 1.7 is not taken for 1, nor True for a slot."""
    slots = np.asarray(indices)
    if slots.dtype != np.int64 or slots.ndim != 1:
        if slots.size and slots.dtype.kind not in "iu":
            raise TypeError(f"slots must be whole numbers, not {slots.dtype}")
        slots = slots.astype(np.int64).reshape(-1)
    return slots


def _refuse(slots: np.ndarray, name: str, column: np.ndarray, stored: int) -> None:
    """Raise the error for what `_wrong` has found."""
    outside = slots[(slots < 0) | (slots >= stored)]
    if outside.size:
        raise IndexError(f"slot {outside[0]} holds no transition; slots run from 0 to {stored - 1}")
    place = int(np.flatnonzero(~np.isfinite(column))[0])
    raise ValueError(f"the signal {name!r} must be finite: its entry {place} is {column[place]}")
