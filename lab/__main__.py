"""The command line of all papers, which the Makefile calls.

    python -m lab list                         papers and figures
    python -m lab run PAPER [FIGURE...]        train what the figures need, draw them and judge them here
    python -m lab claims --mine                judge what this machine has run; write runs/RESULTS.md
    python -m lab collect PAPER                merge this machine's finished runs into the committed results
    python -m lab figures [PAPER]              draw again from the committed results, without training
    python -m lab claims                       write RESULTS.md and the table in README.md from them

What a machine trains stays below runs/, tables and pictures included: the last digits differ from one processor to the
next, and the committed evidence must not change because somebody tried the code. `collect` is how it is changed.

PAPER may be `all`. Exit codes: 0, 1 when runs failed, 2 for a mistake in the command or in a file, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.errors import Parser, UserError, guard
from lab.rooms import Choice, House, Paper, choose, every, judge, plain

SCALES = ("smoke", "quick", "full")
LAUNCHERS = ("local", "ray")
STALE = ("again", "keep")


# ---- what the user typed ---------------------------------------------------------------------------------------------


def _choose_papers(house: House, name: str) -> list[Paper]:
    papers = house.papers()
    chosen = choose("paper", name, [*papers, "all"])
    return list(papers.values()) if chosen == "all" else [papers[chosen]]


# ---- the commands ----------------------------------------------------------------------------------------------------


def entries_of(paper: Paper, wanted: Choice | None, scale: str, device: str) -> dict[str, list[Any]]:
    """Experiment -> its wanted entries (None: all), configs moved to `device` where they have such a field."""

    def placed(entry: Any) -> Any:
        if device == "cpu" or not hasattr(entry.config, "device"):
            return entry
        return dataclasses.replace(entry, config=dataclasses.replace(entry.config, device=device))

    if wanted is None:
        return {name: [placed(entry) for entry in make(scale)] for name, make in paper.experiments.items()}
    choices: dict[str, list[Callable[[Any], bool]]] = {}
    for figure, choice in wanted.items():
        for name in paper.figures[figure].experiments:
            choices.setdefault(name, []).append(choice)
    return {
        name: [placed(entry) for entry in paper.experiments[name](scale) if any(choice(entry) for choice in of_it)]
        for name, of_it in choices.items()
    }


def usual_hours(paper: Paper, entries: dict[str, list[Any]], scale: str) -> dict[str, float]:
    """Run name -> hours that such a run took where the committed results come from, if any is among them.

    The median over the seeds of method and task; where these were never run, over all runs of the experiment. Where
    the experiment was run at another scale only, what it took there. Of smoke nothing is known.
    """
    from lab import results

    found: dict[str, float] = {}
    for experiment, of_experiment in entries.items() if scale != "smoke" else ():
        root = paper.evidence / "results"
        frame = results.read(root, experiment, scale)
        if frame is None and (other := results.best_scale(root, experiment)):
            frame = results.read(root, experiment, other)
        if frame is None:
            continue
        runs = frame.groupby(["method", "env", "seed"]).hours.max()
        medians = runs.groupby(["method", "env"]).median().to_dict()
        for entry in of_experiment:
            found[entry.run_dir(paper.runs).name] = medians.get((entry.method, entry.env), runs.median())
    return found


def collect(
    paper: Paper, entries: dict[str, list[Any]], scale: str, stale: str = "again"
) -> tuple[list[Path], list[str]]:
    """Bring the finished runs of each experiment into the paper's results; returns the files there are now and a line,
    shown on stderr, too, for every run that is refused.

    Committed results are merged with, and a run that differs is an error. A machine's own are a function of its runs.
    """
    from lab import results

    if scale == "smoke" and not paper.house.from_runs:
        raise UserError("smoke proves only the wiring and is not kept as evidence; collect quick or full")
    own, there = paper.house.from_runs, (paper.runs, paper.results)
    found = [results.collect(name, scale, runs, *there, own=own, stale=stale) for name, runs in entries.items()]
    refused = list(dict.fromkeys(line for one in found for line in one.refused))  # experiments share runs
    for line in refused:
        print(line, file=sys.stderr)
    return [one.path for one in found if one.path is not None], refused


def draw(paper: Paper, figures: Iterable[str], scale: str) -> list[Path]:
    """Draw `figures` from the results at `scale`; one line for a figure whose results are not there."""
    from lab.results import MissingData, Results

    drawn = []
    for name in figures:
        out = paper.picture(name, scale)
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            paper.figures[name].draw(Results(paper.results), scale, out)
        except MissingData as missing:
            print(f"{paper.name} {name}: not drawn, {missing}")
        else:
            drawn.append(out)
            print(f"{paper.name} {name}: {_shown(out)}")
    return drawn


def run(
    wanted: Mapping[Paper, Choice],
    *,
    scale: str = "quick",
    jobs: int = 1,
    device: str = "cpu",
    launcher: str = "local",
    longest_first: bool = False,
    stale: str = "again",
) -> int:
    """Train what the wanted figures need, once each, in one sweep; draw them, all below runs/. Returns the exit code.

    A failed run leaves the rest alone: the other runs are collected, and figures and verdicts say what is missing.
    longest_first: so that the last minutes do not wait for one long run; else in the order of the experiments, so that
    a sweep that is stopped early has whole comparisons. stale: as in lab.sweep.sweep.
    """
    from lab.sweep import sweep

    entries = {paper: entries_of(paper, choice, scale, device) for paper, choice in wanted.items()}
    hours: dict[str, float] = {}
    for paper, by_experiment in entries.items():
        hours |= usual_hours(paper, by_experiment, scale)
    work = {paper.runs: [entry for part in by_name.values() for entry in part] for paper, by_name in entries.items()}
    report = sweep(work, jobs=jobs, launcher=launcher, hours=hours, longest_first=longest_first, stale=stale)
    if report.interrupted:
        return report.exit_code
    for paper, choice in wanted.items():
        ran_before_too = entries_of(paper, dict.fromkeys(choice, every), scale, device)
        collect(paper, ran_before_too, scale, stale)
        draw(paper, choice, scale)
    if scale == "smoke":
        print("smoke proves only the wiring, so no claim is judged")
    if report.failed:
        print(f"{len(report.failed)} runs failed, see above", file=sys.stderr)
    return report.exit_code


def print_verdicts(paper: Paper, figures: Iterable[str]) -> None:
    """One line for every claim about `figures`."""
    wanted = {plain(figure) for figure in figures}
    for claim, verdict in judge(paper):
        if plain(claim.figure) in wanted:
            basis = f"{verdict.seeds} seeds, {verdict.steps:,} steps, {verdict.scale}" if verdict.scale else ""
            facts = ", ".join(part for part in (verdict.effect, verdict.interval, basis, verdict.note) if part)
            print(f"{paper.name} {claim.figure}: {verdict.status}: {claim.text}" + (f" ({facts})" if facts else ""))


def redraw(paper: Paper, scale: str | None) -> None:
    """Draw every figure at `scale`, or each at the scales that have results for it; pictures without data once."""
    if scale:
        draw(paper, paper.figures, scale)
        return
    draw(paper, [name for name, figure in paper.figures.items() if not figure.experiments], "quick")
    for each in SCALES:
        there = {path.stem for path in paper.results.glob(f"{each}/*.csv")}
        draw(paper, [name for name, figure in paper.figures.items() if there & set(figure.experiments)], each)


def write_claims(house: House, *, show: bool = False) -> None:
    """Write RESULTS.md and the table in README.md from the committed results; `show` prints what could be judged.

    Of a machine's own results (`house.from_runs`): runs/RESULTS.md alone.
    """
    from lab import claims
    from lab.results import write_if_changed

    by_paper = {name: judge(paper) for name, paper in house.papers().items()}
    page = (house.runs if house.from_runs else house.root) / "RESULTS.md"
    write_if_changed(page, claims.results_markdown(by_paper, house.root).encode())
    if show:
        print(claims.judged_text(by_paper))
    if house.from_runs:
        print(f"written: {_shown(page)}; the pictures are in {_shown(house.runs / 'figures')}")
        return
    claims.update_readme(house.root / "README.md", claims.readme_markdown(by_paper))
    print(f"written: {_shown(page)} and the table in {_shown(house.root / 'README.md')}")


def show_list(house: House) -> None:
    """Papers and their figures, with the Make target of each."""
    for paper in house.papers().values():
        print(f"{paper.name}  (make {plain(paper.name)})")
        for name, figure in paper.figures.items():
            print(f"  {name:<12} {figure.title}  (make {plain(paper.name)}-{plain(name)})")


def _shown(path: Path) -> str:
    """Short form of a path for a message: relative to the working directory where it lies below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


