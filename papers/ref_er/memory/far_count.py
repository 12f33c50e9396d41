"""How many remembered steps are far-policy: always exact, though the whole memory is seldom counted.

ReF-ER needs the number after every gradient step, which renews a few hundred importance weights among many thousands.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LOW, HIGH, NEAREST_LOW, NEAREST_HIGH = range(4)
"""What `FarCount.bounds` holds: those of the last full count, and the near steps' smallest and largest rho since."""


class FarCount:
    """The number of steps with rho <= 1/c_max or rho >= c_max among those of an array rho [slots].

    Counted in full once, then updated by what `put` replaces, until a bound has moved past some step's rho (c_max is
    annealed towards 1) or away from 1. Free slots have rho = 1, so they count as near.
    """

    def __init__(self, rho: np.ndarray):
        self.rho, self.far = rho, 0
        self.bounds = np.array([np.inf, -np.inf, 1.0, 1.0], np.float32)  # no count yet: nothing lies inside

    def put(self, slots: np.ndarray, rho: np.ndarray) -> None:
        """New importance weights [n] of the steps in `slots` [n]."""
        self.far += _put(self.rho, slots, rho, self.bounds)

    def count(self, c_max: float, first: int, used: int) -> int:
        """The number, for the `used` slots from `first` on, with wrap-around at the end of the array."""
        low, high = np.float32(1.0 / c_max), np.float32(c_max)
        moved_in = low >= self.bounds[LOW] and high <= self.bounds[HIGH]
        if not (moved_in and low < self.bounds[NEAREST_LOW] and high > self.bounds[NEAREST_HIGH]):
            self.bounds[:] = low, high, 1.0, 1.0
            self.far = _count(self.rho, first, used, self.bounds)
        return self.far


@njit(cache=True)
def _put(all_rho, slots, rho, bounds):
    """Replace rho; returns the change in the number of far steps."""
    change = 0
    for i in range(slots.size):
        slot = slots[i]
        old = all_rho[slot]
        change -= (old <= bounds[LOW]) | (old >= bounds[HIGH])
        all_rho[slot] = rho[i]
        new = all_rho[slot]
        if (new <= bounds[LOW]) | (new >= bounds[HIGH]):
            change += 1
        else:
            bounds[NEAREST_LOW] = min(bounds[NEAREST_LOW], new)
            bounds[NEAREST_HIGH] = max(bounds[NEAREST_HIGH], new)
    return change


@njit(cache=True)
def _count(rho, first, used, bounds):
    """The number of far steps; the near ones' smallest and largest rho go into `bounds`."""
    far = 0
    for i in range(used):
        slot = first + i
        x = rho[slot if slot < rho.size else slot - rho.size]
        if (x <= bounds[LOW]) | (x >= bounds[HIGH]):
            far += 1
        else:
            bounds[NEAREST_LOW] = min(bounds[NEAREST_LOW], x)
            bounds[NEAREST_HIGH] = max(bounds[NEAREST_HIGH], x)
    return far
