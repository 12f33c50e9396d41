"""Train V-RACER, DDPG or NAF with one of five kinds of replay, on a MuJoCo task or on the swimmer in a wake.

    .venv/bin/python -m papers.ref_er.train --env HalfCheetah-v5 --method vracer --replay refer --seed 0

The kinds of replay:

    refer      ReF-ER: Rule 1 skips far-policy samples, Rule 2 pulls the policy towards the replayed behaviour
    refer-1    Rule 1 alone
    refer-2    Rule 2 alone
    er         plain experience replay, all steps with the same probability
    per        rank-based prioritised replay

Algorithm 1 is `train`, with `Trainer.warm_up` and `Trainer.learn`. Time is counted in environment steps after the
warm-up. Returns are those of training episodes, exploration included, as they enter the memory.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from common.replay.rank_based import RankBasedSampler
from common.replay.storage import ring_bytes
from common.twins import fast
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, NotNegative, Positive, Share
from papers.ref_er.agents.advantages import Gaussian, Quadratic
from papers.ref_er.agents.ddpg import DDPG
from papers.ref_er.agents.fast import FastDDPG, FastNAF, FastVRACER
from papers.ref_er.agents.naf import NAF
from papers.ref_er.agents.networks import MLP, subnormals_as_zero
from papers.ref_er.agents.player import (
    OrnsteinUhlenbeck,
    Player,
    WhiteNoise,
    ending_statistics,
    return_statistics,
    sizes,
)
from papers.ref_er.agents.progress import after_step, finish
from papers.ref_er.agents.racer import RACER
from papers.ref_er.agents.tasks import FLOW, make_env
from papers.ref_er.agents.vracer import VRACER
from papers.ref_er.memory.episode import Episode
from papers.ref_er.memory.memory import EpisodeMemory, layout
from papers.ref_er.recurrent.recurrent import LSTM, WindowMemory
from papers.ref_er.refer import RULES, ReFER

FAST = {VRACER: FastVRACER, DDPG: FastDDPG, NAF: FastNAF}
"""Twins that learn in their place, see `common/twins.py`."""
METHODS = ("vracer", "ddpg", "naf")
REPLAYS = (*RULES, "per")
ADVANTAGES = {"none": None, "quadratic": Quadratic(), "gaussian": Gaussian()}
RESCALE_EVERY = 1000
"""Gradient steps between two updates of the rewards' scale (App. B)."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place where it states them."""

    env: str = "HalfCheetah-v5"
    """Task: a gymnasium id with vectors as observations and actions."""
    method: Literal[METHODS] = "vracer"  # type: ignore[valid-type]
    """Learner."""
    replay: Literal[REPLAYS] = "refer"  # type: ignore[valid-type]
    """Kind of replay; see the top of this file."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: Count = 10_000_000
    """Environment steps after the warm-up. Not in the paper's text; its figures' length in the authors' scripts."""
    bins: Count = 50
    """Evaluations, evenly spaced: one per 200,000 steps (Sec. 5)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    c: float = 4.0
    """ReF-ER: C of c_max = 1 + C / (1 + A t), Eq. (13) (Sec. 3)."""
    tolerance: float = 0.1
    """ReF-ER: D, the target share of far-policy samples (Sec. 3)."""
    annealing: float | None = None
    """A of Eq. (13), for c_max and the learning rate. None: 5e-7 (Sec. 3), or 0 for DDPG without ReF-ER (Sec. 5.1)."""
    beta_rate: float | None = None
    """Rate of Eq. (12). None: 0.1 batch_size / capacity. At the paper's sizes that is its 1e-4 for V-RACER and NAF, and
    half of it for DDPG."""
    beta: float = 0.0
    """Initial beta. Not in the paper."""
    reverse_kl: bool = False
    """Penalise KL(pi || mu), as the authors' program does, instead of the KL(mu || pi) of Eq. (11)."""

    capacity: Count = 2**18
    """Steps in the replay memory, N (Sec. 3)."""
    warmup: Count = 2**18
    """Steps played before learning starts, N_start of Algorithm 1. Not in the paper; its algorithm suggests N."""
    steps_per_update: Positive = 1.0
    """Environment steps per gradient step, F (App. A)."""
    batch_size: Count | None = None
    """Steps per gradient step. None: 256, or 128 for DDPG (App. A)."""
    hidden: Count = 128
    """Units in each of two hidden layers (App. A)."""
    network: Literal["mlp", "lstm"] = "mlp"
    """Network: mlp, or lstm, which has `hidden` cells per layer, 32 in the paper (Sec. 5.4)."""
    window: Count = 16
    """lstm: steps that the network reads; its output is for the last one (Sec. 5.4)."""
    residual: bool = False
    """mlp: the second hidden layer adds the first one's output to its own, as in the authors' program. Slower."""
    lr: Positive = 1e-4
    """Adam's step size; with DDPG the critic's (App. A)."""
    gamma: Share = 0.995
    """Discount (App. A)."""

    variance: Positive = 0.2
    """V-RACER: initial variance of the policy (App. A)."""
    advantage: Literal["none", "quadratic", "gaussian"] = "none"
    """V-RACER: closed-form advantage (App. E)."""
    noise: Positive = 0.2
    """DDPG, NAF: standard deviation of the exploration noise (App. A)."""
    polyak: Share = 0.01
    """DDPG, NAF: share of the new parameters in each update of the target networks (App. A)."""
    linear_actor: bool = False
    """DDPG: an actor without the tanh of App. A, as in the authors' scripts with ReF-ER."""
    actor_lr: Positive = 1e-5
    """DDPG: Adam's step size for the actor (App. A)."""
    weight_decay: NotNegative = 1e-4
    """DDPG: L2 coefficient of the critic (App. A)."""
    theta: Share = 0.15
    """DDPG without ReF-ER: the Ornstein-Uhlenbeck noise forgets this share of itself per step (App. A)."""
    per_alpha: Share = 0.5
    """PER: exponent of the rank. Not in the paper; 0.5 in the authors' program."""
    per_beta: NotNegative = 0.5
    """PER: initial exponent of the importance weights; it reaches 1 at step 1 / A. Not in the paper; as above."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        if self.advantage != "none" and self.method != "vracer":
            raise UserError(f"advantage {self.advantage!r} is an option of vracer, not of {self.method}")
        if self.linear_actor and self.method != "ddpg":
            raise UserError(f"linear_actor is an option of ddpg, not of {self.method}")
        if self.network == "lstm" and (self.method == "naf" or self.residual):
            raise UserError(f"{'residual' if self.residual else 'naf'} has no recurrent form; network must be mlp")
        if min(self.capacity, self.warmup) < batch_size(self):
            raise UserError(
                f"a memory of {self.capacity} steps, learning from step {self.warmup} on, is smaller than a batch of "
                f"{batch_size(self)}; raise capacity and warmup or lower batch_size"
            )
        if self.warmup > self.capacity:
            raise UserError(
                f"the memory of {self.capacity} steps does not hold the {self.warmup} of the warm-up; lower warmup"
            )


def batch_size(config: Config) -> int:
    """Steps per gradient step; the method's default where the config has none."""
    return config.batch_size or (128 if config.method == "ddpg" else 256)


