"""Train double DQN on a MiniGrid task with one of five replay methods, and measure how well it does.

    python -m papers.ter.train --env SimpleCrossing-Easy --method ter --seed 0 --steps 200000

The five methods share the network, the losses and the loop below. They differ in which transitions a batch holds
(``per``, ``ebu``, ``ter``), in the targets (``ebu``) and in the weights of the loss (``per``, ``discor``, ``ter``).
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from common.lab.cli import cli
from common.lab.errors import UserError
from common.lab.runs import Run, Streams
from common.lab.settings import check_settings
from common.pixels import SymbolicPixels
from common.replay.samplers import PrioritizedSampler, UniformSampler
from common.replay.storage import Ring, announce
from common.schedules import linear
from envs.minigrid_tasks import SIZE, TASKS, MiniGridTask
from papers.ter.discor import DisCor
from papers.ter.dqn import Batch, DoubleDQN
from papers.ter.ebu import EpisodicSampler
from papers.ter.topological import (
    PseudoTerminalRoots,
    RandomProjection,
    ReverseSweep,
    TopologicalSampler,
    TransitionGraph,
    terminal_roots,
)


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's for MiniGrid, with the place where it states them."""

    env: Literal[tuple(TASKS)] = "SimpleCrossing-Easy"  # type: ignore[valid-type]
    """Task (App. D.2)."""
    method: Literal["uer", "per", "ebu", "discor", "ter"] = "ter"
    """Replay method: uniform, prioritised, episodic backward update, DisCor, topological."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: int = 3_000_000
    """Environment steps (3M; 6M for DoorKey)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""

    batch_size: int = 64
    """Transitions per gradient step (App. B.1)."""
    lr: float = 3e-4
    """Adam's step size (App. B.1)."""
    gamma: float = 0.99
    """Discount; the paper does not state it, the released code uses 0.99."""
    update_every: int = 4
    """Environment steps between two visits of the learner (App. B.1)."""
    replay_ratio: float = 0.25
    """Gradient steps per environment step (Sec. 5.4: 0.25, 1 or 2)."""
    target_interval: int = 1_000
    """Environment steps between two copies into the target network (App. B.1)."""
    capacity: int = 1_000_000
    """Transitions kept (App. B.1)."""
    warmup: int = 50_000
    """Environment steps before the first update (App. B.1)."""
    epsilon_end: float = 0.01
    """Last share of random actions (App. B.1)."""
    epsilon_steps: int = 1_000_000
    """Environment steps over which that share falls from 1, counted from the first step (App. B.1)."""
    reward_scale: float = 1.0
    """Factor on rewards before they are stored. The paper uses none; short runs need one (README, deviations)."""
    timeout_is_done: bool = False
    """Treat a time-out like a terminal state in the targets, as the released code does."""

    eval_every: int = 100_000
    """Environment steps between two evaluations."""
    eval_episodes: int = 100
    """Episodes per evaluation (App. C)."""
    eval_noise: float = 0.05
    """Share of random actions during evaluation (App. C)."""

    n_actions: int | None = None
    """Number of actions; None takes 3 for crossings and 7 elsewhere, as the released code does. The paper lists 6."""
    random_action_probability: float = 0.0
    """Share of steps in which the world replaces the action by a random one (App. G: 0.1)."""
    pseudo_terminal: bool = False
    """Crossings whose goal does not end the episode (App. H)."""

    per_alpha: float = 0.6
    """Exponent of priorities, for per and for ter's mixed-in share (App. B.2)."""
    per_beta: float = 0.4
    """First exponent of the importance weights; reaches 1 at the end of training (App. B.2)."""
    per_clip: float | None = 1.0
    """Largest |TD error| that counts in a priority, as in pfrl; None for no limit."""
    eta: float = 0.5
    """TER: share of a batch that prioritised replay supplies (App. B.5)."""
    roots: int = 8
    """TER: terminal vertices that a sweep starts from (App. B.5)."""
    predecessors: int = 3
    """TER: predecessors expanded per vertex (App. B.5)."""
    projection_dim: int = 3
    """TER: d, length of the projected state (App. B.5)."""
    kappa: float = 0.01
    """TER: temperature of the roots of pseudo-terminal tasks (App. H)."""
    ebu_beta: float = 0.5
    """EBU: diffusion factor (App. B.3)."""
    ebu_timeouts: bool = True
    """EBU: also replay episodes that ran out of time (App. J)."""
    ebu_drop_first: int = 0
    """EBU: transitions never replayed at the start of each episode; the released code drops 3."""
    ebu_per_share: float = 0.0
    """EBU: share of a batch that prioritised replay supplies (App. I: TER's eta)."""
    discor_tau: float = 10.0
    """DisCor: first temperature (App. B.4)."""
    discor_released: bool = False
    """DisCor: bootstrap the error as the code released with the paper does."""


