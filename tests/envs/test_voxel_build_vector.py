"""Construction in lock-step is that of the single environments, bit for bit."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from envs.voxel_build_vector import SmallVoxelBuildVector
from envs.voxel_builder import plan

SMALL, PAPER = "envs:VoxelBuildSmall-v0", "envs:VoxelBuild-v0"


def equal(ours, theirs):
    """Of dicts of arrays, or tuples: the same bytes, shapes and types."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def stacked(observations):
    return {name: np.stack([seen[name] for seen in observations]) for name in observations[0]}


def policy(envs, rng):
    """A list of actions for each episode: the builder's for the even ones, chance's for the others."""
    task, states, goals = envs.unwrapped.task, envs.unwrapped.states, envs.unwrapped.goals
    lists = [plan(task, states[i], goals[i]) if i % 2 == 0 else [] for i in range(len(states))]
    return [one + rng.integers(21, size=task.max_steps + 5 - len(one)).tolist() for one in lists]


@pytest.mark.parametrize(("name", "settings"), [(SMALL, {}), (SMALL, {"picture": (8, 12)}), (PAPER, {})])
def test_every_episode_is_the_single_environments(name, settings):
    n, rng = 4, np.random.default_rng(0)
    envs = gymnasium.make_vec(name, num_envs=n, **settings)
    single = [gymnasium.make(name, disable_env_checker=True, **settings) for _ in range(n)]
    for first in (rng.integers(2**31, size=n).tolist(), 5, None):  # None goes on with each episode's own stream
        each = first if isinstance(first, list) else [None if first is None else first + i for i in range(n)]
        seen, info = envs.reset(seed=first)
        assert equal(seen, stacked([env.reset(seed=seed)[0] for env, seed in zip(single, each)]))
        over, lists = np.zeros(n, bool), policy(envs, rng)
        for actions in zip(*lists):
            seen, rewards, terminated, truncated, info = envs.step(np.array(actions))
            for i in np.flatnonzero(~over):
                theirs, reward, *flags, single_info = single[i].step(actions[i])
                assert equal({key: value[i] for key, value in seen.items()}, theirs)
                assert [rewards[i], terminated[i], truncated[i]] == [reward, *flags]
                assert info["is_success"][i] == single_info["is_success"] and info["_is_success"][i]
                assert equal(info["achieved_before"][i], single_info["achieved_before"])
            over = terminated | truncated
            if over.all():
                break
        assert terminated.tolist() == [True, False] * 2 and truncated.tolist() == [False, True] * 2


def test_an_ended_episode_stays_as_it_is_until_it_is_reset():
    n, rng = 6, np.random.default_rng(1)
    envs, single = gymnasium.make_vec(SMALL, num_envs=n), gymnasium.make(SMALL)
    envs.reset(seed=3)
    over, ends = np.zeros(n, bool), {}
    for actions in zip(*policy(envs, rng)):
        *end, info = envs.step(np.array(actions))
        over |= end[2] | end[3]
        for i in np.flatnonzero(over):
            arrays = [value[i] for value in (*end[0].values(), *info.values())] + [part[i] for part in end[1:]]
            assert ends.setdefault(i, pickle.dumps(arrays)) == pickle.dumps(arrays)
    assert over.all() and end[2].tolist() == [True, False] * 3
    mask = np.array([False, True, False, False, True, True])
    seen, info = envs.reset(seed=[7, 8, 9, 10, 11, None], options={"reset_mask": mask})
    assert info["is_success"].tolist() == (end[2] & ~mask).tolist()
    for i in range(n):
        theirs = {key: value[i] for key, value in end[0].items()}
        if mask[i]:
            theirs, _ = single.reset(seed=7 + i if i < 5 else 3 + 5)
        if i == 5:
            theirs, _ = single.reset()  # its stream goes on
        assert equal({key: value[i] for key, value in seen.items()}, theirs)


