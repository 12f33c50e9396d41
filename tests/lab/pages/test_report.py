"""lab/pages/report: the page of the real papers (with made-up verdicts, which cost nothing), and of a small one."""

import base64
import itertools
import json
import re
import shutil
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lab.pages.report import content, page, readme
from lab.pages.report.__main__ import main
from lab.pages.report.compute import distinct, doubts, experiments, once
from lab.rooms import House, judge
from lab.verdicts import STATUSES, Verdict

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

    def all(self, tag, attribute=None):
        return [
            (attrs, text) for name, attrs, text in self.found if name == tag and (not attribute or attribute in attrs)
        ]


# ---- the real papers -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gathered():
    def made_up(paper):
        notes = itertools.cycle(["", "a note"])
        return [
            (claim, Verdict(status, scale="quick", note=next(notes)))
            for claim, status in zip(paper.claims, itertools.cycle(STATUSES))
        ]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "judge", made_up)
        return content.gather(House())


@pytest.fixture(scope="module")
def papers(gathered):
    return gathered.papers


@pytest.fixture(scope="module")
def html(gathered):
    return page.render(gathered)


@pytest.fixture(scope="module")
def elements(html):
    return Elements(html)


def test_every_claim_is_a_row_and_a_mark_once(papers, elements):
    wanted = [(claim.target, paper.name, claim.status) for paper in papers for claim in paper.judged]
    rows = [attrs for attrs, _ in elements.all("tr", "data-verdict")]
    assert [(row["id"], row["data-paper"], row["data-verdict"]) for row in rows] == wanted
    marks = [(attrs, text) for attrs, text in elements.all("a") if "mark" in attrs.get("class", "")]
    by_figure = [claim for paper in papers for group in paper.groups for claim in group.claims]
    assert sorted(claim.target for claim in by_figure) == sorted(target for target, _, _ in wanted)
    for claim, (attrs, sign) in zip(by_figure, marks, strict=True):
        assert (attrs["href"], sign) == (f"#{claim.target}", page.SIGNS[claim.status])
        assert attrs["aria-label"] == f"{claim.status}: {claim.text}"
    assert len(set(page.SIGNS.values())) == len(STATUSES), "signs tell verdicts apart without colour"


def test_every_committed_picture_is_there_with_a_text(elements):
    pictures = {
        base64.b64decode(attrs["src"].partition("base64,")[2]): attrs["alt"] for attrs, _ in elements.all("img")
    }
    committed = sorted((ROOT / "papers").glob("*/evidence/figures/*/*.png"))
    assert committed and all(pictures.get(path.read_bytes()) for path in committed)
    assert len(elements.all("img")) == len(committed)


def test_the_page_loads_nothing(html, elements):
    sources = [value for _, attrs, _ in elements.found for name, value in attrs.items() if name in ("src", "srcset")]
    assert sources and all(source.startswith("data:image/png;base64,") for source in sources)
    tags = {tag for tag, _, _ in elements.found}
    assert not tags & {"link", "iframe", "object", "embed", "base", "form"}
    assert "url(" not in html and "@import" not in html
    assert "default-src 'none'" in html, "and the browser is told so"
    assert len(html) < 25e6, "what one still sends to somebody"


def test_every_link_leads_somewhere(papers, elements):
    ids = [attrs["id"] for _, attrs, _ in elements.found if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs, text in elements.all("a"):
        href = attrs["href"]
        filtered = re.fullmatch(r"#(?:paper=(\w+)&)?verdict=[\w+]+&kind=paper", href)
        known = filtered and filtered[1] in {None, *(paper.name for paper in papers)}
        assert known or href.removeprefix("#") in ids or href.startswith("https://"), f"{text}: {href}"


def test_verdicts_are_counted(papers, html):
    for paper in papers:
        row = html.split(f'<tr role="row" data-summary="{paper.name}">')[1].split("</th>")[0]
        cells = re.findall(r'data-status="([\w ]+)".*?</span>(\d+)</a>', row)
        assert cells == [(status, str(paper.counts[status])) for status in STATUSES]
        assert paper.counts.total() == sum(claim.kind == "paper" for claim in paper.judged)


def test_readmes_are_there_with_all_deviations(papers, html):
    for paper in papers:
        part = html.split(f'id="{paper.target}-title"')[1].split("</section>")[0]
        text = (ROOT / "papers" / paper.name / "README.md").read_text()
        for title in re.findall(r"^## (.+)$", text, flags=re.MULTILINE):
            assert (f">{title}</" in part) == (title not in page.LEFT_OUT), title
        deviations = text.split("\n## Deviations")[1].split("\n## ")[0]
        shown = part.split("<summary>Deviations")[1].split("</details>")[0]
        assert shown.count("<li>") == len(re.findall(r"^(?:\d+\.|-) ", deviations, flags=re.MULTILINE))


# ---- in a browser ----------------------------------------------------------------------------------------------------

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ("--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync").split()


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"needs a browser, one of {', '.join(NAMES)}")
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright (requirements-dev.txt)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(html, tmp_path_factory):
    path = tmp_path_factory.mktemp("site") / "report.html"
    path.write_text(html, encoding="utf-8")
    return path.as_uri()


