"""What the figures share: the runs of experiments, canvases whose captions say what is missing, one panel."""

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lab.judge import plotting
from lab.judge.results import Results
from lab.sweep.entry import Entry
from papers.ners.evidence.labels import AGENTS, COLOURS, SAMPLERS, cell, label, split, task

RETURN = "mean return of a policy"
POINTS = 100
"""Most points of a curve."""
HOW = f"mean and SD over seeds, single seeds thin; averaged to at most {POINTS} points"


def solid(colours: Mapping[str, str]) -> dict[str, dict]:
    """Line styles."""
    return {method: {"color": colour, "linestyle": "-"} for method, colour in colours.items()}


class Data(plotting.Data):
    """The rows of one or more experiments at a scale, what of them is missing, and canvases that say so."""

    paper, plan, width = "NERS", "papers.ners.evidence.experiments", 6.8
    place = staticmethod(task)

    def __init__(self, results: Results, experiment: str, scale: str) -> None:
        super().__init__(results, experiment, scale)
        there = {(split(method)[0], env) for method, env, _ in set(self.wanted) - set(self.missing)}
        planned = dict.fromkeys((split(method)[0], env) for method, env, _ in self.wanted)
        cells = [each for each in planned if each in there or scale != "quick"]
        self.agents = [agent for agent in AGENTS if agent in {agent for agent, _ in cells}]
        self.cells = sorted(cells, key=lambda each: self.agents.index(each[0]))
        """(agent, env) of every panel or row of a table; at quick only those of which something was run."""

    @cached_property
    def _groups(self) -> dict[Hashable, pd.DataFrame]:
        return dict(iter(self.frame.groupby(["metric", "method", "env"])))

    def every(self, metric: str, methods: Iterable[str], env: str) -> pd.DataFrame:
        """The rows of a metric of some methods on a task."""
        found = [rows for method in methods if (rows := self._groups.get((metric, method, env))) is not None]
        return pd.concat(found) if found else self.frame.iloc[:0]

    def rows(self, metric: str, methods: Iterable[str], env: str) -> pd.DataFrame:
        """And averaged."""
        return averaged(self.every(metric, methods, env))

    def has(self, method: str, env: str) -> bool:
        """Whether a method's runs on a task belong to the experiments, run or not."""
        return any(run[:2] == (method, env) for run in self.wanted)

    def caption(self, note: str, **names: Any) -> str:
        short = len({split(method)[0] for method in self.methods}) == 1  # the title names the agent
        return super().caption(note, **{"label": lambda method: label(method, short)} | names)


class SAC(Data):
    """SAC's part of it."""

    @staticmethod
    def wants(entry: Entry) -> bool:
        return split(entry.method)[0] == "sac"


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
    """One metric of an agent on a task, one line for each sampler."""
    names = {f"{agent} {sampler}": SAMPLERS.get(sampler, sampler) for sampler in samplers}
    looks = solid({method: COLOURS[split(method)[1]] for method in names})
    data.panel(ax, env, metric, ylabel, names, title=cell(agent, env), labels=names, styles=looks)
