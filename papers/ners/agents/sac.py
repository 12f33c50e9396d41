"""Soft actor-critic (Haarnoja et al. 2018, https://arxiv.org/abs/1812.05905) with losses weighted per transition."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from papers.ners.agents.networks import Actor, Critics, descend, state_dicts
from papers.ners.samplers.batch import Batch, Signals, signals_of

LOG_STD = (-20.0, 2.0)
"""Bounds on the log of the policy's standard deviation."""
LR = 3e-4
"""Adam's step size of all networks and of the temperature (Table B.1)."""


class SAC:
    """Twin critics with target networks, a tanh-squashed Gaussian policy, and a learned temperature."""

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        lr: float = LR,
        gamma: float = 0.99,
        tau: float = 5e-3,
        hidden: tuple[int, ...] = (256, 256),
        seed: int = 0,
        device: str = "cpu",
    ):
        """tau: step of the target networks towards the online ones. seed: for weights and noise in learning."""
        self.gamma, self.tau, self.device = gamma, tau, device
        self.target_entropy = -float(n_actions)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = Actor(n_states, hidden, 2 * n_actions).to(device)
            self.critics = Critics(n_states, n_actions, hidden).to(device)
            self.target = Critics(n_states, n_actions, hidden).to(device).requires_grad_(False)
        self.target.load_state_dict(self.critics.state_dict())
        self.log_alpha = torch.zeros((), device=device, requires_grad=True)
        self.noise = torch.Generator(device).manual_seed(seed)
        self.actor_parameters, self.critic_parameters = list(self.actor.parameters()), list(self.critics.parameters())
        self.online: list[Tensor] = [*self.critic_parameters]
        self.averaged: list[Tensor] = [*self.target.parameters()]
        self.actor_adam = torch.optim.Adam(self.actor_parameters, lr=lr, fused=True)
        self.critic_adam = torch.optim.Adam(self.critic_parameters, lr=lr, fused=True)
        self.alpha_adam = torch.optim.Adam([self.log_alpha], lr=lr, fused=True)

    # --- acting -------------------------------------------------------------------------------------------------------

    def act(self, state: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """Action [a] in [-1, 1] for a state [s]: a draw from the policy, or its mean when `rng` is None."""
        mean, log_std = np.split(self.actor.one(state), 2)
        if rng is not None:
            mean = mean + np.exp(np.clip(log_std, *LOG_STD)) * rng.standard_normal(len(mean), np.float32)
        return np.tanh(mean)

    def policy(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Actions [n, a] drawn from the policy for states [n, s], and their log densities [n]."""
        mean, log_std = self.actor(state).chunk(2, dim=1)
        log_std = log_std.clamp(*LOG_STD)
        z = torch.randn(mean.shape, generator=self.noise, device=self.device)
        u = mean + log_std.exp() * z
        # log N(u) - log(1 - tanh(u)^2), the second in a form that stays exact for large u
        log_density = -0.5 * z.square() - log_std - 0.5 * math.log(2 * math.pi)
        log_density = log_density - 2.0 * (math.log(2.0) - u - F.softplus(-2.0 * u))
        return torch.tanh(u), log_density.sum(dim=1)

    # --- learning -----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def targets(self, batch: Batch) -> Tensor:
        """y [n] = r + gamma (min Q'(s', a') - alpha log pi(a'|s')), and r alone after a termination."""
        action, log_density = self.policy(batch.next_state)
        value = self.target(batch.next_state, action).amin(dim=0) - self.log_alpha.exp() * log_density
        return batch.reward + self.gamma * (1.0 - batch.terminal) * value

    def critic_loss(self, batch: Batch, y: Tensor) -> tuple[Tensor, Tensor]:
        """Weighted squared TD errors of both critics, and their values Q(s, a) [2, n]."""
        q = self.critics(batch.state, batch.action)
        return (batch.weight * (y - q).square()).sum(dim=0).mean(), q

    def actor_loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Weighted alpha log pi(a|s) - min Q(s, a) of new actions a, and the log densities [n]."""
        action, log_density = self.policy(batch.state)
        value = self.critics(batch.state, action).amin(dim=0)
        return (batch.weight * (self.log_alpha.exp().detach() * log_density - value)).mean(), log_density

    def update(self, batch: Batch) -> Signals:
        """One step of critics, actor, temperature and target networks (Algorithm 1, line 8)."""
        y = self.targets(batch)
        loss, q = self.critic_loss(batch, y)
        descend(loss, self.critic_parameters, self.critic_adam)
        loss, log_density = self.actor_loss(batch)
        descend(loss, self.actor_parameters, self.actor_adam)
        entropy_gap = (log_density + self.target_entropy).mean().detach()
        descend(-self.log_alpha * entropy_gap, [self.log_alpha], self.alpha_adam)  # type: ignore[list-item]
        with torch.no_grad():
            torch._foreach_lerp_(self.averaged, self.online, self.tau)
        return signals_of(y, q)

    def weights(self) -> dict[str, Tensor]:
        """Parameters by name, as saved in weights.pt."""
        return state_dicts(actor=self.actor, critics=self.critics)
