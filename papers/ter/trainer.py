"""What the train scripts of this paper share: one environment step, one gradient step, evaluation, the loop.

The five methods share the network, the losses and the loop below. They differ in which transitions a batch holds
(``per``, ``ebu``, ``ter``), in the targets (``ebu``) and in the weights of the loss (``per``, ``discor``, ``ter``).

The worlds are those of ``train.py`` (MiniGrid), ``train_sokoban.py`` and ``train_atari.py``, each with its settings and
what else differs there.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from common.pixels import SymbolicPixels
from common.replay.samplers import PrioritizedSampler, UniformSampler
from common.replay.storage import Fields, Ring, announce
from common.schedules import linear
from lab.runs import Run, Streams
from papers.ter.discor import DisCor
from papers.ter.dqn import Batch, DoubleDQN, Optimizer
from papers.ter.ebu import EpisodicSampler
from papers.ter.topological import RandomProjection, ReverseSweep, TopologicalSampler, TransitionGraph


def replay_fields(grid_shape: tuple[int, ...]) -> Fields:
    """What the memory keeps of a transition between two states of tiles."""
    return {
        "tiles": (grid_shape, np.uint8), "action": ((), np.uint8), "reward": ((), np.float32),
        "next_tiles": (grid_shape, np.uint8), "absorbing": ((), np.bool_),
    }  # fmt: skip


class Trainer:
    """All that a run in a world of tiles consists of. Pickled as a whole, so that an interrupted run goes on bit for
    bit.

    A *state* is what the memory keeps of an observation: its tile codes. Atari, whose states are stacks of frames,
    overrides the methods of the section on states and memory.
    """

    optimizer: Optimizer = "adam"
    observation: np.ndarray
    """What the environment shows; TER's vertices are made of it."""
    state: np.ndarray

    def __init__(self, config: Any):
        streams = Streams(config.seed)
        self.config = config
        self.step = 0
        self.env: Any = self.make_env()
        self.n_actions = int(self.env.action_space.n)
        self.levels = streams.numpy("levels")
        self.exploration = streams.numpy("exploration")
        self.epsilon = linear(1.0, config.epsilon_end, config.epsilon_steps)
        self.memory: Any = self.make_memory()

        shape, n_actions = self.input_shape(), self.n_actions
        seed = streams.integer("network")
        self.agent = DoubleDQN(shape, n_actions, config.lr, config.gamma, seed, config.device, self.optimizer)
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
                self.agent, shape, n_actions, config.lr, seed, config.device, config.discor_tau,
                config.discor_released, self.optimizer,
            )  # fmt: skip
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
        sweep = self.make_sweep(random.Random(streams.integer("sweep")))
        size = int(np.prod(self.env.observation_space.shape))
        phi = RandomProjection(c.projection_dim, size, streams.numpy("projection"))
        return TopologicalSampler(sweep.graph, sweep, prioritized, c.eta, phi)

    # --- what a world says of itself ----------------------------------------------------------------------------------

    def make_env(self, training: bool = True) -> Any:
        """A new environment, for training or for evaluation."""
        raise NotImplementedError

    def return_range(self) -> tuple[float, float]:
        """The returns that normalised returns of 0 and 1 stand for."""
        raise NotImplementedError

    def make_sweep(self, rng: random.Random) -> ReverseSweep:
        """TER's search, on a graph of its own."""
        c = self.config
        return ReverseSweep(TransitionGraph(c.capacity), rng, c.roots, c.predecessors)

    # --- states and memory --------------------------------------------------------------------------------------------

    def input_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of what the network sees."""
        return self.env.observation_space.shape

    def make_memory(self) -> Any:
        """The replay memory; its arrays "reward" and "action" are read by slot."""
        fields = replay_fields(self.env.grid_shape)
        announce(self.config.capacity, fields)
        height, _, _ = self.input_shape()
        self.pixels = SymbolicPixels(self.env.tiles, self.env.grid_shape, height, self.config.device)
        return Ring(self.config.capacity, fields)

    def new_episode(self) -> tuple[np.ndarray, dict]:
        """Reset the environment: first observation and info."""
        # Levels are functions of their seed. Training takes even seeds and evaluation odd ones: never the same draw.
        return self.env.reset(seed=2 * int(self.levels.integers(2**31)))

    def first(self, observation: np.ndarray, info: dict) -> np.ndarray:
        """The state at the start of an episode."""
        return info["tiles"]

    def following(self, state: np.ndarray, observation: np.ndarray, info: dict) -> np.ndarray:
        """The state after ``state``."""
        return info["tiles"]

    def draw(self, states: np.ndarray) -> Tensor:
        """States (n, ...) as the network sees them: float32 (n, channels, height, width) in [0, 1]."""
        return self.pixels.draw(states)

    def learnt_reward(self, reward: float) -> float:
        """The reward as it is stored."""
        return reward * self.config.reward_scale

    def store(self, action: int, reward: float, observation, next_state, absorbing: bool, ended: bool) -> int:
        """Put the transition from the current state into the memory; returns its slot."""
        return self.memory.add(
            tiles=self.state, action=action, reward=reward, next_tiles=next_state, absorbing=absorbing
        )

    def batch(self, indices: np.ndarray) -> Batch:
        """The transitions in the slots ``indices``, their pictures drawn on the learner's device."""
        stored, device = self.memory.get(indices), self.config.device
        return Batch(
            self.draw(stored["tiles"]),
            torch.from_numpy(stored["action"].astype(np.int64)).to(device),
            torch.from_numpy(stored["reward"]).to(device),
            self.draw(stored["next_tiles"]),
            torch.from_numpy(stored["absorbing"].astype(np.float32)).to(device),
        )

    def next_states(self, indices: np.ndarray) -> np.ndarray:
        """States (len, ...) after the transitions in the slots ``indices``."""
        return self.memory["next_tiles"][indices]

    # --- one environment step -----------------------------------------------------------------------------------------

    def interact(self) -> None:
        """Act epsilon-greedily, store the transition, start a new episode where one has ended."""
        if self.exploration.random() < self.epsilon(self.step):
            action = int(self.exploration.integers(self.n_actions))
        else:
            action = int(self.agent.act(self.draw(self.state[None]))[0])
        observation, reward, terminated, truncated, info = self.env.step(action)
        next_state = self.following(self.state, observation, info)
        ended = terminated or truncated
        absorbing = terminated or (truncated and self.config.timeout_is_done)
        index = self.store(action, self.learnt_reward(reward), observation, next_state, absorbing, ended)
        if self.config.method == "ter":
            self.sampler.add(index, self.observation, reward, observation, terminated, ended)
        else:
            self.sampler.add(index)
        if self.episodes is not None:
            self.episodes.add(absorbing, ended, time_out=not terminated)
        self.step += 1
        self.observation, self.state = observation, next_state
        if ended:
            self._reset()

    def _reset(self) -> None:
        self.observation, info = self.new_episode()
        self.state = self.first(self.observation, info)

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

    def targets(self, batch: Batch, diffused: np.ndarray) -> Tensor:
        """Targets (B,): EBU's where it made them, double Q-learning's for the rest."""
        made = torch.from_numpy(diffused.astype(np.float32)).to(self.config.device)
        return made if len(made) == len(batch.reward) else torch.cat([made, self.agent.targets(batch)[len(made) :]])

    @torch.no_grad()
    def next_q(self, indices: np.ndarray) -> np.ndarray:
        """Target network's Q of the next states of the slots ``indices``: float32 (len, actions)."""
        return self.agent.target(self.draw(self.next_states(indices))).cpu().numpy()

    def sync(self) -> None:
        self.agent.sync()
        if self.discor is not None:
            self.discor.sync()

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Metrics of the current policy and of the learning since the last evaluation.

        ``normalized_return`` maps `return_range` to 0..1. ``q_overestimation`` is (mean Q - Rmax) / Rmax with Rmax the
        upper end of that range and Q(s, a) averaged over the training batches since the last evaluation (Sec. 5.4).
        """
        metrics = self.judge(*rollouts(self))
        if self._recorded["q"]:
            metrics |= self.judge_q(float(np.mean(self._recorded["q"])) / self.config.reward_scale)
            metrics["loss"] = np.mean(self._recorded["loss"])
        self._recorded = {"loss": [], "q": []}
        if isinstance(self.sampler, TopologicalSampler):
            metrics["vertices"] = len(self.sampler.graph.reached)
            metrics["fallbacks"] = self.sampler.fallbacks
        if self.discor is not None:
            metrics["tau"] = self.discor.tau
        return {name: float(value) for name, value in metrics.items()}

    def judge(self, returns: np.ndarray, successes: np.ndarray) -> dict[str, Any]:
        """Metrics of the evaluation episodes."""
        low, high = self.return_range()
        return {
            "return": returns.mean(),
            "normalized_return": (returns.mean() - low) / (high - low),
            "success": successes.mean(),
        }

    def judge_q(self, mean_q: float) -> dict[str, Any]:
        """Metrics of Q(s, a) in the training batches."""
        _, high = self.return_range()
        return {"q_overestimation": (mean_q - high) / high}


def rollouts(trainer: Trainer) -> tuple[np.ndarray, np.ndarray]:
    """Play ``eval_episodes`` fresh levels side by side: undiscounted returns and successes, both (episodes,)."""
    config = trainer.config
    rng = Streams(config.seed).numpy(f"evaluation at {trainer.step}")
    envs = [trainer.make_env(training=False) for _ in range(config.eval_episodes)]
    states = np.stack([trainer.first(*env.reset(seed=2 * int(rng.integers(2**31)) + 1)) for env in envs])
    returns, successes = np.zeros(len(envs)), np.zeros(len(envs), dtype=bool)
    running = np.arange(len(envs))
    while len(running):
        actions = trainer.agent.act(trainer.draw(states[running]))
        # A greedy policy that bumps into a wall would do so forever: a few random actions set it free.
        noise = rng.random(len(running)) < config.eval_noise
        actions[noise] = rng.integers(trainer.n_actions, size=noise.sum())
        ended = np.zeros(len(running), dtype=bool)
        for place, (i, action) in enumerate(zip(running, actions)):
            observation, reward, terminated, truncated, info = envs[i].step(action)
            returns[i] += reward
            successes[i] |= info.get("success", False)
            states[i] = trainer.following(states[i], observation, info)
            ended[place] = terminated or truncated
        running = running[~ended]
    for env in envs:
        env.close()
    return returns, successes


def train(
    make_trainer: Callable[[Any], Trainer], config: Any, run_dir: Path, *, tensorboard: bool = False, progress: bool
) -> dict:
    """Train as ``config`` says, resuming what ``run_dir`` already holds; returns the last evaluation.

    Raises:
        UserError: settings that cannot work, or a ``run_dir`` that belongs to another run.
    """
    fresh = make_trainer(config)  # before there is a run directory: settings that it rejects leave none behind
    with Run.open(config, run_dir, total_steps=config.steps, tensorboard=tensorboard, progress=progress) as run:
        if run.finished is not None:
            return run.finished
        state = run.load() or {"trainer": fresh, "metrics": {}}
        del fresh
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
                run.tick(step)
            if step % config.eval_every == 0 or step == config.steps:
                metrics = trainer.evaluate()
                run.log(step, metrics)
                run.save({"trainer": trainer, "metrics": metrics})
        return run.finish({"steps": trainer.step, **metrics}, weights=trainer.agent.q.state_dict())
