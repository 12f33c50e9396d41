"""The swimmer's task; that it keeps to gymnasium's rules, seeds and pickles is in test_contract.py."""

import math
import pickle

import gymnasium
import numpy as np
import pytest

from envs.wake.flow import BOX, EXIT_REWARD, FEELER, HALF_AXES, PLACE, STARTS, TILT, WakeFlow, developed_wakes

IDLE = np.zeros(3)


def started(seed: int = 0, **how) -> WakeFlow:
    env = WakeFlow(**how)
    env.reset(seed=seed)
    return env


def put(env: WakeFlow, x: float, y: float, angle: float = 0.0) -> None:
    """The swimmer at a place relative to the cylinder."""
    env.swimmer.put(env.flow, (PLACE[0] + x, PLACE[1] + y), angle)


def test_starts_are_random_and_inside_the_box():
    env = WakeFlow()
    seen = np.array([env.reset(seed=seed)[0] for seed in range(60)])
    x, y, angle = seen[:, :3].T
    for values, low, high in ((x, *STARTS[:2]), (y, *STARTS[2:]), (angle, -TILT, TILT)):
        assert low <= values.min() < low + 0.1 * (high - low) and high - 0.1 * (high - low) < values.max() <= high
    assert abs(seen[:, 3]).max() < 2.5 and seen[:, 3].mean() > 0.3, "it is left behind as the fluid is"
    assert env.observation_space.contains(seen[0])


def test_the_wakes_are_developed_and_of_all_phases():
    """Their lift oscillates: what lies across the axis changes its sign, and no two are alike."""
    across = np.array([wake["v"][34, 60] for wake in developed_wakes(16, 400.0, 0.4)])
    assert (across > 0.2).sum() > 5 and (across < -0.2).sum() > 5 and len(set(across)) == len(across)


def test_one_start_in_two_is_mirrored():
    """A mirrored start, swum with mirrored actions, gives what the mirror shows."""
    env, other = started(seed=2), started(seed=2)
    state = env.flow.state()
    other.flow.restore(state, mirrored=True)
    put(env, 2.0, 0.3, 0.4)
    put(other, 2.0, -0.3, -0.4)
    sign = np.array([1, -1, -1, 1, -1, -1, 1, -1, 1, -1, 1, -1, 1, -1])
    order = [*range(10), 12, 13, 10, 11]  # left and right of the swimmer change places
    for action in ([-0.4, 0.1, 0.02], [-0.2, -0.1, -0.01]):
        seen = env.step(np.array(action))
        mirrored = other.step(np.array(action) * [1, -1, -1])
        np.testing.assert_allclose(mirrored[0], (sign * seen[0])[order], atol=5e-3)
        assert mirrored[1:4] == seen[1:4]


def test_the_reward_is_minus_the_squared_action_and_an_exit_costs_a_hundred():
    env = started()
    put(env, 1.5, 0.0)
    _, reward, terminated, truncated, _ = env.step([-0.3, 0.1, 0.2])
    assert reward == pytest.approx(-0.14) and not terminated and not truncated
    put(env, 3.4, 0.0)
    _, reward, terminated, _, _ = env.step([0.5, 0.0, 0.0])
    assert reward == EXIT_REWARD and terminated


def test_an_exit_in_the_last_part_of_a_step_is_seen_in_this_step(monkeypatch):
    env, parts = started(), []

    def advance(dt: float) -> None:
        parts.append(dt)
        env.swimmer.x = PLACE[0] + (3.6 if len(parts) == 4 else 3.4)

    monkeypatch.setattr(env, "advance", advance)
    monkeypatch.setattr(env.flow, "longest_step", lambda: 0.25)
    _, reward, terminated, _, _ = env.step([0.0, 0.0, 0.0])
    assert parts == [0.25] * 4 and reward == EXIT_REWARD and terminated


@pytest.mark.parametrize(("x", "y", "lost"), [
    (0.51, 0.0, False), (0.49, 0.0, True), (3.49, 0.0, False), (3.51, 0.0, True),
    (2.0, 1.49, False), (2.0, 1.51, True), (2.0, -1.49, False), (2.0, -1.51, True), (math.nan, 0.0, True),
])  # fmt: skip
def test_where_it_is_lost(x, y, lost):
    env = started()
    env.swimmer.x, env.swimmer.y = PLACE[0] + x, PLACE[1] + y
    assert env.is_lost() == lost


def test_four_hundred_actions_cut_an_episode():
    env = gymnasium.make("envs:WakeFlow-v0")
    assert env.spec.max_episode_steps == 400 and len(pickle.dumps(env.unwrapped)) < 2_000_000, (
        "a pickle carries no wakes"
    )
    assert [gymnasium.spec(f"WakeFlow{n}-v0").kwargs["cells"] for n in ("", "32", "64")] == [16, 32, 64]


