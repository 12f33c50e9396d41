"""What all checks of claims share: the runs of an experiment, which are compared how, and the parts of a claim.

*Score.* SAC and TD3 are compared by returns from 16 fixed starts, the same for all runs (`score`); the paper's
evaluations, one episode each, only make replay rewards. Rainbow's evaluations are several games, which are its scores.
The score of a run: the mean of its last LAST scores, or of those of its last fifth if these are fewer. Where the paper
speaks of learning curves: the mean height of all of the curve. Early and late: the first and the last fifth of the rows
of a metric, at least one. Before learning: the scores during the random phase, whose policy is the untrained one.

*Pairs.* Runs of one agent, task and seed share initial networks, exploration noise and the starts of all episodes,
whichever sampler or learning rate they have; so they share all transitions of the random phase, too. RANDOM and NERS
even draw with the same numbers. Hence every comparison of two methods is paired by seed; so is that of two kinds of
draws from one memory. Runs are compared with the paper's numbers unpaired.

*Parts.* A claim is judged for every agent and task that the scale plans and the claim speaks of. An experiment with
fewer than MIN_SEEDS seeds at a scale is for looking, not for judging: its parts count as not run.
"""

import copy
from collections.abc import Callable, Container, Iterable
from typing import Any

import numpy as np

from lab import scores
from lab.results import MissingData, Results
from lab.verdicts import (
    MIN_SEEDS,
    Estimate,
    Learning,
    Rule,
    Verdict,
    all_of,
    decide,
    difference,
    gated,
    judged,
    learning,
    margin_of,
)
from papers.ners.evidence.labels import SAMPLERS, cell, score_metric, split, task
from papers.ners.evidence.paper_values import RANDOM_STEPS
from papers.ners.evidence.plan import cells, read_as, seeds

LAST = 10
"""Scores at the end of a run that make its one score. The paper does not say how it reads its curves' ends."""
PART = 5
"""The first and the last of so many parts of a run are early and late."""


def last_of(evaluations: int) -> int:
    """How many of a run's evaluations make its score."""
    return min(LAST, max(1, evaluations // PART))


class Runs(scores.Runs):
    """The runs of an experiment at one scale; MissingData where there are none."""

    def score(self, method: str, env: str) -> np.ndarray:
        """Mean of the last scores of each run, (runs,)."""
        metric = score_metric(split(method)[0])
        steps, _ = self.curve(metric, method, env)
        return self.last(metric, method, env, last_of(len(steps)))

    def height(self, method: str, env: str) -> np.ndarray:
        """Mean height of each run's learning curve, (runs,)."""
        return self.area(score_metric(split(method)[0]), method, env)

    def learns(self, method: str, env: str) -> Learning:
        """Whether a method learns, against its scores in the random phase (or the first, where there is none)."""
        steps, values = self.curve(score_metric(split(method)[0]), method, env)
        count = max(1, int((steps <= RANDOM_STEPS[split(method)[0]]).sum()))
        return learning(values, values[:, :count].mean(axis=1))

    def early(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean of a metric in the first part of training, (runs,)."""
        values = self.curve(metric, method, env)[1]
        return values[:, : max(1, values.shape[1] // PART)].mean(axis=1)

    def late(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean of a metric in the last part of training, (runs,)."""
        values = self.curve(metric, method, env)[1]
        return values[:, -max(1, values.shape[1] // PART) :].mean(axis=1)

    def differ(self, x: str, y: str, env: str, score: Callable[[str, str], np.ndarray]) -> Estimate:
        """The difference of a score, (method, task) -> (runs,), between two methods; paired by seed."""
        return difference(*self.pairs(score(x, env), score(y, env), (x, y), env), paired=True)

    def without(self, left_out: Container[int]) -> "Runs":
        """The same without the runs of some seeds; MissingData when nothing is left."""
        other = copy.copy(self)
        other._curves = {}  # those of all seeds are not its own
        kept = {pair: rows[[seed not in left_out for seed in rows["seed"]]] for pair, rows in self.groups.items()}
        other.groups = {pair: rows for pair, rows in kept.items() if len(rows)}
        if not other.groups:
            raise MissingData(f"{self.scale} has no other seeds of {self.experiment} than those that chose the setting")
        return other


def parts(
    results: Results,
    experiments: Iterable[str],
    judge: Callable[..., Verdict],
    *,
    wanted: Callable[[str, str], bool] = lambda agent, env: True,
    **asked: Any,
) -> dict[str, Verdict]:
    """A verdict for each agent and task that the experiments plan, at the one scale that `results` reads.

    judge: called with the runs of an experiment, an agent, a task and what is `asked`; it may raise MissingData.
    wanted: whether the claim speaks of an agent and task. MissingData when no part was run.
    """
    [scale] = results.scales
    planned = {
        cell(agent, env): (experiment, agent, env)
        for experiment in experiments for agent, env in cells(experiment, scale) if wanted(agent, env)
    }  # fmt: skip

    def of(name: str) -> Verdict:
        experiment, agent, env = planned[name]
        if (count := len(seeds(scale, experiment))) < MIN_SEEDS:
            raise MissingData(f"{scale} has {count} seeds of {task(env)}, a verdict needs {MIN_SEEDS}")
        return judge(Runs.of(results, read_as(experiment)), agent, env, **asked)

    return judged(planned, of)


def compare(
    runs: Runs, agent: str, env: str, x: str, y: str, rule: Callable[[float], Rule], whole: bool = False
) -> Verdict:
    """Whether the returns of two samplers of an agent differ as a rule says.

    rule: made from the margin, a fifth of what the better one has learnt. whole: over all of training, not at its end.
    """
    methods = f"{agent} {x}", f"{agent} {y}"
    sides = {SAMPLERS.get(name, name): runs.learns(method, env) for name, method in zip((x, y), methods)}
    estimate = runs.differ(*methods, env, runs.height if whole else runs.score)
    chosen = rule(margin_of(*(side.gain for side in sides.values())))
    return gated(decide(estimate, chosen, steps=runs.steps(env, *methods), scale=runs.scale), **sides)


def every_other(others: Iterable[str], judge: Callable[[str], Verdict]) -> Verdict:
    """Verdict on a superlative: it holds when it does against each other sampler, and fails where it fails against one.

    To be compared with the best of several is the same question, but the best of several noisy means is too good.
    """
    found = {SAMPLERS[other]: judge(other) for other in others}
    return all_of(found, decisive=found)
