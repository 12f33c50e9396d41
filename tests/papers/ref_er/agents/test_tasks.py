"""The ten tasks can be played, everything else is refused in one line, and actions keep their range."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box

from lab.run.errors import UserError
from papers.ref_er.agents.tasks import TASKS, make_env, to_env
from tests.papers.unfit_tasks import UNFIT

SIZES = {
    "HumanoidStandup-v5": (348, 17, 0.4, 1000), "Humanoid-v5": (348, 17, 0.4, 1000), "Ant-v5": (105, 8, 1, 1000),
    "Walker2d-v5": (17, 6, 1, 1000), "HalfCheetah-v5": (17, 6, 1, 1000), "Reacher-v5": (10, 2, 1, 50),
    "Swimmer-v5": (8, 2, 1, 1000), "Hopper-v5": (11, 3, 1, 1000), "InvertedPendulum-v5": (4, 1, 3, 1000),
    "InvertedDoublePendulum-v5": (9, 1, 1, 1000),
}  # fmt: skip
"""Components of a state and of an action, largest action, time limit."""


def test_the_tasks_are_ten_and_others_can_be_played():
    assert TASKS.keys() == SIZES.keys()
    assert make_env("Pendulum-v1").action_space.shape == (1,)


@pytest.mark.parametrize("name", SIZES)
def test_a_task_can_be_played(name):
    n_states, n_actions, high, limit = SIZES[name]
    env = make_env(name)
    assert env.observation_space.shape == (n_states,) and env.action_space.shape == (n_actions,)
    np.testing.assert_allclose(env.action_space.high, high, rtol=1e-6)
    np.testing.assert_allclose(env.action_space.low, -high, rtol=1e-6)
    assert env.spec.max_episode_steps == limit
    state, _ = env.reset(seed=0)
    assert state.shape == (n_states,)
    for _ in range(3):
        state, reward, *_ = env.step(to_env(np.full(n_actions, 1.5), env.action_space))  # out of range: not refused
    assert state.shape == (n_states,) and np.isfinite(state).all() and np.isfinite(reward)
    again, _ = env.reset(seed=0)
    assert not np.array_equal(again, state)
    np.testing.assert_array_equal(make_env(name).reset(seed=0)[0], again)


def test_the_papers_walker_is_the_old_one():
    """Its feet have unequal friction, 0.9 and 1.9; the model of -v5 has 1.9 twice."""

    def friction(env) -> list[float]:
        model = env.unwrapped.model
        return [float(model.geom(name).friction[0]) for name in ("foot_geom", "foot_left_geom")]

    assert friction(make_env("Walker2d-v5")) == [0.9, 1.9]
    assert friction(gymnasium.make("Walker2d-v5")) == [1.9, 1.9]


# --- what cannot be played -------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:.* is out of date")
@pytest.mark.parametrize(("name", "message"), UNFIT, ids=[name for name, _ in UNFIT])
def test_unfit_tasks(name, message):
    with pytest.raises(UserError, match=message) as error:
        make_env(name)
    assert "\n" not in str(error.value)


# --- units of actions ------------------------------------------------------------------------------------------------
def test_actions_in_the_tasks_units():
    """-1 and 1 are the bounds, 0 the middle, also where they are not symmetric; what is beyond stays beyond."""
    space = Box(np.float32([-3, 0, 2]), np.float32([3, 4, 3]))
    np.testing.assert_allclose(to_env(np.full(3, -1.0), space), [-3, 0, 2])
    np.testing.assert_allclose(to_env(np.full(3, 1.0), space), [3, 4, 3])
    np.testing.assert_allclose(to_env(np.zeros(3), space), [0, 2, 2.5])
    np.testing.assert_allclose(to_env(np.array([2.0, -3.0, 0.5]), space), [6, -4, 2.75])
