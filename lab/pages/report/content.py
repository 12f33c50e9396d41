"""What the report shows, gathered from a house of papers. No HTML is made here, save that of the READMEs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.claims import Claim, explanation, judge_of, ours_of, scale_of, sentences, threshold
from lab.pages.report import compute, readme
from lab.pages.templates import png
from lab.prices import priced
from lab.results import EVIDENCE
from lab.rooms import House, Paper, judge
from lab.verdicts import Verdict, status_after

NOT_RUN = "not run"
REPEATED = "counted elsewhere"


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
class Judged:
    """A claim and what came of it. `target` is its anchor in the page, `figure_target` that of its figure, or ""."""

    id: str
    target: str
    kind: str
    """paper, own, wiring, or REPEATED for one of the paper's whose runs and question another has."""
    counts: bool
    """Whether it is counted among the paper's claims."""
    figure: str
    figure_target: str
    text: str
    paper_value: str
    status: str
    after: str
    """What becomes of the status when at most 5 % of all decided comparisons may be false; "" if nothing."""
    ours: str
    """Effect and interval."""
    seeds: int
    steps: int
    scale: str
    note: str
    data: Sequence[compute.Experiment]
    """The results that it was judged by."""
    judge: str
    """File and function that judged it, as "papers/x/evidence/claims.py:function"."""


@dataclass(frozen=True)
class Group:
    """The claims about one figure and the budget they were judged at, e.g. "3 × 30k" (seeds x steps of a run)."""

    figure: str
    budget: str
    claims: Sequence[Judged]


@dataclass(frozen=True)
class PaperContent:
    """All that the page says about one paper. `target` is its Make target and its anchor."""

    name: str
    target: str
    readme: readme.Readme
    judged: Sequence[Judged]
    figures: Sequence[Figure]
    experiments: Sequence[compute.Experiment]
    sentences: Sequence[str]
    """What holds here, what does not and what is open, in a sentence each."""

    @property
    def counts(self) -> Counter[str]:
        """The paper's own claims by status, each question once."""
        return Counter(claim.status for claim in self.judged if claim.counts)

    @property
    def groups(self) -> list[Group]:
        """The claims by figure, in the order in which they name the figures; those with none of the paper's last."""
        ordered = sorted(self.judged, key=lambda claim: claim.kind not in ("paper", REPEATED))
        figures = dict.fromkeys(claim.figure for claim in ordered)
        found = {figure: [claim for claim in self.judged if claim.figure == figure] for figure in figures}
        return [Group(figure, budget(claims), claims) for figure, claims in found.items()]

    @property
    def runs(self) -> list[compute.Run]:
        """Every committed run once."""
        return compute.once(self.experiments)

    @property
    def core_hours(self) -> float:
        """Of every committed run once."""
        return sum(run.core_hours for run in self.runs)


@dataclass(frozen=True)
class Content:
    """All that the page says: the papers, and what verdicts mean, in Markdown."""

    papers: Sequence[PaperContent]
    explanation: str


def gather(house: House) -> Content:
    """Every paper of the house, judged. Raises UserError when a result file is damaged or a README has no such form."""
    judged = {name: priced(paper, judge(paper)) for name, paper in house.papers().items()}
    limit, _, _ = threshold(judged)
    papers = [_paper(paper, judged[name], limit) for name, paper in house.papers().items()]
    return Content(papers, explanation(judged))


def target(*names: str) -> str:
    """The Make target of a paper, or of a paper and its figure."""
    return "-".join(names).replace("_", "-").lower()


def budget(claims: Iterable[Judged]) -> str:
    """Seeds x steps of the runs behind claims, with the scale unless that is quick; empty if nothing was run."""
    ran = [claim for claim in claims if claim.status != NOT_RUN]
    scales = dict.fromkeys(claim.scale for claim in ran if claim.scale not in ("", "quick"))
    seeds, steps = _span(claim.seeds for claim in ran), _span(claim.steps for claim in ran)
    size = f"{seeds} × {steps}" if seeds and steps else f"{seeds} seeds" if seeds else steps
    return " ".join([size, *scales]).strip()


def _span(numbers: Iterable[int]) -> str:
    known = sorted({compact(number): number for number in numbers if number}.items(), key=lambda item: item[1])
    return "–".join(dict.fromkeys(text for text, _ in (known[:1] + known[-1:])))


def compact(number: int) -> str:
    """A count in three digits: 800, 30k, 1.25M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def _paper(paper: Paper, judged: Sequence[tuple[Claim, Verdict]], limit: float) -> PaperContent:
    figures = [_figure(paper, name) for name in paper.figures]
    anchors = {"../../RESULTS.md": "#claims", "evidence/figures": f"#{target(paper.name)}-figures"}
    for figure in figures:
        anchors |= {f"evidence/figures/{p.scale}/{figure.name}.png": f"#{figure.target}" for p in figure.pictures}
    experiments = compute.experiments(paper.results, paper.house.root)
    return PaperContent(
        name=paper.name,
        target=target(paper.name),
        readme=readme.read(paper.folder / "README.md", anchors),
        judged=[_judged(paper, experiments, claim, verdict, limit) for claim, verdict in judged],
        figures=figures,
        experiments=experiments,
        sentences=sentences(judged),
    )


def _judged(
    paper: Paper, experiments: Sequence[compute.Experiment], claim: Claim, verdict: Verdict, limit: float
) -> Judged:
    """All that the page reads of a claim and its verdict. limit: the p value of `lab.claims.threshold`."""
    figures = {target(paper.name, name): figure for name, figure in paper.figures.items()}
    wanted = target(paper.name, claim.figure)
    sources = verdict.sources
    if not sources and wanted in figures:  # read by another claim, and kept: what the figure draws
        sources = tuple(f"{verdict.scale}/{name}" for name in figures[wanted].experiments)
    after = status_after(verdict, limit)
    return Judged(
        id=claim.id,
        target=f"claim-{target(paper.name)}-{claim.id}",
        kind=REPEATED if claim.kind == "paper" and claim.counted_with else claim.kind,
        counts=claim.counts,
        figure=claim.figure,
        figure_target=wanted if wanted in figures else "",
        text=claim.text,
        paper_value=claim.paper_value,
        status=verdict.status,
        after="" if after == verdict.status else after,
        ours=ours_of(verdict),
        seeds=verdict.seeds,
        steps=verdict.steps,
        scale=scale_of(claim, verdict),
        note=verdict.note,
        data=[found for found in experiments if f"{found.scale}/{found.name}" in sources],
        judge=":".join(filter(None, judge_of(claim, paper.house.root, f"{paper.house.package}/{paper.name}"))),
    )


def _figure(paper: Paper, name: str) -> Figure:
    files = {scale: paper.picture(name, scale) for scale in EVIDENCE}
    pictures = [Picture(scale, png(path)) for scale, path in files.items() if path.is_file()]
    return Figure(name, paper.figures[name].title, target(paper.name, name), pictures)