def visible(tab, selector, attribute):
    return tab.eval_on_selector_all(
        selector, "(all, name) => all.filter(e => e.checkVisibility()).map(e => e.getAttribute(name))", attribute
    )


def test_filters_show_the_right_rows(browser, address, papers):
    tab = browser.new_context(offline=True).new_page()
    troubles, requests = [], []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    rows, sections = "table.claims tbody tr", "section.paper"
    every = [(paper.name, claim.target, claim.status) for paper in papers for claim in paper.judged]
    names = [paper.name for paper in papers]

    def check(wanted, shown_papers):
        assert visible(tab, rows, "id") == [claim for _, claim, _ in wanted]
        assert visible(tab, sections, "data-paper") == shown_papers
        assert tab.text_content("#shown") == f"{len(wanted)} of {len(every)} claims are shown."

    tab.goto(address)
    check(every, names)
    tab.select_option("#filter-paper", "ter")
    check([row for row in every if row[0] == "ter"], ["ter"])
    tab.select_option("#filter-verdict", "not reproduced")
    both = [row for row in every if row[0] == "ter" and row[2] == "not reproduced"]
    check(both, ["ter"])
    assert 0 < len(both) < len(every)

    fragment = tab.evaluate("location.hash")
    tab.goto("about:blank")
    tab.goto(address + fragment)  # the URL alone brings the same rows back
    check(both, ["ter"])
    tab.fill("#filter-words", both[0][1].removeprefix("claim-ter-").upper())
    assert both[0][1] in visible(tab, rows, "id")
    tab.fill("#filter-words", "no claim has this word")
    check([], [])

    tab.click(f".matrix a[href='#{papers[0].target}']")  # a hidden paper that is asked for is shown
    tab.wait_for_function("document.getElementById('filter-paper').value === ''")
    check(every, names)
    tab.select_option("#filter-verdict", "partly")
    check([row for row in every if row[2] == "partly"], names)
    tab.click("#filter-clear")
    check(every, names)
    tab.click("tr[data-summary=ter] a[href*=partly]")
    tab.wait_for_function("document.getElementById('filter-paper').value === 'ter'")
    counted = {claim.target for paper in papers for claim in paper.judged if claim.counts}
    check([row for row in every if row[0] == "ter" and row[2] == "partly" and row[1] in counted], ["ter"])
    tab.goto("about:blank")
    tab.goto(address + "#paper=nobody&verdict=partly")  # a paper that does not exist is no filter
    check([row for row in every if row[2] == "partly"], names)
    assert not troubles
    assert {url.partition(":")[0] for url in requests} <= {"file", "data", "about"}


def test_a_phone_and_a_browser_without_scripts_can_read_it(browser, address, papers):
    tab = browser.new_context(
        offline=True, java_script_enabled=False, viewport={"width": 360, "height": 700}
    ).new_page()
    tab.goto(address)
    assert tab.locator("table.claims tbody tr:visible").count() == sum(len(paper.judged) for paper in papers)
    assert not tab.is_visible("#filters") and not tab.locator(".card:visible").count()
    for claim in papers[-1].judged[::9]:  # its card opens and is no wider than the screen
        tab.focus(f".matrix a[href='#{claim.target}']")
        assert claim.text in tab.locator(".card:visible").text_content()
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_links_of_a_card_can_be_reached_with_the_mouse(browser, address, papers):
    tab = browser.new_context(offline=True, viewport={"width": 1280, "height": 900}).new_page()
    tab.goto(address)
    claim = next(claim for claim in papers[-1].judged if claim.data)
    mark = tab.locator(f".matrix a[href='#{claim.target}']")
    mark.scroll_into_view_if_needed()
    place = mark.bounding_box()
    tab.mouse.move(place["x"] + 5, place["y"] + 5)
    tab.mouse.move(place["x"] + 5, place["y"] + place["height"] + 8, steps=10)
    tab.click(f".card:visible a:has-text('{claim.data[0].file}')")
    assert tab.evaluate("location.hash") == f"#{papers[-1].target}-data-{claim.data[0].scale}-{claim.data[0].name}"


