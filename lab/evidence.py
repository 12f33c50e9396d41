"""Train what is missing to judge more claims, the cheapest undecided claim first, for so many hours; then collect.

A claim is undecided when it is "not run" or "inconclusive", and can be helped where `quick` runs of its experiments
are not among the committed results, unless only `full` can decide it. Claims of a figure that read the same experiments
cost the same: the runs that these lack.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lab.commands import collect, entries_of, placed, share
from lab.errors import UserError
from lab.prices import Prices
from lab.rooms import Paper, judge, plain

SCALE = "quick"
UNDECIDED = ("not run", "inconclusive")
UNKNOWN_HOURS = 0.2  # of a run whose script has not a single result: a guess, most quick runs take some minutes

Verdicts = dict[tuple[str, str], tuple[Any, Any]]
"""(paper, claim id) -> claim and verdict."""


@dataclass
class Gap:
    """Undecided claims of a figure that read the same experiments, and the runs that these lack."""

    paper: Paper
    figure: str
    claims: list[tuple[Any, Any]]  # the undecided ones, with their verdicts
    runs: dict[str, Any]  # run name -> entry
    hours: dict[str, float]  # run name -> core-hours, 0 where the run is finished and only to be collected

    @property
    def cost(self) -> float:
        """Core-hours of all its runs."""
        return sum(self.hours[name] for name in self.runs)

    def __str__(self) -> str:
        ids = [f"{claim.id} ({verdict.status})" for claim, verdict in self.claims]
        return f"{self.paper.name} {self.figure}: {len(self.runs)} runs, {self.cost:.2g} core-hours: {', '.join(ids)}"


def verdicts_of(papers: Iterable[Paper]) -> Verdicts:
    """All claims of the papers, judged from the committed results."""
    return {(paper.name, claim.id): (claim, verdict) for paper in papers for claim, verdict in judge(paper)}


def gaps(papers: Iterable[Paper], verdicts: Verdicts, device: str = "cpu") -> list[Gap]:
    """What could be run, cheapest first. A run that two figures need is in the first of them only."""
    waiting = [gap for paper in papers for gap in _gaps_of(paper, verdicts, device)]
    ordered: list[Gap] = []
    while waiting:
        cheapest = min(waiting, key=lambda gap: gap.cost)
        waiting.remove(cheapest)
        ordered.append(cheapest)
        for gap in waiting:
            gap.runs = {name: entry for name, entry in gap.runs.items() if name not in cheapest.runs}
        for gap in [gap for gap in waiting if not gap.runs]:  # it needs no more than this one
            waiting.remove(gap)
            cheapest.claims += gap.claims
    return ordered


def _gaps_of(paper: Paper, verdicts: Verdicts, device: str) -> list[Gap]:
    prices, found = Prices(paper), []
    undecided: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[tuple[Any, Any]]] = {}
    for (name, _), (claim, verdict) in verdicts.items():
        if name == paper.name and verdict.status in UNDECIDED and claim.scale == SCALE and claim.kind != "wiring":
            about = plain(claim.figure), prices.experiments(claim), claim.tasks
            undecided.setdefault(about, []).append((claim, verdict))
    for (figure, _, _), about_it in undecided.items():
        if missing := [placed(entry, device) for entry in prices.missing(about_it[0][0], SCALE)]:
            runs = {entry.run_dir(paper.runs).name: entry for entry in missing}
            hours = {name: _hours(entry, prices) for name, entry in runs.items()}
            found.append(Gap(paper, figure, about_it, runs, hours))
    return found


def _hours(entry: Any, prices: Prices) -> float:
    """Of a run that is to be made; one that is finished here costs nothing."""
    if entry.state(prices.paper.runs).stage == "finished":
        return 0.0
    usual = prices.hours(entry)
    return UNKNOWN_HOURS if usual is None else usual


def gather(
    papers: list[Paper], hours: float, *, dry: bool = False, jobs: int, device: str, stale: str, **sweeping: Any
) -> int:
    """Train the cheapest gaps for so many hours and collect them into the committed results; returns the exit code.

    What is half-done when the time is over, or at Ctrl-C, goes on from its checkpoint next time. dry: only say what
    would be run. sweeping: see lab.sweep.sweep. Raises UserError for a checkout whose sources are not committed.
    """
    from lab.sweep import sweep

    if not dry:
        for paper in papers:
            share(paper, SCALE)
    before = verdicts_of(papers)
    everything = gaps(papers, before, device)
    if not everything:
        print(f"nothing to run: no undecided claim lacks a {SCALE} run")
        return 0
    chosen: list[Gap] = []
    while len(chosen) < len(everything) and sum(gap.cost for gap in chosen) < hours * jobs:
        chosen.append(everything[len(chosen)])
    print(_announcement(chosen, hours, jobs))
    for gap in chosen:
        print(f"  {gap}", flush=True)
    if dry:
        return 0
    _check_sources(chosen)
    end, code = time.monotonic() + 3600 * hours, 0
    for gap in chosen:
        left = end - time.monotonic()
        if left <= 0:
            break
        print(f"{gap.paper.name} {gap.figure}:", file=sys.stderr)
        work = {gap.paper.runs: gap.runs.values()}
        report = sweep(work, hours=gap.hours, jobs=jobs, seconds=left, stale=stale, **sweeping)
        refused = _collect(gap, device, stale)
        code = max(code, report.exit_code, 1 if refused else 0)
        if report.interrupted:
            break
    if time.monotonic() >= end:
        print(f"the {hours:g} hours are over; the same command goes on with what is half-done")
    _tell_changes(before, verdicts_of(papers))
    return code


def _check_sources(chosen: list[Gap]) -> None:
    from lab.provenance import take

    modules = sorted({entry.module for gap in chosen for entry in gap.runs.values()})
    for module, code in take(modules).items():
        if code["dirty"] is not False:
            why = "outside git nobody knows its commit" if code["dirty"] is None else "its sources are not committed"
            raise UserError(f"runs of {module} would be refused as evidence, because {why}; use a clean checkout")


def _announcement(chosen: list[Gap], hours: float, jobs: int) -> str:
    runs, claims = sum(len(gap.runs) for gap in chosen), sum(len(gap.claims) for gap in chosen)
    cost = sum(gap.cost for gap in chosen)
    return (
        f"{runs} missing {SCALE} runs (about {cost:.2g} core-hours; there are {hours:g} hours on {jobs} processes), "
        f"because {claims} claims are undecided without them; the cheapest first:"
    )


def _collect(gap: Gap, device: str, stale: str) -> list[str]:
    """Bring the gap's finished runs into every experiment of the paper that has them; a line for each refused one."""
    wanted = {}
    for experiment, entries in entries_of(gap.paper, None, SCALE, device).items():
        if of_gap := [entry for entry in entries if entry.run_dir(gap.paper.runs).name in gap.runs]:
            wanted[experiment] = of_gap
    return collect(gap.paper, wanted, SCALE, stale)[1]


def _tell_changes(before: Verdicts, after: Verdicts) -> None:
    changed = 0
    for (paper, _), (claim, new) in after.items():
        old = before[paper, claim.id][1]
        if old.status != new.status:
            changed += 1
            print(f"{paper} {claim.figure}: {old.status} -> {new.status}: {claim.text} ({new.effect} {new.interval})")
    print(f"{changed} verdicts changed; `make figures claims` draws and writes what is in the results now")
