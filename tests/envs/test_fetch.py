"""Fetch: the package's tasks run on today's MuJoCo, and episodes in lock-step are theirs, bit for bit."""

import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from envs import fetch

gymnasium_robotics = pytest.importorskip("gymnasium_robotics")
every_id = pytest.mark.parametrize("name", fetch.IDS)


def row(seen, i):
    return {key: value[i] for key, value in seen.items()}


def assert_equal(ours, theirs):
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        np.testing.assert_array_equal(ours[key], value, err_msg=key)


@every_id
def test_every_episode_is_the_tasks_own(name):
    n, rng = 3, np.random.default_rng(0)
    envs, alone = fetch.FetchVector(fetch.make(name), n), fetch.make(name)
    for seeds in ([7, 8, 123456], [7, 3, 2**31]):
        seen, _ = envs.reset(seed=seeds)
        actions = rng.uniform(-1.5, 1.5, (50, n, 4)).astype(np.float32)
        actions[:, 0, 2] = -1  # down to the object
        ours, flags = [seen], []
        for action in actions:
            seen, *rest = envs.step(action)
            ours.append(seen)
            flags.append(rest)
        for i, seed in enumerate(seeds):
            assert_equal(row(ours[0], i), alone.reset(seed=seed)[0])
            for t, action in enumerate(actions):
                theirs, reward, terminated, truncated, info = alone.step(action[i])
                assert_equal(row(ours[t + 1], i), theirs)
                rewards, terminals, overs, infos = flags[t]
                assert (rewards[i], terminals[i], overs[i]) == (reward, terminated, truncated)
                assert infos["is_success"][i] == info["is_success"]
            assert truncated


def test_an_episodes_stream_goes_on_where_no_seed_is_given():
    envs, alone = fetch.FetchVector(fetch.make("FetchPush-v4"), 2), fetch.make("FetchPush-v4")
    envs.reset(seed=5)
    alone.reset(seed=6)
    assert_equal(row(envs.reset()[0], 1), alone.reset()[0])


@every_id
def test_the_gripper_follows_its_actions(name):
    """Up is up by nearly 5 cm a step at most: without the package's reset of its mocap weld it would run away."""
    envs = fetch.FetchVector(fetch.make(name), 1)
    start = envs.reset(seed=0)[0]["observation"][0, 2]
    for _ in range(5):
        seen = envs.step(np.array([[0, 0, 1, 0]], np.float32))[0]
    assert 0.05 < seen["observation"][0, 2] - start < 0.25


def test_a_step_without_an_episode_is_an_error():
    envs = fetch.FetchVector(fetch.make("FetchReach-v4"), 2)
    actions = np.zeros((2, 4))
    with pytest.raises(ResetNeeded):
        envs.step(actions)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must have shape \(2, 4\)"):
        envs.step(actions[:1])
    for _ in range(50):
        over = envs.step(actions)[3]
    assert over.all()
    with pytest.raises(ResetNeeded):
        envs.step(actions)


def test_what_cannot_be_made_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="num_envs must be at least 1"):
        fetch.FetchVector(fetch.make("FetchReach-v4"), 0)
    with pytest.raises(ValueError, match="reset has no options here"):
        fetch.FetchVector(fetch.make("FetchReach-v4")).reset(options={"goal": 0})
    with pytest.raises(gymnasium.error.Error, match="v4"):
        fetch.make("FetchPush-v9")
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install gymnasium-robotics==1\.4\.2"):
        fetch.make("FetchReach-v4")


def test_what_is_a_fetch_task():
    assert fetch.is_fetch(fetch.make("FetchPush-v4")) and not fetch.is_fetch(gymnasium.make("Pendulum-v1"))
