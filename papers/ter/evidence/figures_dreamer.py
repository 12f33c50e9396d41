"""Fig. L.14: DreamerV2 and TER, after as many steps and after as much time."""

import numpy as np
from matplotlib.figure import Figure as Canvas

from lab.judge.plotting import left_labels
from lab.judge.results import MissingData, matrix
from papers.ter.evidence.drawing import HOW, Data, styles
from papers.ter.evidence.labels import label, place


def fig_l14(data: Data) -> Canvas:
    """Normalised return over environment steps, and over hours of one core."""
    envs = list(dict.fromkeys(data.frame["env"]))
    note = (
        f"{HOW}; TER: evaluations, which are greedy; DreamerV2 (sheeprl): episodes of training, whose actions are "
        "sampled. Below: over the hours that the runs took, means over seeds at each row of metrics"
    )
    canvas, axes = data.canvas(2, len(envs), "Figure L.14: DreamerV2", note, (3.6, 2.6))
    looks = styles(data.methods)
    for column, env in enumerate(envs):
        data.curves(axes[0, column], env, data.methods, "normalized_return", place(env))
        below = axes[1, column]
        for method in data.methods:
            try:
                steps, values = matrix(data.frame, "normalized_return", method, env)
            except MissingData:
                continue
            rows = data.frame[(data.frame["method"] == method) & (data.frame["env"] == env)]
            hours = rows[rows["metric"] == "normalized_return"].groupby("step")["hours"].mean()
            below.plot(hours.loc[steps], np.mean(values, axis=0), **looks[method], linewidth=1.6, label=label(method))
        below.set(xlabel="hours of one core", ylabel="normalised return", xscale="log")
    left_labels(axes)
    return canvas