def check(config: Config) -> None:
    """Raise UserError for settings that cannot work."""
    check_settings(
        config,
        at_least_1=("steps", "batch_size", "update_every", "target_interval", "epsilon_steps", "eval_every",
                    "eval_episodes", "roots", "predecessors", "projection_dim"),
        positive=("lr", "replay_ratio", "reward_scale", "kappa", "discor_tau"),
        in_0_1=("eta", "ebu_beta", "ebu_per_share", "eval_noise", "random_action_probability", "epsilon_end"),
    )  # fmt: skip
    if config.ebu_per_share == 1:
        raise UserError("ebu_per_share must be below 1: with 1 nothing is left of EBU; use --method per")
    if config.n_actions is not None and not 3 <= config.n_actions <= 7:
        raise UserError(f"n_actions must lie in 3..7, not {config.n_actions}")
    if config.capacity < config.batch_size or config.warmup < config.batch_size:
        raise UserError(f"capacity and warmup must hold at least one batch of {config.batch_size}")
    if round(config.replay_ratio * config.update_every) != config.replay_ratio * config.update_every:
        raise UserError(f"replay_ratio * update_every must be whole, not {config.replay_ratio * config.update_every}")
    if config.pseudo_terminal and "Crossing" not in config.env:
        raise UserError(f"pseudo_terminal needs a crossing task, not {config.env}")


def make_env(config: Config) -> MiniGridTask:
    return MiniGridTask(config.env, config.n_actions, config.random_action_probability, config.pseudo_terminal)


