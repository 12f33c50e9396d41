"""The claims, on made-up results in which they hold, fail or are undecided, and what they are made of, by hand."""

import numpy as np
import pandas as pd
import pytest

from lab.judge.comparisons import Runs
from lab.judge.results import Results
from lab.judge.verdicts import NOBODY
from lab.rooms import House
from papers.ners.evidence.claims import CLAIMS, SUMMARY
from papers.ners.evidence.claims_law import explained, left_uniform
from papers.ners.evidence.claims_runs import ROOM, THROUGHOUT, beyond, early, ero_apart, height, late, ordering, score
from papers.ners.evidence.figures import FIGURES
from papers.ners.evidence.paper_values import BASELINES, TABLE1, TABLE2, scorer_updates
from papers.ners.evidence.plan import GAMES, PLANS, files
from papers.ners.evidence.postures import posture
from tests.papers.judged import Judged, read_elsewhere, save, statuses
from tests.papers.ners.evidence.synthetic import HOPPER, LANDER, PENDULUM, right, write, wrong

IDS = [claim.id for claim in CLAIMS]
YES, NO, MAYBE, PARTLY, NOT_RUN = "reproduced", "not reproduced", "inconclusive", "partly", "not run"
ALIKE = {"own-ners-random", "own-fig3-random", "own-ners-per", "own-hopper-end", "own-hopper-area"}


def judge(root, *names) -> Judged:
    """Verdicts on the claims `names`, or on all."""
    return Judged(CLAIMS, Results(root), names or None)


def few(method: str, env: str, seed: int) -> bool:
    """Leaves out some tasks, for speed."""
    return env not in (*GAMES[3:], "Ant-v4")


def but(experiment: str, change):
    """Numbers with which it all holds, but for what `change` makes of a method on a task."""
    return lambda method, env: right(experiment)(method, env) | change(method, env)


# ---- all claims ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("numbers", "expected"), [(right, YES), (wrong, NO)])
def test_data_that_agree_reproduce_every_claim_and_data_that_disagree_none(numbers, expected, tmp_path):
    """But for these: where NERS is the best, it is not where RANDOM and PER are."""
    for experiment in PLANS:
        write(tmp_path, experiment, numbers(experiment), keep=few)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(IDS, expected) | dict.fromkeys(ALIKE, NO)
    for name, verdict in found.items():
        assert (verdict.seeds, verdict.scale) == (3 if name in ("own-td3-lr", "own-random-baseline") else 5, "full")
        assert verdict.effect, name
    assert not read_elsewhere(House().papers()["ners"], found)


def test_two_seeds_decide_nothing(tmp_path):
    """And the two that chose TD3's learning rate are none on it."""
    for experiment in PLANS:
        write(tmp_path, experiment, right(experiment), seeds=2, keep=few)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(IDS, MAYBE)
    assert all("TD3 Hopper: not run" in found[name].note for name in ("own-random-baseline", "own-td3-lr"))
    assert not [name for name, v in found.items() if "nan" in v.effect + v.interval + v.note]


def test_what_quick_runs_can_decide(tmp_path):
    """Numbers are compared at the paper's length only, and none of Fig. 5's tasks is run."""
    for experiment in PLANS:
        write(tmp_path, experiment, right(experiment), "quick", seeds=3, first=10, steps=20_000)
    found = judge(tmp_path)
    not_run = {name for name, verdict in found.items() if verdict.status == NOT_RUN}
    assert not_run == {
        "table1-margin", "own-random-baseline", "own-random-baseline-atari", "table2-margin", "fig5-early", "fig5-late",
        "fig5-others",
    } == {claim.id for claim in CLAIMS if claim.scale == "full"}  # fmt: skip
    assert found["own-law-ners"].effect == "holds in 5 of 5" and found["own-fig5-late"].effect == "holds in 2 of 2"
    assert found["own-td3-lr"].seeds == 3  # none of them chose the rate


def test_every_claim_belongs_to_a_figure_and_every_figure_has_one():
    assert {claim.figure for claim in CLAIMS} == {*FIGURES}


