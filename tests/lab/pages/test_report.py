"""lab/pages/report: the page of the real papers (with made-up verdicts, which cost nothing), and of a small one."""

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lab.judge.results import COLUMNS
from lab.judge.verdicts import STATUSES, Verdict
from lab.pages import report as module
from lab.pages.report import SIGNS, data, main, report
from lab.rooms import House
from tests.lab import toy_house

ROOT = Path(__file__).resolve().parents[3]


class Elements(HTMLParser):
    """(tag, attributes, first text inside) of every element."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append([tag, dict(attrs), ""])

    def handle_data(self, data):
        if self.found and not self.found[-1][2]:
            self.found[-1][2] = data.strip()

    def all(self, tag):
        return [(attrs, text) for name, attrs, text in self.found if name == tag]


# ---- the real papers -------------------------------------------------------------------------------------------------

PAPERS = House().papers()


@pytest.fixture(scope="module")
def html():
    def made_up(paper):
        verdicts = [
            Verdict(status, scale="quick", note=note) for status, note in zip(STATUSES, itertools.cycle(["", "n"]))
        ]
        return list(zip(paper.claims, itertools.cycle(verdicts)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "judge", made_up)
        return "".join(report(House(), ROOT / "site").values())


@pytest.fixture(scope="module")
def elements(html):
    return Elements(html)


def test_every_claim_is_a_row_and_a_mark_once(elements):
    wanted = {
        f"claim-{module.target(paper.name)}-{claim.id}": status
        for paper in PAPERS.values()
        for claim, status in zip(paper.claims, itertools.cycle(STATUSES))
    }
    assert [attrs["id"] for attrs, _ in elements.all("tr") if "id" in attrs] == list(wanted)
    marks = [(attrs, sign) for attrs, sign in elements.all("a") if "mark" in attrs.get("class", "")]
    marks = [(attrs["href"].partition("#")[2], sign) for attrs, sign in marks]
    assert sorted(marks) == sorted((target, SIGNS[status]) for target, status in wanted.items())
    assert len(set(SIGNS.values())) == len(STATUSES), "signs tell verdicts apart without colour"


def test_every_committed_picture_is_there_with_a_text(elements):
    pictures = {attrs["src"]: attrs["alt"] for attrs, _ in elements.all("img")}
    committed = sorted((ROOT / "papers").glob("*/evidence/figures/*/*.png"))
    assert committed and all(pictures.get(f"../{path.relative_to(ROOT).as_posix()}") for path in committed)
    assert len(elements.all("img")) == len(committed)


def test_readmes_are_there_with_all_deviations(html):
    for paper in PAPERS.values():
        part = html.split(f'<section id="{module.target(paper.name)}">')[1].split("</section>")[0]
        pages = [path for name in ("README.md", "NOTEBOOK.md") if (path := paper.folder / name).exists()]
        text = "\n".join(path.read_text() for path in pages)
        titles = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
        assert len(set(titles)) == len(titles), "of two sections with one title one is lost"
        for title in titles:
            assert (f">{title}</" in part) == (title not in module.LEFT_OUT), title
            if title.startswith("Deviations"):
                deviations = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
                shown = part.split(f"<summary>{title}</summary>")[1].split("</details>")[0]
                assert shown.count("<li>") == len(re.findall(r"^(?:\d+\.|-) ", deviations, flags=re.MULTILINE))


# ---- a small paper ---------------------------------------------------------------------------------------------------

FIGURES = """
from lab.judge.plotting import Figure
FIGURES = {"fig_1": Figure(("a", "b"), None, "A <b>title</b>"), "fig2": Figure((), None, "not drawn")}
"""
CLAIMS = """
from lab.judge.claims import Claim
from lab.judge.verdicts import Verdict
def check(results):
    frame, scale = results.need("a")
    return Verdict("reproduced", effect="+1", seeds=2, steps=1234567, scale=scale, p=0.04)
CLAIMS = [Claim("one", "fig-1", "x < y & <script>alert(1)</script>", "1", check),
          Claim("two", "fig2", "never run", "2", lambda results: Verdict("not run")),
          Claim("own", "own-a", "chosen later", "", lambda results: Verdict("reproduced", p=0.9), "own"),
          Claim("again", "fig-1", "as one", "", lambda results: Verdict("reproduced", scale="quick"), "paper", "one")]
"""
README = """# A paper

Somebody, 2026.

## The idea

