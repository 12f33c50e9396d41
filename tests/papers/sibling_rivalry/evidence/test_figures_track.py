"""Figures 1 and 2, drawn from the results of tiny runs."""

import math

import numpy as np
import pytest

from envs.circular_track import GOAL, LOCAL_OPTIMUM
from lab.collecting import collect
from lab.results import Results
from papers.sibling_rivalry.evidence import figures_track
from papers.sibling_rivalry.evidence.ends import histograms
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from papers.sibling_rivalry.evidence.figures_track import NAMES, PHASES, fig1, fig2, shapes
from papers.sibling_rivalry.track import BINS, ENV, METHODS, main

FIGURES = {"fig1": fig1, "fig2": fig2}
HEAT_MAPS = {
    "fig1": {1: ("naive", ""), 2: ("fixed", "")},
    "fig2": {0: ("sr", ""), 1: ("sr", "farther "), 2: ("sr", "closer ")},
}
"""Figure -> panel -> method and sibling."""
CURVES = {"fig1": ("naive", "fixed"), "fig2": ("naive", "sr")}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of the smoke scale, as a sweep leaves them."""
    root = tmp_path_factory.mktemp("runs")
    for entry in EXPERIMENTS["track"]("smoke"):
        main(entry.config, entry.run_dir(root))
    collect("track", "smoke", EXPERIMENTS["track"]("smoke"), root, root / "results", own=True)
    return Results(root / "results")


@pytest.fixture
def canvases(monkeypatch):
    """What a test draws, instead of files."""
    drawn = []
    monkeypatch.setattr(figures_track, "save", lambda canvas, path: drawn.append(canvas))
    return drawn


def write(root, table):
    """Results of rows (method, seed, step, metric, value)."""
    (root / "smoke").mkdir(parents=True)
    lines = [f"track,smoke,{row[0]},{ENV},{','.join(map(str, row[1:]))},0" for row in table]
    header = "experiment,scale,method,env,seed,step,metric,value,hours"
    (root / "smoke" / "track.csv").write_text("\n".join([header, *lines]) + "\n")
    return Results(root)


# ---- what is drawn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_heat_maps_show_their_sibling_s_ends(name, results, canvases):
    FIGURES[name](results, "smoke", None)
    frame = results.at("track", "smoke")
    for place, (method, role) in HEAT_MAPS[name].items():
        [mesh] = canvases[0].axes[place].collections
        _, shares = histograms(frame, method, role)
        np.testing.assert_allclose(mesh.get_array().reshape(-1, BINS), shares[0])
        corners = mesh.get_coordinates()
        np.testing.assert_allclose(corners[0, :, 0], np.linspace(0, 2 * math.pi, BINS + 1))
        assert corners[:, 0, 1].tolist() == [0, 16, 32]
    drawn = {line.get_label() for line in canvases[0].axes[3].lines if line.get_linewidth() > 1}
    assert drawn == {NAMES[method] for method in CURVES[name]}


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
    steps, shares = histograms(write(tmp_path, table).at("track", "smoke"), "sr", "closer ")
    expected = np.zeros((2, 3, BINS))
    expected[0, 0, [3, 12]], expected[0, 1, 3], expected[1, 2, 0] = (0.25, 0.75), 1, 1
    assert steps.tolist() == [10, 20, 30]
    np.testing.assert_array_equal(shares, expected)


def test_heat_maps_are_means_over_the_seeds_that_there_are(tmp_path, canvases):
    table = [("naive", seed, 10, "success", 0) for seed in (0, 1, 2)]
    table += [("naive", 0, 10, "phase 3", 1.0), ("naive", 1, 10, "phase 3", 1.0), ("naive", 2, 10, "phase 4", 1.0)]
    fig1(write(tmp_path, table), "smoke", None)
    [mesh] = canvases[0].axes[1].collections
    np.testing.assert_allclose(mesh.get_array().reshape(-1)[[3, 4, 5]], [2 / 3, 1 / 3, 0])


# ---- incomplete results ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("keep", METHODS)
def test_incomplete_results_are_drawn_as_far_as_they_go(keep, name, results, tmp_path, canvases):
    frame = results.at("track", "smoke")
    (tmp_path / "smoke").mkdir()
    frame[frame["method"] == keep].to_csv(tmp_path / "smoke" / "track.csv", index=False)
    FIGURES[name](Results(tmp_path), "smoke", None)
    for place, (method, _) in HEAT_MAPS[name].items():
        texts = [text.get_text() for text in canvases[0].axes[place].texts]
        assert texts == ([] if method == keep else ["not run"])
