"""How runs with a learner are compared.

*Score.* A run's success rate, estimate and so on is the mean of its last LAST evaluations. All methods see the same
starts and goals and begin with the same networks, seed by seed: comparisons on one task are paired.

*Gate.* On a task where no method succeeds in more than NEAR_ZERO nothing about success is decided.

*Readings.* What happens at a virtual success is read in two ways, and each has verdicts of its own (NOTEBOOK.md).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from lab.judge.comparisons import Room, Runs, Score, Side, area, last
from lab.judge.intervals import number
from lab.judge.results import MissingData
from lab.judge.verdicts import Learning
from papers.bias_reduced_her.evidence.labels import SUCCESS, TABLE_2, label, with_bias

TASKS = tuple(TABLE_2)
LAST = 5
"""Evaluations whose mean is a run's score."""
NEAR_ZERO = 0.05
"""Success rate up to which a method counts as failing, and above which one has succeeded."""
_, SUFFIX = SUCCESS
"""What follows a method's name where virtual successes are bootstrapped."""


def env_steps(runs: Runs, sides: Sequence[Side]) -> int:
    """Environment steps of the longest run on a task."""
    rows = runs.frame[(runs.frame["env"] == sides[0][1]) & (runs.frame["metric"] == "env_steps")]
    return int(rows["value"].max())


def succeeds(runs: Runs, env: str) -> bool:
    """Whether any method's success rate gets above NEAR_ZERO in any evaluation, in either reading, on average over its
    runs."""
    methods = [method for method, where in runs.groups if where == env]
    return any(runs.curve("success", m, env)[1].mean(axis=0).max() > NEAR_ZERO for m in methods)


def learning(runs: Runs, method: str, env: str) -> Learning:
    return runs.learning("success", method, env, 0.0) if succeeds(runs, env) else Learning(False, False, 0.0)


def silent(runs: Runs, sides: Sequence[Side]) -> str:
    return "" if succeeds(runs, sides[0][1]) else f"no method succeeds in more than {100 * NEAR_ZERO:g} % here"


def bootstrapped(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with the second reading's runs under the methods' own names, and the first's as "her (terminal)".
    Without hindsight both are one run."""
    names = {m: m.removesuffix(SUFFIX) for m in frame["method"].unique() if m.endswith(SUFFIX)}
    if not names:
        raise MissingData("no runs with bootstrapped virtual successes")
    names |= {m: f"{m} (terminal)" for m in names.values()}
    return with_bias(frame.assign(method=[names.get(m, m) for m in frame["method"]]))


ROOM = Room(
    Score(last("success", LAST), gated=True), learning, label=label, note=silent, steps=env_steps, rows=with_bias
)
"""For claims about success; says where there is none."""
OTHER = replace(ROOM, note=lambda runs, sides: "")
"""For other claims, and those that have a control of their own."""
ARMS = {  # reading of a virtual success -> what its claims are called, and how they read the runs BOTH
    "terminal": ("", ROOM, OTHER),
    "bootstrapped": ("-bootstrapped", replace(ROOM, rows=bootstrapped), replace(OTHER, rows=bootstrapped)),
}


def sign_flips(differences: np.ndarray) -> float:
    """Share of all 2^n choices of signs whose mean difference is at least the one that was seen: the exact one-sided
    p value of the paired permutation test, for n <= 20 differences (n,)."""
    n = len(differences)
    signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    return float((signs @ differences >= differences.sum() - 1e-12).mean())


OVER_TRAINING = Score(area("success"), gated=True)
"""Mean success over training: sample efficiency."""
SOONER = replace(OVER_TRAINING, note=lambda x, y: f"sign-flip p = {number(sign_flips(x - y))}")
"""The same, with an exact test beside its interval."""
