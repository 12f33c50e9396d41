"""Figs. 3 and 4, Tables 1 and 2 and our own experiments, drawn from made-up results."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from lab.plotting import save
from lab.results import Results
from papers.bias_reduced_her.evidence import figures, figures_estimates
from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.figures import (
    CONTROLS,
    FIGURES,
    NAMES,
    TABLE_2,
    TRAINING,
    Data,
    heat_map,
    styles,
    with_bias,
)
from papers.bias_reduced_her.worlds import TASKS
from tests.papers.bias_reduced_her.evidence.synthetic import write

CURVES = {"fig3": TRAINING, "fig4": TRAINING} | {
    name: name for name in ("own-grid", "own-her", "own-penalty", "own-goals")
}


def level(method, env):
    return dict(zip([*NAMES, *CONTROLS], (0.1, 0.2, 0.5, 0.7, 0.3, 0.0)))[method.split()[0]]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    for experiment in set(CURVES.values()):
        write(root, experiment, "smoke", level)
    return Results(root)


@pytest.fixture(scope="module")
def draw(results, tmp_path_factory):
    """Name of a figure -> (its canvas, the bytes of its file), drawn once."""
    folder = tmp_path_factory.mktemp("figures")

    @cache
    def drawn(name):
        canvases = []
        with pytest.MonkeyPatch.context() as patch:
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


def cells(canvas) -> list[list[str]]:
    """Texts of the table."""
    [table] = canvas.axes[0].tables
    return [[table[row, column].get_text().get_text() for column in range(9)] for row in range(4)]


def curve(ax, name) -> np.ndarray:
    [line] = [line for line in ax.lines if line.get_label() == name]
    return line.get_ydata()


def test_what_fig3_and_fig4_show(draw, results):
    frame = results.at(TRAINING, "smoke")
    for name, metrics in (("fig3", ["success", "distance"]), ("fig4", ["q_estimate", "return", "bias"])):
        axes = np.array(draw(name)[0].axes).reshape(len(metrics), 3)
        for row, metric in zip(axes, metrics):
            for ax, env in zip(row, TASKS):
                for method in NAMES:
                    rows = frame[(frame["method"] == method) & (frame["env"] == env)].set_index("metric")["value"]
                    parts = rows["q_estimate"], rows["return"]
                    expected = parts[0].to_numpy() - parts[1].to_numpy() if metric == "bias" else rows[metric]
                    np.testing.assert_allclose(curve(ax, NAMES[method]), expected, rtol=1e-12)
    assert axes[2, 0].get_ylabel() == "Q - return"
    assert curve(axes[2, 0], "HER") == pytest.approx(5.0, rel=0.05)


def test_curves_are_medians_and_bands_percentiles(tmp_path, canvases):
    write(tmp_path, TRAINING, "quick", level, spread=lambda method, env: 0.1)
    FIGURES["fig3"].draw(Results(tmp_path), "quick", None)
    frame = Results(tmp_path).at(TRAINING, "quick")
    rows = frame[(frame["method"] == "her") & (frame["env"] == "Hand") & (frame["metric"] == "distance")]
    runs = rows.pivot(index="seed", columns="step", values="value").to_numpy()
    assert runs.shape == (10, 8)
    ax = canvases[0].axes[3]
    np.testing.assert_allclose(curve(ax, "HER"), np.median(runs, axis=0))
    corners = ax.collections[0].get_paths()[0].vertices
    np.testing.assert_allclose(corners[:, 1].max(), np.percentile(runs, 67, axis=0).max())


def test_with_bias_adds_rows_and_changes_none():
    columns = ["experiment", "scale", "method", "env", "seed", "step", "metric", "value", "hours"]
    keys = [("e", "s", "m", "Hand", seed, step) for seed in (0, 1) for step in (10, 20)]
    values = {"q_estimate": [-10.0, -20.0, -5.0, -1.0], "return": [-50.0, -20.0, 0.0, -2.0], "kl": [1.0, 2.0, 3.0, 4.0]}
    rows = [(*key, name, value, 0.1) for name in values for key, value in zip(keys, values[name])]
    frame = pd.DataFrame(rows, columns=columns)
    more = with_bias(frame)
    pd.testing.assert_frame_equal(more[more["metric"] != "bias"].reset_index(drop=True), frame)
    bias = more[more["metric"] == "bias"].sort_values(["seed", "step"])
    assert bias["value"].tolist() == [40, 0, -5, 1] and bias["step"].tolist() == [10, 20, 10, 20]


def test_the_heat_map_is_the_mean_over_runs(tmp_path):
    shares = {0: 0.2, 1: 0.4, 2: 0.6}
    write(tmp_path, TRAINING, "quick", level, seeds=3)
    path = tmp_path / "quick" / "training-robot.csv"
    frame = pd.read_csv(path)
    here = (frame["method"] == "her") & (frame["env"] == "Robot")
    for seed, share in shares.items():
        mine = here & (frame["seed"] == seed)
        frame.loc[mine & (frame["metric"] == "virtual 2 0"), "value"] = share
        frame.loc[mine & (frame["metric"] == "virtual 7 3"), "value"] = 1 - share
    frame.loc[here & (frame["seed"] == 2) & (frame["metric"] == "virtual 7 3"), "metric"] = "virtual 9 9"
    frame.to_csv(path, index=False)
    found = heat_map(Data(Results(tmp_path), TRAINING, "quick"), "her", "Robot", 10)
    expected = np.zeros((10, 10))
    expected[2, 0], expected[7, 3], expected[9, 9] = 0.4, (0.8 + 0.6) / 3, 0.4 / 3
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_table_1_has_a_map_per_task_and_method_the_right_way_up(draw, results):
    canvas, _ = draw("table1")
    axes = np.array([ax for ax in canvas.axes if ax.get_subplotspec() and ax.get_label() != "<colorbar>"])
    axes = axes.reshape(3, 4)
    assert [ax.get_title() for ax in axes[0]] == list(NAMES.values())
    assert [row[0].get_ylabel() for row in axes] == list(TASKS)
    data = Data(results, TRAINING, "smoke")
    for row, env in zip(axes, TASKS):
        for ax, method in zip(row, NAMES):
            [image] = ax.images
            drawn = np.asarray(image.get_array())
            np.testing.assert_array_equal(drawn, heat_map(data, method, env, 10).T)
            assert image.origin == "lower" and drawn[0, 2] > 0 and drawn[3, 7] > 0  # rows are y
            assert ax.patches[0].get_bbox().extents == pytest.approx([0.65, 0.2, 0.95, 0.5])


def test_table_2_holds_the_papers_numbers_and_ours(draw, tmp_path, canvases):
    rows = cells(draw("table2")[0])
    assert [row[0] for row in rows] == ["", *TASKS]
    assert [text.replace("\n-IBS", "-IBS") for text in rows[0][1:]] == [
        f"{name}\n{whose}" for name in NAMES.values() for whose in ("paper", "ours")
    ]
    for row, env in zip(rows[1:], TASKS):
        assert row[1::2] == [f"{value:.2f}" for value in TABLE_2[env]]
        assert all(float(text) == pytest.approx(1, abs=0.05) for text in row[2::2])  # one run: no deviation
    write(tmp_path, TRAINING, "quick", level, kl=lambda method, env: len(method))
    FIGURES["table2"].draw(Results(tmp_path), "quick", None)
    frame = Results(tmp_path).at(TRAINING, "quick")
    last = frame[(frame["metric"] == "kl") & (frame["step"] == 1600)]
    values = last[(last["method"] == "her") & (last["env"] == "HandWall")]["value"].to_numpy()
    assert cells(canvases[0])[2][2] == f"{values.mean():.2f} ± {np.std(values, ddof=1):.2f}"


@pytest.mark.parametrize("experiment", [TRAINING, "own-grid", "own-her", "own-penalty", "own-goals"])
def test_a_method_keeps_its_colour_and_no_two_look_the_same(experiment):
    methods = list(dict.fromkeys(entry.method for name in experiment.split("+") for entry in EXPERIMENTS[name]("full")))
    found, base = styles(methods), styles([*NAMES, *CONTROLS])
    assert len({tuple(style.values()) for style in found.values()}) == len(methods)
    for method, style in found.items():
        assert style["color"] == base[method.split()[0]]["color"]
        if experiment == TRAINING:
            assert (style["linestyle"] == "-") == (method in NAMES)


def test_where_the_value_is_over_estimated(results, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures_estimates, "save", lambda canvas, path: drawn.append(canvas))
    write(tmp_path, TRAINING, "quick", level, bias=lambda method, env: len(env))
    FIGURES["own-estimates"].draw(Results(tmp_path), "quick", None)
    axes = np.array([ax for ax in drawn[0].axes]).reshape(2, 3)
    for column, env in zip(axes.T, TASKS):
        dots = [container.lines[0] for container in column[0].containers]
        assert len(dots) == 2 * len([*NAMES, *CONTROLS])
        assert all(dot.get_ydata()[0] == pytest.approx(len(env), rel=0.01) for dot in dots)
        lines = {line.get_label(): line.get_ydata() for line in column[1].lines}
        solid, dotted = column[1].lines[0], column[1].lines[1]
        assert solid.get_label() == "HER" and len(lines["HER"]) == 11
        np.testing.assert_allclose(solid.get_ydata() - dotted.get_ydata(), len(env), rtol=0.01)


def test_a_task_without_runs_says_so_where_the_value_is_over_estimated(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures_estimates, "save", lambda canvas, path: drawn.append(canvas))
    write(tmp_path, "training-hand", "full", level)
    FIGURES["own-estimates"].draw(Results(tmp_path), "full", None)
    said = [[text.get_text() for text in ax.texts] for ax in drawn[0].axes]
    assert said == [[], ["not run"], ["not run"]] * 2


def test_runs_of_fig3_stand_beside_those_of_a_variant(draw, tmp_path, canvases):
    """Where there are none, the variant is drawn alone."""

    def named(canvas) -> set[str]:
        return {line.get_label() for line in canvas.axes[0].lines if not line.get_label().startswith("_")}

    variant = {"HER-IBS (20 x 20, sigma^2)", "Filtered-HER-IBS (20 x 20, sigma^2)"}
    assert named(draw("own-grid")[0]) == {"HER-IBS", "Filtered-HER-IBS"} | variant
    write(tmp_path, "own-grid", "smoke", level)
    FIGURES["own-grid"].draw(Results(tmp_path), "smoke", tmp_path / "x.png")
    assert named(canvases[0]) == variant