def test_what_it_sees_by_hand():
    """In a flow of our own: velocities relative to the swimmer, at its tips and a bit off them."""
    env = started()
    flow = env.flow
    x = (np.arange(flow.u.shape[1]) - 2) * flow.h
    y = ((np.arange(flow.u.shape[0]) - 2) * flow.h)[:, None]
    flow.u[:], flow.v[:] = 1 + 0.5 * (y + flow.h / 2), 0.25 * (x + flow.h / 2)  # of v; u does not depend on x
    env.swimmer.x, env.swimmer.y, env.swimmer.angle = PLACE[0] + 1.5, PLACE[1] + 0.5, 0.6 + 3 * math.pi
    env.swimmer.velocity[:] = 0.3, -0.2, 0.7
    cosine, sine = math.cos(0.6), math.sin(0.6)
    a, b = (axis + FEELER for axis in HALF_AXES)
    offsets = np.array(
        [[a * cosine, a * sine], [-a * cosine, -a * sine], [-b * sine, b * cosine], [b * sine, -b * cosine]]
    )
    felt = []
    for dx, dy in offsets:
        fluid = 1 + 0.5 * (env.swimmer.y + dy), 0.25 * (env.swimmer.x + dx)
        felt += [fluid[0] - (0.3 - 0.7 * dy), fluid[1] - (-0.2 + 0.7 * dx)]
    np.testing.assert_allclose(env.observe(), [1.5, 0.5, 0.6, 0.3, -0.2, 0.7, *felt], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("turns", [-2, -1, 0, 1, 5])
def test_half_a_turn_is_not_seen(turns):
    env = started()
    env.swimmer.angle = 0.3
    seen = env.observe()
    env.swimmer.angle += turns * math.pi
    np.testing.assert_allclose(env.observe(), seen, atol=1e-5)
    env.swimmer.angle = math.pi / 2
    assert env.observe()[2] == pytest.approx(math.pi / 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("action", [[1e4] * 3, [1e30, 0, 0], [0, 0, -1e12]], ids=str)
def test_actions_without_sense_end_the_episode_and_hurt_no_later_one(action):
    env, other = started(), started()
    seen, reward, terminated, _, _ = env.step(np.array(action))
    assert terminated and reward == EXIT_REWARD and env.observation_space.contains(seen)
    env.reset(seed=5)
    other.reset(seed=5)
    np.testing.assert_array_equal(env.step([-0.2, 0, 0])[0], other.step([-0.2, 0, 0])[0])


def test_it_drafts():
    """Held in the wake's middle it is drawn along: less force is needed there than beside it."""
    forces = []
    for y in (0.0, 1.4):
        env = started(seed=1)
        put(env, 1.2, y)
        total = 0.0
        for _ in range(300):
            env.flow.predict(env.flow.longest_step())
            env.swimmer.float(env.flow, np.zeros(3))
            total += env.swimmer.velocity[0] / 300
            put(env, 1.2, y)
            env.cylinder.hold(env.flow)
            env.flow.project()
        forces.append(total)
    assert forces[0] < 0.6 < forces[1]


@pytest.mark.parametrize(("how", "message"), [
    (dict(cells=8), "the grid is too coarse"), (dict(cells=0), "cells per diameter"), (dict(cells=16.5), "cells per"),
    (dict(reynolds=0.0), "the Reynolds number must be positive"), (dict(reynolds=-3.0), "Reynolds number"),
    (dict(courant=2.0), "unstable"), (dict(render_mode="ansi"), "render_mode must be one of"),
])  # fmt: skip
def test_worlds_that_cannot_work(how, message):
    with pytest.raises(ValueError, match=message) as error:
        WakeFlow(**how)
    assert "\n" not in str(error.value)


def test_the_picture():
    """Red turns anticlockwise, blue clockwise; cylinder, swimmer, box and force are there; drawing changes nothing."""
    env = started(render_mode="rgb_array")
    put(env, 2.0, 0.0)
    before = pickle.dumps(env)
    assert len(before) < 2_000_000, "it carries no wakes"
    blank = env.render()
    assert blank.shape == (360, 720, 3) and blank.dtype == np.uint8 and pickle.dumps(env) == before

    def at(image, x, y):
        return image[round((2.0 - y) * 90), round((x + PLACE[0]) * 90)].astype(int)

    assert (at(blank, -0.2, 0.0) < 90).all(), "the cylinder"
    red, green, blue = at(blank, 2.2, 0.04)
    assert red > 230 and green > 180 and blue < 130, "the swimmer"
    assert any((at(blank, BOX[0], y) < 120).all() for y in np.linspace(-0.5, 0.5, 41)), "the box"
    env.flow.u[:], env.flow.v[:] = 0.0, 0.0
    env.flow.v[:, 20:40] = np.arange(20) * 0.4
    env.flow.v[:, 40:60] = np.arange(20, 0, -1) * 0.4
    image = env.render()
    turning, other = image[20, 150].astype(int), image[20, 260].astype(int)
    assert turning[0] > turning[2] + 60 and other[2] > other[0] + 60
    env.action = np.array([-0.5, 0.0, 0.0])
    red, green, blue = at(env.render(), 1.7, 0.0)
    assert green > red + 50 and green > blue + 20
