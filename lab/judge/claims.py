"""Claims of the papers, checked against results: a Claim's check reads tidy data and returns a Verdict. Most checks are
data, see lab/judge/comparisons.py; the others are functions."""

import functools
import os
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.judge.comparisons import Compare
from lab.judge.results import EVIDENCE, MissingData, Results, write_if_changed
from lab.judge.verdicts import LEVEL, MARGIN, MIN_SEEDS, STATUSES, Verdict, false_discovery_threshold, status_after
from lab.run.errors import UserError

KINDS = ("paper", "own", "surrogate", "wiring")
BEGIN, END = "<!-- claims:begin -->", "<!-- claims:end -->"
HOLDS = {"reproduced": "holds", "not reproduced": "does not hold"}
HOLD = {"reproduced": "hold", "not reproduced": "do not hold"}
"""What is said of a surrogate, which speaks neither for nor against the paper."""
NAMED = 3  # claims that a sentence about a paper names at most


@dataclass(frozen=True)
class Claim:
    """One checkable statement. `check` may raise MissingData: the claim is then "not run".

    kind: "paper" for what the paper says, in its words and at its budget or at one chosen before the data were seen;
    "own" for what only we ask, or choose afterwards; "wiring" for what holds by construction. surrogate: what runs at
    quick have in place of what the claim is about, such as a smaller world; judged on them, it is of the kind
    "surrogate" and speaks neither for nor against the paper. counted_with: id of the claim whose runs and question
    this one repeats; it is not counted again. scale: the smallest at which its runs are planned. scales: those at which
    it can be judged, if not all: `long` says little about levels and times. reads: the experiments that hold its runs,
    "a+b" where they are two, if they are not just those of its figure. tasks: those (`Entry.env`) that it is about, if
    not all. headline: what the paper's abstract and introduction promise, named before any verdict was seen.
    """

    id: str
    figure: str
    text: str
    paper_value: str
    check: Callable[[Results], Verdict]
    kind: str = "paper"
    counted_with: str = ""
    scale: str = "quick"
    scales: tuple[str, ...] = EVIDENCE
    reads: str = ""
    tasks: tuple[str, ...] = ()
    surrogate: str = ""
    headline: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of claim {self.kind!r}; choose from {', '.join(KINDS)}")
        if unknown := {self.scale, *self.scales} - {*EVIDENCE}:
            raise ValueError(f"unknown scale {min(unknown)!r}; choose from {', '.join(EVIDENCE)}")
        if self.scale not in self.scales:
            raise ValueError(f"{self.id} is planned at {self.scale}, where it cannot be judged")

    @property
    def counts(self) -> bool:
        """Whether it is counted among the paper's claims."""
        return self.kind == "paper" and not self.counted_with


def judge_of(claim: Claim, root: Path, room: str) -> tuple[str, str]:
    """What judges it: a file below the repository, `root`, and a function. Of a claim that is data, the file of the
    room's folder, `room`, that holds it; of a lambda, no name."""
    function: Any = claim.check
    if isinstance(function, Compare) and function.judge is None:
        files = sorted((root / room / "evidence").glob("claims*.py"))
        named = [path.name for path in files if f'"{claim.id}"' in path.read_text(encoding="utf-8")]
        return f"{room}/evidence/{(named or ['claims.py'])[0]}", ""
    function = function.judge if isinstance(function, Compare) else function
    while isinstance(function, functools.partial):
        function = function.func
    name = function.__qualname__.partition(".")[0]
    return function.__module__.replace(".", "/") + ".py", "" if "<" in name else name


def planned_from(claims: Iterable[Claim], headline: Collection[str] = (), **ids: Iterable[str]) -> list[Claim]:
    """The claims, some marked as headline claims, and some with the smallest scale that can decide them, by its name:
    full=["fig5"]. ValueError for an unknown id."""
    claims, scales = list(claims), {one: scale for scale, some in ids.items() for one in some}
    if unknown := {*headline, *scales} - {claim.id for claim in claims}:
        raise ValueError(f"no claims are called {', '.join(sorted(unknown))}")
    return [replace(c, scale=scales.get(c.id, c.scale), headline=c.id in headline) for c in claims]


