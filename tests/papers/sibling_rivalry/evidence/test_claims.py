"""The claims about Figures 3, 4 and 6 to 9, on made-up results in which they hold, fail or are undecided."""

import re

import numpy as np
import pandas as pd
import pytest

from lab.claims import evaluate
from lab.results import COLUMNS, Results
from papers.sibling_rivalry.evidence import claims_track, experiments
from papers.sibling_rivalry.evidence.claims import CLAIMS, EMPTY
from papers.sibling_rivalry.evidence.claims_appendix import (
    FIG6_EPSILONS,
    INDEPENDENT,
    LENGTHS,
    LONGEST,
    ORACLES,
    found_after,
)
from papers.sibling_rivalry.evidence.claims_runs import LAST, Runs, every, rarely, within
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from papers.sibling_rivalry.evidence.figures import FIGURES
from papers.sibling_rivalry.evidence.paper_values import CURVES
from papers.sibling_rivalry.tasks import make_task
from tests.papers.sibling_rivalry.evidence.synthetic import EPISODES, POINTS, write

HERE = [claim for claim in CLAIMS if claim not in claims_track.CLAIMS]
IDS = [claim.id for claim in HERE]
USES = {"fig3": "maze", "fig4": "grid", "fig6": "shapes", "fig7": "epsilon", "fig8": "starts", "fig9": "oracle"}
PIXELS = 6.41
"""Pixels of a goal of the 13 x 13 grid, on average."""


def level(rows, default):
    """A function of (method, env), which looks up "method, env", then "method", then takes the default."""
    return lambda method, env, *rest: rows.get(f"{method}, {env}", rows.get(method, default))


RIGHT = {
    "maze": dict(
        success={"ppo-sr": 0.96, "ppo-icm": (0, 0, 0, 0, 0.85), "ddpg-her": (0, 0, 0, 0.98, 0)},
        end={"ppo": (7.0, 9.0), "ppo-sr": (9.0, 9.0)},
    ),
    "grid": dict(
        success={"ppo-sr": 0.99, "dqn-her": 1.0, "dqn": 0.98, "ppo-sr (epsilon 2)": 0.7},
        onset={"dqn": 0.6},
        distance={"ppo": PIXELS},
    ),
    "shapes": dict(
        success={"ppo-sr": 0.95, **{f"ppo-sr (epsilon {e}), Corridor-10": 0.97 for e in (1, 2, 3, 5)}}
        | {"ppo-sr (epsilon 3), UMaze-10": (0.8, 0.8, 0.2, 0.8, 0.8), "ppo-sr, UMaze-10": 0.0}
    ),
    "epsilon": dict(
        success={"ppo-sr (epsilon 5)": 0.95, "ppo-sr (epsilon 0)": 0.8},
        onset={"ppo-sr (epsilon 0)": 0.6},
        apart={"ppo-sr (epsilon 0)": (2.0, 4.0, 3.0)},
        end={"ppo-sr (epsilon 10)": (7.0, 9.0)},
    ),
    "starts": dict(
        success={"ppo-sr": 0.95, INDEPENDENT: 0.95},
        onset={f"{INDEPENDENT}, PointMaze": 0.1},
    ),
    "oracle": dict(
        success={"ppo-sr": 0.96, "ppo-go (side 2)": (1.0, 1.0, 0.3, 1.0, 1.0), "ppo-go (side 3)": 0.05},
        onset={"ppo-sr": 0.35, "ppo-go (side 2)": 0.2},
    ),
}
WRONG = {
    "maze": dict(
        success={"ppo": 0.9, "ppo-sr": 0.2, "ppo-icm": 0.9, "ppo-rnd": (0, 0, 0.9, 0.9, 0.9), "ddpg-her": 0.8},
        end={"ppo": (9.0, 9.0)},
    ),
    "grid": dict(
        success={"ppo": 0.2, "ppo-sr": 0.3, "ppo-icm": 0.1, "dqn-her": 0.2, "dqn": 0.45, "ppo-sr (epsilon 2)": 0.9},
        distance={"ppo": 0.9 * PIXELS},
    ),
    "shapes": dict(success={"ppo-sr": 0.2, "ppo-icm": (0, 0, 0, 0, 0.9), "ddpg-her": (0.9, 0, 0, 0, 0)}),
    "epsilon": dict(
        success={"ppo-sr (epsilon 0)": 0.9, "ppo-sr (epsilon 5)": 0.4, "ppo-sr (epsilon 10)": 0.9},
        apart={"ppo-sr (epsilon 0)": (4.0, 3.0, 2.0)},
        end={"ppo-sr (epsilon 10)": (9.0, 9.0)},
    ),
    "starts": dict(
        success={"ppo-sr": 0.6, INDEPENDENT: 0.95},
        onset={f"{INDEPENDENT}, PointMaze": 0.7},
    ),
    "oracle": dict(success={"ppo-sr": 0.3}),
}


