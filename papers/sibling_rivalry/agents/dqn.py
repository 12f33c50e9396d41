"""Deep Q-learning (Mnih et al. 2015) with goals as further inputs: discrete actions, some of which may be illegal.

Settings are those of App. F and Table 2; what the paper leaves open is as in its authors' code. Targets are updated
once after many gradient steps: the caller calls :meth:`DQN.sync`.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import torch
from torch import Tensor

from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.adam import Adam
from papers.sibling_rivalry.agents.ddpg import Batch
from papers.sibling_rivalry.agents.networks import CHUNK, input_shape, join, network

FORBIDDEN = -1e6
"""Value of an illegal action. Finite, as a target may multiply it by 0."""


class DQN:
    """Q-network, target network and optimiser.

    Args:
        task: shapes of observations and goals, and the number of actions.
        lr, adam_eps: Adam's step size and epsilon, see adam.py.
        gamma: discount.
        polyak: weight of the old target network in its update.
        random_actions: probability of a uniform action when exploring, legal or not.
        seed: of the initial weights.
        device: where the networks live.
    """

    def __init__(
        self, task: GoalTask, *, lr: float, adam_eps: float, gamma: float, polyak: float, random_actions: float,
        seed: int, device: str = "cpu",
    ):  # fmt: skip
        self.device, self.gamma, self.polyak = device, gamma, polyak
        self.n_actions, self.random_actions = task.n_actions, random_actions
        torch.manual_seed(seed)
        self.q = network(input_shape(task), task.n_actions, pool="mean").to(device)
        self.target = deepcopy(self.q).requires_grad_(False)
        self.parameters: list[Tensor] = list(self.q.parameters())
        self.averaged: list[Tensor] = list(self.target.parameters())
        self.adam = Adam(self.parameters, lr=lr, eps=adam_eps)

    # --- acting -------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def act(self, observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None) -> np.ndarray:
        """The best of the legal actions, int64 [n], for observations and goals float32 [n, ...], legal bool [n, A]."""
        mask = None if legal is None else torch.from_numpy(legal).to(self.device)
        values = self.q(join(*(torch.from_numpy(part).to(self.device) for part in (observations, goals))))
        return masked(values, mask).argmax(dim=1).cpu().numpy()

    def explore(
        self, observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """The best actions; with probability `random_actions`, any action instead (Table 2)."""
        best = self.act(observations, goals, legal)
        anything = rng.integers(self.n_actions, size=len(best))
        return np.where(rng.random(len(best)) < self.random_actions, anything, best)

    # --- learning -----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def targets(self, batch: Batch) -> Tensor:
        """y [n] = r + gamma max Q'(s', a) over the legal actions in s', and r alone where the goal was reached; Q' is
        the target network."""
        next_q = masked(self.target(join(batch.next_observations, batch.goals)), batch.next_legal).amax(dim=1)
        return batch.rewards + self.gamma * (1.0 - batch.terminal) * next_q

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Mean square of y - Q(s, a), and the mean of Q(s, a)."""
        q = self.q(join(batch.observations, batch.goals)).gather(1, batch.actions[:, None]).squeeze(1)
        return (self.targets(batch) - q).square().mean(), q.mean()

    def update(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One gradient step, not of the target. Returns the loss and the mean Q before the step."""
        n = len(batch.rewards)
        chunk = CHUNK if self.device == "cpu" else n
        self.adam.zero_grad()
        total = torch.zeros(2, device=self.device)
        for first in range(0, n, chunk):
            part = Batch(*(None if value is None else value[first : first + chunk] for value in batch))  # type: ignore[arg-type]
            loss, q = self.loss(part)
            share = len(part.rewards) / n
            (share * loss).backward()
            total += share * torch.stack([loss.detach(), q.detach()])
        self.adam.step()
        return total[0], total[1]

    @torch.no_grad()
    def sync(self) -> None:
        """Update the target towards the network (Table 2, "Polyak coefficient")."""
        torch._foreach_lerp_(self.averaged, self.parameters, 1.0 - self.polyak)

    def weights(self) -> dict[str, Tensor]:
        """Weights of the acting network."""
        return self.q.state_dict()


def masked(values: Tensor, legal: Tensor | None) -> Tensor:
    """Values [n, A] with FORBIDDEN for illegal actions; legal: bool [n, A]."""
    return values if legal is None else values.masked_fill(~legal, FORBIDDEN)
