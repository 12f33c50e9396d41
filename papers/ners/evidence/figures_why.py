"""Why NERS scores all transitions alike: the spread of its inputs, layer by layer, before and after learning."""

import numpy as np
from matplotlib.figure import Figure as Canvas

from lab.judge.colours import BLUE, ORANGE, VERMILLION
from lab.judge.plotting import not_run
from lab.judge.results import MissingData, matrix
from papers.ners.evidence.figures_data import Data

TIMES = {
    "share": "time: share of the limit", "episode": "time: step in the episode", "environment": "time: environment step"
}  # fmt: skip
REWARDS = {"signs": "replay rewards\nof random signs", "positive": "replay rewards\nalways 1"}
COLOURS = (BLUE, ORANGE, VERMILLION)
LOCAL = 4
"""Layers of the networks of local and global context; those after them are the score network's."""


def layers(data: Data, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps [T] after which it was measured, and the spread [runs, T, layers] as a share of the inputs'."""
    names = sorted(name for name in data.frame["metric"].unique() if name.startswith("layer_"))
    found = [matrix(data.frame, name, method, env) for name in names]
    return found[0][0], np.stack([values for _, values in found], axis=2)


def own_why(data: Data) -> Canvas:
    """Not in the paper: relative spread over layers, a column for each reading of the time step."""
    [env] = data.envs
    note = (
        "no agent learns: transitions of random actions, TD errors, values and replay rewards made up; standard "
        "deviation over transitions, root mean square over the units of a layer, as a share of the inputs'; thin: "
        "single seeds; below: total variation of the sampling law from uniform after the last steps, mean of the seeds"
    )
    title = "own experiment: how the networks shrink the spread of their inputs"
    canvas, axes = data.canvas(
        len(REWARDS), len(TIMES), title, note, unit="network step", label=lambda method: method.removeprefix("none ")
    )
    for row, (reward, meaning) in zip(axes, REWARDS.items()):
        for ax, (time, title) in zip(row, TIMES.items()):
            method = f"none {time} {reward}"
            ax.set(title=title, ylabel=f"spread / inputs'\n{meaning}" if ax is row[0] else "", yscale="log")
            try:
                steps, values = layers(data, method, env)
            except MissingData:
                not_run(ax)
                continue
            places = np.arange(values.shape[2])
            for k, (step, colour) in enumerate(zip(steps, COLOURS)):
                ax.plot(places, values[:, k].T, color=colour, linewidth=0.5, alpha=0.4)
                label = f"{int(step):,} steps of the networks" if step else "as initialised"
                ax.plot(places, values[:, k].mean(axis=0), color=colour, linewidth=1.6, marker="o", ms=3, label=label)
            ticks = ["in", *(f"c{k}" for k in range(1, LOCAL + 1)), *(f"s{k}" for k in range(1, len(places) - LOCAL))]
            ax.set_xticks(places, ticks)
            distance = float(matrix(data.frame, "tv_replayed", method, env)[1][:, -1].mean())
            ax.set_xlabel(f"layer (c: context, s: score); TV {distance:.1g}")
    return canvas
