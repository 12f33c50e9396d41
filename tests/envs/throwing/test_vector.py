"""Throwing in lock-step beyond test_vector_contract.py: options, settings, starts at the goal, mistakes."""

import numpy as np
import pytest

from envs.throwing.tasks import Hand
from envs.throwing.vector import HandVector
from tests.envs.test_contract import equal
from tests.envs.test_vector_contract import EXPERTS, lock_step, row, single


def test_where_the_ball_starts_at_its_goal_the_episode_still_begins():
    envs = lock_step("Hand-v1", 2)
    _, info = envs.reset(seed=0, options={"held": True})
    balls = envs.unwrapped.states[:, 5:7].copy()
    _, info = envs.reset(seed=0, options={"held": True, "goal": balls})
    assert not info["is_success"].any()
    _, rewards, terminated, _, _ = envs.step(np.array([[0, 0, 1], [1, 1, 1]]))
    assert rewards.tolist() == [0, -1] and terminated.tolist() == [True, False]


@pytest.mark.parametrize("name", EXPERTS)
def test_options(name):
    envs, alone = lock_step(name, 5), single(name)
    held = np.array([True, False, False, True, True])
    goals = np.random.default_rng(0).uniform(0, 1, (5, 2))
    cases = [{"held": True}, {"held": held}, {"goal": (0.7, 0.3)}, {"goal": goals}, {"held": held, "goal": goals}]
    for options in cases:
        seen, _ = envs.reset(seed=20, options=options)
        for i in range(5):
            own = {key: np.asarray(value)[i] if len(np.shape(value)) > (key == "goal") else value
                   for key, value in options.items()}  # fmt: skip
            assert equal(row(seen, i), alone.reset(seed=20 + i, options=own)[0])


def test_settings_reach_the_task():
    how = dict(goal_box=(0.6, 0.7, 0.6, 0.7), tolerance=0.2)
    envs = lock_step("Hand-v1", 3, **how)
    seen, _ = envs.reset(seed=0)
    goal = single("Hand-v1", **how).reset(seed=0)[0]["desired_goal"]
    assert equal(seen["desired_goal"][0], goal) and envs.goal_low[0] == 0.6
    envs.reset(seed=0, options={"held": True, "goal": (0.2, 0.5)})
    envs.unwrapped.states[:, [0, 5]], envs.unwrapped.states[:, [1, 6]] = 0.2, 0.31
    assert envs.step(np.tile([0.0, 0.0, 1.0], (3, 1)))[1].tolist() == [0, 0, 0]


def test_mistakes():
    envs = HandVector(3)
    envs.reset(seed=0)
    with pytest.raises(
        ValueError, match=r"actions must have shape \(3, 3\) and be finite, not array\(\[0., 0., 0.\]\)"
    ):
        envs.step(np.zeros(3))
    for settings in ({"num_envs": 0}, {"max_episode_steps": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            HandVector(**settings)
    with pytest.raises(ValueError, match="overlaps the workspace"):
        HandVector(3, goal_box=(0.3, 0.6, 0.2, 0.5))
    assert isinstance(envs.task, Hand)
