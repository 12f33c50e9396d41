"""Where the value of the first state is over-estimated: by start, and on the line from the ball to the black hole."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy.stats import t

from lab.judge.plotting import not_run
from lab.judge.results import MissingData, final
from papers.bias_reduced_her.evidence.drawing import Data, styles
from papers.bias_reduced_her.evidence.labels import label

STARTS = {"held": "ball in the hand", "ground": "ball free"}
NOTE = (
    "of the trained agent; above: mean of Q - return and its 95 % interval over runs, for episodes that begin with the "
    "ball in the hand or free; below: first states with a free ball, goals on the line from it to the black hole, "
    "solid: Q, dotted: what is realised (mean over runs)"
)


def own_estimates(data: Data) -> Canvas:
    """Bias by start above, estimates along the line below; a column per task."""
    title = "own figure: where the value of the first state is over-estimated"
    canvas, axes = data.canvas(2, len(data.shown), title, NOTE, (3.3, 2.4))
    for column, env in zip(axes.T, data.shown):
        by_start(column[0], data, env)
        along_the_line(column[1], data, env)
        column[0].set_title(env)
    axes[0, 0].set_ylabel("Q - return")
    axes[1, 0].set_ylabel("value")
    return canvas


def by_start(ax: Axes, data: Data, env: str) -> None:
    """Bias for each start, methods side by side."""
    looks = styles(data.methods)
    for i, method in enumerate(data.methods):
        for place, start in enumerate(STARTS):
            try:
                bias = final(data.frame, f"q_estimate {start}", method, env)
                bias = bias - final(data.frame, f"return {start}", method, env)
            except MissingData:
                continue
            n = len(bias)
            half = t.ppf(0.975, n - 1) * bias.std(ddof=1) / n**0.5 if n > 1 else 0.0
            x = place + (i - (len(data.methods) - 1) / 2) * 0.12
            ax.errorbar(x, bias.mean(), half, fmt="o", markersize=4, color=looks[method]["color"])
    if not ax.containers:
        not_run(ax)
        return
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set_xticks(range(len(STARTS)), list(STARTS.values()))


def along_the_line(ax: Axes, data: Data, env: str) -> None:
    """Estimate and realised return over the share of the way."""
    looks = styles(data.methods)
    metrics = data.of(env)["metric"]
    shares = sorted({float(name.split()[1]) for name in metrics[metrics.str.startswith("estimate ")]})
    for method in data.methods:
        try:
            values = np.array(
                [
                    [final(data.frame, f"{kind} {share}", method, env).mean() for share in shares]
                    for kind in ("estimate", "realised")
                ]
            )
        except MissingData:
            continue
        color = looks[method]["color"]
        ax.plot(shares, values[0], color=color, marker=".", label=label(method))
        ax.plot(shares, values[1], color=color, linestyle=":")
    ax.set_xlabel("share of the way from ball to black hole")
    if not shares:
        not_run(ax)
