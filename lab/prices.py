"""What runs that claims lack would cost, by what the most similar of the committed ones took."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lab import results
from lab.claims import Claim
from lab.entry import Entry
from lab.rooms import Paper, plain
from lab.verdicts import Verdict

LENGTHS = ("steps", "epochs", "episodes", "updates")
"""How settings name the length of a run; the first that a script has counts."""


class Prices:
    """Of one paper: which runs its claims lack at a scale, and what these cost.

    Claims are judged by the results of the paper's house, which may be this machine's own; what a run costs is known
    from the committed ones, also where this machine has none yet.
    """

    def __init__(self, paper: Paper):
        self.paper = paper
        self._entries: dict[tuple[str, str], list[Entry]] = {}
        self._taken: dict[tuple[Path, str, str], dict[tuple[str, str, int], float]] = {}
        self._hours: dict[Any, float | None] = {}

    def entries(self, experiment: str, scale: str) -> list[Entry]:
        if (experiment, scale) not in self._entries:
            self._entries[experiment, scale] = self.paper.experiments[experiment](scale)
        return self._entries[experiment, scale]

    def taken(self, root: Path, experiment: str, scale: str) -> dict[tuple[str, str, int], float]:
        """(method, env, seed) of each run in a tree of results -> hours that it took."""
        if (root, experiment, scale) not in self._taken:
            frame = results.read(root, experiment, scale)
            groups = None if frame is None else frame.groupby(["method", "env", "seed"], observed=True)
            self._taken[root, experiment, scale] = {} if groups is None else groups["hours"].max().to_dict()
        return self._taken[root, experiment, scale]

    def experiments(self, claim: Claim) -> tuple[str, ...]:
        """Those that hold the claim's runs: its own where it names any, else its figure's, which is known in any
        spelling; none for a figure that the paper does not have."""
        if claim.reads:
            return tuple(claim.reads.split("+"))
        by_figure = {plain(name): figure.experiments for name, figure in self.paper.figures.items()}
        return by_figure.get(plain(claim.figure), ())

    def missing(self, claim: Claim, scale: str) -> list[Entry]:
        """The runs of the claim's experiments, on its tasks, that the house's results lack, once each."""
        found: dict[Any, Entry] = {}
        for experiment in self.experiments(claim):
            there = self.taken(self.paper.results, experiment, scale)
            found |= {e.config: e for e in self.entries(experiment, scale) if _key(e) not in there}
        return [entry for entry in found.values() if not claim.tasks or entry.env in claim.tasks]

    @cached_property
    def known(self) -> list[tuple[Entry, float]]:
        """Every committed run with the hours that it took; once, also where experiments share it."""
        committed = self.paper.evidence / "results"
        return list(
            {
                entry.config: (entry, there[_key(entry)])
                for scale in results.EVIDENCE
                for experiment in self.paper.experiments
                if (there := self.taken(committed, experiment, scale))
                for entry in self.entries(experiment, scale)
                if _key(entry) in there
            }.values()
        )

    def hours(self, entry: Entry) -> float | None:
        """Of the committed runs, the median of those most like it; None where its script was never run."""
        like = (*_kind(entry), entry.env, entry.method, _length(entry))  # what usual_hours asks of an entry
        if like not in self._hours:
            self._hours[like] = usual_hours(entry, self.known)
        return self._hours[like]

    def told(self, claim: Claim) -> str:
        """What it lacks at its scale: "12 runs, about 3.6 core-hours"; empty where nothing is missing."""
        if not (missing := self.missing(claim, claim.scale)):
            return ""
        hours = [self.hours(entry) for entry in missing]
        known = sum(h for h in hours if h is not None)
        if None not in hours:
            price = f"about {in_two_digits(known)} core-hours"
        else:
            price = f"at least {in_two_digits(known)} core-hours" if known else "nothing like them was timed"
        return f"{len(missing):,} runs, {price}"


def _key(entry: Entry) -> tuple[str, str, int]:
    return entry.method, entry.env, entry.seed


def _kind(entry: Entry) -> tuple[str, Any]:
    return entry.target, getattr(entry.config, "network", None)


def _length(entry: Entry) -> int:
    named = (getattr(entry.config, name, None) for name in LENGTHS)
    return next((length for length in named if isinstance(length, int)), 1)


def _kin(entry: Entry) -> str:
    """What tasks alike are called: the first word of the name, Ant of AntMaze and of AntMazeSmall; all of 5x5-1."""
    word = re.match("[A-Z][a-z]*", entry.env)
    return word[0] if word else entry.env


LIKENESSES: tuple[Callable[[Entry], Any], ...] = (
    lambda e: (e.env, e.method),
    lambda e: e.env,
    lambda e: (_kin(e), e.method),
    _kin,
    lambda e: None,
)
"""What runs must have in common, the closest likeness first."""


def usual_hours(entry: Entry, known: Iterable[tuple[Entry, float]]) -> float | None:
    """Median hours of the runs most like `entry`: of its script and kind of network, then task, then method; None
    without any. Where its task was never run, those alike by name come before all others. Those of a shorter run are
    scaled up to its length, and of a longer one down. Where its script was never run with its kind of network, those
    that another script of the room made with it count."""
    known, network = list(known), _kind(entry)[1]
    alike = [(e, hours) for e, hours in known if _kind(e) == _kind(entry)]
    if not alike and network is not None:
        alike = [(e, hours) for e, hours in known if _kind(e)[1] == network]
    for likeness in LIKENESSES:
        if nearest := [h * _length(entry) / _length(e) for e, h in alike if likeness(e) == likeness(entry)]:
            return statistics.median(nearest)
    return None


def in_two_digits(hours: float) -> str:
    """0.26, 3.6, 1,200."""
    return f"{float(f'{hours:.2g}'):,g}"


def priced(paper: Paper, judged: Iterable[tuple[Claim, Verdict]]) -> list[tuple[Claim, Verdict]]:
    """The verdicts; those that are "not run" say what the runs cost that they lack."""
    prices = Prices(paper)
    return [
        (claim, replace(verdict, price=prices.told(claim)) if not verdict.run else verdict) for claim, verdict in judged
    ]
