"""What is particular to Figs. 3, 4 and 6 to 9, drawn from made-up results. Figs. 1 and 2: test_figures_track.py."""

import numpy as np
import pandas as pd
import pytest

from envs.point_maze import point_maze
from lab.results import Results, matrix
from papers.sibling_rivalry.evidence import figures
from papers.sibling_rivalry.evidence.drawing import CHECKPOINTS, STYLES, styles
from papers.sibling_rivalry.evidence.ends import end_points
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS, LENGTHS
from papers.sibling_rivalry.evidence.figures import FIGURES
from papers.sibling_rivalry.evidence.labels import NAMES, label
from papers.sibling_rivalry.evidence.paper_values import CURVES, EPISODES
from papers.sibling_rivalry.tasks import make_task
from tests.papers.sibling_rivalry.evidence.synthetic import write

NUMBERS = dict(
    success=lambda method, env: 0.1 + 0.05 * (len(method) % 17),
    distance=lambda method, env: 0.5 + 0.1 * (len(method + env) % 7),
    apart=lambda method, env, progress: 2.0 + progress,
    end=lambda method, env: (2.0 + 0.25 * len(method), 9.0) if "Grid" not in env else None,
)


@pytest.fixture
def draw(monkeypatch, tmp_path):
    """Draws a figure from the results below tmp_path, and returns its panels."""
    drawn = []
    monkeypatch.setattr(figures, "save", lambda canvas, path: drawn.append(canvas))

    def panels(name, scale="smoke", **made):
        if made:
            write(tmp_path, FIGURES[name].experiments[0], scale, **made)
        FIGURES[name].draw(Results(tmp_path), scale, None)
        return [ax for ax in drawn[-1].axes if ax.get_label() != "<colorbar>" and ax.get_visible()]

    return panels


def frame_of(tmp_path, experiment, scale="smoke"):
    return Results(tmp_path).at(experiment, scale)


def curve(ax, name) -> np.ndarray:
    [line] = [line for line in ax.lines if line.get_label() == name]
    return line.get_xydata()


def says_not_run(ax) -> bool:
    return [text.get_text() for text in ax.texts] == ["not run"]


def assert_curves(ax, frame, env, metric, methods, names=label) -> None:
    """The panel holds the means over the runs of these methods, and no other curve."""
    for method in methods:
        steps, values = matrix(frame, metric, method, env)
        np.testing.assert_allclose(curve(ax, names(method)), np.column_stack([steps, values.mean(axis=0)]))
    assert {line.get_label() for line in ax.lines if line.get_linewidth() > 1} == {names(method) for method in methods}


# ---- Figures 3 and 4 -------------------------------------------------------------------------------------------------


def test_ours_and_the_papers_curves_stand_side_by_side_in_the_same_colours(draw, tmp_path):
    for name, experiment, env in (("fig3", "maze", "PointMaze"), ("fig4", "grid", "PixelGrid-5-12")):
        _, ours, paper, distance, *_ = draw(name, **NUMBERS)
        frame = frame_of(tmp_path, experiment)
        methods = list(dict.fromkeys(entry.method for entry in EXPERIMENTS[experiment]("smoke")))
        assert_curves(ours, frame, env, "success", methods)
        assert_curves(distance, frame, env, "distance", methods)
        for method, values in CURVES[name].items():
            np.testing.assert_array_equal(curve(paper, NAMES[method]), np.column_stack([EPISODES, values]))
            colours = {
                line.get_color() for ax in (ours, paper) for line in ax.lines if line.get_label() == NAMES[method]
            }
            assert colours == {STYLES[method]["color"]}
        assert len(paper.lines) == len(CURVES[name])


