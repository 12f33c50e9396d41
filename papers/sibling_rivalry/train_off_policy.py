"""Train the paper's off-policy baselines, with hindsight or dense rewards, and measure how often they reach the goal.

    .venv/bin/python -m papers.sibling_rivalry.train_off_policy --env PointMaze --method ddpg-her --seed 0

The methods share memory and loop; the learner depends on the task's actions:

    ddpg-her   success only, Eq. (1), and hindsight (hindsight.py); continuous actions (ddpg.py)
    dqn-her    the same for discrete actions (dqn.py)
    dqn        minus the distance to the goal after every step, Eq. (2), and no hindsight; discrete actions

In the ant maze these methods train the high level of two (hierarchy.py).

Time is counted in training episodes: an epoch is 50 cycles, 20 in the ant maze, a cycle 80 episodes and then 40
gradient steps.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from common.replay.storage import Fields, Ring, announce, ring_bytes
from common.twins import fast
from envs.goal_task import GoalTask
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Natural, NotNegative, Positive, Share
from papers.sibling_rivalry.agents.ddpg import DDPG, Batch
from papers.sibling_rivalry.agents.dqn import DQN
from papers.sibling_rivalry.agents.fast_ddpg import FastDDPG
from papers.sibling_rivalry.agents.hierarchy import Hierarchy, with_low_level
from papers.sibling_rivalry.agents.hindsight import relabel
from papers.sibling_rivalry.agents.rewards import naive_reward, sparse_reward
from papers.sibling_rivalry.agents.rollouts import Rollouts, play, terminal_states
from papers.sibling_rivalry.agents.tasks import make_task

FAST = {DDPG: FastDDPG}
"""Twins that learn in their place on a CPU, see `common/twins.py`."""
METHODS = ("ddpg-her", "dqn-her", "dqn")
SAVE_EVERY = 5
"""Epochs between checkpoints."""
TURNS = 4
"""Episodes per worker and cycle (Table 2); a low level learns after each."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place where it states them; None: by task."""

    env: str = "PointMaze"
    """Task: PointMaze, Corridor-<length>, UMaze-<length>, TreeMaze-<size>-<seed>, PixelGrid-<size>[-<steps>] or
    AntMaze, AntMazeSmall, AntArena[-<steps per subgoal>]."""
    method: Literal[METHODS] = "ddpg-her"  # type: ignore[valid-type]
    """Learner, rewards and hindsight: see the top of this file."""
    seed: int = 0
    """Seed of all random streams of the run."""
    epochs: Count = 50
    """Training length in epochs of 4,000 episodes: 200,000 in Figs. 3 and 4."""
    device: str = "cpu"
    """Device of the networks: cpu or cuda."""

    cycles: Count | None = None
    """Cycles per epoch. None: 50, or 20 for the ant. Not in the paper; as in the authors' code."""
    episodes: Count = 80
    """Episodes per cycle: 20 workers with 4 each (App. F, Table 2)."""
    updates: Count = 40
    """Gradient steps per cycle (Table 2)."""
    batch_size: Count | None = None
    """Transitions per gradient step. None: 1,280, or 2,560 for discrete actions and the ant: 64 or 128 for each of 20
    workers (Table 2)."""
    capacity: Count | None = None
    """Transitions kept, including relabelled ones. None: 2 million, or 10 million for discrete actions and the ant. Not
    in the paper; as in the authors' code, 100,000 or 500,000 per worker."""
    warmup: Count = 5_120
    """Transitions stored before learning starts. Not in the paper; the authors' code waits for 256 per worker (200 for
    the ant)."""
    lr: Positive = 1e-3
    """Adam's step size (Table 2)."""
    adam_eps: Positive = 1e-3
    """Adam's epsilon. Not in the paper; the authors' code has 1e-3, PyTorch's default is 1e-8."""
    gamma: Share = 0.98
    """Discount (Table 2)."""
    polyak: Share = 0.95
    """Weight of the old target networks in their update, once per cycle (Table 2)."""
    random_actions: Share = 0.2
    """Probability of a uniform action in training (Table 2)."""
    k: Natural = 4
    """Hindsight: goals per step, from the future of its episode. Not in the paper."""

    noise: NotNegative = 0.1
    """DDPG: standard deviation of the action noise, as a share of the action range (Table 2)."""
    action_l2: NotNegative | None = None
    """DDPG: weight of the actions' mean square in the actor's loss. None: 0.25, or 0.0002 for the ant (Table 2)."""

    eval_episodes: Count = 400
    """Episodes per evaluation, one evaluation per epoch, with greedy actions. Not in the paper."""


class OfTask(NamedTuple):
    """Settings whose default (None) depends on the task."""

    cycles: int
    batch_size: int
    capacity: int
    action_l2: float


