"""What Figures 1 and 2 compute before they draw."""

import math

import numpy as np

from envs.circular_track import GOAL, LOCAL_OPTIMUM
from papers.sibling_rivalry.evidence.ends import histograms
from papers.sibling_rivalry.evidence.figures_track import PHASES, shapes
from papers.sibling_rivalry.train_track import BINS, ENV
from tests.papers.judged import save


def test_shapes_of_rewards_by_hand():
    places = [np.abs(PHASES - phase).argmin() for phase in (0, GOAL, math.pi, LOCAL_OPTIMUM)]
    far, nearer = -math.sqrt(2), -math.sqrt(2) + math.hypot(1, 0.4)
    np.testing.assert_allclose(shapes()["naive"][places], [far, 1, far, -0.6], rtol=1e-3)
    np.testing.assert_allclose(shapes()["fixed"][places], [nearer, 1, nearer, -0.6], rtol=1e-3)
    assert shapes()["fixed"].argmin() == np.abs(PHASES - LOCAL_OPTIMUM).argmin()  # a trap no more
    assert not ((shapes()["fixed"] > 0) & (shapes()["fixed"] < 1)).any()


# ---- histograms from results -----------------------------------------------------------------------------------------


def test_bins_that_are_not_in_the_results_are_empty(tmp_path):
    table = [("sr", seed, step, "closer success", 0) for seed in (0, 1) for step in (10, 20, 30)]
    table += [("sr", 0, 10, "closer phase 3", 0.25), ("sr", 0, 10, "closer phase 12", 0.75)]
    table += [("sr", 0, 20, "closer phase 3", 1.0), ("sr", 1, 30, "closer phase 0", 1.0)]
    table += [("sr", 0, 10, "phase 5", 0.5), ("sr", 0, 10, "farther phase 5", 0.5), ("naive", 0, 10, "phase 5", 0.5)]
    results = save(tmp_path, [("track", "smoke", method, ENV, *row, 0.0) for method, *row in table])
    steps, shares = histograms(results.at("track", "smoke"), "sr", "closer ")
    expected = np.zeros((2, 3, BINS))
    expected[0, 0, [3, 12]], expected[0, 1, 3], expected[1, 2, 0] = (0.25, 0.75), 1, 1
    assert steps.tolist() == [10, 20, 30]
    np.testing.assert_array_equal(shares, expected)
