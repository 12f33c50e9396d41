"""Twin delayed DDPG (Fujimoto et al. 2018, https://arxiv.org/abs/1802.09477) with losses weighted per transition."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from papers.ners.agents.networks import Actor, Critics, descend, state_dicts
from papers.ners.samplers.batch import Batch, Signals, signals_of

LR = 1e-3
"""Adam's step size, chosen on RANDOM alone (own-td3-lr); Table B.1 prints 5e-3."""


class TD3:
    """Twin critics and a deterministic actor, all with target networks; the actor learns every second time."""

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        lr: float = LR,
        gamma: float = 0.99,
        tau: float = 5e-3,
        hidden: tuple[int, ...] = (256, 256),
        action_noise: float = 0.1,
        target_noise: float = 0.2,
        noise_clip: float = 0.5,
        policy_delay: int = 2,
        seed: int = 0,
        device: str = "cpu",
    ):
        """tau: step of the target networks towards the online ones. Noises are standard deviations in units of the
        action's bound. seed: for weights and noise in learning."""
        self.gamma, self.tau, self.device = gamma, tau, device
        self.action_noise, self.target_noise, self.noise_clip = action_noise, target_noise, noise_clip
        self.policy_delay, self.updates = policy_delay, 0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = Actor(n_states, hidden, n_actions).to(device)
            self.critics = Critics(n_states, n_actions, hidden).to(device)
            self.target_actor = Actor(n_states, hidden, n_actions).to(device).requires_grad_(False)
            self.target = Critics(n_states, n_actions, hidden).to(device).requires_grad_(False)
        self.target_actor.load_state_dict(self.actor.state_dict())
        self.target.load_state_dict(self.critics.state_dict())
        self.noise = torch.Generator(device).manual_seed(seed)
        self.actor_parameters, self.critic_parameters = list(self.actor.parameters()), list(self.critics.parameters())
        self.online: list[Tensor] = [*self.actor_parameters, *self.critic_parameters]
        self.averaged: list[Tensor] = [*self.target_actor.parameters(), *self.target.parameters()]
        self.actor_adam = torch.optim.Adam(self.actor_parameters, lr=lr, fused=True)
        self.critic_adam = torch.optim.Adam(self.critic_parameters, lr=lr, fused=True)

    # --- acting -------------------------------------------------------------------------------------------------------

    def act(self, state: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """Action [a] in [-1, 1] for a state [s]: the actor's, with noise unless `rng` is None."""
        action = np.tanh(self.actor.one(state))
        if rng is not None:
            noise = np.float32(self.action_noise) * rng.standard_normal(len(action), np.float32)
            action = np.clip(action + noise, -1.0, 1.0)
        return action

    # --- learning -----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def targets(self, batch: Batch) -> Tensor:
        """y [n] = r + gamma min Q'(s', pi'(s') + clipped noise), and r alone after a termination."""
        action = torch.tanh(self.target_actor(batch.next_state))
        noise = self.target_noise * torch.randn(action.shape, generator=self.noise, device=self.device)
        action = (action + noise.clamp(-self.noise_clip, self.noise_clip)).clamp(-1.0, 1.0)
        value = self.target(batch.next_state, action).amin(dim=0)
        return batch.reward + self.gamma * (1.0 - batch.terminal) * value

    def critic_loss(self, batch: Batch, y: Tensor) -> tuple[Tensor, Tensor]:
        """Weighted squared TD errors of both critics, and their values Q(s, a) [2, n]."""
        q = self.critics(batch.state, batch.action)
        return (batch.weight * (y - q).square()).sum(dim=0).mean(), q

    def actor_loss(self, batch: Batch) -> Tensor:
        """Weighted -Q(s, pi(s)) of the first critic."""
        return -(batch.weight * self.critics.first(batch.state, torch.tanh(self.actor(batch.state)))).mean()

    def update(self, batch: Batch) -> Signals:
        """One step of critics and target networks, and every second time of the actor (Algorithm 1, line 8)."""
        y = self.targets(batch)
        loss, q = self.critic_loss(batch, y)
        descend(loss, self.critic_parameters, self.critic_adam)
        self.updates += 1
        if self.updates % self.policy_delay == 0:
            descend(self.actor_loss(batch), self.actor_parameters, self.actor_adam)
        with torch.no_grad():  # after every update, as in Table B.1, not only after the actor's
            torch._foreach_lerp_(self.averaged, self.online, self.tau)
        return signals_of(y, q)

    def weights(self) -> dict[str, Tensor]:
        """Parameters by name, as saved in weights.pt."""
        return state_dicts(actor=self.actor, critics=self.critics)
