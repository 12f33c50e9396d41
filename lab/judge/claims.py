"""Claims of the papers, checked against results: a Claim's check reads tidy data and returns a Verdict. Most checks are
data (see lab/judge/comparisons.py), the others functions. lab/judge/markdown.py writes the pages."""

import functools
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.judge.comparisons import Compare
from lab.judge.intervals import LEVEL, MARGIN
from lab.judge.results import EVIDENCE, MissingData, Results
from lab.judge.verdicts import MIN_SEEDS, STATUSES, Verdict, false_discovery_threshold

KINDS = ("paper", "own", "surrogate", "wiring")
HOLDS = {"reproduced": "holds", "not reproduced": "does not hold"}
"""Words for a verdict in a surrogate, which speaks neither for nor against the paper."""
NAMED = 3  # most claims that a sentence about a paper names


@dataclass(frozen=True)
class Claim:
    """One checkable statement. `check` may raise MissingData: the claim is then "not run".

    kind: "paper" for what the paper says, in its words, at its budget or one chosen before the data were seen; "own"
    for our own questions and post hoc choices; "wiring" for what holds by construction. surrogate: what the runs at the
    scales `surrogate_at` use in place of the claim's subject, such as a smaller environment; a claim judged on them is
    of the kind "surrogate" and speaks neither for nor against the paper. counted_with: id of the claim whose runs and
    question this one repeats; it is not counted again. scale: the smallest at which its runs are planned. scales: those
    at which it can be judged, if not all: `long` says little about levels and times. reads: the experiments with its
    runs ("a+b" for two), if they are not those of its figure. tasks: those (`Entry.env`) that it is about, if not all.
    headline: what the paper's abstract and introduction promise, named before any verdict was seen.
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
    surrogate_at: tuple[str, ...] = ("quick",)
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
        """Whether it counts among the paper's claims."""
        return self.kind == "paper" and not self.counted_with


def judge_of(claim: Claim, root: Path, room: str) -> tuple[str, str]:
    """What judges a claim: a file, relative to the repository's `root`, and a function. For a claim that is data, the
    file in the room's folder, `room`, that holds it, and no function; for a lambda, no function."""
    function: Any = claim.check
    if isinstance(function, Compare) and function.judge is None:
        files = sorted((root / room / "evidence").glob("claims*.py"))
        made = re.compile(rf'\w\(\s*"{re.escape(claim.id)}",')
        named = [path.name for path in files if made.search(path.read_text(encoding="utf-8"))]
        return f"{room}/evidence/{(named or ['claims.py'])[0]}", ""
    function = function.judge if isinstance(function, Compare) else function
    while isinstance(function, functools.partial):
        function = function.func
    name = function.__qualname__.partition(".")[0]
    return function.__module__.replace(".", "/") + ".py", "" if "<" in name else name


def planned_from(claims: Iterable[Claim], headline: Collection[str] = (), **ids: Iterable[str]) -> list[Claim]:
    """Mark some claims as headline claims, and give some the smallest scale that can decide them, as full=["fig5"].
    ValueError for an unknown id."""
    claims, scales = list(claims), {one: scale for scale, some in ids.items() for one in some}
    if unknown := {*headline, *scales} - {claim.id for claim in claims}:
        raise ValueError(f"unknown claims: {', '.join(sorted(unknown))}")
    return [replace(c, scale=scales.get(c.id, c.scale), headline=c.id in headline) for c in claims]


def evaluate(claims: Iterable[Claim], results: Results) -> list[tuple[Claim, Verdict]]:
    """Judge each claim at one of its scales: the one at which most of its parts were run, or the best of several such.

    Missing data make it "not run"; any other error is a bug and raised. ValueError if two claims share an id.
    """
    found: dict[str, tuple[Claim, Verdict]] = {}
    for claim in claims:
        if claim.id in found:
            raise ValueError(f"two claims have the id {claim.id}")
        verdicts = [_check(claim, reader) for reader in results.apart if reader.scales[0] in claim.scales]
        verdicts = verdicts or [Verdict("not run", note=f"not judged at {' or '.join(results.scales)}")]
        best = max(verdicts, key=lambda verdict: verdict.run)
        best = best if best.run else verdicts[-1]  # if nothing was run, the scale that lacks least
        found[claim.id] = claim, best
        at = {best.scale} if best.run else {*EVIDENCE}  # not run, it is one only if it always is
        if claim.surrogate and at <= {*claim.surrogate_at}:
            note = "; ".join(filter(None, [claim.surrogate, best.note]))
            found[claim.id] = replace(claim, kind="surrogate"), replace(best, note=note)
    for claim, _ in found.values():
        if claim.counted_with and claim.counted_with not in found:
            raise ValueError(f"{claim.id} is counted with {claim.counted_with}, which is not a claim")
    return list(found.values())


