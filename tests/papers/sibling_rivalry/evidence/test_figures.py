"""What this paper's figures compute before they draw, from made-up results. test_evidence.py redraws all of them."""

import pandas as pd
import pytest

from lab.judge.results import Results
from papers.sibling_rivalry.evidence.drawing import CHECKPOINTS, styles
from papers.sibling_rivalry.evidence.ends import end_points
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from papers.sibling_rivalry.evidence.figures import FIGURES
from papers.sibling_rivalry.evidence.paper_values import ANT_CURVES, CURVES
from tests.papers.drawn import draw, words
from tests.papers.sibling_rivalry.evidence.synthetic import write

NUMBERS = dict(
    success=lambda method, env: 0.1 + 0.05 * (len(method) % 17),
    end=lambda method, env: (2.0 + 0.25 * len(method), 9.0),
)


def test_fig3_shows_where_early_episodes_of_one_run_ended(tmp_path):
    write(tmp_path, "maze", "full", **NUMBERS)
    path = tmp_path / "full" / "maze.csv"
    frame = pd.read_csv(path)
    frame = frame[~frame["metric"].str.startswith("end ") & ((frame["method"] != "ppo-sr") | (frame["seed"] > 0))]
    rows = [  # 16 evaluations, one more than is shown, of the smallest seed that there is, and another seed
        ("maze", "full", "ppo-sr", "PointMaze", seed, step, f"end {episode} {axis}", value, 0.1)
        for seed in (1, 2)
        for step in range(1, CHECKPOINTS + 2)
        for episode in (0, 10)
        for axis, value in (("x", step / 2 + 0.1 * (seed - 1)), ("y", float(episode > 0)))
    ]
    pd.concat([frame, pd.DataFrame(rows, columns=frame.columns)]).to_csv(path, index=False)
    panels = draw(FIGURES["fig3"], Results(tmp_path), "full").axes[4:]
    assert [ax.get_title() for ax in panels] == [
        "PPO: ends", "PPO+SR: ends, seed 1", "PPO+ICM: ends", "DDPG+HER: ends",
    ]  # fmt: skip
    assert [words(ax) for ax in panels] == [["not run"], [], ["not run"], ["not run"]]
    [dots] = panels[1].collections
    places = [(step / 2, y) for step in range(1, CHECKPOINTS + 1) for y in (0.0, 1.0)]
    assert sorted(map(tuple, dots.get_offsets())) == places
    assert all(c == 2 * x - 1 for (x, _), c in zip(dots.get_offsets(), dots.get_array()))


def test_end_points_by_hand():
    rows = [(1, 10, "end 0 x", 1.0), (1, 10, "end 0 y", 2.0), (1, 10, "end 12 y", 4.0), (1, 10, "end 12 x", 3.0)]
    rows += [(0, 20, "end 0 y", 6.0), (0, 20, "end 0 x", 5.0), (0, 20, "entropy", 7.0), (0, 20, "success", 8.0)]
    found = end_points(pd.DataFrame(rows, columns=["seed", "step", "metric", "value"]))
    assert {index: (row["x"], row["y"]) for index, row in found.iterrows()} == {
        (1, 10, "0"): (1, 2), (1, 10, "12"): (3, 4), (0, 20, "0"): (5, 6),
    }  # fmt: skip


def test_the_worlds_of_fig3_and_fig9_are_those_that_were_run(tmp_path):
    for name, half, whole in (("fig3", "ant", "maze"), ("fig9", "ant-oracle", "oracle")):
        write(tmp_path, half, "smoke", **NUMBERS)
        alone = len(draw(FIGURES[name], Results(tmp_path)).axes)
        write(tmp_path, whole, "smoke", **NUMBERS)
        assert len(draw(FIGURES[name], Results(tmp_path)).axes) == 2 * alone


@pytest.mark.parametrize("experiment", ["maze", "grid", "corridors", "u-mazes", "starts", "oracle", "weighting"])
def test_no_two_methods_look_the_same(experiment):
    entries = EXPERIMENTS[experiment]("full")
    for env in {entry.env for entry in entries}:
        methods = {entry.method for entry in entries if entry.env == env}
        found = styles(methods)
        assert len({(style["color"], style["linestyle"]) for style in found.values()}) == len(methods)


def test_the_paper_has_curves_of_our_methods():
    assert set(CURVES["fig4"]) == {e.method for e in EXPERIMENTS["grid"]("full")} - {"ppo-sr (epsilon 2)"}
    assert set(CURVES["fig3"]) == {e.method for e in EXPERIMENTS["maze"]("full")} - {"ppo-rnd"}
    assert set(ANT_CURVES) == {"ppo", "ppo-sr", "ppo-icm", "ddpg-her"}