def make(root, experiment, numbers, scale="full", **made):
    """Write results of an experiment with these numbers."""

    def apart(method, env, progress):
        first, middle, last = numbers.get("apart", {}).get(method, (3.0, 3.0, 3.0))
        return first if progress <= 0.15 else middle if progress <= 0.85 else last

    functions = dict(
        success=level(numbers.get("success", {}), 0.0),
        onset=level(numbers.get("onset", {}), 0.3),
        distance=level(numbers.get("distance", {}), 1.5),
        end=level(numbers.get("end", {}), None),
        spread=level(numbers.get("spread", {}), 0.0),
        apart=apart,
    )
    write(root, experiment, scale, **(functions | made))


def judge(root, *names):
    """Verdicts on the claims `names`, or on all."""
    return {
        claim.id: verdict for claim, verdict in evaluate([c for c in HERE if c.id in (names or IDS)], Results(root))
    }


def verdict_on(name, root, changes=None, **made):
    """Verdict on one claim, from right numbers but for `changes`."""
    experiment = USES[name.split("-")[0]]
    numbers = dict(RIGHT[experiment])
    for key, rows in (changes or {}).items():
        numbers[key] = numbers.get(key, {}) | rows
    make(root, experiment, numbers, **made)
    return judge(root, name)[name]


def statuses(found) -> dict[str, str]:
    return {name: verdict.status for name, verdict in found.items()}


# ---- all claims ------------------------------------------------------------------------------------------------------


def test_data_that_agree_reproduce_every_claim(tmp_path):
    for experiment, numbers in RIGHT.items():
        make(tmp_path, experiment, numbers)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(IDS, "reproduced")
    for name, verdict in found.items():
        assert (verdict.seeds, verdict.scale, verdict.steps) == (5, "full", EPISODES), name
        assert verdict.effect, name


def test_data_that_disagree_reproduce_none(tmp_path):
    for experiment, numbers in WRONG.items():
        make(tmp_path, experiment, numbers)
    assert statuses(judge(tmp_path)) == dict.fromkeys(IDS, "not reproduced")


def test_two_seeds_decide_nothing(tmp_path):
    for experiment, numbers in RIGHT.items():
        make(tmp_path, experiment, numbers, seeds=2)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(IDS, "inconclusive")
    assert {verdict.seeds for verdict in found.values()} == {2}


def test_one_run_of_each_method_is_no_obstacle(tmp_path):
    for experiment, numbers in RIGHT.items():
        make(tmp_path, experiment, numbers, seeds=1)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(IDS, "inconclusive")
    assert not [name for name, v in found.items() if "nan" in v.effect + v.interval + v.note]


def test_no_results_are_not_run(tmp_path):
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(IDS, "not run")
    assert found["fig4-dqn"].note == "no full or quick results of grid"


def test_results_without_rows_are_not_run(tmp_path):
    (tmp_path / "full").mkdir()
    for experiment in RIGHT:
        (tmp_path / "full" / f"{experiment}.csv").write_text(",".join(COLUMNS) + "\n")
    assert statuses(judge(tmp_path)) == dict.fromkeys(IDS, "not run")


def test_smoke_is_never_evidence(tmp_path):
    make(tmp_path, "maze", RIGHT["maze"], "smoke", seeds=5)
    assert statuses(judge(tmp_path)) == dict.fromkeys(IDS, "not run")


