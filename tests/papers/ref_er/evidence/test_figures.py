"""All figures, drawn from made-up results."""

from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas

from lab.entry import Entry
from lab.results import COLUMNS, Results, matrix
from papers.ref_er.evidence import figures, figures_flow, figures_own, figures_sensitivity
from papers.ref_er.evidence.experiments import EXPERIMENTS
from papers.ref_er.evidence.figures import FIGURES
from papers.ref_er.evidence.figures_panels import (
    DECILES,
    Data,
    best,
    cut_below,
    episode_band,
    label,
    pooled_percentiles,
    short,
    styles,
    versions,
)  # fmt: skip
from papers.ref_er.evidence.figures_sensitivity import DEFAULT, HYPERPARAMETERS, variants
from papers.ref_er.evidence.implied_kl import implied_kl
from papers.ref_er.evidence.paper_values import ACTIONS, FIG1, FIG4, FIG7, FIG8
from papers.ref_er.tasks import TASKS, make_env
from papers.ref_er.train import Config

PNG = b"\x89PNG\r\n\x1a\n"
NEEDS = {name: figure.experiments[0] for name, figure in FIGURES.items()}
BINS, STEPS = 5, 200_000
REAL = dict(EXPERIMENTS)
REPLAYS = ("er", "per", "refer", "refer-1", "refer-2")
SETTINGS = {
    "fig7": ("C 2", "C 8", "D 0.05", "N 2^15", "N 2^16", "B 64", "B 512", "F 0.5", "F 2", "lr 0.0003", "lr 3e-05"),
    "fig8": ("A 0", "S 92", "S 180", "advantage gaussian", "advantage quadratic"),
}
METHODS = {
    "fig1": [f"ddpg {replay}" for replay in REPLAYS],
    "fig3": [f"naf {replay}" for replay in REPLAYS],
    "fig4": [*(f"vracer {r}" for r in REPLAYS if r != "per"), "ppo", "acer (lr 1e-05)", "acer (lr 0.0001)"],
    "fig6": [DEFAULT, "ddpg er", "ddpg refer", "acer (lr 1e-05)"],
    **{name: [DEFAULT, *(f"{DEFAULT} ({setting})" for setting in settings)] for name, settings in SETTINGS.items()},
    "own-kl": [DEFAULT, f"{DEFAULT} (reverse KL)"],
    "own-memory": ["ddpg er", "ddpg er (N 2^18)"],
    "own-annealing": [
        *("ddpg er", "ddpg er (white noise)", "ddpg refer", "ddpg refer (A 0)"),
        *(DEFAULT, "ppo", "ppo (A 0)"),
    ],
    "own-million": [DEFAULT, "vracer er"],
}
ENVS = {name: ("HalfCheetah-v5", "Walker2d-v5") for name in METHODS} | {
    **dict.fromkeys(("own-kl", "own-annealing", "own-million"), ("HalfCheetah-v5",)),
    "fig6": ("WakeFlow-v0",),
    "fig7": ("Walker2d-v5",),
}


def grid(experiment, envs, seeds):
    config = Config(capacity=2**14, annealing=2.5e-5)
    return [
        Entry(method, env, seed, "nowhere:main", config)
        for env in envs for method in METHODS[experiment] for seed in range(seeds)
    ]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def experiments():
    """Grids of these tests' own: all methods, quick with one or two tasks, full with all ten."""
    with pytest.MonkeyPatch.context() as patch:
        for name in METHODS:
            grids = {"quick": (ENVS[name], 2), "full": (("WakeFlow32-v0",) if name == "fig6" else tuple(TASKS), 3)}
            patch.setitem(EXPERIMENTS, name, lambda scale, name=name, grids=grids: grid(name, *grids[scale]))
        for name in [part for figure in (FIG1, FIG4, FIG7, FIG8) for part in figure.split("+")[1:]]:  # all in the first
            patch.setitem(EXPERIMENTS, name, lambda scale: [])
        yield