class Trainer:
    """All that a run consists of. Pickled as a whole, so that an interrupted run goes on bit for bit."""

    def __init__(self, config: Config):
        streams = Streams(config.seed)
        self.config = config
        self.step = 0
        self.env = make_env(config)
        self.levels = streams.numpy("levels")
        self.exploration = streams.numpy("exploration")
        self.epsilon = linear(1.0, config.epsilon_end, config.epsilon_steps)
        self.pixels = SymbolicPixels(self.env.tiles, self.env.grid_shape, SIZE, config.device)

        shape, n_actions = (SIZE, SIZE, 3), self.env.n_actions
        seed = streams.integer("network")
        self.agent = DoubleDQN(shape, n_actions, config.lr, config.gamma, seed, config.device)
        fields: dict[str, tuple] = {
            "tiles": (self.env.grid_shape, np.uint8), "action": ((), np.uint8), "reward": ((), np.float32),
            "next_tiles": (self.env.grid_shape, np.uint8), "absorbing": ((), np.bool_),
        }  # fmt: skip
        announce(config.capacity, fields)
        self.memory = Ring(config.capacity, fields)
        self.sampler: Any = self._make_sampler(streams)
        self.episodes: EpisodicSampler | None = None
        self.discor: DisCor | None = None
        if config.method == "ebu":
            self.episodes = EpisodicSampler(
                self.memory, self.next_q, streams.numpy("episodes"), config.gamma,
                config.ebu_beta, config.ebu_timeouts, config.ebu_drop_first,
            )  # fmt: skip
        if config.method == "discor":
            seed = streams.integer("error network")
            self.discor = DisCor(
                self.agent, shape, n_actions, config.lr, seed, config.device, config.discor_tau, config.discor_released
            )
        self._recorded: dict[str, list[float]] = {"loss": [], "q": []}
        self._reset()

    def _make_sampler(self, streams: Streams):
        c = self.config
        if c.method in ("uer", "discor") or (c.method == "ebu" and c.ebu_per_share == 0):
            return UniformSampler(streams.numpy("replay"))
        updates = c.steps // c.update_every * round(c.replay_ratio * c.update_every)
        prioritized = PrioritizedSampler(
            c.capacity, streams.numpy("replay"), c.per_alpha, c.per_beta, beta_steps=max(1, updates), clip=c.per_clip
        )
        if c.method != "ter":
            return prioritized
        graph = TransitionGraph(c.capacity, track_returns=c.pseudo_terminal)
        rng = random.Random(streams.integer("sweep"))
        roots = PseudoTerminalRoots(c.kappa) if c.pseudo_terminal else terminal_roots
        sweep = ReverseSweep(graph, rng, c.roots, c.predecessors, roots)
        phi = RandomProjection(c.projection_dim, SIZE * SIZE * 3, streams.numpy("projection"))
        return TopologicalSampler(graph, sweep, prioritized, c.eta, phi)

    def _reset(self) -> None:
        # Levels are functions of their seed. Training takes even seeds and evaluation odd ones: never the same draw.
        self.frame, info = self.env.reset(seed=2 * int(self.levels.integers(2**31)))
        self.tiles = info["tiles"]

    # --- one environment step -----------------------------------------------------------------------------------------

    def interact(self) -> None:
        """Act epsilon-greedily, store the transition, start a new episode where one has ended."""
        if self.exploration.random() < self.epsilon(self.step):
            action = int(self.exploration.integers(self.env.n_actions))
        else:
            action = int(self.agent.act(self.pixels.draw(self.tiles[None]))[0])
        next_frame, reward, terminated, truncated, info = self.env.step(action)
        absorbing = terminated or (truncated and self.config.timeout_is_done)
        index = self.memory.add(
            tiles=self.tiles,
            action=action,
            reward=reward * self.config.reward_scale,
            next_tiles=info["tiles"],
            absorbing=absorbing,
        )
        ended = terminated or truncated
        if self.config.method == "ter":
            self.sampler.add(index, self.frame, reward, next_frame, terminated, ended)
        else:
            self.sampler.add(index)
        if self.episodes is not None:
            self.episodes.add(absorbing, ended, time_out=not terminated)
        self.step += 1
        self.frame, self.tiles = next_frame, info["tiles"]
        if ended:
            self._reset()

    # --- one gradient step --------------------------------------------------------------------------------------------

    def learn(self) -> float | None:
        """Sample a batch, make its targets and weights, take a gradient step. Returns the loss.

        None if nothing can be replayed yet: EBU needs a finished episode.
        """
        if self.episodes is not None and not self.episodes.ready:
            return None
        indices, weights_, diffused = self.choose()
        batch = self.batch(indices)
        weights = torch.from_numpy(weights_).to(self.config.device)
        y = self.targets(batch, diffused)
        if self.discor is not None:
            next_error = self.discor.next_error(batch)
            weights = self.discor.weights(next_error)
        loss, q = self.agent.update(batch, y, weights)
        td = y - q
        if self.discor is not None:
            self.discor.update(batch, next_error, td)
        self.sampler.update(indices, td.cpu().numpy())
        self._recorded["loss"].append(loss)
        self._recorded["q"].append(q.mean().item())
        return loss

    def choose(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slots (B,) and loss weights (B,) of the next batch, and EBU's own targets for the first of them."""
        size = self.config.batch_size
        if self.episodes is None:
            return *self.sampler.sample(size), np.empty(0)
        mixed = int(self.config.ebu_per_share * size)
        indices, diffused = self.episodes.sample(size - mixed)
        weights = np.ones(size, np.float32)
        if mixed:
            prioritized, weights[size - mixed :] = self.sampler.sample(mixed)
            indices = np.concatenate([indices, prioritized])
        return indices, weights, diffused

    def targets(self, batch: Batch, diffused: np.ndarray) -> torch.Tensor:
        """Targets (B,): EBU's where it made them, double Q-learning's for the rest."""
        made = torch.from_numpy(diffused.astype(np.float32)).to(self.config.device)
        return made if len(made) == len(batch.reward) else torch.cat([made, self.agent.targets(batch)[len(made) :]])

    def batch(self, indices: np.ndarray) -> Batch:
        """The transitions in the slots ``indices``, their frames drawn on the learner's device."""
        stored, device = self.memory.get(indices), self.config.device
        return Batch(
            self.pixels.draw(stored["tiles"]),
            torch.from_numpy(stored["action"].astype(np.int64)).to(device),
            torch.from_numpy(stored["reward"]).to(device),
            self.pixels.draw(stored["next_tiles"]),
            torch.from_numpy(stored["absorbing"].astype(np.float32)).to(device),
        )

    @torch.no_grad()
    def next_q(self, indices: np.ndarray) -> np.ndarray:
        """Target network's Q of the next states of the slots ``indices``: float32 (len, actions)."""
        return self.agent.target(self.pixels.draw(self.memory["next_tiles"][indices])).cpu().numpy()

    def sync(self) -> None:
        self.agent.sync()
        if self.discor is not None:
            self.discor.sync()

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Metrics of the current policy and of the learning since the last evaluation.

        ``normalized_return`` maps -MAXSTEPS..MAXSTEPS to 0..1. ``q_overestimation`` is (mean Q - Rmax) / Rmax with
        Rmax = MAXSTEPS and Q(s, a) averaged over the training batches since the last evaluation (Sec. 5.4).
        """
        returns, successes = rollouts(self)
        limit = self.env.max_steps
        metrics = {
            "return": returns.mean(),
            "normalized_return": (returns.mean() + limit) / (2 * limit),
            "success": successes.mean(),
        }
        if self._recorded["q"]:
            mean_q = np.mean(self._recorded["q"]) / self.config.reward_scale
            metrics["q_overestimation"] = (mean_q - limit) / limit
            metrics["loss"] = np.mean(self._recorded["loss"])
        self._recorded = {"loss": [], "q": []}
        if isinstance(self.sampler, TopologicalSampler):
            metrics["vertices"] = len(self.sampler.graph.reached)
            metrics["fallbacks"] = self.sampler.fallbacks
        if self.discor is not None:
            metrics["tau"] = self.discor.tau
        return {name: float(value) for name, value in metrics.items()}


def rollouts(trainer: Trainer) -> tuple[np.ndarray, np.ndarray]:
    """Play ``eval_episodes`` fresh levels side by side: undiscounted returns and successes, both (episodes,)."""
    config = trainer.config
    rng = Streams(config.seed).numpy(f"evaluation at {trainer.step}")
    envs = [make_env(config) for _ in range(config.eval_episodes)]
    tiles = np.stack([env.reset(seed=2 * int(rng.integers(2**31)) + 1)[1]["tiles"] for env in envs])
    returns, successes = np.zeros(len(envs)), np.zeros(len(envs), dtype=bool)
    running = np.arange(len(envs))
    while len(running):
        actions = trainer.agent.act(trainer.pixels.draw(tiles[running]))
        # A greedy policy that bumps into a wall would do so forever: a few random actions set it free.
        noise = rng.random(len(running)) < config.eval_noise
        actions[noise] = rng.integers(trainer.env.n_actions, size=noise.sum())
        ended = np.zeros(len(running), dtype=bool)
        for place, (i, action) in enumerate(zip(running, actions)):
            _, reward, terminated, truncated, info = envs[i].step(action)
            returns[i] += reward
            successes[i] |= info["success"]
            tiles[i] = info["tiles"]
            ended[place] = terminated or truncated
        running = running[~ended]
    return returns, successes


def main(config: Config, run_dir: Path, *, tensorboard: bool = False, progress: bool = False) -> dict:
    """Train as ``config`` says, resuming what ``run_dir`` already holds; returns the last evaluation.

    Raises:
        UserError: settings that cannot work, or a ``run_dir`` that belongs to another run.
    """
    check(config)
    with Run.open(config, run_dir, total_steps=config.steps, tensorboard=tensorboard, progress=progress) as run:
        if run.finished is not None:
            return run.finished
        state = run.load() or {"trainer": Trainer(config), "metrics": {}}
        trainer, metrics = state["trainer"], state["metrics"]
        updates = round(config.replay_ratio * config.update_every)
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
                run.tick(step, **{name: metrics[name] for name in ("return", "success") if name in metrics})
            if step % config.eval_every == 0 or step == config.steps:
                metrics = trainer.evaluate()
                run.log(step, metrics)
                run.save({"trainer": trainer, "metrics": metrics})
        return run.finish({"steps": trainer.step, **metrics}, weights=trainer.agent.q.state_dict())


if __name__ == "__main__":
    cli(Config, main, __doc__)
