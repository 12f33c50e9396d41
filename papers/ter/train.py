"""Train double DQN on a MiniGrid task with one of five replay methods, and measure how well it does.

    .venv/bin/python -m papers.ter.train --env SimpleCrossing-Easy --method ter --seed 0 --steps 200000

From settings to the loop, top to bottom. Networks and losses are in `dqn.py`; each replay method is one object with the
same few calls (`common/replay/protocol.py`), and TER's is in `topological.py`. Sokoban and Atari change what their own
scripts say.
"""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch

from common.networks import NatureTrunk
from common.replay.protocol import Step
from common.replay.storage import ring_bytes
from common.schedules import linear
from envs.minigrid.tasks import SIZE, TASKS, MiniGridTask
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Positive, Range, Share
from papers.ter.agents.dqn import DoubleDQN, Optimizer
from papers.ter.agents.methods import make_sampler
from papers.ter.agents.networks import CodeTrunk, Network
from papers.ter.agents.settings import ReplaySettings, TileSettings
from papers.ter.replay.memory import TileMemory, tile_fields
from papers.ter.topological import PseudoTerminalRoots, terminal_roots

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


def make_env(config: Config) -> MiniGridTask:
    return MiniGridTask(config.env, config.n_actions, config.random_action_probability, config.pseudo_terminal)


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return ring_bytes(config.capacity, tile_fields(make_env(config).grid_shape))


# ---- a run -----------------------------------------------------------------------------------------------------------

TRIES = 20
"""Draws of an evaluation level that is not known from training."""


