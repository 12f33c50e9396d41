"""What the samplers replay, over training: Fig. 5 (Q and TD error) and our own look at the sampling laws."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import PercentFormatter

from lab.judge.plotting import left_labels
from lab.judge.results import MissingData, matrix
from papers.ners.evidence.figures_data import HOW, RETURN, Data, panel, solid
from papers.ners.evidence.labels import AGENTS, COLOURS, READING_COLOURS, READINGS, SAMPLERS, cell, task
from papers.ners.evidence.paper_values import FIG5, scorer_updates
from papers.ners.evidence.paper_values import SAMPLERS as FOUR


def fig5(data: Data) -> Canvas:
    """Fig. 5: mean Q (first row) and mean log TD error (second) of what SAC replays, a column for each task."""
    envs = sorted((env for _, env in data.cells), key=lambda env: FIG5.index(env) if env in FIG5 else len(FIG5))
    absent = [task(env) for env in FIG5 if env not in data.envs]
    note = f"{HOW}; the paper's tasks {', '.join(absent)} are run at full only" if absent else HOW
    canvas, axes = data.canvas(2, len(envs), "Figure 5: what SAC's batches hold", note, (2.8, 2.3))
    for column, env in zip(axes.T, envs):
        panel(column[0], data, "sac", env, FOUR, "q_mean", "mean Q")
        panel(column[1], data, "sac", env, FOUR, "log_td", "mean log |TD error|")
    left_labels(axes)
    return canvas


MEASURES = {
    "tv": "total variation\nfrom uniform",
    "tv_replayed": "the same among\nreplayed transitions",
    "ess": "effective sample size\n/ stored",
    "log_score_sd_replayed": "sd of log score,\nreplayed transitions",
    "age": "mean age of draws\n/ steps so far",
}
"""Metric -> label."""
TINY = 1e-9
HALF = 0.5
"""About the first score of any transition."""
LOGARITHMIC = ("tv", "tv_replayed", "log_score_sd_replayed")


def by_share(data: Data, metric: str, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
    """A metric over the share of training: shares and means over seeds, both [T]. Age is divided by the steps."""
    steps, values = matrix(data.every(metric, [method], env), metric, method, env)
    mean = values.mean(axis=0) / (steps if metric == "age" else 1)
    return steps / steps[-1], np.where(np.abs(mean) < TINY, 0.0, mean)  # a deviation of equal numbers is not quite 0


def logarithmic(ax: Axes) -> None:
    """A logarithmic axis where there is something above 0; what is 0, as RANDOM's, is left out."""
    if any((np.asarray(line.get_ydata()) > 0).any() for line in ax.lines):
        ax.set_yscale("log", nonpositive="mask")


def law_panel(ax: Axes, data: Data, agent: str, metric: str) -> None:
    """One measure for an agent: a thin line for each task, a thick one for the mean over tasks."""
    for sampler in FOUR:
        found = []
        for env in data.envs:
            method = f"{agent} {sampler}"
            try:
                found.append(by_share(data, metric, method, env))
            except MissingData:
                continue
        for shares, values in found:
            marker = "o" if len(shares) == 1 else None  # a curve of one point is no line
            ax.plot(shares, values, color=COLOURS[sampler], linewidth=0.5, alpha=0.5, marker=marker)
        if found:
            grid = np.linspace(max(shares[0] for shares, _ in found), 1.0, 50)
            mean = np.mean([np.interp(grid, *curve) for curve in found], axis=0)
            ax.plot(grid, mean, color=COLOURS[sampler], linewidth=1.6, label=SAMPLERS[sampler])
    if metric in LOGARITHMIC:
        logarithmic(ax)
    if not ax.lines:
        ax.text(0.5, 0.5, "not logged", transform=ax.transAxes, ha="center", va="center", color="0.5")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set(xlim=(0, 1), xlabel="share of training", ylabel=MEASURES[metric], title=AGENTS[agent])


def own_distance(data: Data) -> Canvas:
    """Not in the paper: how far the laws of the draws are from uniform; rows are agents, columns measures."""
    logged = set(data.frame["metric"])
    shown = [metric for metric in MEASURES if metric in logged or data.scale != "quick"]
    absent = [" ".join(text.split()) for metric, text in MEASURES.items() if metric not in shown]
    note = (
        "thick: mean over tasks, thin: each task (mean over seeds); ERO: given the subset drawn last; logarithmic axes "
        "leave out 0, which RANDOM has"
    ) + (f"; not logged by these runs: {'; '.join(absent)}" if absent else "")
    title = "own experiment: how far from uniform the samplers are"
    canvas, axes = data.canvas(len(data.agents), len(shown), title, note, (2.5, 2.2))
    for row, agent in zip(axes, data.agents):
        for ax, metric in zip(row, shown):
            law_panel(ax, data, agent, metric)
    return canvas


def own_law(data: Data) -> Canvas:
    """Not in the paper: NERS by every reading of what the paper leaves open; a panel for each measure."""
    from papers.ners.samplers.diagnostics import bonus_distance  # loads torch

    [(agent, env)] = data.cells
    shown = [metric for metric in MEASURES if metric in LOGARITHMIC]
    names = {f"{agent} {reading}": text for reading, text in READINGS.items()}
    steps = data.frame[data.frame["metric"] == "scorer_updates"].groupby(["method", "seed"])["value"].max()
    made = f"{steps.min():,.0f}" if steps.min() == steps.max() else f"{steps.min():,.0f} to {steps.max():,.0f}"
    note = (
        f"{HOW}; by now NERS's networks have made {made} steps, in a run of the paper's length "
        f"{scorer_updates(agent, env):,}; dotted: the bonus of new transitions alone, (1 - s) / (m + s)"
    )
    title = f"own experiment: NERS by every reading of the paper, {cell(agent, env)}"
    canvas, axes = data.canvas(1, len(shown), title, note, (3.4, 2.8))
    looks = solid({f"{agent} {reading}": colour for reading, colour in READING_COLOURS.items()})
    for ax, metric in zip(axes[0], shown):
        data.panel(ax, env, metric, MEASURES[metric], names, labels=names, styles=looks)
        logarithmic(ax)
        if metric == "tv":
            ax.axhline(bonus_distance(HALF**0.5, 128), color="0.4", linestyle=":", linewidth=1.2)
    return canvas


def own_time(data: Data) -> Canvas:
    """Not in the paper: NERS with the environment's step as time, trained until its law can leave uniform."""
    [(agent, env)] = data.cells
    title = f"own experiment: NERS by the environment's step, {cell(agent, env)}"
    canvas, axes = data.canvas(1, 3, title, HOW, (3.4, 2.8))
    names = {f"{agent} ners environment": "NERS, time: environment step", f"{agent} random": "RANDOM"}
    looks = solid({method: COLOURS[name] for method, name in zip(names, ("ners", "random"))})
    for ax, metric in zip(axes[0], ("score", "tv", "tv_replayed")):
        data.panel(ax, env, metric, MEASURES.get(metric, RETURN), names, labels=names, styles=looks)
    return canvas
