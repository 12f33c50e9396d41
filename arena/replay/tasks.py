"""The arena's tasks. A task fixes its agent, the agent's settings and the length of a run.

Lengths were chosen by the cost of a run with uniform replay, see README.md. Settings not given here have the defaults
of the agent's room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from arena.replay import continuous, goal_agents, tile_dqn
from arena.replay.ideas import IDEAS, Joining
from arena.replay.joined import Joined, Seen
from common.replay.protocol import Sampler
from envs.minigrid.tasks import MiniGridTask
from lab.run.runs import Run
from papers.bias_reduced_her import train as throwing
from papers.bias_reduced_her import train_bitflip
from papers.ners import train as sac
from papers.ter import train as dqn
from papers.ter import train_sokoban as sokoban

BUDGETS = ("smoke", "quick")


@dataclass(frozen=True)
class Agent:
    """A kind of agent.

    train, replay_bytes: its room's functions. provides: what it gives to samplers; told: those of the signals that its
    loop passes on itself. unit: what a step of a run is.
    """

    name: str
    train: Callable[[Run, Any], dict]
    replay_bytes: Callable[[Any], int]
    provides: frozenset[str]
    told: frozenset[str]
    unit: str = "step"

    def steps(self, config: Any) -> int:
        """Number of steps of a run."""
        if self.unit == "step":
            return config.steps
        return config.epochs * config.cycles * config.episodes


DQN = Agent("double DQN", dqn.train, dqn.replay_bytes, tile_dqn.PROVIDES, tile_dqn.TOLD)
PUSHER = replace(DQN, replay_bytes=sokoban.replay_bytes)
GOAL_DQN = Agent(
    "double DQN", train_bitflip.train, train_bitflip.replay_bytes, goal_agents.PROVIDES, goal_agents.TOLD,
    "episode",
)  # fmt: skip
SAC = Agent("SAC", sac.train, sac.replay_bytes, continuous.PROVIDES, continuous.TOLD)
DDPG = Agent(
    "DDPG", throwing.train, throwing.replay_bytes, goal_agents.PROVIDES, goal_agents.TOLD,
    "episode",
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """trainer: makes a run from a room's config and a join. config: the room's, at quick. smoke: settings that differ
    at smoke. score: the metric by which ideas are compared."""

    agent: Agent
    trainer: Callable[[Any, tile_dqn.Join], Any]
    config: Any
    smoke: dict[str, Any]
    score: str


KNOWN = "normalized_return_known"
"""Return, 0 to 1, on the levels of training, few enough to be learnt in a minute."""
SMALL_DQN: dict[str, Any] = dict(
    steps=480, capacity=400, warmup=160, epsilon_steps=300, target_interval=100, eval_every=240, eval_episodes=3
)


def _tiles(config: Any, steps: int, **changed: Any) -> Any:
    """Set schedules as shares of the run: nothing is forgotten, exploration decays over half of it, ten evaluations."""
    usual: dict[str, Any] = dict(
        method="uer", steps=steps, capacity=steps, warmup=steps // 20, epsilon_steps=steps // 2, target_interval=500,
        eval_every=steps // 10, eval_episodes=20, network="codes", scale_output=True, batch_size=32,
    )  # fmt: skip
    return replace(config, **usual | changed)


def _crossing(env: str, steps: int) -> Task:
    """The Huber loss bends at the largest return; with the bend at 1, no agent learns a crossing in this time."""
    config = dqn.Config(env, huber_delta=float(MiniGridTask(env).max_steps))
    return Task(DQN, tile_dqn.TileTrainer, _tiles(config, steps), SMALL_DQN, "normalized_return")


def _sac(env: str, steps: int) -> Any:
    """Scores come every 1,000 steps, first at the end of the random steps."""
    return sac.Config(
        env, "random-iid", "sac", steps=steps, random_steps=1_000, capacity=steps, batch_size=64, eval_every=200,
        score_starts=3,
    )  # fmt: skip


SMALL_SAC: dict[str, Any] = dict(steps=300, capacity=300, random_steps=60, batch_size=16, score_starts=1)
SMALL_HER: dict[str, Any] = dict(epochs=2, cycles=2, episodes=4, updates=5, capacity=5_000, eval_episodes=3)

TASKS: dict[str, Task] = {
    "NChain-20": Task(DQN, tile_dqn.ChainTrainer, _tiles(dqn.Config(), 10_000), SMALL_DQN, "success"),
    "SimpleCrossing-Easy": _crossing("SimpleCrossing-Easy", 100_000),
    "LavaCrossing-Easy": _crossing("LavaCrossing-Easy", 200_000),
    "Sokoban-5x5-1": Task(
        PUSHER, tile_dqn.SokobanTrainer, _tiles(sokoban.Config("5x5-1", levels=4), 15_000), SMALL_DQN, KNOWN
    ),
    "BitFlip-6": Task(
        GOAL_DQN, goal_agents.BitFlipTrainer,
        train_bitflip.Config("BitFlip-6", "none", epochs=10, epsilon_decay=0.75, capacity=100_000), SMALL_HER,
        "success",
    ),
    "SparsePendulum": Task(SAC, continuous.SACTrainer, _sac("SparsePendulum", 15_000), SMALL_SAC, "score"),
    "Hopper-v4": Task(SAC, continuous.SACTrainer, _sac("Hopper-v4", 10_000), SMALL_SAC, "score"),
    "HalfCheetah-v5": Task(SAC, continuous.SACTrainer, _sac("HalfCheetah-v5", 10_000), SMALL_SAC, "score"),
    "Hand": Task(
        DDPG, goal_agents.ThrowTrainer,
        throwing.Config("Hand", "none", epochs=25, epsilon_decay=0.8, capacity=200_000, eval_episodes=50),
        SMALL_HER | {"eval_every": 1}, "success",
    ),
}  # fmt: skip


def room_config(env: str, idea: str, seed: int, steps: int | None, budget: str) -> Any:
    """Config of the agent's room for a run of the arena. steps: None takes the task's."""
    task = TASKS[env]
    config = replace(task.config, seed=seed, **(task.smoke if budget == "smoke" else {}))
    if task.agent.unit == "episode":
        config = replace(config, method=IDEAS[idea].relabel)
        if steps is not None:
            config = replace(config, epochs=max(steps // (config.cycles * config.episodes), 1))
    elif steps is not None:
        config = replace(config, steps=steps)
    return config


def make(env: str, idea: str, config: Any) -> Any:
    """Create the task's trainer with the idea; config: from `room_config`."""
    task = TASKS[env]
    trainer = continuous.ReferTrainer if idea == "refer" else task.trainer

    def join(one: Any) -> Sampler:
        memory, fields = getattr(one, "vectors", (None, ()))
        seen = Seen(one.capacity, one.horizon, memory, fields)
        sampler = IDEAS[idea].make(Joining(one, getattr(config, "huber_delta", None), seen))
        return Joined(sampler, one, one.capacity, task.agent.told, seen if idea in ("ners", "ero") else None)

    return trainer(config, join)
