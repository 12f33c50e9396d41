"""Claims of the papers, checked against results: a Claim's check reads tidy data and returns a Verdict."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from lab.errors import UserError
from lab.results import EVIDENCE, MissingData, Results, write_if_changed
from lab.stats import difference_interval

STATUSES = ("reproduced", "partly", "not reproduced", "inconclusive", "not run")
MIN_SEEDS = 3
BEGIN, END = "<!-- claims:begin -->", "<!-- claims:end -->"


@dataclass
class Verdict:
    """What the data say about a claim: effect and interval as printed, seeds per method, environment steps, scale."""

    status: str
    effect: str = ""
    interval: str = ""
    seeds: int = 0
    steps: int = 0
    scale: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"unknown status {self.status!r}; choose from {', '.join(STATUSES)}")


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a paper. `check` may raise MissingData: the claim is then "not run"."""

    id: str
    figure: str
    text: str
    paper_value: str
    check: Callable[[Results], Verdict]


# ------------------------------------------------------------------------------------------------ judging


def number(value: float, sign: str = "") -> str:
    """Three significant digits without exponent for usual sizes; sign "+" prints it always."""
    return f"{value:{sign},.0f}" if abs(value) >= 999.5 else f"{value:{sign}.3g}"


def judge_difference(x: ArrayLike, y: ArrayLike, *, steps: int = 0, scale: str = "", note: str = "") -> Verdict:
    """Verdict on "x > y" from one score per seed: reproduced when the 95 % bootstrap interval of mean(x) - mean(y) lies
    above 0, not reproduced when below 0, else inconclusive. Inconclusive too below 3 seeds of either."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    seeds = min(len(first), len(second))
    if seeds == 0:
        return Verdict("not run", scale=scale, note=note)
    effect = number(float(first.mean() - second.mean()), "+")
    low, high = difference_interval(first, second)
    interval = f"[{number(low, '+')}, {number(high, '+')}]" if seeds > 1 else ""
    if seeds < MIN_SEEDS:
        few = f"fewer than {MIN_SEEDS} seeds"
        return Verdict("inconclusive", effect, interval, seeds, steps, scale, f"{note}; {few}" if note else few)
    status = "reproduced" if low > 0 else "not reproduced" if high < 0 else "inconclusive"
    return Verdict(status, effect, interval, seeds, steps, scale, note)


def combine(parts: Mapping[str, Verdict]) -> Verdict:
    """One verdict on a claim of several parts (tasks, say).

    All parts reproduced: reproduced. Some: partly. Some decided and none reproduced: not reproduced. None decided:
    inconclusive, or not run when no part was. Seeds is the fewest and steps the most of any part that was run.
    """
    found = [part.status for part in parts.values()]
    ran = [part for part in parts.values() if part.status != "not run"]
    good = found.count("reproduced")
    if not ran:
        status = "not run"
    elif good == len(found):
        status = "reproduced"
    elif good or "partly" in found:
        status = "partly"
    else:
        status = "not reproduced" if "not reproduced" in found else "inconclusive"
    return Verdict(
        status,
        effect=f"{good} of {len(found)} reproduced" if ran else "",
        seeds=min((part.seeds for part in ran), default=0),
        steps=max((part.steps for part in ran), default=0),
        scale=" and ".join(dict.fromkeys(part.scale for part in ran if part.scale)),
        note="; ".join(
            f"{name}: {part.status}" + (f" ({ours})" if (ours := f"{part.effect} {part.interval}".strip()) else "")
            for name, part in parts.items()
        ),
    )


def evaluate(claims: Iterable[Claim], results: Results) -> list[tuple[Claim, Verdict]]:
    """Each claim with its verdict. Data that are not there make it "not run"; any other error is a bug, and raised."""
    judged: dict[str, tuple[Claim, Verdict]] = {}
    # results of the full scale that do not hold all of a claim yet must not hide complete quick ones
    readers = results, Results(results.root, results.scales[1:])
    for claim in claims:
        if claim.id in judged:
            raise ValueError(f"two claims are called {claim.id}")
        judged[claim.id] = claim, _check(claim, readers)
    return list(judged.values())


def _check(claim: Claim, readers: tuple[Results, ...]) -> Verdict:
    missing = []
    for results in readers:
        try:
            return claim.check(results)
        except MissingData as error:
            missing.append(str(error))
    return Verdict("not run", note=missing[0])


# ------------------------------------------------------------------------------------------------ reporting

ByPaper = Mapping[str, list[tuple[Claim, Verdict]]]


def _table(header: list[str], rows: Iterable[list[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(header), "|" + "---|" * len(header), *map(line, rows)])


def summary_table(by_paper: ByPaper) -> str:
    """Markdown: one row per paper, the number of claims by status."""
    counts = {paper: Counter(verdict.status for _, verdict in judged) for paper, judged in by_paper.items()}
    rows = [[paper, str(count.total()), *(str(count[s]) for s in STATUSES)] for paper, count in counts.items()]
    return _table(["paper", "claims", *STATUSES], rows)


def claims_table(by_paper: ByPaper) -> str:
    """Markdown: one row per claim, the paper's value beside ours."""
    header = ["paper", "figure", "claim", "paper's value", "ours [95 % interval]", "seeds", "steps", "scale", "verdict"]
    return _table(header, (_row(paper, *pair) for paper, judged in by_paper.items() for pair in judged))


