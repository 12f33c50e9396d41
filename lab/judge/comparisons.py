"""Comparisons of runs as data: the building blocks of all rooms' claims.

    ROOM.most("naf refer", ">", "naf er", of="fig3", on=TEN)

checks a claim: in experiment fig3, the runs of "naf refer" score above those of "naf er" in most of ten tasks.
`Compare` holds the check, `Runs.compare` judges it in one task, and lab/judge/intervals.py has the rules.

*Score.* One number per run, and how differences are read: whether one of the methods must learn (`gated`), whether
sizes are factors (`ratio`).

*Signs.* ">" above and "<" below, by more than `margin` if given; ">=" not worse, "==" the same and "!=" apart need a
margin: `margin`, or else a `share`, by default a fifth, of what the better side gained over its score before learning.
A method does not count as above another if the two are the same by that share. The right side is a method or a number.

*Parts.* `all` or `most` of the tasks `on` must agree, and in each task all (`each`) of several comparisons; `decisive`
are those of a task's comparisons without which the rest says nothing.

*Room.* What differs between papers is defined once, in the room's `Room`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lab.judge import scores
from lab.judge.intervals import (
    MARGIN,
    Estimate,
    Rule,
    above,
    apart,
    below,
    difference,
    margin_of,
    mean_of,
    not_worse,
    number,
    same,
)
from lab.judge.results import MissingData, Results
from lab.judge.verdicts import Learning, Verdict, decide, gated, join, judged

TINY = 1e-12
"""Smaller values are raised to this before a ratio is taken."""
SIGNS: dict[str, Callable[[float], Rule]] = {
    ">": above,
    "<": lambda margin: below(-margin),
    ">=": not_worse,
    "==": same,
    "!=": apart,
}

Side = tuple[str, str]
"""A method on a task."""
Measure = Callable[["Runs", str, str], np.ndarray]
"""Runs, method, task -> a number per run, (runs,), in the order of the seeds."""
Judge = Callable[["Runs", str], Verdict]
"""Runs and a task -> a verdict; may raise MissingData."""
Method = str | Callable[["Runs", str], str | Side]
"""A method's label, or a function that finds it: runs, task -> its label, or its label and another task."""
Level = float | Callable[["Runs", str], float]
Comparison = tuple[Method, str, Method | Level] | tuple[Method, str, Method | Level, "Score"]
"""x, sign, y, and the score if it is not the claim's."""


@dataclass(frozen=True, eq=False)
class Score:
    """One number per run, and how its differences are read."""

    of: Measure
    gated: bool | Callable[[float], bool] = False
    """Whether one of the sides must learn; a function if that depends on the estimate."""
    ratio: bool = False
    """Compared by ratios of geometric means; sizes are factors."""
    show: Callable[[float], str] | None = None
    """Formats numbers; by default with their sign, and ratios as "15.5x"."""
    note: str | Callable[[np.ndarray, np.ndarray], str] = ""
    """A note for the verdict; or a function of both sides' scores (of the same scores twice for a single side)."""
    estimate: Callable[[np.ndarray, np.ndarray], Estimate] | None = None
    """Estimates from both sides' scores, if not the difference of their means."""

    def shown(self, value: float) -> str:
        if self.ratio:
            return (self.show or (lambda factor: f"{number(factor)}x"))(float(np.exp(value)))
        return self.show(value) if self.show else number(value, "+")

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Transform to the scale on which differences are taken."""
        return np.log(np.maximum(values, TINY)) if self.ratio else values


def last(metric: str, count: int = 1) -> Measure:
    """Mean of the last `count` values of each run."""
    return lambda runs, method, env: runs.last(metric, method, env, count)


def area(metric: str) -> Measure:
    """Mean height of each run's curve."""
    return lambda runs, method, env: runs.area(metric, method, env)


@dataclass(frozen=True)
class Place:
    """Where a part of a claim is judged. prefix: of all methods' labels. sides: the planned ones, if others are not
    part of the claim. missing: why it cannot be judged."""

    name: str
    experiment: str
    env: str
    prefix: str = ""
    sides: Collection[Side] | None = None
    missing: str = ""


