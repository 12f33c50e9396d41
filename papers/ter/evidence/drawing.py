"""How this paper's figures look: colours, the canvas with its caption, a panel of curves."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from lab.judge import colours, plotting
from lab.judge.plotting import left_labels, share_y
from papers.ter.evidence.labels import label, place

COLOURS = {
    "uer": colours.UNIFORM,
    "per": colours.PRIORITISED,
    "per-proportional": colours.SKY,  # NChain only
    "ebu": colours.GREEN,
    "discor": colours.PURPLE,
    "ter": colours.OWN_METHOD,
}
DASHES: dict[str, Any] = {  # variants of a method
    "x0.25": ":",
    "x1": "--",
    "+ per": "--",
    "(no timeout)": "--",
    "(1 predecessor)": "--",
    "(1 predecessor) x0.25": "--",
    "(standardised U)": ":",
    "(released)": ":",
    "(nature)": "-",
    "(codes)": ":",
    "(1 predecessor) (nature)": "--",
    "(1 predecessor) (codes)": (0, (5, 1, 1, 1, 1, 1)),
    "(small memory)": "--",
    "(bend at R_max)": "--",
    "(clip 1)": "--",
    "(released, no timeout)": (0, (5, 1, 1, 1, 1, 1)),
}
REFERENCES = {"eta=0.5": "ter", "d=3": "ter", "beta=0.5": "ebu"}  # in a sweep, the setting that other figures use
YLABELS = {
    "normalized_return": "normalised return",
    "return": "score",
    "success": "success rate",
    "q_overestimation": "(mean Q - $R_{max}$) / $R_{max}$",
}
SHARES = ("normalized_return", "success")
"""Metrics that lie in 0..1; the intervals of few seeds may reach beyond, their panels do not."""
HOW = "mean, 95 % interval, single seeds thin"


def without_interval(method: str) -> str:
    """Its name without the interval between two copies of the target network, which has panels of its own."""
    return method.partition(" (interval")[0]


def styles(methods: Iterable[str]) -> dict[str, dict]:
    """Line style of each label of an experiment. A method has one colour in all figures, its variants have dashes."""
    spare = iter([colour for colour in colours.PALETTE if colour not in (COLOURS["ter"], COLOURS["ebu"])])
    own, found = dict(COLOURS), {}
    for method in methods:
        base, _, variant = without_interval(method).partition(" ")
        base = REFERENCES.get(base, base)
        if base not in own:
            own[base] = next(spare)
        dash = "-" if method == "ter x0.25" else DASHES.get(variant, "-")
        found[method] = {"color": own[base], "linestyle": dash}
    return found


class Data(plotting.Data):
    """The rows of an experiment, canvases wide enough for their titles, and panels."""

    paper, plan, kind = "TER", "papers.ter.evidence.experiments", "mean-ci95"
    size, width = (3.2, 2.5), 5.8
    label, place, styles = staticmethod(label), staticmethod(place), staticmethod(styles)

    def curves(
        self, ax: Axes, env: str, methods: list[str], metric: str, title: str, called: Callable[[str], str] = label
    ) -> None:
        """One metric of one task over environment steps. called: a method's name in the legend."""
        names = {method: called(method) for method in methods}
        self.panel(ax, env, metric, YLABELS[metric], methods, title=title, labels=names)
        if metric in SHARES and ax.lines:
            low, high = ax.get_ylim()
            ax.set_ylim(max(low, -0.02), min(high, 1.02))
        if metric == "q_overestimation" and ax.lines:
            ax.axhline(0, color="0.3", linewidth=0.8)
            ax.set_yscale("symlog", linthresh=1)  # from -2 to an explosion, in one picture
            ax.yaxis.set_major_formatter("{x:g}")


def tidy(axes: np.ndarray) -> None:
    """Row by row, one range of values, and labels at the left edge only."""
    for row in axes:
        share_y(row)
    left_labels(axes)