# ---- the command line ------------------------------------------------------------------------------------------------


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes, 1 or more")
    return int(text)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m lab", description="Run, draw and judge the papers.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    commands.add_parser("list", help="papers and figures")
    run = commands.add_parser("run", help="train what figures need, draw them, judge their claims; all below runs/")
    collecting = commands.add_parser("collect", help="merge finished runs into the committed results")
    figures = commands.add_parser("figures", help="draw again from the committed results, without training")
    claims = commands.add_parser("claims", help="write RESULTS.md and the table in README.md")

    for command in (run, collecting):
        command.add_argument("paper", metavar="PAPER", help="a paper of `list`, or all")
        command.add_argument("--scale", default="quick", help="smoke, quick (default) or full")
        command.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:N")
        command.add_argument("--runs", type=Path, metavar="DIR", help="where runs lie (default: runs)")
    run.add_argument("figure", nargs="*", metavar="FIGURE", help="figures of the paper (default: every figure)")
    run.add_argument("--headline", action="store_true", help="only the figures that carry the paper's main claims")
    run.add_argument("--jobs", type=_positive, default=os.cpu_count() or 1, help="processes (default: one per core)")
    run.add_argument("--launcher", default="local", help="local (default) or ray")
    run.add_argument("--stale", default="again", help="runs of other sources: again (default: train again) or keep")
    figures.add_argument("paper", metavar="PAPER", nargs="?", default="all", help="a paper of `list` (default: all)")
    figures.add_argument("--scale", help="only this scale (default: every scale that has results)")
    claims.add_argument("--mine", action="store_true", help="judge this machine's runs; write runs/RESULTS.md instead")
    claims.add_argument("--show", action="store_true", help="print the table, too")
    return parser.parse_args(argv)


