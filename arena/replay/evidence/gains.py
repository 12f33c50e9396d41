"""Gains of ideas over uniform replay, one number per seed, and which are clear after correction for their number.

*Score of a run*: the mean height of its curve of tasks.py's metric, so learning sooner counts as well as learning more.
*Gain*: the difference from the uniform-replay run of the same seed, which has the same initial network, environments
and exploration noise. All gains on all tasks are one family of comparisons, in which at most 5 % of those called clear
may be false (Benjamini and Hochberg).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena.replay.evidence.experiments import NAMES, legal
from arena.replay.tasks import TASKS
from lab.judge.intervals import Estimate, above, difference, p_value
from lab.judge.results import MissingData, Results
from lab.judge.scores import Runs
from lab.judge.verdicts import false_discovery_threshold

BASE = "uniform"


@dataclass(frozen=True)
class Gain:
    """Gain of one idea over uniform replay on one task. p: two-sided."""

    idea: str
    env: str
    estimate: Estimate
    p: float


def runs_of(results: Results, env: str) -> Runs:
    """The runs on a task. MissingData if there are none."""
    return Runs.of(results, NAMES[env])


def gain(runs: Runs, idea: str, env: str) -> Gain:
    """Gain of an idea on a task. MissingData if either side has no runs, or if they have no seed in common."""
    ours, base = (runs.area(TASKS[env].score, method, env) for method in (idea, BASE))
    estimate = difference(*runs.common([ours, base], [(idea, env), (BASE, env)]), paired=True)
    return Gain(idea, env, estimate, p_value(estimate, above()))


def gains(results: Results, scale: str) -> list[Gain]:
    """All gains that the results at `scale` provide, task by task. MissingData if there are none."""
    found, reader = [], Results(results.root, (scale,))
    for env in TASKS:
        for idea in legal(env)[1:]:
            try:
                found.append(gain(runs_of(reader, env), idea, env))
            except MissingData:
                continue
    if not found:
        raise MissingData(f"nothing at {scale} to compare with {BASE} replay")
    return found


def limit(found: list[Gain]) -> float:
    """Largest p value of a clear gain."""
    return false_discovery_threshold(one.p for one in found if np.isfinite(one.p))


def measured(results: Results, scale: str, metric: str) -> dict[tuple[str, str], float]:
    """(idea, task) -> last value of one of the meter's metrics, averaged over seeds."""
    found, reader = {}, Results(results.root, (scale,))
    for env in TASKS:
        for idea in legal(env):
            try:
                found[idea, env] = float(runs_of(reader, env).last(metric, idea, env).mean())
            except MissingData:
                continue
    return found
