"""The ball-throwing tasks as gymnasium environments with goals."""

import math
import pickle

import gymnasium
import numpy as np
import pytest

from envs.throwing.experts import HandExpert, RobotExpert
from envs.throwing.physics import BASE, GRIP, LINK, WALL, WORKSPACE, forward_kinematics, robot_step
from envs.throwing.tasks import GOAL_BOX, MAX_STEPS, TOLERANCE, Hand, HandWall, Robot

TASKS = [Hand, HandWall, Robot]
EXPERTS = {Hand: HandExpert, HandWall: lambda: HandExpert(WALL), Robot: RobotExpert}


def rollout(task, policy, seed=0, steps=200, **options):
    """Yields what `step` returns, over as many episodes as it takes."""
    observation, _ = task.reset(seed=seed, options=options)
    for step in range(1, steps + 1):
        observation, *rest = task.step(policy(observation))
        yield observation, *rest
        if rest[1] or step % MAX_STEPS == 0:
            observation, _ = task.reset(options=options)


def random_policy(task, seed=0):
    task.action_space.seed(seed)
    return lambda observation: task.action_space.sample()


def expert_policy(task):
    expert = EXPERTS[type(task)]()
    return lambda observation: expert(observation["observation"], observation["desired_goal"])


# --- gymnasium --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", TASKS)
def test_an_episode_without_success_is_truncated_after_50_steps(task):
    env = gymnasium.make(f"envs:{task.__name__}-v1")
    env.reset(seed=0)
    ends = [env.step(np.array([0, 0, -1], np.float32))[2:4] for _ in range(50)]
    assert ends == [(False, False)] * 49 + [(False, True)]


@pytest.mark.parametrize("play", [random_policy, expert_policy])
@pytest.mark.parametrize("task", TASKS)
def test_what_is_observed(task, play):
    """Within its space; goals are what they say."""
    env = task()
    for observation, *_ in rollout(env, play(env), 1, 400):
        assert env.observation_space.contains(observation)
        assert {value.dtype for value in observation.values()} == {np.dtype(np.float32)}
        assert np.array_equal(observation["achieved_goal"], observation["observation"][-4:-2])
        assert not np.shares_memory(observation["achieved_goal"], observation["observation"])
        assert np.array_equal(observation["achieved_goal"], env.state[env.ball].astype(np.float32))
        assert np.array_equal(observation["desired_goal"], env.goal)


def test_a_hand_observes_its_state_and_a_robot_its_angles_as_points_on_a_circle():
    hand, robot = Hand(), Robot()
    for env in (hand, robot):
        list(rollout(env, random_policy(env), steps=7))
    assert np.array_equal(hand.step(hand.action_space.sample())[0]["observation"], hand.state.astype(np.float32))
    seen = robot.step(robot.action_space.sample())[0]["observation"]
    assert seen.shape == (15,)
    assert np.arctan2(seen[2:4], seen[0:2]) == pytest.approx(robot.state[0:2], abs=1e-6)
    np.testing.assert_array_equal(seen[4:], robot.state[2:].astype(np.float32))


# --- rewards ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", TASKS)
def test_rewards_of_batches_are_those_of_single_goals(task):
    env, rng = task(), np.random.default_rng(0)
    achieved = rng.random((2000, 2), dtype=np.float32)
    desired = (achieved + rng.uniform(-0.06, 0.06, (2000, 2))).astype(np.float32)
    rewards = env.compute_reward(achieved, desired, {})
    near = np.array([math.dist(a, d) < TOLERANCE for a, d in zip(achieved.tolist(), desired.tolist())])
    assert np.array_equal(rewards, np.where(near, 0.0, -1.0)) and 200 < near.sum() < 1800
    assert rewards.shape == (2000,) and rewards.dtype == np.float64
    single = [env.compute_reward(a, d, {}) for a, d in zip(achieved, desired)]
    assert np.array_equal(rewards, single)
    np.testing.assert_array_equal(
        env.compute_reward(achieved.reshape(40, 50, 2), desired.reshape(40, 50, 2), None), rewards.reshape(40, 50)
    )


