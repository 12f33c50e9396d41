"""What the samplers see of transitions between vectors: the first five features of Eq. (2)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from common.replay.storage import Ring


class VectorTransitions:
    """Reads transitions from a ring with the fields state, action, reward, next_state and time (step in the episode).

    horizon: steps that count as a time of 1.
    """

    def __init__(self, memory: Ring, horizon: float, device: str = "cpu"):
        self.memory, self.horizon, self.device = memory, horizon, device
        self.encoder: nn.Module = nn.Identity()
        self.n_features = 2 * memory["state"].shape[1] + memory["action"].shape[1] + 2

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        """State, action, reward, next state, time: one tensor [n, n_features]."""
        m = self.memory
        parts = (m["state"][slots], m["action"][slots], m["reward"][slots, None], m["next_state"][slots])
        features = np.concatenate([*parts, self._time(slots)], axis=1)  # Eq. (2)
        return (torch.from_numpy(features).to(self.device),)

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        """[n, 2]."""
        features = np.concatenate([self.memory["reward"][slots, None], self._time(slots)], axis=1)
        return torch.from_numpy(features).to(self.device)

    def _time(self, slots: np.ndarray) -> np.ndarray:
        return self.memory["time"][slots, None].astype(np.float32) / np.float32(self.horizon)
