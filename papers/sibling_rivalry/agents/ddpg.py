"""Deep deterministic policy gradient (Lillicrap et al. 2016) with goals as further inputs: continuous actions.

Settings are those of App. F and Table 2; what the paper leaves open is as in its authors' code. Three things there are
unusual. The actor maximises the target critic, not the one that is being learnt. Its output is multiplied by 0.005
before the tanh, so that actions change slowly and stay away from their limits. And targets are updated once after many
gradient steps: the caller calls :meth:`DDPG.sync`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.adam import Adam
from papers.sibling_rivalry.agents.networks import input_shape, join, network

SQUASH = 0.005


class Batch(NamedTuple):
    """n transitions as tensors on the learner's device."""

    observations: Tensor
    """float32 [n, *observation_shape]"""
    actions: Tensor
    """float32 [n, a] in the task's units, or int64 [n]"""
    goals: Tensor
    """float32 [n, *goal_shape]"""
    rewards: Tensor
    """float32 [n]"""
    next_observations: Tensor
    """float32 [n, *observation_shape]"""
    terminal: Tensor
    """float32 [n]: 1 where the goal was reached; a time-out is not terminal."""
    next_legal: Tensor | None = None
    """bool [n, A]: actions that are legal in the next states; None: all."""


class Actor(nn.Module):
    """Maps observations and goals [n, ...] to actions float32 [n, a] in the task's units."""

    def __init__(self, task: GoalTask):
        super().__init__()
        self.reach = float(task.action_range)  # type: ignore[arg-type]
        self.body = network(input_shape(task), task.n_actions, pool="max")

    def forward(self, observations: Tensor, goals: Tensor) -> Tensor:
        return self.reach * torch.tanh(SQUASH * self.body(join(observations, goals)))


class DDPG:
    """Actor, critic, their targets, and one optimiser. Observations and goals are vectors.

    Args:
        task: shapes of observations, goals and actions.
        lr, adam_eps: Adam's step size and epsilon, see adam.py.
        gamma: discount.
        polyak: weight of the old target networks in their update.
        random_actions: probability of a uniform action when exploring.
        noise: standard deviation of the noise on the other actions, as a share of the action range.
        action_l2: weight of the actions' mean square in the actor's loss.
        seed: of the initial weights.
        device: where the networks live.
    """

    def __init__(
        self, task: GoalTask, *, lr: float, adam_eps: float, gamma: float, polyak: float, random_actions: float,
        noise: float, action_l2: float, seed: int, device: str = "cpu",
    ):  # fmt: skip
        self.device, self.gamma, self.polyak, self.action_l2 = device, gamma, polyak, action_l2
        self.random_actions, self.noise = random_actions, noise
        [n_inputs] = input_shape(task)
        torch.manual_seed(seed)
        self.actor = Actor(task).to(device)
        self.critic = network((n_inputs + task.n_actions,), 1, pool="mean").to(device)
        self.target_actor, self.target_critic = (
            deepcopy(online).requires_grad_(False) for online in (self.actor, self.critic)
        )
        self.parameters: list[Tensor] = [*self.actor.parameters(), *self.critic.parameters()]
        self.averaged: list[Tensor] = [*self.target_actor.parameters(), *self.target_critic.parameters()]
        self.adam = Adam(self.parameters, lr=lr, eps=adam_eps)

    # --- acting -------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def act(self, observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None = None) -> np.ndarray:
        """The actor's actions float32 [n, a] for observations and goals float32 [n, ...]."""
        seen = (torch.from_numpy(part).to(self.device) for part in (observations, goals))
        return self.actor(*seen).cpu().numpy()

    def explore(
        self, observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """The actor's actions with noise; with probability `random_actions`, uniform ones instead (Table 2)."""
        actions, reach = self.act(observations, goals), self.actor.reach
        noisy = np.clip(actions + rng.normal(0.0, self.noise * reach, actions.shape), -reach, reach)
        uniform = rng.uniform(-reach, reach, actions.shape)
        chosen = np.where(rng.random((len(actions), 1)) < self.random_actions, uniform, noisy)
        return chosen.astype(np.float32)

    # --- learning -----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def targets(self, batch: Batch) -> Tensor:
        """y [n] = r + gamma Q'(s', pi'(s')), and r alone where the goal was reached; Q' and pi' are targets."""
        actions = self.target_actor(batch.next_observations, batch.goals)
        next_q = self.target_critic(join(batch.next_observations, actions, batch.goals)).squeeze(1)
        return batch.rewards + self.gamma * (1.0 - batch.terminal) * next_q

    def critic_loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Mean square of y - Q(s, a), and the mean of Q(s, a)."""
        q = self.critic(join(batch.observations, batch.actions, batch.goals)).squeeze(1)
        return (self.targets(batch) - q).square().mean(), q.mean()

    def actor_loss(self, batch: Batch) -> Tensor:
        """Mean of -Q'(s, pi(s)), plus the penalty on the mean square of the actions (Table 2)."""
        actions = self.actor(batch.observations, batch.goals)
        q = self.target_critic(join(batch.observations, actions, batch.goals))
        return self.action_l2 * actions.square().mean() - q.mean()

    def update(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One step of actor and critic, not of the targets. Returns the critic's loss and the mean Q before the step.

        The sum of the losses gives each network its own gradient: the actor's loss uses the target critic, which is not
        trained, and in the critic's loss the actions are data.
        """
        critic_loss, q = self.critic_loss(batch)
        for parameter, gradient in zip(
            self.parameters, torch.autograd.grad(critic_loss + self.actor_loss(batch), self.parameters)
        ):
            parameter.grad = gradient
        self.adam.step()
        return critic_loss.detach(), q.detach()

    @torch.no_grad()
    def sync(self) -> None:
        """Update the targets towards the networks (Table 2, "Polyak coefficient")."""
        torch._foreach_lerp_(self.averaged, self.parameters, 1.0 - self.polyak)

    def weights(self) -> dict[str, Tensor]:
        """Weights of the acting network."""
        return self.actor.state_dict()
