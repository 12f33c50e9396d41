"""Episodes in lock-step are those of the single environments, bit for bit."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from envs.throwing import Hand
from envs.throwing_experts import HandExpert, RobotExpert
from envs.throwing_physics import WALL
from envs.throwing_vector import HandVector

NAMES = ["Hand", "HandWall", "Robot"]
EXPERTS = {"Hand": HandExpert(), "HandWall": HandExpert(WALL), "Robot": RobotExpert()}


def lock_step(name, n, **settings):
    return gymnasium.make_vec(f"envs:{name}-v1", num_envs=n, **settings)


def singles(name, n, **settings):
    return [gymnasium.make(f"envs:{name}-v1", **settings) for _ in range(n)]


def equal(ours, theirs):
    """Of dicts of arrays, or tuples: the same bytes, shapes and types."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def stacked(observations):
    return {name: np.stack([seen[name] for seen in observations]) for name in observations[0]}


def policy(name, seen, rng):
    """Actions: experts in the even episodes, whose balls are gripped and thrown, chance in the others."""
    actions = rng.uniform(-1.2, 1.2, (len(seen["observation"]), 3)).astype(np.float32)
    for i in range(0, len(actions), 2):
        actions[i] = EXPERTS[name](seen["observation"][i], seen["desired_goal"][i])
    return actions


@pytest.mark.parametrize("name", NAMES)
def test_every_episode_is_the_single_environments(name):
    n, rng = 12, np.random.default_rng(0)
    envs, single = lock_step(name, n), singles(name, n)
    seeds = rng.integers(2**31, size=n).tolist()
    for first in (seeds, 5, None, None):  # None goes on with each episode's own stream
        each = first if isinstance(first, list) else [None if first is None else first + i for i in range(n)]
        seen, info = envs.reset(seed=first)
        alone = [env.reset(seed=seed)[0] for env, seed in zip(single, each)]
        assert equal(seen, stacked(alone)) and info["is_success"].tolist() == [False] * n
        over, lengths = np.zeros(n, bool), np.zeros(n, int)
        while not over.all():
            actions = policy(name, seen, rng)
            seen, rewards, terminated, truncated, info = envs.step(actions)
            for i in np.flatnonzero(~over):
                theirs, reward, *flags, single_info = single[i].step(actions[i])
                assert equal({key: value[i] for key, value in seen.items()}, theirs)
                assert [rewards[i], terminated[i], truncated[i]] == [reward, *flags]
                assert info["is_success"][i] == single_info["is_success"] and info["_is_success"][i]
            lengths += ~over
            over = terminated | truncated
        assert lengths.max() == 50 and (lengths < 50).sum() >= 4 and terminated.sum() == (rewards == 0).sum() >= 4


@pytest.mark.parametrize("name", NAMES)
def test_an_ended_episode_stays_as_it_is_until_it_is_reset(name):
    n, rng = 6, np.random.default_rng(1)
    envs, [single] = lock_step(name, n, max_episode_steps=30), singles(name, 1)
    seen, _ = envs.reset(seed=3)
    over, ends = np.zeros(n, bool), {}
    for _ in range(40):
        *end, info = envs.step(policy(name, seen, rng))
        seen, over = end[0], over | end[2] | end[3]
        for i in np.flatnonzero(over):
            now = pickle.dumps(
                [[value[i] for value in (*seen.values(), *info.values())], [part[i] for part in end[1:]]]
            )
            assert ends.setdefault(i, now) == now
    assert over.all() and 0 < (~end[3]).sum() < n and (end[2] | end[3]).all()
    mask = np.array([False, True, False, False, True, True])
    seen, info = envs.reset(seed=[7, 8, 9, 10, 11, None], options={"reset_mask": mask})
    assert info["is_success"].tolist() == (end[2] & ~mask).tolist()
    for i in range(n):
        theirs = {key: value[i] for key, value in end[0].items()}
        if mask[i] and i < 5:
            theirs, _ = single.reset(seed=7 + i)
        if i < 5:
            assert equal({key: value[i] for key, value in seen.items()}, theirs)
    single.reset(seed=3 + 5)
    assert equal({key: value[5] for key, value in seen.items()}, single.reset()[0])  # its stream goes on
    for _ in range(30):
        _, rewards, terminated, truncated, _ = envs.step(np.zeros((n, 3)))
    assert equal(terminated[~mask], end[2][~mask]) and equal(rewards[~mask], end[1][~mask]) and truncated[mask].all()


def test_where_the_ball_starts_at_its_goal_the_episode_still_begins():
    envs = lock_step("Hand", 2)
    _, info = envs.reset(seed=0, options={"held": True})
    balls = envs.unwrapped.states[:, 5:7].copy()
    _, info = envs.reset(seed=0, options={"held": True, "goal": balls})
    assert not info["is_success"].any()
    _, rewards, terminated, _, _ = envs.step(np.array([[0, 0, 1], [1, 1, 1]]))
    assert rewards.tolist() == [0, -1] and terminated.tolist() == [True, False]


