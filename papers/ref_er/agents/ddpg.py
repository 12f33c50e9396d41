"""DDPG with the replay kinds of the paper: a deterministic policy, which explores with Gaussian noise, and a critic.

For ReF-ER the policy is the Gaussian N(m(s), noise^2 I), and importance weights are those of the noisy action.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np
import torch

from papers.ref_er.agents.gaussian import importance_weight, kl, kl_gradient
from papers.ref_er.agents.networks import MLP, Adam, Network, soft_update
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.refer import ReFER


def action_slope(critic: Network, pairs: np.ndarray, d: int) -> np.ndarray:
    """Minus the gradient [B, d] with respect to the policy's actions, the last d inputs of `pairs`, of

    loss = -critic(torch.cat([states, actions], dim=1)).sum()  # Eq. (3)
    """
    return critic.input_gradient(pairs)[:, -d:]  # Eq. (3)


class DDPG:
    """The learner (Algorithm 4). n_states, n_actions: components of a state and of an action; hidden: units of the
    hidden layers; lr: of the critic; noise: standard deviation of the exploration; polyak: share of the new parameters
    in the targets; linear: no tanh on the actor; network: builds one from its layer sizes; seed: of initial weights.
    """

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
        linear: bool = False,
        network: Callable[[Sequence[int]], Network] = MLP,
        seed: int = 0,
        device: str = "cpu",
    ):
        self.lr, self.actor_lr, self.polyak, self.linear = lr, actor_lr, polyak, linear
        self.std = np.full(n_actions, noise, np.float32)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor = network([n_states, *hidden, n_actions]).to(device)
            self.critic = network([n_states + n_actions, *hidden, 1]).to(device)
        self.actor_target, self.critic_target = deepcopy(self.actor), deepcopy(self.critic)
        self.actor_optimizer = Adam(self.actor)
        self.critic_optimizer = Adam(self.critic, weight_decay=weight_decay)

    def squash(self, outputs: np.ndarray) -> np.ndarray:
        """The policy's mean, from the actor's outputs: in (-1, 1) (App. A), unless the actor is linear."""
        return outputs if self.linear else np.tanh(outputs)

    def act(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean [d] and deviation [d] of the exploring policy at a state; no value (0)."""
        return self.squash(self.actor.act(state)), self.std, 0.0

    def update(
        self, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, refer: ReFER, lr_factor: float
    ) -> np.ndarray:
        """One gradient step (Algorithm 4) on the steps `slots` [B], whose gradients are weighted by `weights` [B];
        returns the TD errors [B]. Both networks' gradients are taken before either changes."""
        # Algorithm 4, lines 1 and 15: all steps of the batch at once
        states, actions, old_mean, old_std, _ = memory.fetch(slots)  # Algorithm 4, line 2
        mean = self.squash(self.actor.evaluate(states))  # Algorithm 4, line 3
        q = self.critic.evaluate(memory.pairs(slots, actions))[:, 0]
        rho = importance_weight(actions, mean, self.std, old_mean, old_std)  # Algorithm 4, lines 4 and 5
        memory.store(slots, memory.values[slots], rho, kl(mean, self.std, old_mean, old_std))
        near = refer.mask(rho)  # Algorithm 4, lines 6 and 11-13: 0 for far samples, a factor on both gradients
        errors = self.targets(memory, slots) - q  # Algorithm 4, lines 7 and 8
        critic_ascent = weights * near * errors  # Algorithm 4, line 9; Eq. (2)
        slope = action_slope(self.critic, memory.pairs(slots, mean), mean.shape[1])  # Algorithm 4, line 10
        kl_mean, _ = kl_gradient(mean, self.std, old_mean, old_std)
        actor_ascent = weights[:, None] * refer.gradient(slope, kl_mean, near)  # Algorithm 4, line 14
        if not self.linear:
            actor_ascent *= 1.0 - mean * mean  # tanh's slope
        n = len(slots)
        self.descend(actor_ascent / -n, critic_ascent[:, None] / -n, lr_factor)  # Algorithm 4, lines 16 and 17
        return errors

    def descend(self, of_actor: np.ndarray, of_critic: np.ndarray, lr_factor: float) -> None:
        """Adam's steps down losses with these gradients with respect to the outputs of actor [B, d] and critic [B, 1];
        the targets follow."""
        self.critic.backward(of_critic)
        self.actor.backward(of_actor)
        self.critic_optimizer.step(self.lr * lr_factor)  # Eq. (13)
        self.actor_optimizer.step(self.actor_lr * lr_factor)
        for target, trained in ((self.actor_target, self.actor), (self.critic_target, self.critic)):
            soft_update(target.flat()[:1], trained.flat()[:1], self.polyak)

    def targets(self, memory: EpisodeMemory, slots: np.ndarray) -> np.ndarray:
        """TD targets [B] by the target networks, in units of the scaled reward; a time limit is not terminal."""
        after = memory.after(slots)
        best = self.squash(self.actor_target.act(memory.inputs(after)))
        value = self.critic_target.act(memory.pairs(after, best))[:, 0]
        return memory.td_targets(slots, value)

    def weights(self) -> dict[str, dict]:
        """All trained parameters."""
        return {"actor": self.actor.state_dict(), "critic": self.critic.state_dict()}
