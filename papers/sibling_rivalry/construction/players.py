"""Episodes of the construction task, played to order.

An order contains everything that its episodes depend on: its number, which seeds their random numbers, and the policy's
weights. So it does not matter which player plays it, when, or how often: the episodes are the same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from envs.voxel.build import VoxelBuild
from lab.run.runs import Streams
from papers.sibling_rivalry.agents.rollouts import Rollouts, play
from papers.sibling_rivalry.construction.networks import BuildPolicy


@dataclass(frozen=True)
class Order:
    """The episodes of one update."""

    number: int
    """0, 1, ...: the update that learns from it."""
    version: int
    """Number of updates that the policy has had."""
    weights: np.ndarray
    """float32 [p], all parameters of the policy in the order of PyTorch."""


@dataclass(frozen=True)
class Played:
    """The episodes of an order."""

    number: int
    rollouts: Rollouts
    log_probs: np.ndarray
    """float32 [n, T]: log mu of the actions taken; 0 after an episode's end."""


class Player:
    """Plays orders with its own copy of the policy: `pairs` of siblings, or twice as many single episodes."""

    def __init__(self, task: VoxelBuild, pairs: int, siblings: bool, seed: int):
        self.task, self.pairs, self.siblings, self.streams = task, pairs, siblings, Streams(seed)
        self.policy = BuildPolicy(task)

    def play(self, order: Order) -> Played:
        """All episodes of the order, in lock-step. With siblings, 2 i and 2 i + 1 are a pair."""
        self.policy.load(order.weights)
        rng, n = self.streams.numpy(f"episodes {order.number}"), 2 * self.pairs
        goals = self.task.goals(self.pairs, rng).repeat(2, axis=0) if self.siblings else self.task.goals(n, rng)
        found: list[np.ndarray] = []

        def act(observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None) -> np.ndarray:
            actions, log_probs = self.policy.act(observations, goals, rng)
            found.append(log_probs)
            return actions

        rollouts = play(self.task, act, self.task.starts(n, rng), goals, rng)
        log_probs = np.zeros(rollouts.actions.shape, np.float32)
        for t, of_running in enumerate(found):
            log_probs[rollouts.running[:, t], t] = of_running
        return Played(order.number, rollouts, log_probs)


class Players(Protocol):
    """Interface to the players. Results come back in the order of their numbers."""

    def submit(self, order: Order) -> None: ...

    def next(self) -> Played: ...

    def close(self) -> None: ...


class Alone:
    """One player in this process, which plays when its result is requested."""

    def __init__(self, player: Player):
        self.player, self.orders = player, deque[Order]()

    def submit(self, order: Order) -> None:
        self.orders.append(order)

    def next(self) -> Played:
        return self.player.play(self.orders.popleft())

    def close(self) -> None:
        self.orders.clear()
