"""What scores say: t intervals of means and differences, and the rules that read them.

*Intervals* are Student's and Welch's: from 3, 5 and 10 runs they cover the truth 93 to 97 times of 100
(tests/lab/judge/test_intervals.py simulates it), which the percentile bootstrap does not. Runs that share their random
streams are paired by seed.

*Rules* read an interval. "Not worse" and "the same" need a margin: a fifth of what the better side has gained over its
score before learning (`margin_of`), or a factor for ratios. "Better" is refuted inside that margin, too.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

LEVEL = 0.95
MARGIN = 0.2
"""Largest difference that counts as none, as a share of what the better side gained over its score before learning."""


def number(value: float, sign: str = "") -> str:
    """Format with three significant digits, without an exponent for usual sizes; sign "+" always prints the sign."""
    return f"{value:{sign},.0f}" if abs(value) >= 999.5 else f"{value:{sign}.3g}"


# ---- intervals -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """An estimate with a t distribution: value, standard error (NaN for a single run) and degrees of freedom."""

    value: float
    error: float
    freedom: float
    seeds: int

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """(low, high) that covers the truth with this probability; (-inf, inf) for a single run."""
        if self.seeds < 2:
            return -np.inf, np.inf
        if self.error == 0:
            return self.value, self.value
        half = float(stdtrit(self.freedom, 0.5 + level / 2)) * self.error  # Student's quantile
        return self.value - half, self.value + half


def mean_of(x: ArrayLike) -> Estimate:
    """Mean of independent runs x (runs,), by Student's t."""
    values = np.asarray(x, dtype=np.float64)
    n = len(values)
    error = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return Estimate(float(values.mean()), error, max(n - 1, 1), n)


def difference(x: ArrayLike, y: ArrayLike, *, paired: bool = False) -> Estimate:
    """mean(x) - mean(y) over runs (runs,).

    By Welch's t for two independent sets of runs; `paired`: x[i] and y[i] share their random streams (one seed), so
    pass only seeds that both have. ValueError for paired runs of different number.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if paired:
        if len(first) != len(second):
            raise ValueError(f"{len(first)} and {len(second)} runs cannot be paired")
        return mean_of(first - second)
    n = min(len(first), len(second))
    value = float(first.mean() - second.mean())
    if n < 2:
        return Estimate(value, np.nan, 1, n)
    a, b = (values.var(ddof=1) / len(values) for values in (first, second))
    if a + b == 0:
        return Estimate(value, 0.0, 1, n)
    freedom = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1))  # Welch-Satterthwaite
    return Estimate(value, float(np.sqrt(a + b)), float(freedom), n)


# ---- rules: what an interval says ------------------------------------------------------------------------------------

Rule = Callable[[float, float], str]
"""(low, high) -> reproduced, not reproduced or inconclusive."""


def above(limit: float = 0.0, size: float = 0.0) -> Rule:
    """It is more than `limit`. Refuted if it is less, or if the interval lies within `size` of `limit`: otherwise a
    difference that does not exist could never be refuted."""

    def rule(low: float, high: float) -> str:
        if low > limit:
            return "reproduced"
        return "not reproduced" if high < limit or (limit - size < low and high < limit + size) else "inconclusive"

    return rule


def below(limit: float = 0.0, size: float = 0.0) -> Rule:
    """It is less than `limit`; otherwise as `above`."""
    return lambda low, high: above(-limit, size)(-high, -low)


def not_worse(margin: float) -> Rule:
    """It is at worst `margin` below 0: inside reproduced, wholly outside not reproduced."""
    return above(-margin)


def same(margin: float) -> Rule:
    """It is 0 to within `margin`: inside reproduced, wholly outside (on either side) not reproduced."""

    def rule(low: float, high: float) -> str:
        if -margin < low and high < margin:
            return "reproduced"
        return "not reproduced" if low > margin or high < -margin else "inconclusive"

    return rule


def apart(margin: float) -> Rule:
    """It is further from 0 than `margin`, on either side."""
    opposite = {"reproduced": "not reproduced", "not reproduced": "reproduced"}
    return lambda low, high: opposite.get(status := same(margin)(low, high), status)


def margin_of(*gains: float) -> float:
    """Margin for "not worse" and "the same", from the gains of both sides over their scores before learning."""
    return MARGIN * max(0.0, *gains)


def p_value(estimate: Estimate, rule: Rule) -> float:
    """Smallest error level at which the rule still decides as it does at `LEVEL`, found by bisection, as intervals are
    nested. Where it does not decide there: at which it decides; 1 if never.

    A wider interval may reach the limit and lie within the margin: "more" at one level, "no more" at a stricter one.
    """
    if rule(*estimate.interval(0.0)) == "inconclusive":
        return 1.0
    if estimate.error == 0:
        return 0.0
    found = rule(*estimate.interval())
    decided = found != "inconclusive"
    low, high = (0.0, 1 - LEVEL) if decided else (1 - LEVEL, 1.0)  # error levels; decided so at `high`
    for _ in range(50):
        middle = (low + high) / 2
        holds = (rule(*estimate.interval(1 - middle)) == found) == decided
        low, high = (low, middle) if holds else (middle, high)
    return high
