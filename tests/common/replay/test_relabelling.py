"""Hindsight goals: from the same episode, later, uniform, in the right proportion."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from common.replay.relabelling import FutureRelabeller, Relabeller, episode_ends
from common.replay.storage import Ring

FIELDS = {
    "achieved_goal": ((2,), np.float64),
    "desired_goal": ((2,), np.float64),
    "terminated": ((), bool),
    "truncated": ((), bool),
}


def ring_of(capacity: int, lengths: list[int]) -> tuple[Ring, list[int]]:
    """A ring of episodes of these lengths (every other one ends by time-out, the last one still runs), and the episode
    of every time step. The goal achieved at time t is (t, t); the goal pursued at time t is (-1 - t, -1 - t).
    """
    ring, episodes = Ring(capacity, FIELDS), []
    for number, length in enumerate(lengths):
        for k in range(length):
            t, ends = len(episodes), k == length - 1 and number < len(lengths) - 1
            by_time_out = number % 2 == 1
            ring.add(
                achieved_goal=t,
                desired_goal=-1 - t,
                terminated=ends and not by_time_out,
                truncated=ends and by_time_out,
            )
            episodes.append(number)
    return ring, episodes


lengths = st.lists(st.integers(1, 8), min_size=1, max_size=6)


@settings(deadline=None)
@given(lengths=lengths, capacity=st.integers(1, 30))
def test_episode_ends_equal_the_plain_search(lengths, capacity):
    ring, episodes = ring_of(capacity, lengths)
    times = np.arange(len(episodes) - len(ring), len(episodes))
    ends = episode_ends(ring["terminated"], ring["truncated"], times % capacity, ring.next_index)
    expected = [max(s for s in range(len(episodes)) if episodes[s] == episodes[t]) for t in times]
    assert ends.tolist() == [t % capacity for t in expected]


@settings(deadline=None)
@given(lengths=lengths, capacity=st.integers(1, 30), k=st.sampled_from([0, 1, 4]), seed=st.integers(0, 2**32))
def test_goals_come_from_the_same_episode_and_not_from_before(lengths, capacity, k, seed):
    ring, episodes = ring_of(capacity, lengths)
    relabeller = FutureRelabeller(ring, np.random.default_rng(seed), k)
    times = np.repeat(np.arange(len(episodes) - len(ring), len(episodes)), 5)
    goals = relabeller.relabel(times % capacity)
    assert goals.shape == (len(times), 2)
    for t, goal in zip(times, goals[:, 0].astype(int)):
        if goal < 0:
            assert goal == -1 - t
        else:
            assert k > 0
            assert goal >= t
            assert episodes[goal] == episodes[t]


def test_the_share_of_hindsight_goals():
    ring, _ = ring_of(100, [10] * 10)
    for k, share in [(0, 0.0), (1, 0.5), (4, 0.8)]:
        goals = FutureRelabeller(ring, np.random.default_rng(0), k).relabel(np.arange(20_000) % 100)
        assert np.mean(goals[:, 0] >= 0) == pytest.approx(share, abs=0.01)


def test_later_goals_are_uniform():
    ring, _ = ring_of(15, [10, 10])  # the first five transitions are overwritten
    goals = FutureRelabeller(ring, np.random.default_rng(0), k=4).relabel(np.full(20_000, 6))[:, 0]
    hindsight = goals[goals >= 0].astype(int)
    assert set(hindsight) == {6, 7, 8, 9}
    assert chisquare(np.bincount(hindsight)[6:]).pvalue > 0.01


def test_the_ring_is_not_changed():
    ring, _ = ring_of(20, [10, 10])
    before = pickle.dumps(ring)
    FutureRelabeller(ring, np.random.default_rng(0)).relabel(np.arange(20))[:] = 99
    assert pickle.dumps(ring) == before


def test_other_field_names():
    ring = Ring(3, {"after": ((), int), "goal": ((), int), "terminated": ((), bool), "truncated": ((), bool)})
    ring.add(after=7, goal=8, terminated=True, truncated=False)
    relabeller: Relabeller = FutureRelabeller(ring, np.random.default_rng(0), achieved="after", desired="goal")
    assert set(relabeller.relabel(np.zeros(100, int)).tolist()) == {7, 8}


def test_an_unpickled_relabeller_continues_identically():
    ring, _ = ring_of(20, [10, 10])
    relabeller = FutureRelabeller(ring, np.random.default_rng(0))
    relabeller.relabel(np.arange(20))
    copy_ring, copy = pickle.loads(pickle.dumps((ring, relabeller)))
    assert copy.ring is copy_ring
    np.testing.assert_array_equal(copy.relabel(np.arange(20)), relabeller.relabel(np.arange(20)))


def test_a_slot_outside_is_refused():
    ring, _ = ring_of(20, [10])
    with pytest.raises(IndexError):
        FutureRelabeller(ring, np.random.default_rng(0)).relabel(np.array([20]))