def run_rows(method, env, seed):
    """Metrics of a run, as a Trainer logs them: (step, metric, value). Methods, tasks and seeds are told apart."""
    rows, level = [], 100 + sum(map(ord, method + env)) % 89
    for i in range(BINS):
        share = (i + 1) / BINS
        mean = 10 * level * (1 - np.exp(-4 * share)) + 30 * np.sin(5 * i + 3 * seed)
        kl = 100 * share if method == "ddpg er" else (0.4 / (1 + 5 * share)) * level / 140
        values = {f"return p{p}": mean + 4 * (p - 50) for p in range(0, 101, 10)}
        values |= {"episodes": 10.0 + seed, "return": mean, "kl": kl * (1 + 0.1 * seed), "far": 0.1, "beta": 0.5}
        values |= {"exits": 0.5 / (1 + share * level), "effort": level / 200}
        values |= {"c_max": 1 + 4 / (1 + 5 * share), "std": 0.45 - 0.002 * level * share}
        rows += [((i + 1) * STEPS // BINS, *item) for item in values.items()]
    return rows


def write(root, experiment, scale="quick", keep=lambda *run: True, keep_row=lambda *row: True):
    """<root>/<scale>/<experiment>.csv of the runs (method, env, seed) and rows (step, metric, value) to be kept."""
    rows = [
        (experiment, scale, e.method, e.env, e.seed, *row, 0.1)
        for e in EXPERIMENTS[experiment](scale) if keep(e.method, e.env, e.seed)
        for row in run_rows(e.method, e.env, e.seed) if keep_row(*row)
    ]  # fmt: skip
    (root / scale).mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows, columns=COLUMNS).to_csv(root / scale / f"{experiment}.csv", index=False)
    return Results(root)


@pytest.fixture(scope="module")
def results(tmp_path_factory, experiments):
    root = tmp_path_factory.mktemp("results")
    for experiment in METHODS:
        write(root, experiment)
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
            for module in (figures, figures_flow, figures_own, figures_sensitivity):
                patch.setattr(module, "save", lambda canvas, path: (canvases.append(canvas), save(canvas, path)))
            FIGURES[name].draw(results, "quick", folder / f"{name}.png")
        return canvases[0], (folder / f"{name}.png").read_bytes()

    return drawn


@pytest.fixture
def canvases(monkeypatch):
    """What a test draws, instead of files."""
    drawn = []
    for module in (figures, figures_flow, figures_own, figures_sensitivity):
        monkeypatch.setattr(module, "save", lambda canvas, path: drawn.append(canvas))
    return drawn


def caption(canvas) -> str:
    [text] = canvas.subfigs[1].texts
    return " ".join(text.get_text().split())


def words(legend) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def curve(ax, name) -> np.ndarray:
    [line] = [line for line in ax.lines if line.get_label() == name]
    return line.get_xydata()


def banded(ax) -> dict:
    """Colour of each band -> its lower and upper values at the steps."""
    found = {}
    for area in ax.collections:
        [path] = area.get_paths()
        points = path.vertices[1 : 2 * BINS + 2]  # along the lower edge, and back along the upper one
        lower, upper = points[:BINS, 1], points[BINS + 1 :, 1][::-1]
        found[to_hex(area.get_facecolor()[0]).upper()] = lower, upper
    return found


def assert_curves(ax, frame, metric, methods, names=label) -> None:
    """The panel holds the means over the runs of these methods on its task and, thin, the runs."""
    thin = [line.get_ydata() for line in ax.lines if line.get_linewidth() < 1]
    for method in methods:
        steps, values = matrix(frame, metric, method, ax.get_title())
        np.testing.assert_allclose(curve(ax, names(method)), np.column_stack([steps, values.mean(axis=0)]))
        assert all(any(np.array_equal(run, line) for line in thin) for run in values)
    assert len(thin) == 2 * len(methods)


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


# ---- all figures -----------------------------------------------------------------------------------------------------

BY_EPISODE = ("fig1", "fig3", "fig4")
BANDED = ("fig6", "own-kl", "own-memory", "own-million")


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_and_says_what_and_how(name, draw):
    canvas, picture = draw(name)
    assert picture.startswith(PNG)
    title, below = canvas.get_suptitle(), caption(canvas)
    assert title.startswith(f"ReF-ER Figure {name[3:]}: " if name.startswith("fig") else "ReF-ER own experiment: ")
    assert below.startswith("quick: 2 seeds, 200,000 steps; ") and "not run" not in below
    tasks = "task: our own solver" if name == "fig6" else "tasks: gymnasium's -v5, the paper's are -v2"
    assert "mean over runs" in below and tasks in below
    assert ("rules differ, too, in Walker2d" in below) == ("Walker2d-v5" in ENVS[NEEDS[name]])
    left_out = ", ".join(task.removesuffix("-v5") for task in TASKS if task not in ENVS[NEEDS[name]])
    assert "not part of" not in below if name == "fig6" else below.endswith(f"not part of quick: {left_out}")
    assert ("20th to 80th percentile of all episodes of all runs" in below) == (name in (*BY_EPISODE, *BANDED))
    assert ("20th-80th percentile of the runs' means" in below) == (name in SETTINGS)
    canvas.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in canvas.axes]
    boxes += [part.get_window_extent() for part in (canvas._suptitle, *canvas.subfigs[0].legends)]
    for a, b in combinations(boxes, 2):
        assert max(a.x0 - b.x1, b.x0 - a.x1, a.y0 - b.y1, b.y0 - a.y1) > -2, "pixels by which they overlap"


