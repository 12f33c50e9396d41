"""DisCor (Kumar et al. 2020): down-weight transitions whose target is believed to be wrong.

A second learner's Delta estimates how far Q is from the optimal Q. A transition's loss is weighted by how trustworthy
its bootstrapped target is: exp(-gamma Delta(s', a*) / tau). Which transitions are replayed is left to chance.
"""

import numpy as np
import torch
from torch import Tensor

from common.replay.checks import checked
from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.replay.samplers import UniformSampler
from papers.ter.agents.dqn import DoubleDQN
from papers.ter.replay.batch import Batch, Memory


class DisCor(Sampler):
    """Uniform replay, an error network and its target network, and the temperature tau.

    Args:
        memory: the stored transitions.
        agent: the double DQN whose errors are estimated.
        errors: a double DQN of its own, which estimates them. Its network has one more fully connected layer than that
            of ``agent`` (App. B.4).
        rng: draws transitions.
        tau: first temperature; at every sync it becomes the mean predicted error since the last one.
        released: bootstrap the error as the code released with TER does: from the online error network, with the
            largest error over the actions instead of that of the greedy action.
    """

    needs = frozenset({"td_error", "values", "targets"})
    SMALLEST_TAU = 1e-3  # predicted errors can be negative early on; a negative tau would turn the weights around

    def __init__(
        self,
        memory: Memory,
        agent: DoubleDQN,
        errors: DoubleDQN,
        rng: np.random.Generator,
        tau: float = 10.0,
        released: bool = False,
    ):
        self.memory, self.agent, self.errors, self.uniform = memory, agent, errors, UniformSampler(rng)
        self.tau, self.released = tau, released
        self._drawn = np.empty(0, np.int64)  # the batch that was sampled last
        self._next_error: Tensor | None = None
        self._sum, self._updates = 0.0, 0

    def add(self, index: int, step: Step | None = None) -> None:
        self.uniform.add(index)

    def sample(self, n: int) -> Chosen:
        indices = self.uniform.sample(n).indices
        batch = self.memory.batch(indices)
        best = self.agent.greedy(batch)  # a*, which the targets need, too
        self._drawn, self._next_error = indices, self.next_error(batch, best)
        weights, targets = self.weights(self._next_error), self.agent.targets(batch, best)
        return Chosen(indices, weights.cpu().numpy(), targets.cpu().numpy())

    def next_error(self, batch: Batch, best: Tensor) -> Tensor:
        """gamma (1 - absorbing) Delta(s', a*), float32 (B,), with a* = argmax_a Q(s', a) in ``best`` (B, 1)."""
        if self.released:
            error = self.errors.next_q(batch).amax(dim=1)
        else:
            error = self.errors.next_target_q(batch).gather(1, best).squeeze(1)
        return self.agent.gamma * (1 - batch.absorbing) * error

    def weights(self, next_error: Tensor) -> Tensor:
        """w_i = B exp(-next_error_i / tau) / sum_j exp(-next_error_j / tau), float32 (B,), mean 1."""
        return len(next_error) * torch.softmax(-next_error / self.tau, dim=0)

    def targets(self, next_error: Tensor, td: Tensor) -> Tensor:
        """|Q(s, a) - y| + gamma (1 - absorbing) Delta(s', a*), float32 (B,): what Delta(s, a) is moved towards."""
        return td.abs() + next_error

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        """One step of the error network on the batch that was sampled last; ValueError for another one."""
        if self._next_error is None or not np.array_equal(indices, self._drawn):
            raise ValueError("DisCor's update() must be of the batch that sample() gave last")
        _, found = checked(indices, signals, "td_error", stored=self.uniform.stored)
        batch = self.memory.batch(indices)
        td = torch.from_numpy(found.astype(np.float32)).to(batch.reward.device)
        _, error = self.errors.update(batch, self.targets(self._next_error, td), torch.ones_like(td))
        self._sum += error.mean().item()
        self._updates += 1

    def synced(self) -> None:
        """Sync the error network with the Q-network, and set tau to the mean predicted error since the last time."""
        self.errors.sync()
        if self._updates:
            self.tau = max(self._sum / self._updates, self.SMALLEST_TAU)
            self._sum, self._updates = 0.0, 0

    def metrics(self) -> dict[str, float]:
        return {"tau": self.tau}