def test_unfinished_full_results_do_not_hide_complete_quick_ones(tmp_path):
    make(tmp_path, "maze", RIGHT["maze"], "quick", seeds=3)
    make(tmp_path, "maze", WRONG["maze"], "full", keep=lambda method, env, seed: method == "ppo-sr")
    found = judge(tmp_path, "fig3-sr", "fig3-best", "fig3-ppo")
    assert {name: (v.status, v.scale, v.seeds) for name, v in found.items()} == {
        "fig3-sr": ("not reproduced", "full", 5),
        "fig3-best": ("reproduced", "quick", 3),
        "fig3-ppo": ("reproduced", "quick", 3),
    }


@pytest.mark.parametrize(
    ("experiment", "missing", "needs"),
    [
        ("maze", "ppo", "fig3-ppo fig3-trap fig3-best"),
        ("maze", "ppo-sr", "fig3-sr fig3-sr-final fig3-best"),
        ("maze", "ddpg-her", "fig3-her fig3-best"),
        ("grid", "ppo", "fig4-ppo fig4-toggle"),
        ("grid", "dqn-her", "fig4-fast fig4-dqn"),
        ("grid", "ppo-sr (epsilon 2)", "fig4-epsilon"),
        ("shapes", "ppo-sr", "fig6-corridor fig6-u"),
        ("shapes", "ppo-sr (epsilon 5)", "fig6-corridor-epsilon fig6-u fig6-u-epsilon"),
        ("shapes", "ppo-icm", "fig6-others"),
        ("epsilon", "ppo-sr (epsilon 5)", "fig7-middle fig7-low"),
        ("epsilon", "ppo-sr (epsilon 10)", "fig7-high"),
        ("starts", "ppo-sr (independent starts)", "fig8-maze fig8-grid"),
        ("oracle", "ppo-go (side 1)", "fig9-finds fig9-sooner fig9-consistent"),
    ],
)
def test_a_missing_method_is_missing_where_it_is_needed(experiment, missing, needs, tmp_path):
    make(tmp_path, experiment, RIGHT[experiment], keep=lambda method, env, seed: method != missing)
    claims_on_it = [name for name in IDS if USES[name.split("-")[0]] == experiment]
    found = judge(tmp_path, *claims_on_it)
    assert {name for name, verdict in found.items() if verdict.status == "not run"} == set(needs.split())
    assert all(missing in found[name].note for name in needs.split())
    assert {v.status for name, v in found.items() if name not in needs.split()} <= {"reproduced"}


def test_a_grid_that_was_not_run_is_missing(tmp_path):
    make(tmp_path, "starts", RIGHT["starts"], keep=lambda method, env, seed: env == "PointMaze")
    found = judge(tmp_path, "fig8-maze", "fig8-grid")
    assert statuses(found) == {"fig8-maze": "reproduced", "fig8-grid": "not run"}
    assert found["fig8-grid"].note == "no runs on a pixel grid"


def test_the_method_with_fewest_runs_decides_how_many_there_are(tmp_path):
    few = {"ppo-go (side 1)": 5, "ppo-go (side 2)": 5, "ppo-go (side 3)": 4, "ppo-sr": 2}
    make(tmp_path, "oracle", RIGHT["oracle"], keep=lambda method, env, seed: seed < few[method])
    found = judge(tmp_path, "fig9-finds", "fig9-sooner", "fig9-consistent")
    assert {name: (v.status, v.seeds) for name, v in found.items()} == {
        "fig9-finds": ("reproduced", 4),
        "fig9-sooner": ("inconclusive", 2),
        "fig9-consistent": ("inconclusive", 2),
    }


# ---- what a run's score is -------------------------------------------------------------------------------------------


def test_a_score_is_the_mean_of_the_last_evaluations(tmp_path):
    make(tmp_path, "maze", {"success": {"ppo-sr": 0.8}, "onset": {"ppo-sr": 0.75}, "spread": {"ppo-sr": 0.1}})
    runs = Runs(Results(tmp_path), "maze")
    rows = runs.frame[(runs.frame["method"] == "ppo-sr") & (runs.frame["metric"] == "success")]
    curves = rows.pivot(index="seed", columns="step", values="value").to_numpy()
    assert curves.shape == (5, POINTS) and len({*curves[:, -1]}) == 5
    np.testing.assert_allclose(runs.score("ppo-sr", "PointMaze"), curves[:, -LAST:].mean(axis=1))
    trapezia = (curves[:, 1:] + curves[:, :-1]).mean(axis=1) / 2
    np.testing.assert_allclose(runs.area("ppo-sr", "PointMaze"), trapezia)
    assert runs.solved("ppo-sr", "PointMaze").tolist() == (curves[:, -LAST:].mean(axis=1) >= 0.5).tolist()


