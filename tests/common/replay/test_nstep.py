"""n-step returns against a plain twin that knows the whole history and no ring."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.replay.nstep import n_step
from common.replay.storage import Ring

FIELDS = {"reward": ((), np.float32), "terminated": ((), bool), "truncated": ((), bool)}


def ring_of(capacity: int, history) -> Ring:
    ring = Ring(capacity, FIELDS)
    for reward, terminated, truncated in history:
        ring.add(reward=reward, terminated=terminated, truncated=truncated)
    return ring


def call(ring: Ring, indices, n: int, gamma: float):
    return n_step(ring["reward"], ring["terminated"], ring["truncated"], indices, n, gamma, ring.next_index)


def plain_n_step(history, start: int, n: int, gamma: float) -> tuple[float, int, float]:
    """In time steps instead of slots."""
    total = 0.0
    for k, (reward, terminated, truncated) in enumerate(history[start : start + n]):
        total += gamma**k * reward
        if terminated:
            return total, start + k, 0.0
        if truncated:
            break
    return total, start + k, gamma ** (k + 1)


rarely = st.sampled_from([False, False, False, True])
step = st.tuples(st.integers(-3, 3), rarely, rarely)


@settings(deadline=None)
@given(history=st.lists(step, min_size=1, max_size=40), capacity=st.integers(1, 25), n=st.integers(1, 7))
def test_equals_the_plain_twin_from_every_stored_start(history, capacity, n):
    ring, gamma = ring_of(capacity, history), 0.9
    times = np.arange(len(history) - len(ring), len(history))
    sums, last, discounts = call(ring, times % capacity, n, gamma)
    expected = [plain_n_step(history, start, n, gamma) for start in times]
    np.testing.assert_allclose(sums, [e[0] for e in expected], rtol=1e-6, atol=1e-6)
    assert last.tolist() == [e[1] % capacity for e in expected]
    np.testing.assert_allclose(discounts, [e[2] for e in expected], rtol=1e-6)
    assert (sums.dtype, last.dtype, discounts.dtype) == (np.float32, np.int64, np.float32)


def test_a_terminated_episode_keeps_its_last_starts_and_has_no_value_after_it():
    ring = ring_of(10, [(1, False, False), (2, False, False), (4, True, False), (100, False, False)])
    sums, last, discounts = call(ring, np.array([0, 1, 2]), 3, 0.5)
    assert sums.tolist() == [1 + 0.5 * 2 + 0.25 * 4, 2 + 0.5 * 4, 4]
    assert last.tolist() == [2, 2, 2]
    assert discounts.tolist() == [0, 0, 0]


def test_a_time_out_is_continued_with_the_value_of_its_own_last_state():
    ring = ring_of(10, [(1, False, False), (2, False, False), (4, False, True), (100, False, False)])
    sums, last, discounts = call(ring, np.array([0, 1, 2]), 3, 0.5)
    assert sums.tolist() == [1 + 0.5 * 2 + 0.25 * 4, 2 + 0.5 * 4, 4]
    assert last.tolist() == [2, 2, 2]
    assert discounts.tolist() == [0.125, 0.25, 0.5]


def test_the_newest_transition_is_not_followed_by_the_oldest():
    ring = ring_of(4, [(t, False, False) for t in range(6)])  # slots hold 4, 5, 2, 3
    sums, last, discounts = call(ring, np.array([1, 0, 3]), 3, 0.5)
    assert sums.tolist() == [5, 4 + 0.5 * 5, 3 + 0.5 * 4 + 0.25 * 5]
    assert last.tolist() == [1, 1, 1]
    assert discounts.tolist() == [0.5, 0.25, 0.125]


def test_wrong_arguments():
    ring = ring_of(4, [(1, False, False)])
    with pytest.raises(IndexError):
        call(ring, np.array([4]), 3, 1.0)
    with pytest.raises(IndexError):
        call(ring, np.array([-1]), 3, 1.0)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        call(ring, np.array([0]), 0, 1.0)
