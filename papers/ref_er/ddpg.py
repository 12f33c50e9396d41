"""DDPG with the replay kinds of the paper: a deterministic policy, which explores with Gaussian noise, and a critic.

For ReF-ER the policy is the Gaussian N(m(s), noise^2 I); the measure of likelihood is that of the noisy action.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import torch

from papers.ref_er.gaussian import importance_weight, kl, kl_gradient
from papers.ref_er.memory import EpisodeMemory
from papers.ref_er.networks import MLP, soft_update
from papers.ref_er.refer import ReFER


class DDPG:
    """The learner (Algorithm 4). n_states, n_actions: components of a state and of an action; hidden: units of the
    hidden layers; lr: of the critic; noise: standard deviation of the exploration; polyak: share of the new parameters
    in the targets; seed: of the networks' initial weights."""

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        hidden: Sequence[int] = (128, 128),
        lr: float = 1e-4,
        actor_lr: float = 1e-5,
        weight_decay: float = 1e-4,
        noise: float = 0.2,
        polyak: float = 0.01,
        seed: int = 0,
        device: str = "cpu",
    ):
        self.lr, self.actor_lr, self.polyak = lr, actor_lr, polyak
        self.std = np.full(n_actions, noise, np.float32)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = MLP([n_states, *hidden, n_actions]).to(device)  # tanh follows, App. A
            self.critic = MLP([n_states + n_actions, *hidden, 1]).to(device)
        self.actor_target, self.critic_target = deepcopy(self.actor), deepcopy(self.critic)
        self._trained = [*self.actor.parameters(), *self.critic.parameters()]
        self._targets = [*self.actor_target.parameters(), *self.critic_target.parameters()]
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), actor_lr, eps=1.2e-7, fused=True)
        self.critic_optimizer = torch.optim.Adam(
            self.critic.parameters(), lr, eps=1.2e-7, weight_decay=weight_decay, fused=True
        )

    def act(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean [d] and deviation [d] of the exploring policy at a state; it keeps no values."""
        return np.tanh(self.actor.act(state)), self.std, 0.0

    def update(
        self, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, refer: ReFER, lr_factor: float
    ) -> np.ndarray:
        """One gradient step (Algorithm 4) on the steps `slots` [B], whose gradients count `weights` [B] times; returns
        the TD errors [B]. Both networks' gradients are taken before either is changed."""
        states, actions = memory.states[slots], memory.actions[slots]
        old_mean, old_std = memory.means[slots], memory.stds[slots]
        mean = np.tanh(self.actor.evaluate(states))
        rho = importance_weight(actions, mean, self.std, old_mean, old_std)  # Algorithm 4, line 5
        mask = refer.mask(rho)

        q = self.critic.evaluate(np.concatenate([states, actions], axis=1))[:, 0]
        errors = self.targets(memory, slots) - q
        critic_ascent = (weights * mask * errors)[:, None]  # Eq. (2): Rule 1 cuts the critic's errors, beta does not

        slope = self.critic.input_gradient(np.concatenate([states, mean], axis=1))[:, states.shape[1] :]  # Eq. (3)
        kl_mean, _ = kl_gradient(mean, self.std, old_mean, old_std)
        actor_ascent = weights[:, None] * refer.gradient(slope, kl_mean, mask) * (1.0 - mean * mean)  # tanh's slope

        self._step(self.critic_optimizer, self.lr * lr_factor, self.critic, critic_ascent)
        self._step(self.actor_optimizer, self.actor_lr * lr_factor, self.actor, actor_ascent)
        soft_update(self._targets, self._trained, self.polyak)  # Algorithm 4, last line
        memory.store(slots, memory.values[slots], rho, kl(mean, self.std, old_mean, old_std))
        return errors

    def targets(self, memory: EpisodeMemory, slots: np.ndarray) -> np.ndarray:
        """TD targets [B] by the target networks, in units of the scaled reward; the time limit is no end."""
        following = memory.states[memory.after(slots)]
        best = np.tanh(self.actor_target.act(following))
        value = self.critic_target.act(np.concatenate([following, best], axis=1))[:, 0]
        return memory.td_targets(slots, value)

    def _step(self, optimizer: torch.optim.Adam, lr: float, network: MLP, ascent: np.ndarray) -> None:
        """Follow the samples' gradients with respect to a network's outputs [B, outputs]."""
        optimizer.param_groups[0]["lr"] = lr  # Eq. (13)
        network.backward(ascent / -len(ascent))
        optimizer.step()

    def weights(self) -> dict[str, dict]:
        """All trained parameters."""
        return {"actor": self.actor.state_dict(), "critic": self.critic.state_dict()}
