"""Relabelling: under which goal a stored transition is replayed."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numba import njit

from common.replay.storage import Ring


class Relabeller(Protocol):
    """What every relabeller can do. Rewards and terminations under the new goals are the caller's business."""

    def relabel(self, indices: np.ndarray) -> np.ndarray:
        """The goals [n, *goal shape] under which the transitions in slots `indices` [n] are replayed."""


class FutureRelabeller:
    """Hindsight experience replay, strategy `future` (Andrychowicz et al. 2017, https://arxiv.org/abs/1707.01495).

    With probability k / (k + 1) the goal is one that the same episode achieved later, drawn uniformly from the states
    after this transition up to the episode's end (for the running episode: up to the newest transition); otherwise it
    stays the goal that was pursued.

    `ring` needs the fields `terminated` and `truncated`, `desired` (the goal pursued) and `achieved` (the goal achieved
    in the *next* state of the transition), and holds the transitions of one environment in order.
    """

    def __init__(
        self,
        ring: Ring,
        rng: np.random.Generator,
        k: float = 4,
        achieved: str = "achieved_goal",
        desired: str = "desired_goal",
    ):
        self.ring, self.rng, self.k, self.achieved, self.desired = ring, rng, k, achieved, desired

    def relabel(self, indices: np.ndarray) -> np.ndarray:
        ring = self.ring
        ends = episode_ends(ring["terminated"], ring["truncated"], indices, ring.next_index)
        ahead = (ends - indices) % ring.capacity  # steps from the transition to the end of its episode
        later = (indices + self.rng.integers(0, ahead, endpoint=True)) % ring.capacity
        hindsight = self.rng.random(len(indices)) < self.k / (self.k + 1)
        goals = ring[self.desired][indices]
        goals[hindsight] = ring[self.achieved][later[hindsight]]
        return goals


def episode_ends(terminated: np.ndarray, truncated: np.ndarray, indices: np.ndarray, next_index: int) -> np.ndarray:
    """For each slot of `indices` [n], the slot int64 [n] of the last stored transition of its episode.

    `terminated` and `truncated` are the ring's arrays [capacity], `next_index` is `Ring.next_index`. IndexError for a
    slot outside the ring.
    """
    newest = (next_index - 1) % len(terminated)
    return _episode_ends(terminated, truncated, np.ascontiguousarray(indices, np.int64), newest)


@njit(cache=True)
def _episode_ends(terminated, truncated, indices, newest):
    ends = np.empty(indices.size, np.int64)
    for k in range(indices.size):
        slot = indices[k]
        if not 0 <= slot < terminated.size:  # a kernel does not check array bounds
            raise IndexError("index outside the ring")
        while not (terminated[slot] or truncated[slot] or slot == newest):
            slot = slot + 1 if slot + 1 < terminated.size else 0
        ends[k] = slot
    return ends
