import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.stats import (
    BANDS,
    auc,
    band,
    bootstrap_interval,
    difference_interval,
    iqm,
    probability_of_improvement,
)

numbers = st.floats(-1e6, 1e6, allow_nan=False)
samples = st.lists(numbers, min_size=1, max_size=30)


@pytest.mark.parametrize(
    "values, expected",
    [
        ([7.0], 7.0),
        ([1.0, 2.0, 6.0], 3.0),  # nothing to cut
        ([0.0, 1.0, 2.0, 100.0], 1.5),
        ([100.0, 3.0, 1.0, 2.0, -50.0], 2.0),
        ([0, 0, 1, 2, 3, 4, 50, 60], 2.5),
    ],
)
def test_iqm_by_hand(values, expected):
    assert iqm(values) == expected


def test_iqm_along_an_axis():
    table = np.array([[0.0, 1.0, 2.0, 100.0], [4.0, 4.0, 4.0, 4.0]])
    assert iqm(table, axis=1).tolist() == [1.5, 4.0]
    assert iqm(table.T, axis=0).tolist() == [1.5, 4.0]
    assert iqm(table) == iqm(table.ravel())


def test_iqm_shows_nan_and_refuses_nothing():
    assert np.isnan(iqm([1.0, 2.0, 3.0, np.nan]))
    assert iqm([[1.0, np.nan], [1.0, 2.0]], axis=1)[1] == 1.5
    with pytest.raises(ValueError, match="no values"):
        iqm([])


@given(samples, st.randoms(use_true_random=False))
def test_iqm_properties(values, random):
    centre = iqm(values)
    tolerance = 1e-9 * max(1.0, max(map(abs, values)))
    assert min(values) - tolerance <= centre <= max(values) + tolerance
    shuffled = list(values)
    random.shuffle(shuffled)
    assert iqm(shuffled) == centre
    assert iqm(np.array(values) + 3) == pytest.approx(centre + 3, abs=tolerance)


def test_bootstrap_is_decided_by_its_seed():
    x = [1.0, 4.0, 2.0, 8.0, 5.0]
    assert bootstrap_interval(x) == bootstrap_interval(x)
    assert bootstrap_interval(x, iqm, seed=1) == bootstrap_interval(x, iqm, seed=1)
    assert bootstrap_interval(x, n=100) != bootstrap_interval(x, n=100, seed=1)


def test_bootstrap_by_hand():
    # Means of 2 draws from {0, 1} are 0, 1/2, 1 with probability 1/4, 1/2, 1/4.
    assert bootstrap_interval([0.0, 1.0]) == (0.0, 1.0)
    assert bootstrap_interval([0.0, 1.0], level=0.4) == (0.5, 0.5)
    assert bootstrap_interval([3.0, 3.0, 3.0]) == (3.0, 3.0)


def test_bootstrap_of_too_little():
    assert np.isnan(bootstrap_interval([1.0])).all()
    assert np.isnan(bootstrap_interval([])).all()
    assert np.isnan(difference_interval([1.0, 2.0, 3.0], [1.0])).all()


@given(st.lists(numbers, min_size=2, max_size=8), st.integers(0, 100))
def test_bootstrap_bounds(values, seed):
    low, high = bootstrap_interval(values, seed=seed, n=50)
    tolerance = 1e-9 * max(1.0, max(map(abs, values)))
    assert min(values) <= low + tolerance and low <= high + tolerance and high <= max(values) + tolerance


def test_coverage_is_what_results_md_says():
    """Nominal 95 %: about 80 % from 5 seeds, about 75 % from 3, nearly 95 % from many."""
    rng = np.random.default_rng(0)

    def coverage(seeds: int, runs: int = 600) -> float:
        low, high = bootstrap_interval(rng.normal(size=(seeds, runs)), n=1000)
        return float(((low <= 0) & (high >= 0)).mean())

    assert coverage(5) == pytest.approx(0.84, abs=0.05)
    assert coverage(3) == pytest.approx(0.74, abs=0.05)
    assert coverage(40) == pytest.approx(0.94, abs=0.04)


