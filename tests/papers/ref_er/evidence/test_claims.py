"""The claims, on made-up results in which they hold, fail or are undecided, and what they are made of, by hand."""

import numpy as np
import pandas as pd
import pytest

from lab.claims import Verdict, evaluate
from lab.results import COLUMNS, MissingData, Results
from papers.ref_er.evidence import claims_ddpg
from papers.ref_er.evidence.claims import CLAIMS
from papers.ref_er.evidence.claims_ddpg import fallen
from papers.ref_er.evidence.claims_kl import factor_from_implied, largest_rise, roughness
from papers.ref_er.evidence.claims_runs import (
    NOBODY,
    Runs,
    above,
    alike,
    apart,
    hardly_worse,
    no_worse,
    similar,
    times,
    within,
)
from papers.ref_er.evidence.claims_sensitivity import FALL_PRONE, SIMPLE, STABLE, largest_memory
from papers.ref_er.evidence.claims_tasks import compared, majority, most
from papers.ref_er.evidence.experiments import EXPERIMENTS
from papers.ref_er.evidence.figures import FIGURES
from papers.ref_er.evidence.implied_kl import implied_kl
from tests.papers.ref_er.evidence.synthetic import CHEETAH, HUMANOID, RIGHT, STEPS, TASKS, WALKER, WRONG, by_task, write

BY_ID = {claim.id: claim for claim in CLAIMS}
YES, NO, MAYBE, PARTLY = "reproduced", "not reproduced", "inconclusive", "partly"


def judge(root, *names) -> dict[str, Verdict]:
    """Verdicts on the claims `names`, or on all."""
    chosen = [BY_ID[name] for name in names or BY_ID]
    return {claim.id: verdict for claim, verdict in evaluate(chosen, Results(root))}


def statuses(found) -> dict[str, str]:
    return {name: verdict.status for name, verdict in found.items()}


# ---- all claims ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("numbers", "status"), [(RIGHT, YES), (WRONG, NO)])
def test_data_that_agree_reproduce_every_claim_and_data_that_disagree_none(numbers, status, tmp_path):
    for experiment, methods in numbers.items():
        write(tmp_path, experiment, methods)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(BY_ID, status)
    for name, verdict in found.items():
        assert (verdict.seeds, verdict.scale, verdict.steps) == (5, "full", STEPS) and verdict.effect, name


def test_two_seeds_decide_nothing(tmp_path):
    for experiment, methods in RIGHT.items():
        tasks = (WALKER,) if experiment in ("fig3", "fig4", "fig8") else None
        write(tmp_path, experiment, methods, seeds=2, tasks=tasks)
    found = judge(tmp_path)
    assert statuses(found) == dict.fromkeys(BY_ID, MAYBE)
    assert {verdict.seeds for verdict in found.values()} == {2}


def test_one_run_of_each_method_is_no_obstacle(tmp_path):
    for experiment in ("fig1", "fig4"):
        write(tmp_path, experiment, RIGHT[experiment], seeds=1, tasks=(WALKER,))
    names = [name for name in BY_ID if name.startswith(("fig1", "fig2", "fig4", "fig5"))]
    found = judge(tmp_path, *names)
    assert {*statuses(found).values()} == {MAYBE, "not run"}
    assert not [name for name, v in found.items() if "nan" in v.effect + v.interval + v.note]


def test_without_results_and_with_smoke_alone_nothing_was_run(tmp_path):
    for experiment, methods in RIGHT.items():
        write(tmp_path, experiment, methods, "smoke", tasks=(WALKER,), seeds=3)
    assert statuses(judge(tmp_path)) == dict.fromkeys(BY_ID, "not run")
    (tmp_path / "full").mkdir()
    for experiment in RIGHT:
        (tmp_path / "full" / f"{experiment}.csv").write_text(",".join(COLUMNS) + "\n")
    assert statuses(judge(tmp_path)) == dict.fromkeys(BY_ID, "not run")


