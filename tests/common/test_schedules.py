"""Schedules."""

import pytest

from common.schedules import linear


def test_linear_by_hand():
    epsilon = linear(1.0, 0.01, 1000)
    assert epsilon(0) == 1.0
    assert epsilon(500) == pytest.approx(0.505)
    assert [epsilon(t) for t in (1000, 1001, 10**9)] == [0.01] * 3
    assert epsilon(-5) == 1.0


@pytest.mark.parametrize("steps", [0, -1])
def test_a_schedule_without_steps_is_refused(steps):
    with pytest.raises(ValueError, match="positive number of steps"):
        linear(0.0, 1.0, steps)
