"""What the commands of `python -m lab` do: train, collect, draw, judge."""

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.options import SCALES
from lab.rooms import Choice, House, Paper, every, judge, plain
from lab.run.errors import UserError

Entries = dict[str, list[Any]]
"""Experiment -> its runs, as lab.sweep.entry.Entry."""
Wanted = Callable[[Any], bool]


def has_scale(scale: str, paper: Paper, *figures: str) -> bool:
    """Whether a paper, or some of its figures, has runs at a scale or needs none."""
    names = {name for figure in figures for name in paper.figures[figure].experiments} if figures else paper.experiments
    return not names or any(paper.experiments[name](scale) for name in names)


def check_scale(scale: str, paper: Paper, *figures: str) -> None:
    """Raise UserError unless `has_scale`."""
    if not has_scale(scale, paper, *figures):
        right = ", ".join(one for one in SCALES if has_scale(one, paper, *figures))
        raise UserError(f"{' '.join(map(plain, [paper.name, *figures]))} has no scale {scale}; choose from: {right}")


def with_scale(papers: Sequence[Paper], scale: str) -> list[Paper]:
    """The papers that have runs at a scale; UserError if none has."""
    found = [paper for paper in papers if has_scale(scale, paper)]
    if not found and len(papers) > 1:
        raise UserError(f"no paper has a scale {scale}")
    if not found:
        check_scale(scale, papers[0])
    return found


def entries_of(
    paper: Paper, wanted: Choice | None, scale: str, device: str = "cpu", seeds: Sequence[int] | None = None
) -> Entries:
    """Experiment -> its wanted entries (None: all), with configs moved to `device` if they have such a field.

    seeds: use these instead of the experiment's own, for every wanted method, task and setting.
    """
    choices: dict[str, list[Wanted]] = {name: [every] for name in paper.experiments} if wanted is None else {}
    for figure, choice in (wanted or {}).items():
        for name in paper.figures[figure].experiments:
            choices.setdefault(name, []).append(choice)
    found = {}
    for name, of_it in choices.items():
        entries = [entry for entry in paper.experiments[name](scale) if any(choice(entry) for choice in of_it)]
        found[name] = [placed(entry, device) for entry in (entries if seeds is None else _reseeded(entries, seeds))]
    return found


def _reseeded(entries: Iterable[Any], seeds: Sequence[int]) -> list[Any]:
    groups = {(e.method, e.env, e.target, dataclasses.replace(e.config, seed=0)): e for e in entries}
    return [
        dataclasses.replace(entry, seed=seed, config=dataclasses.replace(entry.config, seed=seed))
        for entry in groups.values()
        for seed in seeds
    ]


def placed(entry: Any, device: str) -> Any:
    """The run moved to a device, if its settings name one."""
    if device == "cpu" or not hasattr(entry.config, "device"):
        return entry
    return dataclasses.replace(entry, config=dataclasses.replace(entry.config, device=device))


def run(
    wanted: Mapping[Paper, Choice], *, scale: str, seeds: Sequence[int] | None, device: str, stale: str, **sweeping: Any
) -> int:
    """Train the wanted figures' runs, each once, in one sweep, and draw the figures below runs/; returns the exit code.

    A failed run does not affect the rest: the others are collected, and figures and verdicts say what is missing.
    stale, sweeping: see lab.sweep.sweep.sweep.
    """
    from lab.sweep.prices import Prices
    from lab.sweep.sweep import sweep

    work: dict[Path, list[Any]] = {}
    hours: dict[str, float] = {}
    for paper, choice in wanted.items():
        by_experiment = entries_of(paper, choice, scale, device, seeds)
        work[paper.runs] = [entry for of_it in by_experiment.values() for entry in of_it]
        if scale != "smoke":
            prices = Prices(paper)
            known = {entry.run_dir(paper.runs).name: prices.hours(entry) for entry in work[paper.runs]}
            hours |= {name: taken for name, taken in known.items() if taken is not None}
    report = sweep(work, hours=hours, stale=stale, **sweeping)
    if report.interrupted:
        return report.exit_code
    for paper, choice in wanted.items():
        ran_before_too = entries_of(paper, dict.fromkeys(choice, every), scale, device, seeds)
        collect(paper, ran_before_too, scale, stale)
        draw(paper, choice, scale)
    if scale == "smoke":
        print("smoke only tests the wiring, so no claim is judged")
    if report.failed:
        print(f"{len(report.failed)} runs failed (see above)", file=sys.stderr)
    return report.exit_code


