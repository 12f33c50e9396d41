"""The claims, on made-up results in which they hold, fail or are undecided, and what they are made of, by hand."""

import numpy as np
import pandas as pd
import pytest

from lab.claims import Verdict, evaluate
from lab.results import COLUMNS, Results
from lab.rooms import House
from lab.verdicts import NOBODY, above
from papers.ners.evidence.claims import CLAIMS
from papers.ners.evidence.claims_law import explained, lesser
from papers.ners.evidence.claims_returns import ero_apart, ordering
from papers.ners.evidence.claims_runs import Runs, compare
from papers.ners.evidence.figures import FIGURES
from papers.ners.evidence.paper_values import TABLE1, TABLE2, scorer_updates
from papers.ners.evidence.plan import GAMES, PLANS
from papers.ners.evidence.postures import posture
from tests.papers.judged import read_elsewhere
from tests.papers.ners.evidence.synthetic import HOPPER, LANDER, PENDULUM, right, scores, write, wrong

BY_ID = {claim.id: claim for claim in CLAIMS}
YES, NO, MAYBE, PARTLY, NOT_RUN = "reproduced", "not reproduced", "inconclusive", "partly", "not run"
ALIKE = {"own-ners-random", "own-ners-per"}


def judge(root, *names) -> dict[str, Verdict]:
    """Verdicts on the claims `names`, or on all."""
    chosen = [BY_ID[name] for name in names or BY_ID]
    return {claim.id: verdict for claim, verdict in evaluate(chosen, Results(root))}


def statuses(found) -> dict[str, str]:
    return {name: verdict.status for name, verdict in found.items()}


def status(root, name) -> str:
    return judge(root, name)[name].status


def few(method: str, env: str, seed: int) -> bool:
    """Leaves out some tasks, for speed."""
    return env not in (*GAMES[3:], "Ant-v4")


# ---- all claims ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("numbers", "expected"), [(right, YES), (wrong, NO)])
def test_data_that_agree_reproduce_every_claim_and_data_that_disagree_none(numbers, expected, tmp_path):
    """But for one: where NERS is the best, it is not where RANDOM and PER are."""
    for experiment in PLANS:
        write(tmp_path, experiment, numbers(experiment), keep=few)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(BY_ID, expected) | dict.fromkeys(ALIKE, NO)
    for name, verdict in found.items():
        assert (verdict.seeds, verdict.scale) == (3 if name in ("own-td3-lr", "own-random-baseline") else 5, "full")
        assert verdict.effect, name
    assert not read_elsewhere(House().papers()["ners"], found)


def test_two_seeds_decide_nothing(tmp_path):
    """And the two that chose TD3's learning rate are none on it."""
    for experiment in PLANS:
        write(tmp_path, experiment, right(experiment), seeds=2, keep=few)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(BY_ID, MAYBE)
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


@pytest.mark.parametrize(
    ("experiment", "missing", "needs"),
    [
        ("fig3", "ero", "fig3-ners fig3-ero fig5-others"),
        ("fig3", "ners", "fig3-ners fig5-early fig5-late own-law-ners own-law-new own-law-per own-ners-random "
         "own-ners-per own-fig5-early own-fig5-late"),
        ("fig4", "ners few", "fig4-few"),
        ("fig4", "ners no-global", "fig4-global"),
        ("table1", "per", "table1-ners table1-margin table1-per fig-c1-ners fig-c1-per fig5-others own-law-per "
         "own-ners-per"),
        ("table3", "ero", "table3-per-td table3-per-q table3-ners table3-mean-q table3-ero"),
        ("own-td3-lr", "lr 0.001", "own-td3-lr"),
    ],
)  # fmt: skip
def test_a_missing_sampler_is_missing_where_it_is_needed(experiment, missing, needs, tmp_path):
    def not_run() -> set[str]:
        return {name for name, verdict in judge(tmp_path).items() if verdict.status == NOT_RUN}

    write(tmp_path, experiment, right(experiment))
    before = not_run()
    write(tmp_path, experiment, right(experiment), keep=lambda method, env, seed: method.partition(" ")[2] != missing)
    assert not_run() - before == set(needs.split())


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
    assert status(tmp_path, "fig3-per") == PARTLY  # most of six are not judged on one


def test_claims_over_several_experiments_count_all_their_parts(tmp_path):
    write(tmp_path, "table1", right("table1"))
    found = judge(tmp_path, "fig5-late", "own-law-ners")
    assert found["fig5-late"].effect == "holds in 2 of 2; 2 of 3 parts run"
    assert found["own-law-ners"].effect == "holds in 6 of 6; 6 of 28 parts run"