def test_rules():
    assert [every(n, 3) for n in range(4)] == [False, False, False, True]
    assert [rarely(n, 5) for n in range(6)] == [True, True, True, False, False, False]
    assert [rarely(n, 4) for n in range(4)] == [True, True, False, False]
    yes, maybe, no = "reproduced", "inconclusive", "not reproduced"
    intervals = [(-0.05, 0.05), (-0.2, 0.05), (0.05, 0.2), (0.15, 0.2), (-0.3, -0.15), (-0.3, 0.3)]
    assert [within(*interval, 0.1) for interval in intervals] == [yes, maybe, maybe, no, no, maybe]


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ((7.0, 9.0), "reproduced"),
        ((1.0, 8.6), "reproduced"),
        ((7.5, 9.5), "reproduced"),  # against the wall at its end, rounded
        ((7.6, 9.0), "not reproduced"),  # behind that wall
        ((9.0, 9.0), "not reproduced"),  # the goal's cell
        ((7.0, 8.4), "not reproduced"),
    ],
)
def test_the_top_corridor_is_left_of_the_goal(end, status, tmp_path):
    verdict = verdict_on("fig3-trap", tmp_path, {"end": {"ppo": end}})
    assert verdict.status == status
    share, runs = ("67%", "5") if status == "reproduced" else ("0%", "0")  # the third episode ends at the start
    assert verdict.effect == f"{share} of episodes after 200,000, most in {runs} of 5 runs"


def test_the_trap_counts_in_every_run_and_in_the_last_evaluation_with_ends(tmp_path):
    make(tmp_path, "maze", RIGHT["maze"])
    path = tmp_path / "full" / "maze.csv"
    frame = pd.read_csv(path)
    is_end = frame["metric"].str.startswith("end ")
    early = frame[~is_end | (frame["step"] <= 60_000)].copy()
    early.loc[is_end & (early["step"] < 60_000), "value"] = 0.0  # the start's cell
    early.to_csv(path, index=False)
    found = judge(tmp_path, "fig3-trap")["fig3-trap"]
    assert found.status == "reproduced" and "67% of episodes after 60,000" in found.effect
    early.loc[(early["seed"] == 3) & early["metric"].isin(["end 0 x"]), "value"] = 9.0
    early.to_csv(path, index=False)
    found = judge(tmp_path, "fig3-trap")["fig3-trap"]
    assert found.status == "not reproduced" and found.effect.endswith("most in 4 of 5 runs")


@pytest.mark.parametrize("solving", range(6))
def test_all_runs_less_than_half_and_none(solving, tmp_path):
    rates = (0.6,) * solving + (0.4,) * (5 - solving)
    changes = {"success": {"ppo-sr": rates, "ddpg-her": rates}}
    every, rare = (verdict_on(name, tmp_path, changes) for name in ("fig3-sr", "fig3-her"))
    assert every.status == ("reproduced" if solving == 5 else "not reproduced")
    assert rare.status == ("reproduced" if solving <= 2 else "not reproduced")
    assert every.effect == rare.effect == f"{solving} of 5 runs, {np.mean(rates):.2f}"


@pytest.mark.parametrize(("rate", "status"), [(0.04, "reproduced"), (0.06, "not reproduced")])
@pytest.mark.parametrize("name", ["fig3-ppo", "fig3-rnd", "fig4-ppo", "fig4-icm"])
def test_never_is_about_every_evaluation_of_every_run(name, rate, status, tmp_path):
    method = name.replace("fig3-", "ppo-").replace("fig4-", "ppo-").replace("ppo-ppo", "ppo")
    verdict = verdict_on(name, tmp_path, {"success": {method: (0, 0, 0, rate, 0)}})
    assert verdict.status == status and verdict.effect == f"at most {rate:.2f}"


