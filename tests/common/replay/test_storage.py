"""The ring against a deque, its pickle, and the announcement of its memory."""

import pickle
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.replay import storage
from common.replay.storage import Ring, announce

FIELDS = {"frame": ((2, 3), np.uint8), "reward": ((), np.float32)}


def filled(capacity: int, n: int) -> Ring:
    ring = Ring(capacity, FIELDS)
    for t in range(n):
        ring.add(frame=np.full((2, 3), t % 256), reward=t)
    return ring


@settings(deadline=None)
@given(capacity=st.integers(1, 8), n=st.integers(0, 30))
def test_the_ring_holds_the_last_transitions(capacity, n):
    ring, twin = Ring(capacity, FIELDS), deque(maxlen=capacity)
    for t in range(n):
        announced = ring.next_index
        assert ring.add(frame=np.full((2, 3), t), reward=-t) == announced == t % capacity
        twin.append(t)
    assert len(ring) == len(twin)
    assert ring.full == (len(twin) == capacity)
    oldest = ring.next_index if ring.full else 0
    stored = ring.get((oldest + np.arange(len(ring))) % capacity)
    assert stored["reward"].tolist() == [-t for t in twin]
    assert stored["frame"].tolist() == [[[t] * 3] * 2 for t in twin]


@settings(deadline=None)
@given(capacity=st.integers(1, 9), chunks=st.lists(st.integers(0, 9), max_size=8), before=st.integers(0, 12))
def test_extend_is_add_many_times(capacity, chunks, before):
    """Chunks of any size, over the end of the ring and into a full one, after `before` single additions."""
    ring, twin = filled(capacity, before), filled(capacity, before)
    t = before
    for n in (min(n, capacity) for n in chunks):
        frames, rewards = np.arange(t, t + n)[:, None, None] * np.ones((2, 3)), -np.arange(t, t + n)
        slots = ring.extend(frame=frames, reward=rewards)
        assert slots.dtype == np.int64
        assert slots.tolist() == [twin.add(frame=frame, reward=reward) for frame, reward in zip(frames, rewards)]
        assert (ring.next_index, len(ring), ring.full) == (twin.next_index, len(twin), twin.full)
        np.testing.assert_array_equal(ring["frame"], twin["frame"])
        np.testing.assert_array_equal(ring["reward"], twin["reward"])
        t += n


@pytest.mark.parametrize(("error", "message", "values"), [
    (TypeError, r"extend\(\) takes the fields \['frame', 'reward'\], not \['reward'\]", {"reward": [1.0, 2.0]}),
    (TypeError, "bonus", {"frame": np.ones((2, 2, 3)), "reward": [1.0, 2.0], "bonus": [1.0, 2.0]}),
    (ValueError, r"same length, not \[2, 3\]", {"frame": np.ones((3, 2, 3)), "reward": [1.0, 2.0]}),
    (ValueError, "6 transitions do not fit into a ring of 5", {"frame": np.ones((6, 2, 3)), "reward": np.ones(6)}),
])  # fmt: skip
@pytest.mark.parametrize("before", [2, 7])
def test_extend_refuses_what_cannot_be_stored_and_changes_nothing(error, message, values, before):
    ring, twin = filled(5, before), filled(5, before)
    with pytest.raises(error, match=message):
        ring.extend(**values)
    assert (ring.next_index, len(ring)) == (twin.next_index, len(twin))
    np.testing.assert_array_equal(ring["frame"], twin["frame"])
    np.testing.assert_array_equal(ring["reward"], twin["reward"])


def test_get_copies():
    ring = filled(5, 5)
    ring.get(np.array([1, 2]))["reward"][:] = 99
    assert ring["reward"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n", [0, 3, 10, 17])
def test_an_unpickled_ring_continues_identically(n):
    ring = filled(10, n)
    copy = pickle.loads(pickle.dumps(ring, protocol=5))
    for t in range(12):
        assert copy.next_index == ring.next_index
        assert copy.add(frame=np.full((2, 3), t), reward=t) == ring.add(frame=np.full((2, 3), t), reward=t)
    assert copy.capacity == 10
    assert len(copy) == len(ring)
    np.testing.assert_array_equal(copy["frame"], ring["frame"])
    np.testing.assert_array_equal(copy["reward"], ring["reward"])


def test_a_pickle_holds_only_the_filled_part():
    assert len(pickle.dumps(filled(1_000_000, 10), protocol=5)) < 2000


def test_what_a_ring_refuses():
    ring = filled(5, 1)
    with pytest.raises(TypeError, match=r"\['frame', 'reward'\]"):
        ring.add(reward=1.0)
    with pytest.raises(TypeError, match="bonus"):
        ring.add(frame=np.zeros((2, 3)), reward=1.0, bonus=1.0)
    assert len(ring) == 1
    with pytest.raises(ValueError, match="at least 1, not 0"):
        Ring(0, FIELDS)


def test_announce_says_and_returns_the_bytes(capsys):
    fields = {"state": ((167,), np.uint8), "action": ((), np.int16), "reward": ((), np.float32)}
    assert announce(1_000_000, fields) == 173_000_000
    assert capsys.readouterr().out == "replay: 1,000,000 transitions x 173 B = 0.17 GB\n"
    assert announce(1_000_000, fields, 2_000_000_000) == 2_173_000_000
    assert capsys.readouterr().out == (
        "replay: 1,000,000 transitions x 173 B + up to 2,000,000,000 B beside them = 2.17 GB\n"
    )
    ring = Ring(1000, fields)
    assert announce(1000, fields) == sum(ring[name].nbytes for name in fields)


def test_announce_refuses_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(storage, "available_memory", lambda: 3_000_000_000)
    with pytest.raises(MemoryError, match=r"needs 10\.00 GB, but only 3\.00 GB are available"):
        announce(1_000_000, {"frame": ((100, 100), np.uint8)})
    with pytest.raises(MemoryError, match=r"needs 3\.01 GB"):
        announce(1_000_000, {"frame": ((), np.uint8)}, 3_009_000_000)
