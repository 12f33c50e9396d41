"""Bit flipping: how far the value of the useless action is off, against exact values; and success."""

from copy import copy

from matplotlib.figure import Figure as Canvas

from lab.judge.colours import GREEN, UNIFORM
from papers.bias_reduced_her.evidence.drawing import HOW, Data
from papers.bias_reduced_her.evidence.labels import PLAIN, READINGS

LABELS = {"her": "HER", "filtered-her": "Filtered-HER", "none": "no hindsight"}
STYLES: dict[str, dict] = {
    method: {"color": colour, "linestyle": "-"} for method, colour in zip(LABELS, (UNIFORM, GREEN, "0.5"))
}
SUCCESS = {
    "BitFlip-10-terminal": "giving up ends in a terminal state:\nbest beyond two wrong bits",
    "BitFlip-10-timeout": "giving up is a time-out:\nuseless",
    PLAIN: "no such action",
}
BIASES = {"quit_bias": "all pairs of bits and goal", "quit_bias_near": "one bit is wrong"}
BIAS = "Q - Q* of giving up [steps]"


def bitflip(data: Data) -> Canvas:
    """Bias over training, one row per reading, for all pairs and near the goal, and at the end by distance; success."""
    title = "Section 3.2.1: bit flipping with a useless action, n = 10"
    canvas, axes = data.canvas(3, 3, f"Bias-reduced HER, {title}", HOW, (3.4, 2.6))
    look: dict = {"methods": LABELS, "styles": STYLES}
    for row, (env, reading) in zip(axes, READINGS.items()):
        for ax, (metric, where) in zip(row, BIASES.items()):
            data.panel(ax, env, metric, BIAS if ax is row[0] else " ", title=f"{reading}:\n{where}", **look)
        by_distance(data).panel(row[2], env, "quit_bias", " ", title=f"{reading}:\nat the end", **look)
        row[2].set_xlabel("bits that are wrong")
        for ax in row:
            if ax.lines:
                ax.axhline(0, color="0.3", linewidth=0.8)
    for ax, (env, reading) in zip(axes[2], SUCCESS.items()):
        data.panel(ax, env, "success", "success rate" if ax is axes[2, 0] else " ", title=reading, **look)
        if ax.lines:
            ax.set_ylim(-0.03, 1.03)
    return canvas


def by_distance(data: Data) -> Data:
    """The metrics ``quit_bias d`` of finished runs as one metric ``quit_bias`` over steps d."""
    distance = data.frame["metric"].str.extract(r"^quit_bias (\d+)$")[0]
    found = copy(data)
    found.frame = data.frame[distance.notna()].assign(step=distance.dropna().astype(int), metric="quit_bias")
    return found
