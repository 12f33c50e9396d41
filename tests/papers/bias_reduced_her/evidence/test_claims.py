"""The claims about Tables 1 and 2 and Figures 3 and 4, on made-up results in which they hold, fail or are undecided."""

import re

import numpy as np
import pytest

from lab.claims import evaluate
from lab.results import Results
from papers.bias_reduced_her.evidence import claims, claims_appendix_a, claims_bitflip
from papers.bias_reduced_her.evidence.claims import CLAIMS, LAST, NOBODY, Runs, band_width, floor_share, gain
from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.evidence.figures import FIGURES, NAMES, TABLE_2
from tests.papers.bias_reduced_her.evidence.synthetic import POINTS, write

ELSEWHERE = [*claims_bitflip.CLAIMS, *claims_appendix_a.CLAIMS]
TRAINED = [claim for claim in CLAIMS if claim not in ELSEWHERE]
IDS = [claim.id for claim in TRAINED]
SCALES = {"training": "full", "own-grid": "full", "own-her": "full", "own-penalty": "full"}
ABOUT_SUCCESS = ["fig3-filter", "fig3-ibs", "fig3-band", "fig3-robot", "fig3-wall", "own-her", "own-penalty"]
TASKS = ("Hand", "HandWall", "Robot")


def table(**rows):
    """A function of (method, env): from method -> a number for all tasks, or one for each; variants by their name."""

    def look_up(method, env):
        found = rows.get(method.replace("-", "_"), rows.get(method.split()[0].replace("-", "_")))
        found = rows["variants"] if " " in method and method.startswith("filtered") and "variants" in rows else found
        return found[TASKS.index(env)] if isinstance(found, tuple) else found

    return look_up


RIGHT = dict(
    success=table(her=0.01, her_ibs=0.1, filtered_her=(0.4, 0.3, 0.2), filtered_her_ibs=(0.5, 0.6, 0.3), variants=0.8),
    bias=table(her=35.0, her_ibs=30.0, filtered_her=3.0, filtered_her_ibs=2.0),
    kl=lambda method, env: TABLE_2[env][list(NAMES).index(method.split()[0])],
    floor=table(her=0.8, her_ibs=0.7, filtered_her=0.1, filtered_her_ibs=0.05),
    spread=table(her=0.0, her_ibs=0.0, filtered_her=0.06, filtered_her_ibs=0.005),
)
WRONG = dict(
    success=table(
        her=(0.6, 0.7, 0.6), her_ibs=0.5, filtered_her=(0.3, 0.4, 0.5), filtered_her_ibs=(0.2, 0.1, 0.4), variants=0.05
    ),
    bias=table(her=-5.0, her_ibs=-5.0, filtered_her=20.0, filtered_her_ibs=25.0),
    fall=lambda method, env: 0.3,
    kl=table(her=1.0, her_ibs=2.0, filtered_her=3.0, filtered_her_ibs=4.0),
    floor=table(her=0.1, her_ibs=0.1, filtered_her=0.4, filtered_her_ibs=0.4),
    spread=table(her=0.0, her_ibs=0.0, filtered_her=0.005, filtered_her_ibs=0.06),
)


def verdicts(root, numbers, only=IDS, scales=SCALES, seeds=8, **made):
    """Verdicts on the claims `only`, from results with these numbers."""
    numbers = dict(numbers)
    success = numbers.pop("success")
    for experiment, scale in scales.items():
        write(root, experiment, scale, success, **(numbers | made | dict(seeds=seeds)))
    return {claim.id: verdict for claim, verdict in evaluate([c for c in TRAINED if c.id in only], Results(root))}


def verdict_on(claim, root, **numbers):
    """Verdict on one claim about the training runs, from right numbers but for these."""
    return verdicts(root, RIGHT | numbers, [claim], {"training": "full"})[claim]


def statuses(found) -> dict[str, str]:
    return {name: verdict.status for name, verdict in found.items()}


