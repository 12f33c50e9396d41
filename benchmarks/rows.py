"""Measured rows, and tables of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Row:
    """Our value beside a peer's, measured in the same run and unit."""

    what: str
    ours: float
    unit: str
    peer: float | None = None
    peer_name: str = ""
    limit: float | None = None
    """Largest value that meets the target; None without a target."""
    judged: Literal["ours", "ratio", "ours - peer"] = "ratio"
    """The value to which the limit applies."""
    note: str = ""
    """Where the time or memory goes."""
    unlike: str = ""
    """What of the peer is not like for like."""
    by: str = ""
    """By what the peer is ahead, where it is."""

    @property
    def ratio(self) -> float | None:
        """ours / peer; below 1, ours is better."""
        return None if self.peer is None else self.ours / self.peer

    @property
    def value(self) -> float:
        """The value that the target judges. ValueError without a peer, unless it judges ours alone."""
        if self.judged == "ours":
            return self.ours
        if self.peer is None:
            raise ValueError(f"{self.what}: a target on {self.judged!r} needs a peer")
        return self.ours / self.peer if self.judged == "ratio" else self.ours - self.peer

    @property
    def met(self) -> bool | None:
        return None if self.limit is None else self.value <= self.limit

    def cells(self) -> list[str]:
        """Texts of the row's columns, see :data:`COLUMNS`."""
        unit = "" if self.judged == "ratio" else f" {self.unit}"
        target = met = ""
        if self.limit is not None:
            target = f"{self.judged} <= {number(self.limit)}{unit}"
            if self.judged == "ours - peer":
                met = f" ({number(self.value)}{unit})"
            excess = f"no, by {self.value / self.limit - 1:.0%}"
            met = ("yes" if self.met else excess) + met
        peer = "" if self.peer is None else f"{number(self.peer)} {self.unit} ({self.peer_name})"
        ratio = "" if self.ratio is None else number(self.ratio)
        return [self.what, f"{number(self.ours)} {self.unit}", peer, ratio, target, met]


COLUMNS = ["what", "ours", "peer", "ratio", "target", "met"]


def number(value: float) -> str:
    """Format with three digits and no exponent: 0.0123, 1.23, 12.3, 123, 1,234."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.6f}"


def table(rows: Iterable[Row]) -> str:
    """Markdown table of the rows, aligned so that terminals show it well, with their notes as a list below."""
    rows = list(rows)
    notes = [f"- {row.what}: {row.note}" for row in rows if row.note]
    return "\n".join([aligned([COLUMNS, *(row.cells() for row in rows)]), *([""] if notes else []), *notes])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Markdown table of lines of cells, header first, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    rule = ["-" * width for width in widths]
    texts = [[cell.ljust(width) for cell, width in zip(line, widths)] for line in (lines[0], rule, *lines[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in texts)


FLOOR = "arithmetic floor"
LIBRARIES = {
    "SB3": "stable-baselines3",
    "SBX": "sbx-rl",
    "pfrl": "pfrl",
    "torchrl": "torchrl",
    "cpprb": "cpprb",
    "rlox": "rlox",
    "flashbax": "flashbax",
    "minigrid": "minigrid",
    "EnvPool": "envpool",
    "xminigrid": "xminigrid",
    "navix": "navix",
    "jumanji": "jumanji",
    "gym-sokoban": "gym-sokoban",
    "gymnasium": "gymnasium",
    "ale-py": "ale-py",
}
"""Peers that others wrote: what a row's peer begins with -> its package. All other peers are our own, or floors."""


def library(peer_name: str) -> str | None:
    """The key of LIBRARIES that a row's peer begins with; None if it is our own, or a floor."""
    return next((name for name in LIBRARIES if peer_name.startswith(name)), None)


def fastest(rows: Iterable[Row]) -> list[Row]:
    """For each `what` that a library also does: the row of the fastest one, in the order of the rows."""
    best: dict[str, Row] = {}
    for row in rows:
        if row.peer is not None and library(row.peer_name):
            known = best.setdefault(row.what, row)
            if row.peer < (known.peer or 0.0):
                best[row.what] = row
    return list(best.values())


def summary(sections: dict[str, list[Row]], headline: Iterable[tuple[str, str, str]]) -> str:
    """One line for each (paper, section, what): ours beside the fastest library, and as a multiple of its floor.

    StopIteration if the section does not compare `what` with both a library and the floor.
    """
    lines = [["paper", "what", "ours", "fastest peer", "ours / peer", "ours / floor"]]
    for paper, section, what in headline:
        rows = [row for row in sections[section] if row.what == what]
        _, ours, theirs, ratio, *_ = next(iter(fastest(rows))).cells()
        floor = next(row for row in rows if row.peer_name == FLOOR)
        lines.append([paper, what, ours, theirs, ratio, floor.cells()[3]])
    return aligned(lines)


def standings(sections: dict[str, list[Row]]) -> str:
    """One line for each thing that a library also does: the fastest one, who is ahead, and what differs."""
    lines = [["what", "ours", "fastest peer", "ours / peer", "ahead", "not like for like"]]
    for row in (row for rows in sections.values() for row in fastest(rows)):
        what, ours, theirs, ratio, *_ = row.cells()
        ahead = "ours" if row.ours <= (row.peer or 0.0) else f"**the peer**{row.by and ': ' + row.by}"
        lines.append([what, ours, theirs, ratio, ahead, row.unlike])
    return aligned(lines)