@pytest.mark.parametrize("name", [*BY_EPISODE, "fig2", "fig5"])
def test_one_legend_names_all_methods(name, draw):
    [legend] = draw(name)[0].subfigs[0].legends
    extra = {"fig2": {"implied by D = 0.1", "largest possible, 2 d / σ²"}, "fig5": {"implied by D = 0.1"}}
    assert set(words(legend)) == {label(method) for method in METHODS[NEEDS[name]]} | extra.get(name, set())


@pytest.mark.parametrize("name", FIGURES)
def test_one_run_alone_is_drawn_alone_and_the_caption_says_what_is_missing(name, tmp_path, canvases):
    last = EXPERIMENTS[NEEDS[name]]("quick")[-1]
    results = write(tmp_path, NEEDS[name], keep=lambda *run: run == (last.method, last.env, 1))
    FIGURES[name].draw(results, "quick", None)
    below = caption(canvases[0])
    assert below.startswith("quick: 1 seed, 200,000 steps; ")
    others = [env for env in ENVS[NEEDS[name]] if env != last.env]
    assert f"not run: {', '.join([*others, label(METHODS[NEEDS[name]][0])])} on {last.env}" in below
    assert {ax.get_title() for ax in canvases[0].axes} <= {last.env, ""}
    drawn = {line.get_label() for ax in canvases[0].axes for line in ax.lines if line.get_linewidth() == 1.6}
    assert len(drawn) == 1


# ---- returns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_EPISODE)
def test_returns_are_means_over_runs(name, draw, results):
    for ax in draw(name)[0].axes:
        assert_curves(ax, results.at(name, "quick"), "return", METHODS[name])
        assert ax.get_yscale() == "linear"


def test_bands_are_those_of_refer_and_of_the_best_other(tmp_path, canvases):
    results = write(tmp_path, "fig1")
    frame, proposed = results.at("fig1", "quick"), "ddpg refer"
    FIGURES["fig1"].draw(results, "quick", None)
    chosen = set()
    for ax in canvases[0].axes:
        env = ax.get_title()
        scores = {m: matrix(frame, "return", m, env)[1][:, -1].mean() for m in METHODS["fig1"] if m != proposed}
        other = max(scores, key=scores.get)
        bands = banded(ax)
        assert set(bands) == {styles([m])[m]["color"] for m in (proposed, other)}
        for method in (proposed, other):
            _, values = matrix(frame, "return", method, env)
            # runs of 10 and 11 episodes, each evenly spread from 200 below its mean to 200 above it
            x = np.linspace(values.min(axis=0) - 200, values.max(axis=0) + 200, 100_001)
            shares = (np.clip((x[:, None] - values + 200) / 400, 0, 1) * [[[10], [11]]]).sum(axis=1) / 21
            low, high = (
                [np.interp(q, shares[:, i], x[:, i]) for i in range(BINS)] for q in (0.2, 0.8)
            )  # fmt: skip
            np.testing.assert_allclose(bands[styles([method])[method]["color"]], [low, high], atol=0.05)
        chosen.add(other)
    assert len(chosen) == 2  # the tasks differ in it


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


