"""What every replay method can do, the two that need no file of their own, and what they read: steps and batches.

A method decides which stored transitions make a batch, with which weights in the loss and, if it has its own, with
which targets. UER and PER are here; EBU, DisCor and TER are in `ebu.py`, `discor.py` and `topological.py`. All of them
are told of the same things, so that a learner never asks which one it has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from common.replay.samplers import PrioritizedSampler, UniformSampler


class Step(NamedTuple):
    """One environment step. A method reads of it what it needs."""

    observation: Any
    """What the step started from, as the method is to see it."""
    action: int
    reward: float
    next_observation: Any
    terminated: bool
    """The task is over."""
    truncated: bool
    """The episode was cut by the time limit."""
    env_id: int = 0
    """Which of several environments side by side: steps of one episode share it, and follow each other."""

    @property
    def ended(self) -> bool:
        return self.terminated or self.truncated


@dataclass
class Batch:
    """B transitions as tensors on the learner's device."""

    frame: Tensor
    """What the network sees: float32 (B, channels, height, width) in [0, 1], or uint8 tile codes (B, rows, columns)."""
    action: Tensor
    """int64 (B,)"""
    reward: Tensor
    """float32 (B,)"""
    next_frame: Tensor
    """likewise"""
    absorbing: Tensor
    """float32 (B,): 1 where the value ends with this transition (terminal states; time-outs only if asked for)"""
    next_state: np.ndarray | None = None
    """(B, ...) what `next_frame` was drawn from, where that is small enough to know states by."""


class Memory(Protocol):
    """What a method may ask of the stored transitions."""

    capacity: int

    def __getitem__(self, field: str) -> np.ndarray:
        """The field "action" or "reward" of all transitions, by slot."""

    def batch(self, indices: np.ndarray) -> Batch:
        """The transitions in the slots `indices`; asked twice for the same ones, they are drawn once."""


Chosen = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Slots int64 (n,), weights of their losses float32 (n,), and targets float32 (n,) or None: those of double DQN."""


class Sampler(Protocol):
    """What every replay method can do."""

    def add(self, index: int, step: Step) -> None:
        """The memory has just put `step` into slot `index`."""

    def sample(self, n: int) -> Chosen | None:
        """The next batch; None while there is nothing that can be replayed."""

    def update(self, indices: np.ndarray, signals: Mapping[str, np.ndarray]) -> None:
        """The learner has used the slots `indices` (n,): `td_error` (n,), target less Q(s, a), and `q` (n,)."""

    def episode(self, total_return: float) -> None:
        """An episode of training is over."""

    def synced(self) -> None:
        """The Q-network was copied into the target network."""

    def metrics(self) -> dict[str, float]:
        """What the method says of itself at an evaluation."""


class NoNews:
    """A sampler that does not care for anything but steps and batches."""

    def update(self, indices: np.ndarray, signals: Mapping[str, np.ndarray]) -> None:
        pass

    def episode(self, total_return: float) -> None:
        pass

    def synced(self) -> None:
        pass

    def metrics(self) -> dict[str, float]:
        return {}


class UER(NoNews):
    """Uniform experience replay: any transition."""

    def __init__(self, rng: np.random.Generator):
        self.uniform = UniformSampler(rng)

    def add(self, index: int, step: Step) -> None:
        self.uniform.add(index)

    def sample(self, n: int) -> Chosen | None:
        return *self.uniform.sample(n), None


class PER(NoNews):
    """Prioritised experience replay (App. B.2)."""

    def __init__(self, prioritized: PrioritizedSampler):
        self.prioritized = prioritized

    def add(self, index: int, step: Step) -> None:
        self.prioritized.add(index)

    def sample(self, n: int) -> Chosen | None:
        return *self.prioritized.sample(n), None

    def update(self, indices: np.ndarray, signals: Mapping[str, np.ndarray]) -> None:
        self.prioritized.update(indices, signals["td_error"])
