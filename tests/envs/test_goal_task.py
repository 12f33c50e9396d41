"""Goal tasks one episode at a time: gymnasium's rules, what ends an episode, options, errors, and pictures."""

import gymnasium
import numpy as np
import pytest

from envs.goal_task import GoalEnv
from envs.maze.point_maze import point_maze
from tests.envs.test_contract import equal
from tests.papers.sibling_rivalry.fake_tasks import Hook, Line, Plane

TASKS = {"plane": lambda: Plane(noise=0.1), "line": Line, "hook": Hook}
EVERY_TASK = pytest.mark.parametrize("make", TASKS.values(), ids=TASKS)


def line(state: int = 2, goal: int = 4, **settings) -> GoalEnv:
    """An environment that has just begun here."""
    env = GoalEnv(Line(), **settings)
    env.reset(seed=0, options={"state": [state], "goal": [goal]})
    return env


# ---- gymnasium -------------------------------------------------------------------------------------------------------
@EVERY_TASK
def test_the_environment_is_the_task(make):
    """Step by step, with the generator of the environment."""
    env, task = GoalEnv(make()), make()
    seen, _ = env.reset(seed=5)
    rng = np.random.default_rng()
    rng.bit_generator.state = gymnasium.utils.seeding.np_random(5)[0].bit_generator.state
    states, goal = task.starts(1, rng), task.goals(1, rng)[0]
    for _ in range(task.max_steps):
        for name, value in (("observation", task.observe(states)[0]), ("achieved_goal", task.achieved(states)[0])):
            np.testing.assert_array_equal(seen[name], value)
        np.testing.assert_array_equal(seen["desired_goal"], goal)
        action = env.action_space.sample()
        seen, reward, terminated, _, info = env.step(action)
        states = task.step(states, np.array([action]), rng)
        success = bool(task.success(task.achieved(states)[0], goal))
        assert (reward, terminated, info["is_success"]) == (float(success), success, success)
        if terminated:
            break


# ---- episodes --------------------------------------------------------------------------------------------------------
def test_success_terminates_and_pays_1():
    env = line()
    seen, *rest, info = env.step(2)
    assert rest == [0.0, False, False] and info["is_success"] is False
    assert {name: value.tolist() for name, value in seen.items()} == {
        "observation": [3], "achieved_goal": [3], "desired_goal": [4],
    }  # fmt: skip
    seen, *rest, info = env.step(np.int64(2))
    assert rest == [1.0, True, False] and info["is_success"] is True
    assert all(type(value) is kind for value, kind in zip(rest, (float, bool, bool)))


def test_time_is_over_after_max_steps_but_success_on_the_last_is_no_time_out():
    env = line(state=0, goal=6)
    assert [env.step(2)[2:4] for _ in range(5)] == [(False, False)] * 4 + [(False, True)]
    env.reset(options={"state": [0], "goal": [5]})
    assert [env.step(2)[2:4] for _ in range(5)] == [(False, False)] * 4 + [(True, False)]


def test_a_start_on_the_goal_is_no_success_yet():
    env = line(state=4, goal=4)
    assert env.step(2)[1:4] == (0.0, False, False) and env.step(0)[1:4] == (1.0, True, False)


def test_legal_actions_are_in_the_info():
    env = GoalEnv(Line())
    _, info = env.reset(seed=0, options={"state": [0], "goal": [3]})
    assert info["legal"].tolist() == [False, True, True] and info["is_success"] is False
    assert env.step(2)[4]["legal"].tolist() == [True, True, True]
    assert "legal" not in GoalEnv(Plane()).reset(seed=0)[1]


def test_what_is_shown_is_a_copy():
    env = line()
    seen, _ = env.reset(options={"state": [2], "goal": [4]})
    for value in seen.values():
        value[:] = 6
    again = env.step(1)[0]
    assert {name: value.tolist() for name, value in again.items()} == {
        "observation": [2], "achieved_goal": [2], "desired_goal": [4],
    }  # fmt: skip