@pytest.mark.parametrize(("name", "method"), [("fig4", "vracer er"), ("fig8", f"{DEFAULT} (A 0)")])
def test_a_method_that_falls_apart_leaves_the_others_readable(name, method, tmp_path, canvases):
    path = tmp_path / "quick" / f"{name}.csv"
    write(tmp_path, name)
    frame = pd.read_csv(path)
    frame.loc[(frame["method"] == method) & frame["metric"].str.startswith("return"), "value"] -= 3e6
    frame.to_csv(path, index=False)
    FIGURES[name].draw(Results(tmp_path), "quick", None)
    for ax in canvases[0].axes[:2]:
        assert f"↓ {label(method) if name == 'fig4' else 0}: to −3.0M" in ax.get_xlabel()
        assert -3000 < ax.get_ylim()[0] < 0 and 1000 < ax.get_ylim()[1] < 2500


# ---- divergences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fig2", "fig5"])
def test_divergences_are_means_over_runs_beside_what_the_tolerance_implies(name, draw, results):
    for ax in draw(name)[0].axes:
        assert_curves(ax, results.at(NEEDS[name], "quick"), "kl", METHODS[NEEDS[name]])
        assert ax.get_yscale() == "log" and not ax.collections
        steps, values = curve(ax, "implied by D = 0.1").T
        assert steps.tolist() == [40_000, 80_000, 120_000, 160_000, 200_000]
        np.testing.assert_allclose(values, [implied_kl(1 + 4 / (1 + 5 * step / STEPS)) for step in steps])
        assert values[-1] == pytest.approx(0.047, abs=5e-4)


def test_the_largest_divergence_of_ddpg(draw, results):
    for ax in draw("fig2")[0].axes:
        np.testing.assert_allclose(curve(ax, "largest possible, 2 d / σ²")[:, 1], 300)  # the paper's, of 6 actions
    assert 2 * ACTIONS["Humanoid-v5"] / 0.2**2 == pytest.approx(850)  # as well
    assert all("largest" not in line.get_label() for ax in draw("fig5")[0].axes for line in ax.lines)


def test_without_rule_2_nothing_is_implied(tmp_path, canvases):
    without = write(tmp_path, "fig1", keep=lambda method, env, seed: method not in ("ddpg refer", "ddpg refer-2"))
    FIGURES["fig2"].draw(without, "quick", None)
    assert not any("implied" in line.get_label() for ax in canvases[0].axes for line in ax.lines)
    rule_2 = write(tmp_path / "2", "fig1", keep=lambda method, env, seed: method in ("ddpg er", "ddpg refer-2"))
    FIGURES["fig2"].draw(rule_2, "quick", None)
    assert all(len(curve(ax, "implied by D = 0.1")) == BINS for ax in canvases[1].axes)


# ---- hyper-parameters ------------------------------------------------------------------------------------------------

VALUES = {
    "C": ["2", "4", "8"],
    "D": ["0.05", "0.1"],
    "N": ["2^14", "2^15", "2^16"],
    "B": ["64", "256", "512"],
    "F": ["0.5", "1", "2"],
    "lr": ["3e-5", "1e-4", "3e-4"],
    "A": ["0", "2.5e-5"],
    "S": ["92", "128", "180"],
    "advantage": ["none", "gaussian", "quadratic"],
}
"""In the order of the legend, with that of the config that all rows share."""


ROWS = {"fig7": ("C", "D", "N", "B", "F", "lr"), "fig8": ("A", "S", "advantage")}
USUAL = {"C": "4", "D": "0.1", "N": "2^14", "B": "256", "F": "1", "lr": "1e-4", "A": "2.5e-5", "S": "128"}


