import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import FillBetweenPolyCollection

from lab.judge import plotting
from lab.judge.results import COLUMNS, Grid, Results

PNG = b"\x89PNG\r\n\x1a\n"


def frame(methods=("uer", "ter"), env="Chain", seeds=3, steps=(0, 50_000, 100_000)) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        ("fig2", "quick", method, env, seed, step, "return", rng.normal() + i, 0.1)
        for i, method in enumerate(methods)
        for seed in range(seeds)
        for step in steps
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def draw(path: Path) -> None:
    data = frame()
    canvas, axes = plotting.new_figure(1, 2, "Fig. 2", caption=plotting.budget(data, "quick"))
    for ax in axes.flat:
        plotting.curves(ax, data, "return", kind="mean-ci95", order=["uer", "ter"])
    plotting.legend(canvas)
    plotting.save(canvas, path)


def test_the_same_bytes_twice_with_nothing_of_the_time_or_the_version(tmp_path):
    draw(tmp_path / "a.png")
    draw(tmp_path / "b.png")
    data = (tmp_path / "a.png").read_bytes()
    assert data.startswith(PNG) and data == (tmp_path / "b.png").read_bytes()
    assert b"Software" not in data and b"tEXt" not in data and b"tIME" not in data


def test_single_runs_lie_behind_the_band():
    data = frame(seeds=3)
    _, axes = plotting.new_figure(1, 1, "t", caption="b")
    ax = axes[0, 0]
    plotting.curves(ax, data, "return", kind="mean-sd", order=["uer", "ter"])
    [thin, thick] = [[line for line in ax.lines if (line.get_linewidth() < 1) == is_thin] for is_thin in (True, False)]
    bands = [c for c in ax.collections if isinstance(c, FillBetweenPolyCollection)]
    assert (len(thin), len(bands), len(thick)) == (6, 2, 2)
    assert max(line.get_zorder() for line in thin) < min(b.get_zorder() for b in bands)
    assert max(b.get_zorder() for b in bands) < min(line.get_zorder() for line in thick)
    rows = data[(data["method"] == "uer") & (data["seed"] == 1)]
    assert any(np.array_equal(line.get_ydata(), rows["value"]) for line in thin)
    means = data[data["method"] == "ter"].groupby("step")["value"].mean()
    np.testing.assert_allclose(thick[1].get_ydata(), means)


def foot(canvas) -> str:
    return canvas.subfigs[1].texts[0].get_text()


def test_the_title_is_one_line_and_the_caption_lies_below_everything():
    words = "quick: 3 seeds, 100,000 steps; " + "mean and 95 % interval; " * 6
    canvas, axes = plotting.new_figure(1, 2, "Fig. 2: NChain", caption=words)
    plotting.curves(axes[0, 0], frame(), "return", kind="mean-ci95", order=["uer", "ter"])
    plotting.legend(canvas)
    assert canvas.get_suptitle() == "Fig. 2: NChain"
    assert foot(canvas).split() == words.split() and "\n" in foot(canvas), "wrapped, nothing lost"
    renderer = FigureCanvasAgg(canvas).get_renderer()
    canvas.draw(renderer)
    text = canvas.subfigs[1].texts[0].get_window_extent(renderer)
    [legend] = canvas.subfigs[0].legends
    assert 0 <= text.x0 and text.x1 <= canvas.bbox.width and text.y0 >= -1
    assert text.y1 <= legend.get_window_extent(renderer).y0 + 1
    assert legend.get_window_extent(renderer).y1 <= axes[0, 0].get_tightbbox(renderer).y0 + 1


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_panel_titles_stay_inside_and_apart(tmp_path, columns):
    long, short = "SimpleCrossing-Easy (10 % random actions, bend 1)", "Chain"
    canvas, axes = plotting.new_figure(1, columns, "Fig. 2")
    for ax in axes.flat:
        ax.set_title(long)
    axes[0, 0].set_title(short if columns == 3 else long)
    plotting.save(canvas, tmp_path / "a.png")
    canvas.draw_without_rendering()  # measures in the canvas's own resolution
    boxes = [ax.title.get_window_extent() for ax in axes.flat]
    assert all(0 <= box.x0 and box.x1 <= canvas.bbox.width for box in boxes)
    assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))
    assert {ax.get_title().replace("\n", " ") for ax in axes.flat} <= {long, short}


