"""Proximal policy optimisation with clipping (Schulman et al. 2017), the on-policy method of the comparison (App. A).

Policy and value are separate networks with an optimiser each; the policy is a Gaussian whose deviation is the same in
all states, as V-RACER's is. Common additions to PPO that the paper does not name are left out: advantages are not
normalised, there is neither an entropy bonus nor a penalty on divergences, and values are not clipped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numba import njit
from torch import nn

from papers.ref_er.agents.gaussian import (
    importance_weight,
    inverse_softplus,
    kl,
    log_density_gradient,
    softplus,
    softplus_slope,
)
from papers.ref_er.agents.networks import ADAM_EPSILON, MLP
from papers.ref_er.memory.episode import CUT, TERMINATED, Episode
from papers.ref_er.memory.memory import EPSILON


class Rollout:
    """The latest `steps` steps in the order in which they were played, across episodes."""

    def __init__(self, steps: int, n_states: int, n_actions: int):
        self.states = np.zeros((steps, n_states), np.float32)
        self.following = np.zeros((steps, n_states), np.float32)
        """The states to which the actions led, an episode's last one included."""
        self.actions = np.zeros((steps, n_actions), np.float32)
        self.means = np.zeros((steps, n_actions), np.float32)
        """Of the behaviour mu."""
        self.stds = np.ones((steps, n_actions), np.float32)
        self.rewards = np.zeros(steps, np.float32)
        """Not scaled."""
        self.ends = np.zeros(steps, np.uint8)
        """How the episode ended after this step: TERMINATED, CUT by the time limit, or 0 if it continued."""
        self.n = 0
        """Steps recorded since `clear`."""

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def full(self) -> bool:
        return self.n == len(self)

    def add(self, episode: Episode, over: bool) -> None:
        """Record the latest step of an episode, `over` if that step ended it. IndexError when full."""
        k = self.n
        self.states[k], self.following[k] = episode.states[-2], episode.states[-1]
        self.actions[k], self.means[k], self.stds[k] = episode.actions[-1], episode.means[-1], episode.stds[-1]
        self.rewards[k] = episode.rewards[-1]
        self.ends[k] = (TERMINATED if episode.terminated else CUT) if over else 0
        self.n += 1

    def clear(self) -> None:
        """Forget all steps."""
        self.n = 0

    def scaled_rewards(self) -> np.ndarray:
        """Rewards [steps] in units of their root mean square in this rollout (App. B); zeros stay zeros.

        The other methods take the root mean square over their replay memory; here the rollout stands in for it.
        """
        rms = np.sqrt(np.mean(self.rewards.astype(np.float64) ** 2))  # Eq. (16)
        return self.rewards / np.float32(rms + EPSILON) if rms > EPSILON else self.rewards.copy()


@njit(cache=True)
def gae(rewards, values, next_values, over, gamma, lam):
    """Generalised advantage estimates float32 [n] of consecutive steps (Schulman et al. 2016).

    rewards: [n]. values: V [n] of the states. next_values: V [n] of the states that followed, 0 after a termination.
    over: bool [n], True where an episode ended, by termination or time limit: the sum of errors restarts there.
    The last step may be anywhere in an episode.
    """
    advantages = np.empty(rewards.size, np.float32)
    running = 0.0
    for k in range(rewards.size - 1, -1, -1):
        if over[k]:
            running = 0.0
        running = rewards[k] + gamma * next_values[k] - values[k] + gamma * lam * running
        advantages[k] = running
    return advantages


def clipped_weight(rho: np.ndarray, advantages: np.ndarray, clip: float) -> np.ndarray:
    """The factor [n] of grad ln pi in the gradient of min(rho A, clip(rho, 1 - clip, 1 + clip) A), all [n].

    It is rho A, or 0 where the action's probability has already moved by more than `clip` in the direction of A.
    """
    done = np.where(advantages > 0, rho > 1.0 + clip, rho < 1.0 - clip)
    return np.where(done, 0.0, rho * advantages)


