"""What the checks of claims.py and its parts share: the runs of an experiment, what is compared, and sizes.

claims_tasks.py makes one verdict of those on several tasks.

*Score.* A run's score is the mean return of the training episodes that ended in the last LAST of its steps: the bins'
means, weighted by their numbers of episodes. Where the paper says "faster" or "slower", the same mean over the whole of
training is compared instead. A comparison is the difference of means over runs with its 95 % bootstrap interval.

*Sizes.* "Large", "similar", "minor" need sizes. They are the constants here. They and the claims were written down
while the first runs were under way and without use of them: V-RACER with ReF-ER and with plain replay on HalfCheetah.

*Gate.* Where neither side of a comparison of returns ends above its own first bin there is nothing to compare: the
difference between two kinds of exploration noise is none between two kinds of replay. It is then inconclusive.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from lab.claims import MIN_SEEDS, Verdict, number
from lab.results import MissingData, Results, matrix
from lab.stats import bootstrap_interval, difference_interval

LAST = 0.2
"""Share of training at its end over which a run's score is taken."""
SETTLED = 0.2
"""Share of training after which ReF-ER's controller is expected to hold what it controls."""
MARGIN = 0.1
"""Loss of return, as a share of the larger score, that "at least as good" allows."""
MINOR = 0.25
"""Difference of returns, as a share of the larger score, up to which an effect is minor."""
DISPARITY = 0.5
"""The same, from which it is a large disparity."""
ORDERS = 100.0
"""Ratio from which one divergence is orders of magnitude above another."""
TINY = 1e-12
NOBODY = "nobody learns at this budget"

# ---- rules: what the interval (low, high) of mean(x) - mean(y) says; size: the larger |score| ------------------------

Rule = Callable[[float, float, float], str]


def above(low: float, high: float, size: float) -> str:
    """x > y."""
    return "reproduced" if low > 0 else "not reproduced" if high < 0 else "inconclusive"


def no_worse(low: float, high: float, size: float) -> str:
    """x is at least as good as y: worse by less than MARGIN at most, and not clearly worse at all."""
    return "not reproduced" if high < 0 else "reproduced" if low > -MARGIN * size else "inconclusive"


def hardly_worse(low: float, high: float, size: float) -> str:
    """x is worse than y by less than MINOR."""
    return "reproduced" if low > -MINOR * size else "not reproduced" if high < -MINOR * size else "inconclusive"


def alike(low: float, high: float, size: float) -> str:
    """x and y differ by less than MINOR."""
    return within(low, high, MINOR * size)


def apart(low: float, high: float, size: float) -> str:
    """x and y differ by more than DISPARITY, in either direction."""
    return OPPOSITE[within(low, high, DISPARITY * size)]


def within(low: float, high: float, margin: float) -> str:
    """Status of "it is 0 to within the margin" from an interval."""
    if -margin < low and high < margin:
        return "reproduced"
    return "not reproduced" if low > margin or high < -margin else "inconclusive"


OPPOSITE = {"reproduced": "not reproduced", "not reproduced": "reproduced", "inconclusive": "inconclusive"}

# ---- the runs --------------------------------------------------------------------------------------------------------


