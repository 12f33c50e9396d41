"""Bit flipping against its rules, and Q* against value iteration over every pair of bits and goal."""

import itertools

import numpy as np
import pytest

from envs.bitflip import CELL, QUIT, RIGHT, WRONG, BitFlip, BitFlipBox, exact_q, exact_values

QUITS = (None, "terminal", "timeout")


def placed(bits, goal, quit=None):
    """An environment in this state."""
    env = BitFlip(len(bits), quit)
    env.reset(seed=0)
    env.bits, env.goal = np.array(bits, np.float32), np.array(goal, np.float32)
    return env


# ---- rules -----------------------------------------------------------------------------------------------------------
def test_an_action_flips_its_bit_until_the_goal_is_there():
    env = placed([0, 1, 0], [1, 1, 1])
    observation, *rest = env.step(2)
    assert rest == [-1.0, False, False, {"is_success": False}]
    assert observation["observation"].tolist() == observation["achieved_goal"].tolist() == [0, 1, 1]
    assert observation["desired_goal"].tolist() == [1, 1, 1]
    assert env.step(np.int64(0))[1:] == (0.0, True, False, {"is_success": True})


def test_time_is_over_after_n_steps_but_success_on_the_last_is_no_time_out():
    env = placed([0, 0, 0], [1, 1, 1])
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    env = placed([0, 0, 0], [1, 1, 1])
    assert [env.step(i)[2:4] for i in range(3)] == [(False, False), (False, False), (True, False)]
    env.reset()
    assert env.steps == 0


@pytest.mark.parametrize(("quit", "ends"), [("terminal", (True, False)), ("timeout", (False, True))])
@pytest.mark.parametrize("before", [0, 2])  # the last step of an episode is no different
def test_giving_up_changes_nothing_and_ends_the_game(quit, ends, before):
    env = placed([0, 0, 0], [1, 1, 1], quit)
    for _ in range(before):
        env.step(1)
    observation, reward, *end, info = env.step(3)
    assert observation["observation"].tolist() == [0, 0, 0]
    assert reward == -1.0 and tuple(end) == ends and info == {"is_success": False}
    assert all(type(flag) is bool for flag in end)


def test_starts_are_uniform_over_all_pairs_that_differ():
    env = BitFlip(2)
    env.reset(seed=0)
    count = {pair: 0 for pair in itertools.product(itertools.product((0, 1), repeat=2), repeat=2)}
    for _ in range(2400):
        seen, _ = env.reset()
        count[tuple(map(int, seen["observation"])), tuple(map(int, seen["desired_goal"]))] += 1
    assert all(count[bits, bits] == 0 for bits in itertools.product((0, 1), repeat=2))
    drawn = [n for (bits, goal), n in count.items() if bits != goal]
    assert len(drawn) == 12 and 140 < min(drawn) and max(drawn) < 260  # 200 expected, deviation 14


def test_rewards_of_many_goals_at_once():
    env = BitFlip(3)
    achieved = np.array([[[0, 0, 1], [1, 1, 1]], [[0, 0, 0], [0, 1, 1]]], np.float32)
    desired = np.array([[0, 0, 1], [0, 1, 1]], np.float32)
    np.testing.assert_array_equal(env.compute_reward(achieved, desired, None), [[0, -1], [-1, 0]])
    assert env.compute_reward(achieved[0, 0], desired[0], {}) == 0


def test_the_largest_number_decides_in_the_continuous_version():
    box, plain = BitFlipBox(4, "timeout"), BitFlip(4, "timeout")
    for numbers in ([0.1, -0.3, 0.9, 0.2, -1.0], [-0.9, -0.2, -0.5, -0.3, -0.6], [0, 0, 0, 0, 0.1]):
        box.reset(seed=1), plain.reset(seed=1)
        first, second = box.step(np.array(numbers, np.float32)), plain.step(int(np.argmax(numbers)))
        assert first[1:] == second[1:]
        assert np.array_equal(first[0]["observation"], second[0]["observation"])


@pytest.mark.parametrize(("arguments", "words"), [
    (dict(n=0), "at least 1, not 0"),
    (dict(quit="later"), "'terminal' or 'timeout', not 'later'"),
    (dict(render_mode="ansi"), "render_mode must be one of"),
])  # fmt: skip
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        BitFlip(**arguments)