def test_superlatives_need_all_samplers(tmp_path):
    for experiment in ("fig3", "table3"):
        write(tmp_path, experiment, right(experiment), keep=lambda method, env, seed: " ero" not in method)
    found = judge(tmp_path, "fig3-ners", "table3-per-td", "table3-ners", "own-table3-ners", "fig5-others", "fig3-per")
    assert statuses(found) == dict.fromkeys(found, NOT_RUN) | {"fig3-per": YES}


@pytest.mark.parametrize("far", [("sac", "td3"), ("td3",)])
def test_that_ners_ends_where_random_does_is_said_of_both_agents_or_not_at_all(far, tmp_path):
    """It ends 2,000 above RANDOM with some agent, and with each below ERO, which alone refutes the paper's claim."""
    level = {"ners": 3000.0, "ero": 9000.0}
    above = lambda m, env: dict(score=level.get(m[4:], 1000.0)) if m[:3] in far else {}  # noqa: E731
    alike = lambda m, env: dict(score=1000.0) if m[4:] != "ero" else dict(score=9000.0)  # noqa: E731
    write(tmp_path, "fig3", but("fig3", lambda m, env: alike(m, env) | above(m, env)), "quick", first=10)
    found = judge(tmp_path, "fig3-ners", "own-fig3-random")
    assert statuses(found) == {"fig3-ners": NO, "own-fig3-random": NO if len(far) == 2 else PARTLY}
    [rests] = [verdicts for text, verdicts in SUMMARY.items() if "RANDOM" in text]
    assert not all(found[name].status == status for status, names in rests.items() for name in names)


# ---- agents and tasks ------------------------------------------------------------------------------------------------


def test_parts_are_what_is_planned(tmp_path):
    """A claim about each cell holds partly where one fails; one about most of them holds; what was not run is said."""
    one_wrong = lambda m, env: (wrong if (m[:3], env) == ("td3", PENDULUM) else right)("fig3")(m, env)  # noqa: E731
    write(tmp_path, "fig3", one_wrong, keep=lambda m, env, seed: env in (PENDULUM, LANDER))
    found = judge(tmp_path, "fig3-ners", "fig3-per")
    assert statuses(found) == {"fig3-ners": PARTLY, "fig3-per": YES}
    assert found["fig3-ners"].effect == "holds in 3 of 4, fails in 1; 4 of 6 parts run"
    assert "TD3 BipedalWalker: not run" in found["fig3-ners"].note
    write(tmp_path, "fig3", right("fig3"), keep=lambda m, env, seed: m.startswith("sac") and env == LANDER)
    assert judge(tmp_path, "fig3-per")["fig3-per"].status == PARTLY  # most of six are not judged on one


# ---- comparisons -----------------------------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path):
    """Runs of one metric on Hopper: {method: curves [seeds, rows]}, rows 1,000 steps apart."""

    def runs(curves, metric="score") -> Runs:
        rows = [
            ("table1", "full", name, HOPPER, seed, 1000 * (k + 1), metric, value, 0.1)
            for name, of in curves.items() for seed, curve in enumerate(of) for k, value in enumerate(curve)
        ]  # fmt: skip
        rows += [(*row[:6], "return", row[7] + 5.0, 0.1) for row in rows if metric == "score"]
        save(tmp_path, rows)
        found = ROOM.runs(Results(tmp_path), "table1")
        found.prefix = "sac "
        return found

    return runs


@pytest.mark.parametrize(
    ("per", "expected"),
    [((7.0, 7.1, 7.2), YES), ((13.0, 13.1, 13.2), NO), ((1.0, 10.0, 19.0), MAYBE)],
)
def test_the_best_is_above_each_of_the_others(per, expected, made):
    """To be above two of three says nothing where the third is above, and leaves it open where it may be."""
    level = {"ners": (10.0, 10.1, 10.2), "random": (5.0, 5.1, 5.2), "ero": (6.0, 6.2, 6.1), "per": per}
    runs = made({f"sac {name}": [[0.0] * 5 + [end] * 15 for end in of] for name, of in level.items()})
    assert beyond("ners", ">", BASELINES)(runs, HOPPER).status == expected


