"""What the paper's figures are made of: labels and looks of methods, the paper's band over episodes, single panels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter
from numpy.typing import ArrayLike

from lab.judge import plotting
from lab.judge.colours import BLACK, GREEN, OWN_METHOD, PRIORITISED, PURPLE, SKY, UNIFORM
from lab.judge.results import MissingData, Results, matrix
from papers.ref_er.evidence.implied_kl import implied_kl
from papers.ref_er.evidence.paper_values import ACTIONS, NOISE, TOLERANCE

NAMES = {"ddpg": "DDPG", "naf": "NAF", "vracer": "V-RACER", "ppo": "PPO", "acer": "ACER"}
REPLAYS = {"er": "ER", "per": "PER", "refer": "ReF-ER", "refer-1": "ReF-ER-1", "refer-2": "ReF-ER-2"}
COLOURS = {"er": UNIFORM, "per": PRIORITISED, "refer": OWN_METHOD, "refer-1": GREEN, "refer-2": PURPLE}
STYLES: dict[str, dict] = {
    "ddpg er (untuned)": {"color": UNIFORM, "linestyle": "--"},
    "ppo": {"color": BLACK, "linestyle": "-"},
    "ppo (A 0)": {"color": BLACK, "linestyle": "--"},
    "acer (lr 1e-05)": {"color": SKY, "linestyle": "-"},
    "acer (lr 0.0001)": {"color": SKY, "linestyle": "--"},
    "acer (segments of 200)": {"color": BLACK, "linestyle": "-"},
    "vracer refer (reverse KL)": {"color": BLACK, "linestyle": "-"},
}
"""The paper has ACER dashed, too; its colours are others."""
SYMBOLS = {"lr": "η"}
PERCENTILES = (20, 80)
DECILES = [f"return p{p}" for p in range(0, 101, 10)]
XLABEL, RETURN, KL = "environment steps", "return", "mean KL(μ‖π)"
HOW = "mean over runs, single runs thin"
BAND = "20th to 80th percentile of all episodes of all runs"
IMPLIED = "dashed: KL at which a share D is far if every mean shifts by the same number of deviations"


def label(method: str) -> str:
    """A method's label as legends print it: "vracer refer (lr 3e-05)" is "V-RACER + ReF-ER (η = 3e-5)"."""
    learner, replay, variant = re.fullmatch(r"(\S+)(?: ([^( ]+))?(?: \((.+)\))?", method).groups()  # type: ignore[union-attr]
    name = " + ".join([NAMES.get(learner, learner), *([REPLAYS.get(replay, replay)] if replay else [])])
    return f"{name} ({variant_label(variant)})" if variant else name


def variant_label(variant: str) -> str:
    """What a variant changes: "lr 3e-05" is "η = 3e-5", "N 2^15" is "N = 2^15"; without a number it stays as it is."""
    name, _, value = variant.partition(" ")
    return f"{SYMBOLS.get(name, name)} = {short(value)}" if re.match(r"\d", value) else variant


def short(value: str) -> str:
    """Numbers below a thousandth with an exponent: "0.0001" is "1e-4", "2.5e-05" is "2.5e-5"; others as they are."""
    if not re.fullmatch(r"0\.000\d+|[\d.]+e-\d+", value):
        return value
    return re.sub(r"\.?0*e-0*", "e-", f"{float(value):e}")


def styles(methods: Iterable[str]) -> dict[str, dict]:
    """A kind of replay has one colour with all learners; variants are dashed, further learners dotted."""
    found: dict[str, dict] = {}
    for m in methods:
        look = STYLES.get(m) or {"color": COLOURS[m.split()[1]], "linestyle": "--" if "(" in m else "-"}
        found[m] = look if look not in found.values() else look | {"linestyle": ":"}
    return found


class Data(plotting.Data):
    """The rows of an experiment, and captions that say which tasks they are of."""

    paper, plan = "ReF-ER", "papers.ref_er.evidence.experiments"
    kind, size, width = "mean", (3.2, 2.6), 7.0
    label = staticmethod(label)

    def __init__(self, results: Results, experiment: str, scale: str) -> None:
        from papers.ref_er.evidence.experiments import entries_of  # loads torch, which listing the figures must not

        super().__init__(results, experiment, scale)
        full = dict.fromkeys(entry.env for entry in entries_of(experiment, "full"))
        self.left_out = [env for env in full if env in ACTIONS and env not in self.envs]
        """MuJoCo tasks of `full` that this scale does not plan."""

    def caption(self, note: str, **names: Any) -> str:
        """And the versions of the tasks, and those left out."""
        below = [super().caption(note, **names), versions(self.shown)]
        if self.left_out:
            below.append(f"not part of {self.scale}: {', '.join(env.removesuffix('-v5') for env in self.left_out)}")
        return "\n".join(below)


