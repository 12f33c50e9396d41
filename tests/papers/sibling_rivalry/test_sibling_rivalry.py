"""Pairs of siblings: their rewards and who is kept, by hand, against Algorithm 1 in plain Python, and as properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.sibling_rivalry.sibling_rivalry import rivalry, self_balancing_reward, siblings
from tests.papers.sibling_rivalry.fake_tasks import Picture, Plane

GOAL = (3.0, 0.0)
distance = Plane().distance


def pair(a, b, reached=(False, False), epsilon=1.0, goal=GOAL):
    """Two siblings that ended in `a` and `b`."""
    return rivalry(np.array([a, b], float), np.array([goal, goal], float), np.array(reached), distance, epsilon)


# ---- Eq. (3) ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("to_goal", "to_anti_goal", "reached", "reward"), [
    (2.0, 0.0, False, -2.0),  # the whole distance is paid where the anti-goal is
    (2.0, 0.5, False, -1.5),
    (2.0, 2.0, False, 0.0),
    (2.0, 5.0, False, 0.0),  # no gain from being still farther away
    (0.1, 0.0, True, 1.0),  # the distance that is left costs nothing
    (0.1, 9.0, True, 1.0),
])  # fmt: skip
def test_self_balancing_reward_by_hand(to_goal, to_anti_goal, reached, reward):
    found = self_balancing_reward(np.array([to_goal]), np.array([to_anti_goal]), np.array([reached]))
    assert found.dtype == np.float64 and found.tolist() == [reward]


# ---- who is whose sibling --------------------------------------------------------------------------------------------
def test_siblings_are_next_to_each_other():
    assert siblings(6).tolist() == [1, 0, 3, 2, 5, 4] and siblings(0).tolist() == []
    assert siblings(6).dtype == np.int64
    for n in (1, 7):
        with pytest.raises(ValueError, match=f"siblings come in pairs: .* must be even, not {n}"):
            siblings(n)


# ---- pairs by hand ---------------------------------------------------------------------------------------------------
def test_the_farther_is_pushed_away_from_the_closer():
    """Ends at 2 and 1 from the goal, and 1 apart: min(0, -2 + 1) and min(0, -1 + 1)."""
    found = pair((1.0, 0.0), (2.0, 0.0))
    assert found.rewards.tolist() == [-1.0, 0.0] and found.rewards.dtype == np.float64
    assert found.anti_goals.tolist() == [[2.0, 0.0], [1.0, 0.0]]
    assert found.closer.tolist() == [False, True] and found.apart.tolist() == [1.0, 1.0]


def test_pictures_as_goals():
    """Bitmaps of one plane; the first pair has 3 and 1 wrong pixels, 2 of them in one sibling only, the second wins."""
    task, rng = Picture(), np.random.default_rng(0)
    goals = task.goals(2, rng).repeat(2, axis=0)
    ends = goals.copy()
    ends[0, 0, [0, 1, 2], 3] = 1
    ends[1, 0, 0, 3] = 1
    found = rivalry(ends, goals, np.array([False, False, True, True]), task.distance, 2.0)
    assert found.rewards.tolist() == [-1.0, 0.0, 1.0, 1.0] and found.apart.tolist() == [2, 2, 0, 0]
    assert found.closer.tolist() == [False, True, False, True] and found.kept.tolist() == [True, False, True, True]
    np.testing.assert_array_equal(found.anti_goals, ends[[1, 0, 3, 2]])


# ---- against Algorithm 1 in plain Python -----------------------------------------------------------------------------
def apart_by(a, b):
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)


def algorithm_1(ends, goals, reached, epsilon):
    """Lines 7-18, pair by pair, as they are printed; a rollout that reached its goal ended there."""
    anti_goals, rewards, closer, kept, apart = [], [], [], [], []
    for a in range(0, len(ends), 2):
        b, g = a + 1, goals[a]
        end = {i: g if reached[i] else ends[i] for i in (a, b)}
        d = {i: apart_by(end[i], g) for i in (a, b)}
        between = apart_by(end[a], end[b])
        c, f = (a, b) if d[a] < d[b] else (b, a)
        buffer = {f, c} if between < epsilon or reached[c] else {f}
        for i, other in ((a, b), (b, a)):
            anti_goals.append(end[other])
            rewards.append(1.0 if reached[i] else min(0.0, -d[i] + between))
            closer.append(i == c)
            kept.append(i in buffer)
            apart.append(between)
    return anti_goals, rewards, closer, kept, apart


POINTS = st.tuples(*[st.integers(-3, 3).map(lambda i: i / 2)] * 2)  # few, so that ties are drawn, too
PAIRS = st.lists(st.tuples(POINTS, POINTS, POINTS, st.booleans(), st.booleans()), min_size=1, max_size=6)
EPSILONS = st.sampled_from([0.0, 0.5, 1.0, 1.4, 2.5, math.inf])


def arrays(pairs):
    """Ends, goals and successes of pairs (end, end, goal, success, success)."""
    ends = np.array([end for a, b, *_ in pairs for end in (a, b)])
    goals = np.array([goal for _, _, goal, *_ in pairs for _ in range(2)])
    return ends, goals, np.array([flag for *_, a, b in pairs for flag in (a, b)])


@given(PAIRS, EPSILONS)
def test_equals_algorithm_1(pairs, epsilon):
    ends, goals, reached = arrays(pairs)
    found = rivalry(ends, goals, reached, distance, epsilon)
    anti_goals, rewards, closer, kept, apart = algorithm_1(ends.tolist(), goals.tolist(), reached.tolist(), epsilon)
    np.testing.assert_array_equal(found.anti_goals, anti_goals)
    np.testing.assert_allclose(found.rewards, rewards, atol=1e-12)
    np.testing.assert_array_equal(found.closer, closer)
    np.testing.assert_array_equal(found.kept, kept)
    np.testing.assert_allclose(found.apart, apart, atol=1e-12)


# ---- bad input, and what is given stays as it is ---------------------------------------------------------------------
def test_what_cannot_be_a_pair():
    ends, goals, reached = np.zeros((4, 2)), np.zeros((4, 2)), np.zeros(4, bool)
    with pytest.raises(ValueError, match="must be even, not 3"):
        rivalry(ends[:3], goals[:3], reached[:3], distance, 1.0)
    for epsilon in (-0.1, -math.inf, math.nan):
        with pytest.raises(ValueError, match=f"epsilon, the inclusion threshold, must not be negative, not {epsilon}"):
            rivalry(ends, goals, reached, distance, epsilon)
    goals[3, 1] = 0.5
    with pytest.raises(ValueError, match="siblings must pursue the same goal"):
        rivalry(ends, goals, reached, distance, 1.0)


def test_arguments_are_not_changed():
    rng = np.random.default_rng(0)
    ends, goals, reached = rng.normal(size=(6, 2)), np.ones((6, 2)), np.array([1, 0, 1, 1, 0, 0], bool)
    before = ends.copy(), goals.copy(), reached.copy()
    rivalry(ends, goals, reached, distance, 1.0)
    for array, copy in zip((ends, goals, reached), before):
        np.testing.assert_array_equal(array, copy)