def test_nan_in_nan_out(recwarn):
    low, high = bootstrap_interval([[1.0, np.nan], [2.0, 1.0], [4.0, 1.0]])
    assert (low[0], high[0]) == bootstrap_interval([1.0, 2.0, 4.0])
    assert np.isnan([low[1], high[1]]).all()
    assert np.isnan(difference_interval([1.0, np.nan, 2.0], [1.0, 2.0, 3.0])).all()
    assert not recwarn.list


def test_difference_interval():
    low, high = difference_interval([3.0, 4.0, 5.0], [1.0, 1.0])
    assert low == pytest.approx(2.0) and high == pytest.approx(4.0)
    assert difference_interval([5.0] * 3, [2.0] * 3) == (3.0, 3.0)
    x, y = [1.0, 2.0, 4.0, 4.5], [0.0, 3.0, 1.0]
    assert difference_interval(x, y, seed=4) == difference_interval(x, y, seed=4)
    low, high = difference_interval(x, y)
    assert low < np.mean(x) - np.mean(y) < high


@given(samples, samples)
def test_probability_of_improvement_against_brute_force(x, y):
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in x for b in y)
    assert probability_of_improvement(x, y) == pytest.approx(wins / (len(x) * len(y)))
    assert probability_of_improvement(x, y) + probability_of_improvement(y, x) == pytest.approx(1)


CURVES = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 4.0], [5.0, 10.0]])


@pytest.mark.parametrize(
    "kind, centre, low, high",
    [
        ("mean-sd", [2, 4], [2 - np.sqrt(14 / 3), 4 - np.sqrt(18)], [2 + np.sqrt(14 / 3), 4 + np.sqrt(18)]),
        # linear interpolation: the 33rd percentile of 4 sorted values lies at 0.99, the 67th at 2.01
        ("median-33-67", [1.5, 2.5], [0.99, 1.0], [2.03, 4.06]),
        ("mean-20-80", [2, 4], [0.6, 1.0], [3.2, 6.4]),
    ],
)
def test_bands_by_hand(kind, centre, low, high):
    for found, expected in zip(band(CURVES, kind), (centre, low, high)):
        np.testing.assert_allclose(found, expected)


def test_band_of_bootstrap_is_the_interval_of_each_step():
    centre, low, high = band(CURVES, "mean-ci95")
    assert centre.tolist() == [2, 4]
    for step in range(2):
        assert (low[step], high[step]) == bootstrap_interval(CURVES[:, step], n=2000)
    # Two seeds, 0 and 1: a quarter of the resamples holds one seed twice
    assert [b.tolist() for b in band([[0.0], [1.0]], "mean-ci95")] == [[0.5], [0.0], [1.0]]


@pytest.mark.parametrize("kind", BANDS)
def test_one_seed(kind):
    centre, low, high = band([[1.0, 2.0]], kind)
    assert centre.tolist() == [1.0, 2.0]
    if kind in ("mean-ci95", "mean-sd"):
        assert np.isnan([low, high]).all()
    else:
        assert low.tolist() == high.tolist() == [1.0, 2.0]


def test_unknown_band():
    with pytest.raises(ValueError, match=r"unknown band 'sem'; choose from mean-ci95"):
        band(CURVES, "sem")


def test_auc():
    assert auc([0, 10, 20], [0.0, 1.0, 1.0]) == 0.75
    assert auc([5, 10, 30], [2.0, 2.0, 2.0]) == 2.0  # uneven steps
    assert auc([0, 10], [[0.0, 1.0], [1.0, 3.0]]).tolist() == [0.5, 2.0]
    assert auc([7], [[3.0], [4.0]]).tolist() == [3.0, 4.0]
