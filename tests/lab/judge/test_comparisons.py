"""What comparisons say of a few runs made by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lab.judge.comparisons import Compare, Place, Room, Score, last
from lab.judge.intervals import mean_of, number
from lab.judge.results import COLUMNS, MissingData, Results
from lab.judge.verdicts import NOBODY, Verdict

YES, NO, MAYBE = "reproduced", "not reproduced", "inconclusive"
END = Score(last("return"))
ROOM = Room(Score(last("return"), gated=True), learning=lambda runs, m, env: runs.learning("return", m, env, 0.0))


def results(root, **ends):
    """Runs of three rows that end there: "method_on_task" -> one end per seed; a dict's keys are its seeds."""
    rows = []
    for name, values in ends.items():
        method, env = name.split("_on_") if "_on_" in name else (name, "Task")
        for seed, end in (values if isinstance(values, dict) else dict(enumerate(values))).items():
            rows += [("e", "quick", method, env, seed, 10 * k, "return", end * k / 3, 0.1) for k in (1, 2, 3)]
    (root / "quick").mkdir(exist_ok=True)
    pd.DataFrame(rows, columns=COLUMNS).to_csv(root / "quick/e.csv", index=False)
    return Results(root, ("quick",))


@pytest.mark.parametrize(
    ("x", "sign", "y", "how", "status"),
    [
        ("good", ">", "poor", {}, YES),
        ("good", "<", "poor", {}, NO),
        ("good", ">", "poor", dict(margin=35.0), NO),  # 30 apart
        ("poor", "<", "good", dict(margin=25.0), YES),
        ("poor", "<", "good", dict(margin=35.0), NO),
        ("poor", ">=", "good", {}, NO),  # a fifth of what the better side gained is 20
        ("poor", ">=", "good", dict(margin=35.0), YES),
        ("poor", ">=", "good", dict(share=0.35), YES),
        ("good", "==", "poor", dict(margin=lambda x, y: x.mean() - y.mean() + 5.0), YES),
        ("good", "!=", "poor", {}, YES),
        ("good", "!=", "poor", dict(share=0.35), NO),
        ("good", ">", 95.0, {}, YES),
        ("good", "<", 95.0, {}, NO),
        ("good", "==", 95.0, dict(margin=10.0), YES),
        ("good", "==", 80.0, dict(margin=10.0), NO),
        ("good", "==", 95.0, dict(margin=lambda x, level: level - 85.0), YES),
        ("good", ">", lambda runs, env: 95.0, {}, YES),
        (lambda runs, env: "good", ">", lambda runs, env: ("good", "Other"), {}, YES),
        ("good", ">", "poor", dict(by=Score(last("return"), ratio=True), margin=1.3), YES),
        ("good", "==", "poor", dict(by=Score(last("return"), ratio=True), margin=1.3), NO),
        ("good", "<", 60.0, dict(by=Score(last("return"), ratio=True), margin=1.5), NO),  # 1.67 times
    ],
)
def test_signs_and_sizes(x, sign, y, how, status, tmp_path):
    found = results(tmp_path, good=[99.0, 100.0, 101.0], poor=[69.5, 70.0, 70.5], good_on_Other=[50.0, 51.0, 52.0])
    assert ROOM.all(x, sign, y, of="e", on="Task", **how)(found).status == status


def test_better_is_refuted_where_both_are_the_same(tmp_path):
    """Both gain about 100, so that a difference of less than 20 counts as none."""
    runs = ROOM.runs(results(tmp_path, a=[98.0, 100.0, 102.0], b=[101.0, 99.0, 98.0], c=[60.0, 100.0, 140.0]), "e")
    assert [runs.compare("a", sign, "b", "Task").status for sign in "><"] == [NO, NO]
    assert [runs.compare("a", sign, "c", "Task").status for sign in "><"] == [MAYBE, MAYBE], "too wide"
    assert runs.compare("a", ">", "b", "Task", END).status == MAYBE, "without a gate there is no size to go by"
    assert runs.compare("a", ">", 100.0, "Task").status == MAYBE, "nor against a number"
    assert runs.compare("b", ">", "b", "Task", share=0.5).status == NO


def test_a_margin_is_a_share_of_a_gain_or_is_given(tmp_path):
    runs = ROOM.runs(results(tmp_path, a=[1.0, 2.0, 3.0], b=[1.0, 2.0, 3.0]), "e")
    with pytest.raises(ValueError, match="== needs a margin"):
        runs.compare("a", "==", "b", "Task", END)


def test_what_is_printed(tmp_path):
    runs = ROOM.runs(results(tmp_path, a=[99.0, 100.0, 101.0], b=[0.0, 0.0, 0.0]), "e")
    assert runs.compare("a", ">", 95.0, "Task", END).effect == "+100", "a level is not taken off"
    assert runs.compare("a", "==", 95, "Task", Score(last("return"), show=number), margin=9).effect == "100"
    ratio = Score(last("return"), ratio=True, note=lambda x, y: f"{x.sum():.0f} against {y}")
    verdict = runs.compare("a", ">", 50.0, "Task", ratio, margin=3)
    assert (verdict.status, verdict.effect, verdict.note) == (NO, "2x", "300 against [ 99. 100. 101.]")
    assert runs.compare("a", ">", "b", "Task", Score(last("return"), ratio=True)).status == YES, "0 has a ratio, too"