@pytest.mark.parametrize(("name", "rows"), ROWS.items())
def test_a_row_for_each_hyperparameter_and_a_column_for_each_task(name, rows, draw, results):
    canvas, _ = draw(name)
    axes, frame = np.array(canvas.axes).reshape(len(rows), -1), results.at(name, "quick")
    for row, symbol in zip(axes, rows):
        assert row[0].get_ylabel() == f"return, by {'η' if symbol == 'lr' else symbol}"
        assert [ax.get_legend() for ax in row[:-1]] == [None] * (len(row) - 1)
        assert words(row[-1].get_legend()) == VALUES[symbol]
        assert row[-1].get_legend().get_title().get_text().split(",")[0] == ("η" if symbol == "lr" else symbol)
        usual = USUAL.get(symbol, "none")
        for ax, env in zip(row, ENVS[name]):
            assert {line.get_label() for line in ax.lines if line.get_linewidth() > 1} == set(VALUES[symbol])
            _, values = matrix(frame, "return", DEFAULT, env)
            np.testing.assert_allclose(curve(ax, usual)[:, 1], values.mean(axis=0))
            dashed = [line for line in ax.lines if line.get_linestyle() == "--" and line.get_linewidth() > 1]
            assert [(line.get_color(), line.get_label()) for line in dashed] == [("black", usual)]


def test_bands_are_percentiles_of_the_runs_means(draw, results):
    ax, frame = draw("fig7")[0].axes[0], results.at("fig7", "quick")
    bands = banded(ax)
    for value, method in (("2", f"{DEFAULT} (C 2)"), ("4", DEFAULT)):
        _, values = matrix(frame, "return", method, "Walker2d-v5")
        [line] = [line for line in ax.lines if line.get_label() == value]
        low, high = values.min(axis=0), values.max(axis=0)  # of two runs
        expected = [low + 0.2 * (high - low), low + 0.8 * (high - low)]
        np.testing.assert_allclose(bands[to_hex(line.get_color()).upper()], expected)


def test_a_task_with_the_default_alone_has_no_column(tmp_path, canvases):
    """The default's runs are those of other figures, which may have more tasks."""
    without = write(tmp_path, "fig8", keep=lambda method, env, seed: env == "HalfCheetah-v5" or method == DEFAULT)
    FIGURES["fig8"].draw(without, "quick", None)
    assert [ax.get_title() for ax in canvases[0].axes[:1]] == ["HalfCheetah-v5"] and len(canvases[0].axes) == 3
    assert "not run: Walker2d-v5" in caption(canvases[0])


def test_a_config_that_leaves_values_open_has_the_papers(tmp_path, monkeypatch):
    entries = [Entry(DEFAULT, "HalfCheetah-v5", 0, "nowhere:main", Config())]
    monkeypatch.setitem(EXPERIMENTS, "fig8", lambda scale: entries)
    data = Data(write(tmp_path, "fig8"), "fig8", "quick")
    found = {name: variants(data, name)[DEFAULT] for name in VALUES}
    assert found == {
        "C": "4", "D": "0.1", "N": "2^18", "B": "256", "F": "1", "lr": "0.0001", "A": "5e-07", "S": "128",
        "advantage": "none",
    }  # fmt: skip


# ---- the own experiment ----------------------------------------------------------------------------------------------


def test_both_directions_of_the_divergence(draw, results):
    frame, axes = results.at("own-kl", "quick"), draw("own-kl")[0].axes
    names = {
        DEFAULT: "penalty KL(μ‖π), the paper's",
        f"{DEFAULT} (reverse KL)": "penalty KL(π‖μ), the authors' program's",
    }
    for ax, metric, scale in zip(axes, ("return", "kl", "std"), ("linear", "log", "linear")):
        assert_curves(ax, frame, metric, METHODS["own-kl"], names.get)
        assert ax.get_yscale() == scale
        assert any("implied" in line.get_label() for line in ax.lines) == (metric == "kl")
    assert len(banded(axes[0])) == 2 and not axes[1].collections and not axes[2].collections
    assert axes[2].get_ylim()[0] == 0
    [legend] = draw("own-kl")[0].subfigs[0].legends
    assert set(words(legend)) == {*names.values(), "implied by D = 0.1"}


