"""Statistics for figures: bands around curves, and the mean height of a curve. Verdicts have intervals.py."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

BANDS = ("mean-ci95", "mean-sd", "median-33-67", "mean-20-80", "mean")


def band(values: ArrayLike, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(centre, low, high), each [steps], of curves [seeds, steps].

    kind: "mean-ci95" mean and its 95 % interval by Student's t (TER); "mean-sd" mean +- sample standard deviation
    (NERS, Sibling Rivalry); "median-33-67" median, 33rd to 67th percentile (bias-reduced HER); "mean-20-80" mean, 20th
    to 80th percentile (ReF-ER); "mean" no band. One seed has no interval or deviation: NaN, which is not drawn.
    """
    curves = np.asarray(values, dtype=np.float64)
    mean, n = curves.mean(axis=0), len(curves)
    if kind == "median-33-67":
        return np.median(curves, axis=0), *np.percentile(curves, [33, 67], axis=0)
    if kind == "mean-20-80":
        return mean, *np.percentile(curves, [20, 80], axis=0)
    half = curves.std(axis=0, ddof=1) if n > 1 and kind != "mean" else np.full_like(mean, np.nan)
    if kind == "mean-ci95" and n > 1:
        half = stats.t.ppf(0.975, n - 1) * half / n**0.5
    elif kind not in BANDS:
        raise ValueError(f"unknown band {kind!r}; choose from {', '.join(BANDS)}")
    return mean, mean - half, mean + half


def auc(steps: ArrayLike, values: ArrayLike) -> np.ndarray | float:
    """Mean height of a curve: trapezoid area over `steps` [T] divided by their range; values [T] or [seeds, T]."""
    x, y = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if len(x) == 1:
        return y[..., 0]
    return np.trapezoid(y, x, axis=-1) / (x[-1] - x[0])
