"""Construction in lock-step beyond test_vector_contract.py: siblings, options, mistakes."""

import pickle

import numpy as np
import pytest

from envs.voxel.vector import SmallVoxelBuildVector
from tests.envs.test_contract import equal
from tests.envs.test_vector_contract import SMALL, lock_step, row, single


def test_siblings_share_start_and_goal_and_not_their_actions():
    envs = lock_step(SMALL, 4).unwrapped
    seen, _ = envs.reset(seed=[5, 5, 6, 6])
    goals = seen["desired_goal"]
    assert np.array_equal(goals[0], goals[1]) and np.array_equal(goals[2], goals[3])
    assert not np.array_equal(goals[0], goals[2])
    for actions in ([16, 16, 0, 0], [18, 18, 0, 0], [17, 0, 0, 0]):  # both place stone, and one takes it away again
        seen, *_, info = envs.step(np.array(actions))
    builds, siblings = seen["achieved_goal"], seen["achieved_goal"][[1, 0, 3, 2]]
    assert envs.compute_distance(builds, siblings).tolist() == [1, 1, 0, 0]
    assert envs.compute_reward(builds, siblings, info).tolist() == [-1, 0, 0, 0]  # what it is to be an anti-goal


def test_options():
    envs, alone = lock_step(SMALL, 3), single(SMALL)
    task = envs.unwrapped.task
    states = task.starts(3, None)
    states[:, task.cells] = 1, 2, 3
    states[:, task.cells + 1] = 4
    goals = task.goals(3, np.random.default_rng(5))
    for options in ({"state": states}, {"goal": goals}, {"state": states[1], "goal": goals[2]}):
        seen, _ = envs.reset(seed=20, options=options)
        for i in range(3):
            own = {key: value[i] if value.ndim == 2 else value for key, value in options.items()}
            assert equal(row(seen, i), alone.reset(seed=20 + i, options=own)[0])


def test_mistakes():
    envs = SmallVoxelBuildVector(3)
    envs.reset(seed=0)
    before = pickle.dumps(envs)
    for actions, words in (
        (np.zeros(2, int), "actions must be 3 whole numbers"),
        (np.zeros(3), "actions must be 3 whole numbers"),
        (np.array([0, 21, 0]), "from 0 to 20, not array"),
    ):
        with pytest.raises(ValueError, match=words):
            envs.step(actions)
        assert pickle.dumps(envs) == before
    for settings, words in (
        (dict(num_envs=0), "num_envs must be at least 1"),
        (dict(max_steps=0), "max_steps must be"),
        (dict(num_envs=3, picture=(8,)), "picture must be rows and columns"),
    ):
        with pytest.raises(ValueError, match=words):
            SmallVoxelBuildVector(**settings)
