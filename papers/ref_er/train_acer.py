"""Train ACER, the off-policy method with which the paper compares V-RACER (Figs. 4 to 6), on a MuJoCo task or on the
swimmer in a wake.

    .venv/bin/python -m papers.ref_er.train_acer --env HalfCheetah-v5 --seed 0

As in train.py, time is counted in environment steps after a warm-up with the initial policy, which fills the replay
memory and fixes the units of states and rewards. Returns are those of training episodes, exploration included, as they
enter the memory; they sum the rewards as the task pays them.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from common.replay.storage import ring_bytes
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, NotNegative, Positive, Share
from papers.ref_er.agents.acer import ACER, SegmentMemory
from papers.ref_er.agents.networks import MLP
from papers.ref_er.agents.player import Player, WhiteNoise, ending_statistics, return_statistics, sizes
from papers.ref_er.agents.progress import after_step, finish
from papers.ref_er.agents.tasks import FLOW, make_env
from papers.ref_er.memory.episode import Episode
from papers.ref_er.memory.memory import layout
from papers.ref_er.recurrent.recurrent import LSTM, WindowSegments

RESCALE_EVERY = 1000
"""Gradient steps between two updates of the rewards' scale (App. B)."""
FAR = 5.0
"""c_max of the diagnostic `far`, the share of steps with rho outside (1/c_max, c_max); not annealed."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place where it states them."""

    env: str = "HalfCheetah-v5"
    """Task: a gymnasium id with vectors as observations and actions."""
    method: Literal["acer"] = "acer"
    """Learner (the only one here)."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: Count = 10_000_000
    """Environment steps after the warm-up. Not in the paper's text; its figures' length in the authors' scripts."""
    bins: Count = 50
    """Evaluations, evenly spaced: one per 200,000 steps (Sec. 5)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    capacity: Count = 100_000
    """Steps in the replay memory (App. A)."""
    warmup: Count = 100_000
    """Steps played before learning starts. Not in the paper; the memory's capacity, as for the other methods."""
    steps_per_update: Positive = 1.0
    """Environment steps per gradient step (App. A)."""
    episodes: Count = 24
    """Episodes drawn per gradient step (App. A)."""
    segment: Count = 200
    """Most steps of each episode, in a row from a random start. Not in the paper; 200 in the authors' program."""
    hidden: Count = 128
    """Units in each of two hidden layers (App. A)."""
    network: Literal["mlp", "lstm"] = "mlp"
    """Network: mlp, or lstm, which has `hidden` cells per layer, 32 in the paper (Sec. 5.4)."""
    window: Count = 16
    """lstm: steps that the network reads; its output is for the last one (Sec. 5.4)."""
    lr: Positive = 1e-5
    """Adam's step size for the policy (App. A; Fig. 4 also shows 1e-4)."""
    critic_lr: Positive = 1e-4
    """Adam's step size for V and for the advantage (App. A)."""
    annealing: NotNegative = 5e-7
    """A of Eq. (13), which anneals both step sizes (Sec. 3). Not stated for ACER; as for the other methods."""
    gamma: Share = 0.995
    """Discount. Not stated for ACER; V-RACER's (App. A)."""
    truncation: Positive = 5.0
    """c, at which importance weights are clipped (App. A)."""
    delta: NotNegative = 1.0
    """Size of the trust region around the target policy (App. A)."""
    polyak: Share = 0.001
    """Share of the new parameters in each update of the target policy (App. A)."""
    samples: Count = 5
    """Actions drawn from the policy to centre the advantage (App. A)."""
    variance: Positive = 0.2
    """Initial variance of the policy. Not stated for ACER; V-RACER's (App. A)."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        if self.warmup > self.capacity:
            raise UserError(
                f"the memory of {self.capacity} steps does not hold the {self.warmup} of the warm-up; lower warmup"
            )


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay; a sweep adds up its runs' before it starts them."""
    return ring_bytes(*layout(config.capacity, *sizes(make_env(config.env))))


