"""Double DQN (van Hasselt et al. 2016), the learner that all replay methods of the paper share (App. B.1)."""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from papers.ter.agents.networks import Network
from papers.ter.replay.batch import Batch

Optimizer = Literal["adam", "rmsprop"]


def make_optimizer(name: Optimizer, parameters: Iterable[torch.nn.Parameter], lr: float) -> torch.optim.Optimizer:
    """Adam, or the RMSProp that App. B.1 names for Atari."""
    if name == "adam":
        return torch.optim.Adam(parameters, lr=lr, fused=True)
    return torch.optim.RMSprop(parameters, lr=lr, alpha=0.95, eps=1e-2, momentum=0.0)


class DoubleDQN:
    """Q-network, target network and optimiser.

    Args:
        make_network: makes a network on the learner's device.
        lr: the optimiser's step size.
        gamma: discount.
        seed: of the initial weights.
        optimizer: see :func:`make_optimizer`.
        huber_delta: TD error at which the loss bends.
    """

    def __init__(
        self,
        make_network: Callable[[], Network],
        lr: float,
        gamma: float,
        seed: int,
        optimizer: Optimizer = "adam",
        huber_delta: float = 1.0,
    ):
        torch.manual_seed(seed)
        self.q, self.target = make_network(), make_network().requires_grad_(False)
        self.optimizer = make_optimizer(optimizer, self.q.parameters(), lr)
        self.gamma, self.huber_delta = gamma, huber_delta
        self.sync()

    def sync(self) -> None:
        """Copy the Q-network into the target network."""
        self.target.load_state_dict(self.q.state_dict())

    @torch.no_grad()
    def act(self, frames: Tensor) -> np.ndarray:
        """Greedy actions int64 (B,) for frames (B, ...)."""
        return self.q(frames).argmax(dim=1).cpu().numpy()

    @torch.no_grad()
    def next_q(self, batch: Batch) -> Tensor:
        """Q(s', .) by the Q-network, float32 (B, A)."""
        return self.q(batch.next_frame)

    def greedy(self, batch: Batch) -> Tensor:
        """a* = argmax_a Q(s', a), int64 (B, 1)."""
        return self.next_q(batch).argmax(dim=1, keepdim=True)

    @torch.no_grad()
    def next_target_q(self, batch: Batch) -> Tensor:
        """Q(s', .) by the target network, float32 (B, A)."""
        return self.target(batch.next_frame)

    def targets(self, batch: Batch, best: Tensor | None = None) -> Tensor:
        """y = r + gamma (1 - absorbing) Q_target(s', argmax_a Q(s', a)), float32 (B,): chosen by one network, valued by
        the other. best: the choice, where it is known already."""
        best = self.greedy(batch) if best is None else best
        next_value = self.next_target_q(batch).gather(1, best).squeeze(1)
        return batch.reward + self.gamma * (1 - batch.absorbing) * next_value

    def loss(self, batch: Batch, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Weighted Huber loss, averaged over the batch, and Q(s, a) (B,)."""
        q = self.q(batch.frame).gather(1, batch.action[:, None]).squeeze(1)
        return (weights * F.huber_loss(q, y, reduction="none", delta=self.huber_delta)).mean(), q

    def update(self, batch: Batch, y: Tensor, weights: Tensor) -> tuple[float, Tensor]:
        """One gradient step on targets ``y`` and loss weights ``weights`` (B,). Returns the loss and Q(s, a) (B,)."""
        loss, q = self.loss(batch, y, weights)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item(), q.detach()

    def learn(self, batch: Batch, weights: Tensor) -> tuple[float, Tensor, Tensor]:
        """One gradient step on the learner's own targets. Returns the loss, Q(s, a) and the targets, both (B,)."""
        y = self.targets(batch)
        return *self.update(batch, y, weights), y

    def state_dict(self) -> dict[str, Tensor]:
        """Of the Q-network."""
        return self.q.state_dict()
