"""Stable-Baselines3's SAC with any sampler; see the file beside for the buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stable_baselines3 import SAC
from stable_baselines3.common.utils import polyak_update

from adapters.stable_baselines3 import minimise, settings_of, tell, uniform
from common.replay.protocol import Sampler


class SampledSAC(SAC):
    """SAC whose critics' losses have the sampler's weights, and which tells it what came out."""

    def __init__(self, *args: Any, make_sampler: Callable[[int], Sampler] = uniform, **kwargs: Any):
        given = ("td_error", "q", "target", "target_td_error")
        super().__init__(*args, **settings_of(make_sampler, *given), **kwargs)

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        self.policy.set_training_mode(True)
        tuned = self.ent_coef_optimizer
        self._update_learning_rate([self.actor.optimizer, self.critic.optimizer] + ([tuned] if tuned else []))
        for _ in range(gradient_steps):
            batch: Any = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            alpha = self.log_ent_coef.detach().exp() if tuned else self.ent_coef_tensor
            actions, log_prob = self.actor.action_log_prob(batch.observations)
            log_prob = log_prob.reshape(-1, 1)
            with torch.no_grad():
                following, log_next = self.actor.action_log_prob(batch.next_observations)
                value = torch.cat(self.critic_target(batch.next_observations, following), dim=1).amin(1, keepdim=True)
                value = value - alpha * log_next.reshape(-1, 1)
                target = batch.rewards + (1 - batch.dones) * self.gamma * value
                older = torch.cat(self.critic_target(batch.observations, batch.actions), dim=1)
            q = torch.cat(self.critic(batch.observations, batch.actions), dim=1)
            loss = 0.5 * (batch.weights * (q - target).square()).mean(dim=0).sum()
            minimise(self.critic.optimizer, loss)
            best = torch.cat(self.critic(batch.observations, actions), dim=1).amin(1, keepdim=True)
            minimise(self.actor.optimizer, (alpha * log_prob - best).mean())
            if tuned:
                minimise(tuned, -(self.log_ent_coef * (log_prob + self.target_entropy).detach()).mean())
            polyak_update(self.critic.parameters(), self.critic_target.parameters(), self.tau)
            errors = {"td_error": (target - q).abs(), "target_td_error": (target - older).abs()}
            tell(self.replay_buffer, q=q, target=target, **errors)
        self._n_updates += gradient_steps
        self.logger.record("train/critic_loss", loss.item())