# --- all claims ------------------------------------------------------------------------------------------------------


def test_data_that_agree_reproduce_every_claim(tmp_path):
    found = verdicts(tmp_path, RIGHT)
    assert statuses(found) == dict.fromkeys(IDS, "reproduced")
    for name, verdict in found.items():
        assert (verdict.seeds, verdict.scale, verdict.steps) == (8, "full", 9_000 * POINTS), name
        assert verdict.effect


def test_data_that_disagree_reproduce_none(tmp_path):
    assert statuses(verdicts(tmp_path, WRONG)) == dict.fromkeys(IDS, "not reproduced")


def test_two_seeds_decide_nothing(tmp_path):
    found = verdicts(tmp_path, RIGHT, seeds=2)
    assert statuses(found) == dict.fromkeys(IDS, "inconclusive")
    assert {verdict.seeds for verdict in found.values()} == {2}


def test_where_nobody_learns_no_comparison_of_successes_counts(tmp_path):
    rates = {"her": 0.01, "her-ibs": 0.012, "filtered-her": 0.02, "filtered-her-ibs": 0.03}
    hardly = dict(success=lambda method, env: rates[method.split()[0]] * (1.2 if env == "HandWall" else 1))
    found = verdicts(tmp_path, RIGHT | hardly | dict(spread=lambda method, env: 0.0))
    for name in ABOUT_SUCCESS:
        assert found[name].status == "inconclusive"
        assert NOBODY in found[name].effect + found[name].note, name
    rest = [name for name in IDS if name not in ABOUT_SUCCESS and name != "own-grid"]
    assert {found[name].status for name in rest} == {"reproduced"}


def test_what_is_learned_in_one_task_counts_there(tmp_path):
    """The gate is per task: where one side succeeds, the comparison is made."""

    def success(method, env):
        return RIGHT["success"](method, env) if env == "Hand" else 0.01

    found = verdicts(tmp_path, RIGHT | dict(success=success), ["fig3-filter", "fig3-robot"], {"training": "full"})
    assert found["fig3-filter"].status == "partly"
    assert "Hand: reproduced (+0.39" in found["fig3-filter"].note
    assert found["fig3-filter"].note.count(NOBODY) == 2
    assert "Hand > Robot: reproduced" in found["fig3-robot"].note and NOBODY in found["fig3-robot"].note


def test_no_results_are_not_run(tmp_path):
    found = {claim.id: verdict for claim, verdict in evaluate(CLAIMS, Results(tmp_path))}
    assert set(statuses(found).values()) == {"not run"} and len(found) == len(CLAIMS)
    assert found["fig3-her"].note == "no full or quick results of training"
    assert found["own-her"].note == "no full or quick results of own-her"


def test_smoke_is_never_evidence(tmp_path):
    found = verdicts(tmp_path, RIGHT, scales=dict.fromkeys(SCALES, "smoke"))
    assert set(statuses(found).values()) == {"not run"}


def test_a_missing_method_is_missing_where_it_is_needed(tmp_path):
    found = verdicts(tmp_path, RIGHT, keep=lambda method, env, seed: (method, env) != ("filtered-her-ibs", "Robot"))
    needs = {"table2-robot", "table1-floor", "fig3-ibs", "fig3-band", "fig3-wall", "fig4-order", "fig4-filter"}
    assert {name for name, status in statuses(found).items() if status == "not run"} == needs
    assert found["fig3-ibs"].note == "no success of filtered-her-ibs on Robot"
    assert found["table1-floor"].note == "no virtual goals of filtered-her-ibs on Robot"
    assert {found[name].status for name in IDS if name not in needs} == {"reproduced"}