class Trainer:
    """The whole state of a run. It is pickled between two episodes, so that an interrupted run can resume."""

    def __init__(self, config: Config):
        c, streams = config, Streams(config.seed)
        self.config = c
        noise, recurrent = WhiteNoise(streams.numpy("exploration")), c.network == "lstm"
        self.player = Player(c.env, streams.numpy("starts"), noise, c.window if recurrent else 0)
        n_states, n_actions, longest = self.player.sizes
        kind = partial(WindowSegments, length=c.window) if recurrent else SegmentMemory
        self.memory: SegmentMemory = kind(c.capacity, n_states, n_actions, longest, c.gamma)
        self.replay, self.draws = streams.numpy("replay"), streams.numpy("draws")
        self.agent = ACER(
            n_states, n_actions, hidden=(c.hidden, c.hidden), lr=c.lr, critic_lr=c.critic_lr, gamma=c.gamma,
            truncation=c.truncation, delta=c.delta, polyak=c.polyak, samples=c.samples, std=c.variance**0.5,
            network=LSTM if recurrent else MLP, seed=streams.integer("network"), device=c.device,
        )  # fmt: skip
        self.t = self.k = self.bins_done = 0
        """Environment steps after the warm-up, gradient steps, evaluations."""
        self.save_due = False
        self._returns: list[float] = []
        self._errors: list[float] = []
        self._endings: list[tuple[bool, int, float]] = []

    def play(self) -> Episode | None:
        """One environment step; a finished episode enters the memory and is returned."""
        episode = self.player.step(self.agent.act, self.memory.scale)
        if episode is not None:
            self.memory.forget()
            self._returns.append(self.memory.add(episode)[1])
            self._endings.append(episode.ending())
        return episode

    def warm_up(self) -> None:
        """Fill the memory with the initial policy, then fix the units of states and rewards (App. B)."""
        while self.memory.n < self.config.warmup:
            self.play()
        self.memory.standardise()
        self.memory.rescale_rewards()
        self._returns.clear()
        self._endings.clear()

    def learn(self) -> None:
        """One gradient step, and what happens every thousand of them."""
        c = self.config
        self.memory.forget()
        slots, offsets = self.memory.sample_segments(c.episodes, c.segment, self.replay)
        lr_factor = 1.0 / (1.0 + c.annealing * self.t)  # Eq. (13)
        errors = self.agent.update(self.memory, slots, offsets, self.draws, lr_factor)
        self.k += 1
        if self.k % RESCALE_EVERY == 0:
            self.memory.rescale_rewards()
        if self.k % 100 == 0:
            self._errors.append(float(np.mean(errors * errors)))

    def metrics(self) -> dict[str, float]:
        """Returns since the last evaluation, and the current state of memory and policy.

        kl is the mean of KL(mu || pi) over the memory, as found when each step was last drawn.
        """
        memory, values = self.memory, return_statistics(self._returns)
        if self.config.env in FLOW:
            values |= ending_statistics(self._endings)
        values |= {"kl": memory.mean_kl(), "far": memory.count_far(FAR) / memory.n}
        values |= {"std": float(np.mean(self.agent.std)), "stored": memory.n}
        values |= {"gradient_steps": self.k, "td_error": float(np.mean(self._errors)) ** 0.5 if self._errors else 0.0}
        self._returns, self._errors, self._endings = [], [], []
        self.bins_done += 1
        return values


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end, as in train.py; returns the last evaluation."""
    c = trainer.config
    if trainer.t == 0:
        trainer.warm_up()
    while trainer.t < c.steps:
        while trainer.t < min(c.steps_per_update * trainer.k, c.steps):
            over = trainer.play() is not None
            trainer.t += 1
            after_step(run, trainer, over)
        if trainer.t < c.steps:
            trainer.learn()
    return finish(run, trainer)


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
