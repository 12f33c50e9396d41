"""Train PPO on a MuJoCo task, the on-policy method with which the paper compares V-RACER (Figs. 4 and 5).

    .venv/bin/python -m papers.ref_er.train_ppo --env HalfCheetah-v5 --seed 0

As in train.py, time is counted in environment steps after a warm-up with the initial policy, which fixes the units of
the states; PPO learns nothing from it. Each rollout sets the unit of its rewards. Returns are those of training
episodes, exploration included, when they end; they sum the rewards as the task pays them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, NotNegative, Positive, Share
from papers.ref_er.agents.player import Player, WhiteNoise, return_statistics
from papers.ref_er.agents.ppo import PPO, Rollout
from papers.ref_er.agents.progress import after_step, finish
from papers.ref_er.memory.memory import EpisodeMemory


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place where it states them."""

    env: str = "HalfCheetah-v5"
    """Task: a gymnasium id with vectors as observations and actions."""
    method: Literal["ppo"] = "ppo"
    """Learner (the only one here)."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: Count = 10_000_000
    """Environment steps after the warm-up. Not in the paper's text; its figures' length in the authors' scripts."""
    bins: Count = 50
    """Evaluations, evenly spaced: one per 200,000 steps (Sec. 5)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    warmup: Count = 2**18
    """Steps played before learning starts, for the mean and the deviation of the states (App. B). Not in the paper; as
    for the methods with a replay memory."""
    rollout: Count = 2048
    """Steps played before each round of learning (App. A)."""
    epochs: Count = 10
    """Passes over a rollout (App. A)."""
    batch_size: Count = 64
    """Steps per gradient step (App. A)."""
    hidden: Count = 64
    """Units in each of two hidden layers (App. A)."""
    lr: Positive = 1e-4
    """Adam's step size for the policy (App. A)."""
    value_lr: Positive = 3e-4
    """Adam's step size for the value (App. A)."""
    annealing: NotNegative = 5e-7
    """A of Eq. (13), which anneals both step sizes (App. A)."""
    gamma: Share = 0.995
    """Discount (App. A)."""
    lam: Share = 0.97
    """GAE's lambda (App. A)."""
    clip: Positive = 0.2
    """How far importance weights may be from 1 (App. A)."""
    variance: Positive = 0.2
    """Initial variance of the policy. Not stated for PPO; V-RACER's (App. A)."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        if self.rollout > self.steps:
            raise UserError(f"{self.steps} steps make no rollout of {self.rollout}; raise steps or lower rollout")
        if self.batch_size > self.rollout:
            raise UserError(f"batch_size must be at most the rollout of {self.rollout} steps, not {self.batch_size}")


class Trainer:
    """The whole state of a run. It is pickled between two episodes, so that an interrupted run can resume."""

    def __init__(self, config: Config):
        c, streams = config, Streams(config.seed)
        self.config = c
        self.player = Player(c.env, streams.numpy("starts"), WhiteNoise(streams.numpy("exploration")))
        n_states, n_actions, _ = self.player.sizes
        self.rollout, self.shuffle = Rollout(c.rollout, n_states, n_actions), streams.numpy("shuffle")
        self.agent = PPO(
            n_states, n_actions, hidden=(c.hidden, c.hidden), lr=c.lr, value_lr=c.value_lr, gamma=c.gamma, lam=c.lam,
            clip=c.clip, epochs=c.epochs, batch_size=c.batch_size, std=c.variance**0.5,
            seed=streams.integer("network"), device=c.device,
        )  # fmt: skip
        self.mean, self.inverse_std = np.zeros(n_states, np.float32), np.ones(n_states, np.float32)
        self.t = self.k = self.bins_done = 0
        """Environment steps after the warm-up, gradient steps, evaluations."""
        self.save_due = False
        self._returns: list[float] = []
        self._divergences: list[float] = []
        self._errors: list[float] = []

    def scale(self, states: np.ndarray) -> np.ndarray:
        """Standardised states, float32; unchanged before `warm_up`."""
        return (states.astype(np.float32) - self.mean) * self.inverse_std

    def warm_up(self) -> None:
        """Play whole episodes with the initial policy, which fix the units of the states (App. B)."""
        n_states, n_actions, longest = self.player.sizes
        memory = EpisodeMemory(self.config.warmup, n_states, n_actions, longest, self.config.gamma)
        while memory.n < self.config.warmup:
            episode = self.player.step(self.agent.act, self.scale)
            if episode is not None:
                memory.add(episode)
        memory.standardise()
        self.mean, self.inverse_std = memory.mean, memory.inverse_std

    def play(self) -> bool:
        """One environment step into the rollout; True when it ended the episode."""
        episode = self.player.episode  # the player drops it at its end
        over = self.player.step(self.agent.act, self.scale) is not None
        self.rollout.add(episode, over)
        if over:
            self._returns.append(float(np.sum(episode.rewards)))
        self.t += 1
        return over

    def learn(self) -> None:
        """Improve policy and value with the rollout and begin a new one, usually in mid-episode."""
        lr_factor = 1.0 / (1.0 + self.config.annealing * self.t)  # Eq. (13)
        errors, divergence, steps = self.agent.learn(self.rollout, self.shuffle, lr_factor)
        self.rollout.clear()
        self.k += steps
        self._divergences.append(divergence)
        self._errors.append(float(np.mean(errors * errors)))

    def metrics(self) -> dict[str, float]:
        """Returns and learning statistics since the last evaluation, if any, and the current policy.

        kl is KL(mu || pi) between the policy that played a rollout and the policy after its epochs, averaged over the
        rollouts' steps; td_error is the root mean square error of the values before those epochs.
        """
        values = return_statistics(self._returns)
        if self._errors:
            values |= {"kl": float(np.mean(self._divergences)), "td_error": float(np.mean(self._errors)) ** 0.5}
        values |= {"std": float(np.mean(self.agent.std)), "gradient_steps": self.k}
        self._returns, self._divergences, self._errors = [], [], []
        self.bins_done += 1
        return values


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation."""
    if trainer.t == 0:
        trainer.warm_up()
    while trainer.t < trainer.config.steps:
        over = trainer.play()
        if trainer.rollout.full:
            trainer.learn()
        after_step(run, trainer, over)
    return finish(run, trainer)


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