def versions(envs: Sequence[str]) -> str:
    """Which versions of the tasks the runs have, and which of them differ from the paper's in more than that."""
    from papers.ref_er.agents.tasks import FLOW, TASKS, Task

    if grids := [str(FLOW[env]) for env in envs if env in FLOW]:
        return f"task: our own solver of the flow, with {' and '.join(grids)} cells per diameter"
    differ = [env.removesuffix("-v5") for env in envs if env not in TASKS or TASKS[env].differs != Task().differs]
    text = "tasks: gymnasium's -v5, the paper's are -v2"
    return f"{text}; observations or rules differ, too, in {', '.join(differ)}" if differ else text


# ---- the paper's statistic -------------------------------------------------------------------------------------------


def pooled_percentiles(deciles: ArrayLike, episodes: ArrayLike, wanted: ArrayLike = PERCENTILES) -> np.ndarray:
    """Percentiles of all episodes of several runs, estimated from each run's deciles.

    deciles: [runs, 11], a run's minimum, deciles and maximum, between which its distribution is taken to be uniform.
    episodes: [runs], how many each stands for; runs without one do not count. wanted: percentiles [n]. Returns [n].
    Where no episode lies between two values and the percentile may be either, the lower. ValueError without episodes.
    """
    quantiles, counts = np.asarray(deciles, dtype=np.float64), np.asarray(episodes, dtype=np.float64)
    quantiles, counts = quantiles[counts > 0], counts[counts > 0]
    if not len(counts):
        raise ValueError("percentiles of no episodes")
    levels, x = np.linspace(0, 1, quantiles.shape[1]), np.unique(quantiles)
    # share of a run's episodes up to x and below x, which differ where deciles are equal; interp takes the last of them
    up_to = np.array([np.interp(x, q, levels, left=0) for q in quantiles])
    below = np.array([1 - np.interp(-x, -q[::-1], levels, left=0) for q in quantiles])
    shares = [counts @ side / counts.sum() for side in (below, up_to)]
    pooled = np.column_stack(shares).ravel().round(12)  # ascending, and exact where it is flat
    values = np.repeat(x, 2)
    found = []
    for share in np.round(np.asarray(wanted, dtype=np.float64) / 100, 12):
        after = np.searchsorted(pooled, share)  # the first that reaches it
        before = max(after - 1, 0)
        rise = pooled[after] - pooled[before]
        part = (share - pooled[before]) / rise if rise > 0 else 1.0
        found.append(values[before] + part * (values[after] - values[before]))
    return np.array(found)


def episode_band(frame: pd.DataFrame, method: str, env: str, steps: np.ndarray) -> np.ndarray:
    """float64[2, T]: 20th and 80th percentile over all episodes of all runs of a method in the bins that end at steps.

    NaN, which draws as nothing, where deciles were not logged.
    """
    rows = frame[(frame["method"] == method) & (frame["env"] == env)]
    table = rows.pivot(index=["step", "seed"], columns="metric", values="value")
    table = table.reindex(columns=["episodes", *DECILES]).dropna()
    by_step = {step: group.to_numpy() for step, group in table.groupby(level="step")}
    nothing = np.full(len(PERCENTILES), np.nan)
    return np.array(
        [pooled_percentiles(by_step[s][:, 1:], by_step[s][:, 0]) if s in by_step else nothing for s in steps]
    ).T


