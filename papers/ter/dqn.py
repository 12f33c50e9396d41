"""Double DQN (van Hasselt et al. 2016), the learner that all replay methods of the paper share (App. B.1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from common.networks import NatureConv


@dataclass
class Batch:
    """B transitions as tensors on the learner's device."""

    frame: Tensor
    """float32 (B, channels, height, width) in [0, 1]"""
    action: Tensor
    """int64 (B,)"""
    reward: Tensor
    """float32 (B,)"""
    next_frame: Tensor
    """likewise"""
    absorbing: Tensor
    """float32 (B,): 1 where the value ends with this transition (terminal states; time-outs only if asked for)"""


Optimizer = Literal["adam", "rmsprop"]


def make_optimizer(name: Optimizer, parameters: Iterable[torch.nn.Parameter], lr: float) -> torch.optim.Optimizer:
    """Adam, or the RMSProp that App. B.1 names for Atari."""
    if name == "adam":
        return torch.optim.Adam(parameters, lr=lr, fused=True)
    return torch.optim.RMSprop(parameters, lr=lr, alpha=0.95, eps=1e-2, momentum=0.0)


class DoubleDQN:
    """Q-network, target network and optimiser.

    Args:
        frame_shape: (height, width, channels) of a frame.
        n_actions: number of actions.
        lr: the optimiser's step size.
        gamma: discount.
        seed: of the initial weights.
        device: where the networks live.
        optimizer: see :func:`make_optimizer`.
    """

    def __init__(
        self, frame_shape, n_actions: int, lr: float, gamma: float, seed: int, device: str = "cpu",
        optimizer: Optimizer = "adam",
    ):  # fmt: skip
        torch.manual_seed(seed)
        self.q = NatureConv(frame_shape, n_actions).to(device)
        self.target = NatureConv(frame_shape, n_actions).to(device).requires_grad_(False)
        self.optimizer = make_optimizer(optimizer, self.q.parameters(), lr)
        self.gamma = gamma
        self.sync()

    def sync(self) -> None:
        """Copy the Q-network into the target network."""
        self.target.load_state_dict(self.q.state_dict())

    @torch.no_grad()
    def act(self, frames: Tensor) -> np.ndarray:
        """Greedy actions int64 (B,) for frames (B, channels, height, width)."""
        return self.q(frames).argmax(dim=1).cpu().numpy()

    @torch.no_grad()
    def targets(self, batch: Batch) -> Tensor:
        """y = r + gamma (1 - absorbing) Q_target(s', argmax_a Q(s', a)), float32 (B,): chosen by one network, valued by
        the other."""
        best = self.q(batch.next_frame).argmax(dim=1, keepdim=True)
        next_value = self.target(batch.next_frame).gather(1, best).squeeze(1)
        return batch.reward + self.gamma * (1 - batch.absorbing) * next_value

    def loss(self, batch: Batch, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Weighted Huber loss (delta = 1), averaged over the batch, and Q(s, a) (B,)."""
        q = self.q(batch.frame).gather(1, batch.action[:, None]).squeeze(1)
        return (weights * F.smooth_l1_loss(q, y, reduction="none")).mean(), q

    def update(self, batch: Batch, y: Tensor, weights: Tensor) -> tuple[float, Tensor]:
        """One gradient step on targets ``y`` and loss weights ``weights`` (B,). Returns the loss and Q(s, a) (B,)."""
        loss, q = self.loss(batch, y, weights)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item(), q.detach()
