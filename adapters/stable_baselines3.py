"""Any sampler in Stable-Baselines3: a replay buffer for all of its off-policy agents, and a DQN that uses weights.

A sampler that only needs steps works with any agent, as `replay_buffer_class`. One that needs TD errors, or whose
weights or targets matter, needs an agent that gives and takes them: `SampledDQN`, or `SampledSAC` in the file beside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer

from common.replay.protocol import Chosen, Sampler, Step, missing
from common.replay.samplers import UniformSampler


class Samples(NamedTuple):
    """What Stable-Baselines3 calls ReplayBufferSamples, all [n, ...], and two columns [n, 1] of the sampler."""

    observations: torch.Tensor
    actions: torch.Tensor
    next_observations: torch.Tensor
    dones: torch.Tensor
    rewards: torch.Tensor
    discounts: torch.Tensor | None
    weights: torch.Tensor
    targets: torch.Tensor | None


class SampledReplayBuffer(ReplayBuffer):
    """A replay buffer that asks a sampler.

    make_sampler: capacity -> sampler, which is told of every step of every environment, ends of episodes included (with
    `Monitor`, as Stable-Baselines3 wraps environments). Pass it in `replay_buffer_kwargs`.
    """

    def __init__(self, *args: Any, make_sampler: Callable[[int], Sampler], provides: frozenset = frozenset(), **kwargs):
        super().__init__(*args, **kwargs)
        self.sampler = make_sampler(self.buffer_size * self.n_envs)
        if lacking := missing(self.sampler, provides | {"step", "episode"}):
            raise ValueError(f"{type(self.sampler).__name__} needs {', '.join(lacking)}, which is not given")
        if self.optimize_memory_usage:
            raise ValueError("optimize_memory_usage hides transitions that the sampler would draw; leave it False")
        self.indices = np.empty(0, np.int64)
        """Slots of the last batch: transition t of environment e is in slot t n_envs + e."""

    def add(self, obs, next_obs, action, reward, done, infos) -> None:
        row = self.pos
        super().add(obs, next_obs, action, reward, done, infos)
        for e, info in enumerate(infos):
            cut = bool(info.get("TimeLimit.truncated", False))
            step = Step(obs[e], action[e], float(reward[e]), next_obs[e], bool(done[e]) and not cut, cut, e)
            self.sampler.add(row * self.n_envs + e, step)
            if "episode" in info:
                self.sampler.episode(float(info["episode"]["r"]))

    def sample(self, batch_size: int, env=None) -> Samples:
        chosen: Chosen | None = self.sampler.sample(batch_size)
        if chosen is None:
            raise ValueError(f"{type(self.sampler).__name__} has nothing to replay yet: raise learning_starts")
        self.indices = chosen.indices
        row, e = np.divmod(chosen.indices, self.n_envs)
        over = self.dones[row, e] * (1 - self.timeouts[row, e])
        rewards = self._normalize_reward(self.rewards[row, e].reshape(-1, 1), env)
        arrays = (
            self._normalize_obs(self.observations[row, e], env), self.actions[row, e],
            self._normalize_obs(self.next_observations[row, e], env), over.reshape(-1, 1), rewards,
        )  # fmt: skip
        targets = None if chosen.targets is None else self.to_torch(chosen.targets.reshape(-1, 1))
        return Samples(*map(self.to_torch, arrays), None, self.to_torch(chosen.weights.reshape(-1, 1)), targets)


def uniform(capacity: int) -> Sampler:
    """What Stable-Baselines3 does itself, with a random stream of its own."""
    return UniformSampler(np.random.default_rng())


def settings_of(make_sampler: Callable[[int], Sampler], *provides: str) -> dict[str, Any]:
    """What an agent passes to its parent."""
    buffer = {"make_sampler": make_sampler, "provides": frozenset(provides)}
    return {"replay_buffer_class": SampledReplayBuffer, "replay_buffer_kwargs": buffer}


def tell(buffer: Any, **signals: torch.Tensor) -> None:
    """Tell the sampler what came of the last batch: columns [n, 1], or [n, 2] of two critics, whose mean counts."""
    found = {name: column.detach().mean(dim=1).cpu().numpy() for name, column in signals.items()}
    buffer.sampler.update(buffer.indices, found)


def minimise(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """One step."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class SampledDQN(DQN):
    """DQN whose losses have the sampler's weights, and which tells it what came out. `replay_buffer_class` is set."""

    def __init__(self, *args: Any, make_sampler: Callable[[int], Sampler] = uniform, **kwargs: Any):
        given = ("td_error", "q", "target", "target_td_error", "targets")
        super().__init__(*args, **settings_of(make_sampler, *given), **kwargs)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        for _ in range(gradient_steps):
            batch: Any = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
            with torch.no_grad():
                following = self.q_net_target(batch.next_observations).max(dim=1, keepdim=True).values
                target = batch.rewards + (1 - batch.dones) * self.gamma * following
                target = target if batch.targets is None else batch.targets
                older = self.q_net_target(batch.observations).gather(1, batch.actions.long())
            q = self.q_net(batch.observations).gather(1, batch.actions.long())
            loss = (batch.weights * F.smooth_l1_loss(q, target, reduction="none")).mean()
            self.policy.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
            tell(self.replay_buffer, td_error=target - q, q=q, target=target, target_td_error=target - older)
        self._n_updates += gradient_steps
        self.logger.record("train/loss", loss.item())

    def _on_step(self) -> None:
        super()._on_step()
        if self._n_calls % max(self.target_update_interval // self.n_envs, 1) == 0:
            self.replay_buffer.sampler.synced()
