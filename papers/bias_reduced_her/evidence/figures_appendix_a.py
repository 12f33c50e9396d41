"""Appendix A: a mixture of goals and its scores, three ways to estimate them, and goals that move."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from lab.judge.colours import BLACK, GREEN, ORANGE, PURPLE, UNIFORM
from lab.judge.results import MissingData, matrix
from lab.judge.stats import band
from papers.bias_reduced_her.evidence.drawing import Data
from papers.bias_reduced_her.evidence.labels import SIGMA2, SMALL_FLOOR, env_label
from papers.bias_reduced_her.instructional import Grid
from papers.bias_reduced_her.worlds.appendix_a import GOALS, PER_SIDE
from papers.bias_reduced_her.worlds.goal_mixture import variances

LABELS = {
    "monte-carlo": "uniform samples",
    "importance-sampling": "importance sampling",
    "her-ibs": "HER with IBS",
    SMALL_FLOOR: "HER with IBS, floor 1e-6",
    "her": "HER",
}
STYLES: dict[str, dict[str, Any]] = {
    "monte-carlo": {"color": BLACK, "linestyle": "-"},
    "importance-sampling": {"color": ORANGE, "linestyle": "-"},
    "her": {"color": UNIFORM, "linestyle": "-"},  # HER with and without IBS as in the other figures
    "her-ibs": {"color": PURPLE, "linestyle": "-"},
    SMALL_FLOOR: {"color": PURPLE, "linestyle": "--"},
}
EM_STYLES = [{"color": GREEN, "linestyle": dash} for dash in ("-", "--", ":")]
ESTIMATES = ("monte-carlo", "importance-sampling")
SELECTIONS = ("her", "her-ibs", SMALL_FLOOR)
SHOWN = 0.04
"""sigma^2 of the panel with the estimates' errors."""


def sigma_squared(sigma2: float) -> str:
    """As axes and legends print it."""
    return f"$\\sigma^2$ = {sigma2:g}"


def appendix_a(data: Data) -> Canvas:
    """The known mixture, errors and variances of the estimates of mu, and KL(q* || q) when the goals jump."""
    title = "Bias-reduced HER Appendix A: goals that are not spread evenly, and goals that move"
    note = "median, 33rd to 67th percentile, single seeds thin"
    canvas, axes = data.canvas(2, 3, title, note, (3.4, 2.6), unit="samples or episode")
    draw_mixture(axes[0, 0])
    draw_errors(axes[0, 1], data.frame)
    draw_variances(axes[0, 2], data.frame)
    draw_em(axes[1, 0], data.frame)
    for ax, sigma2, letter in zip(axes[1, 1:], SIGMA2[1:], "ef"):
        draw_jump(ax, data, sigma2, letter)
    return canvas


def draw_mixture(ax: Axes) -> None:
    """The density of the goals, and lines at equal parts of the largest mu. Nothing here is measured."""
    grid = Grid((100, 100))
    x, y = grid.centres.reshape(100, 100, 2).transpose(2, 0, 1)
    ax.pcolormesh(x, y, GOALS.density(grid.centres).reshape(100, 100), cmap="Greys", shading="nearest", rasterized=True)
    for sigma2, style in zip(SIGMA2[1:], EM_STYLES[1:]):
        mu = GOALS.score(grid.centres, sigma2**0.5).reshape(100, 100)
        look: dict[str, Any] = {"color": ORANGE, "linestyle": style["linestyle"]}
        ax.contour(x, y, mu / mu.max(), [0.25, 0.5, 0.75], colors=look["color"], linestyles=look["linestyle"])
        ax.plot([], [], **look, label=f"$\\mu$, {sigma_squared(sigma2)}")
    ax.set(title="(a) goals, and 1/4, 1/2, 3/4 of max $\\mu$", xlabel="x", ylabel="y", aspect="equal")
    ax.grid(False)


