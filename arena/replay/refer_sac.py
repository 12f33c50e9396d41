"""SAC under ReF-ER's rules: a transition is learnt from only if its action is still likely enough.

The behaviour policy is a Gaussian before its tanh, and uniform during the random steps at the beginning. Rule 1 removes
far transitions from the losses of critics and actor; Rule 2 adds the policy's divergence from the behaviour to the
actor's loss. Draws are uniform. The learning rate is not annealed, and the temperature's loss is unchanged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from common.replay.protocol import Step
from common.replay.samplers import UniformSampler
from papers.ners.agents.networks import descend
from papers.ners.agents.sac import LOG_STD, SAC
from papers.ners.samplers.batch import Batch, Signals, signals_of
from papers.ref_er.refer import ReFER

EDGE = 1.0 - 1e-6
"""Largest size of an action whose tanh is inverted; larger ones are clipped."""
LARGEST = 20.0
"""Bound on the size of an importance weight's logarithm; beyond it, the transition is far in any case."""


class Behaviour(UniformSampler):
    """Uniform draws, and a record of the behaviour policy that took each transition's action.

    After every update, it receives the current policy's importance weights, and anneals beta of Rule 2.
    """

    needs = frozenset({"step", "ratio", "divergence"})

    def __init__(self, capacity: int, rng: np.random.Generator, agent: Any, refer: ReFER):
        super().__init__(rng)
        d = agent.n_actions
        self.agent, self.refer = agent, refer
        self.before_tanh, self.mean = np.zeros((2, capacity, d), np.float32)
        self.log_std = np.zeros((capacity, d), np.float32)
        self.random = np.zeros(capacity, bool)
        """Whether the action was drawn uniformly from [-1, 1]."""
        self.rho = np.ones(capacity)
        self.batch = np.empty(0, np.int64)
        """Slots of the current batch."""
        agent.behaviour = self

    def add(self, index: int, step: Step | None = None) -> None:
        super().add(index)
        self.rho[index] = 1.0
        self.random[index] = self.agent.last is None
        if self.agent.last is None:
            assert step is not None, "ReF-ER reads the actions of the random steps"
            self.before_tanh[index] = np.arctanh(np.clip(step.action, -EDGE, EDGE))
        else:
            self.before_tanh[index], self.mean[index], self.log_std[index] = self.agent.last
        self.agent.last = None

    def look_at(self, slots: np.ndarray) -> None:
        """Note that the agent is about to learn from `slots` [n]."""
        self.batch = slots

    def found(self, rho: np.ndarray) -> None:
        """Store the batch's importance weights [n] under the current policy."""
        self.rho[self.batch] = rho
        self.refer.anneal(self.stored)
        far = self.stored - int(self.refer.near(self.rho[: self.stored]).sum())
        self.refer.update(far, self.stored)

    def metrics(self) -> dict[str, float]:
        near = self.refer.near(self.rho[: self.stored])
        return {"beta": self.refer.beta, "far": 1.0 - float(near.mean()) if self.stored else 0.0}


class ReferSAC(SAC):
    """SAC that records the distribution of its last action, and follows both rules."""

    behaviour: Behaviour

    def __init__(self, n_states: int, n_actions: int, **settings: Any):
        super().__init__(n_states, n_actions, **settings)
        self.n_actions = n_actions
        self.last: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        """Last action before its tanh, with mean and log standard deviation; None if the agent did not choose it."""

    def act(self, state: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        if rng is None:
            return super().act(state)
        mean, log_std = np.split(self.actor.one(state), 2)
        log_std = np.clip(log_std, *LOG_STD)
        u = mean + np.exp(log_std) * rng.standard_normal(len(mean), np.float32)
        self.last = u, mean, log_std
        return np.tanh(u)

    def likelihood(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """For the batch's transitions [n] with states `state` [n, s]: log pi(a|s) / mu(a|s), and a term that falls with
        KL(mu || pi). For a Gaussian mu it is the divergence itself; for the uniform mu it is -log pi(a|s), whose mean
        over actions drawn from mu is the divergence up to a constant."""
        b = self.behaviour
        u, old_mean, old_log_std = (torch.from_numpy(x[b.batch]) for x in (b.before_tanh, b.mean, b.log_std))
        random = torch.from_numpy(b.random[b.batch])
        mean, log_std = self.actor(state).chunk(2, dim=1)
        log_std = log_std.clamp(*LOG_STD)
        new = _log_normal(u, mean, log_std)
        slope = 2.0 * (math.log(2.0) - u - torch.nn.functional.softplus(-2.0 * u)).sum(dim=1)  # log slope of tanh
        uniform = -self.n_actions * math.log(2.0) + slope  # log density of u if a = tanh u is uniform
        old = torch.where(random, uniform, _log_normal(u, old_mean, old_log_std))
        variance_ratio = (2.0 * (old_log_std - log_std)).exp()
        squares = ((old_mean - mean) * (-log_std).exp()).square()
        kl = (0.5 * (variance_ratio + squares - 1.0) + log_std - old_log_std).sum(dim=1)
        return new - old, torch.where(random, -new, kl)

    def update(self, batch: Batch) -> Signals:
        """As `SAC.update`; far transitions count 0, the actor's gradient is beta g - (1 - beta) grad KL."""
        refer = self.behaviour.refer
        log_rho, divergence = self.likelihood(batch.state)
        rho = log_rho.detach().clamp(-LARGEST, LARGEST).exp().numpy()
        mask = torch.from_numpy(refer.mask(rho))
        batch = batch._replace(weight=refer.beta * mask * batch.weight)  # Rule 1, and beta of Rule 2
        y = self.targets(batch)
        loss, q = self.critic_loss(batch, y)
        descend(loss, self.critic_parameters, self.critic_adam)
        loss, log_density = self.actor_loss(batch)
        descend(loss + (1.0 - refer.beta) * divergence.mean(), self.actor_parameters, self.actor_adam)
        entropy_gap = (log_density + self.target_entropy).mean().detach()
        descend(-self.log_alpha * entropy_gap, [self.log_alpha], self.alpha_adam)  # type: ignore[list-item]
        with torch.no_grad():
            torch._foreach_lerp_(self.averaged, self.online, self.tau)
        self.behaviour.found(rho)
        return signals_of(y, q)


def _log_normal(x: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """Logarithm of the density [n] of independent normal components at x [n, d]."""
    z = (x - mean) * (-log_std).exp()
    return (-0.5 * z.square() - log_std - 0.5 * math.log(2 * math.pi)).sum(dim=1)
