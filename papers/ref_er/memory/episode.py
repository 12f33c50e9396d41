"""What is recorded while an episode is played, and how a learner reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

TERMINATED, CUT = 1, 2
"""How an episode can end: in a terminal state, or by its time limit."""


@dataclass
class Episode:
    """T + 1 states and values, T of everything else."""

    states: list[np.ndarray] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=list)
    """In the policy's units."""
    means: list[np.ndarray] = field(default_factory=list)
    """Of the behaviour mu."""
    stds: list[np.ndarray] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    """rewards[t] is r_{t+1}, which followed action t; not scaled."""
    values: list[float] = field(default_factory=list)
    """V(s_t) when the action was taken; that of a terminal state is 0."""
    terminated: bool = False
    """Ended in a terminal state, not by the time limit."""

    def __len__(self) -> int:
        return len(self.actions)

    def ending(self) -> tuple[bool, int, float]:
        """Whether it terminated, its steps, and the sum of its actions' squared norms."""
        return self.terminated, len(self), float(np.square(self.actions).sum())


def seen(states: list[np.ndarray], window: int) -> np.ndarray:
    """What a policy sees of an episode's states so far: the last one or, of the last `window`, float32 [window, 1 + n]:
    1 and the state, and zeros where the episode had not begun."""
    if not window:
        return states[-1]
    found, last = np.zeros((window, 1 + len(states[-1])), np.float32), states[-window:]
    found[-len(last) :, 0], found[-len(last) :, 1:] = 1.0, last
    return found


class StateView:
    """How networks read a memory's steps: by their states. recurrent.py has another view."""

    states: np.ndarray

    def inputs(self, slots: np.ndarray) -> np.ndarray:
        """Network inputs [n, ...] for the states in `slots` [n]."""
        return self.states[slots]

    def pairs(self, slots: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Network inputs [n, ...] for `actions` [n, d] in these states."""
        return np.concatenate([self.states[slots], actions], axis=1)

    def fan(self, slots: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Network inputs [k n, ...] for k actions [k, n, d] in each of these states."""
        return self.pairs(np.tile(slots, len(actions)), actions.reshape(-1, actions.shape[2]))


class Batch(NamedTuple):
    """What a learner reads of the drawn steps, [B, ...] each."""

    states: np.ndarray
    """Network inputs."""
    actions: np.ndarray
    means: np.ndarray
    """Of the behaviour mu, as `stds`."""
    stds: np.ndarray
    returns: np.ndarray
    """Qret, in units of the scaled reward."""
