"""Pictures of the ball-throwing tasks: everything where it belongs, the same each time, and no display needed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pygame
import pytest

from envs.throwing import view
from envs.throwing.physics import BASE, LINK, WALL, WORKSPACE
from envs.throwing.tasks import GOAL_BOX, Hand, HandWall, Robot
from envs.throwing.view import BALL, BOTTOM, LEFT, SIDE, SIZE

ROOT = Path(__file__).resolve().parents[3]
TASKS = [Hand, HandWall, Robot]


def start(task, seed=0, **options):
    env = task(render_mode="rgb_array")
    env.reset(seed=seed, options=options)
    return env


def at(picture, x, y):
    """Row and column of a place in the world."""
    return round((BOTTOM + SIDE - y) / SIDE * SIZE - 0.5), round((x - LEFT) / SIDE * SIZE - 0.5)


def near(picture, x, y, colour, radius=2, close=40):
    """Is a pixel about there nearly of this colour?"""
    row, column = at(picture, x, y)
    part = picture[row - radius : row + radius + 1, column - radius : column + radius + 1].astype(int)
    return (abs(part - colour).max(axis=-1) < close).any()


@pytest.mark.parametrize("task", TASKS)
def test_a_picture_is_an_array_of_its_own(task):
    env = start(task)
    first = env.render()
    assert first.shape == (SIZE, SIZE, 3) and first.dtype == np.uint8 and first.flags.c_contiguous
    kept = first.copy()
    assert np.array_equal(env.render(), kept)  # the same state, the same pixels
    env.step(np.array([1, 1, -1]))
    assert not np.array_equal(env.render(), kept) and np.array_equal(first, kept)
    env.close()
    env.close()
    assert not np.array_equal(env.render(), kept)  # a task can be looked at again
    other = task(render_mode="rgb_array")
    other.state[:], other.goal[:] = env.state, env.goal
    assert np.array_equal(other.render(), env.render())


@pytest.mark.parametrize("task", TASKS)
def test_ball_black_hole_and_box_of_goals_are_where_they_are(task):
    for x, y in ((0.1, 0.6), (0.97, 0.9), (0.4, 0.0)):
        env = start(task, goal=(0.8, 0.3))
        env.state[env.ball] = x, y
        picture = env.render()
        assert near(picture, x, y, view.ORANGE)
        assert near(picture, 0.8, 0.3, view.HALO[-1], radius=0)
        assert near(picture, GOAL_BOX[0], 0.45, view.BLACK)
        assert near(picture, 0.9, GOAL_BOX[3], view.BLACK)
        assert near(picture, 0.5, -BALL, view.LINE)
        assert near(picture, 0.6, 0.8, view.WHITE, radius=0, close=1)


@pytest.mark.parametrize("task", [Hand, HandWall])
def test_a_hand_in_its_red_workspace_and_a_wall_where_there_is_one(task):
    env = start(task, held=False)
    env.state[:2], env.state[env.ball] = (0.2, 0.2), (0.3, 0.0)
    picture = env.render()
    assert near(picture, WORKSPACE[0], 0.3, view.RED) and near(picture, 0.1, WORKSPACE[3], view.RED)
    brick = [near(picture, WALL[0], y, view.BRICK, radius=0, close=1) for y in (0.1, WALL[1] - 0.02)]
    assert brick == [task is HandWall] * 2
    assert near(picture, WALL[0], WALL[1] + 0.02, view.WHITE, radius=0, close=1)
    assert near(picture, 0.2, 0.2 + view.PALM, view.DARK_STEEL)


def test_an_arm_from_its_base_to_the_gripper_in_its_red_reach():
    env = start(Robot, held=False)
    env.state[[0, 1, 2, 3]] = 0.0, np.pi / 2, BASE[0] + LINK, BASE[1] + LINK
    env.state[env.ball] = 0.1, 0.0
    picture = env.render()
    for angle in (0.3, 2.0, 4.0):
        rim = BASE[0] + 2 * LINK * np.cos(angle), BASE[1] + 2 * LINK * np.sin(angle)
        assert near(picture, *rim, view.RED)
    assert near(picture, BASE[0] + LINK / 2, BASE[1], view.STEEL, radius=0)
    assert near(picture, BASE[0] + LINK, BASE[1] + LINK / 2, view.STEEL, radius=0)
    assert near(picture, BASE[0] + LINK, BASE[1] + LINK - view.PALM, view.DARK_STEEL)


@pytest.mark.parametrize("task", TASKS)
def test_open_and_closed_grippers_look_different(task):
    env = start(task, held=True)
    closed = env.render()
    env.state[8 if task is Robot else 4] = 0
    opened = env.render()
    assert 50 < np.count_nonzero((opened != closed).any(axis=-1)) < 3000


def test_without_a_render_mode_there_is_no_picture():
    env = Hand()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
        assert env.render() is None


def test_a_window_shows_the_same_picture_at_the_right_pace(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    ticks = []
    human, array = Hand(render_mode="human"), start(Hand)
    human.reset(seed=0)
    human._view.clock = type("Clock", (), {"tick": lambda self, fps: ticks.append(fps)})()
    action = np.array([0.3, 0.4, 1.0])
    for env in (human, array):
        env.step(action)
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert np.array_equal(shown, array.render()) and pygame.display.get_caption()[0] == "Hand"
    assert human.render() is None and ticks == [25, 25]
    human.close()
    assert not pygame.display.get_init()


def test_pictures_need_no_display_and_change_no_environment_variable():
    code = """
import gymnasium, os
env = gymnasium.make("envs:Robot-v1", render_mode="rgb_array")
before = dict(os.environ)
env.reset(seed=0)
picture = env.render()
import pygame
print(picture.shape, not pygame.display.get_init(), dict(os.environ) == before)
"""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.split("\n")[-2] == f"({SIZE}, {SIZE}, 3) True True", done.stderr
