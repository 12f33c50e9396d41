import pytest

from lab import claims
from lab.claims import (
    BEGIN,
    END,
    STATUSES,
    Claim,
    Verdict,
    claims_table,
    combine,
    evaluate,
    is_current,
    judge_difference,
    results_markdown,
    summary_table,
    update_readme,
)
from lab.errors import UserError
from lab.results import COLUMNS, Results, final


def test_reproduced():
    verdict = judge_difference([3, 4, 5], [1, 1, 1], steps=1000, scale="quick", note="last evaluation")
    assert verdict == Verdict("reproduced", "+3", "[+2, +4]", 3, 1000, "quick", "last evaluation")


def test_not_reproduced():
    assert judge_difference([1, 1, 1], [3, 4, 5]).status == "not reproduced"
    assert judge_difference([1, 1, 1], [3, 4, 5]).interval == "[-4, -2]"


@pytest.mark.parametrize("x, y", [([0, 5, 1], [1, 4, 0]), ([2, 2, 2], [2, 2, 2]), ([1, 2, float("nan")], [0, 0, 0])])
def test_inconclusive(x, y):
    assert judge_difference(x, y).status == "inconclusive"


@pytest.mark.parametrize("x, y, seeds", [([9, 9], [1, 1, 1], 2), ([9, 9, 9], [1], 1), ([1, 1], [9, 9], 2)])
def test_fewer_than_three_seeds_tell_nothing(x, y, seeds):
    verdict = judge_difference(x, y, note="n")
    assert (verdict.status, verdict.seeds, verdict.note) == ("inconclusive", seeds, "n; fewer than 3 seeds")
    assert (verdict.interval == "") == (seeds == 1)
    assert judge_difference(x, y).note == "fewer than 3 seeds"


def test_no_seeds_is_not_run():
    assert judge_difference([], [1, 2, 3]).status == "not run"


def test_unknown_status():
    with pytest.raises(ValueError, match="unknown status 'yes'; choose from reproduced, partly"):
        Verdict("yes")


@pytest.mark.parametrize(
    "parts, expected",
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "inconclusive"], "partly"),
        (["reproduced", "not reproduced"], "partly"),
        (["reproduced", "not run"], "partly"),
        (["partly", "not reproduced"], "partly"),
        (["not reproduced", "inconclusive"], "not reproduced"),
        (["not reproduced", "not reproduced"], "not reproduced"),
        (["inconclusive", "not run"], "inconclusive"),
        (["not run", "not run"], "not run"),
        ([], "not run"),
    ],
)
def test_combine(parts, expected):
    assert combine({str(i): Verdict(status) for i, status in enumerate(parts)}).status == expected


def test_combine_lists_its_parts():
    whole = combine(
        {
            "A": Verdict("reproduced", "+1", "[+0.5, +2]", 5, 100, "full"),
            "B": Verdict("inconclusive", "+0.1", "[-1, +1]", 3, 900, "quick"),
            "C": Verdict("not run"),
        }
    )
    assert (whole.effect, whole.seeds, whole.steps, whole.scale) == ("1 of 3 reproduced", 3, 900, "full and quick")
    assert whole.note == "A: reproduced (+1 [+0.5, +2]); B: inconclusive (+0.1 [-1, +1]); C: not run"


@pytest.mark.parametrize(
    "value, text", [(0.123456, "+0.123"), (-12.345, "-12.3"), (12345.6, "+12,346"), (999.7, "+1,000"), (0.0, "+0")]
)
def test_number(value, text):
    assert claims.number(value, "+") == text


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
    return judge_difference(x, y, steps=100, scale=scale)


CLAIM = Claim("ter-better", "Fig. 2", "TER | beats UER", "0.9 vs 0.1", better)


def test_evaluate_takes_the_best_scale(tmp_path):
    write(tmp_path, "smoke", {"ter": [1.0] * 3, "uer": [0.0] * 3})
    [(claim, verdict)] = evaluate([CLAIM], Results(tmp_path))
    assert claim is CLAIM
    assert verdict == Verdict("not run", note="no full or quick results of fig2")
    write(tmp_path, "quick", {"ter": [1.0] * 3, "uer": [0.0] * 3})
    [(_, verdict)] = evaluate([CLAIM], Results(tmp_path))
    assert (verdict.status, verdict.scale) == ("reproduced", "quick")
    write(tmp_path, "full", {"ter": [0.0] * 3, "uer": [1.0] * 3})
    [(_, verdict)] = evaluate([CLAIM], Results(tmp_path))
    assert (verdict.status, verdict.scale) == ("not reproduced", "full")