def test_unfinished_full_results_do_not_hide_complete_quick_ones(tmp_path):
    some = ["fig3-filter", "table2-hand", "own-grid", "own-her"]
    verdicts(tmp_path, RIGHT, [], dict.fromkeys(SCALES, "quick"))
    found = verdicts(tmp_path, WRONG, some, {"training": "full"}, keep=lambda method, env, seed: env == "Hand")
    assert (found["fig3-filter"].status, found["fig3-filter"].scale) == ("reproduced", "quick")
    assert (found["table2-hand"].status, found["table2-hand"].scale) == ("not reproduced", "full")
    assert (found["own-grid"].status, found["own-grid"].scale) == ("reproduced", "quick")  # full with full only
    assert found["own-her"].scale == "quick"


# --- single claims ---------------------------------------------------------------------------------------------------


def test_one_task_that_disagrees_makes_partly(tmp_path):
    def mixed(name):
        return lambda method, env: (WRONG if env == "Robot" else RIGHT)[name](method, env)

    numbers = {name: mixed(name) for name in ("success", "bias", "kl", "floor", "spread")}
    several = ["table1-floor", "fig3-her", "fig3-filter", "fig3-ibs", "fig3-band", "fig4-high", "fig4-order"]
    found = verdicts(tmp_path, numbers, [*several, "fig4-filter", "table2-robot"], {"training": "full"})
    assert found.pop("table2-robot").status == "not reproduced"
    assert set(statuses(found).values()) == {"partly"}
    assert "Robot: not reproduced" in found["fig3-ibs"].note and "Hand: reproduced" in found["fig3-ibs"].note


def test_divergences_are_compared_in_the_papers_order(tmp_path):
    """The first two the other way round: two of three steps are still right."""
    kl = table(her=1.0, her_ibs=2.0, filtered_her=0.5, filtered_her_ibs=0.2)
    verdict = verdict_on("table2-hand", tmp_path, kl=kl)
    assert verdict.status == "partly" and verdict.effect.endswith("2 of 3 reproduced")
    assert [float(x) for x in verdict.effect.split(";")[0].split(" / ")] == pytest.approx([1, 2, 0.5, 0.2])
    parts = [part.split(":")[0] for part in verdict.note.split("; ")]
    assert parts == ["HER > HER-IBS", "HER-IBS > Filtered-HER", "Filtered-HER > Filtered-HER-IBS"]
    assert "HER > HER-IBS: not reproduced" in verdict.note


@pytest.mark.parametrize(("after", "status"), [(0.35, "reproduced"), (0.4, "inconclusive"), (0.45, "not reproduced")])
def test_most_of_the_floor_is_more_than_half(after, status, tmp_path):
    floor = table(her=0.8, her_ibs=0.8, filtered_her=after, filtered_her_ibs=after)
    verdict = verdict_on("table1-floor", tmp_path, floor=floor)
    assert verdict.status == status
    parts = re.findall(r"(\w+), (HER|HER-IBS): [a-z ]+\(([\d.]+) to ([\d.]+)\)", verdict.note)
    assert [part[:2] for part in parts] == [(env, name) for env in TASKS for name in ("HER", "HER-IBS")]
    for *_, x, y in parts:
        assert (float(x), float(y)) == pytest.approx((0.8, after))


def test_the_floor_is_the_lowest_row_only(tmp_path):
    write(tmp_path, "training", "full", RIGHT["success"], seeds=2, floor=lambda method, env: 0.25)
    path = tmp_path / "full" / "training.csv"
    path.write_text(path.read_text().replace("virtual 14 7", "virtual 0 10"))  # row 10 also ends with a 0
    shares = floor_share(Runs(Results(tmp_path)), "her", "Hand")
    assert shares == pytest.approx([0.25, 0.25], rel=0.05)


@pytest.mark.parametrize(
    ("success", "status"),
    [(0.0, "reproduced"), (0.04, "reproduced"), (0.05, "inconclusive"), (0.06, "not reproduced")],
)
def test_near_zero_is_at_most_a_twentieth(success, status, tmp_path):
    assert verdict_on("fig3-her", tmp_path, success=lambda method, env: success).status == status


