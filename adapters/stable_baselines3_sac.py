"""Stable-Baselines3's SAC with any sampler; stable_baselines3.py has the buffer and what the agents share."""

from __future__ import annotations

import torch
from stable_baselines3 import SAC
from stable_baselines3.common.utils import polyak_update

from adapters.stable_baselines3 import Sampled, Samples, minimise


class SampledSAC(Sampled, SAC):
    """SAC whose critics' losses use the sampler's weights; the sampler hears the results."""

    @property
    def alpha(self) -> torch.Tensor:
        """The temperature."""
        return self.ent_coef_tensor if self.log_ent_coef is None else self.log_ent_coef.detach().exp()

    def target_of(self, batch: Samples) -> torch.Tensor:
        following, log_next = self.actor.action_log_prob(batch.next_observations)
        value = torch.cat(self.critic_target(batch.next_observations, following), dim=1).amin(1, keepdim=True)
        value = value - self.alpha * log_next.reshape(-1, 1)
        return batch.rewards + (1 - batch.dones) * self.discounts(batch) * value

    def q_of(self, batch: Samples, target_network: bool = False) -> torch.Tensor:
        critic = self.critic_target if target_network else self.critic
        return torch.cat(critic(batch.observations, batch.actions), dim=1)

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        self.policy.set_training_mode(True)
        tuned = self.ent_coef_optimizer
        self._update_learning_rate([self.actor.optimizer, self.critic.optimizer] + ([tuned] if tuned else []))
        for step, batch in enumerate(self.batches(gradient_steps, batch_size)):
            if self.use_sde:
                self.actor.reset_noise()
            alpha = self.alpha
            actions, log_prob = self.actor.action_log_prob(batch.observations)
            log_prob = log_prob.reshape(-1, 1)
            with torch.no_grad():
                target, older = self.target_of(batch), self.older_of(batch)
            q = self.q_of(batch)
            loss = 0.5 * (batch.weights * (q - target).square()).mean(dim=0).sum()
            minimise(self.critic.optimizer, loss)
            best = torch.cat(self.critic(batch.observations, actions), dim=1).amin(1, keepdim=True)
            actor_loss = (alpha * log_prob - best).mean()
            minimise(self.actor.optimizer, actor_loss)
            if tuned:
                minimise(tuned, -(self.log_ent_coef * (log_prob + self.target_entropy).detach()).mean())
            if step % self.target_update_interval == 0:
                polyak_update(self.critic.parameters(), self.critic_target.parameters(), self.tau)
                polyak_update(self.batch_norm_stats, self.batch_norm_stats_target, 1.0)
            self.tell(batch, target, q, older)
            self._n_updates += 1
            for name, value in (("ent_coef", alpha), ("actor_loss", actor_loss), ("critic_loss", loss)):
                self.logger.record_mean(f"train/{name}", value.item())
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
