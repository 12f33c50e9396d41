from functools import cache

import numpy as np
import pytest

from envs.minigrid_tasks import TASKS
from lab.results import MissingData, Results
from papers.ter.evidence import figures, figures_worlds
from papers.ter.evidence.experiments import EXPERIMENTS
from papers.ter.evidence.experiments import SOKOBAN as ROOMS
from papers.ter.evidence.figures import COLOURS, FIGURES, STATISTICS, TABLE_B1, Data, label, styles
from tests.papers.ter.evidence.synthetic import write

PNG = b"\x89PNG\r\n\x1a\n"


def level(method, env):
    return {"ter": 0.9, "discor": 0.3}.get(method.split()[0], 0.5)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Complete results of every experiment at smoke, which has the tasks of the paper."""
    root = tmp_path_factory.mktemp("results")
    for experiment in EXPERIMENTS:
        write(root, experiment, "smoke", level, noise=0.03)
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
            for module in (figures, figures_worlds):
                patch.setattr(module, "save", lambda canvas, path: (canvases.append(canvas), save(canvas, path)))
            FIGURES[name].draw(results, "smoke", folder / f"{name}.png")
        return (canvases or [None])[0], (folder / f"{name}.png").read_bytes()

    return drawn


@pytest.fixture
def canvases(monkeypatch):
    """What a test draws, instead of files."""
    drawn = []
    monkeypatch.setattr(figures, "save", lambda canvas, path: drawn.append(canvas))
    return drawn


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws(name, draw):
    assert draw(name)[1].startswith(PNG)


@pytest.mark.parametrize("name", ["fig-k13", "table-b1"])
def test_the_same_data_draw_the_same_bytes(name, draw, results, tmp_path):
    FIGURES[name].draw(results, "smoke", tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == draw(name)[1]


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "fig2"])
def test_title_labels_and_legend(name, draw):
    canvas, _ = draw(name)
    title = canvas.get_suptitle()
    assert title.startswith(("TER Figure ", "TER Table ", "TER, own experiment")) and "not run" not in title
    if name not in ("fig-d1", "table-b1"):
        assert "smoke: 1 seed, 100,000 steps" in title
        [shown] = canvas.legends
        experiment = FIGURES[name].experiments[0]
        methods = {label(entry.method) for entry in EXPERIMENTS[experiment]("smoke")}
        assert {text.get_text() for text in shown.get_texts()} == methods
        axes = [ax for ax in canvas.axes if ax.axison]
        assert all(ax.get_xlabel() == "environment steps" and ax.get_title() for ax in axes)
        assert all(ax.get_ylabel() for ax in axes if ax.get_subplotspec().is_first_col())


def test_one_panel_per_task(draw):
    titles = [ax.get_title() for ax in draw("fig3a")[0].axes if ax.axison]
    assert titles == list(TASKS)


def has_zero_line(ax):
    return any(np.array_equal(line.get_ydata(), [0, 0]) for line in ax.lines)


def test_fig4_has_a_row_of_returns_and_a_row_of_overestimation_with_a_zero_line(draw):
    axes = np.array(draw("fig4")[0].axes).reshape(-1, 4)
    assert [row[0].get_ylabel() for row in axes] == ["normalised return", "(mean Q - $R_{max}$) / $R_{max}$"] * 4
    for returns, q in zip(axes[::2], axes[1::2]):
        assert not any(map(has_zero_line, returns)) and all(map(has_zero_line, q))
    for row in axes:
        assert len({ax.get_ylim() for ax in row}) == 1


def test_sokoban_has_a_panel_per_task_of_return_and_of_overestimation(draw):
    for name, zero in (("fig3b", False), ("fig-e7", True)):
        axes = [ax for ax in draw(name)[0].axes if ax.axison]
        assert [ax.get_title() for ax in axes] == [f"Sokoban {room}" for room in ROOMS]
        assert [has_zero_line(ax) for ax in axes] == [zero] * 7


def test_scores_of_games_have_ranges_of_their_own(tmp_path, canvases):
    write(tmp_path, "fig-m15", "full", lambda method, env: {"Pong": -20, "Freeway": 30}.get(env, 2000))
    FIGURES["fig-m15"].draw(Results(tmp_path), "full", None)
    ranges = {ax.get_title(): ax.get_ylim() for ax in canvases[0].axes}
    assert list(ranges) == ["Pong", "Kangaroo", "Venture", "Freeway"]
    assert ranges["Pong"][1] < 0 < ranges["Freeway"][1] < 100 < ranges["Kangaroo"][1]
    assert canvases[0].axes[0].get_ylabel() == "score"


def test_every_world_is_pictured(draw):
    """NChain above, then a row for each task: four levels, and what the agent sees of the last one."""
    axes = draw("fig-d1")[0].axes
    rows = [ax for ax in axes if ax.images]
    assert len(rows) == 5 * (len(TASKS) + len(ROOMS))
    names = [ax.get_ylabel().replace("\n", "-") for ax in rows[::5]]
    assert names == [*TASKS, *(f"Sokoban-{room}" for room in ROOMS)]
    seen = [ax.images[0].get_array().shape for ax in rows[4::5]]
    assert seen == [(40, 40, 3)] * len(TASKS) + [(84, 84, 3)] * len(ROOMS)


def test_h10_shows_both_versions_side_by_side_and_success(draw):
    canvas, _ = draw("fig-h10")
    axes = np.array(canvas.axes).reshape(2, 2)
    expected = [f"SimpleCrossing-Easy ({version})" for version in ("no terminal", "terminal")]
    assert [[ax.get_title() for ax in row] for row in axes] == [expected, expected]
    assert [row[0].get_ylabel() for row in axes] == ["normalised return", "success rate"]
    assert "different scales" in " ".join(canvas.get_suptitle().split())


def test_table_b1_holds_the_papers_numbers_and_ours(draw):
    canvas, _ = draw("table-b1")
    [table] = canvas.axes[0].tables
    rows = [[table[row, column].get_text().get_text() for column in range(9)] for row in range(6)]
    assert rows[0] == ["", *(f"{statistic}\n{whose}" for statistic in STATISTICS for whose in ("paper", "ours"))]
    assert rows[5][0] == "TER"
    assert rows[5][1::2] == list(TABLE_B1["ter"]) == ["0.002", "2e-4", "1e-4", "0.256"]
    np.testing.assert_allclose([float(text) for text in rows[5][2::2]], [1e-3, 9e-4, 5e-4, 3e-2], rtol=0.1)
    assert "drawing the pictures" in " ".join(canvas.get_suptitle().split())


def test_what_is_missing_is_said_and_the_rest_drawn(tmp_path, canvases):
    def keep(method, env, seed):
        return env == "Unlock" and method != "per" and (method != "ter" or seed < 2)

    write(tmp_path, "fig3a", "quick", level, keep=keep)
    FIGURES["fig3a"].draw(Results(tmp_path), "quick", None)
    title = " ".join(canvases[0].get_suptitle().split())
    assert "quick: 2 to 3 seeds, 100,000 steps" in title
    first = "UER on SimpleCrossing-Easy, 3 of 3 seeds"
    assert f"not run: {first}" in title and title.endswith("and 9 more")
    assert [bool(ax.lines) for ax in canvases[0].axes] == [False, True, False]
    missing = Data(Results(tmp_path), "fig3a", "quick").not_run()
    assert "PER on Sim" in missing
    write(tmp_path, "fig6", "quick", level, keep=lambda method, env, seed: "Lava" in env or seed)
    assert Data(Results(tmp_path), "fig6", "quick").not_run() == (
        "not run: TER (1 root, 1 predecessor, η=0) on SimpleCrossing-Easy, 1 of 3 seeds; "
        "EBU (β=0, terminal only) on SimpleCrossing-Easy, 1 of 3 seeds"
    )


def test_an_unfinished_table_is_drawn(tmp_path, canvases):
    write(tmp_path, "table-b1", "quick", level, keep=lambda method, env, seed: method != "ebu")
    FIGURES["table-b1"].draw(Results(tmp_path), "quick", None)
    cells = canvases[0].axes[0].tables[0].get_celld()
    assert [cells[3, column].get_text().get_text() for column in (0, 2, 4)] == ["EBU", "not run", "not run"]


def test_no_results_at_all(tmp_path):
    with pytest.raises(MissingData, match="no quick results of fig5"):
        FIGURES["fig5"].draw(Results(tmp_path), "quick", tmp_path / "a.png")
    write(tmp_path, "fig5", "quick", level, seeds=0)
    with pytest.raises(MissingData, match="none of the quick runs of fig5"):
        FIGURES["fig5"].draw(Results(tmp_path), "quick", tmp_path / "a.png")


@pytest.mark.parametrize("experiment", [name for name in EXPERIMENTS if name != "table-b1"])
def test_a_method_keeps_its_colour_and_no_two_look_the_same(experiment):
    methods = list(dict.fromkeys(entry.method for entry in EXPERIMENTS[experiment]("full")))
    found = styles(methods)
    assert len({tuple(style.values()) for style in found.values()}) == len(methods)
    for method, style in found.items():
        family = method.split()[0]
        if family in COLOURS:
            assert style["color"] == COLOURS[family]
    for method in ("ter", "ter x0.25", "ter (1 root, 1 predecessor, eta=0)", "eta=0.5", "d=3"):
        assert found.get(method, styles(["ter"])["ter"]) == {"color": COLOURS["ter"], "linestyle": "-"}


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("discor", "DisCor"),
        ("uer x0.25", "UER, ratio 0.25"),
        ("ebu + per", "EBU + PER"),
        ("ebu (no timeout)", "EBU (no timeout)"),
        ("ebu (beta=0, terminal only)", "EBU (β=0, terminal only)"),
        ("ter (1 root, 1 predecessor, eta=0)", "TER (1 root, 1 predecessor, η=0)"),
        ("eta=0.05", "η=0.05"),
        ("d=10", "d=10"),
    ],
)
def test_labels(method, text):
    assert label(method) == text
