"""The ant's rows of Figs. 3 and 9, alone and beside those of the point maze, and the low level's figure."""

import numpy as np
import pandas as pd
import pytest

from lab.results import COLUMNS, Results, matrix
from papers.sibling_rivalry.evidence import figures, figures_low_level
from papers.sibling_rivalry.evidence.figures import FIGURES
from papers.sibling_rivalry.evidence.labels import NAMES, label
from papers.sibling_rivalry.evidence.paper_values import ANT_CURVES, ANT_EPISODES
from tests.papers.sibling_rivalry.evidence.synthetic import write

NUMBERS = dict(
    success=lambda method, env: 0.1 + 0.05 * (len(method) % 17),
    distance=lambda method, env: 0.5 + 0.1 * (len(method + env) % 7),
    end=lambda method, env: (1.0, 0.25 * len(method)),
)
METHODS = ["ppo", "ppo-sr", "ppo-icm", "ddpg-her"]


@pytest.fixture
def draw(monkeypatch, tmp_path):
    """Draws a figure from the results below tmp_path, and returns its panels."""
    drawn = []
    for module in (figures, figures_low_level):
        monkeypatch.setattr(module, "save", lambda canvas, path: drawn.append(canvas))

    def panels(name, scale="smoke"):
        FIGURES[name].draw(Results(tmp_path), scale, None)
        return [ax for ax in drawn[-1].axes if ax.get_visible()], drawn[-1]

    return panels


def curve(ax, name) -> np.ndarray:
    [line] = [line for line in ax.lines if line.get_label() == name]
    return line.get_xydata()


def assert_curves(ax, frame, env, metric, methods) -> None:
    for method in methods:
        steps, values = matrix(frame, metric, method, env)
        np.testing.assert_allclose(curve(ax, label(method)), np.column_stack([steps, values.mean(axis=0)]))
    assert {line.get_label() for line in ax.lines if line.get_linewidth() > 1} == set(map(label, methods))


def test_fig3_of_the_ant_alone_and_below_the_point_maze(draw, tmp_path):
    write(tmp_path, "ant", "smoke", **NUMBERS)
    frame = Results(tmp_path).at("ant", "smoke")
    alone, canvas = draw("fig3")
    assert canvas.get_suptitle() == "Sibling Rivalry Figure 3: the ant maze" and len(alone) == 8
    write(tmp_path, "maze", "smoke", **NUMBERS)
    both, canvas = draw("fig3")
    assert canvas.get_suptitle().endswith("Figure 3: the point maze and the ant maze") and len(both) == 16
    for world, ours, paper, distance, *ends in (alone, both[8:]):
        assert_curves(ours, frame, "AntMazeSmall", "success", METHODS)
        assert_curves(distance, frame, "AntMazeSmall", "distance", METHODS)
        for method, values in ANT_CURVES.items():
            np.testing.assert_array_equal(curve(paper, NAMES[method]), np.column_stack([ANT_EPISODES, values]))
        assert [ax.get_title() for ax in ends] == [f"{label(method)}: ends, seed 0" for method in METHODS]
        for ax, method in zip(ends, METHODS):
            [dots] = ax.collections
            assert sorted({tuple(place) for place in dots.get_offsets()}) == [(0, 0), (1, 0.25 * len(method))]
        boxes = [tuple(patch.get_bbox().extents) for patch in world.patches]
        assert len(boxes) == 18 + 2 and (-1.75, 6.25, 1.75, 9.75) in boxes and (2, 2, 6, 6) in boxes
    assert len(both[1].lines) > 0 and both[2].get_title() == "the paper's"


def test_fig9_has_a_row_for_each_world(draw, tmp_path):
    write(tmp_path, "ant-oracle", "smoke", **NUMBERS)
    assert len(draw("fig9")[0]) == 2
    write(tmp_path, "oracle", "smoke", **NUMBERS)
    panels, _ = draw("fig9")
    frame = Results(tmp_path).at("ant-oracle", "smoke")
    for ax, metric in zip(panels[2:], ("success", "distance"), strict=True):
        assert_curves(ax, frame, "AntMazeSmall", metric, ["ppo-sr", "ppo-go"])
    assert [ax.get_title() for ax in panels[::2]] == ["PointMaze", "AntMazeSmall"]


def test_short_runs_of_the_ant(draw, tmp_path):
    write(tmp_path, "ant-short", "smoke", **NUMBERS)
    (success, distance, *ends), _ = draw("own-ant-short")
    frame = Results(tmp_path).at("ant-short", "smoke")
    for ax, metric in ((success, "success"), (distance, "distance")):
        assert_curves(ax, frame, "AntMazeSmall", metric, ["ppo", "ppo-sr"])
    assert [ax.get_title() for ax in ends] == [f"{label(method)}: ends, seed 0" for method in ("ppo", "ppo-sr")]


def test_the_low_levels_figure(draw, tmp_path):
    rows = [
        ("low-level", "smoke", "low-level", "AntArena", 0, step, metric, value, 0.1)
        for step in (0, 1000)
        for metric, value in (("success", step / 2000), ("distance", 3 - step / 1000), ("before", 3.8))
    ]
    (tmp_path / "smoke").mkdir()
    pd.DataFrame(rows, columns=COLUMNS).to_csv(tmp_path / "smoke/low-level.csv", index=False)
    (success, distance), _ = draw("own-low-level")
    assert curve(success, "low level").tolist() == [[0, 0], [1000, 0.5]]
    assert curve(distance, "low level").tolist() == [[0, 3], [1000, 2]]
    assert [set(line.get_ydata()) for line in distance.lines][-1] == {3.8}


def test_the_papers_curves_are_whole():
    assert ANT_EPISODES == tuple(range(8_000, 80_001, 8_000)) and set(ANT_CURVES) == set(METHODS)
    assert all(len(rates) == len(ANT_EPISODES) and 0 <= min(rates) <= max(rates) <= 1 for rates in ANT_CURVES.values())