def test_runs_are_paired_by_the_seeds_that_both_have(tmp_path):
    """One method is ahead by 1 in every seed; the seeds are 100 apart."""
    found = results(tmp_path, a={k: 100.0 * k + 1 for k in range(1, 7)}, b={k: 100.0 * k for k in range(2, 8)})
    verdict = ROOM.runs(found, "e").compare("a", ">", "b", "Task")
    assert (verdict.status, verdict.seeds, verdict.effect) == (YES, 5, "+1")
    apart = Room(ROOM.score, ROOM.learning, paired=lambda x, y: False).runs(found, "e").compare("a", ">", "b", "Task")
    assert (apart.status, apart.seeds) == (MAYBE, 6)
    with pytest.raises(MissingData, match="a and c have no seed in common on Task"):
        ROOM.runs(results(tmp_path, a=[1.0], c={1: 1.0}), "e").compare("a", ">", "c", "Task")


def test_somebody_must_learn_where_the_score_says_so(tmp_path):
    runs = ROOM.runs(results(tmp_path, a=[-1.0, -1.1, -1.2], b=[-2.0, -2.1, -2.2]), "e")
    assert runs.compare("a", ">", "b", "Task").effect == NOBODY
    assert runs.compare("a", ">", "b", "Task", END).status == YES
    low = Score(last("return"), gated=lambda value: value < -1.5)
    assert [runs.compare(method, "<", 0.0, "Task", low).effect for method in "ab"] == ["-1.1", NOBODY]


def claim(*what, **how):
    """Statuses of a claim's parts, and its own."""
    found = how.pop("found")
    verdict = ROOM.all(*what, of="e", **how)(found)
    return [part.status for part in verdict.parts.values()], verdict.status


def test_parts_of_a_claim(tmp_path):
    three = dict(a_on_A=[3.0, 3.1, 3.2], b_on_A=[2.0, 2.1, 2.2], a_on_B=[1.0, 1.1, 1.2], b_on_B=[2.0, 2.1, 2.2])
    found = results(tmp_path, **three, a_on_C=[3.0, 3.1, 3.2], b_on_C=[2.0, 2.1, 2.2])
    won = ("a", ">", "b")
    assert claim(*won, found=found, on=("A", "B", "C", "D")) == ([YES, NO, YES, "not run"], "partly")
    assert ROOM.most(*won, of="e", on=("A", "B", "C", "D"))(found).status == YES
    assert claim(*won, found=found, on={"full": "A", "quick": "B"}) == ([], NO), "one task of this scale, no parts"
    both = {"a over b": won, "judged": lambda runs, env: Verdict(YES)}
    assert claim(both, found=found, on="B") == ([NO, YES], "partly")
    assert claim(both, found=found, on="B", decisive=["a over b"]) == ([NO, YES], NO)
    assert claim(both, found=found, on="B", each="most") == ([NO, YES], NO)
    loss = Score(lambda runs, method, env: -runs.last("return", method, env))
    assert claim({"gain": ("a", ">", 0.5), "loss": ("a", ">", 0.5, loss)}, found=found, on="B")[0] == [YES, NO]


def test_parts_that_a_room_plans(tmp_path):
    """Methods of an agent; what is not planned is no part, and what cannot be judged is not run."""

    def places(experiment, scale):
        planned = [("x a", "A"), ("x b", "A"), ("x a", "B")]
        return [Place("x on A", "e", "A", "x ", planned), Place("x on B", "e", "B", "x ", planned),
                Place("y on A", "e", "A", "y ", missing="y has too few seeds")]  # fmt: skip

    ends = {"x a_on_A": [3.0, 3.1, 3.2], "x b_on_A": [2.0, 2.1, 2.2], "y a_on_A": [1.0, 1.1, 1.2]}
    found, room = results(tmp_path, **ends), Room(ROOM.score, ROOM.learning, places=places)
    verdict = Compare(room, ("a", ">", "b"), of=("e",))(found)
    assert {name: part.status for name, part in verdict.parts.items()} == {"x on A": YES, "y on A": "not run"}
    assert verdict.parts["y on A"].note == "y has too few seeds"
    by_task, by_name = (room.all("a", ">", 0.0, of=("e",), on=[on])(found) for on in ("A", "x on A"))
    assert (list(by_task.parts), by_name.note) == (["x on A", "y on A"], "x on A")


def test_a_room_reads_its_runs_its_own_way(tmp_path):
    found = results(tmp_path, a=[3.0, 3.1, 3.2], b=[2.0, 2.1, 2.2])
    room = Room(
        ROOM.score, ROOM.learning, label=str.upper, note=lambda runs, sides: f"{len(sides)} sides",
        steps=lambda runs, sides: 7, until=lambda experiment, scale: {"Task": 20},
        rows=lambda frame: frame.assign(value=frame["value"] * np.where(frame["step"] == 30, -1, 1)),
    )  # fmt: skip
    verdict = room.runs(found, "e").compare("a", ">", "b", "Task")
    assert (verdict.status, verdict.steps, verdict.note) == (YES, 7, "2 sides"), "the last row is not looked at"
    assert replace(room, steps=ROOM.steps).runs(found, "e").compare("a", ">", "b", "Task").steps == 20
    runs = replace(room, until=ROOM.until).runs(found, "e")
    assert "A learns, then collapses" in runs.compare("b", ">", "a", "Task").note
    assert list(runs.sides_learn([("a", "Task"), ("a", "Task")])) == ["Task"], "one method on two tasks"


def test_other_estimates_than_differences(tmp_path):
    largest = Score(last("return"), estimate=lambda x, y: mean_of(x / y.max()))
    runs = ROOM.runs(results(tmp_path, a=[4.0, 5.0, 6.0], b={3: 1.0, 4: 2.0}), "e")
    assert runs.compare("a", ">", "b", "Task", largest).effect == "+2.5", "of all runs, in pairs or not"