def draw_errors(ax: Axes, frame: pd.DataFrame) -> None:
    """Error of both estimates over the number of samples, and what the closed form of their variance predicts."""
    env = env_label("mixture", SHOWN)
    for method in ESTIMATES:
        log_curve(ax, frame, "error", method, env, LABELS[method], STYLES[method])
        try:
            steps, values = matrix(frame, "predicted_error", method, env)
        except MissingData:
            continue
        ax.plot(steps, values[0], color=STYLES[method]["color"], linestyle=":", linewidth=1.0, label="formula")
    log_axes(ax, f"(b) estimates of $\\mu$, {sigma_squared(SHOWN)}", "samples", "relative error of $\\mu$")


def draw_variances(ax: Axes, frame: pd.DataFrame) -> None:
    """Variance of one sample over sigma^2: lines by formula, dots measured with the most samples."""
    grid = np.geomspace(0.005, 4.0, 60)
    goals = Grid((PER_SIDE, PER_SIDE)).centres
    scale = np.array([(GOALS.score(goals, sigma2**0.5) ** 2).mean() for sigma2 in grid])
    formula = np.array([[v.mean() for v in variances(goals, sigma2**0.5, GOALS, 1.0)] for sigma2 in grid])
    for method, line in zip(ESTIMATES, (formula / scale[:, None]).T):
        ax.plot(grid, line, color=STYLES[method]["color"], linestyle=":", linewidth=1.0)
        for sigma2 in SIGMA2:
            try:
                _, values = matrix(frame, "variance", method, env_label("mixture", sigma2))
            except MissingData:
                continue
            centre, low, high = band(values[:, -1:], Data.kind)
            bar, color = [centre - low, high - centre], STYLES[method]["color"]
            ax.errorbar([sigma2], centre, bar, fmt="o", markersize=4, color=color)
    ax.axvline(1 / (2 * np.pi), color="0.6", linewidth=0.8)
    log_axes(ax, "(c) variance of one sample", "$\\sigma^2$ of the kernel", "variance / mean of $\\mu^2$")
    place = (1 / (2 * np.pi), 0.98)
    look: dict[str, Any] = {"va": "top", "ha": "right", "rotation": 90, "color": "0.4", "fontsize": 8}
    ax.annotate("$2\\pi\\sigma^2$ = area", place, xycoords=("data", "axes fraction"), **look)


def draw_em(ax: Axes, frame: pd.DataFrame) -> None:
    """Error of mu of the mixture that EM has fitted, over the number of goals it was given."""
    for sigma2, style in zip(SIGMA2, EM_STYLES):
        log_curve(ax, frame, "error", "em", env_label("mixture", sigma2), f"EM, {sigma_squared(sigma2)}", style)
    log_axes(ax, "(d) $\\mu$ of the mixture that EM finds", "goals", "relative error of $\\mu$")


def draw_jump(ax: Axes, data: Data, sigma2: float, letter: str) -> None:
    """KL(q* || q) over the episodes, the goals jumping after half of them."""
    env, title = env_label("moving goals", sigma2), f"({letter}) goals jump, {sigma_squared(sigma2)}"
    data.panel(ax, env, "kl", "KL(q* || q) [nats]", SELECTIONS, title=title, labels=LABELS, styles=STYLES)
    ax.set_xlabel("episodes")
    if ax.lines:
        ax.axvline(data.of(env)["step"].max() / 2, color="0.6", linewidth=0.8)
        ax.set_ylim(bottom=0)


def log_curve(
    ax: Axes, frame: pd.DataFrame, metric: str, method: str, env: str, label: str, style: dict[str, Any]
) -> None:
    """Median, band and single seeds of a metric over the number of samples; nothing where there are no data."""
    try:
        steps, values = matrix(frame, metric, method, env)
    except MissingData:
        return
    centre, low, high = band(values, Data.kind)
    ax.plot(steps, values.T, **style, linewidth=0.5, alpha=0.35)
    ax.fill_between(steps, low, high, color=style["color"], alpha=0.18, linewidth=0)
    ax.plot(steps, centre, **style, linewidth=1.6, label=label)


def log_axes(ax: Axes, title: str, xlabel: str, ylabel: str) -> None:
    """Logarithmic axes and their texts."""
    ax.set(xscale="log", yscale="log", title=title, xlabel=xlabel, ylabel=ylabel)
