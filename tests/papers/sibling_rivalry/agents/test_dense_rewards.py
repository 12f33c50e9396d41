"""Rewards of single steps: by hand, and that they add up to what an episode has gained."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from papers.sibling_rivalry.agents.dense_rewards import naive_changes, sibling_changes


def distance(a, b):
    return np.not_equal(a, b).sum(axis=-1, dtype=np.float64)


BUILDS = np.array([[[0, 0, 0], [2, 0, 0], [2, 1, 0], [2, 1, 3]], [[0, 0, 0], [1, 0, 0], [1, 2, 0], [9, 9, 9]]])
GOALS = np.array([[1, 1, 0], [1, 2, 0]])
LENGTHS, REACHED = np.array([3, 2]), np.array([False, True])


def test_naive_by_hand():
    """A wrong block where another one belongs changes nothing; the last step of the second episode reaches the goal."""
    found = naive_changes(BUILDS, GOALS, LENGTHS, REACHED, distance)
    assert found.tolist() == [[0.0, 1.0, -1.0], [1.0, 2.0, 0.0]]


def test_siblings_by_hand():
    """The first is pushed from an empty arena; the second's anti-goal is its goal: only success is paid."""
    anti_goals = np.array([[0, 0, 0], [1, 2, 0]])
    found = sibling_changes(BUILDS, GOALS, anti_goals, LENGTHS, REACHED, distance)
    assert found.tolist() == [[0.0 + 1, 1.0 + 1, -1.0 + 1], [0.0, 1.0, 0.0]]


@given(seed=st.integers(0, 10**6))
def test_an_episode_is_paid_what_it_has_gained(seed):
    rng = np.random.default_rng(seed)
    builds, (goals, anti_goals) = rng.integers(0, 3, (5, 9, 6)), rng.integers(0, 3, (2, 5, 6))
    lengths, reached = rng.integers(1, 9, 5), rng.random(5) < 0.5
    ends = builds[np.arange(5), lengths]
    to_goal = distance(builds[:, 0], goals) - distance(ends, goals)
    to_anti_goal = distance(builds[:, 0], anti_goals) - distance(ends, anti_goals)
    naive = naive_changes(builds, goals, lengths, reached, distance)
    siblings = sibling_changes(builds, goals, anti_goals, lengths, reached, distance)
    np.testing.assert_allclose(naive.sum(axis=1), to_goal + reached)
    np.testing.assert_allclose(siblings.sum(axis=1), to_goal - to_anti_goal + reached)
    assert not siblings[np.arange(8) >= lengths[:, None]].any()
