import re

import pytest

from lab.judge.claims import Claim
from lab.judge.intervals import mean_of, same
from lab.judge.markdown import BEGIN, END, pages, with_table
from lab.judge.verdicts import Verdict, decide
from lab.run.errors import UserError
from tests.lab import toy_house


def check(results):
    """Judged elsewhere."""


def claim(name, figure="fig-1", **settings):
    return Claim(name, figure, f"{name} holds", "0.9 | 0.1", check, **settings)


LACKS = Verdict("not run", note="no runs", price="9 runs, about 40 core-hours")
ONE = Verdict("reproduced", "+0.8", "[+0.7, +0.9]", 5, 100_000, "quick", "at the\nend", 0.001)
ONE.sources = ("quick/compare",)
JUDGED = [
    (claim("one", headline=True), ONE),
    (claim("two"), decide(mean_of([1.0, 2, 3.5]), same(0.1), steps=100, scale="quick")),
    (claim("again", counted_with="one"), Verdict("reproduced", scale="quick", p=0.001)),
    (claim("small", kind="surrogate", headline=True), Verdict("not reproduced", "-1", "", 3, 10, "quick")),
    (claim("ours", "own-x", kind="own"), Verdict("reproduced", scale="quick", p=0.3)),
    (claim("never", scale="full", headline=True), LACKS),
    (claim("ours never", kind="own"), LACKS),
]  # fmt: skip


@pytest.fixture
def written(tmp_path, monkeypatch):
    """RESULTS.md, VERDICTS.md and README.md of a paper, one after the other."""
    house = toy_house.build(tmp_path, monkeypatch, coins=toy_house.COINS)
    paper = house.papers()["coins"]
    (paper.folder / "README.md").write_text("# The coin paper\n")
    for path in (paper.picture("fig-1", "quick"), paper.results / "quick/compare.csv"):
        path.parent.mkdir(parents=True)
        path.touch()
    found = pages({"coins": paper}, {"coins": JUDGED}, tmp_path / "RESULTS.md", tmp_path / "README.md")
    assert list(found) == [tmp_path / "RESULTS.md", paper.folder / "VERDICTS.md", tmp_path / "README.md"]
    for path, text in found.items():
        for link in re.findall(r"\]\(([^)]+)\)", text):
            assert (path.parent / link).exists() or (path.parent / link).resolve() in found, link
    return list(found.values())


def test_claims_are_counted_once_and_apart(written):
    results, _, readme = written
    link = "[coins](house_of_tests/coins/VERDICTS.md)"
    row = f"| {link} | 3 | 1 | 0 | 0 | 1 | 1 | 0 / 0 / 1 / 0 / 0 | 1 / 0 / 0 / 0 / 1 |"
    assert row in results.splitlines() and row in readme.splitlines()


def test_results_have_the_headline_claims(written):
    part = written[0].partition("### The coin paper")[2]
    assert [line for line in part.splitlines() if line.startswith("- ")] == [
        "- one holds: **reproduced** (+0.8 [+0.7, +0.9])",
        "- small holds: **does not hold in a surrogate** (-1)",
        "- never holds: **not run** (9 runs, about 40 core-hours)",
    ]


def test_verdicts_are_grouped_by_figure_and_say_what_they_rest_on(written):
    top, figure, own, lacking = re.split("^## ", written[1], flags=re.MULTILINE)
    assert top.startswith("# Verdicts: The coin paper\n") and "](../../RESULTS.md)" in top
    assert figure.startswith("fig-1: flip against fixed\n") and own.startswith("own-x\n")
    picture, data = "evidence/figures/quick/fig-1.png", "evidence/results/quick/compare.csv"
    assert f"[picture at quick]({picture}) · [quick/compare.csv]({data})" in figure
    rows = [line for line in figure.splitlines() if line.startswith("| ")]
    assert rows[1] == "| one holds (`one`) | 0.9 \\| 0.1 | +0.8 [+0.7, +0.9] | reproduced | 5 × 100,000, quick |"
    assert "| again holds (`again`, counted with `one`) |" in rows[3]
    assert "- `one`: at the end\n" in figure.partition("<summary>Notes</summary>")[2]
    assert "| reproduced (own) | 0, quick; FDR: inconclusive |" in own
    assert "| fig-1 | 1 | full only | 9 runs, about 40 core-hours |" in lacking
    assert "- never holds (`never`): 0.9 | 0.1\n- ours never holds (`ours never`): 0.9 | 0.1\n" in lacking
    assert "no runs" not in lacking
    assert all(line == line.rstrip() for text in written for line in text.splitlines())


def test_a_table_between_markers(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n\n{BEGIN}\n{END}\n\nThe rest.\n")
    text = with_table(readme, "a table\n")
    assert text == f"# Title\n\n{BEGIN}\na table\n{END}\n\nThe rest.\n"
    readme.write_text(text.replace("a table", "edited"))
    assert with_table(readme, "a table") == text


@pytest.mark.parametrize(
    "text", ["no markers", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}", f"{BEGIN}\n{END}\n{END}"]
)
def test_a_file_without_its_markers(tmp_path, text):
    readme = tmp_path / "README.md"
    readme.write_text(text)
    with pytest.raises(UserError, match=rf"needs the line {BEGIN} once, followed by the line {END} once"):
        with_table(readme, "table")
    with pytest.raises(UserError, match="does not exist"):
        with_table(tmp_path / "nowhere.md", "table")
