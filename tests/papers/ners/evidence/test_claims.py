"""The claims, on made-up results in which they hold, fail or are undecided, and what they are made of, by hand."""

import numpy as np
import pandas as pd
import pytest

from lab.claims import Verdict, evaluate
from lab.results import COLUMNS, MissingData, Results
from papers.ners.evidence.claims import CLAIMS, ero_apart, ordering
from papers.ners.evidence.claims_law import explained
from papers.ners.evidence.claims_runs import NOBODY, Runs, above, below, close, majority, no_worse, opposite
from papers.ners.evidence.figures import FIGURES
from papers.ners.evidence.paper_values import TABLE1, TABLE2
from papers.ners.evidence.postures import posture
from tests.papers.ners.evidence.synthetic import (
    BONUS,
    GRID,
    HOPPER,
    LANDER,
    PENDULUM,
    WALKER,
    right,
    scores,
    write,
    wrong,
)

BY_ID = {claim.id: claim for claim in CLAIMS}
YES, NO, MAYBE, PARTLY, NOT_RUN = "reproduced", "not reproduced", "inconclusive", "partly", "not run"


def judge(root, *names) -> dict[str, Verdict]:
    """Verdicts on the claims `names`, or on all."""
    chosen = [BY_ID[name] for name in names or BY_ID]
    return {claim.id: verdict for claim, verdict in evaluate(chosen, Results(root))}


def statuses(found) -> dict[str, str]:
    return {name: verdict.status for name, verdict in found.items()}


# ---- all claims ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("numbers", "status"), [(right, YES), (wrong, NO)])
def test_data_that_agree_reproduce_every_claim_and_data_that_disagree_none(numbers, status, tmp_path):
    for experiment in GRID:
        write(tmp_path, experiment, numbers(experiment))
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(BY_ID, status)
    for name, verdict in found.items():
        assert (verdict.seeds, verdict.scale) == (5, "full") and verdict.effect, name
        assert verdict.steps == {"table2": 100_000, "fig-c2": 100_000, "table3": 10_000, "fig1": 0}.get(
            BY_ID[name].figure, 500_000
        )


def test_two_seeds_decide_nothing_and_one_is_no_obstacle(tmp_path):
    for seeds in (2, 1):
        for experiment in GRID:
            write(tmp_path, experiment, right(experiment), seeds=seeds)
        found = judge(tmp_path)
        assert statuses(found) == dict.fromkeys(BY_ID, MAYBE)
        assert {verdict.seeds for verdict in found.values()} == {seeds}
        assert not [name for name, v in found.items() if "nan" in v.effect + v.interval + v.note]


def test_without_results_and_with_smoke_alone_nothing_was_run(tmp_path):
    for experiment in GRID:
        write(tmp_path, experiment, right(experiment), "smoke", seeds=3)
    assert statuses(judge(tmp_path)) == dict.fromkeys(BY_ID, NOT_RUN)
    (tmp_path / "full").mkdir()
    for experiment in GRID:
        (tmp_path / "full" / f"{experiment}.csv").write_text(",".join(COLUMNS) + "\n")
    assert statuses(judge(tmp_path)) == dict.fromkeys(BY_ID, NOT_RUN)


def test_orderings_are_judged_at_any_length_and_numbers_at_the_papers_only(tmp_path):
    for experiment in GRID:
        write(tmp_path, experiment, right(experiment), "quick", seeds=3, steps=20_000)
    numbers = {name for name, status in statuses(judge(tmp_path)).items() if status == NOT_RUN}
    assert numbers == {"table1-margin", "table2-margin", "own-random-baseline", "own-random-baseline-atari"}


def test_every_claim_belongs_to_a_figure():
    assert {claim.figure for claim in CLAIMS} == {*FIGURES} and len(BY_ID) == len(CLAIMS)


