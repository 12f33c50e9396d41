"""Claims about bit flipping on made-up results."""

import numpy as np
import pytest

from lab.judge.claims import evaluate
from lab.judge.results import Results
from papers.bias_reduced_her.evidence.claims_bitflip import CLAIMS
from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from tests.papers.judged import save

TERMINAL, TIMEOUT, PLAIN = "BitFlip-10-terminal", "BitFlip-10-timeout", "BitFlip-10"
AGREES = {  # metric -> method -> value at the end, in every env that has it
    "quit_bias": {"her": 0.8, "filtered-her": 0.1},
    "quit_bias_near": {"her": 0.9, "filtered-her": 0.0},
    "quits": {"her": 0.5, "filtered-her": 0.0},
    "flip_bias": {"her": 0.1, "filtered-her": 0.1, "none": 0.1},
    "success": {"her": 0.98, "filtered-her": 0.9, "none": 0.02},
}
STEPS = range(80, 881, 80)


def write(root, numbers, seeds=5, but=None, early=None, noise=0.01):
    """Results with these numbers from the 7th of 11 evaluations on, and `early` before; but: those of single envs."""
    rng, table = np.random.default_rng(0), []
    for entry in EXPERIMENTS["bitflip"]("full"):
        if entry.seed >= seeds:
            continue
        for metric, by_method in (numbers | (but or {}).get(entry.env, {})).items():
            if metric.startswith("quit") and entry.env == PLAIN:
                continue
            for step in STEPS:
                value = (early or {}).get(metric, by_method)[entry.method] if step <= 480 else by_method[entry.method]
                value += noise * rng.normal()
                table.append(("bitflip", "full", entry.method, entry.env, entry.seed, step, metric, value, 0.0))
    save(root, table)


def verdicts(root, *args, **kwargs):
    write(root, *args, **kwargs)
    found = evaluate(CLAIMS, Results(root))
    return {claim.id.removeprefix("own-").removeprefix("bitflip-"): verdict for claim, verdict in found}


def statuses(root, *args, **kwargs):
    return {name: verdict.status for name, verdict in verdicts(root, *args, **kwargs).items()}


def test_data_that_agree_reproduce_every_claim(tmp_path):
    found = verdicts(tmp_path, AGREES)
    assert len(found) == 6 and {verdict.status for verdict in found.values()} == {"reproduced"}
    assert all(v.seeds == 5 and v.scale == "full" and v.steps == 880 for v in found.values())


def test_data_that_disagree_reproduce_none(tmp_path):
    wrong = {
        "quit_bias": {"her": 0.6, "filtered-her": 0.8},
        "quit_bias_near": {"her": -0.1, "filtered-her": 0.1},
        "quits": {"her": 0.0, "filtered-her": 0.0},
        "success": {"her": 0.5, "filtered-her": 0.9, "none": 0.5},
    }
    found = statuses(tmp_path, AGREES | wrong)
    assert found.pop("her") == "reproduced" and set(found.values()) == {"not reproduced"}


def test_a_bias_that_is_positive_but_no_larger_than_the_margin_is_none(tmp_path):
    """All values start at 0 and sink: slow learning alone is an upward bias, of the flips, too."""
    found = statuses(tmp_path, AGREES | {"quit_bias": {"her": 0.2, "filtered-her": 0.2}}, noise=0.02)
    assert found["her"] == "not reproduced" and found["filtered"] == "inconclusive" and found["filter"] != "reproduced"


def test_under_estimating_is_a_bias_too(tmp_path):
    low = {"quit_bias": {"her": 0.8, "filtered-her": -0.8}}
    found = statuses(tmp_path, AGREES | low)
    assert found["filtered"] == "not reproduced" and found["filter"] == "reproduced"


@pytest.mark.parametrize("env", [TERMINAL, TIMEOUT])
@pytest.mark.parametrize(
    ("metric", "values", "claims"),
    [
        ("quit_bias", {"her": 0.6, "filtered-her": 0.8}, {"filtered", "filter"}),
        ("quit_bias_near", {"her": 0.0, "filtered-her": 0.5}, {"near"}),
    ],
)
def test_a_claim_that_one_reading_contradicts_is_partly_right(env, metric, values, claims, tmp_path):
    found = statuses(tmp_path, AGREES, but={env: {metric: values}})
    assert {name for name, status in found.items() if status == "partly"} == claims
    assert set(found.values()) == {"partly", "reproduced"}


def test_giving_up_is_judged_where_it_is_useless(tmp_path):
    never, always = {"quits": {"her": 0.0, "filtered-her": 0.0}}, {"quits": {"her": 1.0, "filtered-her": 1.0}}
    assert statuses(tmp_path, AGREES, but={TIMEOUT: never, TERMINAL: always})["gives-up"] == "not reproduced"


def test_near_the_goal_all_of_training_counts_and_elsewhere_the_end(tmp_path):
    early = {
        "quit_bias": {"her": 9.0, "filtered-her": 9.0},
        "quit_bias_near": {"her": 0.9, "filtered-her": 0.1},
    }
    late = {"quit_bias_near": {"her": 0.0, "filtered-her": 0.0}}
    assert set(statuses(tmp_path, AGREES | late, early=early).values()) == {"reproduced"}


def test_both_parts_of_the_plain_task_count(tmp_path):
    easy = {"success": {"her": 0.98, "filtered-her": 0.9, "none": 0.9}}
    assert statuses(tmp_path, AGREES, but={PLAIN: easy})["plain"] == "partly"
