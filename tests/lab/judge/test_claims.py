import functools
import re
from dataclasses import replace

import pytest

from lab.judge.claims import (
    BEGIN,
    END,
    Claim,
    claims_table,
    evaluate,
    is_current,
    judge_of,
    judged_text,
    readme_markdown,
    results_markdown,
    sentences,
    summary_table,
    threshold,
    update_readme,
)
from lab.judge.results import COLUMNS, Results, final
from lab.judge.verdicts import Verdict, above, all_of, decide, difference
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
    [(claim, verdict)] = judged = evaluate([small], Results(tmp_path))
    assert (claim.kind, claim.counts, verdict.status, verdict.note) == (
        "surrogate", False, "reproduced", "half the chain")  # fmt: skip
    assert "holds in a surrogate" in claims_table(judged, "papers/ter", tmp_path, 0.05)
    assert "| ter | 0 | 0 | 0 | 0 | 0 | 0 | 1 hold |  |" in summary_table({"ter": judged})
    write(tmp_path, "full", {"ter": [0.0] * 3, "uer": [1.0] * 3})
    [(claim, verdict)] = evaluate([small], Results(tmp_path))
    assert (claim.counts, verdict.status, verdict.note) == (True, "not reproduced", "")


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
    with pytest.raises(ValueError, match="two claims are called ter-better"):
        evaluate([CLAIM, CLAIM], Results(tmp_path))
    with pytest.raises(ValueError, match="unknown kind of claim 'mine'"):
        Claim("a", "", "", "", better, kind="mine")
    with pytest.raises(ValueError, match="unknown scale 'smoke'; choose from full, long, quick"):
        Claim("a", "", "", "", better, scale="smoke")
    with pytest.raises(ValueError, match="unknown scale 'lang'"):
        Claim("a", "", "", "", better, scales=("quick", "lang"))
    with pytest.raises(ValueError, match="a is planned at quick, where it cannot be judged"):
        Claim("a", "", "", "", better, scales=("full",))
    with pytest.raises(ValueError, match="x is counted with y, which is no claim"):
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


def test_only_the_papers_claims_are_counted_and_each_once():
    assert summary_table(BY_PAPER).splitlines() == [
        "| paper | its claims | reproduced | partly | not reproduced | inconclusive | not run | our own claims |",
        "|---|---|---|---|---|---|---|---|",
        "| ter | 3 | 1 | 0 | 1 | 0 | 1 | 1 reproduced |",
        "| ners | 1 | 0 | 1 | 0 | 0 | 0 |  |",
    ]
    assert threshold(BY_PAPER) == (0.04, 2, 2)


def test_the_table_of_claims_links_what_is_there(tmp_path):
    picture = tmp_path / "papers/ter/evidence/figures/quick/fig_2.png"
    picture.parent.mkdir(parents=True)
    picture.touch()
    rows = claims_table(BY_PAPER["ter"], "papers/ter", tmp_path, 0.01).splitlines()
    assert rows[2].startswith(
        "| [fig-2](papers/ter/evidence/figures/quick/fig_2.png) | one holds (`one`) | 0.9 \\| 0.1 | +0.8 [+0.7, +0.9] "
        "| 5 | 100,000 | quick | reproduced |  |"
    )
    assert "| not reproduced | inconclusive |" in rows[3], "what becomes of it after Benjamini and Hochberg"
    assert "counted with `one`" in rows[4] and "reproduced (own)" in rows[5] and "reproduced (wiring)" in rows[6]
    assert {line.replace("\\|", "").count("|") for line in rows} == {11}


def test_three_sentences():
    holds, fails, is_open = sentences(BY_PAPER["ter"])
    assert holds == "Holds here (1 of 3 claims, 0 more in part): one holds."
    assert fails == "Does not hold here (1): two holds."
    assert is_open == "Open (0 undecided, 1 not run): never holds."
    assert sentences(BY_PAPER["ners"])[1] == "Does not hold here (0): nothing."
    many = [(claim(str(i)), Verdict("inconclusive")) for i in range(9)]
    assert sentences(many)[2].endswith("0 holds; 1 holds; 2 holds; and 6 more.")


