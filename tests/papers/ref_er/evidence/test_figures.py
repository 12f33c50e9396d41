"""What this paper's figures compute before they draw. test_evidence.py redraws all of them."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas

from lab.judge.results import COLUMNS, Results
from lab.sweep.entry import Entry
from papers.ref_er.agents.tasks import TASKS, make_env
from papers.ref_er.evidence.experiments import EXPERIMENTS, entries_of
from papers.ref_er.evidence.figures import FIGURES
from papers.ref_er.evidence.figures_panels import (
    DECILES,
    best,
    cut_below,
    episode_band,
    label,
    pooled_percentiles,
    short,
    styles,
    versions,
)
from papers.ref_er.evidence.figures_sensitivity import DEFAULT, HYPERPARAMETERS, variants
from papers.ref_er.evidence.implied_kl import implied_kl
from papers.ref_er.evidence.paper_values import ACTIONS, FIG1, FIG7
from papers.ref_er.train import Config
from tests.papers.drawn import caption, curve, draw, named
from tests.papers.judged import save

CHEETAH, WALKER = "HalfCheetah-v5", "Walker2d-v5"
STEPS = [40_000, 80_000]


def made(root, experiment, keep=lambda *run: True):
    """Results at quick of the runs (method, env, seed) of an experiment that are to be kept; the first returns most."""
    order = count()
    for name in experiment.split("+"):
        runs, rows = [(e.method, e.env, e.seed) for e in EXPERIMENTS[name]("quick")], []
        for run, k in zip(filter(lambda run: keep(*run), runs), order):
            values = dict.fromkeys(DECILES, -k) | {"episodes": 10, "return": -k, "kl": 0.2, "c_max": 5.0, "std": 0.4}
            rows += [(name, "quick", *run, step, *item, 0.1) for step in STEPS for item in values.items()]
        if rows:
            save(root, rows)
    return Results(root)


# ---- percentiles of all episodes -------------------------------------------------------------------------------------

UNIFORM, NEXT = np.linspace(0, 10, 11), np.linspace(10, 20, 11)


@pytest.mark.parametrize(
    ("deciles", "episodes", "wanted", "expected"),
    [
        ([UNIFORM], [7], (20, 80), (2, 8)),
        ([UNIFORM], [7], (0, 25, 100), (0, 2.5, 10)),
        ([np.arange(11) ** 2], [3], (20, 80, 85), (4, 64, 72.5)),  # deciles, and between them a straight line
        ([UNIFORM, NEXT], [5, 5], (20, 50, 80), (4, 10, 16)),
        ([NEXT, UNIFORM], [1, 3], (20, 80), (8 / 3, 12)),  # 3/4 of the episodes below 10
        ([UNIFORM, UNIFORM], [1, 99], (20, 80), (2, 8)),
        ([UNIFORM, np.full(11, 5.0)], [1, 1], (20, 50, 80), (4, 5, 6)),  # half of all episodes returned 5
        ([np.full(11, 0.0), np.full(11, 9.0)], [1, 1], (20, 50, 80), (0, 0, 9)),  # nothing between: the lower
        ([np.full(11, 3.0)], [1], (0, 20, 80, 100), (3, 3, 3, 3)),
        ([UNIFORM, np.full(11, np.nan)], [4, 0], (20, 80), (2, 8)),  # a run without episodes
    ],
)
def test_pooled_percentiles_by_hand(deciles, episodes, wanted, expected):
    np.testing.assert_allclose(pooled_percentiles(deciles, episodes, wanted), expected, atol=1e-9)


RUN = st.lists(st.integers(-5, 5), min_size=11, max_size=11).map(sorted)


@given(st.lists(st.tuples(RUN, st.integers(1, 4)), min_size=1, max_size=4), st.integers(0, 100))
def test_that_share_of_all_episodes_lies_below(runs, percentile):
    """Against many episodes drawn evenly from each run's distribution."""
    each = [np.interp((np.arange(1000) + 0.5) / 1000, np.linspace(0, 1, 11), deciles) for deciles, _ in runs]
    episodes = np.concatenate([np.tile(values, n) for values, (_, n) in zip(each, runs)])
    [found] = pooled_percentiles([deciles for deciles, _ in runs], [n for _, n in runs], [percentile])
    assert np.mean(episodes < found - 1e-9) - 0.001 <= percentile / 100 <= np.mean(episodes <= found + 1e-9) + 0.001