def test_reset_takes_a_state_a_goal_or_both():
    env, given = GoalEnv(Plane()), {"state": np.array([1.5, -2.0]), "goal": np.array([3.0, 4.0])}
    plain, _ = env.reset(seed=1)
    for name in ({"state"}, {"goal"}, {"state", "goal"}):
        seen, _ = env.reset(seed=1, options={key: given[key] for key in name})
        np.testing.assert_array_equal(seen["observation"], given["state"] if "state" in name else plain["observation"])
        np.testing.assert_array_equal(seen["desired_goal"], given["goal"] if "goal" in name else plain["desired_goal"])
    env.step(np.array([0.5, 0.5], np.float32))
    assert given["state"].tolist() == [1.5, -2.0] and env.state.tolist() == [2.0, -1.5]


def test_options_do_not_shift_what_is_drawn_later():
    seen = []
    for options in (None, {"state": [0.0, 0.0], "goal": [1.0, 1.0]}):
        env = GoalEnv(Plane())
        env.reset(seed=1, options=options)
        seen.append(env.reset()[0])
    assert equal(*seen)


def test_rewards_of_many_goals_at_once():
    env = GoalEnv(Plane())
    achieved = np.zeros((3, 2, 2))
    desired = np.array([[0.0, 0.3], [0.0, 0.31]])
    rewards = env.compute_reward(achieved, desired, {})
    assert rewards.dtype == np.float64 and rewards.tolist() == [[1, 0]] * 3
    assert env.compute_reward(achieved[0, 0], desired[0]) == 1


# ---- bad input -------------------------------------------------------------------------------------------------------
class Sparse(Plane):
    """Not every goal within the bounds is one."""

    def contains(self, goal):
        return bool(goal[0] < 5)


@pytest.mark.parametrize(("options", "message"), [
    ({"start": [0, 0]}, r"unknown reset options \['start'\]; choose from: state, goal"),
    ({"state": [0.0]}, r"state must have the shape \(2,\), not \(1,\)"),
    ({"state": [0.0, 10.5]}, r"the state \[0.0, 10.5\] has 10.5, which must lie in \[-10.0, 10.0\]"),
    ({"goal": [0.0]}, r"goal must have the shape \(2,\), not \(1,\)"),
    ({"goal": [0.0, 10.5]}, r"the goal \[0.0, 10.5\] lies outside Box"),
    ({"goal": [0.0, np.nan]}, r"goal must be finite numbers, not \[0.0, nan\]"),
    ({"goal": [6.0, 0.0]}, r"no state meets the goal \[6.0, 0.0\]"),
])  # fmt: skip
def test_what_no_episode_can_begin_with(options, message):
    with pytest.raises(ValueError, match=message):
        GoalEnv(Sparse()).reset(seed=0, options=options)


@pytest.mark.parametrize(
    ("task", "action"),
    [(Line(), 3), (Line(), -1), (Line(), 0.5), (Plane(), np.float32([0.6, 0])), (Plane(), np.float32([0, 0, 0])),
     (Plane(), np.float32([np.nan, 0]))],
)  # fmt: skip
def test_what_is_no_action(task, action):
    env = GoalEnv(task)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="is not an action of"):
        env.step(action)


def test_a_step_before_the_first_reset():
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step\(\)"):
        GoalEnv(Line()).step(0)


# ---- pictures --------------------------------------------------------------------------------------------------------
def test_pictures_are_the_tasks():
    env = GoalEnv(Plane(), render_mode="rgb_array")
    assert env.render() is None
    env.reset(options={"state": [1.0, 0.0], "goal": [2.0, 0.0]})
    picture = env.render()
    assert picture.shape == (20, 30, 3) and picture.dtype == np.uint8 and (picture == 50).all()
    env.step(np.float32([0.5, 0]))
    assert (env.render() == 55).all()
    quiet = GoalEnv(Plane())
    quiet.reset(seed=0)
    assert quiet.render() is None
    with pytest.raises(ValueError, match=r"render_mode must be one of .*human.*rgb_array.*, not 'ansi'"):
        GoalEnv(Plane(), render_mode="ansi")


def test_a_refused_reset_changes_nothing():
    env = GoalEnv(point_maze())
    env.reset(seed=0)
    state, goal = env.state.copy(), env.goal.copy()
    for options in ({"goal": [99.0, 0.0]}, {"state": [0.0, 0.0, 0.0]}):
        with pytest.raises(ValueError):
            env.reset(options=options)
        assert (env.state == state).all() and (env.goal == goal).all()