def test_every_claim_belongs_to_a_figure():
    assert {claim.figure for claim in CLAIMS} <= {*FIGURES} and len(BY_ID) == len(CLAIMS)


@pytest.mark.parametrize(
    ("experiment", "missing", "needs"),
    [
        ("fig3", "naf per", "fig3-per"),
        ("fig3", "naf refer-1", "fig3-rules"),
        ("fig3", "naf refer-2", "fig3-rules fig3-full fig3-full-more"),
        ("fig4", "ppo", "fig4-ppo fig4-best fig4-acer-ppo fig5-acer-others fig5-ppo"),
        ("fig4", "acer (lr 1e-05)", "fig4-acer fig4-refer-2 fig4-acer-lr fig5-acer fig5-superlinear"),
        ("fig7", "vracer refer (N 2^20)", ""),  # the largest memory is then another
        ("fig7", "vracer refer (lr 0.0003)", "fig7-lr"),
        ("fig8", "vracer refer (advantage gaussian)", "fig8-advantage"),
        ("own-kl", "vracer refer (reverse KL)", "own-kl-std own-kl-growth own-kl-return"),
    ],
)
def test_a_missing_method_is_missing_where_it_is_needed(experiment, missing, needs, tmp_path):
    for name in {"fig1", "fig3", experiment} if experiment in ("fig3", "fig4") else {experiment}:
        write(
            tmp_path, name, RIGHT[name], tasks=(CHEETAH, WALKER) if name == "fig7" else (WALKER,), seeds=3,
            keep=lambda method, env, seed: method != missing,
        )  # fmt: skip
    figures = {"fig4": ("fig4", "fig5")}.get(experiment, (experiment,))
    names = [claim.id for claim in CLAIMS if claim.figure in figures and "humanoid" not in claim.id]
    found = judge(tmp_path, *names)
    assert {name for name, verdict in found.items() if verdict.status == "not run"} == set(needs.split())


@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("fig1-complex", (HUMANOID, WALKER)),
        ("fig1-full", (WALKER,)),
        ("fig1-bang-bang", ("Swimmer-v5",)),
        ("fig2-level", (HUMANOID,)),
        ("fig7-f-humanoid", (WALKER,)),
        ("fig7-c-large", (CHEETAH,)),
        ("fig7-c-stable", (WALKER,)),
        ("fig7-lr", (WALKER,)),
        ("fig1-refer-1-zero", (WALKER, CHEETAH)),  # as many components
    ],
)
def test_claims_about_tasks_that_were_not_run_are_not_run(name, tasks, tmp_path):
    experiment = "fig7" if name.startswith("fig7") else "fig1"
    write(tmp_path, experiment, RIGHT[experiment], tasks=tasks, seeds=3)
    assert judge(tmp_path, name)[name].status == "not run"


# ---- most tasks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ("YYN", YES), ("YY?", YES), ("YNN", NO), ("YN", NO), ("YYNN", NO), ("Y??", PARTLY), ("Y?", PARTLY),
        ("YYN?", PARTLY), ("P??", PARTLY), ("???", MAYBE), ("N??", MAYBE), ("NN?", NO), ("N?", NO), ("PPN", PARTLY),
    ],
)  # fmt: skip
def test_a_majority_of_tasks_decides(parts, status):
    names = {"Y": YES, "N": NO, "?": MAYBE, "P": PARTLY}
    verdict = majority({f"task {k}": Verdict(names[part], seeds=3, scale="full") for k, part in enumerate(parts)})
    assert verdict.status == status
    assert verdict.effect == f"holds in {parts.count('Y')} of {len(parts)} tasks, fails in {parts.count('N')}"


def test_a_single_task_speaks_for_itself():
    verdict = majority({CHEETAH: Verdict(PARTLY, "+1", "[0, 2]", 4, 10, "quick", "why")})
    assert verdict == Verdict(PARTLY, "+1", "[0, 2]", 4, 10, "quick", f"{CHEETAH} only; why")


