"""How runs with a learner are compared.

*Score.* A run's success rate, estimate and so on is the mean of its last LAST evaluations. All methods see the same
starts and goals and begin with the same networks, seed by seed: comparisons on one task are paired.

*Sizes.* "Near zero", "almost none" and "most" need sizes. They are the constants below, fixed before the runs.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lab.comparisons import Room, Runs, Score, Side, area, last
from lab.verdicts import number
from papers.bias_reduced_her.evidence.labels import NAMES, TABLE_2, with_bias

TASKS = tuple(TABLE_2)
LAST = 5
"""Evaluations whose mean is a run's score."""
NEAR_ZERO = 0.05
"""Success rate up to which a method counts as failing, and above which one has succeeded."""
LITTLE = 0.05
"""Decrease of the distance to the goal (side of the square: 1) up to which there is almost no improvement."""
RESAMPLED_FROM = 10
"""Runs from which the spread of runs is compared by resampling them; with fewer, such intervals are too short."""
NEAR_THE_BALL = (0.1, 0.2, 0.3)
"""Shares of the way from the ball to the black hole that are near the ball."""


def env_steps(runs: Runs, sides: Sequence[Side]) -> int:
    """Environment steps of the longest run on a task."""
    rows = runs.frame[(runs.frame["env"] == sides[0][1]) & (runs.frame["metric"] == "env_steps")]
    return int(rows["value"].max())


ROOM = Room(
    Score(last("success", LAST), gated=True),
    learning=lambda runs, method, env: runs.learning("success", method, env, 0.0),
    label=lambda method: NAMES.get(method, method),
    steps=env_steps,
    rows=with_bias,
)


def succeeds(runs: Runs, env: str) -> bool:
    """Whether any method's success rate gets above NEAR_ZERO in any evaluation, on average over its runs."""
    methods = [method for method, where in runs.groups if where == env]
    return any(runs.curve("success", m, env)[1].mean(axis=0).max() > NEAR_ZERO for m in methods)


def sign_flips(differences: np.ndarray) -> float:
    """Share of all 2^n choices of signs whose mean difference is at least the one that was seen: the exact one-sided
    p value of the paired permutation test, for n <= 20 differences (n,)."""
    n = len(differences)
    signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    return float((signs @ differences >= differences.sum() - 1e-12).mean())


def excess(runs: Runs, method: str, env: str) -> np.ndarray:
    """What a method expects of goals near a free ball, less what it gets (runs,)."""
    gaps = [runs.last(f"estimate {s}", method, env) - runs.last(f"realised {s}", method, env) for s in NEAR_THE_BALL]
    return np.mean(gaps, axis=0)


OVER_TRAINING = Score(area("success"), gated=True)
"""Mean success over training: sample efficiency."""
SOONER = replace(OVER_TRAINING, note=lambda x, y: f"sign-flip p = {number(sign_flips(x - y))}")
GROUND = Score(last("success ground"), gated=True)
"""Success in episodes that begin with a free ball."""
RATE = Score(last("success", LAST), show=number)
FALL = Score(lambda runs, *side: runs.first("distance", *side) - runs.last("distance", *side, LAST), show=number)
"""Of the distance to the goal, between the first evaluation and the last ones."""
KL = Score(last("kl"))
BIAS = Score(last("bias", LAST))
ESTIMATE = Score(last("q_estimate", LAST))
NEAR = Score(excess)
