"""What an idea gains over uniform replay: one number per seed, and which gains remain when all of them are looked at.

*Score of a run*: the mean height of its curve, of the metric that tasks.py names, so that learning sooner counts as
well as learning more. *Gain*: the difference to the run with uniform replay of the same seed, which has the same
initial network, worlds and exploration noise. All gains on all tasks are one family of comparisons, in which at most
5 % of those called clear may be false (Benjamini and Hochberg).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena.replay.evidence.experiments import NAMES, legal
from arena.replay.tasks import TASKS
from lab.judge.results import MissingData, Results
from lab.judge.scores import Runs
from lab.judge.verdicts import Estimate, above, difference, false_discovery_threshold, p_value

BASE = "uniform"


@dataclass(frozen=True)
class Gain:
    """Of one idea on one task over uniform replay. p: two-sided."""

    idea: str
    env: str
    estimate: Estimate
    p: float


def runs_of(results: Results, env: str) -> Runs:
    """The runs on a task. MissingData where there are none."""
    return Runs.of(results, NAMES[env])


def gain(runs: Runs, idea: str, env: str) -> Gain:
    """MissingData where either side has no runs, or where they have no seed in common."""
    ours, base = (runs.area(TASKS[env].score, method, env) for method in (idea, BASE))
    estimate = difference(*runs.common([ours, base], [(idea, env), (BASE, env)]), paired=True)
    return Gain(idea, env, estimate, p_value(estimate, above()))


def gains(results: Results, scale: str) -> list[Gain]:
    """All that can be said from the results at `scale`, task by task. MissingData where nothing can."""
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
    """The p value up to which gains are clear."""
    return false_discovery_threshold(one.p for one in found if np.isfinite(one.p))


def measured(results: Results, scale: str, metric: str) -> dict[tuple[str, str], float]:
    """(idea, task) -> mean over seeds of the last value of what the meter logs."""
    found, reader = {}, Results(results.root, (scale,))
    for env in TASKS:
        for idea in legal(env):
            try:
                found[idea, env] = float(runs_of(reader, env).last(metric, idea, env).mean())
            except MissingData:
                continue
    return found