def entries(methods, envs, seeds):
    return [SimpleNamespace(method=m, env=e, seed=s) for m in methods for e in envs for s in range(seeds)]


@pytest.mark.parametrize("scale", ["quick", "long"])
def test_a_caption_names_what_is_missing(tmp_path, scale):
    path = tmp_path / scale / "fig2.csv"
    path.parent.mkdir()
    there = pd.concat([frame(seeds=3), frame(["uer"], env="Maze", seeds=1)])
    there.assign(scale=scale).to_csv(path, index=False)
    grid = Grid(Results(tmp_path), "fig2", scale, entries(["uer", "ter"], ["Chain", "Maze", "Lake"], 3))
    assert plotting.caption(grid, "mean", label=str.upper, unit="episode") == (
        f"{scale}: 1 to 3 seeds, 100,000 episodes; mean; not run: Lake, UER on Maze (2 of 3 seeds), TER on Maze"
    )
    assert plotting.shown(grid) == ["Chain", "Maze"]
    whole = Grid(Results(tmp_path), "fig2", scale, entries(["uer", "ter"], ["Chain"], 3))
    assert plotting.caption(whole) == f"{scale}: 3 seeds, 100,000 steps"


def test_budget_names_ranges():
    mixed = pd.concat([frame(["a"], seeds=1, steps=(1,)), frame(["b"], seeds=5, steps=(1, 2000))])
    assert plotting.budget(mixed, "full") == "full: 1 to 5 seeds, 1 to 2,000 steps"
    assert plotting.budget(frame(seeds=1, steps=(1,)), "smoke") == "smoke: 1 seed, 1 step"


def colours(ax) -> dict[str, str]:
    return {line.get_label(): line.get_color() for line in ax.lines if not line.get_label().startswith("_")}


def test_a_method_keeps_its_colour():
    order = ["uer", "per", "ter"]
    _, axes = plotting.new_figure(1, 3, "t", caption="b")
    plotting.curves(axes[0, 0], frame(order), "return", kind="mean-sd", order=order)
    plotting.curves(axes[0, 1], frame(["ter"]), "return", kind="mean-sd", order=order)
    everything = plotting.method_styles(["ebu", *order, *map(str, range(10))])
    plotting.curves(axes[0, 2], frame(["ter"]), "return", kind="mean-sd", order=["ter"], styles=everything)
    assert colours(axes[0, 0])["ter"] == colours(axes[0, 1])["ter"] == plotting.PALETTE[2]
    assert colours(axes[0, 2])["ter"] == plotting.PALETTE[3]
    assert list(colours(axes[0, 0])) == order
    assert len({tuple(style.values()) for style in everything.values()}) == 14, "a second round is dashed"