class Runs:
    """The runs of an experiment at the scale they were found at. Everything raises MissingData where there are none.

    To be had from `runs_of`, so that the checks of an experiment share one.
    """

    def __init__(self, results: Results, experiment: str):
        self.frame, self.scale = results.need(experiment)
        self.tasks: list[str] = sorted(self.frame["env"].unique())
        self.groups = dict(iter(self.frame.groupby(["method", "env"])))
        """(method, env) -> its rows."""
        self._bins: dict[tuple[str, str], list[np.ndarray]] = {}
        self._learns: dict[tuple[str, str], bool] = {}

    def rows(self, method: str, env: str) -> pd.DataFrame:
        """All rows of a method on a task."""
        if (method, env) not in self.groups:
            raise MissingData(f"no runs of {method} on {env}")
        return self.groups[method, env]

    def steps(self, method: str, env: str) -> int:
        """Environment steps of the longest run."""
        return int(self.rows(method, env)["step"].max())

    def bins(self, method: str, env: str) -> list[np.ndarray]:
        """Per run the bins in which an episode ended: step, number of episodes, mean return, each [bins]."""
        if (method, env) not in self._bins:
            rows = self.rows(method, env)
            rows = rows[rows["metric"].isin(["episodes", "return"])]
            wide = rows.pivot(index=["seed", "step"], columns="metric", values="value")
            if "return" not in wide:
                raise MissingData(f"no episode of {method} on {env} ended")
            ended = wide.reset_index().dropna()
            seeds = [ended[ended["seed"] == seed] for seed in rows["seed"].unique()]
            self._bins[method, env] = [run[["step", "episodes", "return"]].to_numpy().T for run in seeds]
        return self._bins[method, env]

    def returns(self, method: str, env: str, after: float = 0.0) -> np.ndarray:
        """Mean return of the episodes that ended later than this share of training, (runs,)."""
        first = after * self.steps(method, env)
        late = [run[:, run[0] > first] for run in self.bins(method, env)]
        if any(episodes.sum() == 0 for _, episodes, _ in late):
            raise MissingData(f"a run of {method} on {env} has no episode that ended late enough")
        return np.array([np.average(values, weights=episodes) for _, episodes, values in late])

    def score(self, method: str, env: str) -> np.ndarray:
        """Mean return at the end of training, (runs,)."""
        return self.returns(method, env, 1.0 - LAST)

    def first(self, method: str, env: str) -> np.ndarray:
        """Mean return of the first bin in which an episode ended, (runs,)."""
        return np.array([values[0] for _, _, values in self.bins(method, env)])

    def curve(self, metric: str, method: str, env: str, after: float) -> np.ndarray:
        """A metric [runs, bins] in the bins that end later than this share of training."""
        steps, values = matrix(self.rows(method, env), metric, method, env)
        late = values[:, steps > after * self.steps(method, env)]
        if late.shape[1] == 0:
            raise MissingData(f"no {metric} of {method} on {env} late enough")
        return late

    def late(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean of a metric at the end of training, over as many bins as the score, (runs,)."""
        return self.curve(metric, method, env, 1.0 - LAST).mean(axis=1)

    def learns(self, method: str, env: str) -> bool:
        """Whether a method ends above its first bin."""
        if (method, env) not in self._learns:
            last, first = self.score(method, env), self.first(method, env)
            low = difference_interval(last, first)[0] if len(last) > 1 else last.mean() - first.mean()
            self._learns[method, env] = bool(low > 0)
        return self._learns[method, env]

    # ---- verdicts ----------------------------------------------------------------------------------------------------

    def say(
        self, status: str, effect: str, seeds: int, methods: Iterable[str], env: str, interval: str = ""
    ) -> Verdict:
        """A verdict; inconclusive where there are too few runs."""
        note = ""
        if seeds < MIN_SEEDS:
            status, note = "inconclusive", f"fewer than {MIN_SEEDS} seeds"
        steps = max(self.steps(method, env) for method in methods)
        return Verdict(status, effect, interval if seeds > 1 else "", seeds, steps, self.scale, note)

    def differ(self, x: np.ndarray, y: np.ndarray, rule: Rule, methods: Sequence[str], env: str) -> Verdict:
        """Whether values (runs,) of two independent sets of runs differ as the rule says."""
        low, high = difference_interval(x, y)
        status = rule(low, high, max(abs(float(x.mean())), abs(float(y.mean()))))
        effect = number(float(x.mean() - y.mean()), "+")
        return self.say(status, effect, min(len(x), len(y)), methods, env, printed(low, high, "+"))

    def exceeds(self, x: np.ndarray, y: np.ndarray, methods: Sequence[str], env: str) -> Verdict:
        """Whether the mean of x (runs,) is above that of y."""
        return self.differ(x, y, above, methods, env)

    def compare(self, x: str, y: str, env: str, rule: Rule = above, *, training: bool = False) -> Verdict:
        """Whether two methods' scores differ as the rule says; `training`: the means over the whole of training."""
        after = 0.0 if training else 1.0 - LAST
        verdict = self.differ(self.returns(x, env, after), self.returns(y, env, after), rule, (x, y), env)
        if not (self.learns(x, env) or self.learns(y, env)):
            verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
        return verdict

    def spread(self, x: str, y: str, env: str) -> Verdict:
        """Whether x's scores are more spread over its runs than y's: distances to the mean, as shares of the mean."""
        scores = self.score(x, env), self.score(y, env)
        first, second = (np.abs(s - s.mean()) / max(abs(float(s.mean())), TINY) for s in scores)
        return self.exceeds(first, second, (x, y), env)

    def at_most(self, values: np.ndarray, limit: float, method: str, env: str) -> Verdict:
        """Whether the mean of values (runs,) is at most the limit, by its interval."""
        low, high = bootstrap_interval(values)
        status = "reproduced" if high <= limit else "not reproduced" if low > limit else "inconclusive"
        return self.say(status, number(float(values.mean())), len(values), [method], env, printed(low, high))

    def ratio(self, x: np.ndarray, y: np.ndarray, methods: Sequence[str], env: str, rule: Rule) -> Verdict:
        """What the rule (`times`, `similar`) says of values (runs,), none negative; printed as the ratio of their
        geometric means."""
        first, second = (np.log(np.maximum(values, TINY)) for values in (x, y))
        low, high = difference_interval(first, second)
        effect = f"{number(float(np.exp(first.mean() - second.mean())))} times"
        interval = printed(float(np.exp(low)), float(np.exp(high)))
        return self.say(rule(low, high, 0.0), effect, min(len(x), len(y)), methods, env, interval)


@lru_cache(maxsize=16)
def runs_of(results: Results, experiment: str) -> Runs:
    """The runs of an experiment; MissingData when there are none."""
    return Runs(results, experiment)


@lru_cache(maxsize=16)
def lesser(results: Results, scale: str) -> Results:
    """The same results without those of this scale and better ones."""
    return Results(results.root, results.scales[results.scales.index(scale) + 1 :])


def times(factor: float) -> Rule:
    """x is at least `factor` times y, for logarithms."""
    limit = float(np.log(factor))
    return lambda low, high, size: "reproduced" if low > limit else "not reproduced" if high < limit else "inconclusive"


def similar(factor: float) -> Rule:
    """x and y are within a factor of each other, for logarithms."""
    return lambda low, high, size: within(low, high, float(np.log(factor)))


def printed(low: float, high: float, sign: str = "") -> str:
    return f"[{number(low, sign)}, {number(high, sign)}]"