# ---- comparisons -----------------------------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path):
    """Runs of one metric on Hopper: {method: curves [seeds, rows]}, rows 1,000 steps apart; seeds from `first` on."""

    def runs(curves, metric="return", first=0) -> Runs:
        rows = [
            ("table1", "full", name, HOPPER, seed, 1000 * (k + 1), metric, value, 0.1)
            for name, of in curves.items() for seed, curve in enumerate(of, first) for k, value in enumerate(curve)
        ]  # fmt: skip
        rows += [(*row[:6], "score", *row[7:]) for row in rows if metric == "return"]
        (tmp_path / "full").mkdir(exist_ok=True)
        pd.DataFrame(rows, columns=COLUMNS).to_csv(tmp_path / "full" / "table1.csv", index=False)
        return Runs(Results(tmp_path), "table1")

    return runs


def rising(*ends: float) -> list[list[float]]:
    """Curves that stay at 0 for a random phase of 5 rows and then rise to their ends within 5 more."""
    return [[0.0] * 5 + [end * min(k / 5, 1.0) for k in range(1, 16)] for end in ends]


def ends(runs: Runs, x: str, y: str, **how) -> str:
    return compare(runs, "sac", HOPPER, x, y, lambda margin: above(), **how).status


def test_runs_of_one_seed_are_paired(made):
    """Where an episode starts moves a seed's returns by tens, for both samplers; NERS is always about 2 higher."""
    starts = np.array([10.0, 80.0, 40.0, 60.0])
    runs = made({"sac ners": rising(*(starts + [2.0, 1.8, 2.1, 2.2])), "sac random": rising(*starts)})
    assert ends(runs, "ners", "random") == YES
    runs = made({"sac ners": rising(12.0, 81.8, 42.1, 62.2), "sac random": rising(*starts[::-1])})
    assert ends(runs, "ners", "random") == MAYBE
    runs = made({"sac ners": rising(9.9, 10.0, 10.1, 10.2), "sac random": rising(7.0, 7.1, 7.2, 7.3, 99.0)})
    assert ends(runs, "ners", "random") == YES  # a seed that only one of them has is left out


@pytest.mark.parametrize(
    ("per", "expected"),
    [((7.0, 7.1, 7.2), YES), ((13.0, 13.1, 13.2), NO), ((1.0, 10.0, 19.0), MAYBE)],
)
def test_the_best_is_above_each_of_the_others(per, expected, tmp_path):
    """To be above two of three says nothing where the third is above, and leaves it open where it may be."""
    level = {"ners": (10.0, 10.1, 10.2), "random": (5.0, 5.1, 5.2), "ero": (6.0, 6.2, 6.1), "per": per}
    rows = [
        ("fig3", "quick", f"sac {sampler}", PENDULUM, seed, 1000 * (k + 1), "score", value, 0.1)
        for sampler, of in level.items() for seed, curve in enumerate(rising(*of)) for k, value in enumerate(curve)
    ]  # fmt: skip
    (tmp_path / "quick").mkdir()
    pd.DataFrame(rows, columns=COLUMNS).to_csv(tmp_path / "quick" / "fig3.csv", index=False)
    [part] = [p for p in judge(tmp_path, "fig3-ners")["fig3-ners"].parts.values() if p.status != NOT_RUN]
    assert part.status == expected


def test_a_score_is_the_mean_of_the_last_ten_or_of_the_last_fifth(made):
    runs = made({"sac ners": [[*range(30)], [0] * 24 + [7] * 6]})
    np.testing.assert_allclose(runs.score("sac ners", HOPPER), [26.5, 7.0])
    assert made({"sac ners": [[*range(100)]]}).score("sac ners", HOPPER) == 94.5
    assert made({"sac ners": [[*range(10)]]}).score("sac ners", HOPPER) == 8.5
    assert made({"sac ners": [[3.0]]}).score("sac ners", HOPPER) == 3.0


def test_early_and_late_are_fifths_of_the_rows(made):
    runs = made({"sac ners": [[*range(10)]]}, "tv")
    assert (runs.early("tv", "sac ners", HOPPER), runs.late("tv", "sac ners", HOPPER)) == (0.5, 8.5)


def test_what_was_learned_is_counted_from_the_random_phase(made):
    """A first evaluation that starts well is not what a policy can do before it learns."""
    lucky = [[9.0, 0.0, 0.0, 0.0, 0.0, *[8.0] * 10]] * 3
    found = made({"sac ners": lucky, "rainbow ners": lucky})
    assert found.learns("sac ners", HOPPER).learns and found.learns("sac ners", HOPPER).gain == pytest.approx(6.2)
    assert not found.learns("rainbow ners", HOPPER).learns  # only 1,600 steps are random there


