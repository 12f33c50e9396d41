"""Write runs/report.html: headline figures drawn here beside the committed ones, and the verdicts on claims.

    .venv/bin/python -m lab.pages.mine [--scale quick]

Nothing is trained or drawn; the page contains its pictures and needs no server or network.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lab.commands import SCALES, shown
from lab.judge.claims import ours_of, summary
from lab.judge.results import EVIDENCE, write_if_changed
from lab.judge.verdicts import STATUSES, Verdict
from lab.pages import html
from lab.rooms import House, Paper, choose, judge
from lab.run.arguments import parse
from lab.run.errors import UserError, guard


@dataclass(frozen=True)
class Options:
    """Write one HTML page with this machine's runs beside the committed ones."""

    scale: str = "quick"
    """Scale of this machine's pictures."""


def room(here: Paper, committed: Paper, scale: str) -> dict[str, Any]:
    """A paper's headline figures, drawn here and committed, and the claims that this machine's results can judge."""
    judged = list(judge(committed))
    theirs = {claim.id: verdict for claim, verdict in judged}
    mine = [(claim, verdict) for claim, verdict in judge(here) if verdict.run and claim.kind != "wiring"]
    claims = [(claim, verdict, theirs[claim.id]) for claim, verdict in mine]
    figures = []
    for name in here.headline:
        run = [experiment for experiment in here.figures[name].experiments if _ran(here, experiment, scale)]
        drawn = [each for each in (scale, *EVIDENCE[::-1]) if committed.picture(name, each).is_file()] or [scale]
        # the same scale, unless another one has more of what was run here
        best = max(drawn, key=lambda each: sum(_ran(committed, experiment, each) for experiment in run))
        pictures = [(f"here, {scale}", html.png(here.picture(name, scale)))]
        pictures += [(f"committed, {best}", html.png(committed.picture(name, best)))]
        figures.append((name, here.figures[name].title, pictures))
    readme = here.folder / "README.md"
    title = html.title(readme.read_text(encoding="utf-8")) if readme.is_file() else ""
    answer = summary(judged, committed.summary)[0]
    return dict(name=here.name, title=title, sentence=sentence(claims), claims=claims, figures=figures, answer=answer)


def _ran(paper: Paper, experiment: str, scale: str) -> bool:
    """Whether a paper has results of an experiment at a scale."""
    return (paper.results / scale / f"{experiment}.csv").is_file()


def sentence(claims: Sequence[tuple[Any, Verdict, Verdict]]) -> str:
    """How many claims these runs can judge, their verdicts, and the committed runs' verdicts on the same claims."""
    if not claims:
        return "No claim can be judged by these runs."
    n = f"{len(claims)} claim{'s' if len(claims) > 1 else ''}"
    _, here, committed = zip(*claims)
    return f"These runs can judge {n}: {_counts(here)}. With the committed runs: {_counts(committed)}."


def _counts(verdicts: Iterable[Verdict]) -> str:
    counts = Counter(verdict.status for verdict in verdicts)
    return ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])


@guard
def main(argv: Sequence[str] | None = None, house: House | None = None) -> int:
    """Write the page; returns 0. A mistake is one line and SystemExit(2)."""
    house = house or House()
    scale = choose("scale", parse(Options, argv, prog=".venv/bin/python -m lab.pages.mine").scale, SCALES)
    here, committed = (replace(house, committed=flag).papers() for flag in (False, True))
    if not any(paper.picture(name, scale).is_file() for paper in here.values() for name in paper.headline):
        place = shown(house.runs / "figures")
        raise UserError(f"{place} has no headline figures at {scale}; `make reproduce` draws them")
    rooms = [room(here[name], committed[name], scale) for name in here]
    text = html.page("mine.html", title="What this machine has run", rooms=rooms, scale=scale, ours=ours_of)
    write_if_changed(house.runs / "report.html", text.encode())
    print(f"written: {shown(house.runs / 'report.html')}, with the committed pictures and verdicts for comparison")
    return 0


if __name__ == "__main__":
    sys.exit(main())
