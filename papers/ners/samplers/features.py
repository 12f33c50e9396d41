"""What the samplers see of transitions whose states are vectors: the first five features of Eq. (2)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from common.replay.storage import Ring


class Clock:
    """kappa of Eq. (2), the time step of a transition. The paper does not say what it counts: there are three readings.

    kind: "share", the step in the episode over `horizon`; "episode", that step itself; "environment", the environment
    step at which the transition was played. born: the latter for each slot of the memory, [capacity].
    """

    def __init__(self, kind: str, horizon: float, born: np.ndarray):
        self.kind, self.horizon, self.born = kind, horizon, born

    def __call__(self, slots: np.ndarray, in_episode: np.ndarray) -> np.ndarray:
        """float32 [n], for the transitions in `slots` [n]. in_episode: their steps in their episodes [n]."""
        if self.kind == "environment":
            return self.born[slots].astype(np.float32)
        return in_episode.astype(np.float32) / np.float32(self.horizon if self.kind == "share" else 1.0)


class VectorTransitions:
    """Reads transitions from a ring with fields state, action, reward, next_state and time (step in the episode)."""

    def __init__(self, memory: Ring, clock: Clock, device: str = "cpu"):
        self.memory, self.clock, self.device = memory, clock, device
        self.encoder: nn.Module = nn.Identity()
        self.n_features = 2 * memory["state"].shape[1] + memory["action"].shape[1] + 2

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        """State, action, reward, next state, time: one tensor [n, n_features]."""
        m = self.memory
        parts = (m["state"][slots], m["action"][slots], m["reward"][slots, None], m["next_state"][slots])
        features = np.concatenate([*parts, self.time(slots)[:, None]], axis=1)  # Eq. (2)
        return (torch.from_numpy(features).to(self.device),)

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        """[n, 2]."""
        features = np.concatenate([self.memory["reward"][slots, None], self.time(slots)[:, None]], axis=1)
        return torch.from_numpy(features).to(self.device)

    def time(self, slots: np.ndarray) -> np.ndarray:
        """Time steps, float32 [n]."""
        return self.clock(slots, self.memory["time"][slots])