def test_where_nobody_learns_nothing_is_compared(tmp_path):
    flat = lambda begin: lambda method, env: right("fig3")(method, env) | dict(begin=begin)  # noqa: E731
    write(tmp_path, "fig3", flat(1e4))
    verdict = judge(tmp_path, "fig3-per")["fig3-per"]
    assert verdict.status == MAYBE and NOBODY in verdict.note
    write(tmp_path, "fig3", flat(1500.0))  # NERS alone ends above that
    assert statuses(judge(tmp_path, "fig3-ners", "fig3-per")) == {"fig3-ners": YES, "fig3-per": MAYBE}


@pytest.mark.parametrize(("level", "expected"), [(0.15, YES), (-0.15, YES), (0.35, NO), (-0.25, NO)])
def test_close_is_a_fifth_of_what_was_learned(level, expected, tmp_path):
    """RANDOM learns 1 unit; ERO and NERS learn 1 + level. The margin is a fifth of the larger."""
    levels = {"random": 0.0, "ero": level, "ners": level}
    write(tmp_path, "fig3", lambda m, env: right("fig3")(m, env) | scores(m, env, levels))
    assert [status(tmp_path, name) for name in ("fig3-ero", "own-ners-random")] == [expected] * 2


def test_over_all_of_training_is_another_question(made):
    """NERS ends best but learns last."""
    runs = made({"sac ners": [[0.0] * 9 + [10.0] * 11] * 3, "sac random": [[0.0] * 5 + [9.0] * 15] * 3})
    assert ends(runs, "ners", "random") == YES and ends(runs, "ners", "random", whole=True) == NO


# ---- beside the paper's numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "expected"), [(1.2, YES), (0.8, YES), (1.3, NO)])
def test_our_random_is_compared_with_the_papers_at_full_length(share, expected, tmp_path):
    """On Hopper with TD3 by other seeds than those whose return chose its learning rate."""

    def level(method, env):
        return right("table1")(method, env) | dict(score=2152.82 * share)

    only = lambda m, env, seed: (m, env) == ("td3 random", HOPPER)  # noqa: E731
    write(tmp_path, "table1", level, keep=only)
    verdict = judge(tmp_path, "own-random-baseline")["own-random-baseline"]
    assert verdict.parts["TD3 Hopper"].status == expected and verdict.seeds == 3
    write(tmp_path, "table1", level, steps=499_000, keep=only)
    assert status(tmp_path, "own-random-baseline") == NOT_RUN


@pytest.mark.parametrize(("above_best", "expected"), [(600.0, YES), (100.0, NO)])
def test_half_of_the_papers_margin(above_best, expected, tmp_path):
    """Hopper with TD3: +451.92 over ERO, which stays the best baseline here."""
    level = {"random": 2000.0, "per": 1500.0, "ero": 2600.0, "ners": 2600.0 + above_best}

    def numbers(method, env):
        return right("table1")(method, env) | dict(begin=0.0, score=level[method.partition(" ")[2]])

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


def test_the_paper_compares_scores_from_fixed_starts_and_rainbows_games(made):
    """What makes SAC's replay rewards, one episode at a time, judges nothing."""
    runs = made({"sac ners": [[1.0] * 10], "rainbow ners": [[1.0] * 10]})
    frame = runs.frame.copy()
    frame.loc[frame["metric"] == "return", "value"] = 5.0
    runs.groups = {pair: rows for pair, rows in frame.groupby(["method", "env"])}
    assert runs.score("sac ners", HOPPER) == 1.0 and runs.score("rainbow ners", HOPPER) == 5.0
    assert runs.height("sac ners", HOPPER) == 1.0 and runs.height("rainbow ners", HOPPER) == 5.0


@pytest.mark.parametrize(("mean", "sd", "expected"), [(35.0, 900.0, YES), (25.0, 900.0, PARTLY), (1.0, 10.0, NO)])
def test_table_3_is_as_printed_within_a_factor_of_two(mean, sd, expected, tmp_path):
    """62.43 and 528.76."""

    def numbers(method, env):
        ours = dict(td2_mean=mean, td2_sd=sd) if method == "sac random terminal" else {}
        return right("table3")(method, env) | ours

    write(tmp_path, "table3", numbers)
    assert statuses(judge(tmp_path, "own-table3-terminal", "own-table3-bootstrap")) == {
        "own-table3-terminal": expected, "own-table3-bootstrap": YES,
    }  # fmt: skip