@pytest.mark.parametrize(("rows", "expected"), [(range(30), 26.5), (range(100), 94.5), (range(10), 8.5), ([3.0], 3.0)])
def test_a_score_is_the_mean_of_the_last_ten_or_of_the_last_fifth(rows, expected, made):
    """Of SAC's from fixed starts: what makes its replay rewards judges nothing. Of Rainbow's, its evaluations."""
    runs = made({"sac ners": [[*rows]], "rainbow ners": [[*rows]]})
    assert [score(runs, method, HOPPER) for method in ("sac ners", "rainbow ners")] == [expected, expected + 5.0]
    assert height(runs, "rainbow ners", HOPPER) == height(runs, "sac ners", HOPPER) + 5.0


def test_early_and_late_are_fifths_of_the_rows(made):
    runs = made({"sac ners": [[*range(10)]]}, "tv")
    assert [measure("tv")(runs, "sac ners", HOPPER) for measure in (early, late)] == [0.5, 8.5]


def test_what_was_learned_is_counted_from_the_random_phase(made):
    """A first evaluation that starts well is not what a policy can do before it learns."""
    lucky = [[9.0, 0.0, 0.0, 0.0, 0.0, *[8.0] * 10]] * 3
    found = made({"sac ners": lucky, "rainbow ners": lucky})
    assert found.learns("sac ners", HOPPER).learns and found.learns("sac ners", HOPPER).gain == pytest.approx(6.2)
    assert not found.learns("rainbow ners", HOPPER).learns  # only 1,600 steps are random there


def test_where_nobody_learns_nothing_is_compared(tmp_path):
    write(tmp_path, "fig3", but("fig3", lambda method, env: dict(begin=1500.0)))  # NERS alone ends above that
    found = judge(tmp_path, "fig3-ners", "fig3-per")
    assert statuses(found) == {"fig3-ners": YES, "fig3-per": MAYBE} and NOBODY in found["fig3-per"].note


def test_over_all_of_training_is_another_question(made):
    """NERS ends best but learns last."""
    runs = made({"sac ners": [[0.0] * 9 + [10.0] * 11] * 3, "sac random": [[0.0] * 5 + [9.0] * 15] * 3})
    assert [runs.compare("ners", ">", "random", HOPPER, by).status for by in (None, THROUGHOUT)] == [YES, NO]


# ---- beside the paper's numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "expected"), [(1.2, YES), (0.8, YES), (1.3, NO)])
def test_our_random_is_compared_with_the_papers_at_full_length(share, expected, tmp_path):
    """On Hopper with TD3 by other seeds than those whose return chose its learning rate."""
    level = but("table1", lambda method, env: dict(score=2152.82 * share))
    only = lambda m, env, seed: (m, env) == ("td3 random", HOPPER)  # noqa: E731
    write(tmp_path, "table1", level, keep=only)
    verdict = judge(tmp_path, "own-random-baseline")["own-random-baseline"]
    assert verdict.parts["TD3 Hopper"].status == expected and verdict.seeds == 3
    write(tmp_path, "table1", level, steps=499_000, keep=only)
    assert judge(tmp_path, "own-random-baseline")["own-random-baseline"].status == NOT_RUN


@pytest.mark.parametrize(("above_best", "expected"), [(600.0, YES), (100.0, NO)])
def test_half_of_the_papers_margin(above_best, expected, tmp_path):
    """Hopper with TD3: +451.92 over ERO, which stays the best baseline here."""
    level = {"random": 2000.0, "per": 1500.0, "ero": 2600.0, "ners": 2600.0 + above_best}
    numbers = but("table1", lambda method, env: dict(begin=0.0, score=level[method.partition(" ")[2]]))
    write(tmp_path, "table1", numbers, keep=lambda m, env, seed: (m[:3], env) == ("td3", HOPPER))
    found = judge(tmp_path, "table1-margin", "table1-ners")
    parts = {name: verdict.parts["TD3 Hopper"].status for name, verdict in found.items()}
    assert parts == {"table1-margin": expected, "table1-ners": YES}


