"""Bit flipping: how far the value of the useless action is off, against exact values; and success."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from lab.colours import GREEN, UNIFORM
from lab.plotting import budget, curves, legend, new_figure, save
from lab.results import Results
from papers.bias_reduced_her.evidence.labels import PLAIN, READINGS

LABELS = {"her": "HER", "filtered-her": "Filtered-HER", "none": "no hindsight"}
STYLES: dict[str, dict[str, Any]] = {  # HER and Filtered-HER as in the other figures
    "her": {"color": UNIFORM, "linestyle": "-"},
    "filtered-her": {"color": GREEN, "linestyle": "-"},
    "none": {"color": "0.5", "linestyle": "-"},
}
SUCCESS = {
    "BitFlip-10-terminal": "giving up ends in a terminal state:\nbest beyond two wrong bits",
    "BitFlip-10-timeout": "giving up is a time-out:\nuseless",
    PLAIN: "no such action",
}
BIASES = {"quit_bias": "all pairs of bits and goal", "quit_bias_near": "one bit is wrong"}
BIAS = "Q - Q* of giving up [steps]"


def bitflip(results: Results, scale: str, out: Path) -> None:
    """Bias over training, one row per reading, for all pairs and near the goal, and at the end by distance; success."""
    frame = results.at("bitflip", scale)
    cost = budget(frame, scale).replace("step", "episode")
    title = "Bias-reduced HER, Section 3.2.1: bit flipping with a useless action, n = 10"
    canvas, axes = new_figure(3, 3, title, caption=f"{cost}; median, 33rd to 67th percentile, single runs thin")
    for row, (env, reading) in zip(axes, READINGS.items()):
        rows = frame[frame["env"] == env]
        for ax, (metric, where) in zip(row, BIASES.items()):
            draw(ax, rows, metric, BIAS if metric == "quit_bias" else "")
            ax.set_title(f"{reading}:\n{where}")
        draw(row[2], by_distance(rows), "quit_bias", "", xlabel="bits that are wrong")
        row[2].set_title(f"{reading}:\nat the end")
        for ax in row:
            if ax.lines:
                ax.axhline(0, color="0.3", linewidth=0.8)
    for ax, (env, reading) in zip(axes[2], SUCCESS.items()):
        draw(ax, frame[frame["env"] == env], "success", "success rate" if ax is axes[2, 0] else "")
        ax.set_title(reading)
        if ax.lines:
            ax.set_ylim(-0.03, 1.03)
    legend(canvas)
    save(canvas, out)


def draw(ax: Axes, rows: pd.DataFrame, metric: str, ylabel: str, xlabel: str = "training episodes") -> None:
    """One metric of one env."""
    curves(
        ax, rows, metric, kind="median-33-67", order=list(LABELS), labels=LABELS, styles=STYLES, ylabel=ylabel or " ",
        xlabel=xlabel,
    )  # fmt: skip


def by_distance(rows: pd.DataFrame) -> pd.DataFrame:
    """The metrics ``quit_bias d`` of finished runs as one metric ``quit_bias`` over steps d."""
    distance = rows["metric"].str.extract(r"^quit_bias (\d+)$")[0]
    found = rows[distance.notna()]
    return found.assign(step=distance.dropna().astype(int), metric="quit_bias")
