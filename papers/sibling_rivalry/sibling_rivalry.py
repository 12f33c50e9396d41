"""Sibling Rivalry (Algorithm 1): rewards for pairs of rollouts with the same start and goal.

This file needs only NumPy and works with any on-policy learner whose rewards come at the end of episodes:

1. play two rollouts from each start and goal with the same policy, siblings next to each other;
2. pass their ends to :func:`rivalry`;
3. pay each rollout its `rewards` at its last step, show the critic its `anti_goals` (never the policy), and learn from
   the rollouts that are `kept`.

Paid for its distance to the goal, a policy gets trapped in local optima. The closer of two siblings shows where: the
other is pushed away from its end, and it is itself learnt from only if it reached the goal or ended near its sibling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Rivalry:
    """The outcome for n rollouts."""

    anti_goals: np.ndarray
    """[n, ...] where the sibling of each ended."""
    rewards: np.ndarray
    """float64 [n]"""
    closer: np.ndarray
    """bool [n]: closer to the goal than its sibling."""
    kept: np.ndarray
    """bool [n]: used in the update."""
    apart: np.ndarray
    """float64 [n]: distance between the siblings' ends."""


def siblings(n: int) -> np.ndarray:
    """Index int64 [n] of each rollout's sibling: 2 i and 2 i + 1 are a pair. ValueError for an odd n."""
    if n % 2:
        raise ValueError(f"siblings come in pairs: the number of rollouts must be even, not {n}")
    return np.arange(n) ^ 1


def self_balancing_reward(to_goal: np.ndarray, to_anti_goal: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """r' float64 [n] of rollouts that ended at these distances [n] from goal and anti-goal.

    1 for those that `reached` their goal; for the others, the distance to the anti-goal less that to the goal, but at
    most 0.
    """
    return np.where(reached, 1.0, np.minimum(0.0, -to_goal + to_anti_goal))  # Eq. (3)


def rivalry(ends: np.ndarray, goals: np.ndarray, reached: np.ndarray, distance: Distance, epsilon: float) -> Rivalry:
    """Compare siblings: rollouts 2 i and 2 i + 1 are a pair with the same goal.

    ends: [n, ...] m(s_T), what each rollout achieved in the end. A rollout that reached its goal counts as having ended
    on the goal itself, so that if both siblings succeed, neither is pushed away from the other.
    goals: [n, ...]. reached: bool [n]. distance: of two arrays like `goals`, [n].
    epsilon: the closer sibling is kept if the two ended less than this apart (0: never, inf: always), and whenever it
    reached the goal.

    Raises ValueError for an odd number of rollouts, a pair with two goals, and epsilon < 0.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon, the inclusion threshold, must not be negative, not {epsilon}")
    sibling = siblings(len(ends))
    if not np.array_equal(goals, goals[sibling]):
        raise ValueError("siblings must pursue the same goal")
    met = reached.reshape(-1, *[1] * (goals.ndim - 1))
    ends = np.where(met, goals, ends)
    anti_goals = ends[sibling]  # Algorithm 1, lines 7-8
    to_goal, apart = distance(ends, goals), distance(ends, anti_goals)
    rewards = self_balancing_reward(to_goal, apart, reached)  # Eq. (4)
    first = np.arange(len(ends)) % 2 == 0
    closer = np.where(first, to_goal < to_goal[sibling], to_goal <= to_goal[sibling])  # Algorithm 1, lines 9-14
    kept = ~closer | (apart < epsilon) | reached  # Algorithm 1, lines 15-18
    return Rivalry(anti_goals, rewards, closer, kept, apart)