def test_a_better_scale_counts_from_as_many_tasks_on(tmp_path):
    write(tmp_path, "fig3", WRONG["fig3"], "quick", tasks=(CHEETAH, WALKER), seeds=3)
    write(tmp_path, "fig3", RIGHT["fig3"], "full", tasks=(HUMANOID,))
    found = judge(tmp_path, "fig3-refer")["fig3-refer"]
    assert (found.status, found.scale, found.seeds) == (NO, "quick", 3)
    write(tmp_path, "fig3", RIGHT["fig3"], "full", tasks=(HUMANOID, WALKER))
    found = judge(tmp_path, "fig3-refer")["fig3-refer"]
    assert (found.status, found.scale, found.seeds) == (YES, "full", 5)


def test_experiments_that_are_compared_are_of_one_scale(tmp_path):
    write(tmp_path, "fig3", RIGHT["fig3"], tasks=(WALKER,))
    write(tmp_path, "fig1", RIGHT["fig1"], "quick", tasks=(WALKER,), seeds=3)
    assert judge(tmp_path, "fig3-full-more")["fig3-full-more"].status == "not run"
    write(tmp_path, "fig3", RIGHT["fig3"], "quick", tasks=(WALKER,), seeds=3)
    found = judge(tmp_path, "fig3-full-more")["fig3-full-more"]
    assert (found.status, found.scale) == (YES, "quick")


# ---- scores ----------------------------------------------------------------------------------------------------------


def one_run(root, rows, method="m", env=WALKER, seeds=1, experiment="fig1") -> Runs:
    """Runs of ten bins of 10 steps; rows: bin -> (episodes, return), return None where there was none."""
    lines = []
    for seed in range(seeds):
        for k, (episodes, value) in enumerate(rows):
            head = (experiment, "full", method, env, seed, 10 * (k + 1))
            lines += [(*head, "episodes", episodes, 0.1)] + ([(*head, "return", value, 0.1)] if episodes else [])
    (root / "full").mkdir(exist_ok=True)
    pd.DataFrame(lines, columns=COLUMNS).to_csv(root / "full" / f"{experiment}.csv", index=False)
    return Runs(Results(root), experiment)


def test_a_score_weighs_bins_by_their_episodes(tmp_path):
    rows = [(0, None), (2, -7.0)] + [(1, 5.0)] * 6 + [(1, 10.0), (3, 20.0)]
    runs = one_run(tmp_path, rows, seeds=2)
    np.testing.assert_allclose(runs.score("m", WALKER), [17.5, 17.5])  # (10 + 3 * 20) / 4, the last two of ten bins
    np.testing.assert_allclose(runs.returns("m", WALKER), [(-14 + 30 + 70) / 12] * 2)
    np.testing.assert_allclose(runs.first("m", WALKER), [-7.0, -7.0])  # the first bin in which an episode ended
    assert runs.steps("m", WALKER) == 100
    late = one_run(tmp_path, [*rows[:8], (0, None), (3, 20.0)])
    np.testing.assert_allclose(late.score("m", WALKER), [20.0])


def test_runs_without_late_episodes_have_no_score(tmp_path):
    runs = one_run(tmp_path, [(1, 5.0)] * 8 + [(0, None)] * 2)
    with pytest.raises(MissingData, match="late enough"):
        runs.score("m", WALKER)
    runs = one_run(tmp_path, [(0, None)] * 10)
    with pytest.raises(MissingData, match="no episode"):
        runs.score("m", WALKER)
    with pytest.raises(MissingData, match="no runs of other"):
        runs.score("other", WALKER)