@pytest.mark.parametrize("name", NAMES)
def test_options(name):
    n = 5
    envs, [single] = lock_step(name, n), singles(name, 1)
    held = np.array([True, False, False, True, True])
    goals = np.random.default_rng(0).uniform(0, 1, (n, 2))
    cases = [{"held": True}, {"held": held}, {"goal": (0.7, 0.3)}, {"goal": goals}, {"held": held, "goal": goals}]
    for options in cases:
        seen, _ = envs.reset(seed=20, options=options)
        for i in range(n):
            own = {key: np.asarray(value)[i] if len(np.shape(value)) > (key == "goal") else value
                   for key, value in options.items()}  # fmt: skip
            assert equal({key: value[i] for key, value in seen.items()}, single.reset(seed=20 + i, options=own)[0])


def test_what_gymnasium_asks_of_a_vector_environment():
    envs, single = lock_step("Robot", 4), singles("Robot", 1)[0]
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and envs.num_envs == 4
    assert envs.single_observation_space == single.observation_space and envs.single_action_space == single.action_space
    assert envs.observation_space == batch_space(single.observation_space, 4)
    assert envs.action_space == batch_space(single.action_space, 4)
    seen, _ = envs.reset(seed=0)
    assert seen in envs.observation_space
    for _ in range(60):
        seen, rewards, terminated, truncated, _ = envs.step(envs.action_space.sample())
        assert seen in envs.observation_space and {rewards.shape, terminated.shape, truncated.shape} == {(4,)}
    again = envs.compute_reward(seen["achieved_goal"], seen["desired_goal"], {})
    assert equal(again, rewards)
    tracked = gymnasium.wrappers.vector.RecordEpisodeStatistics(lock_step("Hand", 3))
    tracked.reset(seed=0)
    for _ in range(50):
        info = tracked.step(tracked.action_space.sample())[-1]
    assert info["episode"]["l"].max() == 50


def test_settings_reach_the_task():
    box = (0.6, 0.7, 0.6, 0.7)
    envs, [single] = lock_step("Hand", 3, goal_box=box, tolerance=0.2), singles("Hand", 1, goal_box=box, tolerance=0.2)
    seen, _ = envs.reset(seed=0)
    assert equal(seen["desired_goal"][0], single.reset(seed=0)[0]["desired_goal"]) and envs.goal_low[0] == 0.6
    envs.reset(seed=0, options={"held": True, "goal": (0.2, 0.5)})
    envs.unwrapped.states[:, [0, 5]], envs.unwrapped.states[:, [1, 6]] = 0.2, 0.31
    assert envs.step(np.tile([0.0, 0.0, 1.0], (3, 1)))[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", NAMES)
def test_pickled_in_the_middle_it_goes_on_alike_and_what_was_seen_stays(name):
    rng = np.random.default_rng(2)
    one = lock_step(name, 3)
    one.reset(seed=1)
    kept = []
    for step in range(120):
        if step == 20:
            two = pickle.loads(pickle.dumps(one))
        if step in (70, 100):
            ours = one.reset()[0]
            assert equal(ours, two.reset()[0])
        actions = rng.uniform(-1, 1, (3, 3))
        ours = one.step(actions)
        if step >= 20:
            assert equal(ours, two.step(actions))
        kept.append((ours, pickle.dumps(ours)))
    for ours, then in kept:
        assert equal(ours, pickle.loads(then))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(options={"hold": True}), r"unknown reset options \['hold'\]: right are held, goal and reset_mask"),
        (dict(options={"goal": (0.5, 1.5)}), "goal must be x, y"),
        (dict(options={"goal": np.full((2, 2), 0.5)}), "goal must be x, y"),
        (dict(options={"held": [True, False]}), "held must be a truth value or 3 of them"),
        (dict(options={"held": 0.5}), "held must be a truth value or 3 of them"),
        (dict(options={"reset_mask": [0, 2]}), "reset_mask must be a truth value or 3 of them"),
        (dict(seed=[1, 2]), "2 seeds for 3 episodes"),
        (dict(seed=[1, 2, -3]), "Seed must be greater or equal to zero"),
    ],
)
def test_bad_resets_change_nothing(arguments, words):
    envs = lock_step("Hand", 3)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    before = pickle.dumps(envs)
    with pytest.raises((ValueError, gymnasium.error.Error), match=words):
        envs.reset(**({"seed": 1} | arguments))
    assert pickle.dumps(envs) == before


def test_other_mistakes():
    envs = HandVector(3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="the first reset must be one of all"):
        envs.reset(options={"reset_mask": [True, False, True]})
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must have shape \(3, 3\), not \(3,\)"):
        envs.step(np.zeros(3))
    for settings in ({"num_envs": 0}, {"max_episode_steps": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            HandVector(**settings)
    with pytest.raises(ValueError, match="overlaps the workspace"):
        HandVector(3, goal_box=(0.3, 0.6, 0.2, 0.5))
    assert isinstance(envs.task, Hand)