def test_a_band_pools_the_runs_of_one_method_in_each_bin():
    def rows(method, seed, step, episodes, deciles):
        values = {"episodes": episodes} | ({} if deciles is None else dict(zip(DECILES, deciles)))
        return [("fig1", "quick", method, "A", seed, step, *item, 0.1) for item in values.items()]

    frame = pd.DataFrame(
        rows("m", 0, 10, 3, UNIFORM) + rows("m", 1, 10, 1, NEXT) + rows("other", 0, 10, 9, 100 * NEXT)
        + rows("m", 0, 20, 2, NEXT) + rows("m", 1, 20, 0, None) + rows("m", 0, 30, 0, None),
        columns=COLUMNS,
    )  # fmt: skip
    band = episode_band(frame, "m", "A", np.array([10, 20, 30]))
    np.testing.assert_allclose(band, [[8 / 3, 12, np.nan], [12, 18, np.nan]])


# ---- what is missing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fig2", "fig8", "own-kl", "own-segments"])
def test_one_run_alone_is_drawn_alone_and_the_caption_says_what_is_missing(name, tmp_path):
    experiment = "+".join(FIGURES[name].experiments)
    last = EXPERIMENTS[FIGURES[name].experiments[0]]("quick")[-1]
    results = made(tmp_path, experiment, keep=lambda *run: run == (last.method, last.env, last.seed))
    canvas = draw(FIGURES[name], results, "quick")
    assert caption(canvas).startswith("quick: 1 seed, 80,000 steps; ") and "not run: " in caption(canvas)
    assert {ax.get_title() for ax in canvas.axes} <= {last.env, ""}
    lines = {line.get_label() for ax in canvas.axes for line in ax.lines if line.get_linewidth() == 1.6}
    assert len(lines) == 1


def test_a_task_with_the_default_alone_has_no_column(tmp_path):
    """The default's runs are those of other figures, which may have more tasks."""
    results = made(tmp_path, FIG7, keep=lambda method, env, seed: env == "Ant-v5" or method == DEFAULT)
    assert len(results.at(FIG7, "quick")["env"].unique()) > 1
    assert {ax.get_title() for ax in draw(FIGURES["fig7"], results, "quick").axes} == {"Ant-v5", ""}


# ---- returns ---------------------------------------------------------------------------------------------------------


def test_bands_are_those_of_refer_and_of_the_best_other(tmp_path):
    results = made(tmp_path, FIG1, keep=lambda method, env, seed: env == CHEETAH)
    [ax] = draw(FIGURES["fig1"], results, "quick").axes
    others = {entry.method for entry in entries_of(FIG1, "quick")} - {"ddpg refer"}
    other = best(results.at(FIG1, "quick"), sorted(others), CHEETAH)
    found = {to_hex(area.get_facecolor()[0]).upper() for area in ax.collections if area.get_paths()}
    assert found == {styles([method])[method]["color"] for method in ("ddpg refer", other)}


def test_the_best_has_the_highest_mean_in_the_last_fifth():
    def rows(method, env, values):
        return [("fig1", "quick", method, env, 0, i, "return", value, 0.1) for i, value in enumerate(values)]

    frame = pd.DataFrame(
        rows("early", "A", [9] * 8 + [1, 1]) + rows("late", "A", [0] * 8 + [3, 2]) + rows("last", "A", [0] * 9 + [4])
        + rows("early", "B", [8]) + rows("late", "B", [7]),
        columns=COLUMNS,
    )  # fmt: skip
    methods = ["early", "late", "last", "not run"]
    assert best(frame, methods, "A") == "late" and best(frame, methods, "B") == "early"
    assert best(frame, methods, "C") is None


def ends(*curves):
    """Lower end of an axis of returns with these curves, and what is said below it."""
    ax = Canvas().subplots()
    for name, values in curves:
        ax.plot(range(len(values)), values, label=name)
    automatic = ax.get_ylim()
    cut_below(ax)
    return None if ax.get_ylim() == automatic else ax.get_ylim(), ax.get_xlabel().split("\n")[1:]