def test_where_nobody_learns_nothing_is_compared(tmp_path):
    numbers = {"ddpg refer": dict(score=100.0, spread=0.02), "ddpg er": dict(score=50.0)}
    write(tmp_path, "fig1", numbers, tasks=(WALKER,))
    verdict = judge(tmp_path, "fig1-refer")["fig1-refer"]
    assert (verdict.status, verdict.effect, verdict.interval) == (MAYBE, NOBODY, "")
    write(tmp_path, "fig1", numbers | {"ddpg refer": dict(score=110.0)}, tasks=(WALKER,))
    assert judge(tmp_path, "fig1-refer")["fig1-refer"].status == YES


def test_faster_is_about_all_of_training(tmp_path):
    """As good in the end, but from the first bin on: reproduced only where the whole of training is compared."""
    fast = lambda method: 2000.0 if method == "a" else 1000.0  # noqa: E731
    write(tmp_path, "fig1", {m: dict(score=fast(m)) for m in "ab"}, tasks=(WALKER,))
    path = tmp_path / "full" / "fig1.csv"
    frame = pd.read_csv(path)
    late = (frame["metric"] == "return") & (frame["step"] > 0.8 * STEPS)
    frame.loc[late, "value"] = 1000.0 + frame.loc[late, "seed"]
    frame.to_csv(path, index=False)
    results = Results(tmp_path)
    assert most("fig1", compared("a", "b"))(results).status == MAYBE
    assert most("fig1", compared("a", "b", training=True))(results).status == YES


# ---- rules -----------------------------------------------------------------------------------------------------------


def test_rules():
    """Of a larger score of 100: a margin of 10, 25 for a minor effect, 50 for a disparity."""
    intervals = [(1, 60), (-5, 5), (-30, 5), (-9, -1), (-60, -55), (-30, -26), (55, 60), (-70, 70)]
    expected = {
        above: [YES, MAYBE, MAYBE, NO, NO, NO, YES, MAYBE],
        no_worse: [YES, YES, MAYBE, NO, NO, NO, YES, MAYBE],
        hardly_worse: [YES, YES, MAYBE, YES, NO, NO, YES, MAYBE],
        alike: [MAYBE, YES, MAYBE, YES, NO, NO, NO, MAYBE],
        apart: [MAYBE, NO, NO, NO, YES, NO, YES, MAYBE],
    }
    for rule, statuses_ in expected.items():
        assert [rule(*interval, 100.0) for interval in intervals] == statuses_, rule.__name__
    assert [within(-1, 1, 2), within(-3, 1, 2), within(3, 4, 2), within(-4, -3, 2)] == [YES, MAYBE, NO, NO]


def test_rules_of_ratios():
    cases = [(2.1, 5.0), (1.5, 3.0), (0.1, 1.9), (0.6, 1.9), (0.3, 0.4)]
    assert [times(2.0)(*np.log(case), 0.0) for case in cases] == [YES, MAYBE, NO, NO, NO]
    assert [similar(2.0)(*np.log(case), 0.0) for case in cases] == [NO, MAYBE, MAYBE, YES, NO]


def test_ratios_are_of_geometric_means(tmp_path):
    runs = one_run(tmp_path, [(1, 5.0)] * 10)
    verdict = runs.ratio(np.array([1.0, 10.0, 100.0]), np.array([2.0, 2.0, 2.0]), ["m"], WALKER, times(2.0))
    assert (verdict.effect, verdict.interval, verdict.status) == ("5 times", "[0.5, 50]", MAYBE)
    verdict = runs.ratio(np.zeros(3), np.ones(3), ["m"], WALKER, times(2.0))  # a divergence of 0 is no obstacle
    assert verdict.status == NO


def test_spread_is_relative_to_the_mean(tmp_path):
    write(tmp_path, "fig1", {"a": dict(score=100.0, spread=0.4), "b": dict(score=10_000.0, spread=0.1)})
    verdict = Runs(Results(tmp_path), "fig1").spread("a", "b", WALKER)
    assert verdict.status == YES  # 1000 is more than 40, but the smaller share
    assert float(verdict.effect) == pytest.approx(0.6 * (0.4 - 0.1))  # mean distance of 5 evenly spread seeds: 3/5


