"""What NERS and ERO read about the transitions in a buffer of stable_baselines3.py.

def ners(capacity, buffer):
    return NERS(capacity, rng, Settings(), draws, Seen(buffer, horizon=200), seed=0)
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from adapters.stable_baselines3 import SampledReplayBuffer


class Seen:
    """States, actions, rewards and times of stored transitions. A time is the share of `horizon`, the time limit in
    steps, that had passed. device: of the sampler's network."""

    def __init__(self, buffer: SampledReplayBuffer, horizon: int, device: str = "cpu"):
        self.buffer, self.horizon, self.device = buffer, horizon, device
        self.encoder: nn.Module = nn.Identity()
        shapes = buffer.obs_shape.values() if isinstance(buffer.obs_shape, dict) else [buffer.obs_shape]
        self.n_features = 2 * sum(int(np.prod(shape)) for shape in shapes) + buffer.action_dim + 2

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        """State, action, reward, next state, time: one tensor [n, n_features]."""
        row, e = np.divmod(slots, self.buffer.lanes)
        state, following = (self._flat(c, row, e) for c in (self.buffer.observations, self.buffer.next_observations))
        reward, time = self._reward_and_time(slots)
        parts = (state, self.buffer.actions[row, e], reward[:, None], following, time[:, None])
        return (torch.from_numpy(np.concatenate(parts, axis=1).astype(np.float32)).to(self.device),)

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        """[n, 2]."""
        return torch.from_numpy(np.stack(self._reward_and_time(slots), axis=1)).to(self.device)

    def _flat(self, columns: object, row: np.ndarray, e: np.ndarray) -> np.ndarray:
        parts = columns.values() if isinstance(columns, dict) else [columns]
        return np.concatenate([column[row, e].reshape(len(row), -1) for column in parts], axis=1)

    def _reward_and_time(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        row, e = np.divmod(slots, self.buffer.lanes)
        return self.buffer.rewards[row, e], (self.buffer.ages[row, e] / self.horizon).astype(np.float32)