@pytest.mark.parametrize(
    ("experiment", "missing", "needs"),
    [
        ("fig3", "ero", "fig3-ners fig3-ero fig5-others"),
        ("fig3", "ners", "fig3-ners fig5-early fig5-late own-law-ners own-law-new own-law-per"),
        ("fig4", "ners few", "fig4-few"),
        ("fig4", "ners no-global", "fig4-global"),
        ("fig4", "ners*", "fig4-star"),
        ("table1", "per", "table1-ners table1-margin table1-per fig-c1-ners fig-c1-per fig5-others own-law-per"),
        ("table2", "random", "table2-ners table2-margin table2-per table2-ero own-random-baseline-atari fig-c2-ners"),
        ("table3", "ero", "table3-per-td table3-per-q table3-ners table3-mean-q table3-ero"),
        ("own-td3-lr", "lr 0.001", "own-td3-lr"),
    ],
)
def test_a_missing_sampler_is_missing_where_it_is_needed(experiment, missing, needs, tmp_path):
    write(tmp_path, experiment, right(experiment), keep=lambda method, env, seed: method.partition(" ")[2] != missing)
    of = {"fig3": ("fig3", "fig5", "own-law"), "table1": ("table1", "fig-c1", "fig5", "own-law")}
    figures = {**of, "table2": ("table2", "fig-c2")}.get(experiment, (experiment,))
    found = judge(tmp_path, *(claim.id for claim in CLAIMS if claim.figure in figures))
    assert {name for name, verdict in found.items() if verdict.status == NOT_RUN} == set(needs.split())


# ---- agents and tasks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ("YYN", YES), ("YY?", YES), ("YNN", NO), ("YN", NO), ("Y??", PARTLY), ("YYN?", PARTLY), ("P??", PARTLY),
        ("???", MAYBE), ("N??", MAYBE), ("NN?", NO), ("PPN", PARTLY),
    ],
)  # fmt: skip
def test_a_majority_decides(parts, status):
    names = {"Y": YES, "N": NO, "?": MAYBE, "P": PARTLY}
    verdict = majority({f"task {k}": Verdict(names[part], seeds=3, scale="full") for k, part in enumerate(parts)})
    assert verdict.status == status
    assert verdict.effect == f"holds in {parts.count('Y')} of {len(parts)}, fails in {parts.count('N')}"


def test_a_claim_about_each_cell_needs_all_of_them(tmp_path):
    one_wrong = lambda m, env: (wrong if (m[:3], env) == ("td3", PENDULUM) else right)("fig3")(m, env)  # noqa: E731
    write(tmp_path, "fig3", one_wrong)
    found = judge(tmp_path, "fig3-ners", "fig3-per")
    assert statuses(found) == {"fig3-ners": PARTLY, "fig3-per": YES}
    assert found["fig3-ners"].effect == "3 of 4 reproduced"
    assert "TD3 Pendulum*: not reproduced (-2" in found["fig3-ners"].note
    assert found["fig3-per"].effect == "holds in 3 of 4, fails in 1"


def test_a_single_cell_speaks_for_itself(tmp_path):
    write(tmp_path, "fig3", right("fig3"), keep=lambda m, env, seed: m.startswith("sac") and env == LANDER)
    verdict = judge(tmp_path, "fig3-ners")["fig3-ners"]
    assert (verdict.status, verdict.effect, verdict.note) == (YES, "+1,990", "SAC LunarLander only")


def test_a_better_scale_counts_from_as_many_cells_on(tmp_path):
    write(tmp_path, "fig3", wrong("fig3"), "quick", seeds=3)
    write(tmp_path, "fig3", right("fig3"), "full", keep=lambda method, env, seed: env == LANDER)
    assert {(v.status, v.scale) for v in judge(tmp_path, "fig3-ners", "own-law-ners").values()} == {(NO, "quick")}
    write(tmp_path, "fig3", right("fig3"), "full")
    assert {(v.status, v.scale) for v in judge(tmp_path, "fig3-ners", "own-law-ners").values()} == {(YES, "full")}


