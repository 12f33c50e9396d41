"""Pages of verdicts: RESULTS.md, a VERDICTS.md for each paper, and the table in README.md. Equal verdicts give equal
bytes."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lab.judge.claims import (
    ByPaper,
    Claim,
    explanation,
    judge_of,
    ours_of,
    scale_of,
    status_of,
    summary,
    threshold,
)
from lab.judge.verdicts import STATUSES, Verdict, status_after
from lab.rooms import Paper, plain
from lab.run.errors import UserError

BEGIN, END = "<!-- claims:begin -->", "<!-- claims:end -->"
Judged = Sequence[tuple[Claim, Verdict]]
Papers = Mapping[str, Paper]
APART = {"surrogate": "in a surrogate", "own": "our own"}
"""Kinds of claims that are counted separately from the papers'."""

RESULTS = """\
# Results

Written by `make claims`; edits are overwritten. A claim is judged at the scale at which most of it was run: `full`, the
paper's protocol, `long`, several nights, or `quick`, an evening on two cores. `long` decides which method is better,
not levels or times.

## How to read a verdict

{explanation}
## Counts

{counts}

{headlines}"""

HEADLINES = """\
## Headline claims

Chosen from each paper's abstract and introduction, not by outcome. In brackets: in how many tasks or comparisons it
holds, the effect, or the cost.
"""

ARENA = """\
The [arena](arena/RESULTS.md) asks a question of our own: which replay ideas beat uniform replay on common tasks?
"""

VERDICTS = """\
# Verdicts: {title}

Written by `make claims`; edits are overwritten. [RESULTS.md]({results}) says how to read a verdict. "Ours" is the
effect with its 95 % interval, the basis seeds × steps and scale, with "FDR" where a false discovery rate of 5 %
changes the verdict.
"""

NOT_RUN = """\
## Not run

Hours of one core, estimated from similar runs; "at least" where some are like none that was timed. The claims of a row
share their runs.
"""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(header), "|" + "---|" * len(header), *map(line, rows)])


def counts(papers: Papers, by_paper: ByPaper, at: Path) -> str:
    """Table with one row per paper: its claims by verdict; separately, in the same order, those judged on a surrogate
    and our own. at: the folder of the page, for links."""

    def count(judged: Judged, kind: str) -> list[str]:
        found = Counter(verdict.status for claim, verdict in judged if claim.kind == kind and not claim.counted_with)
        return [str(found[status]) for status in STATUSES]

    rows = []
    for name, judged in by_paper.items():
        found = count(judged, "paper")
        others = [count(judged, kind) for kind in APART]
        apart = [" / ".join(each) if {*each} != {"0"} else "" for each in others]
        rows.append([_link(name, papers[name].verdicts, at), str(sum(map(int, found))), *found, *apart])
    return table(["paper", "its claims", *STATUSES, *(f"{text} (same order)" for text in APART.values())], rows)


def results(papers: Papers, by_paper: ByPaper, at: Path) -> str:
    """RESULTS.md: how to read a verdict, counts, and for each paper three sentences and its headline claims."""
    limit, _, _ = threshold(by_paper)
    headlines = [HEADLINES] if any(claim.headline for judged in by_paper.values() for claim, _ in judged) else []
    for name, judged in by_paper.items():
        named = title(papers[name])
        headlines.append(f"### {named}\n")
        headlines.append("\n".join(summary(judged, papers[name].summary)) + "\n")
        if found := [(claim, verdict) for claim, verdict in judged if claim.headline]:
            ours = (ours_of(verdict).removeprefix("holds in ") for _, verdict in found)
            told = ((c.text, status_of(c, v.status), _after(v, limit)) for c, v in found)
            lines = (f"- {text}: **{status}**{after} ({effect})" for (text, status, after), effect in zip(told, ours))
            headlines.append("\n".join(lines) + "\n")
    if (at / "arena" / "RESULTS.md").is_file():
        headlines.append(ARENA)
    return RESULTS.format(
        explanation=explanation(by_paper), counts=counts(papers, by_paper, at), headlines="\n".join(headlines)
    )


