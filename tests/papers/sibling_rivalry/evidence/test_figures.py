"""Figs. 3, 4 and 6 to 9, drawn from made-up results. Figs. 1 and 2: test_figures_track.py."""

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from envs.point_maze import point_maze
from lab.results import MissingData, Results, matrix
from papers.sibling_rivalry.evidence import figures
from papers.sibling_rivalry.evidence.ends import end_points
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS, LENGTHS
from papers.sibling_rivalry.evidence.figures import CHECKPOINTS, FIGURES, STYLES, VARIANTS, styles
from papers.sibling_rivalry.evidence.labels import NAMES, label
from papers.sibling_rivalry.evidence.paper_values import CURVES, EPISODES
from papers.sibling_rivalry.tasks import make_task
from tests.papers.sibling_rivalry.evidence.synthetic import POINTS, write

PNG = b"\x89PNG\r\n\x1a\n"
DRAWN = {name: FIGURES[name].experiments[0] for name in ("fig3", "fig4", "fig6", "fig7", "fig8", "fig9")}
NUMBERS = dict(
    success=lambda method, env: 0.1 + 0.05 * (len(method) % 17),
    distance=lambda method, env: 0.5 + 0.1 * (len(method + env) % 7),
    apart=lambda method, env, progress: 2.0 + progress,
    end=lambda method, env: (2.0 + 0.25 * len(method), 9.0) if "Grid" not in env else None,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    for experiment in DRAWN.values():
        write(root, experiment, "smoke", **NUMBERS)
    return Results(root)


@pytest.fixture(scope="module")
def draw(results, tmp_path_factory):
    """Name of a figure -> (its canvas, the bytes of its file), drawn once."""
    folder = tmp_path_factory.mktemp("figures")

    @cache
    def drawn(name):
        canvases = []
        with pytest.MonkeyPatch.context() as patch:
            save = figures.save
            patch.setattr(figures, "save", lambda canvas, path: (canvases.append(canvas), save(canvas, path)))
            FIGURES[name].draw(results, "smoke", folder / f"{name}.png")
        return canvases[0], (folder / f"{name}.png").read_bytes()

    return drawn


@pytest.fixture
def canvases(monkeypatch):
    """What a test draws, instead of files."""
    drawn = []
    monkeypatch.setattr(figures, "save", lambda canvas, path: drawn.append(canvas))
    return drawn


def plain(canvas) -> str:
    return " ".join(canvas.get_suptitle().split())


def curve(ax, name) -> np.ndarray:
    [line] = [line for line in ax.lines if line.get_label() == name]
    return line.get_xydata()


def shown(legend) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def says_not_run(ax) -> bool:
    return [text.get_text() for text in ax.texts] == ["not run"]


def assert_curves(ax, frame, env, metric, methods, names=label) -> None:
    """The panel holds the means over the runs of these methods, and no other curve."""
    for method in methods:
        steps, values = matrix(frame, metric, method, env)
        np.testing.assert_allclose(curve(ax, names(method)), np.column_stack([steps, values.mean(axis=0)]))
    assert {line.get_label() for line in ax.lines if line.get_linewidth() > 1} == {names(method) for method in methods}
    assert ax.get_xlabel() == "training episodes" and ax.get_ylabel()


# ---- all figures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_draws_and_its_title_says_the_budget(name, draw):
    canvas, picture = draw(name)
    assert picture.startswith(PNG)
    assert plain(canvas).startswith(f"Sibling Rivalry Figure {name[3:]}: ")
    assert "smoke: 1 seed, 200,000 episodes; mean ± SD, single runs thin" in plain(canvas)
    assert "missing" not in plain(canvas)


@pytest.mark.parametrize("name", DRAWN)
def test_nothing_overlaps_or_leaves_the_figure(name, draw):
    canvas, _ = draw(name)
    canvas.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in canvas.axes]
    boxes += [canvas._suptitle.get_window_extent(), *(legend.get_window_extent() for legend in canvas.legends)]
    for box in boxes:
        assert box.x0 >= -1 and box.y0 >= -1
        assert box.x1 <= canvas.bbox.width + 1 and box.y1 <= canvas.bbox.height + 1
    for a, b in combinations(boxes, 2):
        apart = max(a.x0 - b.x1, b.x0 - a.x1, a.y0 - b.y1, b.y0 - a.y1)
        assert apart > -2  # pixels


