"""Claims about the circular track on made-up results."""

import numpy as np
import pandas as pd
import pytest

from envs.circular_track import GOAL, LOCAL_OPTIMUM
from lab.claims import evaluate
from lab.results import COLUMNS, Results
from papers.sibling_rivalry.evidence.claims_track import (
    CLAIMS,
    GOAL_BIN,
    LOCAL_OPTIMUM_BIN,
    Runs,
    entropy,
    lead,
    quarter,
)
from papers.sibling_rivalry.track import BINS, ENV

STEPS = range(100, 1201, 100)
"""Twelve rows: three are early, three are the end."""
SHARES = {  # method and metric -> (early, between, in the end)
    ("naive", "success"): (0.01, 0.0, 0.0),
    ("naive", "trapped"): (0.1, 0.4, 0.8),
    ("fixed", "success"): (0.0, 0.4, 0.9),
    ("fixed", "trapped"): (0.1, 0.1, 0.0),
    ("sr", "success"): (0.0, 0.3, 0.8),
    ("sr", "trapped"): (0.2, 0.1, 0.0),
    ("sr", "closer success"): (0.0, 0.4, 0.9),
    ("sr", "farther success"): (0.0, 0.2, 0.7),
    ("sr", "closer trapped"): (0.3, 0.1, 0.0),
    ("sr", "farther trapped"): (0.05, 0.1, 0.0),
    ("sr", "farther left"): (0.0, 0.1, 0.1),
    ("sr", "farther right"): (0.0, 0.1, 0.2),
}
BINNED = {  # sibling -> (early, in the end): bin -> share
    "closer": ({LOCAL_OPTIMUM_BIN: 0.6, 12: 0.4}, {GOAL_BIN: 0.9, 8: 0.1}),
    "farther": ({LOCAL_OPTIMUM_BIN: 0.2, 12: 0.3, 18: 0.3, 2: 0.2}, {GOAL_BIN: 0.5, 4: 0.25, 6: 0.25}),
}


def write(root, shares=None, binned=None, seeds=5, noise=0.01):
    """Results with these numbers instead of those above."""
    rng, table = np.random.default_rng(0), []

    def add(method, seed, step, metric, value):
        row = ("track", "full", method, ENV, seed, step, metric, value + noise * rng.normal(), 0.0)
        table.append(row)

    for seed in range(seeds):
        for i, step in enumerate(STEPS):
            for (method, metric), values in (SHARES | (shares or {})).items():
                add(method, seed, step, metric, values[0 if i < 3 else 1 if i < 9 else 2])
            for role, values in (BINNED | (binned or {})).items():
                for k, share in values[i >= 6].items():
                    add("sr", seed, step, f"{role} phase {k}", share)
    (root / "full").mkdir(parents=True)
    pd.DataFrame(table, columns=COLUMNS).to_csv(root / "full" / "track.csv", index=False)


def verdicts(root, *args, **kwargs):
    write(root, *args, **kwargs)
    return {claim.id: verdict for claim, verdict in evaluate(CLAIMS, Results(root))}


def not_reproduced(root, *args, **kwargs):
    """Claim -> status, of those that are not reproduced."""
    found = verdicts(root, *args, **kwargs)
    return {name: verdict.status for name, verdict in found.items() if verdict.status != "reproduced"}


def test_data_that_agree_reproduce_every_claim(tmp_path):
    found = verdicts(tmp_path)
    assert len(found) == 6 and {verdict.status for verdict in found.values()} == {"reproduced"}, found
    assert all(v.seeds == 5 and v.scale == "full" and v.steps == 1200 for v in found.values())
    assert {claim.figure for claim in CLAIMS} == {"fig1", "fig2"}


@pytest.mark.parametrize(
    ("metric", "values", "claim"),
    [
        (("naive", "trapped"), (0.9, 0.9, 0.4), "fig1-naive"),
        (("naive", "success"), (0.0, 0.0, 0.1), "fig1-naive"),
        (("fixed", "trapped"), (0.0, 0.0, 0.1), "fig1-fixed"),
        (("fixed", "success"), (0.9, 0.9, 0.4), "fig1-fixed"),
        (("sr", "trapped"), (0.0, 0.0, 0.1), "fig2-solved"),
        (("sr", "success"), (0.9, 0.9, 0.4), "fig2-solved"),
        (("sr", "farther left"), (0.2, 0.2, 0.01), "fig2-farther"),
        (("sr", "farther right"), (0.1, 0.1, 0.0), "fig2-farther"),
        (("sr", "closer trapped"), (0.02, 0.9, 0.9), "fig2-over-represented"),
    ],
)
def test_each_number_is_judged_when_it_counts_and_above_or_below_its_limit(metric, values, claim, tmp_path):
    assert not_reproduced(tmp_path, {metric: values}) == {claim: "partly"}


