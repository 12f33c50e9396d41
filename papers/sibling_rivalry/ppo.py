"""Proximal policy optimisation (Schulman et al. 2017) with full episodes, as configured in App. F and Table 1."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from envs.goal_task import GoalTask
from papers.sibling_rivalry.networks import input_shape, join, network
from papers.sibling_rivalry.policies import make_policy

CLIP = 0.2
VALUE_WEIGHT = 0.5


class Curiosity(Protocol):
    """What PPO needs of a module that pays for surprise and learns beside it (icm.py, rnd.py)."""

    def surprise(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor: ...

    def loss(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor: ...


def gae(
    rewards: np.ndarray, values: np.ndarray, lengths: np.ndarray, gamma: float, lam: float, bootstrap: np.ndarray
) -> np.ndarray:
    """Generalised advantage estimates float32 [n, T] (Schulman et al. 2016); zero behind an episode's end.

    rewards: [n, T]. values: [n, T + 1]. lengths: int [n]. bootstrap: bool [n]; False: nothing comes after the end.
    """
    n, steps = rewards.shape
    rows = np.arange(n)
    values = values.copy()
    values[rows, lengths] = np.where(bootstrap, values[rows, lengths], 0.0)
    advantages = np.zeros((n, steps), np.float32)
    running = np.zeros(n)
    for t in reversed(range(steps)):
        delta = rewards[:, t] + gamma * values[:, t + 1] - values[:, t]
        running = np.where(t < lengths, delta + gamma * lam * running, 0.0)
        advantages[:, t] = running
    return advantages


@dataclass
class Experience:
    """m transitions to learn from, as tensors on the learner's device."""

    observations: Tensor
    """float32 [m, *observation_shape]"""
    next_observations: Tensor | None
    """float32 [m, *observation_shape], for curiosity."""
    goals: Tensor
    """float32 [m, *goal_shape]"""
    anti_goals: Tensor | None
    """float32 [m, *goal_shape], for critics that see them."""
    actions: Tensor
    """float32 [m, a] or int64 [m]"""
    legal: Tensor | None
    """bool [m, A]"""
    advantages: Tensor
    """float32 [m]"""
    returns: Tensor
    """float32 [m]: advantage + value."""

    def __getitem__(self, rows: Tensor | slice) -> Experience:
        values = (getattr(self, field.name) for field in fields(self))
        return Experience(*(None if value is None else value[rows] for value in values))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.returns)


class PPO:
    """Policy, critic and one optimiser for both, and for a curiosity module.

    Args:
        task: shapes of observations, goals and actions.
        sees_anti_goal: whether the critic gets the anti-goal, too; the policy never does.
        lr, lr_decay: Adam's step size, and the factor on it after every update.
        adam_eps: Adam's epsilon.
        entropy: weight of the entropy in the objective.
        epochs, minibatches: passes over an update's transitions, and gradient steps per pass.
        curiosity, curiosity_rate: a further module, and the weight of its loss.
        seed: of the initial weights.
        device: where the networks live.
    """

    def __init__(
        self, task: GoalTask, *, sees_anti_goal: bool, lr: float, lr_decay: float, adam_eps: float, entropy: float,
        epochs: int, minibatches: int, seed: int, curiosity: nn.Module | None = None, curiosity_rate: float = 0.0,
        device: str = "cpu",
    ):  # fmt: skip
        torch.manual_seed(seed)
        self.device, self.entropy, self.epochs, self.minibatches = device, entropy, epochs, minibatches
        self.curiosity, self.curiosity_rate = curiosity, curiosity_rate
        self.policy = make_policy(task).to(device)
        self.critic = network(input_shape(task, goals=1 + sees_anti_goal), 1, pool="mean").to(device)
        modules: list[nn.Module] = [self.policy, self.critic]
        if curiosity is not None:
            modules.append(curiosity.to(device))
        self.parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
        self.adam = torch.optim.Adam(self.parameters, lr=lr, eps=adam_eps, fused=True)
        self.lr_decay = lr_decay

    def tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def act(
        self, observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None, rng: np.random.Generator | None
    ) -> np.ndarray:
        """Actions of the policy; the most likely ones without `rng`."""
        mask = None if legal is None else self.tensor(legal)
        return self.policy.act(self.tensor(observations), self.tensor(goals), mask, rng)

    @torch.no_grad()
    def values(self, observations: Tensor, goals: Tensor, anti_goals: Tensor | None) -> Tensor:
        """V(s, g), or V(s, g, anti-goal), float32 [m]."""
        return self._values(observations, goals, anti_goals)

    def _values(self, observations: Tensor, goals: Tensor, anti_goals: Tensor | None) -> Tensor:
        parts = [observations, goals] if anti_goals is None else [observations, goals, anti_goals]
        return self.critic(join(*parts)).squeeze(1)

    def loss(self, batch: Experience, old_log_prob: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Clipped objective, squared error of the values and entropy, added up; and the parts by name."""
        log_prob, entropy = self.policy.evaluate(batch.observations, batch.goals, batch.actions, batch.legal)
        ratio = torch.exp(log_prob - old_log_prob)
        clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
        policy_loss = -torch.minimum(ratio * batch.advantages, clipped * batch.advantages).mean()
        values = self._values(batch.observations, batch.goals, batch.anti_goals)
        value_loss = (batch.returns - values).square().mean()
        parts = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy.mean()}
        loss = policy_loss + VALUE_WEIGHT * value_loss - self.entropy * parts["entropy"]
        if self.curiosity is not None:
            own = self.curiosity.loss(batch.observations, batch.actions, batch.next_observations)  # type: ignore[operator]
            parts["curiosity_loss"] = own
            loss = loss + self.curiosity_rate * own
        return loss, parts

    def learn(self, data: Experience, rng: np.random.Generator) -> dict[str, float]:
        """All epochs and mini-batches of one update. Advantages are normalised in place, over all of `data` (App. F).

        Returns the losses' means. What does not fill the last mini-batch of an epoch is left out.
        """
        data.advantages = (data.advantages - data.advantages.mean()) / (data.advantages.std() + 1e-8)
        with torch.no_grad():
            old, _ = self.policy.evaluate(data.observations, data.goals, data.actions, data.legal)
        size = len(data) // self.minibatches
        sums: dict[str, Tensor] = {}
        for _ in range(self.epochs):
            order = self.tensor(rng.permutation(len(data)))
            shuffled, old_shuffled = data[order], old[order]
            for k in range(self.minibatches):
                rows = slice(k * size, (k + 1) * size)
                loss, parts = self.loss(shuffled[rows], old_shuffled[rows])
                for parameter, gradient in zip(self.parameters, torch.autograd.grad(loss, self.parameters)):
                    parameter.grad = gradient
                self.adam.step()
                sums = {name: sums.get(name, 0.0) + part.detach() for name, part in parts.items()}
        for group in self.adam.param_groups:
            group["lr"] *= self.lr_decay
        return {name: float(total) / (self.epochs * self.minibatches) for name, total in sums.items()}
