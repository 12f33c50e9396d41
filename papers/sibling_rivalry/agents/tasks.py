"""The tasks by name: PointMaze, Corridor-10, UMaze-10, TreeMaze-10-3, PixelGrid-13, PixelGrid-7-25, AntMaze."""

from __future__ import annotations

from collections.abc import Callable

from envs.goal_task import GoalTask
from envs.maze.point_maze import corridor, point_maze, tree_maze, u_maze
from envs.pixel_grid import PixelGrid
from lab.run.errors import UserError
from papers.sibling_rivalry.agents.hierarchy import INTERVAL, Hierarchy

SHORT_OF_STEPS: dict = dict(minibatches=16, adam_eps=1e-8)
"""The low level's learner where it has a fifth of the paper's steps: it learns more from each (NOTEBOOK,
"Registered before the runs")."""


def ant(layout: str, reach: float, **learning) -> Callable[..., Hierarchy]:
    """A function from the steps per subgoal to an ant maze with two levels."""

    def make(interval: int = INTERVAL) -> Hierarchy:
        try:
            from envs.ant.ant_maze import AntMaze  # imported here: no other task needs MuJoCo
        except ImportError as error:
            raise ValueError(f"needs MuJoCo ({error}): pip install -r requirements.txt") from None
        return Hierarchy(AntMaze(layout), reach, interval, **learning)

    return make


def _ant_form(name: str) -> str:
    return f"{name} or {name}-<steps per subgoal>"


MAKERS: dict[str, tuple[Callable[..., GoalTask], str, int, int]] = {
    "PointMaze": (point_maze, "PointMaze", 0, 0),
    "Corridor": (corridor, "Corridor-<length>", 1, 1),
    "UMaze": (u_maze, "UMaze-<length>", 1, 1),
    "TreeMaze": (tree_maze, "TreeMaze-<size>-<seed>", 2, 2),
    "PixelGrid": (PixelGrid, "PixelGrid-<size> or PixelGrid-<size>-<steps>", 1, 2),
    "AntMaze": (ant("U", 5.0), _ant_form("AntMaze"), 0, 1),
    "AntMazeSmall": (ant("small U", 2.5, **SHORT_OF_STEPS), _ant_form("AntMazeSmall"), 0, 1),
    "AntArena": (ant("arena", 2.5, **SHORT_OF_STEPS), _ant_form("AntArena"), 0, 1),
}
"""Name -> (constructor, its written form, fewest and most numbers in it)."""


def make_task(name: str) -> GoalTask:
    """The task called `name`. UserError for an unknown name or an impossible number."""
    kind, *numbers = name.split("-")
    if kind not in MAKERS:
        raise UserError(f"unknown env {name!r}; choose from: {', '.join(form for _, form, _, _ in MAKERS.values())}")
    maker, form, fewest, most = MAKERS[kind]
    if not fewest <= len(numbers) <= most or not all(number.isdecimal() for number in numbers):
        raise UserError(f"unknown env {name!r}: write {form}")
    try:
        return maker(*map(int, numbers))
    except ValueError as error:
        raise UserError(f"env {name!r}: {error}") from None