def test_a_missing_method_is_not_run_with_a_note(tmp_path):
    write(tmp_path, "full", {"ter": [1.0] * 3})
    [(_, verdict)] = evaluate([CLAIM], Results(tmp_path))
    assert verdict == Verdict("not run", note="no return of uer on Chain")
    # a full experiment that is not complete does not hide the quick one
    write(tmp_path, "quick", {"ter": [1.0] * 3, "uer": [0.0] * 3})
    [(_, verdict)] = evaluate([CLAIM], Results(tmp_path))
    assert (verdict.status, verdict.scale) == ("reproduced", "quick")
    # but one that is complete counts, also when it decides nothing
    write(tmp_path, "full", {"ter": [1.0] * 2, "uer": [0.0] * 2})
    [(_, verdict)] = evaluate([CLAIM], Results(tmp_path))
    assert (verdict.status, verdict.scale) == ("inconclusive", "full")


def test_a_bug_in_a_check_is_not_swallowed(tmp_path):
    for broken in (lambda results: {}["missing"], lambda results: results("fig2")[0], lambda results: 1 / 0):
        with pytest.raises((KeyError, TypeError, ZeroDivisionError)):
            evaluate([Claim("x", "", "", "", broken)], Results(tmp_path))


def test_damaged_results_are_the_users_to_mend(tmp_path):
    write(tmp_path, "quick", {"ter": [1.0]})
    (tmp_path / "quick" / "fig2.csv").write_text("step\n")
    with pytest.raises(UserError, match=r"fig2.csv: column 'experiment' is missing"):
        evaluate([CLAIM], Results(tmp_path))


def test_two_claims_of_one_name(tmp_path):
    with pytest.raises(ValueError, match="two claims are called ter-better"):
        evaluate([CLAIM, CLAIM], Results(tmp_path))


BY_PAPER = {
    "ter": [
        (CLAIM, Verdict("reproduced", "+0.8", "[+0.7, +0.9]", 5, 100_000, "quick", "at the\nlast evaluation")),
        (Claim("ter-2", "Table 1", "all solved", "7 of 7", better), Verdict("not run")),
    ],
    "ners": [(Claim("ners-1", "Fig. 3", "best", "", better), Verdict("partly", "1 of 2 reproduced"))],
}


def test_tables():
    assert summary_table(BY_PAPER).splitlines() == [
        "| paper | claims | reproduced | partly | not reproduced | inconclusive | not run |",
        "|---|---|---|---|---|---|---|",
        "| ter | 2 | 1 | 0 | 0 | 0 | 1 |",
        "| ners | 1 | 0 | 1 | 0 | 0 | 0 |",
    ]
    rows = claims_table(BY_PAPER).splitlines()
    assert rows[2] == (
        "| ter | Fig. 2 | TER \\| beats UER (`ter-better`) | 0.9 vs 0.1 | +0.8 [+0.7, +0.9] | 5 | 100,000 | quick "
        "| reproduced |"
    )
    assert rows[3] == "| ter | Table 1 | all solved (`ter-2`) | 7 of 7 |  |  |  |  | not run |"
    assert {line.replace("\\|", "").count("|") for line in rows} == {10}


def test_results_markdown():
    text = results_markdown(BY_PAPER)
    assert text == results_markdown(BY_PAPER)
    assert summary_table(BY_PAPER) in text and claims_table(BY_PAPER) in text
    assert "Generated" in text and "about 80 %" in text
    assert all(f"**{status}**" in text.lower() for status in STATUSES if status != "not run")
    assert text.endswith("## Notes\n\n- `ter-better`: at the last evaluation\n")
    assert "\n\n\n" not in text and not any(line != line.rstrip() for line in text.splitlines())
    assert "## Notes" not in results_markdown({"ter": [BY_PAPER["ter"][1]]})


def test_readme_table(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n\n{BEGIN}\n{END}\n\nThe rest.\n")
    table = summary_table(BY_PAPER)
    assert not is_current(readme, table)
    assert update_readme(readme, table)
    assert readme.read_text() == f"# Title\n\n{BEGIN}\n{table}\n{END}\n\nThe rest.\n"
    assert is_current(readme, table)
    assert not update_readme(readme, table)
    readme.write_text(readme.read_text().replace("| ter | 2 | 1 |", "| ter | 2 | 2 |"))  # edited by hand
    assert not is_current(readme, table)
    assert update_readme(readme, table) and is_current(readme, table)


@pytest.mark.parametrize(
    "text", ["no markers", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}", f"{BEGIN}\n{END}\n{END}"]
)
def test_readme_without_its_markers(tmp_path, text):
    readme = tmp_path / "README.md"
    readme.write_text(text)
    with pytest.raises(UserError, match=rf"needs the line {BEGIN} once and after it the line {END} once"):
        update_readme(readme, "table")
    with pytest.raises(UserError):
        is_current(readme, "table")
    assert readme.read_text() == text
    with pytest.raises(UserError, match="does not exist"):
        update_readme(tmp_path / "nowhere.md", "table")