def test_an_axis_of_returns_ends_as_far_below_the_best_curve_as_its_largest_value():
    good, bad = ("good", [-100, 900, 1000]), ("bad", [0, -500, -2_500_000])
    assert ends(good, bad) == ((-1100, 1105), ["↓ bad: to −2.5M"])  # 5 % of 2100 above the highest
    assert ends(good, ("poor", [-1100, -1000, -900])) == (None, [])
    assert ends(good, ("poor", [-1101, 0, 0]), bad)[1] == ["↓ poor: to −1.1k", "↓ bad: to −2.5M"]
    assert ends(("flat", [1000, 1000]), ("poor", [10, 20])) == (None, [])  # no range of its own, yet nothing is lost
    assert ends(("reacher", [-60, -5]), ("worse", [-119, -100])) == (None, [])
    assert ends(("reacher", [-60, -5]), ("worse", [-121, -100]))[1] == ["↓ worse: to −121.0"]
    assert ends(("good", [0, 1000]), ("_child0", [0, -9000])) == ((-1000, 1100), ["↓ single runs"])
    assert ends() == (None, [])


# ---- divergences -----------------------------------------------------------------------------------------------------


def test_what_rule_2_implies_and_the_largest_divergence_of_ddpg(tmp_path):
    results = made(tmp_path, FIG1, keep=lambda method, env, seed: env == WALKER)
    [ax] = draw(FIGURES["fig2"], results, "quick").axes
    np.testing.assert_allclose(curve(ax, "implied by D = 0.1"), [(step, implied_kl(5.0)) for step in STEPS])
    np.testing.assert_allclose(curve(ax, "largest possible, 2 d / σ²")[:, 1], 300)  # the paper's, of 6 actions
    assert 2 * ACTIONS["Humanoid-v5"] / 0.2**2 == pytest.approx(850)  # as well
    without = made(tmp_path / "2", FIG1, keep=lambda method, env, seed: env == WALKER and method == "ddpg refer-1")
    assert named(draw(FIGURES["fig2"], without, "quick").axes[0]) == {"DDPG + ReF-ER-1", "largest possible, 2 d / σ²"}


# ---- hyper-parameters ------------------------------------------------------------------------------------------------


def test_a_config_that_leaves_values_open_has_the_papers():
    data = SimpleNamespace(methods=[DEFAULT], entries=[Entry(DEFAULT, CHEETAH, 0, "nowhere:main", Config())])
    assert {name: variants(data, name)[DEFAULT] for name in HYPERPARAMETERS} == {
        "C": "4", "D": "0.1", "N": "2^18", "B": "256", "F": "1", "lr": "0.0001", "A": "5e-07", "S": "128",
        "advantage": "none",
    }  # fmt: skip


def test_values_are_in_their_order():
    methods = [DEFAULT, *(f"{DEFAULT} (N 2^{n})" for n in (19, 9)), *(f"{DEFAULT} (lr {lr})" for lr in (0.0003, 3e-05))]
    data = SimpleNamespace(methods=methods, entries=[Entry(DEFAULT, CHEETAH, 0, "nowhere:main", Config())])
    assert [*variants(data, "N").values()] == ["2^9", "2^18", "2^19"]
    assert [*variants(data, "lr").values()] == ["3e-05", "0.0001", "0.0003"]


# ---- names and styles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [("0.0001", "1e-4"), ("3e-05", "3e-5"), ("0.0003", "3e-4"), ("2.5e-05", "2.5e-5"), ("5e-10", "5e-10")]
    + [(same, same) for same in ("0.001", "0.05", "4", "128", "2^15", "none", "0")],
)
def test_short_numbers(value, text):
    assert short(value) == text


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
@pytest.mark.parametrize("name", FIGURES)
def test_no_two_methods_look_the_same(name, scale):
    methods = list(dict.fromkeys(entry.method for entry in entries_of("+".join(FIGURES[name].experiments), scale)))
    assert len({label(method) for method in methods}) == len(methods)
    if name in ("fig7", "fig8"):
        assert {m.split(" (")[1].split()[0] for m in methods if m != DEFAULT} <= set(HYPERPARAMETERS)
    else:
        assert len({(style["color"], style["linestyle"]) for style in styles(methods).values()}) == len(methods)


def test_which_tasks_differ_in_more_than_the_version():
    same, more = "tasks: gymnasium's -v5, the paper's are -v2", "observations or rules differ, too, in"
    assert versions(["HalfCheetah-v5", "Swimmer-v5"]) == same
    assert versions(["Hopper-v5", "HalfCheetah-v5", "Ant-v5"]) == f"{same}; {more} Hopper, Ant"


def test_sizes_of_actions():
    assert {name: make_env(name).action_space.shape for name in TASKS} == {name: (d,) for name, d in ACTIONS.items()}