@dataclass(frozen=True, eq=False)
class Room:
    """How a room reads its runs."""

    score: Score
    """Compares methods, unless a claim names another score."""
    learning: Callable[[Runs, str, str], Learning]
    """Whether a method learns a task, compared with the score before learning."""
    paired: Callable[[str, str], bool] = lambda x, y: True
    """Whether runs of two methods with the same seed share their random streams."""
    label: Callable[[str], str] = str
    """A method's name in verdicts."""
    note: Callable[[Runs, Sequence[Side]], str] = lambda runs, sides: ""
    """A note on the runs of a comparison."""
    steps: Callable[[Runs, Sequence[Side]], int] = lambda runs, sides: max(runs.steps(env, x) for x, env in sides)
    """Length of the runs of a comparison."""
    until: Callable[[str, str], Mapping[str, int]] = lambda experiment, scale: {}
    """Tasks of an experiment at a scale -> steps after which its runs are ignored."""
    places: Callable[[str, str], Iterable[Place]] | None = None
    """The parts of claims about an experiment at a scale; by default the tasks that they name."""
    rows: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    """Adds metrics derived from others."""

    def runs(self, results: Results, experiment: str) -> Runs:
        """The runs of an experiment, cached for the claims that follow."""
        return Runs.of(results, experiment, self)

    def all(self, *what: Any, **how: Any) -> Compare:
        """Check that a comparison or a judge, or each of several by name, holds in all tasks; see Compare."""
        return Compare(self, what if len(what) > 1 else what[0], join="all", **how)

    def most(self, *what: Any, **how: Any) -> Compare:
        """The same, for most tasks."""
        return Compare(self, what if len(what) > 1 else what[0], join="most", **how)


