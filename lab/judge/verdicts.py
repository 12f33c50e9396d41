"""From scores, one number per run, to a verdict on a claim; shared by all papers.

*One comparison* is an interval read by a rule (`decide`); both come from intervals.py.

*Gate and control.* If neither side of a comparison learns, there is nothing to compare (`gated`); learning is judged on
the best stretch of training. "Never succeeds" can only be judged at a budget at which something else in the same figure
has succeeded (`controlled`).

*Parts.* A claim about several tasks is judged task by task and then for `all_of` or `most_of` them.

*Many comparisons.* Every comparison keeps its p value, so claims can be judged again by Benjamini and Hochberg's
procedure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from lab.judge.intervals import LEVEL, MARGIN, Estimate, Rule, mean_of, number, p_value
from lab.judge.results import MissingData

STATUSES = ("reproduced", "partly", "not reproduced", "inconclusive", "not run")
MIN_SEEDS = 3
STRETCHES = 5
"""Stretches of equal length into which training is cut to judge whether a method learns."""
NOBODY = "neither side clearly learns at this budget"
NO_CONTROL = "nothing in this figure succeeds at this budget"


@dataclass
class Verdict:
    """What the data say about a claim or a part of one.

    effect and interval are as printed; seeds per method, steps of the longest run; scale of the results. p: smallest
    error level at which a single comparison would be decided the same way. parts: the verdicts that this one was made
    of, with how they were joined (`all_of`, `most_of`) and which of them are decisive.
    """

    status: str
    effect: str = ""
    interval: str = ""
    seeds: int = 0
    steps: int = 0
    scale: str = ""
    note: str = ""
    p: float | None = None
    parts: Mapping[str, Verdict] = field(default_factory=dict)
    joined: str = ""
    decisive: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Result files that were read, as "<scale>/<experiment>"; filled in by lab.judge.claims.evaluate."""
    price: str = ""
    """For "not run": how many runs are missing, and their hours; filled in by lab.sweep.prices."""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"unknown status {self.status!r}; choose from {', '.join(STATUSES)}")

    def comparisons(self) -> Iterator[Verdict]:
        """Yield the single comparisons with a p value on which this verdict rests."""
        if self.p is not None:
            yield self
        for part in self.parts.values():
            yield from part.comparisons()

    @property
    def run(self) -> int:
        """How many single parts were run; 1 for a verdict without parts that is not "not run"."""
        return sum(part.run for part in self.parts.values()) if self.parts else int(self.status != "not run")


def decide(
    estimate: Estimate,
    rule: Rule,
    *,
    steps: int = 0,
    scale: str = "",
    note: str = "",
    show: Callable[[float], str] = lambda value: number(value, "+"),
) -> Verdict:
    """Apply a rule to an estimate; inconclusive below MIN_SEEDS runs. show: formats numbers."""
    low, high = estimate.interval()
    seeds = estimate.seeds
    interval = f"[{show(low)}, {show(high)}]" if seeds > 1 else ""
    if seeds < MIN_SEEDS:
        note = "; ".join(filter(None, [note, f"fewer than {MIN_SEEDS} seeds"]))
        return Verdict("inconclusive", show(estimate.value), interval, seeds, steps, scale, note)
    p = p_value(estimate, rule)
    return Verdict(rule(low, high), show(estimate.value), interval, seeds, steps, scale, note, p)


# ---- gates and controls ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learning:
    """Whether a method learns. gain: its best stretch minus the score before learning (mean over runs)."""

    learns: bool
    collapses: bool
    gain: float


