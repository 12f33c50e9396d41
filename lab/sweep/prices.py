"""Cost of the runs that claims lack, estimated from the most similar committed runs."""

import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.judge.claims import Claim
from lab.judge.results import EVIDENCE, read
from lab.judge.verdicts import Verdict
from lab.rooms import Paper, plain
from lab.sweep.entry import Entry

LENGTHS = ("steps", "epochs", "episodes", "updates")
"""Names of the setting that holds a run's length; the first that a script has counts."""


class Prices:
    """The runs that a paper's claims lack at a scale, and their cost.

    Which runs are missing depends on the results of the paper's house, which may be this machine's own. Costs always
    come from the committed results, so they are known even on a machine without any.
    """

    def __init__(self, paper: Paper):
        self.paper = paper
        self.plans = {(name, scale): make(scale) for scale in EVIDENCE for name, make in paper.experiments.items()}
        self._hours: dict[Any, float | None] = {}
        self._lacking: dict[tuple[str, str], dict[Any, Entry]] = {}

    def _taken(self, root: Path) -> dict[tuple[str, str], dict[Any, float]]:
        """(experiment, scale) -> (method, env, seed) of each run in a tree of results -> its hours."""
        taken: dict[tuple[str, str], dict[Any, float]] = {plan: {} for plan in self.plans}
        for plan in self.plans:
            if (frame := read(root, *plan)) is not None:
                taken[plan] = frame.groupby(["method", "env", "seed"], observed=True)["hours"].max().to_dict()
        return taken

    @cached_property
    def committed(self) -> dict[tuple[str, str], dict[Any, float]]:
        return self._taken(self.paper.evidence / "results")

    @cached_property
    def there(self) -> dict[tuple[str, str], dict[Any, float]]:
        """The same for the house's results."""
        return self.committed if self.paper.house.committed else self._taken(self.paper.results)

    @cached_property
    def known(self) -> list[tuple[Entry, float]]:
        """Every committed run with its hours, once even if experiments share it."""
        runs = [(e, self.committed[plan].get(_key(e))) for plan, entries in self.plans.items() for e in entries]
        return list({entry.config: (entry, hours) for entry, hours in runs if hours is not None}.values())

    def experiments(self, claim: Claim) -> tuple[str, ...]:
        """Experiments with the claim's runs: those that it names, or else its figure's, in any spelling; none if the
        paper has no such figure."""
        if claim.reads:
            return tuple(claim.reads.split("+"))
        by_figure = {plain(name): figure.experiments for name, figure in self.paper.figures.items()}
        return by_figure.get(plain(claim.figure), ())

    def missing(self, claim: Claim, scale: str) -> list[Entry]:
        """Runs of the claim's experiments, on its tasks, that the house's results lack; each once."""
        lacking: dict[Any, Entry] = {}
        for plan in ((name, scale) for name in self.experiments(claim)):
            if plan not in self._lacking:
                self._lacking[plan] = {e.config: e for e in self.plans[plan] if _key(e) not in self.there[plan]}
            lacking |= self._lacking[plan]
        return [entry for entry in lacking.values() if not claim.tasks or entry.env in claim.tasks]

    def hours(self, entry: Entry) -> float | None:
        """Median hours of the committed runs most like it; None if its script was never run."""
        like = (*_kind(entry), entry.env, entry.method, _length(entry))  # all that usual_hours reads from an entry
        if like not in self._hours:
            self._hours[like] = usual_hours(entry, self.known)
        return self._hours[like]

    def told(self, claim: Claim) -> str:
        """Say what it lacks at its scale: "12 runs, about 3.6 core-hours"; empty if nothing is missing."""
        hours = [self.hours(entry) for entry in self.missing(claim, claim.scale)]
        known = sum(filter(None, hours))
        price = f"{'at least' if None in hours else 'about'} {float(f'{known:.2g}'):,g} core-hours"
        price = "no similar run was timed" if None in hours and not known else price
        return f"{len(hours):,} runs, {price}" if hours else ""


def _key(entry: Entry) -> tuple[str, str, int]:
    return entry.method, entry.env, entry.seed


def _kind(entry: Entry) -> tuple[str, Any]:
    return entry.target, getattr(entry.config, "network", None)


def _length(entry: Entry) -> int:
    named = (getattr(entry.config, name, None) for name in LENGTHS)
    return next((length for length in named if isinstance(length, int)), 1)


def _kin(entry: Entry) -> str:
    """Name shared by similar tasks: the first word, Ant for AntMaze and AntMazeSmall; the whole of 5x5-1."""
    return (re.match("[A-Z][a-z]*", entry.env) or [entry.env])[0]


LIKENESSES: tuple[Callable[[Entry], Any], ...] = (
    lambda e: (e.env, e.method),
    lambda e: e.env,
    lambda e: (_kin(e), e.method),
    _kin,
    lambda e: None,
)
"""What similar runs have in common, closest similarity first."""


def usual_hours(entry: Entry, known: Sequence[tuple[Entry, float]]) -> float | None:
    """Median hours of the runs most like `entry`, or None without any: same script and kind of network, then task, then
    method. Tasks with similar names come before all others. Hours are scaled to its length. If its script was never run
    with its kind of network, the room's other scripts that were count."""
    kind = _kind(entry)
    alike = [(e, hours) for e, hours in known if _kind(e) == kind]
    if not alike and kind[1] is not None:
        alike = [(e, hours) for e, hours in known if _kind(e)[1] == kind[1]]
    for likeness in LIKENESSES:
        if nearest := [h * _length(entry) / _length(e) for e, h in alike if likeness(e) == likeness(entry)]:
            return statistics.median(nearest)
    return None


def priced(paper: Paper, judged: Iterable[tuple[Claim, Verdict]]) -> list[tuple[Claim, Verdict]]:
    """The verdicts, with the cost of the missing runs added to those that are "not run"."""
    prices = Prices(paper)
    return [(claim, found if found.run else replace(found, price=prices.told(claim))) for claim, found in judged]
