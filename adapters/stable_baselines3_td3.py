"""Stable-Baselines3's TD3 with any sampler; stable_baselines3.py has the buffer and what the agents share."""

from __future__ import annotations

import torch
from stable_baselines3 import TD3
from stable_baselines3.common.utils import polyak_update

from adapters.stable_baselines3 import Sampled, Samples, minimise


class SampledTD3(Sampled, TD3):
    """TD3 whose critics' losses use the sampler's weights; the sampler hears the results."""

    def target_of(self, batch: Samples) -> torch.Tensor:
        noise = batch.actions.clone().normal_(0, self.target_policy_noise)
        noise = noise.clamp(-self.target_noise_clip, self.target_noise_clip)
        following = (self.actor_target(batch.next_observations) + noise).clamp(-1, 1)
        value = torch.cat(self.critic_target(batch.next_observations, following), dim=1).amin(1, keepdim=True)
        return batch.rewards + (1 - batch.dones) * self.discounts(batch) * value

    def q_of(self, batch: Samples, target_network: bool = False) -> torch.Tensor:
        critic = self.critic_target if target_network else self.critic
        return torch.cat(critic(batch.observations, batch.actions), dim=1)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        self.policy.set_training_mode(True)
        self._update_learning_rate([self.actor.optimizer, self.critic.optimizer])
        for batch in self.batches(gradient_steps, batch_size):
            self._n_updates += 1
            with torch.no_grad():
                target, older = self.target_of(batch), self.older_of(batch)
            q = self.q_of(batch)
            loss = (batch.weights * (q - target).square()).mean(dim=0).sum()
            minimise(self.critic.optimizer, loss)
            if self._n_updates % self.policy_delay == 0:
                actor_loss = -self.critic.q1_forward(batch.observations, self.actor(batch.observations)).mean()
                minimise(self.actor.optimizer, actor_loss)
                polyak_update(self.critic.parameters(), self.critic_target.parameters(), self.tau)
                polyak_update(self.actor.parameters(), self.actor_target.parameters(), self.tau)
                polyak_update(self.critic_batch_norm_stats, self.critic_batch_norm_stats_target, 1.0)
                polyak_update(self.actor_batch_norm_stats, self.actor_batch_norm_stats_target, 1.0)
                self.logger.record_mean("train/actor_loss", actor_loss.item())
            self.tell(batch, target, q, older)
            self.logger.record_mean("train/critic_loss", loss.item())
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
