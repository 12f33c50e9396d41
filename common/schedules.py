"""Schedules: values that change with time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial


def linear(start: float, end: float, steps: float) -> Callable[[float], float]:
    """Return a function of t (in the unit of `steps`): linear from `start` at t <= 0 to `end` at t >= `steps`.

    ValueError unless `steps` > 0. The schedule can be pickled.
    """
    if not steps > 0:
        raise ValueError(f"a schedule needs a positive number of steps, not {steps}")
    return partial(_linear, start, end, steps)


def _linear(start: float, end: float, steps: float, t: float) -> float:
    fraction = min(max(t / steps, 0.0), 1.0)
    return (1.0 - fraction) * start + fraction * end  # in this form it is exactly `end` at the end