# ---- a small paper ---------------------------------------------------------------------------------------------------

FIGURES = """
from lab.plotting import Figure
FIGURES = {"fig_1": Figure(("a", "b"), None, "A <b>title</b>"), "fig2": Figure((), None, "not drawn")}
"""
CLAIMS = """
from lab.claims import Claim
from lab.verdicts import Verdict
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
    folder = tmp_path / f"house_{tmp_path.name}" / "tiny"
    for part in ("evidence/results/quick", "evidence/figures/quick"):
        (folder / part).mkdir(parents=True)
    for name, text in (("experiments", "EXPERIMENTS = {}"), ("figures", FIGURES), ("claims", CLAIMS), ("__init__", "")):
        (folder / f"evidence/{name}.py").write_text(text)
    (folder / "README.md").write_text(README)
    (folder / "evidence/figures/quick/fig_1.png").write_bytes(b"a picture")
    shared = {**ORIGIN, "config": {"seed": 0}}
    for name, origins in (
        ("a", {"m|e|0": shared, "m|e|1": {**ORIGIN, "config": {"seed": 1}}}),
        ("c", {"m|e|0": shared}),
    ):
        rows = [f"{name},quick,{run.replace('|', ',')},{s},x,0.5,{s / 1000}" for run in origins for s in (500, 1000)]
        header = "experiment,scale,method,env,seed,step,metric,value,hours"
        (folder / f"evidence/results/quick/{name}.csv").write_text("\n".join([header, *rows]) + "\n")
        (folder / f"evidence/results/quick/{name}.provenance.json").write_text(json.dumps(origins))
    monkeypatch.syspath_prepend(str(tmp_path))
    return House(package=folder.parent.name, root=tmp_path)


def folder(house):
    return house.papers()["tiny"].folder


def results(house):
    return folder(house) / "evidence/results"


def files(place):
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_main_writes_the_page_and_nothing_else(house, capsys):
    before = files(house.root)
    out = house.root / "elsewhere" / "page.html"
    assert main(["--out", str(out)], house) == 0
    assert files(house.root) == {**before, out: out.read_bytes()}
    assert str(out) in capsys.readouterr().out
    assert main([], house) == 0
    assert (house.root / "site/report.html").read_bytes() == out.read_bytes(), "the same files give the same page"


def test_a_claim_has_its_verdict_its_places_and_its_budget(house):
    gathered = content.gather(house)
    (paper,) = gathered.papers
    one, two, own, again = paper.judged
    found = judge(house.papers()["tiny"])
    assert [(claim.id, claim.status) for claim in paper.judged] == [(c.id, v.status) for c, v in found]
    assert [claim.kind for claim in paper.judged] == ["paper", "paper", "own", content.REPEATED]
    assert (one.after, own.after) == ("", "inconclusive") and dict(paper.counts) == {"reproduced": 1, "not run": 1}
    assert one.judge == f"{house.package}/tiny/evidence/claims.py:check"
    assert (one.figure_target, two.figure_target, own.figure_target) == ("tiny-fig-1", "tiny-fig2", "")
    (data,) = one.data
    assert data.file == f"{house.package}/tiny/evidence/results/quick/a.csv" and (house.root / data.file).is_file()
    assert (two.data, again.data) == ([], [data]), "what says nothing of its data has that of its figure"
    assert [(group.figure, group.budget) for group in paper.groups] == [
        ("fig-1", "2 × 1.23M"), ("fig2", ""), ("own-a", ""),
    ]  # fmt: skip
    full = replace(one, scale="full", seeds=5, steps=800)
    assert content.budget([one, full]) == "2–5 × 800–1.23M full"
    assert content.budget([replace(one, steps=0)]) == "2 seeds"
    html = page.render(gathered)
    assert html.count("Open (0 undecided, 1 not run): never run.") == 1
    assert "x &lt; y &amp; &lt;script&gt;" in html and "alert(1)</script>" not in html
    assert "A &lt;b&gt;title&lt;/b&gt;" in html and "1,234,567" in html and "make tiny-fig2" in html


def test_a_shared_run_costs_once(house):
    found = experiments(results(house), house.root)
    assert [(e.name, len(e.runs), e.steps, e.core_hours) for e in found] == [
        ("a", 2, (1000, 1000), 4.0),  # an hour on two threads, twice
        ("c", 1, (1000, 1000), 2.0),
    ]
    assert sum(run.core_hours for run in once(found)) == 4.0


def test_every_origin_of_a_run_is_shown(house):
    path = results(house) / "quick/a.provenance.json"
    origins = json.loads(path.read_text())
    later = {"commit": "89abcdef01", "dirty": True, "machine": {"cpu": "loom"}, "versions": {"numpy": "3"}}
    origins["m|e|0"]["resumed"] = [later, later | {"commit": ORIGIN["commit"]}]
    del origins["m|e|1"]
    path.write_text(json.dumps(origins))
    runs = experiments(results(house), house.root)[0].runs
    assert (runs[0].commits, runs[1].commits) == (("0123456", "89abcde"), ("unknown",))
    assert distinct(runs, "machines") == ["abacus, 4 cores", "loom, ? cores", "unknown"]
    assert runs[0].versions == ("python 3.11.0, numpy 2", "python unknown, numpy 3")
    shown = [
        "1 run on Python files that differ from their commit",
        "1 run begun on one commit and finished on another",
        "1 run of unknown origin",
    ]
    assert doubts(runs) == shown and "; ".join(shown) in page.render(content.gather(house))
    assert doubts([replace(runs[0], dirty=False, commits=("0123456",))]) == []
    path.unlink()
    assert len(once(experiments(results(house), house.root))) == 3, "without origins no two runs are the same"


def test_links_of_a_readme_point_into_the_page(house):
    (paper,) = content.gather(house).papers
    idea = str(paper.readme.idea)
    assert '<a href="#tiny-fig-1">Fig. 1</a>' in idea and '<a href="#tiny-fig-1">its picture</a>' in idea
    assert "<span>code</span>" in idea and '<a href="https://example.org">net</a>' in idea
    assert (paper.readme.title, list(paper.readme.sections)) == ("A paper", ["Deviations and decisions"])
    assert readme.render("| a |\n|---|\n| 1 |\n").startswith('<div class="scroll"'), "tables scroll"


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda house: (folder(house) / "README.md").unlink(), ["README.md", "cannot be read"]),
        (lambda house: (folder(house) / "README.md").write_text("no title"), ["README.md", "a title"]),
        (lambda house: (results(house) / "quick/a.csv").write_text("x\n"), ["a.csv", "column 'experiment'"]),
        (lambda house: (results(house) / "quick/a.provenance.json").write_text("{"), ["a.provenance.json"]),
        (lambda house: (house.root / "site").write_text("a file"), ["cannot write", "report.html", "--out"]),
        (lambda house: (house.root / "site/report.html").mkdir(parents=True), ["is a directory", "--out"]),
        (lambda house: ["--output", "x"], ["unknown option --output"]),
    ],
)
def test_bad_input_costs_one_line(house, capsys, break_it, words):
    arguments = break_it(house)
    with pytest.raises(SystemExit) as stop:
        main(arguments if isinstance(arguments, list) else [], house)
    error = capsys.readouterr().err
    assert stop.value.code == 2 and error.count("\n") == 1 and all(word in error for word in words), error


@pytest.mark.parametrize("missing", ["jinja2", "markdown"])
def test_a_missing_package_costs_one_line(house, capsys, monkeypatch, missing):
    for module in ("report.content", "report.page", "report.readme", "templates"):
        monkeypatch.delitem(sys.modules, f"lab.pages.{module}")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit) as stop:
        main([], house)
    assert stop.value.code == 2
    assert (
        capsys.readouterr().err
        == f"error: the report needs {missing}, which is not installed; `make setup` installs it\n"
    )