def test_siblings_share_start_and_goal_and_not_their_actions():
    envs = gymnasium.make_vec(SMALL, num_envs=4).unwrapped
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
    envs, single = gymnasium.make_vec(SMALL, num_envs=3), gymnasium.make(SMALL)
    task = envs.unwrapped.task
    states = task.starts(3, None)
    states[:, task.cells] = 1, 2, 3
    states[:, task.cells + 1] = 4
    goals = task.goals(3, np.random.default_rng(5))
    for options in ({"state": states}, {"goal": goals}, {"state": states[1], "goal": goals[2]}):
        seen, _ = envs.reset(seed=20, options=options)
        for i in range(3):
            own = {key: value[i] if value.ndim == 2 else value for key, value in options.items()}
            assert equal({key: value[i] for key, value in seen.items()}, single.reset(seed=20 + i, options=own)[0])


def test_what_gymnasium_asks_of_a_vector_environment():
    envs, single = gymnasium.make_vec(PAPER, num_envs=3, picture=(8, 8)), gymnasium.make(PAPER, picture=(8, 8))
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and envs.num_envs == 3
    assert envs.single_observation_space == single.observation_space and envs.single_action_space == single.action_space
    assert envs.observation_space == batch_space(single.observation_space, 3)
    seen, _ = envs.reset(seed=0)
    assert seen in envs.observation_space
    for _ in range(100):
        seen, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
        assert seen in envs.observation_space and {rewards.shape, terminated.shape, truncated.shape} == {(3,)}
        assert equal(envs.unwrapped.compute_reward(seen["achieved_goal"], seen["desired_goal"], info), rewards)
    assert truncated.all()


def test_pickled_in_the_middle_it_goes_on_alike_and_what_was_seen_stays():
    rng = np.random.default_rng(2)
    one = gymnasium.make_vec(SMALL, num_envs=3)
    one.reset(seed=1)
    kept = []
    for step in range(80):
        if step == 20:
            two = pickle.loads(pickle.dumps(one))
        if step == 60:
            assert equal(one.reset()[0], two.reset()[0])
        actions = rng.integers(21, size=3)
        ours = one.step(actions)
        if step >= 20:
            assert equal(ours, two.step(actions))
        kept.append((ours, pickle.dumps(ours)))
    for ours, then in kept:
        assert equal(ours, pickle.loads(then))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(options={"held": True}), r"unknown reset options \['held'\]: right are state, goal and reset_mask"),
        (dict(options={"goal": np.zeros((2, 98))}), "goal must be one, or one for each of 3 episodes, not 2"),
        (dict(options={"goal": np.zeros(97)}), "a goal has 98 cells"),
        (dict(options={"goal": np.full((3, 98), 0.5)}), "a goal has 98 cells"),
        (dict(options={"state": np.zeros((3, 98))}), "a state has the shape"),
        (dict(options={"state": np.full((3, 106), 9)}), "no agent can have the pose"),
        (dict(options={"reset_mask": [0, 2]}), "reset_mask must be a truth value or 3 of them"),
        (dict(seed=[1, 2]), "2 seeds for 3 episodes"),
        (dict(seed=[1, 2, -3]), "Seed must be greater or equal to zero"),
    ],
)
def test_bad_resets_change_nothing(arguments, words):
    envs = gymnasium.make_vec(SMALL, num_envs=3)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    before = pickle.dumps(envs)
    with pytest.raises((ValueError, gymnasium.error.Error), match=words):
        envs.reset(**({"seed": 1} | arguments))
    assert pickle.dumps(envs) == before


def test_other_mistakes():
    envs = SmallVoxelBuildVector(3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros(3, int))
    with pytest.raises(ValueError, match="the first reset must be one of all"):
        envs.reset(options={"reset_mask": [True, False, True]})
    envs.reset(seed=0)
    before = pickle.dumps(envs)
    for actions, words in (
        (np.zeros(2, int), "actions must be 3 whole numbers"),
        (np.zeros(3), "actions must be 3 whole numbers"),
        (np.array([0, 21, 0]), "no step: action 21"),
    ):
        with pytest.raises(ValueError, match=words):
            envs.step(actions)
        assert pickle.dumps(envs) == before
    for settings, words in (
        (dict(num_envs=0), "num_envs must be at least 1"),
        (dict(max_steps=0), "max_steps must be"),
    ):
        with pytest.raises(ValueError, match=words):
            SmallVoxelBuildVector(**settings)
    with pytest.raises(ValueError, match="picture must be rows and columns"):
        SmallVoxelBuildVector(3, picture=(8,))
