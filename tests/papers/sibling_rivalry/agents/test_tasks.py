"""Tasks by their names, and names that are none."""

import sys

import numpy as np
import pytest

from lab.run.errors import UserError
from papers.sibling_rivalry.agents.tasks import MAKERS, make_task


@pytest.mark.parametrize(("name", "observation_shape", "max_steps", "far"), [
    ("PointMaze", (2,), 50, (9, 9)),
    ("Corridor-7", (2,), 50, (7, 0)),
    ("UMaze-4", (2,), 50, (0, 2)),
    ("TreeMaze-6-3", (2,), 50, (5, 5)),
    ("PixelGrid-13", (2, 13, 13), 50, None),
    ("PixelGrid-7-25", (2, 7, 7), 25, None),
    ("AntMaze", (30,), 25, None),
    ("AntMazeSmall-40", (30,), 10, None),
    ("AntArena", (30,), 20, None),
])  # fmt: skip
def test_a_name_makes_its_task(name, observation_shape, max_steps, far):
    """far: the cell of the goal."""
    task = make_task(name)
    assert (task.observation_shape, task.max_steps) == (observation_shape, max_steps)
    if far is not None:
        assert np.round(task.goals(5, np.random.default_rng(0))).tolist() == [list(far)] * 5


def test_the_numbers_of_a_tree_maze_are_size_and_seed():
    mazes = {name: make_task(name) for name in ("TreeMaze-6-3", "TreeMaze-6-4", "TreeMaze-7-3")}
    walls = {name: maze.walls().tolist() for name, maze in mazes.items()}
    assert walls["TreeMaze-6-3"] == make_task("TreeMaze-6-3").walls().tolist() != walls["TreeMaze-6-4"]
    assert [len(maze.cells) for maze in mazes.values()] == [36, 36, 49]


@pytest.mark.parametrize("name", ["pointmaze", "", "Maze-3", "CartPole-v1"])
def test_unknown_kinds_are_answered_with_all_there_are(name):
    with pytest.raises(
        UserError, match=f"unknown env '{name}'; choose from: PointMaze, Corridor-<length>, .*PixelGrid-<"
    ) as e:
        make_task(name)
    assert all(form in str(e.value) for _, form, _, _ in MAKERS.values())


@pytest.mark.parametrize(("name", "form"), [
    ("PointMaze-10", "PointMaze$"),
    ("Corridor", "Corridor-<length>"),
    ("Corridor-3-3", "Corridor-<length>"),
    ("Corridor--3", "Corridor-<length>"),
    ("Corridor-", "Corridor-<length>"),
    ("UMaze-two", "UMaze-<length>"),
    ("UMaze-2.5", "UMaze-<length>"),
    ("TreeMaze-10", "TreeMaze-<size>-<seed>"),
    ("TreeMaze-10-1-1", "TreeMaze-<size>-<seed>"),
    ("PixelGrid", "PixelGrid-<size> or PixelGrid-<size>-<steps>"),
    ("PixelGrid-13-50-1", "PixelGrid-<size> or PixelGrid-<size>-<steps>"),
    ("AntMaze-20-5", "AntMaze or AntMaze-<steps per subgoal>"),
    ("AntMaze-U", "AntMaze or AntMaze-<steps per subgoal>"),
])  # fmt: skip
def test_names_that_are_written_wrongly_are_answered_with_the_form(name, form):
    with pytest.raises(UserError, match=f"unknown env '{name}': write {form}"):
        make_task(name)


@pytest.mark.parametrize("name", ["Corridor-0", "UMaze-0", "TreeMaze-1-0", "PixelGrid-4", "PixelGrid-7-5"])
def test_numbers_that_make_no_task(name):
    with pytest.raises(UserError, match=f"env '{name}': .* must be") as error:
        make_task(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["AntMaze-30", "AntMazeSmall-8", "AntMazeSmall-0", "AntMaze-1000"])
def test_subgoals_that_do_not_divide_an_episode(name):
    with pytest.raises(UserError, match=f"^env '{name}': steps per subgoal must be one of .*, which divide"):
        make_task(name)


def test_without_mujoco_ants_alone_are_missing(monkeypatch):
    monkeypatch.delitem(sys.modules, "envs.ant.ant_maze", raising=False)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UserError, match=r"^env 'AntMaze': needs MuJoCo .*: pip install -r requirements.txt$"):
        make_task("AntMaze")
    assert make_task("PointMaze").max_steps == 50