class Trainer:
    """All that a run consists of: world, memory, learner, replay method. Pickled as a whole, so that an interrupted run
    goes on bit for bit.

    A *state* is what the memory keeps of an observation: its tile codes. Another world overrides what differs there.
    """

    optimizer: Optimizer = "adam"

    def __init__(self, config: Any):
        streams = Streams(config.seed)
        self.config, self.step = config, 0
        self.env: Any = self.make_env()
        self.n_actions = int(self.env.action_space.n)
        self.exploration = streams.numpy("exploration")
        self.epsilon = linear(1.0, config.epsilon_end, config.epsilon_steps)
        self.level_stream = streams.numpy("levels")
        known = streams.numpy("known levels")
        self.known = [2 * int(known.integers(2**31)) for _ in range(self.number_of_levels())]
        self.known_tiles = {self.first_tiles(seed) for seed in self.known}
        self.memory: Any = self.make_memory()
        self.total_return = 0.0  # of the episode so far
        self.reset()

        make_network = functools.partial(self.make_network, extra=False)
        self.agent = DoubleDQN(
            make_network, config.lr, config.gamma, streams.integer("network"), self.optimizer, config.huber_delta
        )
        self.sampler = make_sampler(
            config, streams, self.memory, self.agent, state_size=self.seen.size, optimizer=self.optimizer,
            error_network=functools.partial(self.make_network, extra=True), choose_roots=self.choose_roots(),
        )  # fmt: skip
        self.recorded: dict[str, list[float]] = {"loss": [], "q": []}

    # --- the world ----------------------------------------------------------------------------------------------------

    def make_env(self, training: bool = True) -> Any:
        """A new environment, for training or for evaluation."""
        return make_env(self.config)

    def return_range(self) -> tuple[float, float]:
        """The returns that normalised returns of 0 and 1 stand for; the upper one is R_max."""
        return -self.env.max_steps, self.env.max_steps

    def choose_roots(self) -> Callable:
        """TER's roots."""
        c = self.config
        return PseudoTerminalRoots(c.kappa, c.standardise_returns) if c.pseudo_terminal else terminal_roots

    def picture_size(self) -> int:
        """Side of the pictures that the network sees."""
        return SIZE

    def make_memory(self) -> Any:
        pictures = self.picture_size() if self.config.network == "nature" else None
        return TileMemory(self.env, self.config.capacity, pictures, self.config.device)

    def make_network(self, extra: bool) -> Network:
        """A Q-network or, with an ``extra`` layer, an error network of DisCor."""
        if self.config.network == "codes":
            trunk: torch.nn.Module = CodeTrunk(len(self.env.tiles), self.env.grid_shape)
        else:
            trunk = NatureTrunk(self.env.observation_space.shape)
        scale = self.return_range()[1] if self.config.scale_output else 1.0
        return Network(trunk, self.n_actions, scale, extra).to(self.config.device)

    def number_of_levels(self) -> int:
        return self.config.levels

    def first_tiles(self, seed: int) -> bytes:
        """How a level begins."""
        env = self.make_env(training=False)
        tiles = env.reset(seed=seed)[1]["tiles"].tobytes()
        env.close()
        return tiles

    def new_level(self, rng: np.random.Generator) -> int:
        """Seed of a level to be evaluated on: odd, and none of the known levels by another seed, if `TRIES` draws find
        one; of some tasks there are too few layouts."""
        for _ in range(TRIES):
            seed = 2 * int(rng.integers(2**31)) + 1
            if not self.known or self.first_tiles(seed) not in self.known_tiles:
                break
        return seed

    def new_episode(self) -> tuple[np.ndarray, dict]:
        """Reset the environment: first observation and info."""
        # Levels are functions of their seed. Trainer takes even seeds and evaluation odd ones: never the same draw.
        if self.known:
            return self.env.reset(seed=self.known[self.level_stream.integers(len(self.known))])
        return self.env.reset(seed=2 * int(self.level_stream.integers(2**31)))

    def first(self, observation: np.ndarray, info: dict) -> np.ndarray:
        """The state at the start of an episode."""
        return info["tiles"]

    def following(self, state: np.ndarray, observation: np.ndarray, info: dict) -> np.ndarray:
        """The state after ``state``."""
        return info["tiles"]

    def seen_of(self, observation: np.ndarray, state: np.ndarray) -> np.ndarray:
        """What the network sees of a state, before it is scaled: TER's vertices are made of it."""
        return state if self.config.network == "codes" else observation

    def stored_reward(self, reward: float) -> float:
        return reward

    # --- one environment step -----------------------------------------------------------------------------------------

    def reset(self) -> None:
        observation, info = self.new_episode()
        self.state = self.first(observation, info)
        self.seen = self.seen_of(observation, self.state)

    def act(self) -> int:
        """The greedy action."""
        if self.config.device == "cpu" and isinstance(self.agent.q.trunk, CodeTrunk):
            return int(self.agent.q_of_one(self.state).argmax())
        return int(self.agent.act(self.memory.draw(self.state[None]))[0])

    def interact(self) -> None:
        """Act epsilon-greedily, store the transition, start a new episode where one has ended."""
        explores = self.exploration.random() < self.epsilon(self.step)
        action = int(self.exploration.integers(self.n_actions)) if explores else self.act()
        observation, reward, terminated, truncated, info = self.env.step(action)
        state = self.following(self.state, observation, info)
        seen = self.seen_of(observation, state)
        absorbing = terminated or (truncated and self.config.timeout_is_done)
        index = self.store(action, self.stored_reward(reward), observation, state, absorbing, terminated or truncated)
        self.sampler.add(index, Step(self.seen, action, reward, seen, terminated, truncated))
        self.step += 1
        self.total_return += reward
        self.state, self.seen = state, seen
        if terminated or truncated:
            self.sampler.episode(self.total_return)
            self.total_return = 0.0
            self.reset()

    def store(self, action: int, reward: float, observation, state, absorbing: bool, ended: bool) -> int:
        """Put the transition from the current state into the memory; returns its slot."""
        return self.memory.add(self.state, action, reward, state, absorbing)

    # --- one gradient step --------------------------------------------------------------------------------------------

    def learn(self) -> float | None:
        """Let the method choose a batch, take a gradient step, tell the method. Returns the loss, None if nothing can
        be replayed yet."""
        chosen = self.sampler.sample(self.config.batch_size)
        if chosen is None:
            return None
        indices, weights, targets = chosen
        batch, device = self.memory.batch(indices), self.config.device
        y = self.agent.targets(batch) if targets is None else torch.from_numpy(targets).to(device)
        loss, q = self.agent.update(batch, y, torch.from_numpy(weights).to(device))
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
        """Metrics of the current policy and of the learning since the last evaluation.

        ``normalized_return`` maps `return_range` to 0..1; with fixed levels ``..._known`` is the same on these.
        """
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.step}")
        unseen = [self.new_level(rng) for _ in range(self.config.eval_episodes)]
        metrics = self.judge(*rollouts(self, unseen, rng))
        if self.known:
            again = self.judge(*rollouts(self, rng.choice(self.known, self.config.eval_episodes).tolist(), rng))
            metrics |= {f"{name}_known": value for name, value in again.items()}
        if self.recorded["q"]:
            metrics |= self.judge_q(float(np.mean(self.recorded["q"])))
            metrics["loss"] = np.mean(self.recorded["loss"])
        self.recorded = {"loss": [], "q": []}
        return {name: float(value) for name, value in (metrics | self.sampler.metrics()).items()}

    def judge(self, returns: np.ndarray, successes: np.ndarray) -> dict[str, Any]:
        """Metrics of the evaluation episodes."""
        low, high = self.return_range()
        normalized = (returns.mean() - low) / (high - low)
        return {"return": returns.mean(), "normalized_return": normalized, "success": successes.mean()}

    def judge_q(self, mean_q: float) -> dict[str, Any]:
        """(mean Q - R_max) / R_max, with Q(s, a) averaged over the training batches since the last time (Sec. 5.4)."""
        _, high = self.return_range()
        return {"q_overestimation": (mean_q - high) / high}


def rollouts(trainer: Trainer, seeds: Iterable[int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Play the levels of these seeds side by side: undiscounted returns and successes, both (episodes,)."""
    envs = [(trainer.make_env(training=False), seed) for seed in seeds]
    states = np.stack([trainer.first(*env.reset(seed=seed)) for env, seed in envs])
    returns, successes = np.zeros(len(envs)), np.zeros(len(envs), dtype=bool)
    running = np.arange(len(envs))
    while len(running):
        actions = trainer.agent.act(trainer.memory.draw(states[running]))
        # A greedy policy that bumps into a wall would do so forever: a few random actions set it free.
        noise = rng.random(len(running)) < trainer.config.eval_noise
        actions[noise] = rng.integers(trainer.n_actions, size=noise.sum())
        ended = np.zeros(len(running), dtype=bool)
        for place, (i, action) in enumerate(zip(running, actions)):
            observation, reward, terminated, truncated, info = envs[i][0].step(action)
            returns[i] += reward
            successes[i] |= info.get("success", False)
            states[i] = trainer.following(states[i], observation, info)
            ended[place] = terminated or truncated
        running = running[~ended]
    for env, _ in envs:
        env.close()
    return returns, successes


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
    return run.finish({"steps": trainer.step, **run.last}, weights=trainer.agent.q.state_dict())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or go on there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
