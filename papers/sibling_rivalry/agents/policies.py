"""Stochastic policies that see an observation and its goal: Beta for continuous actions, categorical for discrete ones.

Both have the same interface, so that PPO need not know which it trains. They never see an anti-goal.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.networks import input_shape, join, network

EDGE = 1e-6
"""Beta actions stay this far from the ends of the unit interval, where their density may be 0."""
FORBIDDEN = -1e4
"""Logit of an illegal action."""


def make_policy(task: GoalTask) -> BetaPolicy | CategoricalPolicy:
    """The policy for the task's actions, continuous or discrete."""
    return CategoricalPolicy(task) if task.action_range is None else BetaPolicy(task)


class BetaPolicy(nn.Module):
    """One Beta distribution per action dimension (Chou et al. 2017), scaled to the task's range. Both parameters are
    above 1, so that the density has a single peak (App. F, "Proximal Policy Optimization")."""

    def __init__(self, task: GoalTask):
        super().__init__()
        self.n_actions, self.reach = task.n_actions, float(task.action_range)  # type: ignore[arg-type]
        self.body = network(input_shape(task), 2 * task.n_actions, pool="max")

    def shapes(self, observations: Tensor, goals: Tensor) -> Tensor:
        """alpha of all actions, then beta of all, float32 [n, 2 a]."""
        return F.softplus(self.body(join(observations, goals))) + 1.05

    def parameters_of(self, observations: Tensor, goals: Tensor) -> tuple[Tensor, Tensor]:
        """alpha and beta, float32 [n, a]."""
        alpha, beta = self.shapes(observations, goals).split(self.n_actions, dim=1)
        return alpha, beta

    @torch.no_grad()
    def act(
        self, observations: Tensor, goals: Tensor, legal: Tensor | None, rng: np.random.Generator | None
    ) -> np.ndarray:
        """Actions float32 [n, a], drawn with `rng`; without it, the most likely ones."""
        alpha, beta = (parameter.cpu().numpy() for parameter in self.parameters_of(observations, goals))
        unit = (alpha - 1) / (alpha + beta - 2) if rng is None else rng.beta(alpha, beta)
        return ((2 * unit - 1) * self.reach).astype(np.float32)

    def evaluate(
        self, observations: Tensor, goals: Tensor, actions: Tensor, legal: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Log density of the actions on the unit interval, summed over dimensions, and entropy, averaged: [n] each."""
        both = self.shapes(observations, goals)  # lgamma and digamma are several times slower on its strided halves
        alpha, beta = both.split(self.n_actions, dim=1)
        total = alpha + beta
        unit = ((actions / self.reach + 1) / 2).clamp(EDGE, 1 - EDGE)
        log_beta = _halves(torch.lgamma(both)) - torch.lgamma(total)
        log_prob = (alpha - 1) * unit.log() + (beta - 1) * torch.log1p(-unit) - log_beta
        entropy = log_beta - _halves((both - 1) * torch.digamma(both)) + (total - 2) * torch.digamma(total)
        return log_prob.sum(dim=1), entropy.mean(dim=1)


def _halves(both: Tensor) -> Tensor:
    """The alpha half plus the beta half: [n, 2 a] -> [n, a]."""
    return both.unflatten(1, (2, -1)).sum(dim=1)


class CategoricalPolicy(nn.Module):
    """A softmax over the legal actions."""

    def __init__(self, task: GoalTask):
        super().__init__()
        self.body = network(input_shape(task), task.n_actions, pool="max")

    def log_probs(self, observations: Tensor, goals: Tensor, legal: Tensor | None) -> Tensor:
        """Logarithms of all actions' probabilities, float32 [n, A]."""
        logits = self.body(join(observations, goals))
        if legal is not None:
            logits = logits.masked_fill(~legal, FORBIDDEN)
        return F.log_softmax(logits, dim=1)

    @torch.no_grad()
    def act(
        self, observations: Tensor, goals: Tensor, legal: Tensor | None, rng: np.random.Generator | None
    ) -> np.ndarray:
        """Actions int64 [n], drawn with `rng`; without it, the most likely ones."""
        scores = self.log_probs(observations, goals, legal).cpu().numpy()
        if rng is not None:  # the argmax of log p + Gumbel noise is a draw from p
            scores = scores + rng.gumbel(size=scores.shape)
        return scores.argmax(axis=1)

    def evaluate(
        self, observations: Tensor, goals: Tensor, actions: Tensor, legal: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Log probability of the actions, and entropy: [n] each."""
        log_probs = self.log_probs(observations, goals, legal)
        return log_probs.gather(1, actions[:, None]).squeeze(1), -(log_probs.exp() * log_probs).sum(dim=1)
