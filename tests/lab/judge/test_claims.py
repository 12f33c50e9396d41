import functools
from dataclasses import replace

import pytest

from lab.judge.claims import (
    Claim,
    evaluate,
    judge_of,
    judged_text,
    planned_from,
    sentences,
    status_of,
    summary,
    threshold,
)
from lab.judge.intervals import above, difference
from lab.judge.results import COLUMNS, EVIDENCE, Results, final
from lab.judge.verdicts import Verdict, all_of, decide
from lab.rooms import ROOT
from lab.run.errors import UserError


def write(root, scale, scores):
    """scores: method -> one value per seed."""
    (root / scale).mkdir(parents=True, exist_ok=True)
    rows = [
        f"fig2,{scale},{method},Chain,{seed},100,return,{value!r},0.1"
        for method, values in scores.items()
        for seed, value in enumerate(values)
    ]
    (root / scale / "fig2.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")


def better(results: Results) -> Verdict:
    frame, scale = results.need("fig2")
    x, y = (final(frame, "return", method, "Chain") for method in ("ter", "uer"))
    return decide(difference(x, y), above(), steps=100, scale=scale)


CLAIM = Claim("ter-better", "Fig. 2", "TER | beats UER", "0.9 vs 0.1", better)


def test_evaluate_takes_the_best_scale(tmp_path):
    """Of those at which there are data for the claim; a full experiment that lacks a method does not hide the quick
    one, but one that is complete counts, also when it decides nothing."""
    good, bad = {"ter": [1.0] * 3, "uer": [0.0] * 3}, {"ter": [0.0] * 3, "uer": [1.0] * 3}
    for scale, scores, status, of in (
        ("smoke", good, "not run", ""),
        ("full", {"ter": [1.0] * 3}, "not run", ""),
        ("quick", good, "reproduced", "quick"),
        ("long", bad, "not reproduced", "long"),
        ("full", {"ter": [1.0] * 2, "uer": [0.0] * 2}, "inconclusive", "full"),
        ("full", bad, "not reproduced", "full"),
    ):
        write(tmp_path, scale, scores)
        [(claim, verdict)] = evaluate([CLAIM], Results(tmp_path))
        assert claim is CLAIM and (verdict.status, verdict.scale) == (status, of)
        assert verdict.sources == ((f"{of}/fig2",) if of else ())
        assert verdict.status != "not run" or verdict.note == "no quick results of fig2"


def test_on_a_surrogate_nothing_is_decided_about_the_paper(tmp_path):
    """Judged at quick it is counted apart, and says of what; at full, where it is the thing itself, it counts."""
    small = replace(CLAIM, surrogate="half the chain")
    write(tmp_path, "quick", {"ter": [1.0] * 3, "uer": [0.0] * 3})
    [(claim, verdict)] = evaluate([small], Results(tmp_path))
    assert (claim.kind, claim.counts, verdict.status, verdict.note) == (
        "surrogate", False, "reproduced", "half the chain")  # fmt: skip
    assert status_of(claim, verdict.status) == "holds in a surrogate"
    write(tmp_path, "full", {"ter": [0.0] * 3, "uer": [1.0] * 3})
    [(claim, verdict)] = evaluate([small], Results(tmp_path))
    assert (claim.counts, verdict.status, verdict.note) == (True, "not reproduced", "")
    always = replace(small, surrogate_at=EVIDENCE)
    [(claim, verdict)] = evaluate([always], Results(tmp_path))
    assert (claim.counts, verdict.scale, verdict.note) == (False, "full", "half the chain")
    assert [evaluate([c], Results(tmp_path / "none"))[0][0].counts for c in (small, always)] == [True, False]


def test_a_claim_is_judged_at_its_scales_alone(tmp_path):
    """Many steps with a small network decide who is first, not how high a value is."""
    good, bad = {"ter": [1.0] * 3, "uer": [0.0] * 3}, {"ter": [0.0] * 3, "uer": [1.0] * 3}
    level = replace(CLAIM, id="level", scales=("full", "quick"))

    def found(*scales):
        return [(v.status, v.scale) for _, v in evaluate([CLAIM, level], Results(tmp_path, *scales))]

    write(tmp_path, "long", bad)
    assert found() == [("not reproduced", "long"), ("not run", "")]
    assert evaluate([level], Results(tmp_path, ("long",)))[0][1].note == "not judged at long"
    write(tmp_path, "quick", good)
    assert found() == [("not reproduced", "long"), ("reproduced", "quick")]
    write(tmp_path, "full", good)
    assert found() == [("reproduced", "full")] * 2


def test_a_bug_in_a_check_is_not_swallowed(tmp_path):
    for broken in (lambda results: {}["missing"], lambda results: len(0), lambda results: 1 / 0):
        with pytest.raises((KeyError, TypeError, ZeroDivisionError)):
            evaluate([Claim("x", "", "", "", broken)], Results(tmp_path))


