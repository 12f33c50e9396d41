"""What the checks of claims.py and its parts share: the runs of an experiment, what is compared, and sizes.

*Score.* A run's score is the mean return of the training episodes that ended in the last LAST of its steps: the bins'
means, weighted by their numbers of episodes. Where the paper says "faster" or "slower", the same mean over the whole of
training is compared instead.

*Pairs.* Runs of one learner with the same seed share initial states, initial network and draws of the noise, whatever
replays them: their comparisons are paired by seed. Two learners have different networks: their runs are independent.

*Gate and margin.* A comparison of returns is gated: one side must learn, against the score of the policy with which it
began (before_learning.py). "Not worse" and "the same" allow the house's margin, a fifth of what the better side gained
over that score in its best stretch.

*Parts.* The tasks that the claim speaks of: for "most tasks" all ten of the paper's, of which `quick` plans five for
V-RACER and PPO, three for DDPG and NAF and one for ACER.

*Sizes.* "Large", "orders of magnitude" need sizes. They are constants here and in the other files. They and the claims
were written down while the first runs were under way and without use of them: V-RACER with ReF-ER and with plain replay
on HalfCheetah.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, polygamma

from lab import scores
from lab.results import MissingData, Results
from lab.verdicts import (
    MARGIN,
    Estimate,
    Learning,
    Rule,
    Verdict,
    above,
    all_of,
    apart,
    below,
    decide,
    difference,
    gated,
    judged,
    learning,
    margin_of,
    mean_of,
    most_of,
    number,
    same,
)
from papers.ref_er.evidence.before_learning import before
from papers.ref_er.evidence.experiments import entries_of
from papers.ref_er.evidence.paper_values import ACTIONS

LAST = 0.2
"""Share of training at its end over which a run's score is taken."""
SETTLED = 0.2
"""Share of training after which ReF-ER's controller is expected to hold what it controls."""
DISPARITY = 0.5
"""Difference of scores, as a share of the larger gain, from which it is a large disparity."""
ORDERS = 100.0
"""Ratio from which one divergence is orders of magnitude above another."""
TINY = 1e-12
TEN = tuple(ACTIONS)
"""The tasks of Figs. 1 to 5."""

Measure = Callable[[str, str], np.ndarray]
"""Method and task -> a number per run, in the order of the seeds."""
Sized = Callable[[float], Rule]
"""A margin -> a rule; `same` and `not_worse` are such."""


def better(margin: float) -> Rule:
    """x is above y, whatever the margin."""
    return above()


def disparate(margin: float) -> Rule:
    """x and y differ by more than DISPARITY of what the better one gained, in either direction."""
    return apart(margin / MARGIN * DISPARITY)


def times(factor: float) -> Rule:
    """Of logarithms: at least `factor` times."""
    return above(float(np.log(factor)))


def similar(factor: float) -> Rule:
    """Of logarithms: within a factor of each other."""
    return same(float(np.log(factor)))


def as_ratio(logarithm: float) -> str:
    """A difference of logarithms as verdicts print it: "15.5x"."""
    return f"{number(float(np.exp(logarithm)))}x"


def logs(values: np.ndarray) -> np.ndarray:
    """Logarithms of divergences, of which some may be 0."""
    return np.log(np.maximum(values, TINY))


@cache
def planned(experiment: str, scale: str) -> dict[tuple[str, str], int]:
    """(method, task) -> how many seeds an experiment ("a+b" is two) has at a scale."""
    return Counter((entry.method, entry.env) for entry in entries_of(experiment, scale))


# ---- the runs --------------------------------------------------------------------------------------------------------