def make_refer(config: Config) -> ReFER:
    """The rules of the run's kind of replay."""
    c, (rule1, rule2) = config, RULES.get(config.replay, (False, False))
    annealing = c.annealing
    if annealing is None:
        annealing = 0.0 if c.method == "ddpg" and not (rule1 or rule2) else 5e-7
    rate = min(0.1 * batch_size(c) / c.capacity, 1.0) if c.beta_rate is None else c.beta_rate
    return ReFER(rule1, rule2, c=c.c, tolerance=c.tolerance, annealing=annealing, rate=rate, beta=c.beta)


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay; a sweep adds up its runs' before it starts them."""
    return ring_bytes(*layout(config.capacity, *sizes(make_env(config.env))))


class Trainer:
    """The whole state of a run. It is pickled between two episodes, so that an interrupted run can resume."""

    def __init__(self, config: Config):
        c, streams = config, Streams(config.seed)
        self.config, self.refer = c, make_refer(c)
        correlated = c.method == "ddpg" and c.replay in ("er", "per")
        rng = streams.numpy("exploration")
        noise, recurrent = OrnsteinUhlenbeck(rng, c.theta) if correlated else WhiteNoise(rng), c.network == "lstm"
        self.player = Player(c.env, streams.numpy("starts"), noise, c.window if recurrent else 0)
        n_states, n_actions, longest = self.player.sizes
        kind = partial(WindowMemory, length=c.window) if recurrent else EpisodeMemory
        self.memory: EpisodeMemory = kind(c.capacity, n_states, n_actions, longest, c.gamma)
        self.replay = streams.numpy("replay")
        self.sampler = self._make_sampler() if c.replay == "per" else None
        self.agent = self._make_agent(n_states, n_actions, streams.integer("network"))
        self.t = self.k = self.bins_done = 0
        """Environment steps after the warm-up, gradient steps, evaluations."""
        self.save_due = False
        self._returns: list[float] = []
        self._errors: list[float] = []
        self._endings: list[tuple[bool, int, float]] = []

    def _make_agent(self, n_states: int, n_actions: int, seed: int) -> Any:
        c = self.config
        settings: dict[str, Any] = dict(
            hidden=(c.hidden, c.hidden), lr=c.lr, seed=seed, device=c.device,
            network=LSTM if c.network == "lstm" else partial(MLP, residual=c.residual),
        )  # fmt: skip
        if c.method == "vracer":
            settings |= dict(std=c.variance**0.5, reverse_kl=c.reverse_kl)
            if advantage := ADVANTAGES[c.advantage]:
                return RACER(n_states, n_actions, advantage=advantage, **settings)
            return fast(VRACER, FAST)(n_states, n_actions, **settings)
        settings |= dict(noise=c.noise, polyak=c.polyak)
        if c.method == "naf":
            return fast(NAF, FAST)(n_states, n_actions, **settings)
        settings |= dict(actor_lr=c.actor_lr, weight_decay=c.weight_decay, linear=c.linear_actor)
        return fast(DDPG, FAST)(n_states, n_actions, **settings)

    def _make_sampler(self) -> RankBasedSampler:
        c = self.config
        steps = max(round(1.0 / (self.refer.annealing * c.steps_per_update)), 1) if self.refer.annealing else None
        return RankBasedSampler(len(self.memory.rho), self.replay, c.per_alpha, c.per_beta, beta_steps=steps)

    def play(self) -> Episode | None:
        """One environment step (Algorithm 2); a finished episode enters the memory and is returned."""
        episode = self.player.step(self.agent.act, self.memory.scale)
        if episode is not None:
            self.forget()
            slots, total = self.memory.add(episode)
            self._returns.append(total)
            self._endings.append(episode.ending())
            if self.sampler is not None:
                self.sampler.extend(slots)
        return episode

    def warm_up(self) -> None:
        """Fill the memory with the initial policy, then fix the units of states and rewards (App. B)."""
        while self.memory.n < self.config.warmup:  # Algorithm 1, lines 3 and 5
            self.play()  # Algorithm 1, line 4
        self.memory.standardise()  # Algorithm 1, line 6
        self.memory.rescale_rewards()  # Algorithm 1, line 7
        self._returns.clear()
        self._endings.clear()

    def forget(self) -> None:
        """Drop the oldest episodes that the memory can do without: before it takes another one, and before a draw."""
        forgotten = self.memory.forget()  # Algorithm 1, lines 11-13
        if self.sampler is not None:
            self.sampler.remove(forgotten)

    def draw(self) -> tuple[np.ndarray, np.ndarray]:
        """A batch: slots [B] and the weights of their gradients [B]."""
        self.forget()
        n = batch_size(self.config)
        if self.sampler is None:
            return self.memory.sample(n, self.replay), np.ones(n, np.float32)
        slots, weights, _ = self.sampler.sample(n)
        return slots, weights

    def learn(self) -> None:
        """One gradient step, ReF-ER's bookkeeping, and what happens every thousand steps."""
        slots, weights = self.draw()
        lr_factor = self.refer.anneal(self.t)
        errors = self.agent.update(self.memory, slots, weights, self.refer, lr_factor)  # Algorithm 1, lines 16 and 17
        if self.sampler is not None:
            self.sampler.update(slots, {"td_error": errors})
        if self.refer.rule2:
            self.refer.update(self.memory.count_far(self.refer.c_max), self.memory.n)  # Algorithm 1, line 18
        self.k += 1  # Algorithm 1, line 22
        if self.k % RESCALE_EVERY == 0:  # Algorithm 1, lines 19 and 21
            self.memory.rescale_rewards()  # Algorithm 1, line 20
        if self.k % 100 == 0:
            self._errors.append(float(np.mean(errors * errors)))

    def metrics(self) -> dict[str, float]:
        """Returns since the last evaluation, and the current state of memory and policy."""
        memory, refer = self.memory, self.refer
        values = return_statistics(self._returns)
        if self.config.env in FLOW:
            values |= ending_statistics(self._endings)
        values |= {"kl": memory.mean_kl(), "far": memory.count_far(refer.c_max) / memory.n, "beta": refer.beta}
        values |= {"c_max": refer.c_max, "std": float(np.mean(self.agent.std)), "stored": memory.n}
        values |= {"gradient_steps": self.k, "td_error": float(np.mean(self._errors)) ** 0.5 if self._errors else 0.0}
        self._returns, self._errors, self._endings = [], [], []
        self.bins_done += 1
        return values


@subnormals_as_zero()
def train(run: Run, trainer: Trainer) -> dict:
    """Algorithm 1, lines 1 and 2 of which have made `trainer`; returns the last evaluation."""
    c = trainer.config
    if trainer.t == 0:
        trainer.warm_up()  # Algorithm 1, lines 3-7
    while trainer.t < c.steps:  # Algorithm 1, lines 8 and 23
        while trainer.t < min(c.steps_per_update * trainer.k, c.steps):  # Algorithm 1, lines 9 and 15
            over = trainer.play() is not None  # Algorithm 1, line 10
            trainer.t += 1  # Algorithm 1, line 14
            after_step(run, trainer, over)
        if trainer.t < c.steps:
            trainer.learn()  # Algorithm 1, lines 11-13 and 16-22
    return finish(run, trainer)


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