class PPO:
    """The learner.

    n_states, n_actions: components of a state and of an action; hidden: units of the hidden layers; lr, value_lr: of
    the policy and of the value; gamma, lam: discount, and GAE's lambda; clip: of the importance weights around 1;
    epochs, batch_size: passes over a rollout, and steps per gradient step; std: of the policy at first; seed: of the
    networks' initial weights.
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        hidden: Sequence[int] = (64, 64),
        lr: float = 1e-4,
        value_lr: float = 3e-4,
        gamma: float = 0.995,
        lam: float = 0.97,
        clip: float = 0.2,
        epochs: int = 10,
        batch_size: int = 64,
        std: float = 0.2**0.5,
        seed: int = 0,
        device: str = "cpu",
    ):
        self.lr, self.value_lr, self.gamma, self.lam, self.clip = lr, value_lr, gamma, lam, clip
        self.epochs, self.batch_size, self.device = epochs, batch_size, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.policy = MLP([n_states, *hidden, n_actions]).to(device)
            self.value = MLP([n_states, *hidden, 1]).to(device)
        self.raw_std = nn.Parameter(torch.full((n_actions,), inverse_softplus(std), device=device))
        trained = [*self.policy.parameters(), self.raw_std]
        self.optimizer = torch.optim.Adam(trained, lr, eps=ADAM_EPSILON, fused=True)
        self.value_optimizer = torch.optim.Adam(self.value.parameters(), value_lr, eps=ADAM_EPSILON, fused=True)

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of the policy [d], float32."""
        return softplus(self.raw_std.detach().cpu().numpy())

    def act(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean [d] and standard deviation [d] of the policy at a state; values are computed later, all at once."""
        return self.policy.act(state), self.std, 0.0

    def estimate(self, rollout: Rollout) -> tuple[np.ndarray, np.ndarray]:
        """GAE's advantages and the targets of the values, both [steps], in units of the scaled reward."""
        values = self.value.act(rollout.states)[:, 0]
        next_values = self.value.act(rollout.following)[:, 0] * (rollout.ends != TERMINATED)  # not for time limits
        advantages = gae(rollout.scaled_rewards(), values, next_values, rollout.ends != 0, self.gamma, self.lam)
        return advantages, values + advantages

    def learn(self, rollout: Rollout, rng: np.random.Generator, lr_factor: float) -> tuple[np.ndarray, float, int]:
        """Run all epochs over a full rollout; rng: shuffles it; lr_factor: on both learning rates.

        Returns the errors [steps] of the values before the first epoch, the mean KL(mu || pi) after the last one, and
        the number of gradient steps. The last batch of an epoch may be smaller.
        """
        advantages, targets = self.estimate(rollout)
        self.optimizer.param_groups[0]["lr"] = self.lr * lr_factor  # Eq. (13)
        self.value_optimizer.param_groups[0]["lr"] = self.value_lr * lr_factor
        steps = 0
        for _ in range(self.epochs):
            order = rng.permutation(len(rollout))
            for first in range(0, len(order), self.batch_size):
                rows = order[first : first + self.batch_size]
                self.improve_policy(rollout, rows, advantages[rows])
                self.improve_value(rollout.states[rows], targets[rows])
                steps += 1
        mean = self.policy.act(rollout.states)
        return advantages, float(kl(mean, self.std, rollout.means, rollout.stds).mean()), steps

    def improve_policy(self, rollout: Rollout, rows: np.ndarray, advantages: np.ndarray) -> None:
        """One step up the clipped objective with the steps `rows` [B] of the rollout and their advantages [B]."""
        actions, mean, std = rollout.actions[rows], self.policy.evaluate(rollout.states[rows]), self.std
        rho = importance_weight(actions, mean, std, rollout.means[rows], rollout.stds[rows])
        weight = clipped_weight(rho, advantages, self.clip)[:, None]
        mean_ascent, std_ascent = (weight * g for g in log_density_gradient(actions, mean, std))
        slope = softplus_slope(self.raw_std.detach().cpu().numpy())
        self.raw_std.grad = torch.from_numpy((-std_ascent.mean(axis=0) * slope).astype(np.float32)).to(self.device)
        self.policy.backward((mean_ascent / -len(rows)).astype(np.float32))
        self.optimizer.step()

    def improve_value(self, states: np.ndarray, targets: np.ndarray) -> None:
        """One step down half the squared errors of V at `states` [B, n_states] from `targets` [B]."""
        value = self.value.evaluate(states)[:, 0]
        self.value.backward(((value - targets) / np.float32(len(targets)))[:, None])
        self.value_optimizer.step()

    def weights(self) -> dict[str, dict]:
        """All trained parameters."""
        policy = self.policy.state_dict() | {"raw_std": self.raw_std.detach()}
        return {"policy": policy, "value": self.value.state_dict()}
