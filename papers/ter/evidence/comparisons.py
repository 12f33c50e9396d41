"""How runs of this paper are compared.

*Score.* The paper's statements are about sample efficiency, so a run's score is the area under its curve of normalised
return: the mean height between the first and the last evaluation.

*Pairs.* Whatever the method, runs of one seed share the levels they train on, the draws of exploration, the first
weights of the network, and the levels and the noise of every evaluation; on NChain the data set and the first table.
Comparisons within a task are therefore paired by seed, those between two tasks are not.

*Before learning.* The evaluation before the first step: like all of them of the greedy policy with a few random
actions, here of an untrained network.

*Steps.* Where some runs of a task are planned shorter than others, all of them are judged by what the shortest has.
"""

import functools
import sys
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from lab import scores
from lab.results import MissingData, Results
from lab.verdicts import (
    Learning,
    Rule,
    Verdict,
    above,
    all_of,
    decide,
    difference,
    gated,
    judged,
    margin_of,
    mean_of,
)
from papers.ter.evidence.experiments import EXPERIMENTS
from papers.ter.evidence.labels import label

METRIC = "normalized_return"
LAST = 3
"""Evaluations whose mean is the end of a curve."""

Side = tuple[str, str]
"""(method, env) as labelled in the results."""
Ruling = Callable[[float], Rule]
"""Margin -> rule; `lab.verdicts.same` and `not_worse` are two."""


def faster(margin: float) -> Rule:
    """x is ahead of y at all."""
    return above()


