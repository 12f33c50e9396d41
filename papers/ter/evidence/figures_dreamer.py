"""Fig. L.14: DreamerV2 and TER, after as many steps and after as much time."""

from pathlib import Path

import numpy as np

from lab.plotting import legend, save
from lab.results import MissingData, Results, matrix
from papers.ter.evidence.drawing import HOW, canvas_for, grid_of, panel, styles, tidy
from papers.ter.evidence.labels import label, place


def fig_l14(results: Results, scale: str, out: Path) -> None:
    """Normalised return over environment steps, and over hours of one core."""
    grid = grid_of(results, "fig-l14", scale)
    envs = list(dict.fromkeys(grid.frame["env"]))
    note = (
        f"{HOW}; TER: evaluations, which are greedy; DreamerV2 (sheeprl): episodes of training, whose actions are "
        "sampled. Below: over the hours that the runs took, means over seeds at each row of metrics"
    )
    canvas, axes = canvas_for(grid, 2, len(envs), "TER Figure L.14: DreamerV2", note, (3.6, 2.6))
    looks = styles(grid.methods)
    for column, env in enumerate(envs):
        panel(axes[0, column], grid, env, grid.methods, "normalized_return", place(env))
        below = axes[1, column]
        for method in grid.methods:
            try:
                steps, values = matrix(grid.frame, "normalized_return", method, env)
            except MissingData:
                continue
            rows = grid.frame[(grid.frame["method"] == method) & (grid.frame["env"] == env)]
            hours = rows[rows["metric"] == "normalized_return"].groupby("step")["hours"].mean()
            below.plot(hours.loc[steps], np.mean(values, axis=0), **looks[method], linewidth=1.6, label=label(method))
        below.set(xlabel="hours of one core", ylabel="normalised return", xscale="log")
    tidy(axes, shared=False)
    legend(canvas)
    save(canvas, out)
