"""Intervals: how often they cover the truth, and the rules on data of which a person knows what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.judge.intervals import (
    MARGIN,
    Estimate,
    above,
    apart,
    below,
    difference,
    margin_of,
    mean_of,
    not_worse,
    number,
    p_value,
    same,
)

SAMPLES = 2000
SCORES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed": lambda rng, size: rng.gamma(6.0, size=size) - 6.0,  # skewness 0.8
    "skewed to the left": lambda rng, size: rng.beta(5.0, 2.0, size=size) - 5 / 7,  # as success rates near 1
}


# ---- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("scores", SCORES)
def test_intervals_cover_the_truth_as_often_as_they_say(scores, runs):
    """Of a mean, of a difference, of one of paired runs, and where the two sides spread differently."""
    rng = np.random.default_rng(runs)
    x, y = (SCORES[scores](rng, (SAMPLES, runs)) for _ in range(2))
    shared = rng.normal(size=(SAMPLES, runs))
    intervals = {
        "mean": [mean_of(a).interval() for a in x],
        "difference": [difference(a, b).interval() for a, b in zip(x, y)],
        "unequal": [difference(a, 2 * b).interval() for a, b in zip(x, y)],
        "paired": [difference(a + c, b + c, paired=True).interval() for a, b, c in zip(x, y, shared)],
    }
    coverage = {name: np.mean([low <= 0 <= high for low, high in found]) for name, found in intervals.items()}
    assert all(0.925 <= share <= 0.975 for share in coverage.values()), coverage  # 93 to 97 %, and its own noise


def test_values_by_hand():
    estimate = difference([3, 4, 5], [1, 1, 1])  # variances 1 and 0: Welch's freedom is 2, its error sqrt(1/3)
    assert (estimate.value, estimate.freedom, estimate.seeds) == (3.0, 2.0, 3)
    np.testing.assert_allclose(estimate.interval(), [3 - 4.30265 / 3**0.5, 3 + 4.30265 / 3**0.5], rtol=1e-5)
    assert mean_of([2.0, 2.0, 2.0]).interval() == (2.0, 2.0)
    assert mean_of([2.0]).interval() == (-np.inf, np.inf)
    with pytest.raises(ValueError, match="3 and 2 runs cannot be paired"):
        difference([1, 2, 3], [1, 2], paired=True)


# ---- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "interval", "status"),
    [
        (above(), (0.1, 0.5), "reproduced"),
        (above(), (-0.5, -0.1), "not reproduced"),
        (above(), (-0.1, 0.5), "inconclusive"),
        (above(1.0), (0.1, 0.5), "not reproduced"),
        (above(size=0.2), (-0.1, 0.19), "not reproduced"),
        (above(size=0.2), (0.1, 0.15), "reproduced"),
        (above(size=0.2), (-0.1, 0.21), "inconclusive"),
        (above(size=0.2), (-0.21, 0.1), "inconclusive"),
        (below(1.0, 0.2), (0.9, 1.1), "not reproduced"),
        (below(1.0, 0.2), (0.85, 0.95), "reproduced"),
        (below(), (-0.5, -0.1), "reproduced"),
        (below(), (0.1, 0.5), "not reproduced"),
        (below(0.6), (0.1, 0.5), "reproduced"),
        (not_worse(0.2), (-0.15, -0.05), "reproduced"),  # worse for certain, but inside of the margin
        (not_worse(0.2), (-0.5, -0.3), "not reproduced"),
        (not_worse(0.2), (-0.3, 0.1), "inconclusive"),
        (not_worse(0.2), (0.3, 0.4), "reproduced"),
        (same(0.2), (-0.1, 0.1), "reproduced"),
        (same(0.2), (0.3, 0.4), "not reproduced"),
        (same(0.2), (-0.4, -0.3), "not reproduced"),
        (same(0.2), (0.1, 0.3), "inconclusive"),
        (apart(0.2), (0.3, 0.4), "reproduced"),
        (apart(0.2), (-0.1, 0.1), "not reproduced"),
        (apart(0.2), (0.1, 0.3), "inconclusive"),
        (above(), (np.nan, np.nan), "inconclusive"),
        (same(0.2), (np.nan, np.nan), "inconclusive"),
        (above(), (-np.inf, np.inf), "inconclusive"),
    ],
)
def test_rules(rule, interval, status):
    assert rule(*interval) == status


def test_the_margin_is_a_share_of_what_the_better_side_has_gained():
    assert margin_of(10.0, 40.0) == 40.0 * MARGIN
    assert margin_of(-5.0, -1.0) == 0.0, "who gains nothing leaves no room"


def test_p_values_are_those_of_the_t_test():
    from scipy import stats

    x, y = [3.0, 4.0, 5.5, 2.0], [1.0, 1.5, 2.5]
    expected = stats.ttest_ind(x, y, equal_var=False).pvalue
    assert p_value(difference(x, y), above()) == pytest.approx(expected, abs=1e-6)
    assert p_value(difference(y, x), above()) == pytest.approx(expected, abs=1e-6), "of the refutation"
    assert p_value(Estimate(1.0, 0.0, 1, 3), above()) == 0.0
    assert p_value(Estimate(0.0, 0.0, 1, 3), above()) == 1.0


RULES = [above(), above(size=1.0), below(0.5, 1.0), not_worse(1.0), same(1.0), apart(1.0)]


@given(st.sampled_from(RULES), st.floats(-4, 4), st.floats(0.01, 4), st.integers(2, 30))
def test_up_to_its_p_value_a_verdict_stays_what_it_is(rule, value, error, freedom):
    """So "more" is not certain because a stricter level says "no more", by an interval inside the margin."""
    estimate = Estimate(value, error, freedom, 5)
    status, p = rule(*estimate.interval()), p_value(estimate, rule)
    assert (p <= 0.05 + 1e-9) == (status != "inconclusive")
    if status != "inconclusive":
        assert {rule(*estimate.interval(1 - level)) for level in (p, (p + 0.05) / 2, 0.05)} == {status}
        assert p < 1e-6 or rule(*estimate.interval(1 - 0.999 * p)) != status


def test_a_small_lead_inside_the_margin_is_as_certain_as_the_t_test_has_it():
    lead = Estimate(0.011, 0.0045, 14, 15)
    assert above(size=0.05)(*lead.interval()) == "reproduced"
    assert 0.02 < p_value(lead, above(size=0.05)) == pytest.approx(p_value(lead, above()))


def test_numbers_are_printed_with_three_digits():
    assert number(1234.6) == "1,235" and number(0.12345, "+") == "+0.123"
