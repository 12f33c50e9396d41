"""Write the report: all claims of all papers on one page, and a page for each paper with its figures and data.

    .venv/bin/python -m lab.pages.report [--out DIR]     into DIR/report (default: site)

The pages need no server or network. They are made from the committed results, figures and READMEs; nothing is trained
or drawn, and the same files give the same pages.
"""

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from lab.judge.claims import Claim, explanation, ours_of, scale_of, sentences, threshold
from lab.judge.collecting import read_provenance
from lab.judge.intervals import number
from lab.judge.results import EVIDENCE, read, write_if_changed
from lab.judge.verdicts import STATUSES, Verdict, status_after
from lab.pages import html
from lab.rooms import House, Paper, judge, plain
from lab.run.arguments import parse
from lab.run.errors import UserError, guard
from lab.run.identity import attempts
from lab.sweep.prices import priced

SIGNS = dict(zip(STATUSES, "✓◐✗?–", strict=True))  # a verdict must be recognisable without its colour
OPEN = ("The idea", "What came out")  # sections of a README that are not folded
LEFT_OUT = ("", "Read it in five minutes")  # the second is useless without the code that it points to


@dataclass(frozen=True)
class Options:
    """Write all papers' results as pages."""

    out: Annotated[Path | None, arg(metavar="DIR")] = None
    """Folder of the site; default: site."""


def report(house: House, out: Path) -> dict[Path, str]:
    """Pages of the report, for the site in `out`. UserError if a result file is damaged or a README is missing."""
    judged = {name: priced(paper, judge(paper)) for name, paper in house.papers().items()}
    limit, _, _ = threshold(judged)
    papers = [content(paper, judged[name], limit) for name, paper in house.papers().items()]
    shared = dict(signs=SIGNS, open=OPEN, number=number, ours=ours_of, scale=scale_of, plain=plain)
    start = out / html.REPORT
    there = lambda page: page.exists() or page == start  # noqa: E731
    pages = {
        start: html.page(
            "report.html", title="All claims, and what became of them", papers=papers,
            counts=sum((paper["counts"] for paper in papers), Counter()),
            explanation=html.render(explanation(judged)), top=html.navigation(out, start, there), **shared,
        )
    }  # fmt: skip
    for paper in papers:
        place = start.with_name(f"{paper['target']}.html")
        top = html.navigation(out, place, there)
        pages[place] = html.page("report_paper.html", title=paper["title"], paper=paper, top=top, **shared)
    return pages


def write(house: House, out: Path) -> None:
    """Write the pages of the report, and copy their pictures."""
    pages = report(house, out)
    for paper in house.papers().values():
        for picture in paper.folder.glob("evidence/figures/*/*.png"):
            copy = out / picture.relative_to(house.root)
            if not (copy.exists() and copy.read_bytes() == picture.read_bytes()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(picture, copy)
    for place, text in pages.items():
        write_if_changed(place, text.encode())


def content(paper: Paper, judged: Sequence[tuple[Claim, Verdict]], limit: float) -> dict[str, Any]:
    """Everything that a paper's page shows. limit: the p value of `lab.judge.claims.threshold`."""
    readme, notes = paper.folder / "README.md", paper.folder / "NOTEBOOK.md"
    try:
        parts = html.sections(readme.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {readme} ({error.strerror}); the report needs it") from None
    if notes.exists():
        more = html.sections(notes.read_text(encoding="utf-8"))
        parts |= {name: body for name, body in more.items() if name not in parts}
    title, _, citation = parts[""].strip().partition("\n")
    figures = [
        {
            "name": name,
            "title": figure.title,
            "target": target(paper.name, name),
            "pictures": [
                (at, Path("..", path.relative_to(paper.house.root)).as_posix())
                for at in EVIDENCE
                if (path := paper.picture(name, at)).is_file()
            ],
        }
        for name, figure in paper.figures.items()
    ]
    anchors = {claim.id: f"claim-{target(paper.name)}-{claim.id}" for claim, _ in judged}
    # Figures in the order in which the paper's claims name them; those of our own questions come last.
    order = dict.fromkeys(claim.figure for claim, _ in sorted(judged, key=lambda pair: pair[0].kind != "paper"))
    return {
        "target": target(paper.name),
        "title": html.title(title),
        "citation": html.render(citation),
        "sections": [(name, html.render(body)) for name, body in parts.items() if name not in LEFT_OUT],
        "sentences": sentences(judged),
        "claims": [(claim, verdict, anchors[claim.id], status_after(verdict, limit)) for claim, verdict in judged],
        "counts": Counter(verdict.status for claim, verdict in judged if claim.counts),
        "groups": [(name, [(c, v, anchors[c.id]) for c, v in judged if c.figure == name]) for name in order],
        "figures": figures,
        "places": {plain(figure["name"]): figure["target"] for figure in figures},
        "data": data(paper),
    }


def target(*names: str) -> str:
    """Make target of a paper or its figure, and its anchor in the page."""
    return "-".join(map(plain, names))


def data(paper: Paper) -> dict[str, Any]:
    """The committed runs by file, and their cost; the sums count every run once, however often it is listed.

    A run is identified by its settings and its code. "unknown": no commit was recorded.
    """
    rows: list[dict[str, Any]] = []
    cost: dict[str, float] = {}
    for path in [path for scale in EVIDENCE for path in sorted(paper.results.glob(f"{scale}/*.csv"))]:
        frame, provenance = read(paper.results, path.stem, path.parent.name), read_provenance(path)
        if frame is None or frame.empty:
            continue
        runs = frame.groupby(["method", "env", "seed"], observed=True)[["step", "hours"]].max()
        hours: list[float] = []
        commits: dict[str, None] = {}
        for run, taken in runs["hours"].items():
            origin = provenance.get("|".join(map(str, run)), {})
            each = [attempt.get("commit", "unknown")[:7] for attempt in attempts(origin)]
            key = json.dumps([origin["config"], each]) if origin else f"{path} {run}"
            cost[key] = taken * origin.get("threads", 1)
            hours.append(cost[key])
            commits |= dict.fromkeys(each)
        steps = " to ".join(dict.fromkeys(f"{step:,}" for step in (runs["step"].min(), runs["step"].max())))
        file = Path(os.path.relpath(path, paper.house.root)).as_posix()
        row = {"file": file, "runs": len(runs), "steps": steps, "core_hours": sum(hours), "commits": list(commits)}
        rows.append(row)
    return {"rows": rows, "runs": len(cost), "core_hours": sum(cost.values())}


@guard
def main(argv: Sequence[str] | None = None, house: House | None = None) -> int:
    """Write the page; returns 0. A mistake, or a place that cannot be written, is one line and SystemExit(2)."""
    house = house or House()
    options = parse(Options, argv, prog=".venv/bin/python -m lab.pages.report")
    out = options.out or house.root / "site"
    try:
        write(house, out.resolve())
    except OSError as error:
        raise UserError(f"cannot write {out} ({error.strerror}); name another place with --out") from None
    print(f"written: {out / html.REPORT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
