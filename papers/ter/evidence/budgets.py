"""The worlds of this paper: their tasks, train scripts, and budgets at each scale."""

from dataclasses import dataclass
from typing import Any

from envs import minigrid_tasks
from envs.sokoban import BOX_REWARD, SOLVED_REWARD
from papers.ter import train, train_atari, train_sokoban

TASKS = tuple(minigrid_tasks.TASKS)
SOKOBAN = tuple(train_sokoban.TASKS)
GAMES = tuple(train_atari.SCORES)
FRESH = 10
"""First seed at quick: those below have been seen while its settings were chosen."""
SEEDS = {"smoke": 1, "quick": 5, "full": 5}
"""Runs per method and task."""
FEW = {**SEEDS, "quick": 3}
"""Of what costs more at quick (MiniGrid beside Figs. 3 and 6, own-network, DreamerV2), and of K.13, whose runs are
equal."""


@dataclass(frozen=True)
class World:
    """Tasks with one train script, and their budgets. Where a budget says nothing, the script's defaults hold: the
    paper's."""

    script: str
    config: type[Any]
    tasks: tuple[str, ...]
    smoke: dict
    quick: dict
    longer: dict[tuple[str, str], dict]
    """(scale, task): what differs there."""


MINIGRID = World(
    "papers.ter.train:main", train.Config, TASKS,
    smoke=dict(
        steps=480, capacity=400, warmup=160, epsilon_steps=300, target_interval=100, eval_every=240, eval_episodes=3
    ),
    quick=dict(
        steps=200_000, capacity=200_000, warmup=10_000, epsilon_steps=100_000, eval_every=10_000, eval_episodes=30,
        network="codes", scale_output=True,
    ),
    longer={
        ("full", "DoorKey"): dict(steps=6_000_000),
    },
)  # fmt: skip
SOKOBAN_WORLD = World(
    "papers.ter.train_sokoban:main", train_sokoban.Config, SOKOBAN,
    smoke=dict(
        steps=280, capacity=200, warmup=130, epsilon_steps=200, target_interval=100, eval_every=140, eval_episodes=2,
        pixels=40,
    ),
    quick=dict(
        steps=100_000, capacity=100_000, warmup=5_000, epsilon_steps=50_000, target_interval=1_000, eval_every=10_000,
        eval_episodes=30, network="codes", scale_output=True,
    ),
    longer={
        ("full", "6x6-2"): dict(steps=5_000_000),
        ("full", "6x6-3"): dict(steps=10_000_000),
        ("full", "7x7-1"): dict(steps=3_000_000),
        ("full", "7x7-2"): dict(steps=5_000_000),
    },
)  # fmt: skip
ATARI = World(
    "papers.ter.train_atari:main", train_atari.Config, GAMES,
    smoke=dict(
        steps=120, capacity=100, warmup=60, epsilon_steps=100, target_interval=20, eval_every=60, eval_episodes=1
    ),
    quick=dict(
        steps=5_000, capacity=5_000, warmup=250, epsilon_steps=2_500, target_interval=125, eval_every=1_000,
        eval_episodes=3,
    ),
    longer={},
)  # fmt: skip
LARGEST_RETURN = {task: minigrid_tasks.MiniGridTask(task).max_steps for task in TASKS} | {
    task: SOLVED_REWARD + BOX_REWARD * boxes for task, (_, boxes) in train_sokoban.TASKS.items()
}

QUICK = ("SimpleCrossing-Easy", "5x5-1", "5x5-2")
"""Tasks of Fig. 3 at quick: README, registered before the runs, says why these."""


def world_of(task: str) -> World:
    """The world that a task belongs to."""
    [world] = [world for world in (MINIGRID, SOKOBAN_WORLD, ATARI) if task in world.tasks]
    return world
