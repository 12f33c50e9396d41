"""Adapter between an agent and any sampler: computes what the sampler needs and the agent's loop does not provide.

The rooms' loops tell their samplers little more than TD errors. Whatever else an idea reads (steps, targets, the target
network's values, reward and time) is computed from the memory and the networks just before the update. A meter counts
what is replayed, in the same way for all samplers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from arena.replay.meter import Meter
from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.replay.storage import Ring
from common.replay.trail import FOLLOWS, Trail


class Learner(Protocol):
    """What an agent's trainer can say about the transitions in given slots [n]. Asking does not change the agent."""

    def step_of(self, slot: int, last: bool) -> Step:
        """The transition in a slot; last: whether it is the last of its episode, where that matters."""

    def targets_of(self, slots: np.ndarray) -> np.ndarray:
        """Today's targets y, float32 [n]."""

    def q_of(self, slots: np.ndarray) -> np.ndarray:
        """Q(s, a), float32 [n], or [2, n] with two critics."""

    def target_q_of(self, slots: np.ndarray) -> np.ndarray:
        """The same by the target network."""


def td_errors(learner: Learner, slots: np.ndarray) -> np.ndarray:
    """|y - Q(s, a)| of the transitions in `slots` [n], averaged over critics; LaBER and IER read it."""
    return _size(learner.targets_of(slots) - learner.q_of(slots))


def _size(errors: np.ndarray) -> np.ndarray:
    """Sizes [n] of errors [n], or their means over critics [c, n]."""
    return np.abs(np.atleast_2d(errors)).mean(axis=0)


class Seen:
    """What NERS and ERO read: each transition's reward and time step and, if they are vectors, its states and action.
    The time step is given as a share of the time limit.

    horizon: time limit in steps. memory, fields: the ring, and its fields with state, action and next state; without
    vectors None, and only the samplers' few features can be used.
    """

    def __init__(self, capacity: int, horizon: int, memory: Ring | None = None, fields: Sequence[str] = ()):
        self.horizon, self.memory, self.fields = horizon, memory, tuple(fields)
        self.encoder: nn.Module = nn.Identity()
        self.reward, self.time = np.zeros(capacity, np.float32), np.zeros(capacity, np.float32)
        self.n_features = 2 + sum(memory[name].shape[1] for name in fields) if memory is not None else 2
        self.trail = Trail()
        self._age: dict[int, int] = {}  # env_id -> steps of its episode so far

    def add(self, slot: int, step: Step) -> None:
        """The transition `step` came into `slot`."""
        age = self._age[step.env_id] if self.trail.add(step) == FOLLOWS else 0
        self.reward[slot], self.time[slot] = step.reward, age / self.horizon
        self._age[step.env_id] = age + 1

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        """State, action, reward, next state, time: one tensor [n, n_features]."""
        assert self.memory is not None, "there are no vectors"
        state, action, following = (self.memory[name][slots] for name in self.fields)
        parts = (state, action, self.reward[slots, None], following, self.time[slots, None])
        return (torch.from_numpy(np.concatenate(parts, axis=1)),)

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        """[n, 2]."""
        return torch.from_numpy(np.stack([self.reward[slots], self.time[slots]], axis=1))


class Joined(Sampler):
    """A sampler as the agent of `learner` sees it.

    told: signals that the agent's own loop passes to `update`. seen: receives every step, too.
    """

    def __init__(self, sampler: Sampler, learner: Learner, capacity: int, told: frozenset[str], seen: Seen | None):
        self.sampler, self.learner, self.seen, self.meter = sampler, learner, seen, Meter(capacity)
        self._reads_steps = "step" in sampler.needs or seen is not None
        asked = sampler.needs - told
        self._asks_target_q = "target_td_error" in asked
        self._asks_targets = "target" in asked or (self._asks_target_q and "target" not in told)
        self._before: dict[str, np.ndarray] = {}

    def add(self, index: int, step: Step | None = None) -> None:
        self.meter.add(np.array([index]))
        if self._reads_steps and step is None:
            step = self.learner.step_of(index, last=False)
        self._add(index, step)

    def _add(self, index: int, step: Step | None) -> None:
        if self.seen is not None and step is not None:
            self.seen.add(index, step)
        self.sampler.add(index, step)

    def extend(self, indices: np.ndarray) -> None:
        """As `add`, for the slots `indices` [n]; if steps are read, these are one whole episode in its order."""
        self.meter.add(indices)
        if not self._reads_steps and hasattr(self.sampler, "extend"):
            self.sampler.extend(indices)
            return
        for place, index in enumerate(map(int, indices)):
            step = self.learner.step_of(index, last=place == len(indices) - 1) if self._reads_steps else None
            self._add(index, step)

    def sample(self, n: int) -> Chosen | None:
        chosen = self.sampler.sample(n)
        if chosen is None:
            return None
        self.meter.draw(chosen.indices, chosen.weights)
        if self._asks_targets:
            self._before["target"] = self.learner.targets_of(chosen.indices)
        if self._asks_target_q:
            self._before["target_q"] = self.learner.target_q_of(chosen.indices)
        return chosen

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        found: dict[str, Any] = dict(signals)
        if self._asks_targets:
            found["target"] = self._before["target"]
        if self._asks_target_q:
            found["target_td_error"] = _size(found["target"] - self._before["target_q"])
        self.sampler.update(indices, found)

    def cut(self, env_id: int | None = None) -> None:
        self.sampler.cut(env_id)
        if self.seen is not None:
            self.seen.trail.cut(env_id)

    def episode(self, total_return: float) -> None:
        self.sampler.episode(total_return)

    def evaluation(self, mean_return: float) -> None:
        self.sampler.evaluation(mean_return)

    def synced(self) -> None:
        self.sampler.synced()

    def metrics(self) -> dict[str, float]:
        """Metrics of the meter and of the sampler."""
        return self.meter.metrics() | self.sampler.metrics()

    def probabilities(self) -> np.ndarray | None:
        return self.sampler.probabilities()