def test_claims_over_several_experiments_take_what_there_is(tmp_path):
    write(tmp_path, "table1", right("table1"), "quick", seeds=3, steps=1000)
    verdict = judge(tmp_path, "fig5-late")["fig5-late"]
    assert (verdict.status, verdict.effect) == (YES, "holds in 2 of 2, fails in 0")  # SAC on two tasks
    assert judge(tmp_path, "own-law-ners")["own-law-ners"].effect == "holds in 4 of 4, fails in 0"
    write(tmp_path, "fig3", wrong("fig3"))
    verdict = judge(tmp_path, "fig5-late")["fig5-late"]
    assert (verdict.status, verdict.scale) == (NO, "full and quick")
    assert verdict.effect == "holds in 2 of 4, fails in 2"


# ---- scores ----------------------------------------------------------------------------------------------------------


def made(curves, metric="return", method="sac ners", env=HOPPER) -> Runs:
    """Runs of one metric: curves [seeds, rows] with rows 10 steps apart; further methods as {method: curves}."""
    curves = curves if isinstance(curves, dict) else {method: curves}
    rows = [
        ("table1", "full", name, env, seed, 10 * (k + 1), metric, value, 0.1)
        for name, of in curves.items() for seed, curve in enumerate(of) for k, value in enumerate(curve)
    ]  # fmt: skip
    return Runs(pd.DataFrame(rows, columns=COLUMNS), "full")


def test_a_score_is_the_mean_of_the_last_ten_evaluations():
    runs = made([[*range(20)], [0] * 10 + [7] * 10])
    np.testing.assert_allclose(runs.score("sac ners", HOPPER), [14.5, 7.0])
    np.testing.assert_allclose(runs.score("sac ners", HOPPER, training=True), [9.5, 3.5])
    assert runs.gain("sac ners", HOPPER) == (10.75, True) and runs.steps("sac ners", HOPPER) == 200
    np.testing.assert_allclose(made([[1.0, 2.0]]).score("sac ners", HOPPER), [1.5])  # of fewer than ten: of all
    with pytest.raises(MissingData, match="no runs of sac per"):
        runs.score("sac per", HOPPER)


def test_early_and_late_are_fifths_of_the_rows():
    runs = made([[*range(10)]], "tv")
    assert (runs.early("tv", "sac ners", HOPPER), runs.late("tv", "sac ners", HOPPER)) == (0.5, 8.5)
    runs = made([[np.nan, 1.0, 2.0, 4.0]], "log_td")  # nothing was drawn before the first row
    assert (runs.early("log_td", "sac ners", HOPPER), runs.late("log_td", "sac ners", HOPPER)) == (1.0, 4.0)


def test_where_nobody_learns_nothing_is_compared(tmp_path):
    flat = lambda begin: lambda method, env: right("fig3")(method, env) | dict(begin=begin)  # noqa: E731
    write(tmp_path, "fig3", flat(1e4))
    verdict = judge(tmp_path, "fig3-ners")["fig3-ners"]
    assert verdict.status == MAYBE and NOBODY in verdict.note
    write(tmp_path, "fig3", flat(1500.0))  # NERS alone ends above that
    assert statuses(judge(tmp_path, "fig3-ners", "fig3-per")) == {"fig3-ners": YES, "fig3-per": MAYBE}


@pytest.mark.parametrize(("level", "status"), [(0.2, YES), (-0.2, YES), (0.4, NO), (-0.3, NO)])
def test_close_is_a_quarter_of_what_was_learned(level, status, tmp_path):
    """RANDOM learns 1 unit; ERO learns 1 + level. The margin is a quarter of the larger."""
    write(tmp_path, "fig3", lambda m, env: right("fig3")(m, env) | scores(m, env, {"random": 0.0, "ero": level}))
    assert judge(tmp_path, "fig3-ero")["fig3-ero"].status == status