@pytest.mark.parametrize("task", TASKS)
def test_the_reward_is_computed_from_the_observation_and_success_ends_the_episode(task):
    env = task()
    ends = 0
    for observation, reward, terminated, truncated, info in rollout(env, expert_policy(env), 2, 400):
        assert reward == env.compute_reward(observation["achieved_goal"], observation["desired_goal"], info)
        assert type(reward) is float and reward in (-1.0, 0.0)
        assert terminated is info["is_success"] is (reward == 0.0) and truncated is False
        ends += terminated
    assert ends >= 5


def test_the_tolerance_is_a_setting():
    near, far = np.array([0.5, 0.5]), np.array([0.5, 0.59])
    assert Hand().compute_reward(near, far) == -1 and Hand(tolerance=0.1).compute_reward(near, far) == 0
    assert Hand(tolerance=0.25).compute_reward(np.array([0.5, 0.5]), np.array([0.5, 0.25])) == -1  # nearer, not as near


# --- starts -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", TASKS)
def test_starts(task):
    env = task()
    gripper, closed = (slice(2, 4), 8) if task is Robot else (slice(0, 2), 4)
    starts, goals = [], []
    for episode in range(5000):
        observation, info = env.reset(seed=None if episode else 0)
        assert info == {"is_success": False}
        starts.append(env.state.copy())
        goals.append(observation["desired_goal"])
    states, goals = np.array(starts), np.array(goals)
    held = states[:, closed] == 1
    assert abs(held.mean() - 0.5) < 4 * 0.5 / math.sqrt(5000)
    in_gripper = (states[:, gripper] == states[:, env.ball]).all(axis=1)
    assert np.array_equal(held, in_gripper)
    for axis in (0, 1):
        low, high = GOAL_BOX[2 * axis : 2 * axis + 2]
        assert low <= goals[:, axis].min() < low + 0.005 and high - 0.005 < goals[:, axis].max() <= high + 1e-7
        assert goals[:, axis].mean() == pytest.approx((low + high) / 2, abs=0.01)
    assert np.corrcoef(held, goals[:, 0])[0, 1] == pytest.approx(0, abs=0.1)
    free = states[~held][:, env.ball]
    if task is Robot:
        assert 0.98 < np.hypot(*(free - BASE).T).max() / (2 * LINK) <= 1
        assert free.min(axis=0) == pytest.approx([BASE[0] - Robot.falls_within, 0.0], abs=0.01)
        assert free.max(axis=0) == pytest.approx([BASE[0] + Robot.falls_within, 4 * LINK], abs=0.01)
        assert states[:, :2].min() < -3.1 and states[:, :2].max() > 3.1
        np.testing.assert_allclose(states[:, 2:4], [forward_kinematics(*s[:2], 0, 0)[:2] for s in states], atol=1e-12)
    else:
        assert (free[:, 1] == 0).all()
        assert WORKSPACE[0] <= free[:, 0].min() < 0.06 and 0.34 < free[:, 0].max() <= WORKSPACE[1]
        assert (states[:, 0:2] >= [WORKSPACE[0], WORKSPACE[2]]).all()
        assert (states[:, 0:2] <= [WORKSPACE[1], WORKSPACE[3]]).all() and states[:, 1].max() > 0.34
    moving = [i for i in range(states.shape[1]) if (states[:, i] != 0).any()]
    assert moving == ([0, 1, 2, 3, 8, 9, 10] if task is Robot else [0, 1, 4, 5, 6])  # velocities are zero


def test_a_ball_that_starts_free_falls_to_where_the_arm_can_grab_it():
    env = Robot()
    for seed in range(300):
        env.reset(seed=seed, options={"held": False})
        x = env.state[9]
        for _ in range(30):
            robot_step(env.state, np.array([0.0, 0.0, -1.0]))
        assert env.state[9:13].tolist() == [x, 0, 0, 0]
        assert math.dist(env.state[9:11], BASE) <= 2 * LINK + GRIP