@pytest.mark.parametrize("name", ["fig3", "fig8"])
def test_the_same_data_draw_the_same_bytes(name, draw, results, tmp_path):
    FIGURES[name].draw(results, "smoke", tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == draw(name)[1]


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "fig6"])
def test_one_legend_names_all_methods(name, draw):
    canvas, _ = draw(name)
    methods = dict.fromkeys(entry.method for entry in EXPERIMENTS[DRAWN[name]]("smoke"))
    names = [
        label(method).removeprefix("PPO+SR (").strip(")") if name == "fig7" else label(method) for method in methods
    ]
    [legend] = canvas.legends
    assert set(shown(legend)) == set(names)


@pytest.mark.parametrize("name", DRAWN)
def test_no_results_at_all(name, tmp_path):
    with pytest.raises(MissingData, match=f"no quick results of {DRAWN[name]}"):
        FIGURES[name].draw(Results(tmp_path), "quick", tmp_path / "a.png")
    write(tmp_path, DRAWN[name], "quick", keep=lambda *run: False, **NUMBERS)
    with pytest.raises(MissingData, match=f"none of the quick runs of {DRAWN[name]}"):
        FIGURES[name].draw(Results(tmp_path), "quick", tmp_path / "a.png")


@pytest.mark.parametrize("name", DRAWN)
def test_one_run_alone_draws_and_the_title_says_how_many_are_missing(name, tmp_path, canvases):
    entries = EXPERIMENTS[DRAWN[name]]("quick")
    only = entries[0].method, entries[0].env, 2
    write(tmp_path, DRAWN[name], "quick", keep=lambda *run: run == only, **NUMBERS)
    FIGURES[name].draw(Results(tmp_path), "quick", None)
    assert f"quick: 1 seed, 200,000 episodes; {len(entries) - 1} of {len(entries)} runs are missing; " in plain(
        canvases[0]
    )


def test_curves_are_means_over_single_runs_and_bands_deviations(tmp_path, canvases):
    write(tmp_path, "starts", "full", **NUMBERS, spread=lambda method, env: 0.2)
    FIGURES["fig8"].draw(Results(tmp_path), "full", None)
    frame, ax = Results(tmp_path).at("starts", "full"), canvases[0].axes[0]
    _, values = matrix(frame, "success", "ppo-sr", "PointMaze")
    assert values.shape == (5, POINTS)
    np.testing.assert_allclose(curve(ax, "PPO+SR")[:, 1], values.mean(axis=0))
    thin = [line.get_ydata() for line in ax.lines if line.get_linewidth() < 1]
    assert len(thin) == 10  # the runs of both methods
    np.testing.assert_allclose(thin[:5], values)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose(band.max(), (values.mean(axis=0) + values.std(axis=0, ddof=1)).max())
    assert ax.get_ylim() == (-0.02, 1.02)


# ---- one by one ------------------------------------------------------------------------------------------------------


def test_fig3_has_ours_and_the_papers_curves(draw, results):
    axes = draw("fig3")[0].axes[:4]
    assert [ax.get_title() for ax in axes] == ["starts (blue) and goals (orange)", "ours", "the paper's", "ours"]
    frame = results.at("maze", "smoke")
    methods = [entry.method for entry in EXPERIMENTS["maze"]("smoke")]
    assert_curves(axes[1], frame, "PointMaze", "success", methods)
    assert_curves(axes[3], frame, "PointMaze", "distance", methods)
    for method, values in CURVES["fig3"].items():
        np.testing.assert_array_equal(curve(axes[2], NAMES[method]), np.column_stack([EPISODES, values]))
        assert {line.get_color() for ax in axes[1:] for line in ax.lines if line.get_label() == NAMES[method]} == {
            STYLES[method]["color"]
        }
    assert len(axes[2].lines) == len(CURVES["fig3"])