@pytest.mark.parametrize(("quit", "action", "words"), [(None, 3, "0 to 2, not 3"), ("timeout", -1, "0 to 3, not -1")])
def test_unknown_actions(quit, action, words):
    with pytest.raises(ValueError, match=words):
        placed([0, 0, 0], [1, 1, 1], quit).step(action)


# ---- pictures --------------------------------------------------------------------------------------------------------
def test_picture_shows_bits_above_goal_and_frames_what_differs():
    env = placed([1, 0, 0], [1, 1, 0])
    env.render_mode = "rgb_array"
    picture = env.render()
    assert picture.shape == (2 * CELL, 3 * CELL, 3) and picture.dtype == np.uint8
    middles = picture[CELL // 2 :: CELL, CELL // 2 :: CELL]
    assert (middles < 128).all(axis=2).tolist() == [[True, False, False], [True, True, False]]
    frames = picture[2::CELL, 2::CELL]
    assert (frames[:, 1] == (213, 94, 0)).all() and not (frames[:, [0, 2]] == (213, 94, 0)).all(axis=2).any()
    assert BitFlip(3).render() is None


# ---- exact values ----------------------------------------------------------------------------------------------------
def brute_force(n, gamma, quit):
    """Value iteration over all pairs, by stepping the environment: bits, goals (m, n) and Q* (m, actions)."""
    strings = [np.array(bits, np.float32) for bits in itertools.product((0, 1), repeat=n)]
    pairs = [(bits, goal) for bits in strings for goal in strings if (bits != goal).any()]
    place = {(bits.tobytes(), goal.tobytes()): i for i, (bits, goal) in enumerate(pairs)}
    actions = range(n + (quit is not None))
    after = np.zeros((len(pairs), len(actions)), int)
    reward, goes_on = np.zeros(after.shape), np.zeros(after.shape)
    for i, (bits, goal) in enumerate(pairs):
        for action in actions:
            env = placed(bits, goal, quit)
            seen, reward[i, action], terminated, _, _ = env.step(action)
            if not terminated:  # being truncated says nothing about the value
                goes_on[i, action] = 1.0
                after[i, action] = place[seen["observation"].tobytes(), goal.tobytes()]
    q = np.zeros(after.shape)
    while True:
        new = reward + gamma * goes_on * q.max(axis=1)[after]
        if np.abs(new - q).max() < 1e-13:
            return *(np.stack(part) for part in zip(*pairs)), new
        q = new


@pytest.mark.parametrize("quit", QUITS)
@pytest.mark.parametrize("gamma", [0.5, 0.98])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_exact_values_are_those_of_value_iteration_over_all_pairs(n, gamma, quit):
    bits, goals, q = brute_force(n, gamma, quit)
    assert len(bits) == 2**n * (2**n - 1)
    np.testing.assert_allclose(exact_values(bits, goals, gamma, quit), q, atol=1e-10)


def test_what_there_is_no_action_for_is_nan():
    q = exact_q(3, 0.9)
    assert np.isnan(q).tolist() == [[True] * 3, [False, False, True], [False, False, True], [False, True, True]]


def test_with_a_terminal_state_giving_up_is_best_beyond_two_wrong_bits():
    """Manela and Biess call the action useless; read literally, it is not."""
    q = exact_q(10, 0.98, "terminal")
    assert (q[1:, QUIT] == -1).all()
    assert q[1, RIGHT] == 0 and q[2, RIGHT] == -1  # better than, and as good as giving up
    assert (q[3:, RIGHT] < -1).all() and (q[3:, RIGHT] == -1 - 0.98).all()  # one flip, then give up


def test_as_a_time_out_giving_up_is_useless_everywhere():
    q, d = exact_q(10, 0.98, "timeout"), np.arange(1, 11)
    np.testing.assert_allclose(q[1:, RIGHT] - q[1:, QUIT], 0.98 ** (d - 1), atol=1e-12)
    assert (q[1:-1, WRONG] < q[1:-1, QUIT]).all()  # though better than a flip that has to be taken back


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0, 0.9), "at least 1"), ((3, 1.0), r"gamma must lie in \(0, 1\)"), ((3, 0.9, "no"), "quit must be")],
)
def test_bad_arguments_of_exact_values(arguments, words):
    with pytest.raises(ValueError, match=words):
        exact_q(*arguments)
