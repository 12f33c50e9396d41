"""Verdicts on data of which a person knows what they say."""

import numpy as np
import pytest

from lab.judge.intervals import above, difference
from lab.judge.results import MissingData
from lab.judge.verdicts import (
    NO_CONTROL,
    NOBODY,
    STATUSES,
    Verdict,
    all_of,
    controlled,
    decide,
    false_discovery_threshold,
    gated,
    judged,
    learning,
    most_of,
    status_after,
)

R, P, N, Q, U = STATUSES


# ---- one comparison --------------------------------------------------------------------------------------------------

UNCLEAR = ([1.0, 5.0, 3.0], [2.0, 4.0, 0.0])
LOWER = ([1.0, 1.1, 0.9], [3.0, 3.1, 2.9])
HIGHER = LOWER[::-1]


@pytest.mark.parametrize(
    ("x", "y", "rule", "status"),
    [
        (*HIGHER, above(), "reproduced"),
        (*LOWER, above(), "not reproduced"),
        (*UNCLEAR, above(), "inconclusive"),
        ([9.0, 9.1], [1.0, 1.1], above(), "inconclusive"),  # two runs
        ([9.0], [1.0], above(), "inconclusive"),
        ([1.0, 1.0, np.nan], [0.0, 0.0, 0.0], above(), "inconclusive"),
        ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0], above(), "inconclusive"),
        ([1.0, 0.0, 1.0], [0.0, 0.0, 1.0], above(), "inconclusive"),  # two of three against one of three
    ],
)
def test_decisions_on_hand_made_scores(x, y, rule, status):
    assert decide(difference(x, y), rule).status == status


def test_a_verdict_prints_what_it_rests_on():
    verdict = decide(difference([3, 4, 5], [1, 1, 1]), above(), steps=1000, scale="quick", note="end")
    assert verdict == Verdict("reproduced", "+3", "[+0.516, +5.48]", 3, 1000, "quick", "end", p=verdict.p)
    few = decide(difference([3, 4], [1, 1]), above(), note="end")
    assert few.note == "end; fewer than 3 seeds" and few.p is None


# ---- gates and controls ----------------------------------------------------------------------------------------------

RISES = np.array([[0.0, 0.1, 0.4, 0.8, 0.9], [0.0, 0.2, 0.5, 0.7, 1.0], [0.1, 0.1, 0.3, 0.9, 0.9]])
FALLS = np.array([[0.1, 0.8, 0.9, 0.2, 0.0], [0.0, 0.9, 1.0, 0.1, 0.0], [0.0, 0.7, 0.9, 0.0, 0.1]])
FLAT = np.array([[0.1, 0.0, 0.2, 0.0, 0.1], [0.0, 0.1, 0.0, 0.2, 0.0], [0.2, 0.0, 0.1, 0.1, 0.0]])


@pytest.mark.parametrize(
    ("curves", "learns", "collapses"), [(RISES, True, False), (FALLS, True, True), (FLAT, False, False)]
)
def test_learning_is_seen_where_a_person_sees_it(curves, learns, collapses):
    found = learning(curves, curves[:, 0])
    assert (found.learns, found.collapses) == (learns, collapses)
    assert learning(curves - 5.0, curves[:, 0] - 5.0).learns == learns, "whatever the sign of returns"


def test_learning_is_measured_from_the_score_before_it():
    assert not learning(RISES, 2.0).learns, "a random policy that does better"
    assert learning(RISES, -1.0).gain == pytest.approx(RISES[:, -1].mean() + 1.0)


def test_noise_about_a_level_that_stays_is_no_collapse():
    rng = np.random.default_rng(0)
    seen = [learning(10.0 + rng.normal(0.0, 1.0, (5, 50)), 0.0).collapses for _ in range(200)]
    assert sum(seen) == 0, "the best of several stretches is above the last one by chance"
    losing = np.concatenate([np.full(30, 10.0), np.full(20, 5.0)])
    assert all(learning(losing + rng.normal(0.0, 1.0, (5, 50)), 0.0).collapses for _ in range(200))


def test_where_nobody_learns_nothing_is_compared():
    flat, rising, falling = (learning(curves, curves[:, 0]) for curves in (FLAT, RISES, FALLS))
    assert gated(Verdict(R, effect="+1", interval="[+1, +2]"), x=flat, y=flat) == Verdict("inconclusive", effect=NOBODY)
    assert gated(Verdict(R), x=flat, y=rising).status == "reproduced"
    kept = gated(Verdict("not reproduced"), plain_replay=falling, y=flat)
    assert kept.status == "not reproduced" and kept.note == "plain replay learns, then collapses"