@pytest.mark.parametrize(("score", "status"), [(2152.82 * 1.2, YES), (2152.82 * 0.8, YES), (2152.82 * 1.3, NO)])
def test_our_random_is_compared_with_the_papers_at_full_length(score, status, tmp_path):
    grid = [("td3 random", HOPPER)]
    numbers = lambda method, env: right("table1")(method, env) | dict(score=score)  # noqa: E731
    write(tmp_path, "table1", numbers, pairs=grid)
    verdict = judge(tmp_path, "own-random-baseline")["own-random-baseline"]
    assert (verdict.status, verdict.note) == (status, "TD3 Hopper only")
    write(tmp_path, "table1", numbers, pairs=grid, steps=499_000)
    assert judge(tmp_path, "own-random-baseline")["own-random-baseline"].status == NOT_RUN


@pytest.mark.parametrize(("above_best", "status"), [(600.0, YES), (100.0, NO)])
def test_half_of_the_papers_margin(above_best, status, tmp_path):
    """Hopper with TD3: +451.92 over ERO, which stays the best baseline here."""
    level = {"random": 2000.0, "per": 1500.0, "ero": 2600.0, "ners": 2600.0 + above_best}

    def numbers(method, env):
        return right("table1")(method, env) | dict(begin=0.0, score=level[method.partition(" ")[2]])

    write(tmp_path, "table1", numbers, keep=lambda m, env, seed: (m[:3], env) == ("td3", HOPPER))
    found = judge(tmp_path, "table1-margin", "table1-ners")
    assert statuses(found) == {"table1-margin": status, "table1-ners": YES}
    assert found["table1-margin"].effect == f"+{above_best:.0f}"


def test_over_all_of_training_is_another_question():
    """NERS ends best but learns last."""
    late, soon = [[0.0] * 15 + [10.0] * 5] * 3, [[4.0] * 20] * 3
    runs = made({"sac ners": late, "sac random": soon})
    assert runs.compare("sac ners", "sac random", HOPPER).status == YES
    assert runs.compare("sac ners", "sac random", HOPPER, training=True).status == NO


# ---- rules -----------------------------------------------------------------------------------------------------------


def test_rules():
    """Of a size of 100: a margin of 25."""
    intervals = [(1, 60), (-5, 5), (-40, 5), (-9, -1), (-60, -30), (26, 60)]
    expected = {
        above: [YES, MAYBE, MAYBE, NO, NO, YES],
        below: [NO, MAYBE, MAYBE, YES, YES, NO],
        no_worse: [YES, YES, MAYBE, NO, NO, YES],
        close: [MAYBE, YES, MAYBE, YES, NO, NO],
    }
    for rule, statuses_ in expected.items():
        assert [rule(*interval, 100.0) for interval in intervals] == statuses_, rule.__name__


@pytest.mark.parametrize(
    ("status", "note", "negated"),
    [
        (YES, "a: reproduced; b: reproduced", NO), (NO, "", YES), (MAYBE, "", MAYBE),
        (PARTLY, "a: reproduced; b: not reproduced", YES), (PARTLY, "a: reproduced; b: inconclusive", MAYBE),
    ],
)  # fmt: skip
def test_a_negation_holds_where_one_part_fails(status, note, negated):
    judge = opposite(lambda runs, agent, env: Verdict(status, note=note))
    assert judge(None, "sac", HOPPER).status == negated


# ---- what is drawn ---------------------------------------------------------------------------------------------------


def test_postures_are_quarters_of_the_circle():
    degrees = {"upright": (0, 44, -44, 316, 360), "horizontal": (46, 90, -90, 134, 270), "downward": (136, 180, -180)}
    for name, angles in degrees.items():
        assert [posture(np.radians(angle)) for angle in angles] == [name] * len(angles)