def of_task(config: Config, task: GoalTask) -> OfTask:
    """The settings; None: as in the authors' code and Table 2, which has columns for mazes, the ant maze and the pixel
    grid (here: discrete actions)."""
    ant = isinstance(task, Hierarchy)
    large = ant or task.action_range is None
    column = OfTask(
        cycles=20 if ant else 50,
        batch_size=2_560 if large else 1_280,
        capacity=10_000_000 if large else 2_000_000,
        action_l2=0.0002 if ant else 0.25,
    )
    given = {name: getattr(config, name) for name in OfTask._fields}
    return column._replace(**{name: value for name, value in given.items() if value is not None})


def replay_layout(config: Config, task: GoalTask) -> tuple[int, Fields]:
    """Capacity, and the fields of a transition: states, which are smaller than observations, and goals in the smallest
    exact type."""
    state = task.starts(1, np.random.default_rng(0))[0]
    discrete = task.action_range is None
    return of_task(config, task).capacity, {
        "state": (state.shape, state.dtype),
        "action": ((), np.int64) if discrete else ((task.n_actions,), np.float32),
        "goal": (task.goal_shape, np.float32 if len(task.goal_shape) == 1 else np.uint8),  # pictures: of 0 and 1
        "reward": ((), np.float32),
        "next_state": (state.shape, state.dtype),
        "terminal": ((), np.bool_),
    }


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay; a sweep adds these up before it starts its runs."""
    return ring_bytes(*replay_layout(config, make_task(config.env)))


class Trainer:
    """The whole state of a run, pickled as one object, so that an interrupted run resumes bit for bit."""

    def __init__(self, config: Config):
        streams = Streams(config.seed)
        self.config, self.task = config, make_task(config.env)
        self.settings = of_task(config, self.task)
        self.rng, self.replay = streams.numpy("rollouts"), streams.numpy("replay")
        self.relabelling = streams.numpy("hindsight")
        discrete = self.task.action_range is None
        if discrete != config.method.startswith("dqn"):
            kind, right = ("discrete", "dqn-her or dqn") if discrete else ("continuous", "ddpg-her")
            raise UserError(f"{config.method} does not work with the {kind} actions of {config.env}; use {right}")
        self.dense = config.method == "dqn"
        self.k = 0 if self.dense else config.k
        if isinstance(self.task, Hierarchy):
            self.task.begin(streams, config.device)
        self.agent = self._make_agent(streams.integer("network"))
        self.memory = self._make_memory()
        self.episodes_done = self.steps_done = self.evaluations = 0
        self._log: list[dict[str, float]] = []

    def _make_agent(self, seed: int) -> DDPG | DQN:
        c = self.config
        settings: dict = dict(
            lr=c.lr, adam_eps=c.adam_eps, gamma=c.gamma, polyak=c.polyak, random_actions=c.random_actions, seed=seed,
            device=c.device,
        )  # fmt: skip
        if self.task.action_range is None:
            return DQN(self.task, **settings)
        settings |= dict(noise=c.noise, action_l2=self.settings.action_l2)
        return fast(DDPG, FAST, c.device)(self.task, **settings)

    def _make_memory(self) -> Ring:
        c, (capacity, fields) = self.config, replay_layout(self.config, self.task)
        most = (1 + self.k) * c.episodes * self.task.max_steps
        for name, needed in {"batch_size": self.settings.batch_size, "warmup": c.warmup, "a cycle": most}.items():
            if capacity < needed:
                raise UserError(f"a capacity of {capacity} is too small: {name} needs {needed} transitions")
        announce(capacity, fields)
        return Ring(capacity, fields)

    # --- one cycle ----------------------------------------------------------------------------------------------------

    def cycle(self) -> dict[str, float]:
        """Play and store the cycle's episodes, then learn. Returns metrics."""
        n = self.config.episodes
        starts, goals = self.task.starts(n, self.rng), self.task.goals(n, self.rng)
        rollouts, entry = self.rollouts(starts, goals)
        self.store(rollouts)
        entry |= {"train_success": float(rollouts.reached.mean())}
        if len(self.memory) >= self.config.warmup:
            entry |= self.learn()
        self.episodes_done += n
        self.steps_done += int(rollouts.lengths.sum()) * self.task.interval
        self._log.append(entry)
        return entry

    def rollouts(self, starts: np.ndarray, goals: np.ndarray) -> tuple[Rollouts, dict[str, float]]:
        """Episodes to learn from, and metrics of the low level, if there is one: it learns meanwhile."""
        if isinstance(self.task, Hierarchy):
            return self.task.practise(self.explore, starts, goals, self.rng, TURNS)
        return self.explore(starts, goals, self.rng), {}

    def explore(self, starts: np.ndarray, goals: np.ndarray, rng: np.random.Generator) -> Rollouts:
        """Episodes with noise on the actions."""
        return play(self.task, partial(self.agent.explore, rng=rng), starts, goals, rng)

    def store(self, rollouts: Rollouts) -> None:
        """Store every step, once with the goal that was pursued and up to k times with goals in hindsight."""
        task, states = self.task, rollouts.states
        achieved = task.achieved(states.reshape(-1, *states.shape[2:])).reshape(*states.shape[:2], *task.goal_shape)
        episodes, steps = np.nonzero(rollouts.running)
        goals, last = rollouts.goals[episodes], steps == rollouts.lengths[episodes] - 1
        reached = last & rollouts.reached[episodes]
        if self.dense:
            rewards = naive_reward(task.distance(achieved[episodes, steps + 1], goals), reached)
        else:
            more = relabel(achieved, rollouts.lengths, task.success, self.k, self.relabelling)
            episodes, steps = np.append(episodes, more.episodes), np.append(steps, more.steps)
            goals, reached = np.concatenate([goals, more.goals]), np.append(reached, more.reached)
            rewards = sparse_reward(reached)
        self.memory.extend(
            state=states[episodes, steps], action=rollouts.actions[episodes, steps], goal=goals, reward=rewards,
            next_state=states[episodes, steps + 1], terminal=reached,
        )  # fmt: skip

    def learn(self) -> dict[str, float]:
        """The cycle's gradient steps, each on a uniformly drawn batch, and one update of the target networks."""
        slots = self.replay.integers(len(self.memory), size=(self.config.updates, self.settings.batch_size))
        results = [torch.stack(self.agent.update(self.batch(batch))) for batch in slots]
        self.agent.sync()
        loss, q = torch.stack(results).mean(dim=0).tolist()
        return {"critic_loss": loss, "q_mean": q}

    def batch(self, slots: np.ndarray) -> Batch:
        """The transitions in the slots [n] as observations, on the learner's device."""
        task, stored = self.task, self.memory.get(slots)
        following = stored["next_state"]
        legal = task.legal(following)
        return Batch(
            observations=self._tensor(task.observe(stored["state"])),
            actions=self._tensor(stored["action"]),
            goals=self._tensor(stored["goal"].astype(np.float32, copy=False)),
            rewards=self._tensor(stored["reward"]),
            next_observations=self._tensor(task.observe(following)),
            terminal=self._tensor(stored["terminal"].astype(np.float32)),
            next_legal=None if legal is None else self._tensor(legal),
        )

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.config.device)

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Metrics of the greedy policy, with a greedy low level, and means over the cycles since the last evaluation.

        ``q_mean`` is the mean of Q(s, a) over the replayed transitions.
        """
        task, n = self.task, self.config.eval_episodes
        task = task.greedily() if isinstance(task, Hierarchy) else task
        rng = Streams(self.config.seed).numpy(f"evaluation at {self.episodes_done}")
        rollouts = play(task, self.agent.act, task.starts(n, rng), task.goals(n, rng), rng)
        metrics = {
            "success": float(rollouts.reached.mean()),
            "distance": float(task.distance(rollouts.ends, rollouts.goals).mean()),
            "env_steps": self.steps_done,
        }
        for name in dict.fromkeys(name for entry in self._log for name in entry):
            metrics[name] = float(np.mean([entry[name] for entry in self._log if name in entry]))
        self._log = []
        metrics |= terminal_states(rollouts, self.evaluations)
        self.evaluations += 1
        return metrics


def train(run: Run, trainer: Trainer) -> dict:
    """Train to the end; returns the last evaluation."""
    while trainer.evaluations < trainer.config.epochs:
        for _ in range(trainer.settings.cycles):
            entry = trainer.cycle()
            run.check_finite(trainer.episodes_done, **{k: value for k, value in entry.items() if k.endswith("loss")})
            run.tick(trainer.episodes_done)
        run.log(trainer.episodes_done, trainer.evaluate())
        if trainer.evaluations % SAVE_EVERY == 0:
            run.save(trainer)
    summary = {name: value for name, value in run.last.items() if not name.startswith("end ")}
    weights = with_low_level(trainer.task, trainer.agent.weights())
    return run.finish({"episodes": trainer.episodes_done, **summary}, weights=weights)


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or resume there; returns the summary. See `lab.run.runs.execute`."""
    return execute(
        config, run_dir, train, Trainer, unit="episode", score="success",
        total=lambda one: config.epochs * one.settings.cycles * config.episodes, **options,
    )  # fmt: skip


if __name__ == "__main__":
    cli(Config, main, __doc__)
