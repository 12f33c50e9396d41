"""DisCor (Kumar et al. 2020): down-weight transitions whose target is believed to be wrong.

A second network Delta estimates how far Q is from the optimal Q. A transition's loss is weighted by how trustworthy its
bootstrapped target is: exp(-gamma Delta(s', a*) / tau).
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common.networks import NatureTrunk, lecun_normal_
from papers.ter.dqn import Batch, DoubleDQN, Optimizer, make_optimizer


class ErrorNetwork(nn.Module):
    """The DQN's architecture with one more fully connected layer (App. B.4): frames -> (B, n_actions)."""

    def __init__(self, frame_shape: Sequence[int], n_actions: int, hidden: int = 512):
        super().__init__()
        self.trunk = NatureTrunk(frame_shape, hidden)
        self.extra = lecun_normal_(nn.Linear(hidden, hidden), bias=0.1)
        self.head = lecun_normal_(nn.Linear(hidden, n_actions))

    def forward(self, frames: Tensor) -> Tensor:
        return self.head(F.relu(self.extra(self.trunk(frames))))


class DisCor:
    """Error network, its target network, and the temperature tau.

    Args:
        agent: the double DQN whose errors are estimated.
        tau: first temperature; at every sync it becomes the mean predicted error since the last one.
        released: bootstrap the error as the code released with TER does: from the online error network, with the
            largest error over the actions instead of that of the greedy action.
    """

    SMALLEST_TAU = 1e-3  # predicted errors can be negative early on; a negative tau would turn the weights around

    def __init__(
        self, agent: DoubleDQN, frame_shape, n_actions, lr, seed, device="cpu", tau=10.0, released=False,
        optimizer: Optimizer = "adam",
    ):  # fmt: skip
        torch.manual_seed(seed)
        self.agent = agent
        self.error = ErrorNetwork(frame_shape, n_actions).to(device)
        self.target = ErrorNetwork(frame_shape, n_actions).to(device).requires_grad_(False)
        self.target.load_state_dict(self.error.state_dict())
        self.optimizer = make_optimizer(optimizer, self.error.parameters(), lr)
        self.tau = tau
        self.released = released
        self._sum, self._updates = 0.0, 0

    @torch.no_grad()
    def next_error(self, batch: Batch) -> Tensor:
        """gamma (1 - absorbing) Delta(s', a*), float32 (B,), with a* = argmax_a Q(s', a)."""
        if self.released:
            error = self.error(batch.next_frame).amax(dim=1)
        else:
            best = self.agent.q(batch.next_frame).argmax(dim=1, keepdim=True)
            error = self.target(batch.next_frame).gather(1, best).squeeze(1)
        return self.agent.gamma * (1 - batch.absorbing) * error

    def weights(self, next_error: Tensor) -> Tensor:
        """w_i = B exp(-next_error_i / tau) / sum_j exp(-next_error_j / tau), float32 (B,), mean 1."""
        return len(next_error) * torch.softmax(-next_error / self.tau, dim=0)

    def update(self, batch: Batch, next_error: Tensor, td: Tensor) -> float:
        """One step of Delta(s, a) towards |Q(s, a) - y| + gamma (1 - absorbing) Delta(s', a*). Returns the loss."""
        error = self.error(batch.frame).gather(1, batch.action[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(error, td.abs() + next_error)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self._sum += error.detach().mean().item()
        self._updates += 1
        return loss.item()

    def sync(self) -> None:
        """With the Q-network's sync: copy the target, and set tau to the mean predicted error since the last sync."""
        self.target.load_state_dict(self.error.state_dict())
        if self._updates:
            self.tau = max(self._sum / self._updates, self.SMALLEST_TAU)
            self._sum, self._updates = 0.0, 0
