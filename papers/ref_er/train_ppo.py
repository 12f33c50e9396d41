"""Train PPO on a MuJoCo task, the on-policy method with which the paper compares V-RACER (Figs. 4 and 5).

    .venv/bin/python -m papers.ref_er.train_ppo --env HalfCheetah-v5 --seed 0

As in train.py, time is counted in environment steps after a warm-up with the initial policy, which fixes the units of
the states; PPO learns nothing from it. The units of the rewards are those of the rollout that is learnt from. Returns
are those of training episodes, exploration included, when they end; they are sums of the rewards as the task pays them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from lab.cli import cli
from lab.errors import UserError
from lab.runs import Run, Streams
from lab.settings import check_settings
from papers.ref_er.memory import EpisodeMemory
from papers.ref_er.player import Player, WhiteNoise, return_statistics
from papers.ref_er.ppo import PPO, Rollout
from papers.ref_er.progress import Progress


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place where it states them."""

    env: str = "HalfCheetah-v5"
    """Task: a gymnasium id with vectors as observations and actions."""
    method: Literal["ppo"] = "ppo"
    """Learner; there is one."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: int = 10_000_000
    """Environment steps after the warm-up. Not in the paper's text; its figures' length in the authors' scripts."""
    bins: int = 50
    """Evaluations, evenly spaced: one per 200,000 steps (Sec. 5)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    warmup: int = 2**18
    """Steps played before learning starts, for the mean and the deviation of the states (App. B). Not in the paper; as
    many as the methods with a replay memory play."""
    rollout: int = 2048
    """Steps played between two times of learning (App. A)."""
    epochs: int = 10
    """Passes over a rollout (App. A)."""
    batch_size: int = 64
    """Steps per gradient step (App. A)."""
    hidden: int = 64
    """Units in each of two hidden layers (App. A)."""
    lr: float = 1e-4
    """Adam's step size for the policy (App. A)."""
    value_lr: float = 3e-4
    """Adam's step size for the value (App. A)."""
    annealing: float = 5e-7
    """A of Eq. (13), by which both step sizes fall (App. A)."""
    gamma: float = 0.995
    """Discount (App. A)."""
    lam: float = 0.97
    """GAE's lambda (App. A)."""
    clip: float = 0.2
    """How far importance weights may be from 1 (App. A)."""
    variance: float = 0.2
    """Variance of the policy at first. Not in the paper for PPO; V-RACER's (App. A)."""


def check(config: Config) -> None:
    """Raise UserError for settings that cannot work."""
    c = config
    check_settings(
        c,
        at_least_1=("steps", "bins", "warmup", "rollout", "epochs", "batch_size", "hidden"),
        positive=("lr", "value_lr", "clip", "variance"),
        not_negative=("annealing",),
        in_0_1=("gamma", "lam"),
    )
    if c.method != "ppo":
        raise UserError(f"unknown method {c.method!r}; this script trains ppo")
    if c.rollout > c.steps:
        raise UserError(f"{c.steps} steps do not make one rollout of {c.rollout}; raise steps or lower rollout")
    if c.batch_size > c.rollout:
        raise UserError(f"a rollout of {c.rollout} steps is smaller than a batch of {c.batch_size}; lower batch_size")


class Trainer:
    """All that a run consists of. Pickled as a whole between two episodes, so that an interrupted run goes on."""

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
        self._returns: list[float] = []
        self._divergences: list[float] = []
        self._errors: list[float] = []

    def scale(self, states: np.ndarray) -> np.ndarray:
        """Standardised states, float32; as they are before `warm_up`."""
        return (states.astype(np.float32) - self.mean) * self.inverse_std

    def warm_up(self) -> None:
        """Play whole episodes with the initial policy, and fix the units of the states by them (App. B)."""
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
        episode = self.player.episode  # the player lets go of it when it is over
        over = self.player.step(self.agent.act, self.scale) is not None
        self.rollout.add(episode, over)
        if over:
            self._returns.append(float(np.sum(episode.rewards)))
        self.t += 1
        return over

    def learn(self) -> None:
        """Improve policy and value by the rollout, and begin a new one, in the middle of an episode as a rule."""
        lr_factor = 1.0 / (1.0 + self.config.annealing * self.t)  # Eq. (13)
        errors, divergence, steps = self.agent.learn(self.rollout, self.shuffle, lr_factor)
        self.rollout.clear()
        self.k += steps
        self._divergences.append(divergence)
        self._errors.append(float(np.mean(errors * errors)))

    def metrics(self) -> dict[str, float]:
        """Returns since the last evaluation, what was learnt since then, if anything was, and the policy now.

        kl is KL(mu || pi) between the policy that played a rollout and that after its epochs, a mean over the rollouts'
        steps; td_error the root mean square of what the values were off the targets before them.
        """
        values = return_statistics(self._returns)
        if self._errors:
            values |= {"kl": float(np.mean(self._divergences)), "td_error": float(np.mean(self._errors)) ** 0.5}
        values |= {"std": float(np.mean(self.agent.std)), "gradient_steps": self.k}
        self._returns, self._divergences, self._errors = [], [], []
        self.bins_done += 1
        return values


def main(config: Config, run_dir: Path, *, tensorboard: bool = False, progress: bool = False) -> dict:
    """Train as ``config`` says, resuming what ``run_dir`` already holds; returns the last evaluation.

    Raises:
        UserError: settings that cannot work, or a ``run_dir`` that belongs to another run.
    """
    check(config)
    fresh = Trainer(config)  # before there is a run directory: settings that it rejects leave none behind
    with Run.open(config, run_dir, total_steps=config.steps, tensorboard=tensorboard, progress=progress) as run:
        if run.finished is not None:
            return run.finished
        record = Progress(run, config, fresh)
        trainer = record.trainer
        while trainer.t < config.steps:
            over = trainer.play()
            if trainer.rollout.full:
                trainer.learn()
            record.after_step(over)
        return record.finish()


if __name__ == "__main__":
    cli(Config, main, __doc__)
