"""Double DQN (van Hasselt et al. 2016), the learner that all replay methods of the paper share (App. B.1)."""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from papers.ter.agents.networks import Network, OneState
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
        self.q_of_one = OneState(self.q)
        self.sync()

    def sync(self) -> None:
        """Copy the Q-network into the target network."""
        self.target.load_state_dict(self.q.state_dict())
        self._known: dict[bytes, int] = {}  # state -> its row in what the target network has said since
        self._rows = np.empty((0, 0), np.float32)

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
        """Q(s', .) by the target network, float32 (B, A). What it says of a state holds until the next sync, so that on
        a CPU no state that can be told by a few bytes is asked for twice."""
        if batch.next_state is None or batch.next_frame.device.type != "cpu":
            return self.target(batch.next_frame)
        data, size = batch.next_state.tobytes(), batch.next_state[0].nbytes
        states = [data[start : start + size] for start in range(0, len(data), size)]
        known = self._known
        new = {state: place for place, state in enumerate(states) if state not in known}
        if new:
            rows = self.target(batch.next_frame[list(new.values())]).numpy()
            if len(known) + len(new) > len(self._rows):  # twice as large, for all that has been said and as much again
                larger = np.empty((2 * (len(known) + len(new)), rows.shape[1]), np.float32)
                if known:
                    larger[: len(known)] = self._rows[: len(known)]
                self._rows = larger
            self._rows[len(known) : len(known) + len(new)] = rows
            known.update(zip(new, range(len(known), len(known) + len(new))))
        return torch.from_numpy(self._rows[[known[state] for state in states]])

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