class Runs(scores.Runs):
    """An experiment's runs, as a room reads them."""

    def __init__(self, results: Results, experiment: str, room: Room):
        super().__init__(results, experiment)
        self.room, self.prefix = room, ""
        self.frame = room.rows(self.frame)
        self.groups = {pair: rows for pair, rows in self.frame.groupby(["method", "env"])}
        self.until = room.until(experiment, self.scale)
        self._learns: dict[Side, Learning] = {}

    def curve(self, metric: str, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
        steps, values = super().curve(metric, method, env)
        shown = steps <= self.until.get(env, math.inf)
        return (steps, values) if shown.all() else (steps[shown], values[:, shown])

    def steps(self, env: str, *methods: str) -> int:
        return int(min(super().steps(env, *methods), self.until.get(env, math.inf)))

    def learns(self, method: str, env: str) -> Learning:
        """Whether a method learns a task."""
        if (method, env) not in self._learns:
            self._learns[method, env] = self.room.learning(self, method, env)
        return self._learns[method, env]

    def sides(self, x: Method, y: Method | Level, env: str) -> tuple[list[Side], float | None]:
        """The sides of a comparison in a task, and the number on its right, if any."""
        found: list[Any] = [one(self, env) if callable(one) else one for one in (x, y)]
        level = found.pop() if isinstance(found[1], (int, float)) else None
        pairs = [(one, env) if isinstance(one, str) else one for one in found]
        return [(self.prefix + method, task) for method, task in pairs], level

    def compare(
        self, x: Method, sign: str, y: Method | Level, env: str, by: Score | None = None, *,
        margin: float | Callable[[Any, Any], float] | None = None, share: float = MARGIN,
    ) -> Verdict:  # fmt: skip
        """Judge a comparison in one task; the module's docstring explains signs and sizes.

        margin: a factor for ratios; or a function of both sides' scores. ValueError if the sign needs a margin, and
        there is neither a margin nor a gate.
        """
        by, (sides, level), offset = by or self.room.score, self.sides(x, y, env), 0.0
        values = [by.of(self, *side) for side in sides]
        if by.ratio and level is not None:
            estimate = mean_of(by.scaled(values[0]) - np.log(level))
        elif level is not None:
            estimate, offset = mean_of(values[0]), level
        elif by.estimate:
            estimate = by.estimate(*values)
        else:
            paired = self.room.paired(sides[0][0], sides[1][0])
            values = self.common(values, sides) if paired else values
            estimate = difference(*map(by.scaled, values), paired=paired)
        learnt = self.sides_learn(sides) if (by.gated(estimate.value) if callable(by.gated) else by.gated) else {}
        gain = share / MARGIN * margin_of(0.0, *(side.gain for side in learnt.values())) if not by.ratio else 0.0
        if margin is not None:
            size = margin(values[0], values[-1] if level is None else level) if callable(margin) else margin
            rule = SIGNS[sign](math.log(size) if by.ratio else size)
        elif sign in (">", "<"):
            rule = (above if sign == ">" else below)(size=gain if level is None else 0.0)
        elif learnt and not by.ratio:
            rule = SIGNS[sign](gain)
        else:
            raise ValueError(f"{sign} needs a margin here")
        note = by.note(values[0], values[-1]) if callable(by.note) else by.note
        verdict = self.decide(
            estimate, lambda low, high: rule(low - offset, high - offset), sides, note=note, show=by.shown
        )
        return gated(verdict, **learnt) if learnt else verdict

    def decide(self, estimate: Estimate, rule: Rule, sides: Sequence[Side], note: str = "", **how: Any) -> Verdict:
        """Apply a rule to an estimate from the runs of these sides."""
        note = "; ".join(filter(None, [self.room.note(self, sides), note]))
        return decide(estimate, rule, steps=self.room.steps(self, sides), scale=self.scale, note=note, **how)

    def sides_learn(self, sides: Sequence[Side]) -> dict[str, Learning]:
        """Side, as verdicts name it -> whether it learns; for `gated`."""
        methods = {method for method, _ in sides}
        name = self.room.label if len(methods) == len(sides) else None  # else one method on two tasks
        return {name(method) if name else env: self.learns(method, env) for method, env in sides}


@dataclass(frozen=True, eq=False)
class Compare:
    """The check of a claim, as data: called with results, it returns the verdict."""

    room: Room
    what: Comparison | Judge | Mapping[str, Comparison | Judge]
    """What must hold in a task: a comparison, a function's verdict, or several of these by name."""
    of: str | Sequence[str]
    """The experiment, "a+b" for two that are read as one; in a room with `places`, also several separate ones, if the
    results are of one scale."""
    on: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None
    """The tasks, which are the parts of the claim; a single name for a claim without parts; by scale if they depend on
    it. In a room with `places`: which of them, by task or name; default: all."""
    by: Score | None = None
    join: str = "all"
    each: str = "all"
    decisive: Sequence[str] = ()
    margin: float | Callable[[Any, Any], float] | None = None
    share: float = MARGIN

    @property
    def judge(self) -> Judge | None:
        """The function that judges a part, if one does."""
        return self.what if callable(self.what) else None

    def __call__(self, results: Results) -> Verdict:
        of: Sequence[str] = (self.of,) if isinstance(self.of, str) else self.of
        scale, planned = results.scales[0], self.room.places
        if isinstance(self.of, str):
            scale = self.room.runs(results, self.of).scale
        on = self.on.get(scale, ()) if isinstance(self.on, Mapping) else self.on
        if isinstance(on, str):
            return self._at(Place(on, of[0], on), results)
        if planned:
            found = [place for experiment in of for place in planned(experiment, scale)]
            places = [place for place in found if on is None or place.name in on or place.env in on]
        else:
            places = [Place(env, of[0], env) for env in on or ()]
        named = {place.name: place for place in places if self._parts(place, results)}
        return join(self.join, judged(named, lambda name: self._at(named[name], results)))

    def _runs(self, place: Place, results: Results) -> Runs:
        runs = copy.copy(self.room.runs(results, place.experiment))
        runs.prefix = place.prefix
        return runs

    def _parts(self, place: Place, results: Results) -> Mapping[str, Comparison | Judge]:
        """What must hold at a place, leaving out comparisons of methods that are not planned there."""
        parts = self.what if isinstance(self.what, Mapping) else {"": self.what}
        if place.sides is None:
            return parts
        runs, sides = self._runs(place, results), set(place.sides)
        return {
            name: one
            for name, one in parts.items()
            if callable(one) or sides.issuperset(runs.sides(one[0], one[2], place.env)[0])
        }

    def _at(self, place: Place, results: Results) -> Verdict:
        """Judge a part."""
        if place.missing:
            raise MissingData(place.missing)
        runs, parts = self._runs(place, results), self._parts(place, results)

        def judge(name: str) -> Verdict:
            one = parts[name]
            if callable(one):
                return one(runs, place.env)
            x, sign, y, *by = one
            score = by[0] if by else self.by
            return runs.compare(x, sign, y, place.env, score, margin=self.margin, share=self.share)

        if not isinstance(self.what, Mapping):
            return judge("")
        return join(self.each, judged(parts, judge), self.decisive)
