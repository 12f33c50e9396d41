"""What the checks of claims.py and its parts share: the runs of an experiment, what is compared, and sizes.

*Score.* A run's score is the mean return of the training episodes that ended in the last LAST of its steps: the bins'
means, weighted by their numbers of episodes. Where the paper says "faster" or "slower", the same mean over the whole of
training is compared instead.

*Pairs.* None. Runs of one learner with the same seed share initial states, initial network and draws of the noise,
whatever replays them, but soon go their own ways: over 92 pairs of variants on a task, scores of equal seeds correlate
by 0.05 on average, so pairing would only cost degrees of freedom.

*Gate and margin.* A comparison of returns is gated: one side must learn, against the score of the policy with which it
began (before_learning.py). "Not worse" and "the same" allow the house's margin, a fifth of what the better side gained
over that score in its best stretch.

*Parts.* The tasks that the claim speaks of: for "most tasks" all ten of the paper's, of which `quick` plans five for
V-RACER and PPO, three for DDPG and NAF and one for ACER.

*Divergences.* Claims about how they go over a whole run look at the bins after a fifth of training (SETTLED), by when
the controller of beta has had time to act.

*Sizes.* "Large", "orders of magnitude" need sizes. They are constants here and in the other files. Sizes and claims
were written down while the first runs (V-RACER on HalfCheetah, ReF-ER and plain replay) were under way, without looking
at them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, polygamma

from lab.judge.comparisons import TINY, Compare, Measure, Room, Runs, Score, Side
from lab.judge.intervals import Estimate, number
from lab.judge.results import MissingData
from papers.ref_er.evidence.before_learning import before
from papers.ref_er.evidence.experiments import entries_of
from papers.ref_er.evidence.implied_kl import implied_kl
from papers.ref_er.evidence.paper_values import ACTIONS, TOLERANCE

LAST = 0.2
"""Share of training at its end over which a run's score is taken."""
SETTLED = 0.2
"""Share of training after which ReF-ER's controller is expected to hold what it controls."""
DISPARITY = 0.5
"""Difference of scores, as a share of the larger gain, from which it is a large disparity."""
ORDERS = 100.0
"""Ratio from which one divergence is orders of magnitude above another."""
FAR = 0.02
"""Largest mean distance of the share of far samples from D that counts as held."""
FACTOR = 2.0
"""Largest ratio of two divergences that counts as agreement with a number."""
DECLINE = 0.5
"""Ratio of the last divergence to the first, on a line through their logarithms, that counts as a decrease. The
annealing implies 0.23."""
TEN = tuple(ACTIONS)
"""The tasks of Figs. 1 to 5."""


def returns(runs: Runs, method: str, env: str, after: float = 0.0) -> np.ndarray:
    """Mean return of the episodes that ended later than this share of training, (runs,)."""
    rows = runs.rows(method, env)
    wide = rows[rows["metric"].isin(["episodes", "return"])]
    wide = wide.pivot(index=["seed", "step"], columns="metric", values="value").reset_index()
    found = []
    for seed in runs.seeds(method, env):
        run = wide[(wide["seed"] == seed) & (wide["step"] > after * runs.steps(env, method))]
        if "return" not in run or not (ended := run.dropna())["episodes"].sum():
            raise MissingData(f"a run of {method} on {env} has no episode that ended late enough")
        found.append(np.average(ended["return"], weights=ended["episodes"]))
    return np.array(found)


def score(runs: Runs, method: str, env: str) -> np.ndarray:
    """Mean return at the end of training, (runs,)."""
    return returns(runs, method, env, 1.0 - LAST)


def settled(runs: Runs, metric: str, method: str, env: str, after: float = SETTLED) -> np.ndarray:
    """A metric [runs, bins] in the bins that end later than this share of training."""
    steps, values = runs.curve(metric, method, env)
    late = values[:, steps > after * runs.steps(env, method)]
    if late.shape[1] == 0:
        raise MissingData(f"no {metric} of {method} on {env} late enough")
    return late


