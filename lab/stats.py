"""Statistics of a handful of seeds: centres, bands, and bootstrap intervals that their seed decides.

Percentile intervals from few seeds are too short. On normal data the nominal 95 % interval of a mean covers 84 % of the
time from 5 seeds and 74 % from 3; that of a difference of two means 87 % and 79 %. Skewed scores do worse.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

BATCH = 1000  # resamples in memory at a time; fixed, as it decides the order in which random numbers are used
BANDS = ("mean-ci95", "mean-sd", "median-33-67", "mean-20-80")


def bootstrap_interval(
    x: ArrayLike, statistic: Callable = np.mean, level: float = 0.95, seed: int = 0, n: int = 10_000
) -> tuple:
    """Percentile bootstrap interval (low, high) of `statistic` over x's first axis; (nan, nan) below two values.

    `statistic` takes an `axis`. With x [seeds, steps], low and high are arrays [steps].
    """
    return _bootstrap((np.asarray(x, dtype=np.float64),), statistic, level, seed, n)


def difference_interval(
    x: ArrayLike, y: ArrayLike, level: float = 0.95, seed: int = 0, n: int = 10_000
) -> tuple[float, float]:
    """Percentile bootstrap interval of mean(x) - mean(y); x and y are independent samples (seeds are not paired)."""
    samples = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return _bootstrap(samples, lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis), level, seed, n)


def _bootstrap(samples: tuple, statistic: Callable, level: float, seed: int, n: int) -> tuple:
    if min(len(sample) for sample in samples) < 2:
        nan = np.full(samples[0].shape[1:], np.nan)[()]
        return nan, nan
    rng = np.random.default_rng(seed)
    options = dict(n_resamples=n, batch=BATCH, confidence_level=level, method="percentile", axis=0, rng=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # NaN in, NaN out
        interval = stats.bootstrap(samples, statistic, **options).confidence_interval
    return interval.low, interval.high


def band(values: ArrayLike, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(centre, low, high), each [steps], of curves [seeds, steps].

    kind: "mean-ci95" mean and its 95 % interval by Student's t (TER); "mean-sd" mean +- sample standard deviation
    (NERS, Sibling Rivalry); "median-33-67" median, 33rd to 67th percentile (bias-reduced HER); "mean-20-80" mean, 20th
    to 80th percentile (ReF-ER). One seed has no interval and no deviation: NaN, which draws as nothing.
    """
    curves = np.asarray(values, dtype=np.float64)
    if kind == "mean-ci95":
        mean, n = curves.mean(axis=0), len(curves)
        half = stats.t.ppf(0.975, n - 1) * curves.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.full_like(mean, np.nan)
        return mean, mean - half, mean + half
    if kind == "mean-sd":
        mean = curves.mean(axis=0)
        deviation = curves.std(axis=0, ddof=1) if len(curves) > 1 else np.full_like(mean, np.nan)
        return mean, mean - deviation, mean + deviation
    if kind == "median-33-67":
        return np.median(curves, axis=0), *np.percentile(curves, [33, 67], axis=0)
    if kind == "mean-20-80":
        return curves.mean(axis=0), *np.percentile(curves, [20, 80], axis=0)
    raise ValueError(f"unknown band {kind!r}; choose from {', '.join(BANDS)}")


def auc(steps: ArrayLike, values: ArrayLike) -> np.ndarray | float:
    """Mean height of a curve: trapezoid area over `steps` [T] divided by their range; values [T] or [seeds, T]."""
    x, y = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(x) == 1:
        return y[..., 0]
    return np.trapezoid(y, x, axis=-1) / (x[-1] - x[0])
