"""Hindsight experience replay (Andrychowicz et al. 2017), strategy "future": every step is also learnt from as if the
goal had been something that its episode achieved later.

This file needs numpy alone. The episodes are relabelled once, when they are stored; a learner that draws new goals for
every batch would see more of them. A relabelled step whose goal is already met before it says nothing, for its episode
would have ended earlier: it is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Success = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Whether the achieved goals [m, ...] meet the goals [m, ...]: bool [m]."""


class Relabelled(NamedTuple):
    """m steps with new goals."""

    episodes: np.ndarray
    """int64 [m] in which episode ..."""
    steps: np.ndarray
    """int64 [m] ... and which step t of it: from state t to state t + 1."""
    goals: np.ndarray
    """[m, ...]"""
    reached: np.ndarray
    """bool [m]: the step's next state meets the goal, and so the episode would have ended."""


def future(lengths: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each step t of episodes with `lengths` [n], up to k different states among t + 1, t + 2, ..., the last.

    Every set of k states has the same probability; a step with no more than k states after it gets all of them. Returns
    episodes, steps and states, int64 [m] each.
    """
    longest = lengths.max()
    episodes, steps = np.nonzero(np.arange(longest) < lengths[:, None])
    # The k smallest of random numbers are at k random places. Those that may not be chosen get an infinite one.
    ends = np.arange(longest)
    allowed = (ends >= steps[:, None]) & (ends < lengths[episodes, None])
    lots = np.where(allowed, rng.random(allowed.shape), np.inf)
    chosen = lots.argpartition(min(k, longest) - 1, axis=1)[:, :k]
    rows, columns = np.nonzero(np.isfinite(np.take_along_axis(lots, chosen, axis=1)))
    return episodes[rows], steps[rows], chosen[rows, columns] + 1


def relabel(
    achieved: np.ndarray, lengths: np.ndarray, success: Success, k: int, rng: np.random.Generator
) -> Relabelled:
    """Up to k new goals for each step of n episodes.

    achieved: [n, T + 1, ...] the goals that their states meet, first states included. lengths: int [n], steps of each
    episode; what lies behind them does not matter. success: the task's. k: goals per step, 0 for none.
    """
    episodes, steps, states = future(lengths, k, rng)
    goals = achieved[episodes, states]
    new = ~success(achieved[episodes, steps], goals)
    episodes, steps, goals = episodes[new], steps[new], goals[new]
    return Relabelled(episodes, steps, goals, success(achieved[episodes, steps + 1], goals))