def verdicts(paper: Paper, judged: Judged, limit: float, results: Path) -> str:
    """VERDICTS.md: every claim, figure by figure, with folded notes; then those not run. limit: the p value of
    `threshold`; results: path of RESULTS.md."""
    at = paper.verdicts.parent
    parts = [VERDICTS.format(title=title(paper), results=os.path.relpath(results, at))]
    drawn = {plain(name): name for name in paper.figures}
    run = [pair for pair in judged if pair[1].status != "not run"]
    for figure in dict.fromkeys(claim.figure for claim, _ in run):
        group = [pair for pair in run if pair[0].figure == figure]
        name = drawn.get(plain(figure))
        heading = f"## {figure}: {paper.figures[name].title}" if name else f"## {figure}"
        rows = ([*_said(c), ours_of(v), status_of(c, v.status), _basis(v, limit)] for c, v in group)
        parts += [heading + "\n", _sources(paper, name, group) + "\n"]
        parts += [table(["claim", "paper", "ours", "verdict", "basis"], rows) + "\n"]
        if notes := [f"- `{claim.id}`: {' '.join(verdict.note.split())}" for claim, verdict in group if verdict.note]:
            parts.append(_folded("Notes", notes))
    if lacking := [pair for pair in judged if pair[1].status == "not run"]:
        alike = Counter((c.figure, scale_of(c, verdict), verdict.price or verdict.note) for c, verdict in lacking)
        rows = ([figure, str(n), scale, price] for (figure, scale, price), n in alike.items())
        texts = (": ".join(text for text in _said(claim) if text != "-") for claim, _ in lacking)
        parts += [NOT_RUN, table(["figure", "claims", "scale", "cost"], rows) + "\n"]
        parts.append(_folded("These claims, with what the paper says", [f"- {text}" for text in texts]))
    return "\n".join(parts)


def title(paper: Paper) -> str:
    """Heading of the paper's README, or its name if there is none."""
    readme = paper.folder / "README.md"
    heading = readme.read_text(encoding="utf-8").partition("\n")[0] if readme.is_file() else ""
    return heading.removeprefix("# ") or paper.name


def _folded(heading: str, lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return f"<details>\n<summary>{heading}</summary>\n\n{text}\n\n</details>\n"


def _link(text: str, path: Path, at: Path) -> str:
    return f"[{text}]({Path(os.path.relpath(path, at)).as_posix()})"


def _said(claim: Claim) -> list[str]:
    more = f", counted with `{claim.counted_with}`" if claim.counted_with else ""
    return [f"{claim.text} (`{claim.id}`{more})", claim.paper_value]


def _basis(verdict: Verdict, limit: float) -> str:
    steps = f" × {verdict.steps:,}" if verdict.steps else ""
    return f"{verdict.seeds}{steps}, {verdict.scale}{_after(verdict, limit)}"


def _after(verdict: Verdict, limit: float) -> str:
    after = status_after(verdict, limit)
    return "" if after == verdict.status else f"; FDR: {after}"


def _sources(paper: Paper, figure: str | None, group: Judged) -> str:
    """Links to the figure's pictures, the data read, and the code that judged them."""
    at, root = paper.verdicts.parent, paper.folder.parents[1]
    scales = dict.fromkeys(verdict.scale for _, verdict in group if verdict.scale)
    pictures = {f"picture at {scale}": paper.picture(figure, scale) for scale in scales if figure}
    data = dict.fromkeys(source for _, verdict in group for source in sorted(verdict.sources))
    judges = dict.fromkeys(judge_of(claim, root, paper.folder.relative_to(root).as_posix())[0] for claim, _ in group)
    files = {
        **pictures,
        **{f"{source}.csv": paper.results / f"{source}.csv" for source in data},
        **{Path(file).name: root / file for file in judges},
    }
    return " · ".join(_link(text, path, at) for text, path in files.items() if path.is_file())


def with_table(path: Path, text: str) -> str:
    """Content of a file with `text` put between its markers. UserError if the markers are wrong."""
    try:
        whole = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; expected a file with the lines {BEGIN} and {END}") from None
    before, begin, rest = whole.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before + after:
        raise UserError(f"{path} needs the line {BEGIN} once, followed by the line {END} once")
    return f"{before}{BEGIN}\n{text.strip()}\n{END}{after}"


def pages(papers: Papers, by_paper: ByPaper, page: Path, readme: Path | None = None) -> dict[Path, str]:
    """Path -> text of every page: RESULTS.md (`page`), each paper's VERDICTS.md, and `readme` with its table."""
    root = next((paper.folder.parents[1] for paper in papers.values()), page.parent)
    at = page.parent if page.parent.is_relative_to(root) or not papers else root
    limit, _, _ = threshold(by_paper)
    found = {page: results(papers, by_paper, at)}
    for name, judged in by_paper.items():
        found[papers[name].verdicts] = verdicts(papers[name], judged, limit, at / page.name)
    if readme is not None:
        found[readme] = with_table(readme, counts(papers, by_paper, at))
    return found