@pytest.mark.parametrize(
    ("role", "early", "end", "claims"),
    [
        ("closer", {LOCAL_OPTIMUM_BIN: 0.4, 12: 0.6}, None, {"fig2-closer", "fig2-over-represented"}),
        ("closer", None, {GOAL_BIN: 0.4, 8: 0.6}, {"fig2-closer"}),
        ("closer", {LOCAL_OPTIMUM_BIN: 0.44, **{k: 0.08 for k in range(7)}}, None, {"fig2-farther"}),  # widely spread
        ("farther", {LOCAL_OPTIMUM_BIN: 0.55, 18: 0.45}, None, {"fig2-over-represented"}),
        ("farther", {LOCAL_OPTIMUM_BIN: 1.0}, None, {"fig2-farther", "fig2-over-represented"}),
    ],
)
def test_peaks_and_spread_are_those_of_the_right_sibling_at_the_right_time(role, early, end, claims, tmp_path):
    default = BINNED[role]
    found = not_reproduced(tmp_path, binned={role: (early or default[0], end or default[1])}, noise=0.001)
    assert found == dict.fromkeys(claims, "partly")


def test_data_that_disagree_in_all_reproduce_none(tmp_path):
    wrong = {
        ("naive", "success"): (0.5,) * 3,
        ("naive", "trapped"): (0.1,) * 3,
        ("fixed", "success"): (0.1,) * 3,
        ("fixed", "trapped"): (0.8,) * 3,
        ("sr", "success"): (0.1,) * 3,
        ("sr", "trapped"): (0.8,) * 3,
        ("sr", "closer trapped"): (0.0,) * 3,
        ("sr", "farther trapped"): (0.5,) * 3,
        ("sr", "farther left"): (0.0,) * 3,
        ("sr", "farther right"): (0.5,) * 3,
    }
    spread = {k: 1 / BINS for k in range(BINS)}
    wide = {LOCAL_OPTIMUM_BIN: 0.01, 3: 0.5, **{k: 0.035 for k in range(8, 16)}}
    binned = {"closer": (wide, wide), "farther": ({LOCAL_OPTIMUM_BIN: 0.9, 3: 0.1}, spread)}
    found = verdicts(tmp_path, wrong, binned, noise=0.001)
    assert {verdict.status for verdict in found.values()} == {"not reproduced"}, found


def test_no_noise_at_all_is_no_obstacle(tmp_path):
    assert not_reproduced(tmp_path, noise=0.0) == {}


def test_what_is_neither_above_nor_below_its_limit_is_undecided(tmp_path):
    write(tmp_path)
    runs, values = Runs(Results(tmp_path)), np.array([0.3, 0.7, 0.4, 0.6, 0.5])
    found = [runs.judge(values, limit, above).status for limit in (0.1, 0.5, 0.9) for above in (True, False)]
    yes, maybe, no = "reproduced", "inconclusive", "not reproduced"
    assert found == [yes, no, maybe, maybe, no, yes]
    assert runs.judge(values[:2], 0.1, above=True).status == maybe  # two runs


def test_too_few_seeds_and_no_data_decide_nothing(tmp_path):
    assert {verdict.status for verdict in verdicts(tmp_path / "few", seeds=2).values()} == {"inconclusive"}
    assert {verdict.status for _, verdict in evaluate(CLAIMS, Results(tmp_path))} == {"not run"}


# ---- helpers ---------------------------------------------------------------------------------------------------------


def test_the_bins_are_those_of_the_goal_and_of_the_local_optimum():
    for bin, phase in ((GOAL_BIN, GOAL), (LOCAL_OPTIMUM_BIN, LOCAL_OPTIMUM)):
        assert 2 * np.pi * bin / BINS < phase < 2 * np.pi * (bin + 1) / BINS


def test_a_quarter_of_the_rows_is_one_at_least():
    assert [quarter(np.zeros((2, rows, 3))) for rows in (1, 3, 4, 11, 20)] == [1, 1, 1, 2, 5]


def test_lead_and_entropy_by_hand():
    shares = np.array([[0.5, 0.25, 0.25, 0.0], [0.0, 0.0, 1.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
    np.testing.assert_allclose(lead(shares, 0), [0.25, -1.0, 0.0])
    np.testing.assert_allclose(lead(shares, 2), [-0.25, 1.0, 0.0])
    np.testing.assert_allclose(entropy(shares), [1.5 * np.log(2), 0.0, np.log(4)])