def learning(curves: ArrayLike, before: ArrayLike) -> Learning:
    """Judge whether runs learn, from scores during training, curves [runs, T], and before it, (runs,) or one number.

    Training is cut into STRETCHES. The method learns if, in the best of them (highest mean over runs), the runs' means
    are clearly above `before`: the lower 95 % bound of their mean gain is positive (for one run, its gain). It
    collapses if it learns, and its last stretch is clearly below its best one by more than MARGIN of what it had
    gained. The best of several stretches sometimes exceeds the truth by chance: the gate errs towards comparing.
    """
    values = np.asarray(curves, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(f"curves must be [runs, T], not {values.shape}")
    cut = np.array_split(values, min(STRETCHES, values.shape[1]), axis=1)
    stretches = np.stack([part.mean(axis=1) for part in cut])
    best = stretches[int(np.argmax(stretches.mean(axis=1)))]  # (runs,)
    gains = best - np.asarray(before, dtype=np.float64)

    def clear(x: np.ndarray) -> bool:
        return bool(x[0] > 0 if len(x) < 2 else mean_of(x).interval(2 * LEVEL - 1)[0] > 0)

    learns = clear(gains)
    # The best of several stretches is above the last one by chance alone, hence the margin.
    collapses = learns and clear(best - stretches[-1] - MARGIN * gains.mean())
    return Learning(learns, collapses, float(gains.mean()))


def gated(verdict: Verdict, **sides: Learning) -> Verdict:
    """Make a comparison's verdict inconclusive if no side learns; note which sides learn, then collapse.

    sides: name of each side (printed with blanks for underscores) -> its Learning.
    """
    if not any(side.learns for side in sides.values()):
        return Verdict("inconclusive", NOBODY, "", verdict.seeds, verdict.steps, verdict.scale, verdict.note)
    fallen = [f"{name.replace('_', ' ')} learns, then collapses" for name, side in sides.items() if side.collapses]
    verdict.note = "; ".join(filter(None, [verdict.note, *fallen]))
    return verdict


def controlled(verdict: Verdict, succeeded: bool) -> Verdict:
    """Verdict on a claim that something does not happen. succeeded: has anything else in the figure, at this budget?
    If not, the absence says nothing."""
    if verdict.status in ("reproduced", "partly") and not succeeded:
        verdict.status, verdict.p = "inconclusive", None
        verdict.note = "; ".join(filter(None, [verdict.note, NO_CONTROL]))
    return verdict


# ---- parts -----------------------------------------------------------------------------------------------------------


def judged(names: Iterable[str], judge: Callable[[str], Verdict]) -> dict[str, Verdict]:
    """Judge each part; "not run" if its data are missing. MissingData if no part has any."""
    parts, missing = {}, []
    for name in names:
        try:
            parts[name] = judge(name)
        except MissingData as error:
            parts[name] = Verdict("not run", note=str(error))
            missing.append(error)
    if len(missing) == len(parts):
        raise missing[0] if missing else MissingData("the claim has no parts here")
    return parts


def _all(found: Mapping[str, str], decisive: Iterable[str]) -> str:
    ran = {name: status for name, status in found.items() if status != "not run"}
    key = [ran[name] for name in decisive if name in ran]
    good = list(ran.values()).count("reproduced")
    if not ran:
        return "not run"
    if "not reproduced" in key:  # what distinguishes the claim from its opposite has failed
        return "not reproduced"
    if any(status != "reproduced" for status in key):
        return "inconclusive"
    if good == len(ran):
        return "reproduced" if len(ran) > 1 or len(found) == 1 else "partly"
    if good or "partly" in ran.values():
        return "partly"
    return "not reproduced" if "not reproduced" in ran.values() else "inconclusive"


def _most(found: Mapping[str, str], decisive: Iterable[str]) -> str:
    ran = [status for status in found.values() if status != "not run"]
    good, bad, n = ran.count("reproduced"), ran.count("not reproduced"), len(ran)
    if not ran:
        return "not run"
    if 2 * good > n:
        return "reproduced" if n > 1 or len(found) == 1 else "partly"  # most tasks cannot be judged on one
    if 2 * bad >= n:
        return "not reproduced"
    return "partly" if good or "partly" in ran else "inconclusive"


_JOINS = {"all": _all, "most": _most}


def join(joined: str, parts: Mapping[str, Verdict], decisive: Iterable[str] = ()) -> Verdict:
    """Join the verdicts of parts into one, for a claim about "all" or "most" of them. Parts that were not run do not
    count against it; if only one of several was run, the claim is partly reproduced at most. A claim with one part gets
    that part's verdict.

    all: reproduced if all are; partly if some are; not reproduced if none is but some are refuted; else inconclusive.
    decisive: parts without which the rest says nothing (the half that distinguishes the claim from its opposite): one
    of them refuted refutes the claim, one undecided leaves it open.
    most: reproduced if more than half are, not reproduced if half or more are refuted; else partly if some are, or
    inconclusive.
    """
    decisive = tuple(decisive)
    if unknown := [name for name in decisive if name not in parts]:
        raise ValueError(f"unknown decisive parts: {', '.join(unknown)}")
    found = {name: part.status for name, part in parts.items()}
    status = _JOINS[joined](found, decisive)
    ran = {name: part for name, part in parts.items() if part.status != "not run"}
    if len(parts) == 1:
        [(name, part)] = parts.items()
        return dataclasses.replace(part, note="; ".join(filter(None, [name, part.note])))
    good, some, bad = (list(found.values()).count(status) for status in ("reproduced", "partly", "not reproduced"))
    effect = f"holds in {good} of {len(ran)}"
    effect += (f", partly in {some}" if some else "") + (f", fails in {bad}" if bad else "")
    effect += f"; {len(ran)} of {len(parts)} parts run" if len(ran) < len(parts) else ""
    return Verdict(
        status,
        effect=effect if ran else "",
        seeds=min((part.seeds for part in ran.values()), default=0),
        steps=max((part.steps for part in ran.values()), default=0),
        scale=" and ".join(dict.fromkeys(part.scale for part in ran.values() if part.scale)),
        note="; ".join(_said(name, part) for name, part in parts.items()),
        parts=dict(parts),
        joined=joined,
        decisive=decisive,
    )


def _said(name: str, part: Verdict) -> str:
    """Describe a part in one line of a claim's note."""
    effect = f"{part.effect} {part.interval}".strip()
    facts = (": " if part.parts else ", ").join(filter(None, [effect, part.note]))
    return f"{name}: {part.status}" + (f" ({facts})" if facts and part.status != "not run" else "")


all_of, most_of = partial(join, "all"), partial(join, "most")


# ---- many comparisons ------------------------------------------------------------------------------------------------


def false_discovery_threshold(p_values: Iterable[float], rate: float = 1 - LEVEL) -> float:
    """Largest p value that is still a discovery if at most the share `rate` of discoveries may be false.

    Benjamini and Hochberg (1995): the largest p_(k) with p_(k) <= k rate / n. 0 if there is none.
    """
    ordered = np.sort(np.fromiter(p_values, dtype=np.float64))
    passed = ordered <= rate * np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    return float(ordered[passed][-1]) if passed.any() else 0.0


def status_after(verdict: Verdict, threshold: float) -> str:
    """Status of a verdict if comparisons with a p value above the threshold count as undecided."""
    if verdict.parts:
        found = {name: status_after(part, threshold) for name, part in verdict.parts.items()}
        return _JOINS[verdict.joined](found, verdict.decisive) if verdict.status != "inconclusive" else verdict.status
    if verdict.p is not None and verdict.p > threshold:
        return "inconclusive"
    return verdict.status