def test_damaged_results_are_the_users_to_mend(tmp_path):
    write(tmp_path, "quick", {"ter": [1.0]})
    (tmp_path / "quick" / "fig2.csv").write_text("step\n")
    with pytest.raises(UserError, match=r"fig2.csv: column 'experiment' is missing"):
        evaluate([CLAIM], Results(tmp_path))


def test_the_scale_at_which_more_was_run_counts(tmp_path):
    def check(results):
        frame, scale = results.need("fig2")
        return all_of({m: Verdict("reproduced" if m in set(frame.method) else "not run", scale=scale) for m in "ab"})

    write(tmp_path, "full", {"a": [1.0]})
    write(tmp_path, "quick", {"a": [1.0], "b": [1.0]})
    [(_, verdict)] = evaluate([Claim("x", "", "", "", check)], Results(tmp_path))
    assert verdict.scale == "quick" and verdict.run == 2


def test_mistakes_in_claims(tmp_path):
    with pytest.raises(ValueError, match="two claims have the id ter-better"):
        evaluate([CLAIM, CLAIM], Results(tmp_path))
    with pytest.raises(ValueError, match="unknown kind of claim 'mine'"):
        Claim("a", "", "", "", better, kind="mine")
    with pytest.raises(ValueError, match="unknown scale 'smoke'; choose from full, long, quick"):
        Claim("a", "", "", "", better, scale="smoke")
    with pytest.raises(ValueError, match="unknown scale 'lang'"):
        Claim("a", "", "", "", better, scales=("quick", "lang"))
    with pytest.raises(ValueError, match="a is planned at quick, where it cannot be judged"):
        Claim("a", "", "", "", better, scales=("full",))
    with pytest.raises(ValueError, match="x is counted with y, which is not a claim"):
        evaluate([Claim("x", "", "", "", better, counted_with="y")], Results(tmp_path))


def test_a_claim_names_the_function_that_judges_it():
    def of(check):
        return judge_of(Claim("x", "", "", "", check), ROOT, "papers/ter")

    assert of(better) == of(functools.partial(better)) == ("tests/lab/judge/test_claims.py", "better")
    assert of(NAMELESS)[1] == ""


NAMELESS = lambda results: Verdict("not run")  # noqa: E731


def claim(name, **settings):
    return Claim(name, "fig-2", f"{name} holds", "0.9 | 0.1", better, **settings)


BY_PAPER = {
    "ter": [
        (claim("one"), Verdict("reproduced", "+0.8", "[+0.7, +0.9]", 5, 100_000, "quick", "at the\nend", p=0.001)),
        (claim("two"), Verdict("not reproduced", "-1", "[-2, -0.1]", 3, 100, "quick", p=0.04)),
        (claim("again", counted_with="one"), Verdict("reproduced", p=0.001)),
        (claim("ours", kind="own"), Verdict("reproduced", p=0.3)),
        (claim("wired", kind="wiring"), Verdict("reproduced")),
        (claim("never"), Verdict("not run")),
    ],
    "ners": [(claim("three"), Verdict("partly", "1 of 2"))],
}


def test_only_the_papers_claims_stand_behind_the_threshold():
    assert threshold(BY_PAPER) == (0.04, 2, 2)


def test_what_is_said_of_a_verdict():
    assert status_of(claim("x"), "partly") == "partly" and status_of(claim("x", kind="own"), "partly") == "partly (own)"


def test_headline_claims_are_named_by_id():
    marked = planned_from([claim("one"), claim("two")], headline=["two"], full=["one"])
    assert [(one.headline, one.scale) for one in marked] == [(False, "full"), (True, "quick")]
    with pytest.raises(ValueError, match="unknown claims: three"):
        planned_from(marked, headline=["three"])


def test_three_sentences():
    holds, fails, is_open = sentences(BY_PAPER["ter"])
    assert holds == "Holds here (1 of 3 claims, 0 more in part): one holds."
    assert fails == "Does not hold here (1): two holds."
    assert is_open == "Open (0 undecided, 1 not run): never holds."
    assert sentences(BY_PAPER["ners"])[1] == "Does not hold here (0): nothing."
    many = [(claim(str(i)), Verdict("inconclusive")) for i in range(9)]
    assert sentences(many)[2].endswith("0 holds; 1 holds; 2 holds; and 6 more.")


def test_what_a_room_has_written_is_said_while_its_verdicts_hold():
    written = {"{one.seeds} seeds, {one.effect}.": {"reproduced": ["one"]}, "Open.": {"not run": ["never"]}}
    assert summary(BY_PAPER["ter"], written) == ["5 seeds, +0.8.", "Open."]
    wrong = written | {"Open.": {"reproduced": ["never"]}}
    assert summary(BY_PAPER["ter"], wrong) == summary(BY_PAPER["ter"], {}) == sentences(BY_PAPER["ter"])


def test_what_a_terminal_shows():
    shown = judged_text(BY_PAPER)
    assert "one holds" in shown and "never holds" not in shown and max(map(len, shown.splitlines())) <= 110
