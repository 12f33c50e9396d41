"""Claims about the construction task on made-up results."""

import numpy as np
import pandas as pd
import pytest

from lab.judge.claims import evaluate
from lab.judge.results import Results
from papers.sibling_rivalry.evidence.claims import CLAIMS as ALL
from papers.sibling_rivalry.evidence.claims_build import CLAIMS
from tests.papers.judged import save

METRICS = {  # method and metric -> (in the first 5,000 episodes, later, in the last five rows)
    ("impala", "placed"): (0.2, 0.01, 0.01),
    ("impala", "completion"): (-0.1, 0.0, 0.0),
    ("impala", "success"): (0.0, 0.0, 0.0),
    ("impala-sr", "placed"): (0.3, 0.8, 1.0),
    ("impala-sr", "completion"): (-0.3, 0.2, 0.8),
    ("impala-sr", "completion median"): (-0.3, 0.2, 0.9),
    ("impala-sr", "success"): (0.0, 0.1, 0.6),
}


def verdicts(root, changes=None, fresh=None, *, seeds=5, rows=40, every=2_000, methods=("impala", "impala-sr")):
    """Verdicts on results with these numbers instead of those above; fresh: of the fresh seeds only."""
    rng = np.random.default_rng(0)
    for experiment, differ in (("construction", {}), ("construction-fresh", fresh or {})):
        table = []
        for (method, metric), values in (METRICS | (changes or {}) | differ).items():
            for seed in range(seeds) if method in methods else ():
                for i in range(rows):
                    step = every * (i + 1)
                    value = values[2 if i >= rows - 5 else int(step > 5_000)] + 0.001 * rng.normal()
                    table.append((experiment, "quick", method, "VoxelBuildSmall", seed, step, metric, value, 0.0))
        save(root, table)
    return {claim.id: verdict for claim, verdict in evaluate(CLAIMS, Results(root))}


@pytest.mark.parametrize(
    ("changes", "settings", "expected"),
    [
        ({}, {}, {}),
        # it places in the beginning, little enough soon after, and again much later; or too much soon after
        ({("impala", "placed"): (0.9, 0.04, 0.9)}, {}, {}),
        ({("impala", "placed"): (0.01, 0.08, 0.01)}, {}, {"fig5-naive": "not reproduced"}),
        # where nobody places anything, that it does not says nothing
        ({("impala-sr", "placed"): (0.3, 0.3, 0.01)}, {}, {"fig5-naive": "inconclusive"}),
        # the median counts, and short runs do not refute
        ({("impala-sr", "completion median"): (0.9, 0.9, 0.4)}, {}, {"fig5-completion": "inconclusive"}),
        (
            {("impala-sr", "completion median"): (0.9, 0.9, 0.4)},
            {"every": 17_500},
            {"fig5-completion": "not reproduced", "fig5-naive": "not run"},
        ),
        ({("impala-sr", "success"): (0.9, 0.9, 0.3)}, {"every": 17_500},
         {"fig5-success": "not reproduced", "fig5-naive": "not run"}),
        ({("impala-sr", "success"): (0.0, 0.0, 0.3)}, {}, {"fig5-success": "inconclusive"}),
        # better in one of two respects only
        ({("impala", "success"): (0.0, 0.5, 0.9)}, {}, {"fig5-better": "partly"}),
        (
            {("impala", metric): (0.0, 0.5, 0.9) for metric in ("completion", "success")},
            {},
            {"fig5-better": "not reproduced"},
        ),
    ],
)  # fmt: skip
def test_each_number_is_judged_when_it_counts_and_above_or_below_its_limit(changes, settings, expected, tmp_path):
    found = verdicts(tmp_path, changes, **settings)
    assert {name: verdict.status for name, verdict in found.items() if verdict.status != "reproduced"} == expected


def test_nothing_is_said_of_the_first_4000_episodes_and_by_two_seeds(tmp_path):
    assert verdicts(tmp_path / "short", rows=8, every=500)["fig5-naive"].status == "not run"
    assert verdicts(tmp_path / "long", rows=9, every=500)["fig5-naive"].status == "reproduced"
    assert {verdict.status for verdict in verdicts(tmp_path / "few", seeds=2).values()} == {"inconclusive"}


def test_that_nothing_is_placed_says_nothing_alone(tmp_path):
    assert verdicts(tmp_path, methods=("impala",))["fig5-naive"].status == "inconclusive"


def test_the_fresh_seeds_alone_decide_on_the_completion_at_quick(tmp_path):
    low = {("impala-sr", metric): (0.0, 0.1, 0.3) for metric in ("completion median", "success", "placed")}
    found = verdicts(tmp_path, low, METRICS, every=17_500)
    assert found["fig5-completion"].status == "reproduced" and found["fig5-success"].status == "not reproduced"
    found = verdicts(tmp_path / "fresh", fresh=low, every=17_500)
    assert found["fig5-completion"].status == "not reproduced" and found["fig5-success"].status == "reproduced"
    (tmp_path / "quick" / "construction-fresh.csv").unlink()
    [claim] = [claim for claim in CLAIMS if claim.id == "fig5-completion"]
    assert evaluate([claim], Results(tmp_path))[0][1].status == "not run"
    frame = pd.read_csv(tmp_path / "quick" / "construction.csv").assign(scale="full", env="VoxelBuild")
    results = save(tmp_path, list(frame.itertuples(index=False)))
    assert evaluate([claim], results)[0][1].status == "not reproduced"


def test_the_world_is_a_surrogate_at_every_scale(tmp_path):
    """In an arena of the paper's size, too, it is not Minecraft."""
    verdicts(tmp_path)
    claims, results = [claim for claim in ALL if claim.figure == "fig5"], Results(tmp_path)
    assert [claim.id for claim in claims] == [claim.id for claim in CLAIMS]
    for scale in ("quick", "full"):
        found = evaluate(claims, results)
        assert {(claim.kind, verdict.scale) for claim, verdict in found} == {("surrogate", scale)}
        assert all(verdict.note.startswith("a world of our own, not Minecraft") for _, verdict in found)
        frame = pd.read_csv(tmp_path / "quick" / "construction.csv").assign(scale="full", env="VoxelBuild")
        results = save(tmp_path, list(frame.itertuples(index=False)))