def test_a_reading_that_departs_is_named(tmp_path):
    def numbers(method, env):
        away = method.endswith(("tanh", "environment"))  # of which the second is no part of the claim
        return right("own-law")(method, env) | (dict(tv_replayed=0.3) if away else {})

    write(tmp_path, "own-law", numbers)
    verdict = judge(tmp_path, "own-law-readings")["own-law-readings"]
    assert verdict.status == PARTLY and "ners tanh: not reproduced" in verdict.note
    assert "environment" not in verdict.note


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
    """And that law's distance is the one of diagnostics.py, (1 - s) / (m + s)."""
    first, draws, tv, steps = two_levels(bonus=3.0, extra=0.0)
    assert explained(first, draws, tv, steps) == pytest.approx(1.0, abs=0.2)
    assert tv[-3:].mean() == pytest.approx((1 - 1 / 3) / (32 + 1 / 3), rel=0.1)
    assert explained(*two_levels(bonus=3.0, extra=1.0)) < 0.3  # most of it is the difference between the others


def test_explained_by_hand():
    """100 steps, one draw each, 50 of them firsts: half was never drawn. Next 100: 90 firsts: 60 of 200 never drawn."""
    value = explained(np.array([0.5, 0.9]), np.array([100, 100]), np.array([1.0, 0.8]), np.array([100, 200]))
    assert value == pytest.approx((0.9 - (0.5 + 0.3) / 2) / 0.8)


@pytest.mark.parametrize(("tv", "expected"), [(0.019, YES), (0.021, NO)])
def test_two_per_cent_from_uniform_among_replayed_transitions(tv, expected, tmp_path):
    """The whole law's distance, bounded by the bonus, does not count; how much the networks have learnt is said."""
    write(tmp_path, "fig3", lambda method, env: right("fig3")(method, env) | dict(tv=0.004, tv_replayed=tv))
    verdict = judge(tmp_path, "own-law-ners")["own-law-ners"]
    assert verdict.status == expected
    assert verdict.parts["SAC Pendulum*"].note == "75 steps of NERS's networks, the paper's runs 2,475"
    assert [scorer_updates("sac", LANDER), scorer_updates("rainbow", "Alien")] == [495, 99]


def test_without_the_law_among_replayed_transitions_it_is_not_run(tmp_path):
    def numbers(method, env):
        return {name: value for name, value in right("fig3")(method, env).items() if name != "tv_replayed"}

    write(tmp_path, "fig3", numbers)
    assert statuses(judge(tmp_path, "own-law-ners", "own-law-new")) == {"own-law-ners": NOT_RUN, "own-law-new": YES}


@pytest.mark.parametrize(
    ("log_td", "q", "expected"),
    [
        ((3.0, 0.5), -104.0, {"fig5-early": YES, "fig5-late": NO}),  # high Q alone is what a better policy has anyway
        ((0.5, 3.0), -104.0, {"fig5-early": NO, "fig5-late": YES}),
        ((0.5, 3.0), -200.0, {"fig5-early": NO, "fig5-late": PARTLY}),
    ],
)
def test_early_and_late_td_errors_and_q(log_td, q, expected, tmp_path):
    early, late = log_td

    def numbers(method, env):
        ours = dict(log_td=lambda share: early if share < 0.3 else late, q_mean=q)
        return right("table1")(method, env) | (ours if method.endswith("ners") else {})

    write(tmp_path, "table1", numbers)
    assert statuses(judge(tmp_path, *expected)) == expected


def test_not_both_is_decided_by_the_lesser_difference(tmp_path):
    """PER has much higher TD errors than RANDOM and a slightly lower Q; then a slightly higher one."""
    for q, expected in ((-121.0, YES), (-119.0, NO)):
        write(tmp_path, "table1", lambda m, env, q=q: right("table1")(m, env) | (dict(q_mean=q) if "per" in m else {}))
        verdict = lesser(Runs(Results(tmp_path), "table1"), "sac", HOPPER, "per")
        assert (verdict.status, verdict.note) == (expected, "Q")


# ---- the paper against itself ----------------------------------------------------------------------------------------


def test_what_the_papers_tables_say_by_count():
    assert ordering(TABLE1, "random", "per") == "5 of 6 cells"  # but for SAC on Walker2d
    assert ordering(TABLE2, "per", "random") == "10 of 16 cells"
    assert ordering(TABLE2, "ero", "random") == "7 of 16 cells"
    assert ero_apart(TABLE1) == "up to 65% apart (SAC Walker2d)"  # (3035 - 1058) / 3035
