"""Write runs/report.html: the headline figures drawn here beside the committed ones, and what the claims come to.

    .venv/bin/python -m lab.pages.mine [--scale quick]

Nothing is trained or drawn; the page holds its pictures and needs neither a server nor the net.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lab.arguments import parse
from lab.claims import Claim, ours_of
from lab.commands import SCALES, shown
from lab.errors import UserError, guard
from lab.pages.templates import png, templates
from lab.results import EVIDENCE, write_if_changed
from lab.rooms import House, Paper, choose, judge
from lab.verdicts import STATUSES, Verdict


@dataclass(frozen=True)
class Options:
    """Write what this machine has run, beside what is committed, as one HTML page."""

    scale: str = "quick"
    """Of this machine's pictures."""


class Pair(NamedTuple):
    """A figure, drawn here and committed: PNGs as data URIs, "" for one that is not there."""

    name: str
    title: str
    here: str
    committed: str
    committed_scale: str


class Compared(NamedTuple):
    """A claim with its verdicts."""

    claim: Claim
    here: Verdict
    committed: Verdict


class Room(NamedTuple):
    """What the page says about a paper."""

    name: str
    title: str
    sentence: str
    claims: Sequence[Compared]
    figures: Sequence[Pair]


def gather(house: House, scale: str) -> list[Room]:
    """Of every paper: its headline figures, and the claims that this machine's results can judge. UserError where it
    has drawn none of the figures at this scale."""
    here = dataclasses.replace(house, committed=False).papers()
    committed = dataclasses.replace(house, committed=True).papers()
    rooms = [_room(here[name], committed[name], scale) for name in here]
    if not any(pair.here for room in rooms for pair in room.figures):
        place = shown(house.runs / "figures")
        raise UserError(f"{place} has no headline figures at {scale}; `make reproduce` draws them")
    return rooms


def _room(here: Paper, committed: Paper, scale: str) -> Room:
    theirs = {claim.id: verdict for claim, verdict in judge(committed)}
    claims = [
        Compared(claim, verdict, theirs[claim.id])
        for claim, verdict in judge(here)
        if verdict.status != "not run" and claim.kind != "wiring"
    ]
    figures = [_pair(here, committed, figure, scale) for figure in here.headline]
    return Room(here.name, _title(here.folder / "README.md"), sentence(claims), claims, figures)


def _title(readme: Path) -> str:
    """The paper's, from the first line of its page."""
    return readme.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") if readme.is_file() else ""


def sentence(claims: Sequence[Compared]) -> str:
    """How many claims these runs can judge, what they come to, and what the same come to with the committed runs."""
    if not claims:
        return "No claim can be judged by these runs."
    return (
        f"These runs can judge {len(claims)} claim{'s' if len(claims) > 1 else ''}: "
        f"{_counts(c.here for c in claims)}. By the committed ones the same are: "
        f"{_counts(c.committed for c in claims)}."
    )


def _counts(verdicts: Iterable[Verdict]) -> str:
    counts = Counter(verdict.status for verdict in verdicts)
    return ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])


def _pair(here: Paper, committed: Paper, figure: str, scale: str) -> Pair:
    """The committed picture is that of the same scale, else of another that is there."""
    scales = dict.fromkeys((scale, *EVIDENCE[::-1]))
    found = next((each for each in scales if committed.picture(figure, each).is_file()), "")
    drawn = here.picture(figure, scale)
    return Pair(
        figure,
        here.figures[figure].title,
        png(drawn) if drawn.is_file() else "",
        png(committed.picture(figure, found)) if found else "",
        found,
    )


@guard
def main(argv: Sequence[str] | None = None, house: House | None = None) -> int:
    """Write the page; returns 0. A mistake is one line and SystemExit(2)."""
    house = house or House()
    scale = choose("scale", parse(Options, argv, prog=".venv/bin/python -m lab.pages.mine").scale, SCALES)
    page = templates(Path(__file__).parent).get_template("page.html")
    text = page.render(rooms=gather(house, scale), scale=scale, ours=ours_of)
    out = house.runs / "report.html"
    write_if_changed(out, text.encode())
    print(f"written: {shown(out)}, with the committed pictures and verdicts beside these")
    return 0


if __name__ == "__main__":
    sys.exit(main())
