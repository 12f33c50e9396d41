"""All figures, drawn from made-up results."""

import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from lab.results import COLUMNS, MissingData, Results
from papers.ners.evidence import figures, figures_draws, figures_law, figures_tables
from papers.ners.evidence.figures import ALL, FIGURES
from papers.ners.evidence.figures_data import COLOURS, SAMPLERS, Data, averaged, label
from papers.ners.evidence.figures_draws import FRAMES, RED, pendulum
from papers.ners.evidence.figures_law import MEASURES
from papers.ners.evidence.figures_tables import with_share
from papers.ners.evidence.paper_values import TABLE1, TABLE3
from tests.papers.ners.evidence.synthetic import EXPERIMENTS, GRID, HOPPER, LANDER, PENDULUM, WALKER, right, write

PNG = b"\x89PNG\r\n\x1a\n"
TABLES = ("table1", "table2", "table3")


@pytest.fixture(scope="module", autouse=True)
def experiments():
    """The grid of these tests in place of the real one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "papers.ners.evidence.experiments", EXPERIMENTS)
        yield


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    for experiment in GRID:
        write(root, experiment, right(experiment), "quick", seeds=3, steps=20_000 if experiment != "fig1" else None)
    return Results(root)


def catch(patch, drawn, write_too=True):
    """Let all figures put their canvas into `drawn`, and write their file or not."""
    for module in (figures, figures_draws, figures_law, figures_tables):
        save = module.save
        patch.setattr(
            module, "save", lambda canvas, path, save=save: (drawn.append(canvas), write_too and save(canvas, path))
        )


@pytest.fixture(scope="module")
def draw(results, tmp_path_factory):
    """Name of a figure -> (its canvas, the bytes of its file), drawn once."""
    folder = tmp_path_factory.mktemp("figures")

    @cache
    def drawn(name):
        canvases = []
        with pytest.MonkeyPatch.context() as patch:
            catch(patch, canvases)
            FIGURES[name].draw(results, "quick", folder / f"{name}.png")
        return canvases[0], (folder / f"{name}.png").read_bytes()

    return drawn


@pytest.fixture
def canvases(monkeypatch):
    """What a test draws, instead of files."""
    drawn = []
    catch(monkeypatch, drawn, write_too=False)
    return drawn


def plain(canvas) -> str:
    return " ".join(canvas.get_suptitle().split())


def shown(canvas) -> list[str]:
    [legend] = canvas.legends
    return [text.get_text() for text in legend.get_texts()]


def curve(ax, name) -> np.ndarray:
    [line] = [line for line in ax.lines if line.get_label() == name]
    return line.get_xydata()


def cells(canvas) -> dict[tuple[str, str], tuple[str, str]]:
    """(first cell of the row, header) -> (text, weight) of a drawn table."""
    [table] = canvas.axes[0].tables
    found = table.get_celld()
    rows, cols = (1 + max(place[axis] for place in found) for axis in (0, 1))
    text = lambda row, col: found[row, col].get_text().get_text()  # noqa: E731
    return {
        (text(row, 0), " ".join(text(0, col).split())): (text(row, col), found[row, col].get_text().get_weight())
        for row in range(1, rows) for col in range(1, cols)
    }  # fmt: skip


# ---- all figures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_and_says_what_it_is(name, draw):
    canvas, picture = draw(name)
    title = plain(canvas)
    assert picture.startswith(PNG)
    assert title.startswith(("NERS Figure ", "NERS Table ", "NERS own experiment: ")) and "not run" not in title
    assert "quick: " in title and (name == "fig1" or "3 seeds, 20,000 steps" in title)


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in (*TABLES, "fig1")])
def test_axes_have_labels_and_there_is_one_legend(name, draw):
    canvas, _ = draw(name)
    axes = [ax for ax in canvas.axes if ax.axison]
    assert axes and all(ax.get_xlabel() and ax.get_title() for ax in axes)
    assert all(ax.get_ylabel() for ax in axes if ax.get_subplotspec().is_first_col())
    four = {SAMPLERS[sampler] for sampler in ALL}
    variants = {SAMPLERS[s] for s in ("ners*", "ners few", "ners no-global")}
    rates = {"learning rate 0.005", "learning rate 0.001", "learning rate 0.0003", "paper's RANDOM"}
    assert {*shown(canvas)} == {"own-td3-lr": rates, "fig4": four | variants}.get(name, four)


@pytest.mark.parametrize("name", ["fig1", "fig3", "table1"])
def test_the_same_data_draw_the_same_bytes(name, draw, results, tmp_path):
    FIGURES[name].draw(results, "quick", tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == draw(name)[1]


@pytest.mark.parametrize("name", FIGURES)
def test_without_results_there_is_no_figure(name, tmp_path):
    with pytest.raises(MissingData):
        FIGURES[name].draw(Results(tmp_path), "quick", tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


def test_a_sampler_has_one_colour_of_its_own():
    assert len({*COLOURS.values()}) == len(COLOURS) == len(SAMPLERS)


def test_labels():
    assert [label(m) for m in ("sac per", "td3 lr 0.005")] == ["SAC with PER", "TD3 with lr 0.005"]


def test_what_is_missing_is_said_and_the_rest_drawn(tmp_path, canvases):
    def keep(method, env, seed):
        return env != PENDULUM and method != "td3 per" and (method != "sac ners" or seed)

    write(tmp_path, "fig3", right("fig3"), "quick", seeds=3, keep=keep)
    FIGURES["fig3"].draw(Results(tmp_path), "quick", tmp_path / "x.png")
    [canvas] = canvases
    title = plain(canvas)
    assert "not run: SAC with RANDOM on Pendulum*, 3 of 3 seeds" in title and "and 7 more" in title
    panels = {ax.get_title(): ax for ax in canvas.axes}
    assert [t.get_text() for t in panels["Pendulum* (SAC)"].texts] == ["not run"]
    assert {line.get_label() for line in panels["LunarLander (TD3)"].lines} >= {"NERS", "RANDOM", "ERO"}
    assert "PER" not in {line.get_label() for line in panels["LunarLander (TD3)"].lines}


def test_a_missing_experiment_is_said(tmp_path, canvases):
    write(tmp_path, "table1", right("table1"), "quick", seeds=3)
    for name in ("fig5", "own-law"):
        FIGURES[name].draw(Results(tmp_path), "quick", tmp_path / "x.png")
        assert "not run: SAC with RANDOM on Pendulum*" in plain(canvases[-1])
    assert [ax.get_title() for ax in canvases[0].axes] == ["Walker2d (SAC)", "Hopper (SAC)"] * 2
    assert {ax.get_title() for ax in canvases[1].axes} == {"SAC", "TD3"}  # no row for Rainbow


# ---- curves ----------------------------------------------------------------------------------------------------------


def test_rows_are_agents_and_columns_tasks(draw):
    titles = [ax.get_title() for ax in draw("fig3")[0].axes]
    assert titles == ["Pendulum* (TD3)", "LunarLander (TD3)", "Pendulum* (SAC)", "LunarLander (SAC)"]
    canvas, _ = draw("fig-c2")
    assert [ax.get_title() for ax in canvas.axes if ax.axison][4] == "Amidar (Rainbow)" and len(canvas.axes) == 8


def test_a_curve_is_the_mean_over_seeds_and_the_band_its_deviation(draw, results):
    frame = results.at("fig3", "quick")
    rows = frame[(frame["method"] == "sac per") & (frame["env"] == LANDER) & (frame["metric"] == "return")]
    values = rows.pivot(index="step", columns="seed", values="value")
    [ax] = [ax for ax in draw("fig3")[0].axes if ax.get_title() == "LunarLander (SAC)"]
    np.testing.assert_allclose(curve(ax, "PER"), np.column_stack([values.index, values.mean(axis=1)]))
    [area] = [a for a in ax.collections if to_hex(a.get_facecolor()[0]).upper() == COLOURS["per"]]
    upper = (values.mean(axis=1) + values.std(axis=1, ddof=1)).max()
    assert area.get_paths()[0].vertices[:, 1].max() == pytest.approx(upper)


def test_neighbouring_evaluations_are_averaged():
    def frame(n):
        rows = [("fig3", "quick", m, HOPPER, s, 10 * (k + 1), "return", float(k + 100 * s), 0.1)
                for m in ("sac per", "sac ero") for s in (0, 1) for k in range(n)]  # fmt: skip
        return pd.DataFrame(rows, columns=COLUMNS)

    pd.testing.assert_frame_equal(averaged(frame(4), 4), frame(4))
    found = averaged(frame(7), 4)  # groups of two, the last of one
    rows = found[(found["method"] == "sac per") & (found["seed"] == 1)]
    assert [*rows["step"]] == [20, 40, 60, 70] and [*rows["value"]] == [100.5, 102.5, 104.5, 106.0]
    assert len(found) == 16
    assert averaged(frame(0)).empty


def test_fig4_has_the_parts_and_then_the_replay_rewards(draw):
    axes = draw("fig4")[0].axes
    titles = ["(a) BipedalWalker (SAC)", "(b) BipedalWalker (SAC)", "(c) LunarLander (SAC)"]
    assert [ax.get_title() for ax in axes] == titles
    names = [{line.get_label() for line in ax.lines if not line.get_label().startswith("_")} for ax in axes]
    assert names[0] == {SAMPLERS[s] for s in ("ners", "ners few", "ners no-global")}
    assert names[1] == names[2] == {SAMPLERS[s] for s in (*ALL, "ners*")}


def test_fig5_shows_sac_alone_and_the_papers_tasks_first(draw):
    axes = draw("fig5")[0].axes
    assert [ax.get_title().split()[0] for ax in axes[:4]] == ["Walker2d", "Pendulum*", "LunarLander", "Hopper"]
    assert [axes[0].get_ylabel(), axes[4].get_ylabel()] == ["mean Q", "mean log |TD error|"]
    np.testing.assert_allclose(curve(axes[0], "NERS")[:, 1], -104.0)
    np.testing.assert_allclose(curve(axes[4], "PER")[:, 1], 2.0)


def test_own_law_has_a_row_for_each_agent_and_a_panel_for_each_measure(draw):
    axes = np.array(draw("own-law")[0].axes).reshape(3, len(MEASURES))
    assert [row[0].get_title() for row in axes] == ["TD3", "SAC", "Rainbow"]
    by_metric = dict(zip(MEASURES, axes[1]))
    assert by_metric["tv"].get_yscale() == "log" and by_metric["ess"].get_yscale() == "linear"
    np.testing.assert_allclose(curve(by_metric["tv"], "PER")[:, 1], 0.3)
    age = curve(by_metric["age"], "ERO")
    np.testing.assert_allclose(age[[0, -1]], [[0.25, 5e4 / 5e3], [1.0, 5e4 / 2e4]])  # 50,000 made up at each row
    thin = [line for line in by_metric["tv"].lines if line.get_linewidth() < 1]
    assert len(thin) == 4 * 4  # samplers and tasks


def test_own_td3_lr_shows_the_papers_number(draw):
    [ax] = draw("own-td3-lr")[0].axes
    assert set(curve(ax, "paper's RANDOM")[:, 1]) == {2152.82}
    assert curve(ax, "learning rate 0.005")[-1, 1] < curve(ax, "learning rate 0.001")[-1, 1]


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_table1_holds_the_papers_numbers_and_ours(draw, results):
    found = cells(draw("table1")[0])
    frame = results.at("table1", "quick")
    rows = frame[(frame["method"] == "td3 ners") & (frame["env"] == HOPPER) & (frame["metric"] == "return")]
    steps = sorted(rows["step"].unique())
    score = rows[rows["step"].isin(steps[-10:])]["value"].mean()
    last = rows[rows["step"] == steps[-1]]["value"].mean()
    assert found["TD3 Hopper", "NERS paper"] == ("3,062", "bold")
    text, weight = found["TD3 Hopper", "NERS ours"]
    assert text.startswith(f"{score:,.0f}\n[") and text.endswith(f"last {last:,.0f}") and weight == "bold"
    assert found["TD3 Hopper", "ERO paper"] == ("2,610", "normal")
    assert found["SAC Walker2d", "margin paper"][0] == "+323\n(+10%)"
    baseline = TABLE1["td3", HOPPER]["random"]
    ours = found["TD3 Hopper", "margin ours"][0].splitlines()
    assert ours[0] == f"{score - 1.01 * baseline:+,.0f}"  # ERO is the best other, a hundredth above RANDOM
    assert "mean of the last 10 evaluations" in plain(draw("table1")[0])


def test_the_best_of_ours_is_bold_whoever_it_is(tmp_path, canvases):
    def numbers(method, env):
        return right("table1")(method, env) | (dict(score=1e6) if method == "sac ero" else {})

    write(tmp_path, "table1", numbers, "quick", keep=lambda m, env, s: m != "td3 per" and env == WALKER)
    FIGURES["table1"].draw(Results(tmp_path), "quick", tmp_path / "x.png")
    found = cells(canvases[0])
    row = {column: weight for (name, column), (_, weight) in found.items() if name == "SAC Walker2d"}
    assert [column for column, weight in row.items() if weight == "bold"] == ["NERS paper", "ERO ours"]
    assert found["TD3 Walker2d", "PER ours"][0] == found["TD3 Walker2d", "margin ours"][0] == "not run"
    assert found["TD3 Walker2d", "NERS ours"][1] == "normal"  # of three, nobody is the best of four
    assert found["SAC Walker2d", "margin ours"][0].startswith("-99")


def test_a_margin_over_nothing_has_no_share():
    row = {"ners": 3.0, "random": -1.0, "per": -2.0, "ero": -4.0}
    assert with_share(row) == "+4" and with_share(row | {"random": 2.0}) == "+1\n(+50%)"


def test_table3_pools_what_was_replayed(draw):
    found = cells(draw("table3")[0])
    for name, sampler in {"NERS": "ners", "PER": "per"}.items():
        for k, column in enumerate(("sd TD²", "sd Q", "mean TD²", "mean Q")):
            text = found[name, f"{column} paper"][0]
            assert float(text.replace(",", "")) == pytest.approx(TABLE3[sampler][k], rel=0.005)
    assert [row for row, column in found if column == "sd Q ours"] == ["NERS", "RANDOM", "PER", "ERO"]
    assert found["PER", "sd Q ours"][0].startswith("50\n[") and found["NERS", "mean Q ours"][0].startswith("-104\n[")
    assert "squared" in plain(draw("table3")[0])


def test_rows_of_the_table_that_were_not_run(tmp_path, canvases):
    write(tmp_path, "table3", right("table3"), "quick", keep=lambda m, env, s: m != "sac ero")
    FIGURES["table3"].draw(Results(tmp_path), "quick", tmp_path / "x.png")
    found = cells(canvases[0])
    assert found["ERO", "sd Q ours"][0] == "not run" and found["ERO", "sd Q paper"][0] == "59.2"


def test_runs_too_short_for_statistics(tmp_path, canvases):
    for experiment in ("fig3", "table3"):
        path = tmp_path / "quick" / f"{experiment}.csv"
        write(tmp_path, experiment, right(experiment), "quick", seeds=1)
        frame = pd.read_csv(path)
        frame[frame["metric"] == "return"].to_csv(path, index=False)
    FIGURES["table3"].draw(Results(tmp_path), "quick", tmp_path / "x.png")
    assert cells(canvases[0])["ERO", "sd Q ours"][0] == "-"
    FIGURES["own-law"].draw(Results(tmp_path), "quick", tmp_path / "x.png")
    assert all([text.get_text() for text in ax.texts] == ["not logged"] for ax in canvases[1].axes)


# ---- Fig. 1 ----------------------------------------------------------------------------------------------------------


def test_fig1_shows_ten_draws_of_each_rule_and_all_of_them_below(draw, results):
    canvas, _ = draw("fig1")
    above, below = canvas.axes[:3], canvas.axes[3:6]
    assert [ax.get_title() for ax in above] == ["(a) by TD error", "(b) by Q", "(c) uniformly"]
    assert all(sum(isinstance(patch, Rectangle) for patch in ax.patches) == 10 for ax in above)
    frame = results.at("fig1", "quick")
    rows = frame[(frame["seed"] == 0) & (frame["metric"] == "q_angle")].sort_values("step")
    [points] = below[1].collections
    np.testing.assert_allclose(points.get_offsets()[:, 0], np.degrees(rows["value"]))
    assert below[0].get_ylabel() == "|TD error|" and canvas.axes[6].get_ylabel() == "Q"
    assert "seed 0 of 3, after 30,000 steps" in plain(canvas)
    colours = {to_hex(patch.get_edgecolor()).upper() for patch in above[1].patches if isinstance(patch, Rectangle)}
    assert colours <= {FRAMES["upright"], RED}  # draws by Q are upright in these data


@pytest.mark.parametrize(
    ("angle", "action", "colour", "tip"),
    [
        (0.0, 0.5, FRAMES["upright"], (0, 0.9)),
        (np.pi / 2, -0.5, FRAMES["horizontal"], (-0.9, 0)),  # counter-clockwise: to the left
        (-np.pi, 0.0, FRAMES["downward"], (0, -0.9)),
        (0.1, -0.9, RED, None),
        (3.0, 0.76, RED, None),
    ],
)
def test_a_pendulum_by_hand(angle, action, colour, tip):
    _, axes = figures_draws.titled(1, 1, "x", ["y"], (4, 3))
    pendulum(axes[0, 0], 10.0, 20.0, angle, 0.0, action)
    [frame] = [patch for patch in axes[0, 0].patches if isinstance(patch, Rectangle)]
    assert to_hex(frame.get_edgecolor()).upper() == colour
    _, rod, arc, _ = axes[0, 0].lines
    if tip is not None:
        np.testing.assert_allclose(rod.get_xydata()[-1] - [10, 20], tip, atol=1e-9)
    end = arc.get_xydata()[-1] - [10, 20]
    if action:
        assert np.sign(end[1]) == np.sign(np.sin(1.5 * np.pi * action))  # counter-clockwise from the right if positive


def test_data_know_what_they_hold(results):
    data = Data(results, ["fig3", "table1"], "quick")
    assert data.agents == ["td3", "sac"] and data.envs == [PENDULUM, LANDER, WALKER, HOPPER] and not data.missing
    assert data.has("sac ners", HOPPER) and not data.has("sac ners*", HOPPER) and data.not_run() == ""