def test_the_seeds_that_chose_the_learning_rate_do_not_judge_it(tmp_path):
    """On Hopper seeds 0 and 1 speak for the rate of 0.001, the others do not learn with it."""
    write(tmp_path, "own-td3-lr", right("own-td3-lr"))
    path = tmp_path / "full" / "own-td3-lr.csv"
    frame = pd.read_csv(path)
    flat = (frame["seed"] >= 2) & (frame["method"] == "td3 lr 0.001") & (frame["env"] == HOPPER)
    flat &= frame["metric"] == "score"
    frame.loc[flat, "value"] = 0.0
    frame.to_csv(path, index=False)
    verdict = judge(tmp_path, "own-td3-lr")["own-td3-lr"]
    assert verdict.status == PARTLY and "TD3 Hopper: not reproduced" in verdict.note and verdict.seeds == 3


# ---- what is drawn ---------------------------------------------------------------------------------------------------


def test_more_often_than_uniform_draws_is_not_mostly(tmp_path):
    """The paper says that draws by TD error mostly hang down, and that uniform ones are the most horizontal."""
    ranges = {"td": (1.2, 3.1), "q": (0.0, 1.0), "uniform": (0.0, 1.5)}
    write(tmp_path, "fig1", lambda method, env: ranges)
    assert statuses(judge(tmp_path, "fig1-td", "fig1-q", "fig1-uniform", "own-fig1-td", "own-fig1-q")) == {
        "fig1-td": NO, "fig1-q": YES, "fig1-uniform": PARTLY, "own-fig1-td": YES, "own-fig1-q": YES,
    }  # fmt: skip


@pytest.mark.parametrize(("mean", "sd", "expected"), [(35.0, 900.0, YES), (25.0, 900.0, PARTLY), (1.0, 10.0, NO)])
def test_table_3_is_as_printed_within_a_factor_of_two(mean, sd, expected, tmp_path):
    """62.43 and 528.76."""
    ours = dict(td2_mean=mean, td2_sd=sd)
    write(tmp_path, "table3", but("table3", lambda method, env: ours if method == "sac random terminal" else {}))
    assert statuses(judge(tmp_path, "own-table3-terminal", "own-table3-bootstrap")) == {
        "own-table3-terminal": expected, "own-table3-bootstrap": YES,
    }  # fmt: skip


def test_a_reading_that_departs_is_named(tmp_path):
    """The environment's step as time is no part of the claim."""
    away = lambda m, env: dict(tv_replayed=0.3) if m.endswith(("tanh", "environment")) else {}  # noqa: E731
    write(tmp_path, "own-law", but("own-law", away))
    verdict = judge(tmp_path, "own-law-readings")["own-law-readings"]
    assert verdict.status == PARTLY and "ners tanh: not reproduced" in verdict.note
    assert "environment" not in verdict.note


def test_postures_are_quarters_of_the_circle():
    degrees = {"upright": (0, 44, -44, 316, 360), "horizontal": (46, 90, -90, 134, 270), "downward": (136, 180, -180)}
    for name, angles in degrees.items():
        assert [posture(np.radians(angle)) for angle in angles] == [name] * len(angles)


def test_the_bonus_for_the_new_explains_a_law_of_two_levels():
    """A share c of the memory was never drawn and has three times the weight of the rest: P = 3 c / (3 c + 1 - c)."""
    c, steps = 0.1, np.arange(1, 21) * 100.0
    P = 3 * c / (3 * c + 1 - c)
    first, draws = np.full(20, P), np.full(20, 100 * (1 - c) / P)  # of 100 steps, so many firsts that c stays
    tv = 0.5 * (c * (P / c - 1) + (1 - c) * (1 - (1 - P) / (1 - c)))
    assert explained(first, draws, np.full(20, tv), steps) == pytest.approx(1.0)


def test_explained_by_hand():
    """100 steps, one draw each, 50 of them firsts: half was never drawn. Next 100: 90 firsts: 60 of 200 never drawn."""
    value = explained(np.array([0.5, 0.9]), np.array([100, 100]), np.array([1.0, 0.8]), np.array([100, 200]))
    assert value == pytest.approx((0.9 - (0.5 + 0.3) / 2) / 0.8)