@pytest.mark.parametrize(
    ("name", "panels"),
    [
        ("own-memory", [("kl", METHODS["own-memory"]), ("return", METHODS["own-memory"])] * 2),
        ("own-annealing", [("return", METHODS["own-annealing"][:4]), ("kl", METHODS["own-annealing"][4:])]),
        ("own-million", [("return", METHODS["own-million"]), ("kl", METHODS["own-million"])]),
    ],
)
def test_panels_of_the_own_experiments(name, panels, draw, results):
    canvas, frame = draw(name)[0], results.at(name, "quick")
    for ax, (metric, methods) in zip(canvas.axes, panels, strict=True):
        assert_curves(ax, frame, metric, methods)
        assert ax.get_yscale() == ("log" if metric == "kl" else "linear")
        assert any("largest" in line.get_label() for line in ax.lines) == ((name, metric) == ("own-memory", "kl"))
    assert ("picture only" in caption(canvas)) == (name == "own-million")


# ---- names and styles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("ddpg per", "DDPG + PER"),
        ("vracer refer-1", "V-RACER + ReF-ER-1"),
        ("ppo", "PPO"),
        ("acer (lr 1e-05)", "ACER (η = 1e-5)"),
        ("acer (lr 0.0001)", "ACER (η = 1e-4)"),
        ("vracer refer (N 2^15)", "V-RACER + ReF-ER (N = 2^15)"),
        ("vracer refer (F 0.5)", "V-RACER + ReF-ER (F = 0.5)"),
        ("vracer refer (advantage quadratic)", "V-RACER + ReF-ER (advantage quadratic)"),
        ("vracer refer (reverse KL)", "V-RACER + ReF-ER (reverse KL)"),
    ],
)
def test_labels(method, text):
    assert label(method) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("0.0001", "1e-4"), ("3e-05", "3e-5"), ("0.0003", "3e-4"), ("2.5e-05", "2.5e-5"), ("5e-10", "5e-10")]
    + [(same, same) for same in ("0.001", "0.05", "4", "128", "2^15", "none", "0")],
)
def test_short_numbers(value, text):
    assert short(value) == text


@pytest.mark.parametrize("scale", ["smoke", "quick", "full"])
@pytest.mark.parametrize("experiment", METHODS)
def test_methods_of_the_real_grids_have_looks_of_their_own(experiment, scale):
    methods = list(dict.fromkeys(entry.method for entry in REAL[experiment](scale)))
    assert len({label(method) for method in methods}) == len(methods)
    if experiment in SETTINGS:
        assert DEFAULT in methods
        assert {m.split(" (")[1].split()[0] for m in methods if m != DEFAULT} <= set(HYPERPARAMETERS)
    else:
        found = styles(methods)
        assert len({(style["color"], style["linestyle"]) for style in found.values()}) == len(methods)


def test_which_tasks_differ_in_more_than_the_version():
    same, more = "tasks: gymnasium's -v5, the paper's are -v2", "observations or rules differ, too, in"
    assert versions(["HalfCheetah-v5", "Swimmer-v5"]) == same
    assert versions(["Hopper-v5", "HalfCheetah-v5", "Ant-v5"]) == f"{same}; {more} Hopper, Ant"


def test_sizes_of_actions():
    assert {name: make_env(name).action_space.shape for name in TASKS} == {name: (d,) for name, d in ACTIONS.items()}


def test_all_ten_tasks(tmp_path, canvases):
    FIGURES["fig4"].draw(write(tmp_path, "fig4", "full", keep=lambda method, env, seed: seed == 0), "full", None)
    axes = canvases[0].axes
    assert [ax.get_title() for ax in axes] == list(TASKS) and axes[0].get_gridspec().ncols == 5
    assert [bool(ax.get_ylabel()) for ax in axes] == [i % 5 == 0 for i in range(10)]
    assert "not part of" not in caption(canvases[0])
