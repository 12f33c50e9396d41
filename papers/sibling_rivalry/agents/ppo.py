"""Proximal policy optimisation (Schulman et al. 2017) with full episodes, as configured in App. F and Table 1."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.adam import Adam
from papers.sibling_rivalry.agents.networks import CHUNK, input_shape, join, network
from papers.sibling_rivalry.agents.policies import make_policy

CLIP = 0.2
VALUE_WEIGHT = 0.5


class Curiosity(Protocol):
    """What PPO needs of a module that pays for surprise and is trained with it (icm.py, rnd.py)."""

    def surprise(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor: ...

    def losses(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor: ...


def gae(
    rewards: np.ndarray, values: np.ndarray, lengths: np.ndarray, gamma: float, lam: float, bootstrap: np.ndarray
) -> np.ndarray:
    """Generalised advantage estimates float32 [n, T] (Schulman et al. 2016); zero after an episode's end.

    rewards: [n, T]. values: [n, T + 1]. lengths: int [n]. bootstrap: bool [n]; False: the state at the end has value 0.
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
    """Policy, critic, perhaps a curiosity module, and one optimiser for all.

    Args:
        task: shapes of observations, goals and actions.
        sees_anti_goal: whether the critic also gets the anti-goal; the policy never does.
        lr, lr_decay: Adam's step size, and the factor on it at each call of `slow_down`.
        adam_eps: Adam's epsilon, see adam.py.
        entropy: weight of the entropy in the objective.
        epochs, minibatches: passes over an update's transitions, and gradient steps per pass.
        curiosity, curiosity_rate: the curiosity module and the weight of its loss.
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
        self.adam = Adam(self.parameters, lr=lr, eps=adam_eps)
        self.lr_decay = lr_decay
        self.in_parts = device == "cpu" and len(task.observation_shape) == 3  # see CHUNK

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
        seen = [part for part in (observations, goals, anti_goals) if part is not None]
        return torch.cat([self._values(*(part[rows] for part in seen)) for rows in self._parts(len(observations))])

    def _values(self, *seen: Tensor) -> Tensor:
        return self.critic(join(*seen)).squeeze(1)

    def _parts(self, n: int) -> list[slice]:
        """The rows of n transitions in parts that are computed one after the other."""
        size = CHUNK if self.in_parts else max(n, 1)
        return [slice(first, first + size) for first in range(0, max(n, 1), size)]

    def loss(self, batch: Experience, old_log_prob: Tensor, weights: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum of clipped objective, squared error of the values and entropy; and the parts by name.

        weights: [m], of the transitions in each mean.
        """
        log_prob, entropy = self.policy.evaluate(batch.observations, batch.goals, batch.actions, batch.legal)
        ratio = torch.exp(log_prob - old_log_prob)
        clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
        seen = [batch.observations, batch.goals] + ([] if batch.anti_goals is None else [batch.anti_goals])
        each = {
            "policy_loss": -torch.minimum(ratio * batch.advantages, clipped * batch.advantages),
            "value_loss": (batch.returns - self._values(*seen)).square(),
            "entropy": entropy,
        }
        if self.curiosity is not None:
            each["curiosity_loss"] = self.curiosity.losses(batch.observations, batch.actions, batch.next_observations)  # type: ignore[operator]
        means = {name: weights @ values for name, values in each.items()}
        loss = means["policy_loss"] + VALUE_WEIGHT * means["value_loss"] - self.entropy * means["entropy"]
        if self.curiosity is not None:
            loss = loss + self.curiosity_rate * means["curiosity_loss"]
        return loss, means

    def learn(self, data: Experience, workers: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
        """All epochs and mini-batches of one update. Advantages are normalised in place, over all of `data` (App. F).

        workers: int64 [m], the worker of each transition; see `minibatches`. Returns the mean losses.
        """
        data.advantages = (data.advantages - data.advantages.mean()) / (data.advantages.std() + 1e-8)
        with torch.no_grad():
            parts = (data[rows] for rows in self._parts(len(data)))
            old = torch.cat([self.policy.evaluate(x.observations, x.goals, x.actions, x.legal)[0] for x in parts])
        sums: dict[str, Any] = {}
        for _ in range(self.epochs):
            order, weights = minibatches(workers, self.minibatches, rng)
            every = self.tensor(weights)
            for rows in self.tensor(order):
                sums = self.descend(data[rows], old[rows], every, sums)
        return {name: float(total) / (self.epochs * self.minibatches) for name, total in sums.items()}

    def descend(self, batch: Experience, old_log_prob: Tensor, weights: Tensor, sums: dict[str, Any]) -> dict[str, Any]:
        """One gradient step on a mini-batch, see `loss`; returns `sums` plus its mean losses by name."""
        self.adam.zero_grad()
        for part in self._parts(len(batch)):  # their gradients add up
            loss, means = self.loss(batch[part], old_log_prob[part], weights[part])
            loss.backward()
            sums = {name: sums.get(name, 0.0) + mean.detach() for name, mean in means.items()}
        self.adam.step()
        return sums

    def slow_down(self) -> None:
        """Multiply the step size by lr_decay."""
        for group in self.adam.param_groups:
            group["lr"] *= self.lr_decay


def minibatches(workers: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows int64 [count, b] of the mini-batches of one epoch, and weights float32 [b] of the rows in each.

    workers: int64 [m], the worker of each row. Every worker shuffles its own rows and splits them into `count` equal
    parts; the remainder is left out. A mini-batch has one part of each worker. With the weights, its mean is averaged
    per worker, then across workers; with one worker, that is the plain mean.
    """
    order = np.lexsort((rng.random(len(workers)), workers))  # worker by worker, shuffled within each
    rows = np.bincount(workers)
    sizes = rows // count  # of each worker's parts
    rank = np.arange(len(workers)) - (np.cumsum(rows) - rows)[workers[order]]  # of a row among its worker's
    used = rank < (sizes * count)[workers[order]]
    order, rank = order[used], rank[used]
    part = rank // sizes[workers[order]]
    order = order[np.argsort(part, kind="stable")].reshape(count, -1)
    taking_part = sizes[sizes > 0]
    return order, np.repeat(1.0 / (len(taking_part) * taking_part), taking_part).astype(np.float32)
