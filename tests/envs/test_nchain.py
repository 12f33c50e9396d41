"""NChain against its rules, and Q* against value iteration."""

import numpy as np
import pytest

from envs.nchain import BACKWARD, CELL, FORWARD, NChain, optimal_q


def test_forward_to_the_goal_and_its_reward_and_back_to_the_left_end():
    env = NChain(4)
    assert env.reset(seed=0) == (0, {})
    steps = [env.step(FORWARD)[:4] for _ in range(3)]
    assert steps == [(1, 0.0, False, False), (2, 0.0, False, False), (3, 1.0, True, False)]
    env = NChain(4)
    env.reset()
    assert [env.step(action)[0] for action in (FORWARD, FORWARD, BACKWARD, BACKWARD, BACKWARD)] == [1, 2, 1, 0, 0]


def test_truncated_after_two_n_squared_steps():
    env = NChain(3)
    env.reset()
    ends = [env.step(BACKWARD)[2:4] for _ in range(18)]
    assert ends == [(False, False)] * 17 + [(False, True)]
    env.reset()
    assert env.step(BACKWARD)[3] is False


def test_success_on_the_very_last_step_is_no_time_out():
    env = NChain(3)
    env.reset()
    for action in [BACKWARD] * 16 + [FORWARD]:
        env.step(action)
    assert env.step(FORWARD)[1:4] == (1.0, True, False)


def test_too_short_a_chain():
    with pytest.raises(ValueError, match="at least 2 states, not 1"):
        NChain(1)


@pytest.mark.parametrize("n", [2, 3, 20])
@pytest.mark.parametrize("gamma", [0.5, 0.99])
def test_closed_form_is_the_fixed_point_of_value_iteration(n, gamma):
    state = np.arange(n)
    after = np.stack([np.minimum(state + 1, n - 1), np.maximum(state - 1, 0)], axis=1)
    reward = (after == n - 1).astype(float)
    q = np.zeros((n, 2))
    for _ in range(4000):
        q = reward + gamma * np.where(after == n - 1, 0.0, q.max(axis=1)[after])
        q[-1] = 0.0  # nothing is earned after the end
    np.testing.assert_allclose(optimal_q(n, gamma), q, atol=1e-12)


def test_picture_shows_where_the_agent_is():
    env = NChain(5, render_mode="rgb_array")
    env.reset()
    before = env.render()
    env.step(FORWARD)
    after = env.render()
    assert before.shape == (CELL, 5 * CELL, 3) and before.dtype == np.uint8
    middles = [tuple(picture[CELL // 2, CELL // 2 + CELL * s]) for picture in (before, after) for s in range(5)]
    agent, other, goal = (230, 159, 0), (235, 235, 235), (0, 158, 115)
    assert middles == [agent, other, other, other, goal, other, agent, other, other, goal]
    assert NChain(5).render() is None