def bins(metric: str, summary: Callable[[np.ndarray], np.ndarray], after: float = SETTLED) -> Measure:
    """What `summary` makes of a settled metric."""
    return lambda runs, method, env: summary(settled(runs, metric, method, env, after))


def mean(values: np.ndarray) -> np.ndarray:
    return values.mean(axis=1)


def late(metric: str) -> Measure:
    """Mean of a metric at the end of training, over as many bins as the score."""
    return bins(metric, mean, 1.0 - LAST)


def trend(kl: np.ndarray) -> np.ndarray:
    """Last over first divergence on the line fitted to ln(divergence) [runs, bins], (runs,)."""
    bins = np.arange(kl.shape[1])
    slope = np.polyfit(bins, np.log(np.maximum(kl, TINY)).T, 1)[0] if len(bins) > 1 else np.zeros(len(kl))
    return np.exp(slope * (len(bins) - 1))


def roughness(kl: np.ndarray) -> np.ndarray:
    """Standard deviation of the changes of ln(divergence) from bin to bin, (runs,); 0 for a steady decay."""
    return np.diff(np.log(np.maximum(kl, TINY)), axis=1).std(axis=1)


def factor_from_implied(kl: np.ndarray, c_max: np.ndarray) -> np.ndarray:
    """Largest factor, up or down, between divergences and those that D implies, both [runs, bins], (runs,)."""
    unique, where = np.unique(c_max, return_inverse=True)
    implied = np.array([implied_kl(float(c), TOLERANCE) for c in unique])[where].reshape(c_max.shape)
    return np.exp(np.abs(np.log(np.maximum(kl, TINY) / implied)).max(axis=1))


def from_implied(runs: Runs, method: str, env: str) -> np.ndarray:
    """The same of settled divergences, (runs,)."""
    return factor_from_implied(*(settled(runs, metric, method, env) for metric in ("kl", "c_max")))


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


@cache
def planned(experiment: str, scale: str) -> dict[Side, int]:
    """(method, task) -> how many seeds an experiment ("a+b" is two) has at a scale."""
    return Counter((entry.method, entry.env) for entry in entries_of(experiment, scale))


def missing(runs: Runs, sides: Sequence[Side]) -> str:
    """ "3 of 5 seeds" where not all of these runs are there, else nothing."""
    grid = planned(runs.experiment, runs.scale)
    seeds = sorted((len(runs.seeds(*side)), grid.get(side, 0)) for side in sides)
    return next((f"{n} of {of} seeds" for n, of in seeds if n < of), "")


ROOM = Room(
    Score(score, gated=True),
    learning=lambda runs, method, env: runs.learning("return", method, env, before(method, env)),
    paired=lambda x, y: False,
    note=missing,
)
TRAINING = Score(returns, gated=True)
"""Returns of all of training, not of its end."""
SPREAD = Score(score, gated=True, ratio=True, estimate=spread_ratio)
"""How much scores vary from run to run, as shares of their means."""
DIVERGENCE = Score(late("kl"), ratio=True)
"""At the end, as geometric means."""
FALL = Score(bins("kl", trend), show=number)
ROUGHNESS = Score(bins("kl", roughness))
FROM_IMPLIED = Score(from_implied, show=number)
AWAY = Score(bins("far", lambda far: np.abs(far - TOLERANCE).mean(axis=1)), show=number)
"""Mean distance of the share of far samples from D."""
FAR_SAMPLES, BETA, DEVIATION = (Score(late(metric)) for metric in ("far", "beta", "std"))
WIDEST = Score(bins("std", lambda deviation: deviation.max(axis=1), after=0.0))
"""Largest deviation of the policy over all of training."""


def declines(method: str, of: str) -> Compare:
    """Check that the divergence falls, by its trend; how smooth it is `ROUGHNESS` compares with plain replay's."""
    return ROOM.most(method, "<", DECLINE, of=of, on=TEN, by=FALL)
