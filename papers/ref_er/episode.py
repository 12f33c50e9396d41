"""What is recorded while an episode is played, and what a learner reads of it."""

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
    """Ended by a terminal state, not by the time limit."""

    def __len__(self) -> int:
        return len(self.actions)


class Batch(NamedTuple):
    """What a learner reads of the steps that were drawn, [B, ...] each."""

    states: np.ndarray
    actions: np.ndarray
    means: np.ndarray
    """Of the behaviour mu, as `stds`."""
    stds: np.ndarray
    returns: np.ndarray
    """Qret, in units of the scaled reward."""