def _check(claim: Claim, results: Results) -> Verdict:
    results.sources.clear()
    try:
        verdict = claim.check(results)
    except MissingData as error:
        return Verdict("not run", note=str(error))
    return replace(verdict, sources=tuple(sorted(results.sources)))


ByPaper = Mapping[str, list[tuple[Claim, Verdict]]]


def _main(by_paper: ByPaper) -> ByPaper:
    """The claims that count among the papers'; if no paper has any, as in a comparison of ours, our own."""
    kinds = ("paper",) if any(claim.counts for judged in by_paper.values() for claim, _ in judged) else ("own",)
    return {
        paper: [(claim, verdict) for claim, verdict in judged if claim.kind in kinds and not claim.counted_with]
        for paper, judged in by_paper.items()
    }


def threshold(by_paper: ByPaper) -> tuple[float, int, int]:
    """(p value up to which comparisons of the papers' claims stay decided after Benjamini and Hochberg, number of
    comparisons, number of those decided without the procedure)."""
    found = [part for judged in _main(by_paper).values() for _, verdict in judged for part in verdict.comparisons()]
    decided = sum(part.status in ("reproduced", "not reproduced") for part in found)
    return false_discovery_threshold(part.p for part in found if part.p is not None), len(found), decided


def sentences(judged: Iterable[tuple[Claim, Verdict]]) -> list[str]:
    """Three sentences on a paper's verdicts: what holds here, what does not, what is open."""
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


Written = Mapping[str, Mapping[str, Sequence[str]]]
"""Sentence about verdicts -> the verdicts on which it rests: status -> ids of claims."""


def summary(judged: Iterable[tuple[Claim, Verdict]], written: Written) -> list[str]:
    """The sentences that a room has written about its claims, with numbers filled in ("{fig3.seeds}"); `sentences` if
    one of the verdicts behind them has changed."""
    judged = list(judged)
    found = {claim.id: verdict for claim, verdict in judged}
    rests = [(name, status) for each in written.values() for status, names in each.items() for name in names]
    if rests and all(found[name].status == status for name, status in rests):
        return [text.format_map(found) for text in written]
    return sentences(judged)


def _named(texts: list[str]) -> str:
    more = f"; and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return "; ".join(texts[:NAMED]) + more + "." if texts else "nothing."


def _dear(claim: Claim, verdict: Verdict) -> bool:
    """Whether nothing was run and no run at `quick` could decide it."""
    return claim.scale != "quick" and verdict.status == "not run"


def status_of(claim: Claim, status: str) -> str:
    """A verdict in words that suit the kind of claim."""
    if claim.kind == "surrogate":
        return f"{HOLDS.get(status, status)} in a surrogate"
    return status if claim.kind == "paper" else f"{status} ({claim.kind})"


def ours_of(verdict: Verdict) -> str:
    """Our number with its interval; the price if it was not run."""
    return f"{verdict.effect} {verdict.interval}".strip() or verdict.price


def scale_of(claim: Claim, verdict: Verdict) -> str:
    """Scale at which it was judged, or, if it was not run, could be."""
    return verdict.scale or {"long": "long or full", "full": "full only"}.get(claim.scale, claim.scale)


def judged_text(by_paper: ByPaper, width: int = 110) -> str:
    """Claims that could be judged, for a terminal of `width` columns: verdict, figure and claim, then the paper's
    value, ours, seeds and steps. Each paper's heading counts its claims by verdict."""
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


EXPLANATION = """\
- **Reproduced**: the 95 % t interval lies where the claim says. Seeds are paired only where methods share random
  streams.
- **Not reproduced**: it lies on the other side. "Better" is also refuted by an interval within the margin of "the
  same", {margin:.0f} % of what the better side learned.
- **Partly**: it holds in some tasks. Tasks that were not run do not count; a claim without runs is **not run**.
- **Inconclusive**: the interval allows both, fewer than {seeds} seeds ran, no method learns, or nothing in the
  figure succeeds where a claim says "never".
- **In a surrogate**, such as a smaller environment: says nothing about the paper; counted apart, like our own claims.
- **FDR**: what becomes of a verdict at a false discovery rate of 5 % (Benjamini-Hochberg, p up to {limit:.2g}). Of the
  {n} comparisons behind {whose} claims {decided} are decided; about {false:.0f} would be if nothing differed, half
  of them in favour.
"""


def explanation(by_paper: ByPaper) -> str:
    """Markdown that explains the verdicts, and how many false ones to expect."""
    limit, n, decided = threshold(by_paper)
    own = n and all(claim.kind == "own" for judged in _main(by_paper).values() for claim, _ in judged)
    whose, false = "our own" if own else "the papers'", (1 - LEVEL) * n
    return EXPLANATION.format(
        seeds=MIN_SEEDS, margin=100 * MARGIN, n=n, decided=decided, false=false, limit=limit, whose=whose
    )