def test_fig3_draws_the_maze(draw):
    ax, maze = draw("fig3")[0].axes[0], point_maze()
    np.testing.assert_array_equal([line.get_xydata() for line in ax.lines], maze.walls())
    assert [patch.get_bbox().extents.tolist() for patch in ax.patches] == [[-0.5, -0.5, 0.5, 0.5], [8.5, 8.5, 9.5, 9.5]]
    assert ax.get_aspect() == 1


def test_fig3_shows_where_early_episodes_of_one_run_ended(tmp_path, canvases):
    write(tmp_path, "maze", "quick", **NUMBERS)
    path = tmp_path / "quick" / "maze.csv"
    frame = pd.read_csv(path)
    frame = frame[~frame["metric"].str.startswith("end ") & ((frame["method"] != "ppo-sr") | (frame["seed"] > 0))]
    rows = [  # 16 evaluations, one more than is shown, of the smallest seed that there is, and another seed
        ("maze", "quick", "ppo-sr", "PointMaze", seed, step, f"end {episode} {axis}", value, 0.1)
        for seed in (1, 2)
        for step in range(1, CHECKPOINTS + 2)
        for episode in (0, 10)
        for axis, value in (("x", step / 2 + 0.1 * (seed - 1)), ("y", float(episode > 0)))
    ]
    pd.concat([frame, pd.DataFrame(rows, columns=frame.columns)]).to_csv(path, index=False)
    FIGURES["fig3"].draw(Results(tmp_path), "quick", None)
    panels = canvases[0].axes[4:8]
    assert [ax.get_title() for ax in panels] == [
        f"{name}: ends of episodes" for name in ("PPO", "PPO+SR", "PPO+ICM", "DDPG+HER")
    ]
    assert [says_not_run(ax) for ax in panels] == [True, False, True, True]
    [dots] = panels[1].collections
    places = [(step / 2, y) for step in range(1, CHECKPOINTS + 1) for y in (0.0, 1.0)]
    assert sorted(map(tuple, dots.get_offsets())) == places
    assert {(x, c) for (x, _), c in zip(dots.get_offsets(), dots.get_array())} == {
        (step / 2, step - 1) for step in range(1, CHECKPOINTS + 1)
    }
    assert dots.get_clim() == (0, CHECKPOINTS - 1) and panels[1].get_xlabel() == "seed 1"
    assert all(len(ax.lines) == len(point_maze().walls()) for ax in panels)


def test_ends_by_hand():
    rows = [(1, 10, "end 0 x", 1.0), (1, 10, "end 0 y", 2.0), (1, 10, "end 12 y", 4.0), (1, 10, "end 12 x", 3.0)]
    rows += [(0, 20, "end 0 y", 6.0), (0, 20, "end 0 x", 5.0), (0, 20, "entropy", 7.0), (0, 20, "success", 8.0)]
    found = end_points(pd.DataFrame(rows, columns=["seed", "step", "metric", "value"]))
    assert {index: (row["x"], row["y"]) for index, row in found.iterrows()} == {
        (1, 10, "0"): (1, 2), (1, 10, "12"): (3, 4), (0, 20, "0"): (5, 6),
    }  # fmt: skip


def test_fig4_has_a_picture_of_its_grid_and_both_curves(draw, results):
    canvas, _ = draw("fig4")
    assert "(PixelGrid-5-12)" in plain(canvas)
    picture, ours, paper, distance = canvas.axes
    assert picture.images[0].get_array().ndim == 3
    frame, methods = results.at("grid", "smoke"), [entry.method for entry in EXPERIMENTS["grid"]("smoke")]
    assert_curves(ours, frame, "PixelGrid-5-12", "success", methods)
    assert_curves(distance, frame, "PixelGrid-5-12", "distance", methods)
    assert "13 x 13" in paper.get_title() and "pixels" in distance.get_ylabel()
    for method, values in CURVES["fig4"].items():
        np.testing.assert_array_equal(curve(paper, NAMES[method])[:, 1], values)


