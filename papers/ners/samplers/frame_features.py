"""What the samplers see of transitions whose states are stacks of frames: the first five features of Eq. (2)."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common.replay.frames import Batch, FrameMemory
from papers.ners.agents.rainbow import Convolutions
from papers.ners.samplers.features import Clock

REDUCED = (256, 64, 32)
"""Sizes of the layers after the convolutions (Table B.1)."""


class FrameEncoder(nn.Module):
    """Features [n, 67] of transitions: 32 of the state, 32 of the next state by the same weights, and 3 numbers.

    Its weights belong to the sampler; it shares nothing with the agent.
    """

    n_features = 2 * REDUCED[-1] + 3

    def __init__(self, stack: int):
        super().__init__()
        self.convolutions = Convolutions(stack)
        sizes = (self.convolutions.n_features, *REDUCED)
        self.reducers = nn.ModuleList([nn.Linear(n_in, n_out) for n_in, n_out in zip(sizes, REDUCED)])

    def forward(self, states: Tensor, next_states: Tensor, numbers: Tensor) -> Tensor:
        """Stacks uint8 [n, stack, 84, 84] and numbers float32 [n, 3] as `FrameTransitions.full` returns them."""
        x = self.convolutions(torch.cat([states, next_states]))
        for layer in self.reducers:
            x = F.relu(layer(x))
        return torch.cat([*x.chunk(2), numbers], dim=1)


class FrameTransitions:
    """Reads transitions from a memory of frames.

    Reward and next state are those that Rainbow learns from: the n-step return of clipped rewards, and the state after
    n steps, which is black if the episode terminated. seed: for the encoder.
    """

    def __init__(self, memory: FrameMemory, clock: Clock, seed: int, device: str = "cpu"):
        self.memory, self.clock, self.device = memory, clock, device
        self._gathered: tuple[np.ndarray, Batch] | None = None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder: nn.Module = FrameEncoder(memory.stack).to(device)
        self.n_features = FrameEncoder.n_features

    def gathered(self, slots: np.ndarray, batch: Batch) -> None:
        """Remember that `batch` holds the transitions in `slots`, so that the next `full` need not gather them."""
        self._gathered = slots, batch

    def full(self, slots: np.ndarray) -> tuple[Tensor, ...]:
        """States, next states, and three numbers [n, 3]: action index, n-step return, time step."""
        action = self.memory.transitions["action"][slots, None].astype(np.float32)
        numbers = torch.from_numpy(np.concatenate([action, self._reward_and_time(slots)], axis=1))
        known, self._gathered = self._gathered, None  # used once: the memory changes
        batch = known[1] if known and known[0] is slots else self.memory.batch(slots)
        return batch.state, batch.next_state, numbers.to(self.device)  # Eq. (2)

    def reward_and_time(self, slots: np.ndarray) -> Tensor:
        """[n, 2]."""
        return torch.from_numpy(self._reward_and_time(slots)).to(self.device)

    def _reward_and_time(self, slots: np.ndarray) -> np.ndarray:
        stored = self.memory.transitions
        return np.stack([stored["reward"][slots], self.clock(slots, stored["t"][slots])], axis=1)

    def __getstate__(self) -> dict:
        return self.__dict__ | {"_gathered": None}
