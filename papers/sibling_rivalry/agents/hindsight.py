"""Hindsight experience replay (Andrychowicz et al. 2017), strategy "future": every step is also learnt from as if the
goal had been something that its episode achieved later.

This file needs only NumPy. Episodes are relabelled once, when they are stored; drawing new goals for every batch would
show the learner more of them. A relabelled step whose goal is met already before it is left out: with that goal, its
episode would have ended earlier.
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
    """int64 [m]: the episode."""
    steps: np.ndarray
    """int64 [m]: its step t, from state t to state t + 1."""
    goals: np.ndarray
    """[m, ...]"""
    reached: np.ndarray
    """bool [m]: the step's next state meets the goal, so the episode would have ended."""


def future(lengths: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each step t of episodes with `lengths` [n], up to k different states among t + 1, t + 2, ..., the last.

    All sets of k states are equally likely; a step with at most k states after it gets all of them. Returns episodes,
    steps and states, int64 [m] each.
    """
    longest = lengths.max(initial=0)
    if not longest:
        return (np.empty(0, np.int64),) * 3
    episodes, steps = np.nonzero(np.arange(longest) < lengths[:, None])
    # The k smallest of many random numbers are at k random places. Forbidden places get infinity.
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

    achieved: [n, T + 1, ...] the goals that their states meet, including first states. lengths: int [n], steps of each
    episode; what follows them is ignored. success: the task's. k: goals per step, 0 for none. ValueError for goals that
    are not finite, which would be met or not by chance.
    """
    if not np.isfinite(achieved[np.arange(achieved.shape[1]) <= lengths[:, None]]).all():
        raise ValueError("an episode with achieved goals that are not finite cannot be relabelled")
    episodes, steps, states = future(lengths, k, rng)
    goals = achieved[episodes, states]
    new = ~success(achieved[episodes, steps], goals)
    episodes, steps, goals = episodes[new], steps[new], goals[new]
    return Relabelled(episodes, steps, goals, success(achieved[episodes, steps + 1], goals))
