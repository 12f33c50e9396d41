"""Playing in lock-step: what is stored by hand, and that it is what episodes one by one would be."""

import numpy as np
import pytest

from papers.sibling_rivalry.agents.rollouts import EVALUATIONS, SHOWN, Rollouts, play, terminal_states
from tests.papers.sibling_rivalry.fake_tasks import Line, Picture, Plane

TASKS = {"plane": Plane, "line": Line, "picture": Picture}


def towards(observations, goals, legal):
    """On the line: one cell towards the goal."""
    return 1 + np.sign(goals - observations)[:, 0].astype(np.int64)


def a_function_of(task):
    """A policy without randomness: a legal action, or one within the range, that depends on everything it sees."""

    def act(observations, goals, legal):
        seen = np.concatenate([part.reshape(len(part), -1) for part in (observations, goals)], axis=1)
        numbers = seen @ np.arange(1, seen.shape[1] + 1)
        if task.action_range is None:
            scores = np.sin(numbers[:, None] * np.arange(1, task.n_actions + 1))
            return np.where(legal, scores, -9).argmax(axis=1)
        angles = 5 * numbers[:, None] + np.arange(task.n_actions)
        return (task.action_range * np.sin(angles)).astype(np.float32)

    return act


# ---- by hand ---------------------------------------------------------------------------------------------------------
def test_three_walks_along_a_line():
    """From 2 to 4, from 6 to 5, and from 0 to 6, which takes longer than the five steps of an episode."""
    goals = np.array([[4], [5], [6]], np.float32)
    found = play(Line(), towards, np.array([[2], [6], [0]]), goals, np.random.default_rng(0))
    assert len(found) == 3 and found.lengths.tolist() == [2, 1, 5] and found.reached.tolist() == [True, True, False]
    assert found.states[..., 0].tolist() == [[2, 3, 4, 0, 0, 0], [6, 5, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5]]
    assert found.actions.tolist() == [[2, 2, 0, 0, 0], [0, 0, 0, 0, 0], [2, 2, 2, 2, 2]]
    assert found.ends.tolist() == [[4], [5], [5]]
    assert found.running.tolist() == [[True] * 2 + [False] * 3, [True] + [False] * 4, [True] * 5]
    np.testing.assert_array_equal(found.goals, goals)
    kinds = {name: getattr(found, name).dtype for name in ("states", "actions", "ends", "lengths", "reached")}
    assert kinds == {"states": np.int64, "actions": np.int64, "ends": np.float32, "lengths": np.int64, "reached": bool}


def test_success_counts_after_a_step_not_before_the_first():
    """Who starts on the goal has to come back to it, and success with the last step is success."""
    script = iter([[2], [0]])
    goal = np.array([[3.0]], np.float32)
    found = play(Line(), lambda *_: np.array(next(script)), np.array([[3]]), goal, np.random.default_rng(0))
    assert found.lengths.tolist() == [2] and found.reached.tolist() == [True]
    found = play(Line(), towards, np.array([[0]]), np.array([[5.0]], np.float32), np.random.default_rng(0))
    assert found.lengths.tolist() == [5] and found.reached.tolist() == [True]


# ---- against episodes one by one -------------------------------------------------------------------------------------
def one_by_one(task, act, start, goal):
    """States, actions and success of an episode."""
    states, actions, rng = [start], [], np.random.default_rng(0)
    for _ in range(task.max_steps):
        now = states[-1][None]
        actions.append(act(task.observe(now), goal[None], task.legal(now))[0])
        states.append(task.step(now, np.array(actions[-1])[None], rng)[0])
        if task.success(task.achieved(states[-1][None])[0], goal):
            return states, actions, True
    return states, actions, False


@pytest.mark.parametrize("name", TASKS)
def test_lock_step_is_one_by_one(name):
    task, rng, n = TASKS[name](), np.random.default_rng(1), 60
    act, starts, goals = a_function_of(task), task.starts(n, rng), task.goals(n, rng)
    found = play(task, act, starts, goals, rng)
    assert 0 < found.reached.sum() < n and len(set(found.lengths.tolist())) > 1
    for i in range(n):
        states, actions, reached = one_by_one(task, act, starts[i], goals[i])
        steps = len(actions)
        assert (found.lengths[i], found.reached[i]) == (steps, reached)
        np.testing.assert_array_equal(found.states[i, : steps + 1], states)
        np.testing.assert_array_equal(found.actions[i, :steps], actions)
        assert not found.states[i, steps + 1 :].any() and not found.actions[i, steps:].any()
        np.testing.assert_array_equal(found.ends[i], task.achieved(states[-1][None])[0])
        np.testing.assert_array_equal(found.goals[i], goals[i])


# ---- terminal states -------------------------------------------------------------------------------------------------
def ended(ends):
    n = len(ends)
    return Rollouts(*[np.zeros((n, 1))] * 3, np.asarray(ends, np.float32), np.ones(n, np.int64), np.zeros(n, bool))


def test_terminal_states_of_the_first_episodes_of_the_first_evaluations_of_planes():
    ends = np.random.default_rng(0).uniform(0, 9, (SHOWN + 5, 2))
    found = terminal_states(ended(ends), 0)
    assert SHOWN == 20 and len(found) == 2 * SHOWN
    assert {type(value) for value in found.values()} == {float}
    for i in range(SHOWN):
        assert [found[f"end {i} x"], found[f"end {i} y"]] == pytest.approx(ends[i], abs=0.00501)
        assert all(len(repr(found[f"end {i} {axis}"])) <= 4 for axis in "xy")  # two decimals
    assert len(terminal_states(ended(ends[:3]), 0)) == 6
    assert EVALUATIONS == 15 and len(terminal_states(ended([[1, 2]]), 14)) == 2
    assert terminal_states(ended([[1, 2]]), 15) == {}
    assert terminal_states(ended([[1, 2, 3]]), 0) == {} and terminal_states(ended(np.zeros((2, 1, 5, 5))), 0) == {}