def test_one_legend_for_all_panels():
    canvas, axes = plotting.new_figure(1, 2, "t", caption="b")
    labels = {"uer": "uniform", "ter": "TER"}
    plotting.curves(axes[0, 0], frame(["uer"]), "return", kind="mean-sd", order=["uer", "ter"], labels=labels)
    plotting.curves(axes[0, 1], frame(), "return", kind="mean-sd", order=["uer", "ter"], labels=labels)
    plotting.legend(canvas)
    [legend] = canvas.subfigs[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["uniform", "TER"]
    empty, _ = plotting.new_figure(1, 1, "t", caption="b")
    plotting.legend(empty)
    assert empty.subfigs[0].legends == []


def test_panels_with_legends_of_their_own_have_no_other():
    canvas, axes = plotting.new_figure(1, 1, "t", caption="b")
    plotting.curves(axes[0, 0], frame(), "return", kind="mean-sd", order=["uer", "ter"])
    axes[0, 0].legend()
    plotting.legend(canvas)
    assert canvas.subfigs[0].legends == []


PLAN = "tests.lab.made_up_plan"


class Data(plotting.Data):
    """A paper's way to draw."""

    paper, plan, kind, unit, size = "TER", PLAN, "mean-ci95", "episode", (1.0, 2.0)
    label = staticmethod(str.upper)


def test_a_figure_has_the_papers_name_and_says_what_is_missing_of_all_its_experiments(tmp_path, monkeypatch):
    """The plan is not loaded before something is drawn."""

    def draw(data: Data):
        canvas, axes = data.canvas(1, 2, "Figure 2", "mean", unit="step")
        for ax, env in plotting.places(axes, data.shown):
            data.panel(ax, env, "return", "score", title=env)
        plotting.share_y(axes.flat)
        plotting.left_labels(axes)
        drawn.append((canvas, axes[0]))
        return canvas

    drawn: list = []
    figure = Data.figure("fig2+fig3", "the chain", draw)
    assert figure.experiments == ("fig2", "fig3") and PLAN not in sys.modules
    plan = {"fig2": entries(["uer", "ter"], ["Chain"], 3), "fig3": entries(["uer"], ["Maze"], 3)}
    monkeypatch.setitem(
        sys.modules, PLAN, SimpleNamespace(EXPERIMENTS={name: lambda scale, n=name: plan[n] for name in plan})
    )
    (tmp_path / "quick").mkdir()
    frame(seeds=2).to_csv(tmp_path / "quick" / "fig2.csv", index=False)
    frame(["uer"], env="Maze").assign(experiment="fig3").to_csv(tmp_path / "quick" / "fig3.csv", index=False)
    figure.draw(Results(tmp_path), "quick", tmp_path / "a.png")
    [(canvas, (chain, maze))] = drawn
    assert (tmp_path / "a.png").read_bytes().startswith(PNG) and canvas.get_suptitle() == "TER Figure 2"
    assert foot(canvas).split("; ")[0] == "quick: 2 to 3 seeds, 100,000 steps"
    assert foot(canvas).replace("\n", " ").endswith("not run: UER on Chain (1 of 3 seeds), TER on Chain (1 of 3 seeds)")
    assert (chain.get_ylabel(), maze.get_ylabel()) == ("score", "") and chain.get_ylim() == maze.get_ylim()
    assert [text.get_text() for text in canvas.subfigs[0].legends[0].get_texts()] == ["UER", "TER"]


def test_a_table_in_place_of_a_panel():
    _, axes = plotting.new_figure(1, 1, "t", caption="b")
    rows = [["Chain", "1", "2"], ["Maze", "3", "4"]]
    plotting.fill_with_table(axes[0, 0], ["", "theirs", "ours"], rows, grey=lambda row, col: col == 1, bold=[(2, 2)])
    [table] = axes[0, 0].tables
    texts = {place: cell.get_text() for place, cell in table.get_celld().items()}
    look = {place: (text.get_weight(), text.get_color()) for place, text in texts.items()}
    assert look[1, 1] == ("normal", "0.45") and look[1, 2] == ("normal", "0")
    assert look[0, 1] == ("bold", "0.45") and look[2, 0] == look[2, 2] == ("bold", "0")
    assert not axes[0, 0].axison and texts[2, 1].get_text() == "3"


def test_what_was_not_run_says_so(tmp_path):
    canvas, axes = plotting.new_figure(1, 2, "t", caption="b")
    plotting.curves(axes[0, 0], frame(), "return", kind="mean-sd", order=["per"])
    plotting.curves(axes[0, 1], frame().iloc[:0], "return", kind="mean-sd", order=["per"])
    assert [ax.texts[0].get_text() for ax in axes.flat] == ["not run", "not run"]
    plotting.save(canvas, tmp_path / "a.png")


@pytest.mark.parametrize("seeds, steps", [(1, (0, 1)), (3, (5,)), (1, (5,))])
def test_little_data_draws_without_a_warning(tmp_path, seeds, steps, recwarn):
    canvas, axes = plotting.new_figure(1, 1, "t", caption="b")
    plotting.curves(axes[0, 0], frame(seeds=seeds, steps=steps), "return", kind="mean-ci95", order=["ter"])
    plotting.save(canvas, tmp_path / "a.png")
    assert not recwarn.list


def test_two_envs_in_one_panel_are_refused():
    _, axes = plotting.new_figure(1, 1, "t", caption="b")
    both = pd.concat([frame(), frame(env="Maze")])
    with pytest.raises(ValueError, match="curves draws one env, got Chain, Maze"):
        plotting.curves(axes[0, 0], both, "return", kind="mean-sd", order=["ter"])