# ---- divergences -----------------------------------------------------------------------------------------------------


def test_largest_rise_and_roughness():
    kl = np.array([[4.0, 2.0, 1.0, 0.5], [4.0, 2.0, 3.0, 1.0], [1.0, 1.1, 1.3, 1.2]])
    np.testing.assert_allclose(largest_rise(kl), [0.0, 0.5, 0.3])
    assert roughness(kl[:1]) == pytest.approx(0.0, abs=1e-12)  # halves each time
    np.testing.assert_allclose(roughness(kl[1:2]), [np.std(np.log([1 / 2, 3 / 2, 1 / 3]))])


def test_factor_from_the_implied_divergence():
    c_max = np.array([[5.0, 3.0], [5.0, 3.0], [2.0, 2.0]])
    implied = np.array([[implied_kl(5.0), implied_kl(3.0)]] * 2 + [[implied_kl(2.0)] * 2])
    np.testing.assert_allclose(factor_from_implied(implied, c_max), 1.0)
    away = implied * [[1.5, 1.0], [1.0, 0.25], [3.0, 0.5]]
    np.testing.assert_allclose(factor_from_implied(away, c_max), [1.5, 4.0, 3.0])


@pytest.mark.parametrize(("factor", "status"), [(1.9, YES), (2.1, NO), (0.55, YES), (0.45, NO)])
def test_the_implied_divergence_within_a_factor_of_two(factor, status, tmp_path):
    kl = RIGHT["fig1"]["ddpg refer"]["kl"]
    numbers = {"ddpg refer": dict(kl=lambda *place: factor * kl(*place))}
    write(tmp_path, "fig1", numbers, tasks=(WALKER,))
    assert judge(tmp_path, "fig2-implied")["fig2-implied"].status == status


@pytest.mark.parametrize(("far", "status"), [(0.115, YES), (0.085, YES), (0.125, NO), (0.07, NO)])
def test_the_share_of_far_samples_is_held(far, status, tmp_path):
    early = lambda env, progress, k: 0.9 if progress <= 0.2 else far  # noqa: E731  what is early does not count
    write(tmp_path, "fig1", {"ddpg refer": dict(far=early)}, tasks=(WALKER,))
    assert judge(tmp_path, "fig2-far")["fig2-far"].status == status


def test_a_decline_must_be_deep_and_smooth(tmp_path):
    flat = lambda env, progress, k: 0.2 - 0.05 * progress  # noqa: E731
    bumpy = lambda env, progress, k: 0.5 ** (k + 2 * (k == 5) * -1)  # noqa: E731
    for kl, parts in ((flat, (NO, YES)), (bumpy, (YES, NO))):
        write(tmp_path, "fig1", {"ddpg refer": dict(kl=kl)}, tasks=(WALKER,))
        verdict = judge(tmp_path, "fig2-decline")["fig2-decline"]
        assert verdict.status == PARTLY
        for name, status in zip(("last / first", "largest rise"), parts):
            assert f"{name}: {status}" in verdict.note


def test_the_papers_level_needs_runs_as_long_as_the_papers(tmp_path):
    write(tmp_path, "fig1", RIGHT["fig1"], steps=STEPS // 2)
    found = judge(tmp_path, "fig2-level", "fig2-maximum")
    assert statuses(found) == {"fig2-level": "not run", "fig2-maximum": YES}


# ---- single checks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "falls"),
    [(10.0, -1.0, True), (10.0, 1.0, False), (-10.0, -19.0, False), (-10.0, -21.0, True), (0.0, -1.0, True)],
)
def test_what_a_fall_is(first, last, falls, tmp_path):
    runs = one_run(tmp_path, [(1, first)] + [(1, last)] * 9, seeds=3)
    assert fallen(runs, "m", WALKER) == 3 * falls


