"""The command line of all papers, which the Makefile calls.

    python -m papers list                         papers and figures
    python -m papers run PAPER [FIGURE...]        train what the figures need, draw them and judge them here
    python -m papers claims --mine                judge what this machine has run; write runs/RESULTS.md
    python -m papers collect PAPER                merge this machine's finished runs into the committed results
    python -m papers figures [PAPER]              draw again from the committed results, without training
    python -m papers claims                       write RESULTS.md and the table in README.md from them

What a machine trains stays below runs/, tables and pictures included: the last digits differ from one processor to the
next, and the committed evidence must not change because somebody tried the code. `collect` is how it is changed.

A paper is a package below this one with experiments.py, figures.py and claims.py; none is listed anywhere. PAPER may be
`all`. Exit codes: 0, 1 when runs failed, 2 for a mistake in the command or in a file, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from common.lab.errors import UserError, guard

ROOT = Path(__file__).resolve().parents[1]
SCALES = ("smoke", "quick", "full")
LAUNCHERS = ("local", "ray")
FILES = ("experiments.py", "figures.py", "claims.py")


@dataclass(frozen=True)
class House:
    """Where things lie. Tests build one around papers of their own."""

    package: str = "papers"  # importable package that holds the papers
    root: Path = ROOT  # of README.md and RESULTS.md
    runs: Path = ROOT / "runs"
    mine: bool = False  # results and figures of this machine, below `runs`, instead of the committed ones

    def papers(self) -> dict[str, Paper]:
        """Every package below `package` that has the three files of a paper, by name."""
        folders = [Path(folder) for folder in importlib.import_module(self.package).__path__]
        found = [path for folder in folders for path in sorted(folder.iterdir())]
        return {path.name: Paper(self, path) for path in found if all((path / file).is_file() for file in FILES)}


@dataclass(frozen=True)
class Paper:
    """One room. Its modules are imported when they are asked for: `list` need not load torch."""

    house: House
    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def runs(self) -> Path:
        return self.house.runs / self.name

    @property
    def results(self) -> Path:
        return self.house.runs / "results" / self.name if self.house.mine else self.folder / "results"

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{self.house.package}.{self.name}.{name}")

    @cached_property
    def experiments(self) -> dict[str, Any]:
        return self._module("experiments").EXPERIMENTS

    @cached_property
    def headline(self) -> tuple[str, ...]:
        """Figures that `make reproduce` runs; a paper that names none has all of them in it."""
        return getattr(self._module("experiments"), "HEADLINE", tuple(self.figures))

    @cached_property
    def figures(self) -> dict[str, Any]:
        return self._module("figures").FIGURES

    @cached_property
    def claims(self) -> list[Any]:
        return list(self._module("claims").CLAIMS)

    def picture(self, figure: str, scale: str) -> Path:
        figures = self.house.runs / "figures" / self.name if self.house.mine else self.folder / "figures"
        return figures / scale / f"{figure}.png"


# ---- what the user typed ---------------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def choose(kind: str, name: str, valid: Iterable[str]) -> str:
    """The member of `valid` called `name`; `-`, `_` and case are one. UserError lists the right ones."""
    by_plain = {_plain(right): right for right in valid}
    if _plain(name) in by_plain:
        return by_plain[_plain(name)]
    close = difflib.get_close_matches(_plain(name), by_plain, n=1)
    hint = f", did you mean {close[0]}?" if close else ";"
    raise UserError(f"unknown {kind} {name!r}{hint} right are: {', '.join(by_plain) or 'none yet'}")


def _choose_papers(house: House, name: str) -> list[Paper]:
    papers = house.papers()
    chosen = choose("paper", name, [*papers, "all"])
    return list(papers.values()) if chosen == "all" else [papers[chosen]]


def _check_device(device: str) -> None:
    kind, _, number = device.partition(":")
    if kind not in ("cpu", "cuda") or (number and not (kind == "cuda" and number.isdecimal())):
        raise UserError(f"unknown device {device!r}; right are: cpu, cuda, cuda:0, cuda:1, ...")
    if kind == "cuda":
        import torch  # slow to load, and of no use to the commands that do not train

        if int(number or 0) >= torch.cuda.device_count():
            raise UserError(f"device {device!r} asked for, but PyTorch sees {torch.cuda.device_count()} CUDA devices")


# ---- the commands ----------------------------------------------------------------------------------------------------


def entries_of(paper: Paper, experiments: Iterable[str], scale: str, device: str) -> dict[str, list[Any]]:
    """Experiment -> its entries, configs moved to `device` where they have such a field."""

    def placed(entry: Any) -> Any:
        if device == "cpu" or not hasattr(entry.config, "device"):
            return entry
        return dataclasses.replace(entry, config=dataclasses.replace(entry.config, device=device))

    return {name: [placed(entry) for entry in paper.experiments[name](scale)] for name in experiments}


def collect(paper: Paper, entries: dict[str, list[Any]], scale: str) -> list[Path]:
    """Bring the finished runs of each experiment into the paper's results; returns the files there are now.

    Committed results are merged with, and a run that differs is an error. A machine's own are a function of its runs.
    """
    from common.lab import results

    if scale == "smoke" and not paper.house.mine:
        raise UserError("smoke proves only the wiring and is not kept as evidence; collect quick or full")
    paths = []
    for experiment, of_experiment in entries.items():
        if paper.house.mine:
            for old in paper.results.glob(f"{scale}/{experiment}.*"):
                old.unlink()
        paths.append(results.collect(experiment, scale, of_experiment, paper.runs, paper.results))
    return [path for path in paths if path is not None]


def draw(paper: Paper, figures: Iterable[str], scale: str) -> list[Path]:
    """Draw `figures` from the results at `scale`; one line for a figure whose results are not there."""
    from common.lab.results import MissingData, Results

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
    paper: Paper,
    figures: Sequence[str],
    *,
    scale: str = "quick",
    jobs: int = 1,
    device: str = "cpu",
    launcher: str = "local",
) -> int:
    """Train what `figures` need, once each; draw and judge them, all below runs/. Returns the exit code.

    A failed run leaves the rest alone: the other runs are collected, and figures and verdicts say what is missing.
    """
    from common.lab.sweep import run_entries

    experiments = dict.fromkeys(name for figure in figures for name in paper.figures[figure].experiments)
    entries = entries_of(paper, experiments, scale, device)
    every = [entry for of_experiment in entries.values() for entry in of_experiment]
    report = run_entries(every, paper.runs, jobs=jobs, launcher=launcher)  # a run that two experiments share: once
    if report.interrupted:
        return report.exit_code
    collect(paper, entries, scale)
    draw(paper, figures, scale)
    if scale == "smoke":
        print(f"{paper.name}: smoke proves only the wiring, so no claim is judged")
    else:
        print_verdicts(paper, figures)
    if report.failed:
        print(f"{paper.name}: {len(report.failed)} runs failed, see above", file=sys.stderr)
    return report.exit_code


def judge(paper: Paper) -> list[tuple[Any, Any]]:
    """All claims of the paper with their verdicts, from the best scale that has results."""
    from common.lab import claims
    from common.lab.results import Results

    return claims.evaluate(paper.claims, Results(paper.results))


def print_verdicts(paper: Paper, figures: Iterable[str]) -> None:
    """One line for every claim about `figures`."""
    wanted = {_plain(figure) for figure in figures}
    for claim, verdict in judge(paper):
        if _plain(claim.figure) in wanted:
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
    """Write RESULTS.md and the table in README.md from the committed results; `show` prints the former.

    Of a machine's own results (`house.mine`): runs/RESULTS.md alone.
    """
    from common.lab import claims
    from common.lab.results import write_if_changed

    by_paper = {name: judge(paper) for name, paper in house.papers().items()}
    text = claims.results_markdown(by_paper)
    page = (house.runs if house.mine else house.root) / "RESULTS.md"
    write_if_changed(page, text.encode())
    if show:
        print(text)
    if house.mine:
        print(f"written: {_shown(page)}; the pictures are in {_shown(house.runs / 'figures')}")
        return
    table = [claims.summary_table(by_paper), "<details><summary>Every claim</summary>", claims.claims_table(by_paper)]
    claims.update_readme(house.root / "README.md", "\n\n".join([*table, "</details>"]))
    print(f"written: {_shown(page)} and the table in {_shown(house.root / 'README.md')}")


def show_list(house: House) -> None:
    """Papers and their figures, with the Make target of each."""
    for paper in house.papers().values():
        print(f"{paper.name}  (make {_plain(paper.name)})")
        for name, figure in paper.figures.items():
            print(f"  {name:<12} {figure.title}  (make {_plain(paper.name)}-{_plain(name)})")


def _shown(path: Path) -> str:
    """Short form of a path for a message: relative to the working directory where it lies below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


