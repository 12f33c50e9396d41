"""Figs. 7 and 8: V-RACER with ReF-ER, one hyper-parameter varied at a time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure as Canvas

from lab.judge.plotting import left_labels, shown
from papers.ref_er.evidence.figures_panels import SYMBOLS, XLABEL, Data, cut_below, short

HYPERPARAMETERS = {  # as methods are labelled -> field of a config, text of a legend
    "C": ("c", "C, width of\n$c_{max}$ at first"),
    "D": ("tolerance", "D, far share"),
    "N": ("capacity", "N, steps\nin memory"),
    "B": ("batch_size", "B, batch size"),
    "F": ("steps_per_update", "F, steps per\ngradient step"),
    "lr": ("lr", "η, learning rate"),
    "A": ("annealing", "A, annealing\nper step"),
    "S": ("hidden", "S, units\nper layer"),
    "advantage": ("advantage", "advantage"),
}
UNSET: dict[str, Any] = {"batch_size": 256, "annealing": 5e-7}
"""V-RACER's values where a config leaves them open."""
DEFAULT = "vracer refer"
HOW = "mean over runs, 20th-80th percentile of the runs' means, single runs thin; dashed: the values of other figures"


def variants(data: Data, name: str) -> dict[str, str]:
    """Methods that differ in a hyper-parameter alone, and the one that all rows share -> its value, in their order."""
    found = {m: m.split(" (")[1][len(name) + 1 : -1] for m in data.methods if m.startswith(f"{DEFAULT} ({name} ")}
    field, _ = HYPERPARAMETERS[name]
    value = next(getattr(entry.config, field) for entry in data.entries if entry.method == DEFAULT)
    value = UNSET[field] if value is None else value
    if name == "N":
        value = f"2^{value.bit_length() - 1}"
    found[DEFAULT] = value if isinstance(value, str) else f"{value:g}"
    return dict(sorted(found.items(), key=lambda item: size(item[1])))


def size(value: str) -> float:
    """What values are sorted by: "2^15" and "3e-05" as numbers, "none" before and other words behind all of them."""
    if re.fullmatch(r"2\^\d+", value):
        return 2.0 ** int(value[2:])
    try:
        return float(value)
    except ValueError:
        return -np.inf if value == "none" else np.inf


def draw(data: Data, title: str, names: tuple[str, ...]) -> Canvas:
    """Returns: a row for each of the hyper-parameters `names`, a column for each task."""
    data.kind = "mean-20-80"
    if data.scale == "quick":  # a task or a row without runs of its own is named in the caption alone
        own = data.frame["env"][data.frame["method"] != DEFAULT]
        data.frame = data.frame[data.frame["env"].isin(own)] if len(own) else data.frame
        data.shown = shown(data)
        there = set(data.frame["method"])
        names = tuple(name for name in names if there & (set(variants(data, name)) - {DEFAULT})) or names[:1]
    canvas, axes = data.canvas(len(names), len(data.shown), title, HOW, (3.4, 1.9))
    for row, name in zip(axes, names):
        values = variants(data, name)
        others = [method for method in values if method != DEFAULT]
        shades = colormaps["viridis"](np.linspace(0, 0.85, len(others)))
        looks: dict[str, dict] = {m: {"color": shade, "linestyle": "-"} for m, shade in zip(others, shades)}
        looks[DEFAULT] = {"color": "black", "linestyle": "--"}
        texts = {method: short(value) for method, value in values.items()}
        for ax, env in zip(row, data.shown):
            ylabel, heading = f"return, by {SYMBOLS.get(name, name)}", env if row[0] is axes[0, 0] else ""
            data.panel(ax, env, "return", ylabel, values, title=heading, labels=texts, styles=looks)
            if ax.lines:
                ax.set_xlim(0, None)
                cut_below(ax)
        handles, labels = max((ax.get_legend_handles_labels() for ax in row), key=lambda found: len(found[1]))
        if labels:
            beside, title = (1.01, 1.05), HYPERPARAMETERS[name][1]
            row[-1].legend(handles, labels, loc="upper left", bbox_to_anchor=beside, title=title, alignment="left")
    for ax in axes[:-1].flat:
        ax.set_xlabel(ax.get_xlabel().removeprefix(XLABEL).strip())
    left_labels(axes)
    return canvas


def fig7(data: Data) -> Canvas:
    """Fig. 7: C and D of ReF-ER, size of the memory and of the batch, steps per gradient step, learning rate."""
    return draw(data, "Figure 7: V-RACER with ReF-ER, hyper-parameters", ("C", "D", "N", "B", "F", "lr"))


def fig8(data: Data) -> Canvas:
    """Fig. 8: annealing, size of the network, and the closed-form advantages of App. E."""
    return draw(data, "Figure 8: V-RACER with ReF-ER, annealing, network size and advantage", ("A", "S", "advantage"))