See [Fig. 1](evidence/figures/quick/fig_1.png), [code](train.py), ![its picture](evidence/figures/quick/fig_1.png), [net](https://example.org).

## Deviations and decisions

1. **First** of
   them.
2. Second.
"""
ORIGIN = {
    "commit": "0123456789", "dirty": False, "threads": 2, "config": {"seed": 0},
    "machine": {"cpu": "abacus", "cores": 4, "python": "3.11.0"}, "versions": {"numpy": "2"},
}  # fmt: skip


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A house of one paper: experiments a (two runs) and c, which shares a's first run."""
    evidence = {"experiments": "EXPERIMENTS = {}", "figures": FIGURES, "claims": CLAIMS}
    house = toy_house.build(tmp_path, monkeypatch, tiny=evidence)
    for part in ("results/quick", "figures/quick"):
        (folder(house) / "evidence" / part).mkdir(parents=True)
    (folder(house) / "README.md").write_text(README)
    (folder(house) / "evidence/figures/quick/fig_1.png").write_bytes(b"a picture")
    for name, origins in (
        ("a", {"m|e|0": ORIGIN, "m|e|1": {**ORIGIN, "config": {"seed": 1}}}),
        ("c", {"m|e|0": ORIGIN}),
    ):
        rows = [f"{name},quick,{run.replace('|', ',')},{s},x,0.5,{s / 1000}" for run in origins for s in (500, 1000)]
        (results(house) / f"quick/{name}.csv").write_text("\n".join([",".join(COLUMNS), *rows, ""]))
        (results(house) / f"quick/{name}.provenance.json").write_text(json.dumps(origins))
    return house


def folder(house):
    return house.papers()["tiny"].folder


def results(house):
    return folder(house) / "evidence/results"


def files(place):
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def text(house):
    return "".join(report(house, house.root / "site").values())


def test_main_writes_the_pages_and_the_pictures_and_nothing_else(house, capsys):
    before, out = files(house.root), house.root / "elsewhere"
    assert main(["--out", str(out)], house) == 0
    made = files(house.root).keys() - before.keys()
    picture = "house_of_tests/tiny/evidence/figures/quick/fig_1.png"
    assert made == {out / name for name in ("report/index.html", "report/tiny.html", picture)}
    assert (out / picture).read_bytes() == b"a picture" and str(out) in capsys.readouterr().out
    assert main([], house) == 0
    for name in ("report/index.html", "report/tiny.html"):
        assert (house.root / "site" / name).read_bytes() == (out / name).read_bytes(), "the same files, the same pages"


def test_a_claim_has_its_verdict_its_place_and_what_becomes_of_it(house):
    html = text(house)
    rows = dict(re.findall(r'<tr id="claim-tiny-(\w+)">(.*?)</tr>', html, re.DOTALL))
    statuses = {name: re.findall(r"</span> ([\w ]+)(?:<br>.*>FDR: (\w+))?", row) for name, row in rows.items()}
    assert statuses == {
        "one": [("reproduced", "")],
        "two": [("not run", "")],
        "own": [("reproduced", "inconclusive")],
        "again": [("reproduced", "")],
    }
    assert '<a href="#tiny-fig-1">fig-1</a>' in rows["one"] and "1,234,567" in rows["one"]
    assert "(own)" in rows["own"] and "(counted elsewhere)" in rows["again"] and "<td>own-a</td>" in rows["own"]
    assert html.count("Open (0 undecided, 1 not run): never run.") == 1
    section = html.partition('<section id="tiny"')[2]
    assert re.findall(r"</span> (\d [\w ]+)</span>", section.partition("<ul>")[0]) == ["1 reproduced", "1 not run"]
    assert "x &lt; y &amp; &lt;script&gt;" in html and "alert(1)</script>" not in html
    assert "A &lt;b&gt;title&lt;/b&gt;" in html and "make tiny-fig2" in html


def test_a_shared_run_costs_once(house):
    found = data(house.papers()["tiny"])
    assert [
        (row["file"].rpartition("/")[2], row["runs"], row["steps"], row["core_hours"]) for row in found["rows"]
    ] == [
        ("a.csv", 2, "1,000", 4.0),  # an hour on two threads, twice
        ("c.csv", 1, "1,000", 2.0),
    ]
    assert (found["runs"], found["core_hours"]) == (2, 4.0)


def test_every_origin_of_a_run_is_shown(house):
    path = results(house) / "quick/a.provenance.json"
    origins = json.loads(path.read_text())
    later = {"commit": "89abcdef01", "machine": {"cpu": "loom"}, "versions": {"numpy": "3"}}
    origins["m|e|0"]["resumed"] = [later, later | {"commit": ORIGIN["commit"]}]
    del origins["m|e|1"]
    path.write_text(json.dumps(origins))
    found = data(house.papers()["tiny"])
    assert found["rows"][0]["commits"] == ["0123456", "89abcde", "unknown"]
    path.unlink()
    assert data(house.papers()["tiny"])["runs"] == 3, "without origins no two runs are the same"


def test_links_of_a_readme_to_files_are_text(house):
    html = text(house)
    assert 'See Fig. 1, code, its picture, <a href="https://example.org">net</a>.' in html
    assert "<h1>A paper</h1>" in html and "<summary>Deviations and decisions</summary>" in html


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda house: (folder(house) / "README.md").unlink(), ["cannot read", "README.md"]),
        (lambda house: (results(house) / "quick/a.csv").write_text("x\n"), ["a.csv", "column 'experiment'"]),
        (lambda house: (results(house) / "quick/a.provenance.json").write_text("{"), ["a.provenance.json"]),
        (lambda house: (house.root / "site").write_text("a file"), ["cannot write", "--out"]),
        (lambda house: (house.root / "site/report/index.html").mkdir(parents=True), ["cannot write", "--out"]),
        (lambda house: ["--output", "x"], ["unknown option --output"]),
    ],
)
def test_bad_input_costs_one_line(house, one_line, break_it, words):
    arguments = break_it(house)
    error = one_line(main, arguments if isinstance(arguments, list) else [], house)
    assert all(word in error for word in words), error