def collect(paper: Paper, entries: Entries, scale: str, stale: str = "again") -> tuple[list[Path], list[str]]:
    """Collect each experiment's finished runs into the paper's results; returns the files that exist now, and a line
    for every refused run, which is also shown on stderr.

    Committed results are merged and shared among experiments; a machine's own results depend on its runs alone.
    """
    from lab.judge import collecting

    committed = paper.house.committed
    if scale == "smoke" and committed:
        raise UserError("smoke only tests the wiring and is not evidence; collect quick, long or full")
    found = [
        collecting.collect(name, scale, of_it, paper.runs, paper.results, own=not committed, stale=stale)
        for name, of_it in entries.items()
    ]
    refused = list(dict.fromkeys(line for one in found for line in one.refused))  # experiments share runs
    for line in refused:
        print(line, file=sys.stderr)
    if committed:
        share(paper, scale, entries)
    return [one.path for one in found if one.path is not None], refused


def share(paper: Paper, scale: str, wanted: Iterable[str] | None = None) -> None:
    """Give experiments (None: all) those of their runs that are committed under another experiment of the paper or at
    another scale; prints a line for each experiment that gets some."""
    from lab.judge import collecting
    from lab.judge.results import EVIDENCE

    everything = {(name, at): of_it for at in EVIDENCE for name, of_it in entries_of(paper, None, at).items()}
    for name in paper.experiments if wanted is None else wanted:
        if brought := collecting.share(name, scale, everything[name, scale], everything, paper.results):
            print(f"{paper.name} {name}: {len(brought)} runs copied from other experiments or scales")


def draw(paper: Paper, figures: Iterable[str], scale: str) -> None:
    """Draw `figures` from the results at `scale`; prints a line for each, even if its results are missing."""
    from lab.judge.results import MissingData, Results

    for name in figures:
        out = paper.picture(name, scale)
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            paper.figures[name].draw(Results(paper.results), scale, out)
        except MissingData as missing:
            print(f"{paper.name} {name}: not drawn, {missing}")
        else:
            print(f"{paper.name} {name}: {shown(out)}")


def redraw(paper: Paper, scale: str | None) -> None:
    """Draw every figure at `scale`, or each at all scales that have its results; pictures without data, at quick."""
    for each in [scale] if scale else SCALES:
        there = {path.stem for path in paper.results.glob(f"{each}/*.csv")}
        needs = {name: set(figure.experiments) for name, figure in paper.figures.items()}
        wanted = [name for name in needs if there & needs[name] or (each == "quick" and not needs[name])]
        wanted = [name for name in needs if has_scale(scale, paper, name)] if scale else wanted
        draw(paper, wanted, each)


def print_verdicts(paper: Paper, figures: Iterable[str]) -> None:
    """Print the verdicts on the claims about `figures`."""
    from lab.judge.claims import judged_text

    wanted = {plain(figure) for figure in figures}
    print(judged_text({paper.name: [pair for pair in judge(paper) if plain(pair[0].figure) in wanted]}))


def claim_pages(house: House) -> tuple[dict[Path, str], dict[str, Any]]:
    """Texts of RESULTS.md, each paper's VERDICTS.md and README.md with its table; and the verdicts. For a machine's own
    results (not `house.committed`), all lie below runs/, and there is no README.md."""
    from lab.judge import markdown
    from lab.sweep.prices import priced

    papers = house.papers()
    judged = {name: priced(paper, judge(paper)) for name, paper in papers.items()}
    page = (house.root if house.committed else house.runs) / "RESULTS.md"
    return markdown.pages(papers, judged, page, house.root / "README.md" if house.committed else None), judged


def write_claims(house: House, *, show: bool = False) -> None:
    """Write the pages of verdicts; `show` also prints the claims that could be judged."""
    from lab.judge.claims import judged_text
    from lab.judge.results import write_if_changed

    pages, judged = claim_pages(house)
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_if_changed(path, text.encode())
    if show:
        print(judged_text(judged))
    if house.committed:
        print(f"written: {', '.join(map(shown, pages))}")
    else:
        print(f"written: {shown(house.runs / 'RESULTS.md')}; the pictures are in {shown(house.runs / 'figures')}")


def shown(path: Path) -> str:
    """Path for a message: relative to the working directory if it lies below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
