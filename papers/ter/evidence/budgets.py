"""The worlds of this paper: their train scripts, tasks, and budgets at each scale."""

from types import ModuleType
from typing import Any, NamedTuple

from envs import minigrid
from envs.sokoban.game import BOX_REWARD, SOLVED_REWARD
from lab.sweep.grid import Scales
from papers.ter import train, train_atari, train_sokoban
from papers.ter.worlds import atari, sokoban

TASKS = tuple(minigrid.TASKS)
SOKOBAN = tuple(sokoban.TASKS)
GAMES = tuple(atari.SCORES)
LARGEST_RETURN = {task: minigrid.MiniGridTask(task).max_steps for task in TASKS} | {
    task: SOLVED_REWARD + BOX_REWARD * boxes for task, (_, boxes) in sokoban.TASKS.items()
}
KINDS = ("Simple", "Lava")
"""Of crossings."""
QUICK = ("SimpleCrossing-Easy", "5x5-1", "5x5-2")
"""Tasks of Fig. 3 at quick: NOTEBOOK, registered before the runs, says why these."""


class World(NamedTuple):
    """Tasks with one train script. Where the budget says nothing, the script's defaults hold: the paper's."""

    script: ModuleType
    tasks: tuple[str, ...]
    budget: Scales
    longer: dict[str, Scales]
    """Task -> what differs from the budget."""


def _laptop(steps: int, **more: Any) -> dict[str, Any]:
    """The memory holds all of a run; a twentieth of it is warm-up, and after half of it exploration is at its end."""
    return dict(steps=steps, capacity=steps, warmup=steps // 20, epsilon_steps=steps // 2, **more)


def _nights(steps: int, **more: Any) -> dict[str, Any]:
    """Warm-up, memory and target interval are the paper's; exploration is at its end after half of the run."""
    return dict(
        steps=steps, epsilon_steps=steps // 2, eval_every=steps // 20, network="codes", scale_output=True, **more
    )


def _steps(full: int) -> Scales:
    return Scales(full=dict(steps=full), long={})


def at_r_max(task: str) -> dict[str, Any]:
    """The loss bends, and PER cuts off, where returns end and not at 1."""
    return dict(huber_delta=float(LARGEST_RETURN[task]), per_clip=float(LARGEST_RETURN[task]))


MINIGRID = World(
    train, TASKS,
    Scales(
        smoke=dict(
            steps=480, capacity=400, warmup=160, epsilon_steps=300, target_interval=100, eval_every=240,
            eval_episodes=3,
        ),
        quick=_laptop(200_000, eval_every=10_000, eval_episodes=30, network="codes", scale_output=True),
        long=_nights(500_000),
    ),
    {"DoorKey": _steps(6_000_000)} | {f"{kind}Crossing-Easy": Scales(long=_nights(300_000)) for kind in KINDS},
)  # fmt: skip
SOKOBAN_WORLD = World(
    train_sokoban, SOKOBAN,
    Scales(
        smoke=dict(
            steps=280, capacity=200, warmup=130, epsilon_steps=200, target_interval=100, eval_every=140,
            eval_episodes=2, pixels=40,
        ),
        quick=_laptop(
            100_000, target_interval=1_000, eval_every=10_000, eval_episodes=30, network="codes", scale_output=True
        ),
        long=_nights(1_000_000),
    ),
    {
        "6x6-2": _steps(5_000_000), "6x6-3": _steps(10_000_000), "7x7-1": _steps(3_000_000),
        "7x7-2": _steps(5_000_000),
    },
)  # fmt: skip
ATARI = World(
    train_atari, GAMES,
    Scales(
        smoke=dict(
            steps=120, capacity=100, warmup=60, epsilon_steps=100, target_interval=20, eval_every=60, eval_episodes=1
        ),
        quick=_laptop(5_000, target_interval=125, eval_every=1_000, eval_episodes=3),
    ),
    {},
)  # fmt: skip
WORLDS = (MINIGRID, SOKOBAN_WORLD, ATARI)
