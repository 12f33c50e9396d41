"""Claims about the Fetch tasks on made-up results, and their precondition."""

import pytest

from lab.judge.results import Results
from lab.judge.verdicts import NOBODY
from papers.bias_reduced_her.evidence.claims_fetch import CLAIMS
from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.figures import FIGURES
from papers.bias_reduced_her.evidence.labels import FETCH, FETCH_FRESH
from tests.papers.drawn import draw, named
from tests.papers.judged import Judged, save, statuses

RIGHT = {"none": 0.01, "her": 0.6, "her-thinned": 0.3, "filtered-her": 0.9}
BIAS = {"none": 1.0, "her": 10.0, "her-thinned": 8.0, "filtered-her": 2.0}
STEP = 800


def verdicts(root, solved, bias=BIAS, scale="full", late=()):
    """Solved rises to these rates by half of training, and stays or is multiplied by `late`. A success counts episodes
    that begin at their goal, too: at least a half."""
    for name in [*FETCH.split("+"), FETCH_FRESH]:
        rows = []
        for entry in EXPERIMENTS[name](scale):
            base = entry.method.split()[0]
            falls = dict(late).get(base, 1.0)
            for i in range(10):
                rate = min(i / 5, 1) * solved[base] * (1 + 0.01 * (entry.seed % 5 - 1)) * (falls if i >= 5 else 1)
                metrics = {"solved": rate, "success": 1 - rate / 2, "return": -30.0, "q_estimate": -30.0 + bias[base]}
                metrics |= {"misleading": 0.98} if base != "none" else {}
                metrics |= {"env_steps": 8e6} if i == 9 else {}
                run = (name, scale, entry.method, entry.env, entry.seed, STEP * (i + 1))
                rows += [(*run, *item, 0.1) for item in metrics.items()]
        save(root, rows)
    return Judged(CLAIMS, Results(root))


def test_data_that_agree_reproduce_every_claim_and_others_none(tmp_path):
    found = verdicts(tmp_path / "right", RIGHT)
    assert len(found) == 10 and set(statuses(found).values()) == {"reproduced"}
    assert {v.steps for v in found.values()} == {8_000_000}
    found = verdicts(tmp_path / "wrong", RIGHT | {"her": 0.95, "filtered-her": 0.2}, BIAS | {"her": 1.0})
    assert statuses(found).pop("own-fetch-her") == "reproduced"
    assert [s for name, s in statuses(found).items() if name != "own-fetch-her"] == ["not reproduced"] * 9


@pytest.mark.parametrize("change", [dict(her=0.4), dict(none=0.2)])
def test_without_the_precondition_nothing_is_said_of_the_filter_on_push(change, tmp_path):
    found = verdicts(tmp_path, RIGHT | change)
    assert found["own-fetch-her"].status != "reproduced"
    for name in ("filter", "end", "thinned", "bias", "terminal"):
        verdict = found[f"own-fetch-{name}"]
        assert verdict.status == "inconclusive" and verdict.effect == NOBODY and "precondition" in verdict.note
    for name in ("place", "fresh", "fresh-end", "fresh-bias"):
        assert found[f"own-fetch-{name}"].status == "reproduced"


def test_fresh_seeds_are_judged_alone_and_only_where_her_learns(tmp_path):
    runs = EXPERIMENTS[FETCH_FRESH]("quick")
    assert {entry.seed for entry in runs} == set(range(10, 20)) and len(runs) == 20
    assert not {entry.seed for entry in runs} & {e.seed for name in FETCH.split("+") for e in EXPERIMENTS[name]("full")}
    found = verdicts(tmp_path, RIGHT | {"her": 0.04})
    assert {found[f"own-fetch-fresh{part}"].effect for part in ("", "-end", "-bias")} == {NOBODY}


def test_over_training_and_at_the_end_are_two_questions(tmp_path):
    """HER learns more than the filter, and ends below it."""
    found = statuses(verdicts(tmp_path, RIGHT | {"her": 1.0, "filtered-her": 0.6}, late={"her": 0.55}))
    assert (found["own-fetch-filter"], found["own-fetch-end"]) == ("not reproduced", "reproduced")
    assert (found["own-fetch-fresh"], found["own-fetch-fresh-end"]) == ("not reproduced", "reproduced")


def test_quick_leaves_out_what_is_planned_at_full(tmp_path):
    runs = [entry for name in FETCH.split("+") for entry in EXPERIMENTS[name]("quick")]
    assert len(runs) == 20 and {(entry.env, entry.config.epochs) for entry in runs} == {("FetchPush", 25)}
    assert len([entry for name in FETCH.split("+") for entry in EXPERIMENTS[name]("full")]) == 32
    found = statuses(verdicts(tmp_path, RIGHT, scale="quick"))
    assert {name for name, status in found.items() if status == "not run"} == {
        claim.id for claim in CLAIMS if claim.scale == "full"
    }


def test_the_figures_show_what_was_run(tmp_path):
    verdicts(tmp_path, RIGHT)
    canvas = draw(FIGURES["own-fetch"], Results(tmp_path), "full")
    assert len(canvas.axes) == 6 and "Filtered-HER (terminal)" in named(canvas.axes[0])
    assert len(draw(FIGURES["own-fetch-her"], Results(tmp_path), "full").axes) == 3
