"""Advantage actor-critic, the learner of the circular track (Sec. 3): a single gradient step per update.

This is the simplest policy gradient that Sibling Rivalry works with; ppo.py takes several clipped steps on the same
data instead. There is no discount and no bootstrapping: each step's return is the episode's reward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from common.networks import mlp
from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.networks import input_shape, join
from papers.sibling_rivalry.agents.policies import BetaPolicy

HIDDEN = 64
VALUE_WEIGHT = 0.5


@dataclass
class Steps:
    """m steps to learn from, float32."""

    observations: Tensor
    """[m, d]"""
    goals: Tensor
    """[m, g]"""
    anti_goals: Tensor | None
    """[m, g], for a critic that sees them."""
    actions: Tensor
    """[m, a]"""
    returns: Tensor
    """[m]: sum of rewards from there to the episode's end."""


class A2C:
    """A Beta policy that sees observation and goal, a critic that may also see the anti-goal, and their optimiser.

    Both are perceptrons with two hidden layers, for tasks with vector observations and continuous actions.

    Args:
        task: shapes of observations, goals and actions.
        sees_anti_goal: whether the critic gets the anti-goal; the policy never does.
        lr: Adam's step size.
        seed: of the initial weights.
    """

    def __init__(self, task: GoalTask, *, sees_anti_goal: bool, lr: float, seed: int):
        torch.manual_seed(seed)
        self.policy = BetaPolicy(task)
        self.policy.body = mlp([*input_shape(task), HIDDEN, HIDDEN, 2 * task.n_actions])  # smaller than PPO's
        self.critic = mlp([*input_shape(task, goals=1 + sees_anti_goal), HIDDEN, HIDDEN, 1])
        self.parameters = [*self.policy.parameters(), *self.critic.parameters()]
        self.adam = torch.optim.Adam(self.parameters, lr=lr, fused=True)

    def act(
        self, observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Actions float32 [n, a], sampled from the policy."""
        return self.policy.act(torch.from_numpy(observations), torch.from_numpy(goals), None, rng)

    def values(self, steps: Steps) -> Tensor:
        """V(s, g), or V(s, g, anti-goal): float32 [m]."""
        parts = [steps.observations, steps.goals] + ([] if steps.anti_goals is None else [steps.anti_goals])
        return self.critic(join(*parts)).squeeze(1)

    def losses(self, steps: Steps) -> tuple[Tensor, Tensor]:
        """Policy loss: -log pi times the normalised advantage R - V. Value loss: the squared error of V."""
        values = self.values(steps)
        advantages = steps.returns - values.detach()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        log_prob, _ = self.policy.evaluate(steps.observations, steps.goals, steps.actions, None)
        return -(log_prob * advantages).mean(), (steps.returns - values).square().mean()

    def update(self, steps: Steps) -> dict[str, float]:
        """One gradient step; returns the losses by name."""
        policy_loss, value_loss = self.losses(steps)
        loss = policy_loss + VALUE_WEIGHT * value_loss
        for parameter, gradient in zip(self.parameters, torch.autograd.grad(loss, self.parameters)):
            parameter.grad = gradient
        self.adam.step()
        return {"policy_loss": float(policy_loss.detach()), "value_loss": float(value_loss.detach())}
