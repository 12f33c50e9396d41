"""The runs with a learner, and what several claims about them share.

*Score.* A run's success rate, estimate and so on is the mean of its last LAST evaluations. All four methods see the
same starts and goals and begin with the same networks, seed by seed: comparisons on one task are paired.

*Sizes.* "Near zero", "almost none" and "most" need sizes. They are the constants below, fixed before the runs.
"""

from collections.abc import Callable

import numpy as np

from lab.results import Results
from lab.scores import Runs
from lab.verdicts import Verdict, above, all_of, below, decide, difference, gated, judged, mean_of, number
from papers.bias_reduced_her.evidence.labels import NAMES, TABLE_2, TRAINING, with_bias

TASKS = tuple(TABLE_2)
LAST = 5
"""Evaluations whose mean is a run's score."""
NEAR_ZERO = 0.05
"""Success rate up to which a method counts as failing, and above which one has succeeded."""
LITTLE = 0.05
"""Decrease of the distance to the goal (side of the square: 1) up to which there is almost no improvement."""
RESAMPLED_FROM = 10
"""Runs from which the spread of runs is compared by resampling them; with fewer, such intervals are too short."""
FILTER_PAIRS = (("her", "filtered-her"), ("her-ibs", "filtered-her-ibs"))


class Training(Runs):
    """The runs of an experiment with the four methods."""

    def __init__(self, results: Results, experiment: str = TRAINING):
        super().__init__(results, experiment)
        self.frame = with_bias(self.frame)
        self.groups = {pair: rows for pair, rows in self.frame.groupby(["method", "env"])}

    def score(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean of the last evaluations of each run (runs,)."""
        return self.last(metric, method, env, 1 if metric == "kl" else LAST)

    def env_steps(self, env: str) -> int:
        """Environment steps of the longest run."""
        rows = self.frame[(self.frame["env"] == env) & (self.frame["metric"] == "env_steps")]
        return int(rows["value"].max())

    def compare(self, x: np.ndarray, y: np.ndarray, methods: tuple[str, str], env: str) -> Verdict:
        """Whether scores x (runs,) are above scores y of two methods on one task, seed by seed."""
        pair = difference(*self.pairs(x, y, methods, env), paired=True)
        return decide(pair, above(), steps=self.env_steps(env), scale=self.scale)

    def greater(self, metric: str, x: str, y: str, env: str) -> Verdict:
        """Whether x's score is above y's; of successes, where one of them learns."""
        verdict = self.compare(self.score(metric, x, env), self.score(metric, y, env), (x, y), env)
        return self.gate(verdict, x, y, env) if metric == "success" else verdict

    def gate(self, verdict: Verdict, x: str, y: str, env: str) -> Verdict:
        sides = {NAMES.get(m, m).replace(" ", "_"): self.learning("success", m, env, 0.0) for m in (x, y)}
        return gated(verdict, **sides)

    def succeeds(self, env: str) -> bool:
        """Whether any method's success rate gets above NEAR_ZERO in any evaluation, on average over its runs."""
        methods = [method for method, where in self.groups if where == env]
        return any(self.curve("success", m, env)[1].mean(axis=0).max() > NEAR_ZERO for m in methods)

    def at_most(self, values: np.ndarray, limit: float, env: str) -> Verdict:
        """Whether the mean of `values` (runs,) is at most `limit`."""
        return decide(mean_of(values), below(limit), steps=self.env_steps(env), scale=self.scale, show=number)


def every_task(judge: Callable[[Training, str], Verdict], experiment: str = TRAINING) -> Callable[[Results], Verdict]:
    """Check that `judge` holds in each of the three tasks."""

    def check(results: Results) -> Verdict:
        runs = Training(results, experiment)
        return all_of(judged(TASKS, lambda env: judge(runs, env)))

    check.__qualname__, check.__module__ = judge.__qualname__, judge.__module__  # which RESULTS.md names
    return check


def sign_flips(differences: np.ndarray) -> float:
    """Share of all 2^n choices of signs whose mean difference is at least the one that was seen: the exact one-sided
    p value of the paired permutation test, for n <= 20 differences (n,)."""
    n = len(differences)
    signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    return float((signs @ differences >= differences.sum() - 1e-12).mean())


def sooner(runs: Training, env: str, x: str, y: str) -> Verdict:
    """x succeeds more often than y on average over training (sample efficiency)."""
    a, b = runs.pairs(runs.area("success", x, env), runs.area("success", y, env), (x, y), env)
    verdict = decide(difference(a, b, paired=True), above(), steps=runs.env_steps(env), scale=runs.scale)
    verdict = runs.gate(verdict, x, y, env)
    verdict.note = "; ".join(filter(None, [verdict.note, f"sign-flip p = {number(sign_flips(a - b))}"]))
    return verdict
