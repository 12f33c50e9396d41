import numpy as np
import pytest

from lab.judge.intervals import mean_of
from lab.judge.stats import BANDS, auc, band

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


def test_the_band_of_the_mean_is_the_interval_of_verdicts():
    centre, low, high = band(CURVES, "mean-ci95")
    assert centre.tolist() == [2, 4]
    for step in range(2):
        np.testing.assert_allclose((low[step], high[step]), mean_of(CURVES[:, step]).interval())


@pytest.mark.parametrize("kind", BANDS)
def test_one_seed(kind):
    centre, low, high = band([[1.0, 2.0]], kind)
    assert centre.tolist() == [1.0, 2.0]
    drawn = kind not in ("mean-ci95", "mean-sd", "mean")
    assert low.tolist() == high.tolist() == [1.0, 2.0] if drawn else np.isnan([low, high]).all()
    with pytest.raises(ValueError, match=r"unknown band 'sem'; choose from mean-ci95"):
        band(CURVES, "sem")


def test_auc():
    assert auc([0, 10, 20], [0.0, 1.0, 1.0]) == 0.75
    assert auc([5, 10, 30], [2.0, 2.0, 2.0]) == 2.0  # uneven steps
    assert auc([0, 10], [[0.0, 1.0], [1.0, 3.0]]).tolist() == [0.5, 2.0]
    assert auc([7], [[3.0], [4.0]]).tolist() == [3.0, 4.0]
