"""What is particular to this paper's figures, drawn from made-up results; tests/papers/test_evidence.py sees all."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from lab.judge.plotting import new_figure
from lab.judge.results import COLUMNS, MissingData, Results
from papers.ners.evidence.figures import FIGURES
from papers.ners.evidence.figures_data import averaged
from papers.ners.evidence.figures_draws import FRAMES, RED, pendulum
from papers.ners.evidence.figures_law import MEASURES
from papers.ners.evidence.figures_tables import with_share
from papers.ners.evidence.paper_values import TABLE1, TABLE3
from tests.papers.drawn import caption, cells, curve, draw, named, words
from tests.papers.ners.evidence.synthetic import HOPPER, PENDULUM, right, write


def made(root, experiment, scale="quick", numbers=None, **settings):
    """Results of an experiment."""
    write(root, experiment, numbers or right(experiment), scale, seeds=3, first=10 * (scale == "quick"), **settings)
    return Results(root)


# ---- what is missing -------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said_and_the_rest_drawn(tmp_path):
    """Panels of which nothing was run are left out at quick; at full they stay."""

    def keep(method, env, seed):
        return (env, method[:3]) != (PENDULUM, "sac") and method != "td3 per" and (method != "td3 ners" or seed % 10)

    canvas = draw(FIGURES["fig3"], made(tmp_path, "fig3", keep=keep), "quick")
    [ax] = canvas.axes
    assert ax.get_title() == "TD3 Pendulum*" and named(ax) == {"NERS", "RANDOM", "ERO"}
    assert "not run: SAC with RANDOM on Pendulum*" in caption(canvas) and "more" in caption(canvas)
    full = {ax.get_title(): ax for ax in draw(FIGURES["fig3"], made(tmp_path, "fig3", "full", keep=keep), "full").axes}
    assert len(full) == 6 and words(full["SAC Pendulum*"]) == ["not run"]


def test_a_missing_experiment_and_what_was_not_logged_are_said(tmp_path):
    old = lambda m, env: {k: v for k, v in right("table1")(m, env).items() if "replayed" not in k}  # noqa: E731
    results = made(tmp_path, "table1", numbers=old)
    held, distance = (draw(FIGURES[name], results, "quick") for name in ("fig5", "own-distance"))
    assert "not run: Pendulum*" in caption(held) and "not run: Pendulum*" in caption(distance)
    assert [ax.get_title() for ax in held.axes] == ["SAC Hopper"] * 2
    assert "BipedalWalker, Ant, Walker2d are run at full only" in caption(held)
    assert {ax.get_title() for ax in distance.axes} == {"SAC", "TD3"}  # no row for Rainbow
    assert len(distance.axes) == 2 * (len(MEASURES) - 2)
    assert "not logged by these runs: the same among replayed transitions; sd of log score" in caption(distance)
    with pytest.raises(MissingData, match="none of the quick runs"):
        results = made(tmp_path, "table1", numbers=old, keep=lambda m, env, seed: m.startswith("td3"))
        draw(FIGURES["fig5"], results, "quick")


# ---- curves ----------------------------------------------------------------------------------------------------------


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


def test_own_distance_is_a_mean_over_tasks(tmp_path):
    for experiment in ("fig3", "table1", "table2"):
        results = made(tmp_path, experiment, steps=20_000)
    axes = np.array(draw(FIGURES["own-distance"], results, "quick").axes).reshape(3, len(MEASURES))
    by_metric = dict(zip(MEASURES, axes[1]))
    assert by_metric["tv"].get_yscale() == "log" and by_metric["ess"].get_yscale() == "linear"
    np.testing.assert_allclose(curve(by_metric["tv"], "PER")[:, 1], 0.3)
    age = curve(by_metric["age"], "ERO")
    np.testing.assert_allclose(age[[0, -1]], [[0.25, 5e4 / 5e3], [1.0, 5e4 / 2e4]])  # 50,000 made up at each row
    thin = [line for line in by_metric["tv"].lines if line.get_linewidth() < 1]
    assert len(thin) == 4 * 2  # samplers and tasks


def test_own_law_says_how_much_the_networks_have_learnt_and_where_new_transitions_alone_lead(tmp_path):
    canvas = draw(FIGURES["own-law"], made(tmp_path, "own-law", steps=20_000), "quick")
    assert "networks have made 74 to 76 steps, in a run of the paper's length 2,475" in caption(canvas)
    [dotted] = [line for line in canvas.axes[0].lines if line.get_linestyle() == ":"]
    assert dotted.get_ydata()[0] == pytest.approx((1 - 0.5**0.5) / (128 + 0.5**0.5))


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_table1_holds_the_papers_numbers_and_ours(tmp_path):
    results = made(tmp_path, "table1")
    found, frame = cells(draw(FIGURES["table1"], results, "quick")), results.at("table1", "quick")
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


def test_the_best_of_ours_is_bold_whoever_it_is(tmp_path):
    def numbers(method, env):
        return right("table1")(method, env) | (dict(score=1e6) if method == "sac ero" else {})

    results = made(tmp_path, "table1", numbers=numbers, keep=lambda m, env, s: m != "td3 per")
    found = cells(draw(FIGURES["table1"], results, "quick"))
    row = {column: weight for (name, column), (_, weight) in found.items() if name == "SAC Hopper"}
    assert [column for column, weight in row.items() if weight == "bold"] == ["NERS paper", "ERO ours"]
    assert found["TD3 Hopper", "PER ours"][0] == found["TD3 Hopper", "margin ours"][0] == "not run"
    assert found["TD3 Hopper", "NERS ours"][1] == "normal"  # of three, nobody is the best of four


def test_a_margin_over_nothing_has_no_share():
    row = {"ners": 3.0, "random": -1.0, "per": -2.0, "ero": -4.0}
    assert with_share(row) == "+4" and with_share(row | {"random": 2.0}) == "+1\n(+50%)"


def test_table3_pools_what_was_replayed(tmp_path):
    """A sampler that was not run says so, and one whose runs were too short for statistics has none."""
    made(tmp_path, "table3", keep=lambda m, env, s: m != "sac ero")
    path = tmp_path / "quick" / "table3.csv"
    frame = pd.read_csv(path)
    frame[(frame["method"] != "sac random") | (frame["metric"] == "return")].to_csv(path, index=False)
    found = cells(draw(FIGURES["table3"], Results(tmp_path), "quick"))
    assert float(found["PER", "sd TD² paper"][0].replace(",", "")) == pytest.approx(TABLE3["per"][0], rel=0.005)
    assert found["PER", "sd Q ours"][0].startswith("50\n[") and found["NERS", "mean Q ours"][0].startswith("-104\n[")
    assert (found["ERO", "sd Q ours"][0], found["ERO", "sd Q paper"][0]) == ("not run", "59.2")
    assert found["RANDOM", "sd Q ours"][0] == "-"


# ---- Fig. 1 ----------------------------------------------------------------------------------------------------------


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