def test_sibling_rivalry_is_compared_with_each_method(tmp_path):
    verdict = verdict_on("fig3-best", tmp_path, {"success": {"ppo-icm": (0.95, 0.97, 0.9, 1.0, 1.0), "ppo-rnd": 0.99}})
    assert verdict.status == "partly" and verdict.effect == "2 of 4 reproduced"
    parts = dict(re.findall(r"([A-Z+]+): ([a-z ]+) \(", verdict.note))
    assert parts == {
        "PPO": "reproduced", "PPO+ICM": "inconclusive", "PPO+RND": "not reproduced", "DDPG+HER": "reproduced",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "spread", "status"),
    [
        (0.96, 0.02, "reproduced"),
        (0.93, 0.0, "reproduced"),
        (0.91, 0.03, "inconclusive"),
        (0.85, 0.02, "not reproduced"),
    ],
)
def test_the_final_success_rate_is_the_papers(rate, spread, status, tmp_path):
    verdict = verdict_on("fig3-sr-final", tmp_path, {"success": {"ppo-sr": rate}, "spread": {"ppo-sr": spread}})
    assert verdict.status == status and float(verdict.effect) == pytest.approx(rate, abs=0.01)


def test_shorter_runs_than_the_papers_have_no_final_success_rate(tmp_path):
    verdict = verdict_on("fig3-sr-final", tmp_path, episodes=60_000)
    assert verdict.status == "not run" and verdict.note == "no runs of 200,000 episodes"


# ---- Figure 4 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "pixels"), [("full", PIXELS), ("quick", 3.42)])
def test_an_empty_grid_is_as_far_away_as_a_goal_has_pixels(scale, pixels, tmp_path):
    [env] = {entry.env for entry in EXPERIMENTS["grid"](scale)}
    goals = make_task(env).goals(2_000, np.random.default_rng(1))
    assert goals.sum() / 2_000 == pytest.approx(pixels, rel=0.02)
    for share, status in ((1 - EMPTY / 2, "reproduced"), (1 - 1.5 * EMPTY, "not reproduced"), (1.2, "not reproduced")):
        make(tmp_path, "grid", {"distance": {"ppo": share * pixels}}, scale)
        verdict = judge(tmp_path, "fig4-toggle")["fig4-toggle"]
        assert (verdict.status, verdict.scale) == (status, scale)
        assert verdict.effect.startswith(f"{share * pixels:.2f} wrong pixels")


def test_dqn_must_solve_the_grid_and_be_later_than_both(tmp_path):
    verdict = verdict_on("fig4-dqn", tmp_path, {"onset": {"dqn": 0.3, "ppo-sr": 0.5}})
    assert verdict.status == "partly"
    assert re.findall(r"(\S+): ([a-z ]+) \(", verdict.note) == [
        ("solved", "reproduced"), ("PPO+SR", "not reproduced"), ("DQN+HER", "reproduced"),
    ]  # fmt: skip
    assert (
        "solved: not reproduced (4 of 5" in verdict_on("fig4-dqn", tmp_path, {"success": {"dqn": (1, 1, 0, 1, 1)}}).note
    )


def test_both_fast_methods_must_solve_the_grid(tmp_path):
    verdict = verdict_on("fig4-fast", tmp_path, {"success": {"dqn-her": (1, 1, 1, 1, 0.4)}})
    assert verdict.status == "partly" and "DQN+HER: not reproduced (4 of 5 runs" in verdict.note


# ---- Figure 6 --------------------------------------------------------------------------------------------------------


def test_every_length_counts(tmp_path):
    changes = {"success": {"ppo-sr, Corridor-4": (1, 1, 1, 1, 0), "ppo-sr, UMaze-8": 0.2}}
    corridor, u = (verdict_on(name, tmp_path, changes) for name in ("fig6-corridor", "fig6-u"))
    assert corridor.status == u.status == "partly"
    assert re.findall(r"(\d+): not reproduced", corridor.note) == ["4"]
    assert re.findall(r"(\d+): not reproduced", u.note) == ["8"]
    assert corridor.effect == u.effect == "4 of 5 reproduced"


