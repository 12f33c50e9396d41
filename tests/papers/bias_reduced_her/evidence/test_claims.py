"""The claims about Tables 1 and 2 and Figures 3 and 4, on made-up results in which they hold, fail or are undecided."""

import re

import numpy as np
import pytest

from lab.results import Results
from lab.verdicts import NO_CONTROL, NOBODY
from papers.bias_reduced_her.evidence import claims_appendix_a, claims_bitflip
from papers.bias_reduced_her.evidence.claims import CLAIMS, band_width, floor_goals
from papers.bias_reduced_her.evidence.claims_runs import ROOM, sign_flips
from papers.bias_reduced_her.evidence.labels import NAMES, TABLE_2, TRAINING
from tests.papers.bias_reduced_her.evidence.synthetic import POINTS, write
from tests.papers.judged import Judged

ELSEWHERE = [*claims_bitflip.CLAIMS, *claims_appendix_a.CLAIMS]
TRAINED = [claim for claim in CLAIMS if claim not in ELSEWHERE]
IDS = [claim.id for claim in TRAINED]
SCALES = dict.fromkeys((TRAINING, "own-grid", "own-her", "own-penalty", "own-goals"), "full")
ABOUT_SUCCESS = [
    "fig3-filter", "fig3-sooner", "fig3-ibs", "fig3-ibs-sooner", "fig3-band", "fig3-robot", "fig3-wall", "own-thinned",
    "own-ground", "own-grid", "own-her", "own-redraw", "own-penalty", "a1-ibs", "a2-recovers",
]  # fmt: skip
TASKS = ("Hand", "HandWall", "Robot")


def table(**rows):
    """A function of (method, env): from method -> a number for all tasks, or one for each; variants by their name."""

    def look_up(method, env):
        found = rows.get(method.replace("-", "_"), rows.get(method.split()[0].replace("-", "_")))
        if "variants" in rows and " " in method and method.startswith("filtered"):
            # What is compared with a run of the figures is worse than it, what with another variant of HER better.
            here = rows["variants"]
            found = (
                0.5
                if "moving" in method
                else here[1 if "20 x 20" in method or "again" in method else 2 if "-ibs" in method else 0]
            )
        return found[TASKS.index(env)] if isinstance(found, tuple) else found

    return look_up


RIGHT = dict(
    success=table(
        her=0.01,
        her_ibs=0.1,
        her_thinned=0.05,
        none=0.0,
        filtered_her=(0.4, 0.3, 0.2),
        filtered_her_ibs=(0.5, 0.6, 0.3),
        variants=(0.8, 0.2, 0.9),
    ),
    bias=table(her=35.0, her_thinned=35.0, none=1.0, her_ibs=30.0, filtered_her=3.0, filtered_her_ibs=2.0),
    kl=lambda method, env: dict(zip(NAMES, TABLE_2[env])).get(method.split()[0], 1.0),
    floor=table(her=0.8, her_thinned=0.8, none=0.0, her_ibs=0.7, filtered_her=0.1, filtered_her_ibs=0.05),
    spread=table(her=0.0, her_thinned=0.0, none=0.0, her_ibs=0.0, filtered_her=0.06, filtered_her_ibs=0.005),
)
WRONG = dict(
    late=lambda method, env: 0.05 if "moving" in method else 1.0,
    success=table(
        her=(0.6, 0.7, 0.6),
        her_thinned=0.7,
        none=0.0,
        her_ibs=0.5,
        filtered_her=(0.3, 0.4, 0.5),
        filtered_her_ibs=(0.2, 0.1, 0.4),
        variants=(0.05, 0.6, 0.02),
    ),
    bias=table(her=-5.0, her_thinned=-5.0, none=10.0, her_ibs=-5.0, filtered_her=20.0, filtered_her_ibs=25.0),
    fall=lambda method, env: 0.3,
    kl=table(her=1.0, her_thinned=1.0, none=1.0, her_ibs=2.0, filtered_her=3.0, filtered_her_ibs=4.0),
    floor=table(her=0.1, her_thinned=0.1, none=0.0, her_ibs=0.1, filtered_her=0.4, filtered_her_ibs=0.4),
    spread=table(her=0.0, her_thinned=0.0, none=0.0, her_ibs=0.0, filtered_her=0.005, filtered_her_ibs=0.06),
)


def verdicts(root, numbers, only=IDS, scales=SCALES, seeds=12, **made):
    """Verdicts on the claims `only`, from results with these numbers."""
    numbers = dict(numbers)
    success = numbers.pop("success")
    for experiment, scale in scales.items():
        write(root, experiment, scale, success, **(numbers | made | dict(seeds=seeds)))
    return Judged(TRAINED, Results(root), only)


def verdict_on(claim, root, **numbers):
    """Verdict on one claim about the training runs, from right numbers but for these."""
    return verdicts(root, RIGHT | numbers, [claim], {TRAINING: "full"})[claim]


def statuses(found) -> dict[str, str]:
    return {name: verdict.status for name, verdict in found.items()}


# --- all claims ------------------------------------------------------------------------------------------------------