def test_pages(tmp_path):
    text = results_markdown(BY_PAPER, tmp_path)
    assert "2 comparisons stand behind the papers' claims, 2 of them decided" in text and "p at most 0.04" in text
    assert "- `one`: at the end\n" in text
    assert not any(line != line.rstrip() for line in text.splitlines())
    assert all(part in text for part in readme_markdown(BY_PAPER).split("\n\n"))
    shown = judged_text(BY_PAPER)
    assert "one holds" in shown and "never holds" not in shown and max(map(len, shown.splitlines())) <= 110


def test_what_only_full_can_decide_stands_apart_by_figure_and_price(tmp_path):
    lacks = Verdict("not run", note="no runs", price="9 runs, about 40 core-hours")
    dear = [(claim(name, scale="full"), lacks) for name in ("four", "five")]
    dear.append((replace(claim("seven", scale="full", kind="own"), paper_value="-"), lacks))
    run = (claim("six", scale="full"), Verdict("reproduced", scale="full"))
    text = results_markdown({"ter": [*BY_PAPER["ter"], *dear, run]}, tmp_path)
    table, below = text.split("### What only runs at `full` can decide")
    assert all(f"| {name} holds (" in table for name in ("never", "six")) and "| four holds (" not in table
    paper = r"; paper: 0.9 \| 0.1"
    named = f"four holds (`four`{paper}); five holds (`five`{paper}); seven holds (`seven`) (own)"
    row = f"| fig-2 | {named} | 9 runs, about 40 core-hours | not run |\n"
    assert row in below and "no runs" not in below
    assert "| ter | 6 | 2 | 0 | 1 | 0 | 3 | 1 reproduced, 1 not run |" in text, "they are counted as any other"
    assert "can decide" not in results_markdown(BY_PAPER, tmp_path).split("## ter")[1]


def test_what_takes_nights_stands_apart_from_what_only_full_can_decide(tmp_path):
    lacks = Verdict("not run", price="9 runs, about 40 core-hours")
    judged = [(claim("one", scale="long"), lacks), (claim("two", scale="full"), lacks), (claim("three"), lacks)]
    text = results_markdown({"ter": judged}, tmp_path)
    near, nights, full = re.split("### What only runs at .* can decide", text.split("## ter")[1])
    assert [name in part for part in (near, nights, full) for name in ("`one`", "`two`", "`three`")] == [
        False, False, True, True, False, False, False, True, False,
    ]  # fmt: skip
    assert "### What only runs at `long` or `full` can decide\n" in text
    assert "(0 undecided, 3 not run, 1 of them from `long` on, 1 of them `full` only)" in text


def test_readme_table(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n\n{BEGIN}\n{END}\n\nThe rest.\n")
    table = summary_table(BY_PAPER)
    assert not is_current(readme, table) and update_readme(readme, table)
    assert readme.read_text() == f"# Title\n\n{BEGIN}\n{table}\n{END}\n\nThe rest.\n"
    assert is_current(readme, table) and not update_readme(readme, table)
    readme.write_text(readme.read_text().replace("| ter | 3 | 1 |", "| ter | 3 | 2 |"))  # edited by hand
    assert not is_current(readme, table) and update_readme(readme, table) and is_current(readme, table)


@pytest.mark.parametrize(
    "text", ["no markers", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}", f"{BEGIN}\n{END}\n{END}"]
)
def test_readme_without_its_markers(tmp_path, text):
    readme = tmp_path / "README.md"
    readme.write_text(text)
    for function in (update_readme, is_current):
        with pytest.raises(UserError, match=rf"needs the line {BEGIN} once and after it the line {END} once"):
            function(readme, "table")
    assert readme.read_text() == text
    with pytest.raises(UserError, match="does not exist"):
        update_readme(tmp_path / "nowhere.md", "table")