def test_the_longest_u_maze_has_its_best_threshold(tmp_path):
    rates = {1: (1, 0, 0, 0, 0), 2: (0.6, 0.6, 0.6, 0, 0), 3: (0.9, 0.9, 0.9, 0, 0), 5: (1, 1, 0.4, 0.4, 0.4)}
    changes = {"success": {f"ppo-sr (epsilon {e}), UMaze-10": rate for e, rate in rates.items()}}
    verdict = verdict_on("fig6-u", tmp_path, changes)
    assert verdict.status == "reproduced" and "10 with ε = 3: reproduced (3 of 5 runs, 0.54)" in verdict.note
    assert (
        verdict_on("fig6-u", tmp_path, {"success": {"ppo-sr (epsilon 3), UMaze-10": (1, 1, 0, 0, 0)}}).status
        == "partly"
    )


@pytest.mark.parametrize("good", range(5))
def test_narrow_is_some_thresholds_but_half_at_most(good, tmp_path):
    rates = [(0.9, 0.9, 0.9, 0, 0)] * good + [(0.9, 0.9, 0, 0, 0)] * (4 - good)
    changes = {"success": {f"ppo-sr (epsilon {e}), UMaze-10": rate for e, rate in zip((1, 2, 3, 5), rates)}}
    verdict = verdict_on("fig6-u-epsilon", tmp_path, changes)
    assert verdict.status == ("reproduced" if good in (1, 2) else "not reproduced")
    assert verdict.effect.count("60%") == good


def test_the_others_fail_where_no_run_solves_it(tmp_path):
    verdict = verdict_on("fig6-others", tmp_path, {"success": {"ddpg-her, Corridor-10": (0, 0, 0, 0, 0.9)}})
    assert verdict.status == "partly" and re.findall(r"([^;]+): not reproduced", verdict.note) == [
        " DDPG+HER, corridor"
    ]
    verdict = verdict_on("fig6-corridor-epsilon", tmp_path, {"success": {"ppo-sr (epsilon 1), Corridor-10": 0.2}})
    assert verdict.status == "partly" and re.findall(r"([^;]+): not reproduced", verdict.note) == ["ε = 1"]


# ---- Figure 7 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("course", "status"),
    [((2.0, 4.0, 1.0), "reproduced"), ((3.0, 3.0, 6.0), "partly"), ((4.0, 2.0, 4.0), "partly")],
)
def test_siblings_drift_apart_in_the_middle_of_training(course, status, tmp_path):
    verdict = verdict_on("fig7-low", tmp_path, {"apart": {"ppo-sr (epsilon 0)": course}})
    assert verdict.status == status
    effect = float(re.search(r"apart: [a-z ]+\((\S+) ", verdict.note)[1])
    assert effect == pytest.approx(course[1] - course[0], abs=1e-3)
    assert "slower: reproduced (+0." in verdict.note


def test_under_exploration_has_two_parts(tmp_path):
    verdict = verdict_on("fig7-high", tmp_path, {"end": {"ppo-sr (epsilon 10)": (3.0, 3.0)}})
    assert verdict.status == "partly" and "fails: reproduced (0 of 5 runs" in verdict.note
    verdict = verdict_on("fig7-high", tmp_path, {"success": {"ppo-sr (epsilon 10)": (1, 1, 1, 0, 0)}})
    assert verdict.status == "partly" and "fails: not reproduced (3 of 5 runs" in verdict.note


# ---- Figures 8 and 9 -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "spread", "status"),
    [
        (0.85, 0.0, "reproduced"),
        (0.55, 0.0, "not reproduced"),
        (0.8, 0.2, "inconclusive"),
    ],
)
def test_about_equal_has_a_margin_on_both_sides(rate, spread, status, tmp_path):
    for one, two in ((0.95, rate), (rate, 0.95)):
        changes = {"success": {"ppo-sr": one, INDEPENDENT: two}, "spread": {"ppo-sr": spread}}
        verdict = verdict_on("fig8-grid", tmp_path, changes)
        assert verdict.status == status
        assert float(verdict.effect) * (two - one) > 0  # independent starts less common ones


def test_when_the_goal_is_found_by_hand():
    steps = np.array([10, 20, 30])
    values = np.array(
        [[[0.0, 0.1, 0.3], [0.0, 0.2, 0.1]], [[0.0, 0.0, 0.1], [0.1, 0.0, 0.1]], [[0.3, 0, 0], [0.1, 0, 0]]]
    )
    assert found_after(steps, values).tolist() == [20, 30, 10]
    assert found_after(steps, values[1, :1]) == 30 and found_after(steps, np.zeros((5, 3))) == 40
    assert found_after(steps[:1], np.zeros((5, 1))) == 20