@pytest.mark.parametrize("task", TASKS)
def test_reset_options(task):
    env = task()
    for held in (True, False):
        for seed in range(10):
            observation, _ = env.reset(seed=seed, options={"held": held, "goal": (0.7, 0.3)})
            assert env.state[8 if task is Robot else 4] == held
            assert observation["desired_goal"] == pytest.approx([0.7, 0.3])
    # what is not asked for is as without options
    plain, _ = env.reset(seed=5)
    wished, _ = env.reset(seed=5, options={"goal": [0.7, 0.3]})
    assert np.array_equal(plain["observation"], wished["observation"])
    wished, _ = env.reset(seed=5, options={"held": bool(plain["observation"][10 if task is Robot else 4])})
    assert all(np.array_equal(plain[name], wished[name]) for name in plain)


# --- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("settings", "words"), [
    ({"render_mode": "ansi"}, "render_mode must be one of .* not 'ansi'"),
    ({"tolerance": 0.0}, "tolerance"),
    ({"tolerance": 1.0}, "tolerance"),
    ({"tolerance": math.nan}, "tolerance"),
    ({"goal_box": (0.7, 0.7, 0.2, 0.5)}, "goal_box must be"),
    ({"goal_box": (0.7, 0.9, 0.5, 0.2)}, "goal_box must be"),
    ({"goal_box": (0.7, 1.1, 0.2, 0.5)}, "goal_box must be"),
    ({"goal_box": (0.7, 0.9, -0.1, 0.5)}, "goal_box must be"),
    ({"goal_box": (0.3, 0.6, 0.2, 0.5)}, "overlaps the workspace"),
    ({"goal_box": (0.1, 0.9, 0.1, 0.9)}, "overlaps the workspace"),
    ({"goal_box": (0.65, 0.95, 0.2, 0.5), "tolerance": 0.4}, "overlaps the workspace"),
])  # fmt: skip
def test_bad_settings(task, settings, words):
    with pytest.raises(ValueError, match=words):
        task(**settings)


def test_distance_to_the_workspace():
    assert Hand.distance_to_workspace((0.65, 0.95, 0.2, 0.5)) == pytest.approx(0.3)
    assert Hand.distance_to_workspace((0.38, 0.5, 0.39, 0.5)) == pytest.approx(0.05)  # from corner to corner
    assert Hand.distance_to_workspace((0.1, 0.2, 0.5, 0.9)) == pytest.approx(0.15)
    assert Robot.distance_to_workspace((0.65, 0.95, 0.2, 0.5)) == pytest.approx(0.65 - 0.27 - 0.25)
    assert Robot.distance_to_workspace((0.57, 0.9, 0.65, 0.9)) == pytest.approx(0.5 - 0.25)  # sides 0.3 and 0.4
    assert Robot.distance_to_workspace((0.2, 0.3, 0.2, 0.3)) == 0


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("options", "words"), [
    ({"hold": True}, r"unknown reset options \['hold'\]; choose from: held, goal"),
    ({"goal": (0.5, 1.5)}, "goal must be x, y"),
    ({"goal": (0.5, math.nan)}, "goal must be finite numbers"),
    ({"goal": (0.5, 0.5, 0.5)}, r"goal must have the shape \(2,\), not \(3,\)"),
    ({"held": 0.5}, "held must be a truth value, not 0.5"),
    ({"held": [True]}, r"held must be a truth value, not \[True\]"),
])  # fmt: skip
def test_bad_reset_options(task, options, words):
    env = task()
    env.reset(seed=3)
    before = pickle.dumps((env.state, env.goal, env.np_random))
    with pytest.raises(ValueError, match=words):
        env.reset(seed=4, options=options)
    assert pickle.dumps((env.state, env.goal, env.np_random)) == before  # the episode goes on