@pytest.mark.parametrize(("tv", "expected"), [(0.019, YES), (0.021, NO)])
def test_two_per_cent_from_uniform_among_replayed_transitions(tv, expected, tmp_path):
    """The whole law's distance, bounded by the bonus, does not count; how much the networks have learnt is said."""
    write(
        tmp_path,
        "fig3",
        but("fig3", lambda method, env: dict(tv=0.004, tv_replayed=lambda share: tv if share == 1 else 0.04 - tv)),
    )
    verdict = judge(tmp_path, "own-law-ners")["own-law-ners"]
    assert verdict.status == expected
    assert verdict.parts["SAC Pendulum*"].note == "75 steps of NERS's networks, the paper's runs 2,475"
    assert [scorer_updates("sac", LANDER), scorer_updates("rainbow", "Alien")] == [495, 99]


@pytest.mark.parametrize(
    ("tv", "some", "most"),
    [
        ((0.05, 0.09, 0.02), NO, NO),
        ((0.05, 0.8, 0.2, 0.0), YES, NO),
        ((0.11, 0.8, 0.0), YES, YES),
        ((0.8,), *[MAYBE] * 2),
    ],
)
def test_laws_that_left_uniform_are_counted_seed_by_seed(tv, some, most, made):
    """At the end: the first four fifths do not matter."""
    runs = made({"sac ners": [[0.5] * 4 + [end] for end in tv]}, "tv")
    found = [left_uniform("ners", late("tv"), 0.1, share)(runs, HOPPER) for share in (0.0, 0.5)]
    assert [verdict.status for verdict in found] == [some, most]


@pytest.mark.parametrize(("begin", "tv", "area", "law"), [(0.0, 0.3, YES, YES), (-1e4, 0.05, NO, NO)])
def test_on_the_sparse_pendulum_the_area_is_judged_beside_the_end(begin, tv, area, law, tmp_path):
    """NERS ends above RANDOM, but may have begun far below it. Ten seeds lie in two files; half are not most."""
    for first, name, last in zip((40, 45), files("own-time"), (0.3, tv)):
        ours = dict(begin=begin, tv=last)
        numbers = but("own-time", lambda m, env, ours=ours: ours if m == "td3 ners environment" else {})
        write(tmp_path, name, numbers, "quick", first=first)
    found = judge(tmp_path, "own-time-law", "own-time-area", "own-time-end")
    assert statuses(found) == {"own-time-law": law, "own-time-area": area, "own-time-end": YES}
    assert {verdict.seeds for verdict in found.values()} == {10}


@pytest.mark.parametrize(
    ("log_td", "q", "expected"),
    [
        ((3.0, 0.5), -104.0, {"fig5-early": YES, "fig5-late": NO}),  # high Q alone is what a better policy has anyway
        ((0.5, 3.0), -104.0, {"fig5-early": NO, "fig5-late": YES}),
        ((0.5, 3.0), -200.0, {"fig5-early": NO, "fig5-late": PARTLY}),
    ],
)
def test_early_and_late_td_errors_and_q(log_td, q, expected, tmp_path):
    ours = dict(log_td=lambda share: log_td[share > 0.3], q_mean=q)
    write(tmp_path, "table1", but("table1", lambda method, env: ours if method.endswith("ners") else {}))
    assert statuses(judge(tmp_path, *expected)) == expected


@pytest.mark.parametrize(("q", "expected"), [(-121.0, YES), (-119.0, PARTLY)])
def test_not_both_is_decided_by_the_lesser_difference(q, expected, tmp_path):
    """PER has much higher TD errors than RANDOM and a slightly lower Q; then a slightly higher one. ERO has neither."""
    write(tmp_path, "table1", but("table1", lambda method, env: dict(q_mean=q) if "per" in method else {}))
    part = judge(tmp_path, "fig5-others")["fig5-others"].parts["SAC Ant"]
    assert part.status == expected and part.parts["PER"].note == "Q"


# ---- the paper against itself ----------------------------------------------------------------------------------------


def test_what_the_papers_tables_say_by_count():
    assert ordering(TABLE1, "random", "per") == "5 of 6 cells"  # but for SAC on Walker2d
    assert ordering(TABLE2, "per", "random") == "10 of 16 cells"
    assert ordering(TABLE2, "ero", "random") == "7 of 16 cells"
    assert ero_apart(TABLE1) == "up to 65% apart (SAC Walker2d)"  # (3035 - 1058) / 3035
