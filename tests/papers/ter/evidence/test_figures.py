"""What only this paper's figures have: looks of methods, ranges of panels, the numbers of Table B.1, hours."""

import pytest

from lab.judge.results import Results
from papers.ter.evidence.drawing import COLOURS, styles, without_interval
from papers.ter.evidence.experiments import EXPERIMENTS
from papers.ter.evidence.figures import FIGURES
from papers.ter.evidence.paper_values import TABLE_B1
from tests.papers.drawn import cells, curve, draw
from tests.papers.ter.evidence.synthetic import write
from tests.papers.ter.evidence.test_claims_dreamer import verdicts


def made(root, name, scale, level, **settings):
    """A figure's canvas from made-up results."""
    write(root, FIGURES[name].experiments[0], scale, level, **settings)
    return draw(FIGURES[name], Results(root), scale)


def test_scores_of_games_have_ranges_of_their_own(tmp_path):
    canvas = made(tmp_path, "fig-m15", "full", lambda method, env: {"Pong": -20, "Freeway": 30}.get(env, 2000))
    ranges = {ax.get_title(): ax.get_ylim()[1] for ax in canvas.axes if ax.axison}
    assert list(ranges) == ["Pong", "Kangaroo", "Venture", "Freeway"]
    assert ranges["Pong"] < 5 < ranges["Freeway"] < 100 < ranges["Kangaroo"]


def test_shares_stay_in_their_range_where_intervals_reach_beyond(tmp_path):
    ax = made(tmp_path, "fig3a", "quick", lambda method, env: 0.97, noise=0.6).axes[0]
    assert -0.02 <= ax.get_ylim()[0] < 0.5 < ax.get_ylim()[1] == 1.02


def test_table_b1_holds_the_papers_numbers_and_ours(tmp_path):
    canvas = made(
        tmp_path, "table-b1", "quick", lambda *_: 0.5, noise=0.0, keep=lambda method, env, seed: method != "ebu"
    )
    found = {place: text for place, (text, _) in cells(canvas).items()}
    theirs, ours = ([text for (name, head), text in found.items() if name == "TER" and whose in head]
                    for whose in ("paper", "ours"))  # fmt: skip
    assert theirs == list(TABLE_B1["ter"]) == ["0.002", "2e-4", "1e-4", "0.256"]
    assert [float(text) for text in ours] == [1e-3, 9e-4, 5e-4, 3e-2]
    assert [found["EBU", f"mean {whose}"] for whose in ("paper", "ours", "drawn")] == ["0.002", "not run", "not run"]


def test_dreamer_by_the_hours_that_it_took(tmp_path):
    verdicts(tmp_path, lambda method, env: 0.9, scale="quick")
    _, below = draw(FIGURES["fig-l14"], Results(tmp_path), "quick").axes
    assert curve(below, "DreamerV2")[:, 0].max() == pytest.approx(1.9)


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
