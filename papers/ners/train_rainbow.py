"""Train data-efficient Rainbow on an Atari game with one of four ways to sample from the replay memory.

    .venv/bin/python -m papers.ners.train_rainbow --env Alien --method ners --seed 0

Agent, memory, loop, n-step returns and distributions are the same for all samplers. RANDOM is Rainbow with uniform
instead of prioritised replay, all weights 1. A training episode ends when a life is lost; the game then goes on.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np

from common.replay.frames import FrameMemory, layout
from common.replay.storage import ring_bytes
from common.twins import fast
from envs.atari import MAX_FRAMES, REPEAT, Atari
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, NotNegative, Positive, Share, at_least
from papers.ners.agents.fast_rainbow import FastRainbow
from papers.ners.agents.rainbow import Rainbow
from papers.ners.samplers.diagnostics import Diagnostics
from papers.ners.samplers.features import Clock
from papers.ners.samplers.frame_features import FrameTransitions
from papers.ners.samplers.methods import METHODS, make_sampler
from papers.ners.samplers.samplers import Settings

FAST = {Rainbow: FastRainbow}
"""Twin that learns in its place on a CPU, see `common/twins.py`."""
LIMIT = MAX_FRAMES // REPEAT
"""Steps after which a game is cut off, 27,000 (Table B.1)."""
CUT_EVERY = LIMIT // 2
"""Minimum steps between two cuts: the limit counts frames of a game, including the no-ops at its start."""
TIME_UNIT = 1_000
"""Steps that count as a time of 1: a long life of a beginner. The limit, 27,000, would make all times nearly 0."""
PER_EPSILON = 0.0
"""Added to PER's priorities: nothing is needed, a cross entropy is never 0."""
STATISTICS_EVERY = 5
"""Evaluations between two rows of statistics of the draws."""
SAVE_EVERY = 10_000
"""Minimum steps between two checkpoints, which are written after evaluations. A full memory takes 0.7 GB."""
TICK = 100
"""Steps between two updates of the progress bar."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place that states them."""

    env: str = "Alien"
    """Game, by its plain name, such as MsPacman (App. A.3)."""
    method: Literal[METHODS] = "ners"  # type: ignore[valid-type]
    """Sampler: uniform (stratified or independent draws), prioritised, experience replay optimisation, or NERS."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: Count = 100_000
    """Environment steps, of 4 frames each (App. B)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    batch_size: Count = 32
    """Transitions per gradient step; one gradient step per environment step (Table B.1)."""
    capacity: Count = 100_000
    """Transitions kept. Table B.1 has 1,000,000, of which the paper's 100,000 steps fill a tenth."""
    random_steps: Count = 1_600
    """Environment steps with random actions before learning starts (Table B.1)."""
    gamma: Share = 0.99
    """Discount (Table B.1)."""
    multi_step: Count = 20
    """Steps of the n-step returns (Table B.1)."""
    stack: Count = 4
    """Frames per state (Table B.1)."""
    hidden: Count = 256
    """Units of the hidden layers of both heads (Table B.1)."""
    sigma: NotNegative = 0.1
    """Noisy networks: initial scale of the noise (Table B.1)."""
    atoms: Annotated[int, at_least(2)] = 51
    """Atoms of the return distributions' support (Table B.1)."""
    v_max: Positive = 10.0
    """Last atom of the support; the first is its negative. Not in the paper; van Hasselt et al. use 10."""
    lr: Positive = 1e-4
    """Adam's step size (Table B.1)."""
    adam_epsilon: Positive = 1.5e-4
    """Adam's epsilon. Table B.1 prints 1.5e4, with which nothing is learned; van Hasselt et al. use 1.5e-4."""
    max_gradient: Positive = 10.0
    """L2 norm to which gradients are clipped (Table B.1)."""
    target_every: Count = 2_000
    """Environment steps between two copies, as in the released code; Table B.1 counts updates."""

    eval_every: Count = 1_000
    """Environment steps between two evaluations (App. B)."""
    eval_episodes: Count = 10
    """Games per evaluation (App. B)."""
    eval_noise: Share = 0.001
    """Share of random actions during evaluation. Not in the paper; Rainbow's value."""
    sampling: Settings = field(default_factory=Settings)
    """Settings of the samplers."""

    def check(self) -> None:
        """Raise UserError for incompatible settings."""
        learning = self.random_steps - self.multi_step + 1  # a transition is stored n - 1 steps later
        if min(self.capacity, learning) < self.batch_size:
            raise UserError(
                f"a memory of {self.capacity} transitions, learning from step {self.random_steps} on with "
                f"{self.multi_step}-step returns, can be smaller than a batch of {self.batch_size}; "
                "raise both or lower batch_size"
            )


def make_env(config: Config, *, training: bool) -> gymnasium.Env:
    """The game: frames uint8 [84, 84], raw rewards. UserError if it is unknown or its ROM is missing."""
    try:
        return Atari(config.env, training=training)
    except ValueError as error:
        raise UserError(str(error)) from None


def replay_bytes(config: Config) -> int:
    """Size [bytes] of the full replay memory; a sweep adds up its runs before it starts them."""
    return ring_bytes(*layout(config.capacity, config.multi_step, cut_every=CUT_EVERY, stack=config.stack))