def best(frame: pd.DataFrame, methods: Iterable[str], env: str) -> str | None:
    """The method with the highest mean return in the last fifth of training, None when none was run."""
    scores = {}
    for method in methods:
        try:
            _, values = matrix(frame, "return", method, env)
        except MissingData:
            continue
        scores[method] = values[:, -max(1, values.shape[1] // 5) :].mean()
    return max(scores, key=lambda method: scores[method], default=None)


# ---- panels ----------------------------------------------------------------------------------------------------------


Panel = Callable[[Axes, Data, str, Mapping[str, str]], None]
"""Draws a task's panel of the methods given, each with its name in the legend."""


def panel(
    ax: Axes, data: Data, env: str, metric: str, ylabel: str, names: Mapping[str, str], *,
    banded: Iterable[str] = (), log: bool = False,
) -> None:  # fmt: skip
    """One metric of one task over environment steps: mean over the runs of each method, and single runs thin.

    names: method -> in the legend. banded: methods with the band of returns.
    """
    looks = styles(data.methods)
    shown, banded = [method for method in looks if method in names], set(banded)
    data.panel(ax, env, metric, ylabel, shown, title=env, labels=names, styles=looks)
    for method in filter(banded.__contains__, shown):
        try:
            steps, _ = matrix(data.of(env), metric, method, env)
        except MissingData:
            continue
        low, high = episode_band(data.of(env), method, env, steps)
        ax.fill_between(steps, low, high, color=looks[method]["color"], alpha=0.18, linewidth=0, zorder=2)
    if not ax.lines:
        return
    ax.set_xlim(0, None)
    if log:
        ax.set_yscale("log", nonpositive="mask")  # a divergence of 0 is left out


def returns(ax: Axes, data: Data, env: str, names: Mapping[str, str], banded: Iterable[str] = ()) -> None:
    """Returns, cut below."""
    panel(ax, data, env, "return", RETURN, names, banded=banded)
    cut_below(ax)


def banded_returns(ax: Axes, data: Data, env: str, names: Mapping[str, str]) -> None:
    """With the bands of all methods."""
    returns(ax, data, env, names, names)


def divergence(*marks: Callable[[Axes, Data, str], None]) -> Panel:
    """Divergence between policy and replayed behaviours, and what `marks` draw beside it."""

    def draw(ax: Axes, data: Data, env: str, names: Mapping[str, str]) -> None:
        panel(ax, data, env, "kl", KL, names, log=True)
        for mark in marks:
            mark(ax, data, env)

    return draw


def only(wanted: Callable[[str], bool], draw: Panel) -> Panel:
    """The same panel, of the methods that are wanted."""
    return lambda ax, data, env, names: draw(ax, data, env, {m: text for m, text in names.items() if wanted(m)})


def cut_below(ax: Axes) -> None:
    """Let an axis of returns end where it still shows the better curves, and say below it which ones go on.

    A policy with unbounded means that drifts off pays millions for its actions, which would leave one line of all the
    others. The axis ends as far below the best curve (at the end of training) as this curve's largest absolute value.
    """
    found = {str(line.get_label()): np.asarray(line.get_ydata()) for line in ax.lines}
    found = {name: values for name, values in found.items() if not name.startswith("_")}  # without single runs
    if not found:
        return
    leader = max(found.values(), key=lambda values: values[-1])
    end, top = leader.min() - np.abs(leader).max(), ax.dataLim.ymax
    if ax.dataLim.ymin >= end:
        return
    ax.set_ylim(end, top + 0.05 * (top - end))
    number = EngFormatter(places=1, sep="")
    below = [f"↓ {name}: to {number(values.min())}" for name, values in found.items() if values.min() < end]
    ax.set_xlabel("\n".join([XLABEL, *(below or ["↓ single runs"])]))


def draw_implied(ax: Axes, data: Data, env: str) -> None:
    """The divergence that D of far samples implies, along the c_max of a run with ReF-ER's Rule 2."""
    for method in data.methods:
        if method.partition(" ")[2] not in ("refer", "refer-2"):
            continue
        try:
            steps, c_max = matrix(data.of(env), "c_max", method, env)
        except MissingData:
            continue
        values = [implied_kl(value, TOLERANCE) for value in c_max[0]]
        marker = "_" if len(steps) == 1 else None
        ax.plot(
            steps, values, color="black", linestyle="--", linewidth=1.2, zorder=4, marker=marker,
            label=f"implied by D = {TOLERANCE:g}",
        )  # fmt: skip
        return


def draw_largest(ax: Axes, data: Data, env: str) -> None:
    """The largest divergence that the means of DDPG, in [-1, 1], can have, where something else is drawn."""
    if env in ACTIONS and ax.lines:
        height = 2 * ACTIONS[env] / NOISE**2
        ax.axhline(height, color="0.4", linestyle=":", linewidth=1.2, label="largest possible, 2 d / σ²")
