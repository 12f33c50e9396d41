"""What only this paper's figures have: looks of methods, panels, and the numbers of Table B.1."""

import pytest

from lab.results import Results
from papers.ter.evidence import figures
from papers.ter.evidence.drawing import COLOURS, styles, without_interval
from papers.ter.evidence.experiments import EXPERIMENTS
from papers.ter.evidence.figures import FIGURES
from papers.ter.evidence.labels import label
from papers.ter.evidence.paper_values import TABLE_B1
from tests.papers.ter.evidence.synthetic import write


def level(method, env):
    return {"ter": 0.9, "discor": 0.3}.get(method.split()[0], 0.5)


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """(name of a figure, scale, what `write` takes) -> its canvas."""
    drawn = []
    monkeypatch.setattr(figures, "save", lambda canvas, path: drawn.append(canvas))

    def canvas(name, scale="smoke", level=level, **made):
        write(tmp_path, FIGURES[name].experiments[0], scale, level, **made)
        FIGURES[name].draw(Results(tmp_path), scale, tmp_path / "a.png")
        return drawn[-1]

    return canvas


def panels(canvas):
    return [ax for ax in canvas.axes if ax.axison]


def test_scores_of_games_have_ranges_of_their_own(draw):
    canvas = draw("fig-m15", "full", lambda method, env: {"Pong": -20, "Freeway": 30}.get(env, 2000))
    ranges = {ax.get_title(): ax.get_ylim()[1] for ax in panels(canvas)}
    assert list(ranges) == ["Pong", "Kangaroo", "Venture", "Freeway"]
    assert ranges["Pong"] < 5 < ranges["Freeway"] < 100 < ranges["Kangaroo"]


@pytest.mark.parametrize("name", ["fig-g9", "own-memory", "own-network", "own-predecessors", "fig-h10"])
def test_figures_that_are_not_committed_draw_every_method(name, draw):
    canvas = draw(name)
    [shown] = canvas.subfigs[0].legends
    methods = {label(entry.method) for entry in EXPERIMENTS[name]("smoke")}
    assert {text.get_text() for text in shown.get_texts()} == methods


def test_fig4_has_a_column_for_each_of_its_baselines(draw):
    columns = [ax.get_title().rpartition(", ")[2] for ax in panels(draw("fig4"))]
    assert set(columns) == {"UER", "PER", "EBU", "DisCor"} and columns[:4] == ["UER", "PER", "EBU", "DisCor"]


def test_table_b1_holds_the_papers_numbers_and_ours(draw):
    canvas = draw("table-b1", "quick", noise=0.0, keep=lambda method, env, seed: method != "ebu")
    cells = canvas.axes[0].tables[0].get_celld()
    rows = [[cells[row, column].get_text().get_text() for column in range(13)] for row in range(6)]
    assert rows[0][1:4] == ["mean\npaper", "mean\nours", "mean\ndrawn"]
    assert rows[5][0] == "TER"
    assert rows[5][1::3] == list(TABLE_B1["ter"]) == ["0.002", "2e-4", "1e-4", "0.256"]
    assert [float(text) for text in rows[5][2::3]] == [1e-3, 9e-4, 5e-4, 3e-2]
    assert rows[3][:4] == ["EBU", "0.002", "not run", "not run"]


def test_intervals_of_the_target_network_have_columns_of_their_own(draw):
    axes = draw("own-target", "quick").axes
    success, q = axes[:2], axes[2:4]
    assert [ax.get_title() for ax in success] == [f"SimpleCrossing-Easy (interval {n})" for n in (1000, 200)]
    assert {len(ax.get_legend_handles_labels()[1]) for ax in (*success, *q)} == {6}
    assert success[0].get_ylim() == success[1].get_ylim()


def test_shares_stay_in_their_range_where_intervals_reach_beyond(draw):
    [ax] = panels(draw("fig3a", "quick", lambda method, env: 0.97, noise=0.6))
    assert -0.02 <= ax.get_ylim()[0] < 0.5 < ax.get_ylim()[1] == 1.02


@pytest.mark.parametrize("experiment", [name for name in EXPERIMENTS if name != "table-b1"])
def test_a_method_keeps_its_colour_and_no_two_look_the_same(experiment):
    methods = list(dict.fromkeys(entry.method for entry in EXPERIMENTS[experiment]("full")))
    found = styles(methods)
    looks = {without_interval(method): tuple(style.values()) for method, style in found.items()}
    assert len({tuple(style.values()) for style in found.values()}) == len(looks) == len(set(looks.values()))
    for method, style in found.items():
        family = method.split()[0]
        if family in COLOURS:
            assert style["color"] == COLOURS[family]
    for method in ("ter", "ter x0.25", "ter (1 root, 1 predecessor, eta=0)", "eta=0.5", "d=3"):
        assert found.get(method, styles(["ter"])["ter"]) == {"color": COLOURS["ter"], "linestyle": "-"}
