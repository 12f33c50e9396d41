"""What every vector environment promises: episodes in lock-step are those of the single environments, bit for bit."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from envs.throwing.experts import HandExpert, RobotExpert
from envs.throwing.physics import WALL
from envs.voxel.builder import plan
from tests.envs.test_contract import equal

EXPERTS = {"Hand-v1": HandExpert(), "HandWall-v1": HandExpert(WALL), "Robot-v1": RobotExpert()}
SMALL, PAPER = "VoxelBuildSmall-v0", "VoxelBuild-v0"
every_name = pytest.mark.parametrize("name", [*EXPERTS, SMALL])


def lock_step(name, n, autoreset_mode=AutoresetMode.DISABLED, **settings):
    return gymnasium.make_vec(f"envs:{name}", num_envs=n, autoreset_mode=autoreset_mode, **settings)


def single(name, **settings):
    return gymnasium.make(f"envs:{name}", disable_env_checker=True, **settings)


def row(seen, i):
    return {key: value[i] for key, value in seen.items()}


def policy(name, envs, rng):
    """From what is seen to actions: experts succeed in most of the even episodes, chance in the others."""
    if name in EXPERTS:

        def act(seen):
            actions = rng.uniform(-1.2, 1.2, (envs.num_envs, 3)).astype(np.float32)
            for i in range(0, len(actions), 2):
                actions[i] = EXPERTS[name](seen["observation"][i], seen["desired_goal"][i])
            return actions

        return act
    task, states, goals = envs.unwrapped.task, envs.unwrapped.states, envs.unwrapped.goals
    lists = [plan(task, states[i], goals[i]) if i % 2 == 0 else [] for i in range(len(states))]
    rows = zip(*(one + rng.integers(21, size=task.max_steps + 5 - len(one)).tolist() for one in lists))
    return lambda seen: np.array(next(rows))


@pytest.mark.parametrize(
    ("name", "settings"), [*((name, {}) for name in (*EXPERTS, SMALL, PAPER)), (SMALL, {"picture": (8, 12)})]
)
def test_every_episode_is_the_single_environments(name, settings):
    n, rng = 12 if name in EXPERTS else 4, np.random.default_rng(0)
    envs, alone = lock_step(name, n, **settings), [single(name, **settings) for _ in range(n)]
    for first in (rng.integers(2**31, size=n).tolist(), 5, None):  # None goes on with each episode's own stream
        each = first if isinstance(first, list) else [None if first is None else first + i for i in range(n)]
        seen, info = envs.reset(seed=first)
        for i, (env, seed) in enumerate(zip(alone, each)):
            assert equal(row(seen, i), env.reset(seed=seed)[0])
        assert not info["is_success"].any()
        act, over = policy(name, envs, rng), np.zeros(n, bool)
        while not over.all():
            actions = act(seen)
            seen, rewards, terminated, truncated, info = envs.step(actions)
            for i in np.flatnonzero(~over):
                theirs, reward, *flags, single_info = alone[i].step(actions[i])
                assert equal(row(seen, i), theirs)
                assert [rewards[i], terminated[i], truncated[i]] == [reward, *flags]
                assert info["is_success"][i] == single_info["is_success"] and info["_is_success"][i]
                assert all(equal(info[key][i], single_info[key]) for key in {"achieved_before"} & {*single_info})
            over = terminated | truncated
        assert terminated.sum() >= n / 3 and truncated.any()


@every_name
def test_an_ended_episode_stays_as_it_is_until_it_is_reset(name):
    n, rng = 6, np.random.default_rng(1)
    envs, alone = lock_step(name, n, **({"max_episode_steps": 30} if name in EXPERTS else {})), single(name)
    seen, _ = envs.reset(seed=3)
    limit = 30 if name in EXPERTS else envs.unwrapped.task.max_steps
    act, over, ends = policy(name, envs, rng), np.zeros(n, bool), {}
    for _ in range(limit + 5):
        *end, info = envs.step(act(seen))
        seen, over = end[0], over | end[2] | end[3]
        for i in np.flatnonzero(over):
            now = pickle.dumps([row(seen, i), row(info, i), [part[i] for part in end[1:]]])
            assert ends.setdefault(i, now) == now
    assert over.all() and 0 < (~end[3]).sum() < n and (end[2] | end[3]).all()
    mask = np.array([False, True, False, False, True, True])
    seen, info = envs.reset(seed=[7, 8, 9, 10, 11, None], options={"reset_mask": mask})
    assert info["is_success"].tolist() == (end[2] & ~mask).tolist()
    for i in range(n):
        theirs = alone.reset(seed=7 + i if i < 5 else 3 + 5)[0] if mask[i] else row(end[0], i)
        assert equal(row(seen, i), theirs if i < 5 else alone.reset()[0])  # the last one's stream goes on
    for _ in range(limit):
        _, rewards, terminated, truncated, _ = envs.step(np.zeros_like(envs.action_space.sample()))
    assert equal(terminated[~mask], end[2][~mask]) and equal(rewards[~mask], end[1][~mask]) and truncated[mask].all()


@pytest.mark.parametrize(("name", "settings"), [("Robot-v1", {}), ("Hand-v1", {}), (PAPER, {"picture": (8, 8)})])
def test_what_gymnasium_asks_of_a_vector_environment(name, settings):
    envs, alone = lock_step(name, 4, **settings), single(name, **settings)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED and envs.num_envs == 4
    assert envs.single_observation_space == alone.observation_space and envs.single_action_space == alone.action_space
    assert envs.observation_space == batch_space(alone.observation_space, 4)
    assert envs.action_space == batch_space(alone.action_space, 4)
    seen, _ = envs.reset(seed=0)
    assert seen in envs.observation_space
    limit = 50 if name in EXPERTS else envs.unwrapped.task.max_steps
    for _ in range(limit):
        seen, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
        assert seen in envs.observation_space and {rewards.shape, terminated.shape, truncated.shape} == {(4,)}
        again = envs.unwrapped.compute_reward(seen["achieved_goal"], seen["desired_goal"], info)
        assert equal(again, rewards)
    assert (terminated | truncated).all()
    tracked = gymnasium.wrappers.vector.RecordEpisodeStatistics(lock_step(name, 3, **settings))
    tracked.reset(seed=0)
    for _ in range(limit):
        info = tracked.step(tracked.action_space.sample())[-1]
    assert info["episode"]["l"].max() == limit


@every_name
def test_pickled_in_the_middle_it_goes_on_alike_and_what_was_seen_stays(name):
    one, kept = lock_step(name, 3), []
    one.action_space.seed(2)
    one.reset(seed=1)
    for step in range(120):
        if step == 20:
            two = pickle.loads(pickle.dumps(one))
        if step in (70, 100):
            assert equal(one.reset()[0], two.reset()[0])
        actions = one.action_space.sample()
        ours = one.step(actions)
        assert step < 20 or equal(ours, two.step(actions))
        kept.append((ours, pickle.dumps(ours)))
    assert all(equal(ours, pickle.loads(then)) for ours, then in kept)


BAD = {
    "Hand-v1": [
        (dict(options={"hold": True}), r"unknown reset options \['hold'\]; choose from: held, goal, reset_mask"),
        (dict(options={"goal": (0.5, 1.5)}), "goal must be x, y"),
        (dict(options={"goal": np.full((2, 2), 0.5)}), r"goal must have the shape \(3, 2\) or \(2,\)"),
        (dict(options={"goal": (np.nan, 0.5)}), "goal must be finite numbers"),
        (dict(options={"held": [True, False]}), "held must be a truth value or 3 of them"),
        (dict(options={"held": 0.5}), "held must be a truth value or 3 of them"),
    ],
    SMALL: [
        (dict(options={"held": True}), r"unknown reset options \['held'\]; choose from: state, goal, reset_mask"),
        (dict(options={"goal": np.zeros((2, 98))}), r"goal must have the shape \(98,\) or \(3, 98\), not \(2, 98\)"),
        (dict(options={"state": np.full(106, np.nan)}), "state must be numbers of the type uint8"),
        (dict(options={"goal": np.full((3, 98), 0.5)}), "a goal has 98 cells"),
        (dict(options={"state": np.full((3, 106), 9)}), "impossible pose"),
    ],
}
BAD_ANYWHERE = [
    (dict(options={"reset_mask": [0, 2]}), "reset_mask must be a truth value or 3 of them"),
    (dict(seed=[1, 2]), "2 seeds for 3 episodes"),
    (dict(seed=[1, 2, -3]), "Seed must be greater or equal to zero"),
]


@pytest.mark.parametrize("name", BAD)
def test_bad_resets_change_nothing(name):
    envs = lock_step(name, 3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros_like(envs.action_space.sample()))
    with pytest.raises(ValueError, match="the first reset must include all"):
        envs.reset(options={"reset_mask": [True, False, True]})
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    before = pickle.dumps(envs)
    for arguments, words in BAD[name] + BAD_ANYWHERE:
        with pytest.raises((ValueError, gymnasium.error.Error), match=words):
            envs.reset(**({"seed": 1} | arguments))
        assert pickle.dumps(envs) == before


@pytest.mark.parametrize(
    ("name", "settings"), [*((name, {"max_episode_steps": 30}) for name in EXPERTS), (SMALL, {}), (PAPER, {})]
)
def test_by_default_the_next_episode_begins_as_in_gymnasiums_own(name, settings):
    """`make_vec(..., vectorization_mode="sync")` in a loop that never resets: the same, one episode after the other."""
    n, rng = 4, np.random.default_rng(2)
    ours, theirs = (
        gymnasium.make_vec(f"envs:{name}", num_envs=n, vectorization_mode=mode, **settings) for mode in (None, "sync")
    )
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    seen, _ = ours.reset(seed=4)
    assert equal(seen, theirs.reset(seed=4)[0])
    act, over, plans = name in EXPERTS and policy(name, ours, rng), np.zeros(n, bool), [[]] * n
    ended, succeeded = np.zeros(n, int), np.zeros(n, int)
    for _ in range(3 * settings.get("max_episode_steps", 0) or 3 * ours.unwrapped.task.max_steps):
        if act:
            actions = act(seen)
        else:  # the builder in every second place
            world = ours.unwrapped
            for i in np.flatnonzero(world.elapsed == 0):
                plans[i] = plan(world.task, world.states[i], world.goals[i]) if i % 2 == 0 and not over[i] else []
            actions = np.array([plans[i].pop(0) if plans[i] else rng.integers(21) for i in range(n)])
        begins = over
        seen, rewards, terminated, truncated, info = ours.step(actions)
        others, *same, single_info = theirs.step(actions)
        assert equal(seen, others) and equal((rewards, terminated, truncated), tuple(same))
        for key in single_info.keys() & {"is_success", "achieved_before"}:
            there = single_info[f"_{key}"]
            assert equal(info[f"_{key}"], there) and equal(info[key][there], single_info[key][there])
        assert not (begins & (terminated | truncated | (rewards != 0))).any()
        over = terminated | truncated
        ended, succeeded = ended + over, succeeded + terminated
    assert ended.min() >= 2 and succeeded.any()


@every_name
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, "SameStep", "never", None])
def test_the_modes_that_there_are(name, mode):
    with pytest.raises(ValueError, match=r"autoreset_mode must be .*NEXT_STEP or .*DISABLED, not"):
        lock_step(name, 2, mode)
    assert lock_step(name, 2, "Disabled").metadata["autoreset_mode"] is AutoresetMode.DISABLED