class Runs(scores.Runs):
    """The runs of an experiment, with what this paper measures in them."""

    def returns(self, method: str, env: str, after: float = 0.0) -> np.ndarray:
        """Mean return of the episodes that ended later than this share of training, (runs,)."""
        rows = self.rows(method, env)
        wide = rows[rows["metric"].isin(["episodes", "return"])]
        wide = wide.pivot(index=["seed", "step"], columns="metric", values="value").reset_index()
        found = []
        for seed in self.seeds(method, env):
            run = wide[(wide["seed"] == seed) & (wide["step"] > after * self.steps(env, method))]
            if "return" not in run or not (ended := run.dropna())["episodes"].sum():
                raise MissingData(f"a run of {method} on {env} has no episode that ended late enough")
            found.append(np.average(ended["return"], weights=ended["episodes"]))
        return np.array(found)

    def score(self, method: str, env: str) -> np.ndarray:
        """Mean return at the end of training, (runs,)."""
        return self.returns(method, env, 1.0 - LAST)

    def settled(self, metric: str, method: str, env: str, after: float = SETTLED) -> np.ndarray:
        """A metric [runs, bins] in the bins that end later than this share of training."""
        steps, values = self.curve(metric, method, env)
        late = values[:, steps > after * self.steps(env, method)]
        if late.shape[1] == 0:
            raise MissingData(f"no {metric} of {method} on {env} late enough")
        return late

    def late(self, metric: str) -> Measure:
        """Mean of a metric at the end of training, over as many bins as the score."""
        return lambda method, env: self.settled(metric, method, env, 1.0 - LAST).mean(axis=1)

    def learns(self, method: str, env: str) -> Learning:
        """Whether the method's best stretch is above the policy with which it began."""
        return learning(self.curve("return", method, env)[1], before(method, env))

    def missing(self, env: str, *methods: str) -> str:
        """ "3 of 5 seeds" where not all of these methods' runs are there, else nothing."""
        grid = planned(self.experiment, self.scale)
        seeds = sorted((len(self.seeds(method, env)), grid.get((method, env), 0)) for method in methods)
        return next((f"{n} of {of} seeds" for n, of in seeds if n < of), "")

    # ---- verdicts ----------------------------------------------------------------------------------------------------

    def say(self, estimate: Estimate, rule: Rule, methods: Sequence[str], env: str, **how) -> Verdict:
        """The verdict of a rule on an estimate from these methods' runs, which says where seeds are missing."""
        note, steps = self.missing(env, *methods), self.steps(env, *methods)
        return decide(estimate, rule, steps=steps, scale=self.scale, note=note, **how)

    def differ(self, measure: Measure, x: str, y: str, env: str, rule: Rule = above(), **how) -> Verdict:
        """Whether x's measure and y's differ as the rule says; paired by seed where both are of one learner."""
        first, second = measure(x, env), measure(y, env)
        paired = x.split()[0] == y.split()[0]
        if paired:
            first, second = self.pairs(first, second, (x, y), env)
        return self.say(difference(first, second, paired=paired), rule, (x, y), env, **how)

    def compare(self, x: str, y: str, env: str, rule: Sized = better, *, training: bool = False) -> Verdict:
        """Whether x's returns and y's differ as the rule says; `training`: those of all of training, not of its end."""
        sides = {method: self.learns(method, env) for method in (x, y)}
        margin = margin_of(*(side.gain for side in sides.values()))
        verdict = self.differ(self.returns if training else self.score, x, y, env, rule(margin))
        return gated(verdict, **sides)

    def ratio(self, x: str, y: str, env: str, rule: Rule) -> Verdict:
        """What the rule (`times`, `similar`) says of the ratio of the divergences at the end, as geometric means."""
        late = self.late("kl")
        return self.differ(lambda method, env: logs(late(method, env)), x, y, env, rule, show=as_ratio)

    def level(self, values: np.ndarray, level: float, method: str, env: str, rule: Rule) -> Verdict:
        """The same of values (runs,) and a known level."""
        return self.say(mean_of(logs(values) - np.log(level)), rule, [method], env, show=as_ratio)

    def at_most(self, values: np.ndarray, limit: float, method: str, env: str) -> Verdict:
        """Whether the mean of values (runs,) is at most the limit."""
        return self.say(mean_of(values), below(limit), [method], env, show=number)

    def spread(self, x: str, y: str, env: str) -> Verdict:
        """Whether x's scores vary more from run to run than y's, as shares of their means."""
        verdict = self.say(spread_ratio(self.score(x, env), self.score(y, env)), above(), (x, y), env, show=as_ratio)
        return gated(verdict, **{method: self.learns(method, env) for method in (x, y)})


def spread_ratio(x: ArrayLike, y: ArrayLike) -> Estimate:
    """ln of the ratio of the standard deviations of x and y (runs,), each as a share of its mean.

    ln of a variance of n normal values is off by digamma((n - 1) / 2) - ln((n - 1) / 2) on average and has the variance
    trigamma((n - 1) / 2); of two of them the difference is nearly normal. NaN error where one run is all.
    """
    value, variance = 0.0, 0.0
    sides = [np.asarray(side, dtype=np.float64) for side in (x, y)]
    n = min(map(len, sides))
    if n < 2:
        return Estimate(np.nan, np.nan, 1, n)
    for sign, side in zip((1, -1), sides):
        half = (len(side) - 1) / 2
        share = max(float(side.std(ddof=1)), TINY) / max(abs(float(side.mean())), TINY)
        value += sign * (np.log(share) - (digamma(half) - np.log(half)) / 2)
        variance += float(polygamma(1, half)) / 4
    return Estimate(float(value), variance**0.5, 1e6, n)


# ---- one claim, several tasks ----------------------------------------------------------------------------------------

Judge = Callable[[Runs, str], Verdict]
"""The runs of an experiment and a task -> a verdict; may raise MissingData."""
Check = Callable[[Results], Verdict]


def _parts(results: Results, experiment: str, judge: Judge, tasks: Iterable[str]) -> dict[str, Verdict]:
    runs = Runs.of(results, experiment)
    return judged(tasks, lambda env: judge(runs, env))


def most(experiment: str, judge: Judge, tasks: Sequence[str] = TEN) -> Check:
    """Check that `judge` holds in most of these tasks."""
    return lambda results: most_of(_parts(results, experiment, judge, tasks))


def every(experiment: str, judge: Judge, tasks: Sequence[str]) -> Check:
    """Check that `judge` holds in each of these tasks."""
    return lambda results: all_of(_parts(results, experiment, judge, tasks))


def compared(x: str, y: str, rule: Sized = better, *, training: bool = False) -> Judge:
    """Judge of two methods' returns, see Runs.compare."""
    return lambda runs, env: runs.compare(x, y, env, rule, training=training)


def both(decisive: Iterable[str] = (), **judges: Judge) -> Judge:
    """Judge that needs all of these to hold; their names are printed with blanks for underscores."""
    named = {name.replace("_", " "): judge for name, judge in judges.items()}
    key = [name.replace("_", " ") for name in decisive]
    return lambda runs, env: all_of(judged(named, lambda name: named[name](runs, env)), decisive=key)
