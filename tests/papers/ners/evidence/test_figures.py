"""What is particular to this paper's figures, drawn from made-up results; tests/papers/test_evidence.py sees all."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from lab.plotting import new_figure
from lab.results import COLUMNS, MissingData, Results
from papers.ners.evidence import figures, figures_draws, figures_law, figures_tables, figures_why
from papers.ners.evidence.figures import ALL, FIGURES
from papers.ners.evidence.figures_data import averaged
from papers.ners.evidence.figures_draws import FRAMES, RED, pendulum
from papers.ners.evidence.figures_law import LOGARITHMIC, MEASURES
from papers.ners.evidence.figures_tables import with_share
from papers.ners.evidence.labels import COLOURS, READINGS, SAMPLERS
from papers.ners.evidence.paper_values import TABLE1, TABLE3
from papers.ners.evidence.plan import PLANS
from tests.papers.ners.evidence.synthetic import HOPPER, PENDULUM, right, write


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    for experiment in PLANS:
        steps = 20_000 if experiment != "fig1" else None
        write(root, experiment, right(experiment), "quick", seeds=3, first=10, steps=steps)
    write(root, "fig4", right("fig4"), seeds=2)
    return Results(root)


@pytest.fixture
def canvases(monkeypatch):
    """What a test draws, instead of files."""
    drawn = []
    for module in (figures, figures_draws, figures_law, figures_tables, figures_why):
        monkeypatch.setattr(module, "save", lambda canvas, path: drawn.append(canvas))
    return drawn


@pytest.fixture
def draw(results, canvases, tmp_path):
    """Draws a figure at a scale; its canvas."""

    def drawn(name, scale="quick"):
        FIGURES[name].draw(results, scale, tmp_path / "x.png")
        return canvases[-1]

    return drawn


def caption(canvas) -> str:
    """Title and what stands below the figure, in one line."""
    texts = [text.get_text() for part in canvas.subfigs for text in part.texts]
    return " ".join(" ".join([canvas.get_suptitle(), *texts]).split())


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


# ---- what is missing -------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said_and_the_rest_drawn(tmp_path, canvases):
    """Panels of which nothing was run are left out at quick; at full they stay."""

    def keep(method, env, seed):
        return (env, method[:3]) != (PENDULUM, "sac") and method != "td3 per" and (method != "td3 ners" or seed % 10)

    for scale, first in (("quick", 10), ("full", 0)):
        write(tmp_path, "fig3", right("fig3"), scale, seeds=3, first=first, keep=keep)
        FIGURES["fig3"].draw(Results(tmp_path), scale, tmp_path / "x.png")
    quick, full = ({ax.get_title(): ax for ax in canvas.axes} for canvas in canvases)
    assert [*quick] == ["TD3 Pendulum*"] and len(full) == 6
    assert [t.get_text() for t in full["SAC Pendulum*"].texts] == ["not run"]
    words = caption(canvases[0])
    assert "not run: SAC with RANDOM on Pendulum*" in words and "more" in words
    assert {"NERS", "RANDOM", "ERO"} == {line.get_label() for line in quick["TD3 Pendulum*"].lines} - {"PER"} - {
        name for line in quick["TD3 Pendulum*"].lines if (name := line.get_label()).startswith("_")}  # fmt: skip


def test_a_missing_experiment_and_what_was_not_logged_are_said(tmp_path, canvases):
    old = lambda m, env: {k: v for k, v in right("table1")(m, env).items() if "replayed" not in k}  # noqa: E731
    write(tmp_path, "table1", old, "quick", seeds=3, first=10)
    for name in ("fig5", "own-distance"):
        FIGURES[name].draw(Results(tmp_path), "quick", tmp_path / "x.png")
        assert "not run: Pendulum*" in caption(canvases[-1])
    assert [ax.get_title() for ax in canvases[0].axes] == ["SAC Hopper"] * 2
    assert "BipedalWalker, Ant, Walker2d are run at full only" in caption(canvases[0])
    assert {ax.get_title() for ax in canvases[1].axes} == {"SAC", "TD3"}  # no row for Rainbow
    assert len(canvases[1].axes) == 2 * (len(MEASURES) - 2)
    assert "not logged by these runs: the same among replayed transitions; sd of log score" in caption(canvases[1])
    with pytest.raises(MissingData, match="no quick runs of SAC"):
        write(tmp_path, "table1", old, "quick", seeds=3, first=10, keep=lambda m, env, seed: m.startswith("td3"))
        FIGURES["fig5"].draw(Results(tmp_path), "quick", tmp_path / "x.png")


# ---- curves ----------------------------------------------------------------------------------------------------------


def test_a_curve_is_the_mean_over_seeds_and_the_band_its_deviation(draw, results):
    frame = results.at("fig3", "quick")
    rows = frame[(frame["method"] == "sac per") & (frame["env"] == PENDULUM) & (frame["metric"] == "score")]
    values = rows.pivot(index="step", columns="seed", values="value")
    [ax] = [ax for ax in draw("fig3").axes if ax.get_title() == "SAC Pendulum*"]
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
    axes = draw("fig4", "full").axes
    assert [ax.get_title() for ax in axes] == ["(a) SAC BipedalWalker", "(b) SAC BipedalWalker", "(c) SAC LunarLander"]
    names = [{line.get_label() for line in ax.lines if not line.get_label().startswith("_")} for ax in axes]
    assert names[0] == {SAMPLERS[s] for s in ("ners", "ners few", "ners no-global")}
    independent = SAMPLERS["random-iid"]
    assert names[2] == names[1] - {independent} == {SAMPLERS[s] for s in (*ALL, "ners*")}
    assert independent in names[1]  # on one task


def test_fig5_shows_what_sac_replays(draw):
    axes = draw("fig5").axes
    assert [ax.get_title() for ax in axes[:2]] == ["SAC Pendulum*", "SAC Hopper"]
    assert [axes[0].get_ylabel(), axes[2].get_ylabel()] == ["mean Q", "mean log |TD error|"]
    np.testing.assert_allclose(curve(axes[0], "NERS")[:, 1], -104.0)
    np.testing.assert_allclose(curve(axes[2], "PER")[:, 1], 2.0)


def test_own_distance_has_a_row_for_each_agent_and_a_panel_for_each_measure(draw):
    axes = np.array(draw("own-distance").axes).reshape(3, len(MEASURES))
    assert [row[0].get_title() for row in axes] == ["TD3", "SAC", "Rainbow"]
    by_metric = dict(zip(MEASURES, axes[1]))
    assert by_metric["tv"].get_yscale() == "log" and by_metric["ess"].get_yscale() == "linear"
    np.testing.assert_allclose(curve(by_metric["tv"], "PER")[:, 1], 0.3)
    np.testing.assert_allclose(curve(by_metric["tv_replayed"], "NERS")[:, 1], 1e-4)
    age = curve(by_metric["age"], "ERO")
    np.testing.assert_allclose(age[[0, -1]], [[0.25, 5e4 / 5e3], [1.0, 5e4 / 2e4]])  # 50,000 made up at each row
    thin = [line for line in by_metric["tv"].lines if line.get_linewidth() < 1]
    assert len(thin) == 4 * 2  # samplers and tasks


def test_own_law_compares_the_readings_and_says_how_much_the_networks_have_learnt(draw):
    """And how far the bonus of new transitions alone would take the law."""
    canvas = draw("own-law")
    assert [ax.get_yscale() for ax in canvas.axes] == ["log"] * 3
    replayed = canvas.axes[list(LOGARITHMIC).index("tv_replayed")]
    for text in READINGS.values():
        np.testing.assert_allclose(curve(replayed, text)[:, 1], 1e-4)
    assert "networks have made 74.2 to 75.8 steps, in a run of the paper's length 2,475" in caption(canvas) or (
        "networks have made 74 to 76 steps, in a run of the paper's length 2,475" in caption(canvas)
    )
    dotted = [line for line in canvas.axes[0].lines if line.get_linestyle() == ":"]
    assert dotted[0].get_ydata()[0] == pytest.approx((1 - 0.5**0.5) / (128 + 0.5**0.5))


def test_own_why_shows_the_spread_layer_by_layer(draw):
    canvas = draw("own-why")
    axes = np.array(canvas.axes).reshape(2, 3)
    assert [ax.get_title() for ax in axes[0]] == [*figures_why.TIMES.values()]
    for ax in axes.flat:
        np.testing.assert_allclose(
            curve(ax, "2,500 steps of the networks")[:, 1], 10 ** (-3 * np.arange(9) / 8), rtol=1e-6
        )
        total_variation = "TV 0.3" if "environment" in ax.get_title() else "TV 0.001"
        assert ax.get_yscale() == "log" and ax.get_xlabel().endswith(total_variation)


def test_own_td3_lr_shows_the_papers_number_where_there_is_one(tmp_path, canvases):
    write(tmp_path, "own-td3-lr", right("own-td3-lr"))
    FIGURES["own-td3-lr"].draw(Results(tmp_path), "full", tmp_path / "x.png")
    pendulum, hopper = canvases[-1].axes
    assert set(curve(hopper, "paper's RANDOM")[:, 1]) == {2152.82}
    assert "paper's RANDOM" not in [line.get_label() for line in pendulum.lines]
    assert curve(hopper, "learning rate 0.005")[-1, 1] < curve(hopper, "learning rate 0.001")[-1, 1]


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_table1_holds_the_papers_numbers_and_ours(draw, results):
    found = cells(draw("table1"))
    frame = results.at("table1", "quick")
    rows = frame[(frame["method"] == "td3 ners") & (frame["env"] == HOPPER) & (frame["metric"] == "return")]
    steps = sorted(rows["step"].unique())
    score = rows[rows["step"].isin(steps[-10:])]["value"].mean()
    last = rows[rows["step"] == steps[-1]]["value"].mean()
    assert found["TD3 Hopper", "NERS paper"] == ("3,062", "bold")
    text, weight = found["TD3 Hopper", "NERS ours"]
    assert text.startswith(f"{score:,.0f}\n[") and text.endswith(f"last {last:,.0f}") and weight == "bold"
    assert found["TD3 Hopper", "ERO paper"] == ("2,610", "normal")
    assert found["TD3 Hopper", "margin paper"][0].startswith("+452")
    ours = found["TD3 Hopper", "margin ours"][0].splitlines()
    baseline = TABLE1["td3", HOPPER]["random"]
    assert ours[0] == f"{score - 1.01 * baseline:+,.0f}"  # ERO is the best other, a hundredth above RANDOM


def test_the_best_of_ours_is_bold_whoever_it_is(tmp_path, canvases):
    def numbers(method, env):
        return right("table1")(method, env) | (dict(score=1e6) if method == "sac ero" else {})

    write(tmp_path, "table1", numbers, "quick", keep=lambda m, env, s: m != "td3 per")
    FIGURES["table1"].draw(Results(tmp_path), "quick", tmp_path / "x.png")
    found = cells(canvases[0])
    row = {column: weight for (name, column), (_, weight) in found.items() if name == "SAC Hopper"}
    assert [column for column, weight in row.items() if weight == "bold"] == ["NERS paper", "ERO ours"]
    assert found["TD3 Hopper", "PER ours"][0] == found["TD3 Hopper", "margin ours"][0] == "not run"
    assert found["TD3 Hopper", "NERS ours"][1] == "normal"  # of three, nobody is the best of four


def test_a_margin_over_nothing_has_no_share():
    row = {"ners": 3.0, "random": -1.0, "per": -2.0, "ero": -4.0}
    assert with_share(row) == "+4" and with_share(row | {"random": 2.0}) == "+1\n(+50%)"


def test_table3_pools_what_was_replayed(tmp_path, canvases):
    """A sampler that was not run says so, and one whose runs were too short for statistics has none."""
    write(tmp_path, "table3", right("table3"), "quick", keep=lambda m, env, s: m != "sac ero")
    path = tmp_path / "quick" / "table3.csv"
    frame = pd.read_csv(path)
    frame[(frame["method"] != "sac random") | (frame["metric"] == "return")].to_csv(path, index=False)
    FIGURES["table3"].draw(Results(tmp_path), "quick", tmp_path / "x.png")
    found = cells(canvases[0])
    assert float(found["PER", "sd TD² paper"][0].replace(",", "")) == pytest.approx(TABLE3["per"][0], rel=0.005)
    assert found["PER", "sd Q ours"][0].startswith("50\n[") and found["NERS", "mean Q ours"][0].startswith("-104\n[")
    assert (found["ERO", "sd Q ours"][0], found["ERO", "sd Q paper"][0]) == ("not run", "59.2")
    assert found["RANDOM", "sd Q ours"][0] == "-"


# ---- Fig. 1 ----------------------------------------------------------------------------------------------------------


def test_fig1_shows_ten_draws_of_each_rule_and_all_of_them_below(draw, results):
    canvas = draw("fig1")
    above, below = canvas.axes[:4], canvas.axes[4:8]
    pictures = [*above, *canvas.axes[8:12]]  # time-outs bootstrapped, and terminal
    assert all(sum(isinstance(patch, Rectangle) for patch in ax.patches) == 10 for ax in pictures)
    frame = results.at("fig1", "quick")
    rows = frame[
        (frame["seed"] == 10) & (frame["metric"] == "q_angle") & (frame["method"] == "sac random")
    ].sort_values("step")
    [points] = below[2].collections
    np.testing.assert_allclose(points.get_offsets()[:, 0], np.degrees(rows["value"]))
    assert "seed 10, the first of 3, after 30,000 steps" in caption(canvas)
    colours = {to_hex(patch.get_edgecolor()).upper() for patch in above[2].patches if isinstance(patch, Rectangle)}
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
    _, axes = new_figure(1, 1, "x")
    pendulum(axes[0, 0], 10.0, 20.0, angle, 0.0, action)
    [frame] = [patch for patch in axes[0, 0].patches if isinstance(patch, Rectangle)]
    assert to_hex(frame.get_edgecolor()).upper() == colour
    _, rod, arc, _ = axes[0, 0].lines
    if tip is not None:
        np.testing.assert_allclose(rod.get_xydata()[-1] - [10, 20], tip, atol=1e-9)
    end = arc.get_xydata()[-1] - [10, 20]
    if action:
        assert np.sign(end[1]) == np.sign(np.sin(1.5 * np.pi * action))  # counter-clockwise from the right if positive