def evaluate(claims: Iterable[Claim], results: Results) -> list[tuple[Claim, Verdict]]:
    """Each claim with its verdict, from one of its scales: that at which most of its parts were run, of several the
    best.

    Data that are not there make it "not run"; any other error is a bug, and raised. ValueError when two have one id.
    """
    found: dict[str, tuple[Claim, Verdict]] = {}
    for claim in claims:
        if claim.id in found:
            raise ValueError(f"two claims are called {claim.id}")
        verdicts = [_check(claim, reader) for reader in results.apart if reader.scales[0] in claim.scales]
        verdicts = verdicts or [Verdict("not run", note=f"not judged at {' or '.join(results.scales)}")]
        best = max(verdicts, key=lambda verdict: verdict.run)
        best = best if best.run else verdicts[-1]  # of what was not run, the least that is missing
        found[claim.id] = claim, best
        if claim.surrogate and best.scale == "quick":
            note = "; ".join(filter(None, [claim.surrogate, best.note]))
            found[claim.id] = replace(claim, kind="surrogate"), replace(best, note=note)
    for claim, _ in found.values():
        if claim.counted_with and claim.counted_with not in found:
            raise ValueError(f"{claim.id} is counted with {claim.counted_with}, which is no claim")
    return list(found.values())


def _check(claim: Claim, results: Results) -> Verdict:
    results.sources.clear()
    try:
        verdict = claim.check(results)
    except MissingData as error:
        return Verdict("not run", note=str(error))
    return replace(verdict, sources=tuple(sorted(results.sources)))


ByPaper = Mapping[str, list[tuple[Claim, Verdict]]]