def _dispatch(house: House, options: argparse.Namespace) -> int:
    if options.command == "list":
        show_list(house)
        return 0
    if options.command == "claims":
        write_claims(dataclasses.replace(house, from_runs=options.mine), show=options.show)
        return 0
    papers = _choose_papers(house, options.paper)
    scale = options.scale and choose("scale", options.scale, SCALES)
    if options.command == "figures":
        for paper in papers:
            redraw(paper, scale)
        return 0
    if options.device != "cpu":
        from lab.settings import check_device  # loads torch, of no use to the commands that do not train

        check_device(options.device)
    here = dataclasses.replace(house, runs=options.runs or house.runs, from_runs=options.command == "run")
    papers = [dataclasses.replace(paper, house=here) for paper in papers]
    if options.command == "collect":
        complete = True
        for paper in papers:
            paths, refused = collect(paper, entries_of(paper, None, scale, options.device), scale)
            complete &= not refused
            for path in paths:
                print(f"collected: {_shown(path)}")
        return 0 if complete else 1
    return _run_papers(papers, options, scale, choose("launcher", options.launcher, LAUNCHERS))


def _run_papers(papers: list[Paper], options: argparse.Namespace, scale: str, launcher: str) -> int:
    if options.figure and (len(papers) > 1 or options.headline):
        raise UserError("name figures of one paper, or --headline, or all; not two of them")
    wanted: dict[Paper, Choice] = {}
    for paper in papers:
        named = [choose(f"figure of {paper.name}", name, paper.figures) for name in options.figure]
        wanted[paper] = paper.headline if options.headline else dict.fromkeys(named or paper.figures, every)
    status = run(
        wanted,
        scale=scale,
        jobs=options.jobs,
        device=options.device,
        launcher=launcher,
        longest_first=options.headline,
        stale=choose("value of --stale", options.stale, STALE),
    )
    if status <= 1 and scale != "smoke" and not options.headline:  # reproduce shows them in a table
        for paper, choice in wanted.items():
            print_verdicts(paper, choice)
    return status


@guard
def main(argv: Sequence[str] | None = None, house: House | None = None) -> int:
    """Run one command; returns the exit code. A user's mistake is one line on stderr and SystemExit(2)."""
    return _dispatch(house or House(), _parse(argv))


if __name__ == "__main__":
    sys.exit(main())
