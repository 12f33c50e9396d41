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


def summary(sections: dict[str, list[Row]], headline: Iterable[tuple[str, str, str]]) -> str:
    """One line for each (paper, section, what): ours beside its first peer, and as a multiple of its floor.

    StopIteration if the section does not compare `what` with both a peer and the floor.
    """
    lines = [["paper", "what", "ours", "peer", "ours / peer", "ours / floor"]]
    for paper, section, what in headline:
        rows = [row for row in sections[section] if row.what == what and row.peer is not None]
        peer = next(row for row in rows if row.peer_name != FLOOR)
        floor = next(row for row in rows if row.peer_name == FLOOR)
        _, ours, theirs, ratio, *_ = peer.cells()
        lines.append([paper, what, ours, theirs, ratio, floor.cells()[3]])
    return aligned(lines)
