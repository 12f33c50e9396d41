"""The sparse pendulum: when it pays, and that it moves like gymnasium's own."""

import math

import gymnasium
import numpy as np
import pytest

from envs.sparse_pendulum import MAX_STEPS, NEAR, PATIENCE, SparsePendulum

STILL = np.zeros(1, np.float32)


def at(angle, velocity=0.0, steps_up=0):
    """A pendulum in this state."""
    env = SparsePendulum()
    env.reset(seed=0)
    env.state, env.steps_up = np.array([angle, velocity]), steps_up
    return env


def hold(env):
    """The action that keeps the rod upright (a spring and a damper that are stronger than gravity)."""
    angle, velocity = env.unwrapped.state
    angle = (angle + math.pi) % (2 * math.pi) - math.pi
    return np.clip([-(10 * angle + 3 * velocity) / 2], -1, 1).astype(np.float32)


def test_the_21st_step_in_a_row_is_the_first_that_pays():
    env = at(0.0)  # balanced, if nothing pushes
    rewards = [env.step(STILL)[1] for _ in range(30)]
    assert rewards == [0.0] * 20 + [1.0] * 10 and PATIENCE == 20


@pytest.mark.parametrize("turns", [-2, 0, 1])
@pytest.mark.parametrize("side", [-1, 1])
def test_near_means_a_third_of_pi_after_the_step_on_either_side_and_after_full_turns(side, turns):
    for angle, paid in ((NEAR - 0.2, True), (NEAR + 0.1, False)):  # one step moves by less than 0.1, outwards
        env = at(side * angle + 2 * math.pi * turns, steps_up=PATIENCE)
        assert env.step(STILL)[1] == float(paid)
        assert env.steps_up == (PATIENCE + 1 if paid else 0)


def test_it_is_the_state_after_the_step_that_counts():
    leaving, entering = at(NEAR - 0.01, 5.0, PATIENCE), at(NEAR + 0.01, -5.0, PATIENCE)
    assert leaving.step(STILL)[1] == 0.0 and leaving.steps_up == 0
    assert entering.step(STILL)[1] == 1.0


def test_leaving_starts_the_count_again():
    env = at(0.0)
    for _ in range(25):
        env.step(STILL)
    env.state = np.array([2.0, 0.0])
    assert env.step(STILL)[1] == 0.0
    env.state = np.array([0.0, 0.0])
    assert [env.step(STILL)[1] for _ in range(22)] == [0.0] * 20 + [1.0] * 2


def test_so_does_a_new_episode():
    env = at(0.0, steps_up=25)
    env.reset(options={"x_init": 0.0, "y_init": 0.0})
    assert [env.step(STILL)[1] for _ in range(21)] == [0.0] * 20 + [1.0]


def test_held_upright_an_episode_earns_180_and_is_truncated():
    env = gymnasium.make("envs:SparsePendulum-v0")
    env.reset(seed=0, options={"x_init": 0.1, "y_init": 0.1})
    steps = [env.step(hold(env))[1:4] for _ in range(MAX_STEPS)]
    assert sum(reward for reward, _, _ in steps) == MAX_STEPS - PATIENCE == 180
    assert [ends for _, *ends in steps] == [[False, False]] * 199 + [[False, True]]


def test_it_moves_as_the_dense_pendulum_does_with_twice_the_action():
    ours, dense = SparsePendulum(), gymnasium.make("Pendulum-v1")
    first, _ = ours.reset(seed=7)
    assert np.array_equal(first, dense.reset(seed=7)[0])
    rng = np.random.default_rng(0)
    for action in rng.uniform(-1.5, 1.5, (150, 1)):  # both clip what lies outside
        assert np.array_equal(ours.step(action)[0], dense.step(2 * action)[0])


def test_a_random_policy_is_seldom_paid():
    env = SparsePendulum()
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    returns = []
    for _ in range(200):
        env.reset()
        returns.append(sum(env.step(action)[1] for action in rng.uniform(-1, 1, (MAX_STEPS, 1))))
    assert 0.5 < np.mean(returns) < 2.5
    assert 0.1 < np.mean(np.array(returns) > 0) < 0.28