def test_fig3_shows_where_early_episodes_of_one_run_ended(tmp_path, draw):
    write(tmp_path, "maze", "full", **NUMBERS)
    path = tmp_path / "full" / "maze.csv"
    frame = pd.read_csv(path)
    frame = frame[~frame["metric"].str.startswith("end ") & ((frame["method"] != "ppo-sr") | (frame["seed"] > 0))]
    rows = [  # 16 evaluations, one more than is shown, of the smallest seed that there is, and another seed
        ("maze", "full", "ppo-sr", "PointMaze", seed, step, f"end {episode} {axis}", value, 0.1)
        for seed in (1, 2)
        for step in range(1, CHECKPOINTS + 2)
        for episode in (0, 10)
        for axis, value in (("x", step / 2 + 0.1 * (seed - 1)), ("y", float(episode > 0)))
    ]
    pd.concat([frame, pd.DataFrame(rows, columns=frame.columns)]).to_csv(path, index=False)
    panels = draw("fig3", "full")[4:]
    assert [ax.get_title() for ax in panels] == [
        "PPO: ends", "PPO+SR: ends, seed 1", "PPO+ICM: ends", "DDPG+HER: ends",
    ]  # fmt: skip
    assert [says_not_run(ax) for ax in panels] == [True, False, True, True]
    [dots] = panels[1].collections
    places = [(step / 2, y) for step in range(1, CHECKPOINTS + 1) for y in (0.0, 1.0)]
    assert sorted(map(tuple, dots.get_offsets())) == places
    assert all(c == 2 * x - 1 for (x, _), c in zip(dots.get_offsets(), dots.get_array()))
    np.testing.assert_array_equal([line.get_xydata() for line in panels[0].lines], point_maze().walls())
    squares = [patch.get_bbox().extents.tolist() for patch in panels[0].patches]
    assert squares == [[-0.5, -0.5, 0.5, 0.5], [8.5, 8.5, 9.5, 9.5]]


def test_end_points_by_hand():
    rows = [(1, 10, "end 0 x", 1.0), (1, 10, "end 0 y", 2.0), (1, 10, "end 12 y", 4.0), (1, 10, "end 12 x", 3.0)]
    rows += [(0, 20, "end 0 y", 6.0), (0, 20, "end 0 x", 5.0), (0, 20, "entropy", 7.0), (0, 20, "success", 8.0)]
    found = end_points(pd.DataFrame(rows, columns=["seed", "step", "metric", "value"]))
    assert {index: (row["x"], row["y"]) for index, row in found.iterrows()} == {
        (1, 10, "0"): (1, 2), (1, 10, "12"): (3, 4), (0, 20, "0"): (5, 6),
    }  # fmt: skip


# ---- Figures 6 to 9 --------------------------------------------------------------------------------------------------


def test_fig6_has_lengths_and_thresholds_of_both_mazes(draw, tmp_path):
    write(tmp_path, "u-mazes", "smoke", **NUMBERS)
    axes = np.array(draw("fig6", **NUMBERS)).reshape(2, 3)
    frame = frame_of(tmp_path, "corridors+u-mazes")
    methods = [entry.method for entry in EXPERIMENTS["u-mazes"]("smoke") if entry.env == "UMaze-10"]
    for (pictures, by_length, longest), name in zip(axes, ("Corridor", "UMaze")):
        for length in LENGTHS:
            steps, values = matrix(frame, "success", "ppo-sr", f"{name}-{length}")
            np.testing.assert_allclose(curve(by_length, f"length {length}"), np.column_stack([steps, values[0]]))
        assert len({line.get_color().tobytes() for line in by_length.lines}) == len(LENGTHS)
        assert_curves(longest, frame, f"{name}-10", "success", [method for method in methods if method != "ppo-sr"])
        mazes = [make_task(f"{name}-{text.get_text()}") for text in pictures.texts]
        assert len(pictures.lines) == sum(len(maze.walls()) for maze in mazes)
    lengths, others = ([text.get_text() for text in axes[1, column].get_legend().get_texts()] for column in (1, 2))
    assert lengths == [f"length {length}" for length in LENGTHS]
    assert others == [*(f"PPO+SR (ε = {e})" for e in (0, 1, 2, 3, 5)), "PPO+ICM", "DDPG+HER"]


