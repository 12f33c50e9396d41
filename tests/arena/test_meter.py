"""What is measured of every sampler, against counting by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.replay.meter import Meter


def test_a_small_memory_by_hand():
    meter = Meter(capacity=2)
    assert meter.metrics() == {}
    meter.add(np.array([0, 1]))  # transitions 0 and 1
    meter.draw(np.array([0, 0, 1, 0]), np.ones(4))
    assert meter.metrics() == {
        "replays": 2.0, "replayed": 1.0, "age": 0.75, "weighed": 1.0,
        "entropy": pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25), abs=1e-5),
    }  # fmt: skip
    meter.add(np.array([0]))  # transition 2 takes the place of 0
    meter.draw(np.array([0, 1]), np.array([1.0, 0.0]))
    found = meter.metrics()
    assert found["age"] == 0.5 and found["replays"] == 2.0 and found["replayed"] == 1.0, "of all three transitions"
    assert found["entropy"] == pytest.approx(math.log(2), abs=1e-5) and found["weighed"] == 0.5
    assert meter.metrics() == {}, "a new window"


CALLS = st.lists(st.one_of(st.integers(1, 4), st.lists(st.integers(0, 99), min_size=1, max_size=6)), max_size=40)


@given(capacity=st.integers(4, 7), calls=CALLS)
def test_it_is_a_count_over_transitions(capacity, calls):
    """Numbers are blocks of new transitions, lists are draws (any number, wrapped into the filled slots)."""
    meter, slot, content, history = Meter(capacity), 0, {}, []
    ages: list[int] = []
    for call in calls:
        if isinstance(call, int):
            slots = (slot + np.arange(call)) % capacity
            for s in slots:
                content[int(s)] = len(history)
                history.append(0)
            slot = (slot + call) % capacity
            meter.add(slots)
        elif content:
            drawn = [place % len(content) for place in call]
            for s in drawn:
                history[content[s]] += 1
                ages.append(len(history) - 1 - content[s])
            meter.draw(np.array(drawn), np.ones(len(drawn)))
    if not ages:
        assert meter.metrics() == {}
        return
    counts, total = np.array(history), sum(history)
    p = counts[counts > 0] / total
    assert meter.metrics() == {
        "replays": pytest.approx(total / len(history), rel=1e-4),
        "replayed": pytest.approx((counts > 0).mean(), rel=1e-4),
        "age": pytest.approx(np.mean(ages), rel=1e-4),
        "entropy": pytest.approx(-(p * np.log(p)).sum(), rel=1e-4, abs=1e-9),
        "weighed": 1.0,
    }