def _row(paper: str, claim: Claim, verdict: Verdict) -> list[str]:
    seeds = str(verdict.seeds) if verdict.seeds else ""
    steps = f"{verdict.steps:,}" if verdict.steps else ""
    ours = f"{verdict.effect} {verdict.interval}".strip()
    text = f"{claim.text} (`{claim.id}`)"
    return [paper, claim.figure, text, claim.paper_value, ours, seeds, steps, verdict.scale, verdict.status]


def judged_text(by_paper: ByPaper, width: int = 110) -> str:
    """The claims that could be judged, for a terminal of `width` columns: verdict, figure and claim, then the paper's
    value, ours and what it rests on. Each paper's heading counts its claims by verdict."""
    lines = []
    for paper, judged in by_paper.items():
        counts = Counter(verdict.status for _, verdict in judged)
        lines += ["", f"{paper}: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])]
        for claim, verdict in judged:
            if verdict.status == "not run":
                continue
            start = f"  {verdict.status:<15} {claim.figure:<11} "
            ours = f"{verdict.effect} {verdict.interval}".strip() or "-"
            basis = f"{verdict.seeds} seeds" + (f", {verdict.steps:,} steps" if verdict.steps else "")
            facts = f"paper: {claim.paper_value}; ours: {ours} ({basis}, {verdict.scale})"
            for text, first in ((claim.text, start), (facts, "")):
                indent = " " * len(start)
                lines += textwrap.wrap(text, width, initial_indent=first or indent, subsequent_indent=indent)
    return "\n".join(lines[1:])


INTRODUCTION = f"""\
# Results

Generated from `papers/*/evidence/results` by `make claims`; edits are overwritten. Evidence is the best scale that
has been run ({", then ".join(EVIDENCE)}); smoke runs are never evidence.
"""

EXPLANATION = f"""\
Where a claim says that one method is better than another, it is **reproduced** when the bootstrap interval of the
difference of means lies above zero, **not reproduced** when it lies below, else **inconclusive**, as is everything
with fewer than {MIN_SEEDS} seeds. Claims of "no effect" or "at least as good" name the margin that counts as none.
**Partly**: some of a claim's parts are reproduced. **Not run**: data for the claim are missing. Intervals are nominal:
a 95 % percentile bootstrap interval from 5 seeds covers the truth about 80 % of the time, and from 3 seeds about 75 %.
No correction is made for the number of claims.
"""


def results_markdown(by_paper: ByPaper) -> str:
    """The text of RESULTS.md: counts per paper, all claims, notes. The same verdicts give the same bytes."""
    parts = [INTRODUCTION, summary_table(by_paper) + "\n", EXPLANATION, claims_table(by_paper) + "\n"]
    notes = [
        f"- `{claim.id}`: {' '.join(verdict.note.split())}\n"
        for judged in by_paper.values()
        for claim, verdict in judged
        if verdict.note
    ]
    if notes:
        parts += ["## Notes\n", "".join(notes)]
    return "\n".join(parts)


def _split(path: Path) -> tuple[str, str, str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; expected a file with the lines {BEGIN} and {END}") from None
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise UserError(f"{path} needs the line {BEGIN} once and after it the line {END} once")
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    return before, table.strip(), after


def is_current(path: Path, table: str) -> bool:
    """Whether the table between the markers of `path` is `table`. Raises UserError when the markers are not right."""
    return _split(Path(path))[1] == table.strip()


def update_readme(path: Path, table: str) -> bool:
    """Put `table` between the markers of `path`; True when that changed the file. UserError as `is_current`."""
    before, _, after = _split(Path(path))
    return write_if_changed(Path(path), f"{before}{BEGIN}\n{table.strip()}\n{END}{after}".encode())
