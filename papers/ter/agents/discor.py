"""DisCor (Kumar et al. 2020): down-weight transitions whose target is believed to be wrong.

A second network Delta estimates how far Q is from the optimal Q. A transition's loss is weighted by how trustworthy its
bootstrapped target is: exp(-gamma Delta(s', a*) / tau). Which transitions are replayed is left to chance.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.replay.samplers import UniformSampler
from papers.ter.agents.dqn import DoubleDQN, Optimizer, make_optimizer
from papers.ter.agents.networks import Network
from papers.ter.replay.batch import Batch, Memory


class DisCor(Sampler):
    """Uniform replay, an error network and its target network, and the temperature tau.

    Args:
        memory: the stored transitions.
        agent: the double DQN whose errors are estimated.
        rng: draws transitions.
        make_network: makes an error network, which has one more fully connected layer than the Q-network (App. B.4).
        tau: first temperature; at every sync it becomes the mean predicted error since the last one.
        released: bootstrap the error as the code released with TER does: from the online error network, with the
            largest error over the actions instead of that of the greedy action.
    """

    needs: ClassVar = frozenset({"td_error", "values", "targets"})
    SMALLEST_TAU = 1e-3  # predicted errors can be negative early on; a negative tau would turn the weights around

    def __init__(
        self,
        memory: Memory,
        agent: DoubleDQN,
        rng: np.random.Generator,
        make_network: Callable[[], Network],
        lr: float,
        seed: int,
        tau: float = 10.0,
        released: bool = False,
        optimizer: Optimizer = "adam",
    ):
        torch.manual_seed(seed)
        self.memory, self.agent, self.uniform = memory, agent, UniformSampler(rng)
        self.error, self.target = make_network(), make_network().requires_grad_(False)
        self.target.load_state_dict(self.error.state_dict())
        self.optimizer = make_optimizer(optimizer, self.error.parameters(), lr)
        self.tau = tau
        self.released = released
        self._next_error: Tensor | None = None
        self._sum, self._updates = 0.0, 0

    def add(self, index: int, step: Step | None = None) -> None:
        self.uniform.add(index)

    def sample(self, n: int) -> Chosen:
        indices = self.uniform.sample(n).indices
        batch = self.memory.batch(indices)
        best = self.agent.greedy(batch)  # a*, which the targets need, too
        self._next_error = self.next_error(batch, best)
        weights, targets = self.weights(self._next_error), self.agent.targets(batch, best)
        return Chosen(indices, weights.cpu().numpy(), targets.cpu().numpy())

    @torch.no_grad()
    def next_error(self, batch: Batch, best: Tensor) -> Tensor:
        """gamma (1 - absorbing) Delta(s', a*), float32 (B,), with a* = argmax_a Q(s', a) in ``best`` (B, 1)."""
        if self.released:
            error = self.error(batch.next_frame).amax(dim=1)
        else:
            error = self.target(batch.next_frame).gather(1, best).squeeze(1)
        return self.agent.gamma * (1 - batch.absorbing) * error

    def weights(self, next_error: Tensor) -> Tensor:
        """w_i = B exp(-next_error_i / tau) / sum_j exp(-next_error_j / tau), float32 (B,), mean 1."""
        return len(next_error) * torch.softmax(-next_error / self.tau, dim=0)

    def loss(self, batch: Batch, next_error: Tensor, td: Tensor) -> tuple[Tensor, Tensor]:
        """Huber loss of Delta(s, a) against |Q(s, a) - y| + gamma (1 - absorbing) Delta(s', a*), bent where
        the learner's is; and Delta(s, a)."""
        error = self.error(batch.frame).gather(1, batch.action[:, None]).squeeze(1)
        return F.huber_loss(error, td.abs() + next_error, delta=self.agent.huber_delta), error.detach()

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        """One step of the error network on the batch that was sampled last."""
        assert self._next_error is not None, "update() without a sample() before it"
        batch = self.memory.batch(indices)
        td = torch.from_numpy(signals["td_error"]).to(batch.reward.device)
        loss, error = self.loss(batch, self._next_error, td)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self._sum += error.mean().item()
        self._updates += 1

    def synced(self) -> None:
        """With the Q-network's sync: copy the target, and set tau to the mean predicted error since the last sync."""
        self.target.load_state_dict(self.error.state_dict())
        if self._updates:
            self.tau = max(self._sum / self._updates, self.SMALLEST_TAU)
            self._sum, self._updates = 0.0, 0

    def metrics(self) -> dict[str, float]:
        return {"tau": self.tau}