def test_fig6_has_lengths_and_thresholds_of_both_mazes(draw, results):
    canvas, _ = draw("fig6")
    axes = np.array(canvas.axes).reshape(2, 3)
    frame = results.at("shapes", "smoke")
    methods = [entry.method for entry in EXPERIMENTS["shapes"]("smoke") if entry.env == "UMaze-10"]
    for (_, by_length, longest), name in zip(axes, ("Corridor", "UMaze")):
        for length in LENGTHS:
            steps, values = matrix(frame, "success", "ppo-sr", f"{name}-{length}")
            np.testing.assert_allclose(curve(by_length, f"length {length}"), np.column_stack([steps, values[0]]))
        assert len({line.get_color().tobytes() for line in by_length.lines}) == len(LENGTHS)
        assert_curves(longest, frame, f"{name}-10", "success", [method for method in methods if method != "ppo-sr"])
    lengths, others = (axes[1, column].get_legend() for column in (1, 2))
    assert shown(lengths) == [f"length {length}" for length in LENGTHS]
    assert shown(others) == [*(f"PPO+SR (ε = {e})" for e in (1, 2, 3, 5)), "PPO+ICM", "DDPG+HER"]


def test_fig6_draws_mazes_above_each_other_with_their_lengths(draw):
    axes = np.array(draw("fig6")[0].axes).reshape(2, 3)
    for ax, name, lengths in ((axes[0, 0], "Corridor", LENGTHS), (axes[1, 0], "UMaze", (2, 6, 10))):
        assert [text.get_text() for text in ax.texts] == [str(length) for length in lengths]
        mazes = [make_task(f"{name}-{length}") for length in lengths]
        walls = iter(line.get_xydata() for line in ax.lines)
        top = -np.inf
        for maze, text in zip(mazes, ax.texts):
            drawn = np.array([next(walls) for _ in maze.walls()])
            shift = drawn[0, 0] - maze.walls()[0, 0]
            np.testing.assert_allclose(drawn, maze.walls() + shift)
            low, high = drawn[..., 1].min(), drawn[..., 1].max()
            assert low > top and text.get_position()[1] == pytest.approx((low + high) / 2)
            assert text.get_position()[0] > drawn[..., 0].max()
            top = high
        assert next(walls, None) is None and len(ax.patches) == 2 * len(mazes)
    assert axes[0, 0].get_aspect() == axes[1, 0].get_aspect() == 1


def heat_maps(canvas):
    return [ax for ax in canvas.axes if ax.get_label() != "<colorbar>"][1::2]


def test_fig7_maps_are_means_with_the_thresholds_upwards(tmp_path, canvases):
    def value(method, env, *rest):
        return 0.05 + 0.08 * int(method.strip(")").split()[-1])

    write(tmp_path, "epsilon", "quick", success=value, distance=value, apart=value)
    FIGURES["fig7"].draw(Results(tmp_path), "quick", None)
    frame = Results(tmp_path).at("epsilon", "quick")
    for ax, metric in zip(heat_maps(canvases[0]), ("success", "distance", "apart")):
        [image] = ax.images
        means = [matrix(frame, metric, f"ppo-sr (epsilon {e})", "PointMaze")[1].mean(axis=0) for e in range(11)]
        np.testing.assert_allclose(image.get_array(), means)
        assert image.origin == "lower" and tuple(image.get_extent()) == (0, 200_000, -0.5, 10.5)
        assert image.norm.vmin == 0 and image.norm.vmax == (1 if metric == "success" else np.max(means))
        assert ax.get_ylabel() == "ε" and ax.get_xlabel() == "training episodes"
    lines = [ax for ax in canvases[0].axes if ax.get_label() != "<colorbar>"][::2]
    for ax, metric in zip(lines, ("success", "distance", "apart")):
        names = {f"ppo-sr (epsilon {e})": f"ε = {e}" for e in range(11)}
        assert_curves(ax, frame, "PointMaze", metric, names, names.get)
        assert len({line.get_color().tobytes() for line in ax.lines}) == 11
    labels = [ax.get_ylabel() for ax in canvases[0].axes if ax.get_label() == "<colorbar>"]
    assert labels == [ax.get_ylabel() for ax in lines] and len(set(labels)) == 3