def test_never_needs_something_that_succeeds():
    assert controlled(Verdict(R), True).status == "reproduced"
    assert controlled(Verdict(R), False) == Verdict("inconclusive", note=NO_CONTROL)
    assert controlled(Verdict("not reproduced"), False).status == "not reproduced", "one success is one success"


# ---- parts -----------------------------------------------------------------------------------------------------------


def parts(*statuses):
    return {f"part {i}": Verdict(status, seeds=3 + i, steps=i) for i, status in enumerate(statuses)}


@pytest.mark.parametrize(
    ("statuses", "every", "most"),
    [
        ((R, R, R), R, R),
        ((R, R, N), P, R),
        ((R, N), P, N),
        ((R, Q), P, P),
        ((R, Q, Q), P, P),
        ((N, Q, Q), N, Q),
        ((N, N, R), P, N),
        ((N, N), N, N),
        ((Q, Q), Q, Q),
        ((P, Q), P, P),
        ((U, U), U, U),
        ((R, R, U), R, R),  # what was not run does not count against it
        ((R, U, U), P, P),  # one of three is not "all" and not "most"
        ((N, U, U), N, N),
        ((Q, U), Q, Q),
    ],
)
def test_one_verdict_of_several(statuses, every, most):
    assert all_of(parts(*statuses)).status == every
    assert most_of(parts(*statuses)).status == most


def test_a_joined_verdict_says_how_many_parts_were_run():
    joined = all_of(parts(R, N, U))
    assert joined.effect == "holds in 1 of 2, fails in 1; 2 of 3 parts run"
    assert (joined.seeds, joined.steps, joined.run) == (3, 1, 2)
    assert "part 1: not reproduced" in joined.note and "part 2: not run" in joined.note
    assert all_of(parts(P, N, P)).effect == "holds in 0 of 3, partly in 2, fails in 1"


def test_a_claim_of_one_part_is_that_part():
    alone = all_of({"Hopper": Verdict(R, "+3", "[+1, +5]", 3, note="x")})
    assert (alone.status, alone.effect, alone.interval, alone.note) == (R, "+3", "[+1, +5]", "Hopper; x")


@pytest.mark.parametrize(("key", "other", "status"), [(R, R, R), (N, R, N), (Q, R, Q), (R, N, P), (U, R, P)])
def test_a_claim_whose_discriminating_half_fails_has_failed(key, other, status):
    found = {"falls without": Verdict(key), "does not fall with": Verdict(other)}
    assert all_of(found, decisive=["falls without"]).status == status
    with pytest.raises(ValueError, match="unknown decisive parts: x"):
        all_of(found, decisive=["x"])


def test_parts_without_data_are_not_run():
    def judge(name):
        if name == "b":
            raise MissingData("no b")
        return Verdict(R)

    assert {name: part.status for name, part in judged("abc", judge).items()} == {"a": R, "b": U, "c": R}
    with pytest.raises(MissingData, match="no b"):
        judged("b", judge)


# ---- many comparisons ------------------------------------------------------------------------------------------------


def test_benjamini_and_hochberg_by_hand():
    # of 5: limits .01 .02 .03 .04 .05; p_(4) = .039 passes, so that all below it are discoveries, too
    assert false_discovery_threshold([0.039, 0.001, 0.5, 0.025, 0.029]) == 0.039
    assert false_discovery_threshold([0.2, 0.6]) == 0.0 and false_discovery_threshold([]) == 0.0


def test_false_discoveries_are_as_rare_as_promised():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        p = np.concatenate([rng.uniform(size=80), rng.uniform(high=0.002, size=20)])  # 80 of 100 without any effect
        found = p <= false_discovery_threshold(p)
        shares.append(found[:80].sum() / max(found.sum(), 1))
    assert np.mean(shares) < 0.05


def test_a_verdict_is_judged_again_below_the_threshold():
    found = {"a": Verdict(R, p=0.001), "b": Verdict(R, p=0.04), "c": Verdict(R)}  # c: counted, not tested
    joined = all_of(found)
    assert [part.p for part in joined.comparisons()] == [0.001, 0.04]
    assert status_after(joined, 0.05) == R
    assert status_after(joined, 0.01) == P
    assert status_after(Verdict(N, p=0.04), 0.01) == Q
    assert status_after(Verdict(U), 0.01) == U
