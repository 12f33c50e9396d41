"""Train double DQN on a MiniGrid task with one of five replay methods, and measure how well it does.

    .venv/bin/python -m papers.ter.train --env SimpleCrossing-Easy --method ter --seed 0 --steps 200000

From settings to the loop, top to bottom. Networks and losses are in `agents/dqn.py`; each replay method is one object
with the same few calls (`common/replay/protocol.py`), and TER's is in `topological.py`. Sokoban and Atari have other
settings and worlds (`train_sokoban.py`, `train_atari.py`), and share all else.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch

from common.replay.protocol import Step
from common.schedules import linear
from common.twins import fast
from envs.minigrid.tasks import TASKS
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Positive, Range, Share
from papers.ter.agents.dqn import DoubleDQN
from papers.ter.agents.fast_dqn import FastDoubleDQN
from papers.ter.agents.methods import make_sampler, on_codes
from papers.ter.agents.settings import ReplaySettings, TileSettings
from papers.ter.worlds.minigrid import MiniGrid, make_env
from papers.ter.worlds.tiles import tile_bytes
from papers.ter.worlds.world import World

FAST = {DoubleDQN: FastDoubleDQN}
"""Twins that learn in their place on a CPU, from tile codes; see `common/twins.py`."""


# ---- settings of MiniGrid; what all worlds have is in settings.py ----------------------------------------------------


@dataclass(frozen=True)
class Config(ReplaySettings, TileSettings):
    """Every setting of a run. Defaults are the paper's for MiniGrid, with the place where it states them."""

    env: Literal[tuple(TASKS)] = "SimpleCrossing-Easy"  # type: ignore[valid-type]
    """Task (App. D.2)."""
    steps: Count = 3_000_000
    """Environment steps. Not in the text of the paper; the released scripts have 3M, and 6M for DoorKey."""
    batch_size: Count = 64
    """Transitions per gradient step (App. B.1)."""
    target_interval: Count = 1_000
    """Environment steps between two copies into the target network (App. B.1)."""
    eta: Share = 0.5
    """TER: share of a batch that prioritised replay supplies (App. B.5)."""

    n_actions: Annotated[int, Range("lie in 3..7", lambda value: 3 <= value <= 7)] | None = None
    """Number of actions; None takes 3 for crossings and 7 elsewhere, as the released code does. The paper lists 6."""
    random_action_probability: Share = 0.0
    """Share of steps in which the world replaces the action by a random one (App. G: 0.1)."""
    pseudo_terminal: bool = False
    """Crossings whose goal does not end the episode (App. H)."""
    kappa: Positive = 0.01
    """TER: temperature of the roots of pseudo-terminal tasks (App. H)."""
    standardise_returns: bool = False
    """TER: divide U of App. H by its standard deviation before it meets kappa. Not in the paper."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        super().check()
        if self.pseudo_terminal and "Crossing" not in self.env:
            raise UserError(f"pseudo_terminal needs a crossing task, not {self.env}")
        if self.levels and self.random_action_probability:
            raise UserError("levels exclude random_action_probability: a level's seed gives its noise, too")


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return tile_bytes(config, make_env(config).grid_shape, config.pseudo_terminal)


# ---- a run -----------------------------------------------------------------------------------------------------------


class Trainer:
    """All that a run consists of: world, memory, learner, replay method. Pickled as a whole, so that an interrupted run
    goes on bit for bit."""

    def __init__(self, config: Any, make_world: Callable[[Any, Streams], World] = MiniGrid):
        streams = Streams(config.seed)
        self.config, self.step = config, 0
        self.world = make_world(config, streams)
        self.exploration = streams.numpy("exploration")
        self.epsilon = linear(1.0, config.epsilon_end, config.epsilon_steps)
        self.memory = self.world.make_memory()
        self.reset()
        self.agent = fast(DoubleDQN, FAST if on_codes(config) else {}, config.device)(
            self.world.make_network, config.lr, config.gamma, streams.integer("network"), self.world.optimizer,
            config.huber_delta,
        )  # fmt: skip
        self.sampler = make_sampler(
            config, streams, self.memory, self.agent, state_size=self.here.seen.size, optimizer=self.world.optimizer,
            error_network=functools.partial(self.world.make_network, extra=True),
            choose_roots=self.world.choose_roots(),
        )  # fmt: skip
        self.recorded: dict[str, list[float]] = {"loss": [], "q": []}

    # --- one environment step -----------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start an episode."""
        self.here, self.total_return = self.world.reset(), 0.0
        self.memory.begin(self.here.state)

    def act(self) -> int:
        """The greedy action."""
        return int(self.agent.act(self.memory.draw(self.here.state[None]))[0])

    def interact(self) -> None:
        """Act epsilon-greedily, store the transition, start a new episode where one has ended."""
        here, explores = self.here, self.exploration.random() < self.epsilon(self.step)
        action = int(self.exploration.integers(self.world.n_actions)) if explores else self.act()
        after, reward, terminated, truncated = self.world.step(here, action)
        absorbing, ended = terminated or (truncated and self.config.timeout_is_done), terminated or truncated
        index = self.memory.add(action, reward, after.state, absorbing, ended)
        self.sampler.add(index, Step(here.seen, action, reward, after.seen, terminated, truncated))
        self.step += 1
        self.total_return += reward
        self.here = after
        if ended:
            self.sampler.episode(self.total_return)
            self.reset()

    # --- one gradient step --------------------------------------------------------------------------------------------

    def learn(self) -> float | None:
        """Let the method choose a batch, take a gradient step, tell the method. Returns the loss, None if nothing can
        be replayed yet."""
        chosen = self.sampler.sample(self.config.batch_size)
        if chosen is None:
            return None
        indices, weights, targets = chosen
        batch, device = self.memory.batch(indices), self.config.device
        importance = torch.from_numpy(weights).to(device)
        if targets is None:
            loss, q, y = self.agent.learn(batch, importance)
        else:
            y = torch.from_numpy(targets).to(device)
            loss, q = self.agent.update(batch, y, importance)
        if math.isfinite(loss):  # otherwise the run is about to be stopped
            self.sampler.update(indices, {"td_error": (y - q).cpu().numpy(), "q": q.cpu().numpy()})
        self.recorded["loss"].append(loss)
        self.recorded["q"].append(q.mean().item())
        return loss

    def sync(self) -> None:
        """Copy the Q-network into the target network."""
        self.agent.sync()
        self.sampler.synced()

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Metrics of the current policy and of the learning since the last evaluation; with fixed levels ``..._known``
        is the same on these."""
        world, n = self.world, self.config.eval_episodes
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.step}")
        policy = functools.partial(self.noisy_greedy, rng=rng)
        metrics = world.judge(*world.play(policy, [world.new_level(rng) for _ in range(n)]))
        if world.known:
            again = world.judge(*world.play(policy, rng.choice(world.known, n).tolist()))
            metrics |= {f"{name}_known": value for name, value in again.items()}
        if self.recorded["q"]:
            metrics |= world.judge_q(float(np.mean(self.recorded["q"])))
            metrics["loss"] = float(np.mean(self.recorded["loss"]))
        self.recorded = {"loss": [], "q": []}
        return {name: float(value) for name, value in (metrics | self.sampler.metrics()).items()}

    def noisy_greedy(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions (n,) for states (n, ...). A greedy policy that bumps into a wall would do so forever: a few random
        actions set it free (App. C)."""
        actions = self.agent.act(self.memory.draw(states))
        noise = rng.random(len(states)) < self.config.eval_noise
        actions[noise] = rng.integers(self.world.n_actions, size=noise.sum())
        return actions


# ---- the loop --------------------------------------------------------------------------------------------------------


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation."""
    config = trainer.config
    updates = round(config.replay_ratio * config.update_every)
    if not trainer.step:
        run.log(0, trainer.evaluate())  # before learning
    while trainer.step < config.steps:
        trainer.interact()
        step = trainer.step
        if step >= config.warmup and step % config.update_every == 0:
            for _ in range(updates):
                loss = trainer.learn()
                if loss is not None:
                    run.check_finite(step, loss=loss)
        if step % config.target_interval == 0:
            trainer.sync()
        if step % 500 == 0:
            run.tick(step)
        if step % config.eval_every == 0 or step == config.steps:
            run.log(step, trainer.evaluate())
            run.save(trainer)
    return run.finish({"steps": trainer.step, **run.last}, weights=trainer.agent.state_dict())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or go on there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