def _table(header: list[str], rows: Iterable[list[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(header), "|" + "---|" * len(header), *map(line, rows)])


def _main(by_paper: ByPaper) -> ByPaper:
    """The claims that are counted among the papers'; where no paper has any, as in a comparison of ours, our own."""
    kinds = ("paper",) if any(claim.counts for judged in by_paper.values() for claim, _ in judged) else ("own",)
    return {
        paper: [(claim, verdict) for claim, verdict in judged if claim.kind in kinds and not claim.counted_with]
        for paper, judged in by_paper.items()
    }


def threshold(by_paper: ByPaper) -> tuple[float, int, int]:
    """The p value up to which comparisons of the papers' claims stay decided after Benjamini and Hochberg, how many
    comparisons there are, and how many of them are decided without it."""
    found = [part for judged in _main(by_paper).values() for _, verdict in judged for part in verdict.comparisons()]
    decided = sum(part.status in ("reproduced", "not reproduced") for part in found)
    return false_discovery_threshold(part.p for part in found if part.p is not None), len(found), decided


def summary_table(by_paper: ByPaper) -> str:
    """Markdown: one row per paper, the number of its claims by status, and apart those judged on a surrogate, and our
    own."""

    def counts(judged: list[tuple[Claim, Verdict]], kind: str) -> Counter[str]:
        return Counter(verdict.status for claim, verdict in judged if claim.kind == kind and not claim.counted_with)

    apart = {"surrogate": ("judged on a surrogate", HOLD), "own": ("our own claims", {})}
    if not any(claim.kind == "surrogate" for judged in by_paper.values() for claim, _ in judged):
        del apart["surrogate"]
    rows = []
    for paper, judged in by_paper.items():
        count = counts(judged, "paper")
        row = [paper, str(count.total()), *(str(count[s]) for s in STATUSES)]
        for kind, (_, words) in apart.items():
            count = counts(judged, kind)
            row.append(", ".join(f"{count[s]} {words.get(s, s)}" for s in STATUSES if count[s]))
        rows.append(row)
    return _table(["paper", "its claims", *STATUSES, *(title for title, _ in apart.values())], rows)


def sentences(judged: Iterable[tuple[Claim, Verdict]]) -> list[str]:
    """Three sentences on a paper, made of its verdicts: what holds here, what does not, what is open."""
    counted = _main({"": list(judged)})[""]
    holds, partly, fails, undecided, unrun = (
        [claim.text for claim, verdict in counted if verdict.status == status] for status in STATUSES
    )
    dear = Counter(claim.scale for claim, verdict in counted if _dear(claim, verdict))
    words = {"long": "from `long` on", "full": "`full` only"}
    of_these = "".join(f", {dear[scale]} of them {text}" for scale, text in words.items() if dear[scale])
    return [
        f"Holds here ({len(holds)} of {len(counted)} claims, {len(partly)} more in part): {_named(holds or partly)}",
        f"Does not hold here ({len(fails)}): {_named(fails)}",
        f"Open ({len(undecided)} undecided, {len(unrun)} not run{of_these}): {_named(undecided + unrun)}",
    ]


def _named(texts: list[str]) -> str:
    more = f"; and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return "; ".join(texts[:NAMED]) + more + "." if texts else "nothing."


def claims_table(
    judged: Iterable[tuple[Claim, Verdict]], room: str, root: Path, limit: float, inside: str = "."
) -> str:
    """Markdown: one row per claim of a paper, the paper's value beside ours, with links to picture, data and judge.

    room: the paper's folder, below the repository's, `root`; only files that are there are linked, from a page in the
    folder `inside`. limit: the p value of `threshold`.
    """
    header = ["figure", "claim", "paper's value", "ours [95 % interval]", "seeds", "steps", "scale", "verdict",
              "after BH", "data, judge"]  # fmt: skip
    return _table(header, (_row(claim, verdict, room, root, limit, inside) for claim, verdict in judged))


def _row(claim: Claim, verdict: Verdict, room: str, root: Path, limit: float, inside: str) -> list[str]:
    def link(text: str, path: str) -> str:
        return f"[{text}]({os.path.relpath(path, inside)})" if (root / path).is_file() else text

    names = (claim.figure, claim.figure.replace("-", "_"))
    pictures = [f"{room}/evidence/figures/{verdict.scale}/{name}.png" for name in names]
    picture = next((path for path in pictures if (root / path).is_file()), pictures[0])
    file, function = judge_of(claim, root, room)
    data = [link(source.partition("/")[2], f"{room}/evidence/results/{source}.csv") for source in verdict.sources]
    status = verdict.status if claim.kind == "paper" else f"{verdict.status} ({claim.kind})"
    if claim.kind == "surrogate" and verdict.status in HOLDS:
        status = f"{HOLDS[verdict.status]} in a surrogate"
    after = status_after(verdict, limit)
    return [
        link(claim.figure, picture),
        _with_id(claim),
        claim.paper_value,
        ours_of(verdict),
        str(verdict.seeds or ""),
        f"{verdict.steps:,}" if verdict.steps else "",
        scale_of(claim, verdict),
        status,
        "" if after == verdict.status else after,
        ", ".join([*data, link(f"`{function or 'claim'}`", file)]),
    ]


def _with_id(claim: Claim, more: str = "") -> str:
    counted = f"; counted with `{claim.counted_with}`" if claim.counted_with else ""
    return f"{claim.text} (`{claim.id}`{counted}{more})"


def _dear(claim: Claim, verdict: Verdict) -> bool:
    """Whether nothing was run and no run at `quick` could decide it."""
    return claim.scale != "quick" and verdict.status == "not run"


def dear_table(judged: Iterable[tuple[Claim, Verdict]]) -> str:
    """Markdown: what was not run because it is dear, one row per figure and price."""
    rows: dict[tuple[str, str], list[str]] = {}
    for claim, verdict in judged:
        kind = "" if claim.kind == "paper" else f" ({claim.kind})"
        value = "" if claim.paper_value == "-" else f"; paper: {claim.paper_value}"
        rows.setdefault((claim.figure, verdict.price), []).append(_with_id(claim, value) + kind)
    return _table(
        ["figure", "claims", "runs that they lack, hours of one core", "verdict"],
        ([figure, "; ".join(claims), price, "not run"] for (figure, price), claims in rows.items()),
    )


def ours_of(verdict: Verdict) -> str:
    """Our number with its interval; of what was not run, its price."""
    return f"{verdict.effect} {verdict.interval}".strip() or verdict.price


def scale_of(claim: Claim, verdict: Verdict) -> str:
    """At which scale it was judged; of what was not run, at which it could be."""
    return verdict.scale or {"long": "long or full", "full": "full only"}.get(claim.scale, claim.scale)


def judged_text(by_paper: ByPaper, width: int = 110) -> str:
    """The claims that could be judged, for a terminal of `width` columns: verdict, figure and claim, then the paper's
    value, ours and what it rests on. Each paper's heading counts its claims by verdict."""
    lines = []
    for paper, judged in by_paper.items():
        counts = Counter(verdict.status for _, verdict in judged)
        lines += ["", f"{paper}: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])]
        for claim, verdict in (pair for pair in judged if pair[1].status != "not run"):
            start = f"  {verdict.status:<15} {claim.figure:<11} "
            basis = f"{verdict.seeds} seeds" + (f", {verdict.steps:,} steps" if verdict.steps else "")
            facts = f"paper: {claim.paper_value}; ours: {ours_of(verdict) or '-'} ({basis}, {verdict.scale})"
            for text, first in ((claim.text, start), (facts, " " * len(start))):
                lines += textwrap.wrap(text, width, initial_indent=first, subsequent_indent=" " * len(start))
    return "\n".join(lines[1:])


INTRODUCTION = """\
# Results

Generated from `{package}/*/evidence/results` by `make claims`; edits are overwritten. A claim is judged at the scale at
which most of it was run, `full` before `long` before `quick`; smoke runs are never evidence.
"""

EXPLANATION = """\
**Reproduced**: the 95 % interval of the comparison (Student's or Welch's t, paired where runs share their random
streams) lies where the claim says. **Not reproduced**: it lies on the other side. **Inconclusive**: it allows both,
fewer than {seeds} seeds were run, neither side clearly learns at this budget, or, of a claim that something never
happens, nothing in the figure succeeds. **Partly**: some parts (tasks) hold. **Not run**: data are missing; the row
names the runs that it lacks and their hours on one core, by what similar runs took ("at least" where some are like none
that was timed). What no run at `quick` can decide is "full only" or "long or full"; RESULTS.md has it below a paper's
table, one row for what the same runs would decide. Runs at `long` decide which method is better, not levels or times.
Parts that were not run do not count against a claim. "Not worse" and "the same" mean within {margin:.0%} of what the
better side gained over its score before learning, where a claim names no factor. Own claims (what only we ask, or chose
after seeing data) and wiring are not counted among the papers'. Nor are claims judged on a surrogate, such as a smaller
world or a baseline in a shorter form, which the note names: that one **holds** or **does not hold in a surrogate**
speaks neither for nor against the paper.

{n} comparisons stand behind {whose} claims, {decided} of them decided. If there were no difference at all anywhere,
about {false:.0f} of {n} would be decided nevertheless, half of them in favour. The column "after BH" (Benjamini and
Hochberg, over all of them: p at most {limit:.2g}) says what becomes of a verdict when at most 5 % of the decided
comparisons may be false; it is empty where nothing changes.
"""


def explanation(by_paper: ByPaper) -> str:
    """What the verdicts mean, and how many of them are to be expected to be false; Markdown."""
    limit, n, decided = threshold(by_paper)
    own = n and all(claim.kind == "own" for judged in _main(by_paper).values() for claim, _ in judged)
    whose, false = "our own" if own else "the papers'", (1 - LEVEL) * n
    return EXPLANATION.format(
        seeds=MIN_SEEDS, margin=MARGIN, n=n, decided=decided, false=false, limit=limit, whose=whose
    )


def results_markdown(by_paper: ByPaper, root: Path, package: str = "papers", inside: str = ".") -> str:
    """The text of RESULTS.md: three sentences per paper, counts, then all claims with notes. The same verdicts give the
    same bytes. root: of the repository, for links; package: folder of the papers in it; inside: of the page."""
    limit, _, _ = threshold(by_paper)
    introduction = INTRODUCTION.format(package=package)
    parts = [introduction, _told(by_paper) + "\n", summary_table(by_paper) + "\n", explanation(by_paper)]
    for paper, judged in by_paper.items():
        near = [pair for pair in judged if not _dear(*pair)]
        parts += [f"## {paper}\n", claims_table(near, f"{package}/{paper}", root, limit, inside) + "\n"]
        for scale, title in {"long": "`long` or `full`", "full": "`full`"}.items():
            if dear := [pair for pair in judged if _dear(*pair) and pair[0].scale == scale]:
                parts += [f"### What only runs at {title} can decide\n", dear_table(dear) + "\n"]
        notes = [f"- `{claim.id}`: {' '.join(verdict.note.split())}\n" for claim, verdict in near if verdict.note]
        parts += ["### Notes\n", "".join(notes)] if notes else []
    return "\n".join(parts)


def readme_markdown(by_paper: ByPaper) -> str:
    """What README.md says between its markers: counts, and three sentences per paper."""
    return "\n\n".join([summary_table(by_paper), _told(by_paper)])


def _told(by_paper: ByPaper) -> str:
    lists = {paper: "\n".join(f"- {text}" for text in sentences(judged)) for paper, judged in by_paper.items()}
    return "\n\n".join(f"**{paper}**\n\n{texts}" for paper, texts in lists.items())


def _split(path: Path) -> tuple[str, str, str]:
    """What stands before, between and after the markers of a file. UserError where they are not right."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; expected a file with the lines {BEGIN} and {END}") from None
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before + after:
        raise UserError(f"{path} needs the line {BEGIN} once and after it the line {END} once")
    return before, table.strip(), after


def is_current(path: Path, table: str) -> bool:
    """Whether the table between the markers of `path` is `table`."""
    return _split(Path(path))[1] == table.strip()


def update_readme(path: Path, table: str) -> bool:
    """Put `table` between the markers of `path`; True when that changed the file."""
    before, _, after = _split(Path(path))
    return write_if_changed(Path(path), f"{before}{BEGIN}\n{table.strip()}\n{END}{after}".encode())
