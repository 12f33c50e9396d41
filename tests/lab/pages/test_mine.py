"""lab/pages/mine: the page of a house of two small papers, of which one was run here."""

import base64
import re
import shutil

import pytest

from lab.__main__ import main as lab
from lab.pages.mine import main
from tests.lab import toy_house


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The headline was run here; other results, in which flip and fixed are alike, are committed."""
    root = tmp_path_factory.mktemp("house")
    with pytest.MonkeyPatch.context() as patch:
        toy_house.commit_sources(patch)
        house = toy_house.build(root, patch)
        (root / "house_of_tests/coins/README.md").write_text("# Coins & how they fall\n\nSomebody, 2020.\n")
        assert lab(["run", "coins", "fig-1", "--jobs", "2"], house) == 0
        evidence = root / "house_of_tests/coins/evidence"
        (evidence / "results/quick").mkdir(parents=True)
        here = (house.runs / "results/coins/quick/compare.csv").read_text()
        (evidence / "results/quick/compare.csv").write_text(here.replace(",score,1", ",score,"))
        (evidence / "figures/quick").mkdir(parents=True)
        (evidence / "figures/quick/fig-1.png").write_text("committed picture")
        yield house


def page(house):
    return (house.runs / "report.html").read_text()


def images(html):
    found = re.findall('src="data:image/png;base64,([^"]*)" alt="([^"]*)"', html)
    return [(base64.b64decode(data).decode(), alt) for data, alt in found]


def test_pictures_and_verdicts_stand_beside_the_committed_ones(house, capsys):
    assert main([], house) == 0
    assert str(house.runs / "report.html") in capsys.readouterr().out
    html = page(house)
    assert images(html) == [
        ("quick 6", "flip against fixed, here, quick"),
        ("committed picture", "flip against fixed, committed, quick"),
    ], "the headline figure alone"
    assert "coins: Coins &amp; how they fall" in html
    assert "These runs can judge 1 claim: 1 reproduced. With the committed runs: 1 inconclusive." in html
    row = re.search("<tr><td>fig-1</td>.*?</tr>", html, re.DOTALL)[0]
    assert re.findall("<strong>(.*?)</strong>", row) == ["reproduced", "inconclusive"]
    assert "slow ends" not in html, "what was not run here is left out"
    ends = html[html.index("In a sentence") :]
    assert re.search("<li>Coins &amp; how they fall: [A-Z].*[.]</li>", ends), "a sentence per paper, at the end"
    assert 'id="dice"' in html and "No claim can be judged by these runs." in html


def test_what_was_run_here_stands_beside_the_same_runs(house):
    """The committed picture is of another scale where the same experiment was committed at that one alone."""
    evidence = house.root / "house_of_tests/coins/evidence"
    shutil.copytree(evidence / "figures/quick", evidence / "figures/full")
    full = (evidence / "results/quick").rename(evidence / "results/full")
    text = (full / "compare.csv").read_text()
    (full / "compare.csv").write_text(text.replace(",quick,", ",full,"))
    assert main([], house) == 0
    assert [alt for _, alt in images(page(house))][1] == "flip against fixed, committed, full"
    (full / "compare.csv").write_text(text)
    full.rename(evidence / "results/quick")
    shutil.rmtree(evidence / "figures/full")


def test_a_picture_that_is_not_there_is_said_to_be_missing(house):
    path = house.root / "house_of_tests/coins/evidence/figures/quick/fig-1.png"
    moved = path.rename(path.parent / "elsewhere.png")
    assert main([], house) == 0
    assert [data for data, _ in images(page(house))] == ["quick 6"]
    assert "No committed picture" in page(house)
    moved.rename(path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scale", "full"], ["no headline figures at full", "make reproduce"]),
        (["--scale", "fast"], ["unknown scale 'fast'", "quick"]),
    ],
)
def test_bad_input_costs_one_line_and_leaves_the_page(house, one_line, arguments, words):
    assert main([], house) == 0
    before = page(house)
    error = one_line(main, arguments, house)
    assert all(word in error for word in words), error
    assert page(house) == before
