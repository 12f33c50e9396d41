"""What the report shows, gathered from a house of papers. No HTML is made here, save that of the READMEs."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lab.claims import Claim, Verdict
from lab.pages.report import compute, readme
from lab.results import EVIDENCE
from lab.rooms import House, Paper, judge


@dataclass(frozen=True)
class Picture:
    """A committed picture: its scale and the PNG itself as a data URI."""

    scale: str
    uri: str


@dataclass(frozen=True)
class Figure:
    """A figure of a paper. `target` is its Make target and its anchor in the page; pictures are best scale first."""

    name: str
    title: str
    target: str
    pictures: Sequence[Picture]


@dataclass(frozen=True)
class PaperContent:
    """All that the page says about one paper. `target` is its Make target and its anchor."""

    name: str
    target: str
    readme: readme.Readme
    judged: Sequence[tuple[Claim, Verdict]]
    figures: Sequence[Figure]
    experiments: Sequence[compute.Experiment]

    @property
    def counts(self) -> Counter[str]:
        """Claims by status."""
        return Counter(verdict.status for _, verdict in self.judged)

    @property
    def runs(self) -> list[compute.Run]:
        """Every committed run once."""
        return compute.once(self.experiments)

    @property
    def core_hours(self) -> float:
        """Of every committed run once."""
        return sum(run.core_hours for run in self.runs)

    def anchor(self, figure: str) -> str | None:
        """Where a figure that a claim names lies in the page; None when it has no picture."""
        wanted = target(self.name, figure)
        return next((wanted for drawn in self.figures if drawn.target == wanted and drawn.pictures), None)


def gather(house: House) -> list[PaperContent]:
    """Every paper of the house, judged. Raises UserError when a result file is damaged or a README has no such form."""
    return [_paper(paper) for paper in house.papers().values()]


def target(*names: str) -> str:
    """The Make target of a paper, or of a paper and its figure."""
    return "-".join(names).replace("_", "-").lower()


def _paper(paper: Paper) -> PaperContent:
    figures = [_figure(paper, name) for name in paper.figures]
    anchors = {"../../RESULTS.md": "#claims", "evidence/figures": f"#{target(paper.name)}-figures"}
    for figure in figures:
        anchors |= {f"evidence/figures/{p.scale}/{figure.name}.png": f"#{figure.target}" for p in figure.pictures}
    return PaperContent(
        name=paper.name,
        target=target(paper.name),
        readme=readme.read(paper.folder / "README.md", anchors),
        judged=judge(paper),
        figures=figures,
        experiments=compute.experiments(paper.results),
    )


def _figure(paper: Paper, name: str) -> Figure:
    files = {scale: paper.picture(name, scale) for scale in EVIDENCE}
    pictures = [
        Picture(scale, "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode())
        for scale, path in files.items()
        if path.is_file()
    ]
    return Figure(name, paper.figures[name].title, target(paper.name, name), pictures)