class Runs(scores.Runs):
    """The runs of an experiment, compared by seed."""

    def __init__(self, results: Results, experiment: str):
        super().__init__(results, experiment)
        self._learns: dict[tuple[str, str], Learning] = {}
        planned: dict[str, set[int]] = {}
        for entry in EXPERIMENTS[experiment](self.scale):
            planned.setdefault(entry.env, set()).add(getattr(entry.config, "steps", 0))
        self.until = {env: min(steps) for env, steps in planned.items() if len(steps) > 1}
        """Tasks with runs of different length, and the steps of the shortest."""

    def curve(self, metric: str, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
        """As in all rooms, up to the steps of the task's shortest run."""
        steps, values = super().curve(metric, method, env)
        shown = steps <= self.until.get(env, steps[-1])
        return steps[shown], values[:, shown]

    def steps(self, env: str, *methods: str) -> int:
        return min(super().steps(env, *methods), self.until.get(env, sys.maxsize))

    def by_seed(self, metric: str, side: Side, number: Callable[[str, str, str], np.ndarray]) -> pd.Series:
        """`number` (area, last ...) of a metric for each run of a side, by its seed."""
        values, rows = number(metric, *side), self.rows(*side)
        return pd.Series(values, sorted(rows.loc[rows["metric"] == metric, "seed"].unique()))

    def gap(self, x: Side, y: Side) -> pd.Series:
        """Score of x less that of y, for each seed that both have."""
        found = (self.by_seed(METRIC, x, self.area) - self.by_seed(METRIC, y, self.area)).dropna()
        if found.empty:
            raise MissingData(f"{x[0]} on {x[1]} and {y[0]} on {y[1]} have no seed in common")
        return found

    def learns(self, method: str, env: str) -> Learning:
        """Whether a method learns a task."""
        if (method, env) not in self._learns:
            self._learns[method, env] = self.learning(METRIC, method, env)
        return self._learns[method, env]

    def compare(self, x: Side, y: Side, ruling: Ruling) -> Verdict:
        """Two methods on one task, or one method on two versions of a task."""
        learnt = self.learns(*x), self.learns(*y)
        rule = ruling(margin_of(*(side.gain for side in learnt)))
        steps = max(self.steps(env, method) for method, env in (x, y))
        verdict = decide(mean_of(self.gap(x, y)), rule, steps=steps, scale=self.scale)
        names = (label(x[0]), label(y[0])) if x[0] != y[0] else (x[1], y[1])
        return gated(verdict, **dict(zip(names, learnt)))

    def overestimation(self, method: str, env: str, rule: Rule) -> Verdict:
        """A rule on (mean Q - R_max) / R_max at the end of training. A mean Q below R_max says something only where the
        method learns: until then returns are small, too."""
        q = self.last("q_overestimation", method, env, LAST)
        verdict = decide(mean_of(q), rule, steps=self.steps(env, method), scale=self.scale)
        return gated(verdict, **{label(method): self.learns(method, env)}) if q.mean() < 0 else verdict


@functools.cache
def about(experiment: str, scale: str) -> dict[Side, None]:
    """The sides that a claim is about, in order: what the experiment runs at a scale. Where that is but a part of what
    the paper runs it is all of it, so that the rest counts as not run."""

    def sides(scale: str) -> dict[Side, None]:
        return dict.fromkeys((entry.method, entry.env) for entry in EXPERIMENTS[experiment](scale))

    return sides("full") if sides(scale).keys() <= sides("full").keys() else sides(scale)


def tasks(experiment: str, scale: str) -> list[str]:
    """The tasks that a claim is about."""
    return list(dict.fromkeys(env for _, env in about(experiment, scale)))


def everywhere(env: str) -> bool:
    """Wants every task."""
    return True


def contest(
    experiment: str,
    ruling: Ruling,
    pairs: Iterable[tuple[str, str]],
    *,
    env: Callable[[str], bool] = everywhere,
    other: str = "",
    join: Callable[[dict[str, Verdict]], Verdict] = all_of,
) -> Callable[[Results], Verdict]:
    """Check that ``ruling`` holds of each pair of methods (x, y), in each task that the claim is about.

    Pairs that are not planned in a task are no parts of the claim. env: which tasks. other: what follows the task's
    name where y is looked up. join: of the verdicts of a task's pairs, the task's. The claim holds where it does in
    every task, so that one task of several makes it true in part at most.
    """
    chosen = list(pairs)

    def check(results: Results) -> Verdict:
        runs = Runs.of(results, experiment)
        grid = about(experiment, runs.scale).keys()
        parts: dict[str, dict[str, tuple[Side, Side]]] = {}
        for name in filter(env, tasks(experiment, runs.scale)):
            for x, y in chosen:
                if {(x, name), (y, name + other)} <= grid:
                    pair = label(x) + ("" if x == y else f" vs {label(y)}")
                    parts.setdefault(name, {})[pair] = (x, name), (y, name + other)

        def judge(name: str) -> Verdict:
            pairs = parts[name]
            return join(judged(pairs, lambda pair: runs.compare(*pairs[pair], ruling)))

        return all_of(judged(parts, judge))

    return check


def over_estimation(
    experiment: str, rule: Rule, methods: Iterable[str], where: tuple[str, ...]
) -> Callable[[Results], Verdict]:
    """Check of Figs. 4b and E.7: ``rule`` on (mean Q - R_max) / R_max of each method in the tasks ``where``."""
    chosen = list(methods)

    def check(results: Results) -> Verdict:
        runs = Runs.of(results, experiment)
        parts: dict[str, dict[str, str]] = {}
        for method, env in about(experiment, runs.scale):
            if method in chosen and env in where:
                parts.setdefault(env, {})[label(method)] = method

        def judge(env: str) -> Verdict:
            methods = parts[env]
            return all_of(judged(methods, lambda name: runs.overestimation(methods[name], env, rule)))

        return all_of(judged(parts, judge))

    return check


def overall(experiment: str, others: Iterable[str], ter: str = "ter") -> Callable[[Results], Verdict]:
    """Check of Fig. 3: scores averaged over the tasks on which anybody learns, an arm of TER against each other method.
    All tasks that the claim is about have to be run."""
    others = list(others)

    def check(results: Results) -> Verdict:
        runs = Runs.of(results, experiment)
        planned = tasks(experiment, runs.scale)
        sides = {task: {label(m): runs.learns(m, task) for m in (ter, *others)} for task in planned}
        learned = [task for task in planned if any(side.learns for side in sides[task].values())]
        steps = max(runs.steps(task, ter) for task in planned)

        def versus(method: str) -> Verdict:
            gaps = [runs.gap((ter, task), (method, task)) for task in learned or planned]
            mean = pd.concat(gaps, axis=1).dropna().mean(axis=1)
            return decide(mean_of(mean), above(), steps=steps, scale=runs.scale)

        names = {f"{label(ter)} vs {label(method)}": method for method in others}
        verdict = all_of(judged(names, lambda name: versus(names[name])))
        if not learned:
            return gated(verdict)
        left_out = [task for task in planned if task not in learned]
        verdict.note += f"; without {', '.join(left_out)}, where nobody learns at this budget" if left_out else ""
        return verdict

    return check


def lead(runs: Runs, easy: str, hard: str, others: Iterable[str]) -> Verdict:
    """TER's score over the mean of the other methods', in a hard task against an easy one."""
    others = list(others)

    def of(task: str) -> pd.Series:
        return pd.concat([runs.gap(("ter", task), (method, task)) for method in others], axis=1).dropna().mean(axis=1)

    steps = max(runs.steps(task, "ter") for task in (easy, hard))
    verdict = decide(difference(of(hard), of(easy)), above(), steps=steps, scale=runs.scale)
    sides = {f"{label(m)} on {task}": runs.learns(m, task) for m in ("ter", *others) for task in (easy, hard)}
    return gated(verdict, **sides)