def test_fig7_leaves_white_what_was_not_run(tmp_path, canvases):
    write(tmp_path, "epsilon", "quick", **NUMBERS, keep=lambda method, env, seed: method.endswith((" 2)", " 9)")))
    path = tmp_path / "quick" / "epsilon.csv"
    frame = pd.read_csv(path)
    frame[frame["metric"] != "apart"].to_csv(path, index=False)
    FIGURES["fig7"].draw(Results(tmp_path), "quick", None)
    success, distance, apart = heat_maps(canvases[0])
    for ax in (success, distance):
        rows = np.ma.filled(ax.images[0].get_array(), np.nan)
        assert [not np.isnan(row).any() for row in rows] == [e in (2, 9) for e in range(11)]
        assert ax.images[0].get_extent()[2:] == [-0.5, 10.5]
    assert says_not_run(apart) and not apart.images


def test_fig8_and_fig9_draw_each_task_and_metric(draw, results):
    frame, axes = results.at("starts", "smoke"), draw("fig8")[0].axes
    assert [ax.get_title() for ax in axes] == ["PointMaze", "PixelGrid-5-12"]
    for ax in axes:
        assert_curves(ax, frame, ax.get_title(), "success", ["ppo-sr", "ppo-sr (independent starts)"])
    frame, axes = results.at("oracle", "smoke"), draw("fig9")[0].axes
    methods = ["ppo-sr", *(f"ppo-go (side {side})" for side in (1, 2, 3))]
    for ax, metric in zip(axes, ("success", "distance")):
        assert_curves(ax, frame, "PointMaze", metric, methods)


# ---- what is missing -------------------------------------------------------------------------------------------------


def test_a_task_or_length_without_runs_keeps_its_place(tmp_path, canvases):
    write(tmp_path, "starts", "quick", **NUMBERS, keep=lambda method, env, seed: env == "PointMaze")
    FIGURES["fig8"].draw(Results(tmp_path), "quick", None)
    assert [says_not_run(ax) for ax in canvases[0].axes] == [False, True]
    there = ("Corridor-10", "UMaze-4", "UMaze-6")
    write(tmp_path, "shapes", "quick", **NUMBERS, keep=lambda method, env, seed: env in there)
    FIGURES["fig6"].draw(Results(tmp_path), "quick", None)
    axes = np.array(canvases[1].axes).reshape(2, 3)
    assert [says_not_run(ax) for ax in axes[:, 1:].flat] == [False, False, False, True]
    assert not axes[1, 1].texts and axes[1, 1].xaxis.get_major_ticks()
    names = {line.get_label() for line in axes[1, 1].lines if line.get_linewidth() > 1}
    assert names == {"length 4", "length 6"}
    assert "PPO+SR (ε = 1)" in shown(axes[1, 2].get_legend())  # of the corridor above


# ---- names and styles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", [name for name in DRAWN.values() if name != "epsilon"])
def test_no_two_methods_look_the_same(experiment):
    entries = EXPERIMENTS[experiment]("full")
    for env in {entry.env for entry in entries}:
        methods = list(dict.fromkeys(entry.method for entry in entries if entry.env == env))
        found = styles(methods)
        assert len({(style["color"], style["linestyle"]) for style in found.values()}) == len(methods)
    for method in {entry.method for entry in entries}:
        base, _, variant = method.partition(" ")
        assert styles([method])[method] == (VARIANTS[variant] if variant else STYLES[base])


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("ppo-sr", "PPO+SR"),
        ("ppo-sr (epsilon 5)", "PPO+SR (ε = 5)"),
        ("ppo-sr (independent starts)", "PPO+SR (independent starts)"),
        ("ppo-go (side 2)", "PPO+GO (side 2)"),
        ("none", "none"),
    ],
)
def test_labels(method, text):
    assert label(method) == text


def test_the_papers_curves_are_whole():
    assert EPISODES == tuple(range(20_000, 200_001, 20_000))
    for values in CURVES.values():
        assert set(values) <= set(NAMES) == set(STYLES)
        assert all(len(rates) == len(EPISODES) and 0 <= min(rates) <= max(rates) <= 1 for rates in values.values())
    assert set(CURVES["fig4"]) == {e.method for e in EXPERIMENTS["grid"]("full")} - {"ppo-sr (epsilon 2)"}
    assert set(CURVES["fig3"]) == {e.method for e in EXPERIMENTS["maze"]("full")} - {"ppo-rnd"}


def test_figures_need_experiments_that_exist():
    assert {name for figure in FIGURES.values() for name in figure.experiments} == set(EXPERIMENTS)