def test_one_fallen_run_is_enough_and_none_is_allowed_with_refer(tmp_path):
    numbers = {"ddpg refer": dict(score=500.0), "ddpg er": dict(score=100.0, spread=2.0)}  # one of 3 seeds: -100
    write(tmp_path, "fig1", numbers, tasks=(WALKER,), seeds=3)
    verdict = judge(tmp_path, "fig1-falls")["fig1-falls"]
    assert verdict.status == YES and "plain replay: reproduced (1 runs fall in 1 tasks)" in verdict.note
    write(tmp_path, "fig1", dict.fromkeys(numbers, numbers["ddpg er"]), tasks=(WALKER,), seeds=3)
    verdict = judge(tmp_path, "fig1-falls")["fig1-falls"]
    assert verdict.status == PARTLY and "ReF-ER: not reproduced (1 runs fall in 1 tasks)" in verdict.note


def test_the_largest_memory_is_found_at_any_scale(tmp_path):
    numbers = {name: {} for name in ("vracer refer", "vracer refer (N 2^9)", "vracer refer (N 2^16)")}
    write(tmp_path, "fig7", numbers, tasks=(WALKER,), seeds=1)
    runs = Runs(Results(tmp_path), "fig7")
    assert largest_memory(runs, WALKER) == "vracer refer (N 2^16)"
    with pytest.raises(MissingData, match="another N"):
        largest_memory(runs, CHEETAH)


@pytest.mark.parametrize(
    ("slow", "fast", "status"),
    [
        (by_task(800.0, HalfCheetah=1200.0), 800.0, YES),
        (by_task(800.0, HalfCheetah=1001.0), 800.0, MAYBE),  # another is best, but not clearly
        (800.0, 800.0, NO),
        (1200.0, 800.0, NO),
    ],
)
def test_the_best_learning_rate(slow, fast, status, tmp_path):
    numbers = {
        "vracer refer": {}, "vracer refer (lr 3e-05)": dict(score=slow), "vracer refer (lr 0.0003)": dict(score=fast),
    }  # fmt: skip
    write(tmp_path, "fig7", numbers, tasks=(CHEETAH, WALKER))
    assert judge(tmp_path, "fig7-lr")["fig7-lr"].status == status


@pytest.mark.parametrize(("score", "status"), [(3500.0, YES), (1900.0, NO)])
def test_the_best_of_the_others_is_the_best_of_all_their_runs(score, status, tmp_path):
    """ACER with the lower rate has 1800, the best of the others; NAF is raised to 2500 here."""
    others = {"fig1": RIGHT["fig1"], "fig3": RIGHT["fig3"] | {"naf per": dict(score=2500.0)}}
    numbers = others | {"fig4": RIGHT["fig4"] | {"vracer refer": dict(score=score)}}
    for experiment, methods in numbers.items():
        write(tmp_path, experiment, methods, tasks=(WALKER,), seeds=3)
    verdict = judge(tmp_path, "fig4-best")["fig4-best"]
    assert verdict.status == status and "best naf per" in verdict.note


def test_methods_and_tasks_are_those_of_the_experiments():
    """But for runs that nobody has made yet."""
    planned = {"ddpg er (untuned)", "vracer refer (N 2^9)"}
    for experiment, grid in EXPERIMENTS.items():
        entries = grid("full")
        assert RIGHT[experiment].keys() - planned <= {entry.method for entry in entries}
        assert RIGHT[experiment].keys() == WRONG[experiment].keys()
        assert {*TASKS[experiment]} <= {entry.env for entry in entries}
    named = {*claims_ddpg.COMPLEX, *claims_ddpg.BANG_BANG, *claims_ddpg.REST}
    assert named == {entry.env for entry in EXPERIMENTS["fig1"]("full")}
    assert {*FALL_PRONE, *STABLE, *SIMPLE} == {entry.env for entry in EXPERIMENTS["fig7"]("full")}