def test_fig7_maps_are_means_with_the_thresholds_upwards_and_white_where_nothing_was_run(draw, tmp_path):
    def value(method, env, *rest):
        return 0.05 + 0.08 * int(method.strip(")").split()[-1])

    run = [0, 1, 3, 5, 7, 10]  # of quick, 2 is missing; 4, 6, 8 and 9 are of full
    keep = [f"ppo-sr (epsilon {e})" for e in run]
    axes = draw(
        "fig7", "quick", success=value, distance=value, apart=value, keep=lambda method, env, seed: method in keep
    )
    frame = frame_of(tmp_path, "epsilon", "quick")
    for lines, heat, metric in zip(axes[::2], axes[1::2], ("success", "distance", "apart"), strict=True):
        [image] = heat.images
        rows = np.ma.filled(image.get_array(), np.nan)
        means = [matrix(frame, metric, method, "PointMaze")[1].mean(axis=0) for method in keep]
        np.testing.assert_allclose(rows[run], means)
        assert np.isnan(rows[[2, 4, 6, 8, 9]]).all()
        assert list(heat.get_yticks()) == run
        assert image.origin == "lower" and tuple(image.get_extent()) == (0, 200_000, -0.5, 10.5)
        assert image.norm.vmin == 0 and image.norm.vmax == (1 if metric == "success" else np.max(means))
        names = {f"ppo-sr (epsilon {e})": f"ε = {e}" for e in run}
        assert_curves(lines, frame, "PointMaze", metric, names, names.get)
        assert len({line.get_color().tobytes() for line in lines.lines}) == len(run)


def test_fig8_and_fig9_draw_each_task_and_metric(draw, tmp_path):
    axes = draw("fig8", **NUMBERS)
    assert [ax.get_title() for ax in axes] == ["PointMaze", "PixelGrid-5-12"]
    for ax in axes:
        methods = ["ppo-sr", "ppo-sr (independent starts)"]
        assert_curves(ax, frame_of(tmp_path, "starts"), ax.get_title(), "success", methods)
    only_maze = draw("fig8", "quick", **NUMBERS, keep=lambda method, env, seed: env == "PointMaze")
    assert [ax.get_title() for ax in only_maze] == ["PointMaze"]
    methods = ["ppo-sr", *(f"ppo-go (side {side})" for side in (1, 2, 3))]
    for ax, metric in zip(draw("fig9", **NUMBERS), ("success", "distance"), strict=True):
        assert_curves(ax, frame_of(tmp_path, "oracle"), "PointMaze", metric, methods)


def test_our_own_figures_draw_every_method(draw, tmp_path):
    ours, paper, distance = draw("own-whole-grid", **NUMBERS)
    for ax, metric in ((ours, "success"), (distance, "distance")):
        assert_curves(ax, frame_of(tmp_path, "whole-grid"), "PixelGrid-5-12", metric, ["ppo", "ppo-sr", "dqn-her"])
    np.testing.assert_array_equal(curve(paper, "DQN+HER")[:, 1], CURVES["fig4"]["dqn-her"])
    success, _ = draw("own-weighting", **NUMBERS)
    assert_curves(success, frame_of(tmp_path, "weighting"), "PointMaze", "success", ["ppo-sr", "ppo-sr (one pool)"])


# ---- names, styles and the paper's values ----------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", ["maze", "grid", "corridors", "u-mazes", "starts", "oracle", "weighting"])
def test_no_two_methods_look_the_same(experiment):
    entries = EXPERIMENTS[experiment]("full")
    for env in {entry.env for entry in entries}:
        methods = {entry.method for entry in entries if entry.env == env}
        found = styles(methods)
        assert len({(style["color"], style["linestyle"]) for style in found.values()}) == len(methods)


def test_the_papers_curves_are_whole():
    assert EPISODES == tuple(range(20_000, 200_001, 20_000))
    for values in CURVES.values():
        assert all(len(rates) == len(EPISODES) and 0 <= min(rates) <= max(rates) <= 1 for rates in values.values())
    assert set(CURVES["fig4"]) == {e.method for e in EXPERIMENTS["grid"]("full")} - {"ppo-sr (epsilon 2)"}
    assert set(CURVES["fig3"]) == {e.method for e in EXPERIMENTS["maze"]("full")} - {"ppo-rnd"}