@pytest.mark.parametrize(
    ("oracle", "own", "rate", "ratio", "status"),
    [
        (0.2, 0.35, 1.0, 80 / 60, "reproduced"),
        (0.2, 0.55, 1.0, 2.0, "reproduced"),  # LAG itself
        (0.2, 0.65, 1.0, 140 / 60, "not reproduced"),
        (0.35, 0.35, 1.0, 1.0, "inconclusive"),
        (0.55, 0.35, 1.0, 80 / 120, "not reproduced"),
        (0.2, 0.35, 0.0, 80 / 220, "not reproduced"),  # never
        (0.2, 0.35, (0.5, 0.0, 0.0, 0.0, 0.3), 1.0, "inconclusive"),
    ],
)
def test_how_much_later_than_the_oracle(oracle, own, rate, ratio, status, tmp_path):
    others = {"ppo-go (side 1)": 0.01, "ppo-go (side 3)": 0.01, "ppo-go (side 2)": rate}
    changes = {"success": others, "onset": {"ppo-sr": own, "ppo-go (side 2)": oracle}}
    verdict = verdict_on("fig9-sooner", tmp_path, changes)
    assert verdict.status == status
    assert float(verdict.effect.split()[0]) == pytest.approx(ratio, rel=0.01)


def test_neither_finding_the_goal_is_undecided(tmp_path):
    verdict = verdict_on("fig9-sooner", tmp_path, {"success": dict.fromkeys((*ORACLES, "ppo-sr"), 0.0)})
    assert verdict.status == "inconclusive" and verdict.interval == "[1, 1]"


def test_the_best_size_finds_the_goal(tmp_path):
    rates = {"ppo-go (side 1)": 0.0, "ppo-go (side 2)": 0.0, "ppo-go (side 3)": (0.6, 0, 0, 0, 0)}
    verdict = verdict_on("fig9-finds", tmp_path, {"success": rates})
    assert verdict.status == "reproduced" and verdict.effect.endswith("PPO+GO (side 3): 0.12")
    rates["ppo-go (side 3)"] = (0.4, 0, 0, 0, 0)
    assert verdict_on("fig9-finds", tmp_path, {"success": rates}).status == "not reproduced"


def test_less_consistent_is_with_every_size(tmp_path):
    verdict = verdict_on("fig9-consistent", tmp_path, {"success": {"ppo-go (side 3)": 0.9}})
    assert verdict.status == "partly"
    assert "PPO+GO (side 3): not reproduced (5 of 5 runs against 5 of 5)" in verdict.note
    assert "PPO+GO (side 2): reproduced (4 of 5 runs against 5 of 5)" in verdict.note


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_tables_are_complete():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.text and claim.paper_value for claim in CLAIMS)
    assert {claim.figure for claim in CLAIMS} == {name for name, figure in FIGURES.items() if figure.experiments}
    assert set(RIGHT) | {"track"} == set(WRONG) | {"track"} == set(EXPERIMENTS)
    assert [claim.paper_value for claim in CLAIMS if claim.id == "fig3-best"] == ["0.96 against 0 / 0.17 / 0 / 0.2"]
    assert [claim.paper_value for claim in CLAIMS if claim.id == "fig3-sr-final"] == [f"{CURVES['fig3']['ppo-sr'][-1]}"]


def test_constants_are_those_of_the_experiments():
    assert LENGTHS == experiments.LENGTHS and FIG6_EPSILONS == experiments.EPSILONS["fig6"]
    shapes = EXPERIMENTS["shapes"]("full")
    assert set(LONGEST.values()) == {entry.env for entry in shapes if entry.method == "ddpg-her"}
    assert set(ORACLES) == {entry.method for entry in EXPERIMENTS["oracle"]("full")} - {"ppo-sr"}
    assert INDEPENDENT in {entry.method for entry in EXPERIMENTS["starts"]("full")}
    maze = make_task("PointMaze")
    assert (7, 9) in map(tuple, maze.cells) and len(maze.path((7, 9), (8, 9))) > 10  # a wall ends the top corridor
