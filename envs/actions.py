"""Checks of the actions that `step` is given, in every environment, before anything changes."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numba import njit

from envs.reset_options import shown


def whole_number(action: Any, n: int) -> int:
    """Return a discrete action as an int. ValueError unless it is a whole number from 0 to n - 1."""
    try:
        number = operator.index(action)
    except TypeError:
        number = -1
    if not 0 <= number < n:
        raise ValueError(f"an action is a whole number from 0 to {n - 1}, not {shown(action)}")
    return number


def whole_numbers(actions: Any, n: int, count: int, what: str = "actions") -> np.ndarray:
    """Return `count` discrete actions, int64 [count]. ValueError unless they are `count` whole numbers from 0 to n - 1.

    what: their name in the error.
    """
    numbers = np.asarray(actions)
    whole = numbers.shape == (count,) and (numbers.dtype.kind in "iu" or not count)
    numbers = numbers.astype(np.int64, copy=False) if whole else numbers
    if not whole or not _within(numbers, n):
        raise ValueError(f"{what} must be {count} whole numbers from 0 to {n - 1}, not {shown(actions)}")
    return numbers


def finite_numbers(action: Any, n: int) -> np.ndarray:
    """Return a continuous action, float64 [n]: a copy, or `action` itself. ValueError unless it is n finite numbers."""
    try:
        numbers = np.asarray(action, np.float64)
        # for three numbers, checking a list takes a tenth of NumPy's time
        if numbers.shape == (n,) and all(map(math.isfinite, numbers.tolist())):
            return numbers
    except (TypeError, ValueError):
        pass
    raise ValueError(f"an action must be {n} finite {'numbers' if n > 1 else 'number'}, not {shown(action)}")


def finite_rows(actions: Any, count: int, n: int) -> np.ndarray:
    """Return `count` continuous actions, float64 [count, n]; see `finite_numbers`."""
    try:
        numbers = np.asarray(actions, np.float64)
        if numbers.shape == (count, n) and _finite(numbers):
            return numbers
    except (TypeError, ValueError):
        pass
    raise ValueError(f"actions must have shape {count, n} and be finite, not {shown(actions)}")


@njit(cache=True)
def _within(numbers, n):
    """Whether all of them are 0 to n - 1. In NumPy, this would cost as much as a step of games side by side."""
    for number in numbers:
        if number < 0 or number >= n:
            return False
    return True


@njit(cache=True)
def _finite(rows):
    for row in rows:
        for number in row:
            if not math.isfinite(number):
                return False
    return True
