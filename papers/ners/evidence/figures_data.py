"""What the figures share: the runs of experiments, canvases whose captions say what is missing, one panel."""

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lab.plotting import caption, curves, new_figure
from lab.results import Grid, MissingData, Results
from papers.ners.evidence.labels import AGENTS, COLOURS, SAMPLERS, cell, label, split, task

POINTS = 100
"""Most points of a curve."""
HOW = f"mean and SD over seeds, single seeds thin; averaged to at most {POINTS} points"


class Data(Grid):
    """The rows of one or more experiments at a scale, what of them is missing, and canvases that say so.

    MissingData when none of the experiments has rows.
    """

    def __init__(self, results: Results, experiments: Sequence[str], scale: str):
        from papers.ners.evidence.experiments import EXPERIMENTS  # loads torch, which listing the figures must not

        entries = [entry for experiment in experiments for entry in EXPERIMENTS[experiment](scale)]
        super().__init__(results, "+".join(experiments), scale, entries)
        self._take(self.frame, self.wanted)

    def _take(self, frame: pd.DataFrame, wanted: list[tuple[str, str, int]]) -> None:
        self.frame, self.wanted = frame, wanted
        done = set(frame[["method", "env", "seed"]].drop_duplicates().itertuples(index=False, name=None))
        self.missing = [run for run in wanted if run not in done]
        self.methods = list(dict.fromkeys(method for method, _, _ in wanted))
        self.envs = list(dict.fromkeys(env for _, env, _ in wanted))
        there = {(split(method)[0], env) for method, env, _ in done}
        planned = dict.fromkeys((split(method)[0], env) for method, env, _ in wanted)
        cells = [each for each in planned if each in there or self.scale != "quick"]
        self.agents = [agent for agent in AGENTS if agent in {agent for agent, _ in cells}]
        self.cells = sorted(cells, key=lambda each: self.agents.index(each[0]))
        """(agent, env) of every panel or row of a table; at quick only those of which something was run."""

    def only(self, agent: str) -> "Data":
        """This agent's part of it. MissingData when it has none."""
        part = object.__new__(Data)
        part.scale = self.scale
        frame = self.frame[self.frame["method"].str.startswith(f"{agent} ")]
        if frame.empty:
            raise MissingData(f"no {self.scale} runs of {AGENTS[agent]}")
        part._take(frame, [run for run in self.wanted if split(run[0])[0] == agent])
        return part

    @cached_property
    def _groups(self) -> dict[Hashable, pd.DataFrame]:
        return dict(iter(self.frame.groupby(["metric", "method", "env"])))

    def rows(self, metric: str, methods: Iterable[str], env: str) -> pd.DataFrame:
        """The rows of a metric of some methods on a task."""
        found = [rows for method in methods if (rows := self._groups.get((metric, method, env))) is not None]
        return pd.concat(found) if found else self.frame.iloc[:0]

    def has(self, method: str, env: str) -> bool:
        """Whether a method's runs on a task belong to the experiments, run or not."""
        return any(run[:2] == (method, env) for run in self.wanted)

    def canvas(self, rows: int, cols: int, title: str, note: str, size: tuple[float, float] = (3.2, 2.4)):
        """A canvas and axes [rows, cols]; its caption says scale, seeds, steps, `note`, and what is missing."""
        short = len({split(method)[0] for method in self.methods}) == 1  # the title names the agent
        below = caption(self, note, label=lambda method: label(method, short), place=task)
        return new_figure(rows, cols, f"NERS {title}", caption=below, size=(max(size[0], 6.8 / cols), size[1]))


def averaged(frame: pd.DataFrame, points: int = POINTS) -> pd.DataFrame:
    """Rows of one task in which every metric has at most `points` steps: neighbouring steps are averaged.

    The paper evaluates one episode at a time, up to 2,500 times a run. A step's new name is the last of its group.
    """
    parts = []
    for _, rows in frame.groupby("metric"):
        steps = np.sort(rows["step"].unique())
        size = -(-len(steps) // points)
        if size > 1:
            last = {step: steps[min(i - i % size + size, len(steps)) - 1] for i, step in enumerate(steps)}
            keys = ["method", "env", "seed", "metric", "step"]
            rows = rows.assign(step=rows["step"].map(last)).groupby(keys, as_index=False)["value"].mean()
        parts.append(rows)
    return pd.concat(parts) if parts else frame


def panel(ax: Axes, data: Data, agent: str, env: str, samplers: Iterable[str], metric: str, ylabel: str) -> None:
    """One metric of an agent on a task over environment steps, one line for each sampler."""
    names = {f"{agent} {sampler}": sampler for sampler in samplers}
    curves(
        ax, averaged(data.rows(metric, names, env)), metric, kind="mean-sd", order=list(names), ylabel=ylabel,
        labels={method: SAMPLERS.get(sampler, sampler) for method, sampler in names.items()},
        styles={method: {"color": COLOURS[sampler], "linestyle": "-"} for method, sampler in names.items()},
    )  # fmt: skip
    ax.set_title(cell(agent, env))


def outer_labels(axes: np.ndarray) -> None:
    """Labels of y at the left edge only."""
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
