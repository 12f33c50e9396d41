"""Train the missing runs of undecided claims, cheapest claim first, within a time budget; then collect them.

A claim is undecided if it is "not run" or "inconclusive". More runs can help if `quick` runs of its experiments are
missing from the committed results, unless only `long` or `full` can decide it.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lab.commands import collect, entries_of, placed, share
from lab.rooms import Paper, judge
from lab.run.errors import UserError
from lab.sweep.prices import Prices

SCALE = "quick"
UNDECIDED = ("not run", "inconclusive")
UNKNOWN_HOURS = 0.2  # guess for a script without any result: most quick runs take some minutes

Verdicts = dict[Paper, list[tuple[Any, Any]]]
"""Paper -> its claims and verdicts."""


@dataclass
class Gap:
    """An undecided claim and its missing runs."""

    paper: Paper
    claim: Any
    status: str
    runs: dict[str, Any]  # run name -> entry
    hours: dict[str, float]  # run name -> core-hours; 0 for a finished run, which need only be collected

    @property
    def cost(self) -> float:
        """Core-hours of all runs."""
        return sum(self.hours[name] for name in self.runs)

    def __str__(self) -> str:
        claim = f"{self.paper.name} {self.claim.figure}, {self.claim.id} ({self.status})"
        return f"{claim}: {len(self.runs)} runs, {self.cost:.2g} core-hours"


def gaps(verdicts: Verdicts, device: str = "cpu") -> list[Gap]:
    """List what could be run, cheapest first. A run that several claims need is in the first gap only; a claim whose
    runs are all in earlier gaps has no gap of its own."""
    found = [gap for paper, judged in verdicts.items() for gap in _gaps_of(paper, judged, device)]
    planned: set[Any] = set()
    for gap in sorted(found, key=lambda gap: gap.cost):
        gap.runs = {name: entry for name, entry in gap.runs.items() if (gap.paper, name) not in planned}
        planned |= {(gap.paper, name) for name in gap.runs}
    return sorted((gap for gap in found if gap.runs), key=lambda gap: gap.cost)


def _gaps_of(paper: Paper, judged: list[tuple[Any, Any]], device: str) -> Iterator[Gap]:
    prices = Prices(paper)
    for claim, verdict in judged:
        if verdict.status in UNDECIDED and claim.scale == SCALE and claim.kind != "wiring":
            runs, hours = {}, {}
            for entry in (placed(entry, device) for entry in prices.missing(claim, SCALE)):
                name, usual = entry.run_dir(paper.runs).name, prices.hours(entry)
                done = entry.state(paper.runs).stage == "finished"
                runs[name], hours[name] = entry, 0.0 if done else UNKNOWN_HOURS if usual is None else usual
            yield Gap(paper, claim, verdict.status, runs, hours)


def gather(
    papers: list[Paper], hours: float, *, dry: bool = False, jobs: int, device: str, stale: str, **sweeping: Any
) -> int:
    """Train the cheapest gaps for `hours` and collect them into the committed results; returns the exit code.

    Runs left unfinished, when time is up or after Ctrl-C, resume from their checkpoints next time. dry: only list what
    would be run. sweeping: see lab.sweep.sweep.sweep. Raises UserError for a checkout with uncommitted sources.
    """
    from lab.run.provenance import take
    from lab.sweep.sweep import sweep

    if not dry:
        for paper in papers:
            share(paper, SCALE)
    before = {paper: judge(paper) for paper in papers}
    everything = gaps(before, device)
    if not everything:
        print(f"nothing to run: no undecided claim lacks {SCALE} runs")
        return 0
    chosen = [gap for i, gap in enumerate(everything) if sum(g.cost for g in everything[:i]) < hours * jobs]
    print(
        f"{sum(len(gap.runs) for gap in chosen)} missing {SCALE} runs (about {sum(gap.cost for gap in chosen):.2g} "
        f"core-hours; budget: {hours:g} hours on {jobs} processes) for undecided claims, cheapest first:",
        *(f"\n  {gap}" for gap in chosen),
        sep="",
        flush=True,
    )
    if dry:
        return 0
    for module, seen in take(entry.module for gap in chosen for entry in gap.runs.values()).items():
        if seen["dirty"] is not False:
            why = "outside git, its commit is unknown" if seen["dirty"] is None else "its sources are not committed"
            raise UserError(f"runs of {module} would be refused as evidence: {why}; use a clean checkout")
    end, code = time.monotonic() + 3600 * hours, 0
    for gap in chosen:
        left = end - time.monotonic()
        if left <= 0:
            break
        print(gap, file=sys.stderr)
        work = {gap.paper.runs: gap.runs.values()}
        report = sweep(work, hours=gap.hours, jobs=jobs, seconds=left, stale=stale, **sweeping)
        code = max(code, report.exit_code, 1 if _collect(gap, device, stale) else 0)
        if report.interrupted:
            break
    if time.monotonic() >= end:
        print(f"the {hours:g} hours are up; rerun the command to resume unfinished runs")
    changed = 0
    for paper, judged in before.items():
        for (claim, old), (_, new) in zip(judged, judge(paper)):
            if old.status != new.status:
                changed += 1
                what = f"{old.status} -> {new.status}: {claim.text} ({new.effect} {new.interval})"
                print(f"{paper.name} {claim.figure}: {what}")
    print(f"{changed} verdicts changed; update figures and tables with `make figures claims`")
    return code


def _collect(gap: Gap, device: str, stale: str) -> list[str]:
    """Collect the gap's finished runs into every experiment that has them; returns a line per refused run."""
    wanted = {
        experiment: [entry for entry in entries if entry.run_dir(gap.paper.runs).name in gap.runs]
        for experiment, entries in entries_of(gap.paper, None, SCALE, device).items()
    }
    return collect(gap.paper, {name: of_gap for name, of_gap in wanted.items() if of_gap}, SCALE, stale)[1]