def two_levels(bonus: float, extra: float, per_step: int = 32, start: int = 500, stretch: int = 1000, rows: int = 10):
    """A simulated memory: never drawn transitions have `bonus` times the weight of others, half of which weigh 1 +
    extra. Returns first_time, draws, tv and steps, as a run logs them."""
    rng = np.random.default_rng(0)
    fresh = np.ones(rows * stretch, bool)
    rank = np.arange(rows * stretch) % 2 == 0
    found = []
    for row in range(rows):
        first = draws = 0
        for t in range(row * stretch + 1, (row + 1) * stretch + 1):
            if t <= start:
                continue
            n = t
            weights = np.where(fresh[:n], bonus, 1.0 + extra * rank[:n])
            slots = np.searchsorted(np.cumsum(weights), rng.random(per_step) * weights.sum())
            new = np.unique(slots[fresh[slots]])
            fresh[new] = False
            first, draws = first + len(new), draws + per_step
        weights = np.where(fresh[:n], bonus, 1.0 + extra * rank[:n])
        tv = 0.5 * np.abs(weights / weights.sum() - 1 / n).sum()
        found.append((first / max(draws, 1), draws, tv, (row + 1) * stretch))
    return np.array(found, dtype=np.float64).T


def test_the_bonus_for_the_new_explains_a_law_of_two_levels():
    assert explained(*two_levels(bonus=3.0, extra=0.0)) == pytest.approx(1.0, abs=0.2)
    assert explained(*two_levels(bonus=3.0, extra=1.0)) < 0.3  # most of it is the difference between the others


def test_explained_by_hand():
    """100 steps, one draw each, 50 of them firsts: half was never drawn. Next 100: 90 firsts: 60 of 200 never drawn."""
    value = explained(np.array([0.5, 0.9]), np.array([100, 100]), np.array([1.0, 0.8]), np.array([100, 200]))
    assert value == pytest.approx((0.9 - (0.5 + 0.3) / 2) / 0.8)


def test_the_made_up_law_is_the_one_in_the_long_run():
    """The share never drawn c and the share of first draws (1 - c) / m agree with a bonus of BONUS."""
    never = right("fig3")("sac ners", LANDER)["never"]
    drawn_first = BONUS * never / (BONUS * never + 1 - never)
    assert drawn_first == pytest.approx((1 - never) / 128, rel=1e-4)


@pytest.mark.parametrize(("tv", "status"), [(0.019, YES), (0.021, NO)])
def test_two_per_cent_from_uniform(tv, status, tmp_path):
    write(tmp_path, "fig3", lambda method, env: right("fig3")(method, env) | dict(tv=tv))
    assert judge(tmp_path, "own-law-ners")["own-law-ners"].status == status


def test_early_and_late_are_told_apart(tmp_path):
    """NERS draws higher TD errors in the first fifth of the rows only."""
    falling = lambda share: 3.0 if share < 0.3 else 0.5  # noqa: E731

    def numbers(method, env):
        return right("table1")(method, env) | (dict(log_td=falling) if method.endswith("ners") else {})

    write(tmp_path, "table1", numbers)
    found = judge(tmp_path, "fig5-early", "fig5-late")
    assert statuses(found) == {"fig5-early": YES, "fig5-late": PARTLY}
    assert "log TD: not reproduced" in found["fig5-late"].note or PARTLY in found["fig5-late"].note


# ---- the paper against itself ----------------------------------------------------------------------------------------


def test_what_the_papers_tables_say_by_count():
    assert ordering(TABLE1, "random", "per") == "5 of 6 cells"  # but for SAC on Walker2d
    assert ordering(TABLE2, "per", "random") == "10 of 16 cells"
    assert ordering(TABLE2, "ero", "random") == "7 of 16 cells"
    assert ero_apart(TABLE1) == "up to 65% apart (SAC Walker2d)"  # (3035 - 1058) / 3035


def test_labels_are_those_of_the_experiments():
    from papers.ners.evidence.experiments import EXPERIMENTS

    for experiment, pairs in GRID.items():
        assert {*pairs} <= {(entry.method, entry.env) for entry in EXPERIMENTS[experiment]("full")}, experiment
    assert {env for _, env in TABLE1} | {WALKER} == {entry.env for entry in EXPERIMENTS["table1"]("full")}
    assert {env for _, env in TABLE2} == {entry.env for entry in EXPERIMENTS["table2"]("full")}