def test_data_that_agree_reproduce_every_claim(tmp_path):
    found = verdicts(tmp_path, RIGHT)
    assert statuses(found) == dict.fromkeys(IDS, "reproduced")
    for name, verdict in found.items():
        assert (verdict.seeds, verdict.scale, verdict.steps) == (12, "full", 9_000 * POINTS), name
        assert verdict.effect


def test_data_that_disagree_reproduce_none(tmp_path):
    assert statuses(verdicts(tmp_path, WRONG)) == dict.fromkeys(IDS, "not reproduced")


def test_two_seeds_decide_nothing(tmp_path):
    found = verdicts(tmp_path, RIGHT, seeds=2)
    assert statuses(found) == dict.fromkeys(IDS, "inconclusive")
    assert {verdict.seeds for verdict in found.values()} == {2}


def test_where_nobody_learns_nothing_is_said_of_success(tmp_path):
    """Neither of a difference, nor of a method that "never" succeeds where nothing else does."""
    found = verdicts(tmp_path, RIGHT | dict(success=lambda method, env: 0.0, spread=lambda method, env: 0.0))
    for name in ABOUT_SUCCESS:
        assert found[name].status == "inconclusive"
        assert NOBODY in found[name].effect + found[name].note, name
    for name in ("fig3-her", "fig3-distance"):
        assert found[name].status == "inconclusive" and NO_CONTROL in found[name].parts["Hand"].note
    rest = [name for name in IDS if name not in (*ABOUT_SUCCESS, "fig3-her", "fig3-distance")]
    assert {found[name].status for name in rest} == {"reproduced"}


def test_a_gain_is_compared_only_where_somebody_learns_in_both_tasks(tmp_path):
    def success(method, env):
        return RIGHT["success"](method, env) if env == "Hand" else 0.0

    some = ["fig3-filter", "fig3-robot", "fig3-her"]
    numbers = RIGHT | dict(success=success, spread=lambda method, env: 0.0)
    found = verdicts(tmp_path, numbers, some, {TRAINING: "full"})
    assert [found["fig3-filter"].parts[env].status for env in TASKS] == ["reproduced", "inconclusive", "inconclusive"]
    assert found["fig3-robot"].status == "inconclusive" and f"{NOBODY} in Robot" in found["fig3-robot"].note
    assert [found["fig3-her"].parts[env].status for env in TASKS] == ["reproduced", "inconclusive", "inconclusive"]


def test_a_missing_method_leaves_the_other_tasks(tmp_path):
    found = verdicts(tmp_path, RIGHT, keep=lambda method, env, seed: (method, env) != ("filtered-her-ibs", "Robot"))
    assert found["table2-robot"].status == "not run"
    assert found["fig3-ibs"].status == "reproduced" and "2 of 3 parts run" in found["fig3-ibs"].effect
    assert found["fig3-ibs"].parts["Robot"].note == "no runs of filtered-her-ibs on Robot"


def test_seeds_that_only_one_method_has_are_left_out(tmp_path):
    found = verdicts(tmp_path, RIGHT, ["fig3-filter"], keep=lambda method, env, seed: method != "her" or seed < 9)
    assert found["fig3-filter"].seeds == 9


# --- single claims ---------------------------------------------------------------------------------------------------


def test_one_task_that_disagrees_makes_partly(tmp_path):
    def mixed(name):
        return lambda method, env: (WRONG if env == "Robot" else RIGHT)[name](method, env)

    numbers = {name: mixed(name) for name in ("success", "bias", "kl", "floor", "spread")}
    several = ["table1-floor", "fig3-her", "fig3-filter", "fig3-ibs", "fig3-band", "fig4-order"]
    found = dict(verdicts(tmp_path, numbers, [*several, "fig4-filter", "table2-robot"], {TRAINING: "full"}))
    assert found.pop("table2-robot").status == "not reproduced"
    assert set(statuses(found).values()) == {"partly"}
    assert "Robot: not reproduced" in found["fig3-ibs"].note and "Hand: reproduced" in found["fig3-ibs"].note


def test_divergences_are_compared_in_the_papers_order(tmp_path):
    """The first two the other way round: two of three steps are still right."""
    kl = table(her=1.0, her_thinned=1.0, none=1.0, her_ibs=2.0, filtered_her=0.5, filtered_her_ibs=0.2)
    verdict = verdict_on("table2-hand", tmp_path, kl=kl)
    assert verdict.status == "partly" and verdict.effect.endswith("holds in 2 of 3, fails in 1")
    assert [float(x) for x in verdict.effect.split(";")[0].split(" / ")] == pytest.approx([1, 2, 0.5, 0.2])
    parts = [part.split(":")[0] for part in verdict.note.split("; ")]
    assert parts == ["HER > HER-IBS", "HER-IBS > Filtered-HER", "Filtered-HER > Filtered-HER-IBS"]
    assert "HER > HER-IBS: not reproduced" in verdict.note