class Trainer:
    """The whole state of a run. Pickled, so that an interrupted run resumes bit for bit."""

    def __init__(self, config: Config):
        c, streams = config, Streams(config.seed)
        self.config = c
        self.t = self.evaluations = self.episodes = 0
        self.env = make_env(c, training=True)
        self.n_actions = _n_actions(self.env)
        self.exploration = streams.numpy("exploration")
        self.agent = fast(Rainbow, FAST, c.device)(
            self.n_actions, stack=c.stack, hidden=c.hidden, sigma0=c.sigma, n_atoms=c.atoms, v_min=-c.v_max,
            v_max=c.v_max, lr=c.lr, adam_epsilon=c.adam_epsilon, max_gradient=c.max_gradient,
            seed=streams.integer("network"), device=c.device,
        )  # fmt: skip
        self.memory = FrameMemory(
            c.capacity, c.multi_step, c.gamma, cut_every=CUT_EVERY, stack=c.stack, device=c.device
        )
        self.diagnostics = Diagnostics(c.capacity)
        clock = Clock(c.sampling.time, TIME_UNIT, self.diagnostics.born)
        self.transitions = FrameTransitions(self.memory, clock, streams.integer("encoder"), c.device)
        self.sampler: Any = make_sampler(
            c.method, c.sampling, self.transitions, capacity=c.capacity, draws=max(c.steps - c.random_steps, 1),
            epsilon=PER_EPSILON, streams=streams, device=c.device,
        )  # fmt: skip
        self.loss = 0.0
        """Mean cross entropy of the last update."""
        self.total = 0.0
        """Unclipped return of the episode so far."""
        self.memory.reset(self.env.reset(seed=streams.integer("game"))[0])

    # --- one environment step -----------------------------------------------------------------------------------------

    def advance(self) -> None:
        """One environment step and, once the random steps are over, one gradient step."""
        if self.t < self.config.random_steps:
            action = int(self.exploration.integers(self.n_actions))
        else:
            action = self.agent.act(self.memory.state())  # Algorithm 1, line 3
        frame, reward, terminated, truncated, _ = self.env.step(action)
        self.t, self.total = self.t + 1, self.total + float(reward)
        clipped = min(max(float(reward), -1.0), 1.0)  # Table B.1
        for slot in self.memory.add(action, clipped, frame, terminated, truncated):  # Algorithm 1, line 4
            self.sampler.add(slot)
            self.diagnostics.added(slot, self.t - self.memory.since(slot))
        if self.t > self.config.random_steps:
            self.learn()
        if self.t % self.config.target_every == 0:
            self.agent.sync()
        if terminated or truncated:
            self.sampler.episode(self.total)
            self.total, self.episodes = 0.0, self.episodes + 1
            self.memory.reset(self.env.reset()[0])  # after the loss of a life this goes on with the game

    # --- one gradient step --------------------------------------------------------------------------------------------

    def learn(self) -> None:
        """Sample a batch, update the agent on it, pass the resulting signals to the sampler."""
        slots, weights, _ = self.sampler.sample(self.config.batch_size)  # Algorithm 1, lines 6-7
        batch = self.memory.batch(slots)
        td, q, value = self.agent.update(batch, weights)  # Algorithm 1, line 8
        self.loss = float(td.mean())
        if math.isfinite(self.loss):  # otherwise the run is about to stop
            self.diagnostics.drawn(slots, self.t, np.square(td), q)
            self.transitions.gathered(slots, batch)
            self.sampler.update(slots, {"td_error": td, "target": value})  # Algorithm 1, line 9

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Mean return of the policy without noise; every STATISTICS_EVERY-th time also statistics of the draws."""
        metrics = {"return": float(rollouts(self).mean())}
        self.sampler.evaluation(metrics["return"])  # Algorithm 1, lines 11-15
        self.evaluations += 1
        if self.evaluations % STATISTICS_EVERY == 0:
            metrics |= self.diagnostics.report(self.sampler)
        return {name: float(f"{value:.6g}") for name, value in metrics.items()}


def rollouts(trainer: Trainer) -> np.ndarray:
    """Play `eval_episodes` new games side by side, each to its end; returns their unclipped returns [eval_episodes]."""
    c = trainer.config
    rng = Streams(c.seed).numpy(f"evaluation at {trainer.t}")
    games = [make_env(c, training=False) for _ in range(c.eval_episodes)]
    frames = np.stack([game.reset(seed=int(rng.integers(2**31)))[0] for game in games])
    stacks = np.zeros((len(games), c.stack, *frames.shape[1:]), np.uint8)
    stacks[:, -1] = frames
    returns, running = np.zeros(len(games)), np.arange(len(games))
    while len(running):
        actions = trainer.agent.greedy(stacks[running])
        random = rng.random(len(running)) < c.eval_noise
        actions[random] = rng.integers(trainer.n_actions, size=random.sum())
        over = np.zeros(len(running), bool)
        for place, (i, action) in enumerate(zip(running, actions)):
            frame, reward, terminated, truncated, _ = games[i].step(int(action))
            stacks[i, :-1], stacks[i, -1] = stacks[i, 1:], frame
            returns[i] += float(reward)
            over[place] = terminated or truncated
        running = running[~over]
    for game in games:
        game.close()
    return returns


def _n_actions(env: gymnasium.Env) -> int:
    space: Any = env.action_space
    return int(space.n)


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation."""
    config, saved = trainer.config, trainer.t
    while trainer.t < config.steps:
        trainer.advance()
        run.check_finite(trainer.t, loss=trainer.loss)
        if trainer.t % TICK == 0:
            run.tick(trainer.t)
        if trainer.t % config.eval_every == 0 or trainer.t == config.steps:
            run.log(trainer.t, trainer.evaluate())
            if trainer.t - saved >= SAVE_EVERY:
                run.save(trainer)
                saved = trainer.t
    return run.finish({"steps": trainer.t, **run.last}, weights=trainer.agent.weights())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