@pytest.mark.parametrize(("fall", "status"), [(-0.2, "reproduced"), (0.04, "reproduced"), (0.06, "not reproduced")])
def test_hardly_any_improvement_is_at_most_a_twentieth(fall, status, tmp_path):
    verdict = verdict_on("fig3-distance", tmp_path, fall=lambda method, env: fall)
    assert verdict.status == status
    size = re.search(r"Hand: [a-z ]+\((\S+) ", verdict.note)[1]
    assert float(size) == pytest.approx(fall)


def test_the_exception_of_fig_4(tmp_path):
    """Filtered-HER-IBS on Hand may estimate more than HER-IBS, and on HandWall may not."""
    for env, status in (("Hand", "reproduced"), ("HandWall", "partly")):

        def bias(method, e, env=env):
            return 30.0 if (method, e) == ("filtered-her-ibs", env) else RIGHT["bias"](method, e)

        verdict = verdict_on("fig4-order", tmp_path, bias=bias)
        assert verdict.status == status
        assert "Hand, HER-IBS > Filtered-HER-IBS" not in verdict.note
        assert "Hand, HER > Filtered-HER: reproduced" in verdict.note


def test_a_score_is_the_mean_of_the_last_evaluations(tmp_path):
    write(tmp_path, "training", "full", RIGHT["success"], seeds=3)
    runs = Runs(Results(tmp_path))
    frame = runs.frame[(runs.frame["method"] == "filtered-her") & (runs.frame["env"] == "Robot")]
    for metric, last in (("success", LAST), ("bias", LAST), ("kl", 1)):
        rows = frame[frame["metric"] == metric].pivot(index="seed", columns="step", values="value").to_numpy()
        np.testing.assert_allclose(runs.score(metric, "filtered-her", "Robot"), rows[:, -last:].mean(axis=1))
    ours, plain = runs.score("success", "filtered-her", "Robot"), runs.score("success", "her", "Robot")
    np.testing.assert_allclose(gain(runs, "filtered-her", "her", "Robot"), ours - plain)


def test_gains_are_compared_between_tasks_and_not_successes(tmp_path):
    """Robot succeeds least with the filter, but gains most by it."""
    success = table(her=(0.6, 0.6, 0.1), her_ibs=0.1, filtered_her=(0.7, 0.7, 0.5), filtered_her_ibs=(0.8, 0.75, 0.6))
    verdict = verdict_on("fig3-robot", tmp_path, success=success)
    assert verdict.status == "not reproduced"
    sizes = [float(size) for size in re.findall(r"\((\S+) ", verdict.note)]
    assert sizes == pytest.approx([0.1 - 0.4] * 2, abs=1e-3)
    assert verdict_on("fig3-wall", tmp_path, success=success).status == "not reproduced"


def test_the_width_of_the_band():
    curves = np.array([[0.0, 0.0], [0.3, 0.1], [0.6, 0.1], [0.9, 1.0]])  # four runs, two evaluations
    widths = np.percentile(curves, 67, axis=0) - np.percentile(curves, 33, axis=0)
    assert band_width(curves) == pytest.approx(widths.mean())
    assert band_width(np.array([[0.1, 0.5]] * 5)) == 0


def test_own_experiments_by_hand(tmp_path):
    found = verdicts(tmp_path, RIGHT, ["own-grid", "own-her"])
    assert float(found["own-grid"].effect) == pytest.approx(0.8 - 0.5)
    assert "uniform replay: reproduced (+0.79" in found["own-her"].note and "bootstrapped" in found["own-her"].note


def test_tables_are_complete():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.text and claim.paper_value for claim in CLAIMS)
    assert {claim.figure for claim in CLAIMS} <= set(FIGURES)
    assert set(SCALES) <= set(EXPERIMENTS) and claims.TASKS == TASKS
    assert [claim.paper_value for claim in CLAIMS if claim.id == "table2-hand"] == ["2.03 / 1.66 / 0.34 / 0.23"]