# ---- the command line ------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (python -m papers --help)")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes, 1 or more")
    return int(text)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="python -m papers", description="Run, draw and judge the papers.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
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
        write_claims(dataclasses.replace(house, mine=options.mine), show=options.show)
        return 0
    papers = _choose_papers(house, options.paper)
    scale = options.scale and choose("scale", options.scale, SCALES)
    if options.command == "figures":
        for paper in papers:
            redraw(paper, scale)
        return 0
    _check_device(options.device)
    here = dataclasses.replace(house, runs=options.runs or house.runs, mine=options.command == "run")
    papers = [dataclasses.replace(paper, house=here) for paper in papers]
    if options.command == "collect":
        for paper in papers:
            for path in collect(paper, entries_of(paper, paper.experiments, scale, options.device), scale):
                print(f"collected: {_shown(path)}")
        return 0
    return _run_papers(papers, options, scale, choose("launcher", options.launcher, LAUNCHERS))


def _run_papers(papers: list[Paper], options: argparse.Namespace, scale: str, launcher: str) -> int:
    if options.figure and (len(papers) > 1 or options.headline):
        raise UserError("name figures of one paper, or --headline, or all; not two of them")
    figures = {
        paper: [choose(f"figure of {paper.name}", name, paper.figures) for name in options.figure]
        or list(paper.headline if options.headline else paper.figures)
        for paper in papers
    }
    status = 0
    for paper in papers:
        code = run(paper, figures[paper], scale=scale, jobs=options.jobs, device=options.device, launcher=launcher)
        if code == 130:
            return code
        status = max(status, code)
    return status


@guard
def main(argv: Sequence[str] | None = None, house: House | None = None) -> int:
    """Run one command; returns the exit code. A user's mistake is one line on stderr and SystemExit(2)."""
    return _dispatch(house or House(), _parse(argv))


if __name__ == "__main__":
    sys.exit(main())
