"""Hindsight: which states' goals a step gets, which are left out, what they are worth; against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.sibling_rivalry.agents.hindsight import future, relabel

lengths_of_episodes = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rows(*columns: np.ndarray) -> list[tuple]:
    return sorted(zip(*(column.tolist() for column in columns)))


def near(a: np.ndarray, b: np.ndarray, tolerance: float = 0.0) -> np.ndarray:
    """Success of one-dimensional goals [m, 1]."""
    return abs(a[:, 0] - b[:, 0]) <= tolerance


# --- which states ----------------------------------------------------------------------------------------------------
@settings(deadline=None)
@given(lengths=lengths_of_episodes, k=st.integers(1, 5), seed=st.integers(0, 99))
def test_the_same_draws_in_plain_python(lengths, k, seed):
    """Of the lots of a step, one for each step of the longest episode, the k smallest that lie in its future."""
    lots, expected = rng(seed), []
    drawn = lots.random((sum(lengths), max(lengths))).tolist()
    for i, n in enumerate(lengths):
        for t in range(n):
            lot = drawn.pop(0)
            expected += [(i, t, u + 1) for u in sorted(range(t, n), key=lot.__getitem__)[:k]]
    assert rows(*future(np.array(lengths), k, rng(seed))) == sorted(expected)


# --- what becomes of them --------------------------------------------------------------------------------------------
def test_relabelled_steps_by_hand():
    """All of the future as goals. An episode that waits, walks and returns, and one of a single step, over which only
    garbage lies behind the end."""
    achieved = np.array([[0, 0, 1, 2, 1], [5, 6, 99, 99, 99]], np.float32)[..., None]
    episodes, steps, goals, reached = relabel(achieved, np.array([4, 1]), near, 4, rng())
    assert goals.shape == (len(steps), 1) and goals.dtype == np.float32 and reached.dtype == bool
    expected = [
        # step 0 from 0 to 0: the goal 0 is met already
        (0, 0, 1.0, False), (0, 0, 2.0, False), (0, 0, 1.0, False),
        # step 1 from 0 to 1
        (0, 1, 1.0, True), (0, 1, 2.0, False), (0, 1, 1.0, True),
        # step 2 from 1 to 2: the goal 1, which is achieved later, is met already
        (0, 2, 2.0, True),
        # step 3 from 2 to 1
        (0, 3, 1.0, True),
        (1, 0, 6.0, True),
    ]  # fmt: skip
    assert rows(episodes, steps, goals[:, 0], reached) == sorted(expected)


@settings(deadline=None)
@given(lengths=lengths_of_episodes, k=st.integers(0, 9), tolerance=st.sampled_from([0.0, 1.0]), seed=st.integers(0, 99))
def test_the_same_goals_in_plain_python(lengths, k, tolerance, seed):
    walk = rng(seed).integers(-2, 3, (len(lengths), max(lengths) + 1)).astype(np.float32)
    found = relabel(walk[..., None], np.array(lengths), lambda a, b: near(a, b, tolerance), k, rng(seed + 1))
    expected = []
    for i, t, u in zip(*(column.tolist() for column in future(np.array(lengths), k, rng(seed + 1)))):
        goal = walk[i, u]
        if abs(walk[i, t] - goal) > tolerance:
            expected.append((i, t, goal, abs(walk[i, t + 1] - goal) <= tolerance))
    assert list(zip(found.episodes, found.steps, found.goals[:, 0], found.reached)) == expected


def test_goals_that_are_pictures():
    pictures = np.zeros((1, 4, 1, 2, 2), np.float32)
    pictures[0, 2:, 0, 1, 1] = 1  # nothing happens, then a pixel is switched on, then nothing
    found = relabel(pictures, np.array([3]), lambda a, b: (a == b).all(axis=(1, 2, 3)), 4, rng())
    assert found.goals.shape == (4, 1, 2, 2) and (found.goals[:, 0, 1, 1] == 1).all()
    assert rows(found.steps, found.reached) == [(0, False), (0, False), (1, True), (1, True)]  # of step 2, nothing


@pytest.mark.parametrize("standstill", [True, False])
def test_nothing_to_relabel(standstill):
    """An episode that goes nowhere; and hindsight without goals."""
    achieved = np.zeros((2, 6, 1), np.float32) if standstill else np.arange(12, dtype=np.float32).reshape(2, 6, 1)
    found = relabel(achieved, np.array([5, 5]), near, 4 if standstill else 0, rng())
    assert [part.shape for part in found] == [(0,), (0,), (0, 1), (0,)]


def test_what_is_not_finite_is_refused_unless_it_lies_behind_the_end():
    achieved = np.arange(12, dtype=np.float32).reshape(2, 6, 1)
    whole = relabel(achieved, np.array([5, 2]), near, 4, rng())
    achieved[1, 3:] = np.nan
    assert all((a == b).all() for a, b in zip(relabel(achieved, np.array([5, 2]), near, 4, rng()), whole))
    achieved[0, 0] = np.inf
    with pytest.raises(ValueError, match="not finite"):
        relabel(achieved, np.array([5, 2]), near, 4, rng())


@pytest.mark.parametrize("lengths", [[], [0, 0]])
def test_no_step_at_all(lengths):
    found = relabel(np.zeros((len(lengths), 6, 1), np.float32), np.array(lengths, np.int64), near, 4, rng())
    assert [part.shape for part in found] == [(0,), (0,), (0, 1), (0,)]