@pytest.mark.parametrize(("after", "status"), [(0.35, "reproduced"), (0.4, "inconclusive"), (0.45, "not reproduced")])
def test_most_of_the_floor_is_more_than_half(after, status, tmp_path):
    floor = table(her=0.8, her_thinned=0.8, none=0.0, her_ibs=0.8, filtered_her=after, filtered_her_ibs=after)
    verdict = verdict_on("table1-floor", tmp_path, floor=floor)
    assert verdict.status == status
    before, now = re.search(r"([\d.]+) to ([\d.]+) per step", verdict.parts["Hand"].parts["HER"].effect).groups()
    assert (float(before), float(now)) == pytest.approx((4 * 0.8, 4 * after), rel=1e-3)


def test_a_filter_that_leaves_fewer_goals_leaves_fewer_on_the_floor(tmp_path):
    """Half the share of a quarter of the goals: numbers are compared, not shares."""
    floor = table(her=0.5, her_thinned=0.5, none=0.0, her_ibs=0.5, filtered_her=0.4, filtered_her_ibs=0.4)
    write(tmp_path, TRAINING, "full", RIGHT["success"], seeds=3, floor=floor)
    for path in (tmp_path / "full").glob("*.csv"):
        rows = [
            line.replace(",4.0,", ",1.0,") if "filtered" in line and "virtual_per_step" in line else line
            for line in path.read_text().splitlines()
        ]
        path.write_text("\n".join(rows) + "\n")
    found = Judged(TRAINED, Results(tmp_path))
    assert found["table1-floor"].status == "reproduced"


def test_the_floor_is_the_lowest_row_only(tmp_path):
    write(tmp_path, TRAINING, "full", RIGHT["success"], seeds=2, floor=lambda method, env: 0.25)
    path = tmp_path / "full" / "training-hand.csv"
    path.write_text(path.read_text().replace("virtual 7 3", "virtual 0 10"))  # row 10 also ends with a 0
    assert floor_goals(ROOM.runs(Results(tmp_path), TRAINING), "her", "Hand") == pytest.approx([1.0, 1.0], rel=0.05)


@pytest.mark.parametrize(
    ("success", "status"),
    [(0.0, "reproduced"), (0.04, "reproduced"), (0.05, "inconclusive"), (0.06, "not reproduced")],
)
def test_near_zero_is_at_most_a_twentieth(success, status, tmp_path):
    rates = dict(RIGHT, success=lambda method, env: success if method == "her" else 0.5)
    assert verdicts(tmp_path, rates, ["fig3-her"], {TRAINING: "full"})["fig3-her"].status == status


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
        assert "HER-IBS > Filtered-HER-IBS" not in verdict.parts["Hand"].note


def test_gains_are_compared_between_tasks_and_not_successes(tmp_path):
    """Robot succeeds least with the filter, but gains most by it."""
    success = table(
        her=(0.6, 0.6, 0.1),
        her_thinned=0.1,
        none=0.0,
        her_ibs=0.1,
        filtered_her=(0.7, 0.7, 0.5),
        filtered_her_ibs=(0.8, 0.75, 0.6),
    )
    verdict = verdict_on("fig3-robot", tmp_path, success=success)
    assert verdict.status == "not reproduced"
    sizes = [float(size) for size in re.findall(r"\((\S+) ", verdict.note)]
    assert sizes == pytest.approx([0.1 - 0.4] * 2, abs=1e-3)
    assert verdict_on("fig3-wall", tmp_path, success=success).status == "not reproduced"


def test_without_a_difference_to_the_filter_a_bias_says_nothing(tmp_path):
    """All four over-estimate alike: the half of the claim that holds does not carry it."""
    assert verdict_on("fig4-high", tmp_path, bias=lambda method, env: 30.0).status == "inconclusive"


def test_a_spread_is_judged_from_ten_runs_on(tmp_path):
    few = verdicts(tmp_path, RIGHT, ["fig3-band"], seeds=9)["fig3-band"]
    assert few.status == "inconclusive" and "from 10 runs on" in few.parts["Hand"].note


def test_the_width_of_the_band():
    curves = np.array([[0.0, 0.0], [0.3, 0.1], [0.6, 0.1], [0.9, 1.0]])  # four runs, two evaluations
    widths = np.percentile(curves, 67, axis=0) - np.percentile(curves, 33, axis=0)
    assert band_width(curves) == pytest.approx(widths.mean())
    assert band_width(np.array([[0.1, 0.5]] * 5)) == 0


def test_sign_flips_by_hand():
    """Of 8 choices of signs of (1, 2, 3): the sum is at least 6 in one, at least 4 in two, at least 0 in five."""
    assert sign_flips(np.array([1.0, 2.0, 3.0])) == 1 / 8
    assert sign_flips(np.array([-1.0, 2.0, 3.0])) == 2 / 8
    assert sign_flips(np.array([1.0, 2.0, -3.0])) == 5 / 8


def test_own_experiments_by_hand(tmp_path):
    found = verdicts(tmp_path, RIGHT, ["own-grid", "own-her"])
    assert "uniform replay: reproduced (+0.79" in found["own-her"].note and "bootstrapped" in found["own-her"].note
