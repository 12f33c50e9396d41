"""Schedules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.schedules import linear


def test_linear_by_hand():
    epsilon = linear(1.0, 0.01, 1000)
    assert epsilon(0) == 1.0
    assert epsilon(500) == pytest.approx(0.505)
    assert [epsilon(t) for t in (1000, 1001, 10**9)] == [0.01] * 3
    assert epsilon(-5) == 1.0


@settings(deadline=None)
@given(start=st.floats(-1e3, 1e3), end=st.floats(-1e3, 1e3), steps=st.integers(1, 10**7), t=st.integers(-5, 10**8))
def test_linear_stays_between_its_ends(start, end, steps, t):
    value = linear(start, end, steps)(t)
    assert min(start, end) - 1e-9 <= value <= max(start, end) + 1e-9
    if t >= steps:
        assert value == end


@pytest.mark.parametrize("steps", [0, -1])
def test_a_schedule_without_steps_is_refused(steps):
    with pytest.raises(ValueError, match="positive number of steps"):
        linear(0.0, 1.0, steps)
