"""Claims about the circular track on made-up results."""

import numpy as np
import pytest

from envs.circular_track import GOAL, LOCAL_OPTIMUM
from lab.judge.claims import evaluate
from papers.sibling_rivalry.evidence.claims_track import CLAIMS, LOCAL_OPTIMUM_BIN
from papers.sibling_rivalry.train_track import BINS, ENV
from tests.papers.judged import save

GOAL_BIN = int(GOAL / (2 * np.pi) * BINS)

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
    ("sr", "closer trapped"): (0.6, 0.1, 0.0),
    ("sr", "farther trapped"): (0.2, 0.1, 0.0),
    ("sr", "farther left"): (0.0, 0.1, 0.1),
    ("sr", "farther right"): (0.0, 0.1, 0.2),
}
BINNED = {  # sibling -> (early, in the end): bin -> share
    "closer": ({LOCAL_OPTIMUM_BIN: 0.6, 12: 0.4}, {GOAL_BIN: 0.9, 8: 0.1}),
    "farther": ({LOCAL_OPTIMUM_BIN: 0.2, 12: 0.3, 18: 0.3, 2: 0.2}, {GOAL_BIN: 0.5, 4: 0.25, 6: 0.25}),
}


def verdicts(root, shares=None, binned=None, seeds=5, noise=0.01):
    """Verdicts on results with these numbers instead of those above."""
    rng, table = np.random.default_rng(0), []

    def add(method, seed, step, metric, value):
        table.append(("track", "full", method, ENV, seed, step, metric, value + noise * rng.normal(), 0.0))

    for seed in range(seeds):
        for i, step in enumerate(STEPS):
            for (method, metric), values in (SHARES | (shares or {})).items():
                add(method, seed, step, metric, values[0 if i < 3 else 1 if i < 9 else 2])
            for role, values in (BINNED | (binned or {})).items():
                for k, share in values[i >= 6].items():
                    add("sr", seed, step, f"{role} phase {k}", share)
    return {claim.id: verdict for claim, verdict in evaluate(CLAIMS, save(root, table))}


@pytest.mark.parametrize(
    ("shares", "binned", "expected"),
    [
        ({}, {}, {}),
        ({("naive", "trapped"): (0.9, 0.9, 0.4)}, {}, {"fig1-naive": "not reproduced"}),
        ({("naive", "success"): (0.0, 0.0, 0.1)}, {}, {"fig1-naive": "partly"}),
        ({("fixed", "trapped"): (0.0, 0.0, 0.1)}, {}, {"fig1-fixed": "partly"}),
        ({("fixed", "success"): (0.9, 0.9, 0.4)}, {}, {"fig1-fixed": "not reproduced"}),
        ({("sr", "trapped"): (0.0, 0.0, 0.1)}, {}, {"fig2-solved": "partly"}),
        ({("sr", "success"): (0.9, 0.9, 0.4)}, {}, {"fig2-solved": "not reproduced"}),
        # nobody reaches the goal: that the first reward does not says nothing
        (
            {(method, "success"): (0.0,) * 3 for method in ("fixed", "sr")},
            {},
            {"fig1-naive": "partly", "fig1-fixed": "not reproduced", "fig2-solved": "not reproduced"},
        ),
        # the closer ones end elsewhere more often, or as often
        (
            {},
            {"closer": {LOCAL_OPTIMUM_BIN: 0.3, 12: 0.4}},
            {"fig2-closer": "not reproduced", "fig2-over-represented": "partly"},
        ),
        ({("sr", "closer success"): (0.9, 0.9, 0.4)}, {}, {"fig2-closer": "partly"}),
        ({("sr", "farther left"): (0.2, 0.2, 0.01)}, {}, {"fig2-farther": "partly"}),
        ({("sr", "farther right"): (0.1, 0.1, 0.0)}, {}, {"fig2-farther": "partly"}),
        ({("sr", "farther trapped"): (0.7, 0.0, 0.0)}, {}, {"fig2-over-represented": "partly"}),
        # early histograms: the closer ones spread widely, or elsewhere; the farther ones at the local optimum, too
        ({}, {"closer": {LOCAL_OPTIMUM_BIN: 0.44, **{k: 0.08 for k in range(7)}}}, {"fig2-farther": "partly"}),
        (
            {},
            {"farther": {LOCAL_OPTIMUM_BIN: 1.0}},
            {"fig2-farther": "partly", "fig2-over-represented": "partly"},
        ),
    ],
)
def test_each_number_is_judged_when_it_counts_and_above_or_below_its_limit(shares, binned, expected, tmp_path):
    late = {role: (early, BINNED[role][1]) for role, early in binned.items()}
    found = verdicts(tmp_path, shares, late, noise=0.001)
    assert {name: verdict.status for name, verdict in found.items() if verdict.status != "reproduced"} == expected


def test_no_noise_at_all_is_no_obstacle_and_two_seeds_decide_nothing(tmp_path):
    assert {verdict.status for verdict in verdicts(tmp_path / "exact", noise=0.0).values()} == {"reproduced"}
    assert {verdict.status for verdict in verdicts(tmp_path / "few", seeds=2).values()} == {"inconclusive"}


def test_the_bin_is_that_of_the_local_optimum():
    assert 2 * np.pi * LOCAL_OPTIMUM_BIN / BINS < LOCAL_OPTIMUM < 2 * np.pi * (LOCAL_OPTIMUM_BIN + 1) / BINS
