"""Train, draw and judge the papers; compare and merge what was trained.

What a machine trains stays below runs/, tables and pictures included: the last digits differ between processors, and
trying the code must not change the committed evidence. Only `collect` and `evidence` change it.

Exit codes: 0, 1 when runs failed or were refused, 2 for a mistake in the command or in a file, 130 after Ctrl-C.
"""

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union

from tyro.conf import FlagCreatePairsOff, Positional, arg

from lab import commands
from lab.options import check, read_seeds
from lab.rooms import Choice, House, Paper, choose, every, plain
from lab.run.arguments import parse
from lab.run.errors import UserError, guard

PaperName = Annotated[str, arg(metavar="PAPER")]
Directory = Annotated[Path, arg(metavar="DIR")]


@dataclass(frozen=True, kw_only=True)
class _Selection:
    """Which runs of a figure to use."""

    scale: str = "quick"
    """smoke, quick or full; in some papers also long, between the last two."""
    seeds: str = ""
    """Seeds to use instead of the experiments' own: a count (5: 0 to 4) or a list (3,7)."""

    def chosen(self) -> dict[str, Any]:
        """Scale and seeds, checked."""
        return {"scale": check("scale", self.scale), "seeds": read_seeds(self.seeds)}


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where runs are trained and kept."""

    device: str = "cpu"
    """cpu, cuda or cuda:N."""
    runs: Annotated[Path | None, arg(metavar="DIR")] = None
    """Directory of the runs; default: runs/."""

    def papers(self, house: House, name: str, *, committed: bool) -> list[Paper]:
        """The papers called `name`, with committed results or this machine's."""
        check("device", self.device)
        return choose_papers(dataclasses.replace(house, runs=self.runs or house.runs, committed=committed), name)


@dataclass(frozen=True, kw_only=True)
class _Training(_Place):
    """How runs are trained."""

    jobs: Annotated[int | None, arg(metavar="N")] = None
    """Runs at a time. Default: one per core, four per GPU."""
    launcher: str = "local"
    """local, ray or slurm."""
    stale: str = "again"
    """Finished runs whose sources have changed: retrain them (again) or keep them (keep)."""
    tensorboard: bool = False
    """Also write TensorBoard files to the run directories."""

    def sweeping(self) -> dict[str, Any]:
        """Device and arguments of lab.sweep.sweep.sweep, checked."""
        from lab.sweep.resources import default_jobs

        launcher = check("launcher", self.launcher)
        check("jobs", "" if self.jobs is None else str(self.jobs))
        if self.device != "cpu" and launcher == "local":  # a cluster has its own devices
            from lab.run.settings import check_device  # loads torch, which only training needs

            check_device(self.device)
        return {
            "device": self.device,
            "jobs": self.jobs or default_jobs(self.device, launcher),
            "launcher": launcher,
            "stale": check("stale", self.stale),
            "tensorboard": self.tensorboard,
        }


@dataclass(frozen=True)
class List:
    """List papers and their figures."""

    def __call__(self, house: House) -> int:
        for paper in house.papers().values():
            target = f"  (make {plain(paper.name)}" if house.targets else ""
            print(paper.name + (target and f"{target})"))
            for name, figure in paper.figures.items():
                print(f"  {name:<12} {figure.title}" + (target and f"{target}-{plain(name)})"))
        return 0


@dataclass(frozen=True)
class Run(_Training, _Selection):
    """Train the runs of figures, draw them and judge their claims, all below runs/."""

    paper: Positional[PaperName]
    """A paper of `list`, or all."""
    figure: Positional[Annotated[tuple[str, ...], arg(metavar="[FIGURE ...]")]] = ()
    """Figures of the paper; default: all."""
    headline: bool = False
    """Only the figures behind each paper's main claims."""

    def __call__(self, house: House) -> int:
        scale = check("scale", self.scale)
        papers = commands.with_scale(self.papers(house, self.paper, committed=False), scale)
        if self.figure and (len(papers) > 1 or self.headline):
            raise UserError("choose one: figures of one paper, --headline, or all")
        wanted: dict[Paper, Choice] = {}
        for paper in papers:
            named = [choose(f"figure of {paper.name}", name, paper.figures) for name in self.figure]
            for name in named:
                commands.check_scale(scale, paper, name)
            choice = paper.headline if self.headline else dict.fromkeys(named or paper.figures, every)
            wanted[paper] = {name: some for name, some in choice.items() if commands.has_scale(scale, paper, name)}
        # Longest first, so that `make reproduce` does not end by waiting for one long run; else in the order of the
        # experiments, so that a sweep stopped early has whole comparisons.
        status = commands.run(wanted, **self.chosen(), **self.sweeping(), longest_first=self.headline)
        if status <= 1 and scale != "smoke" and not self.headline:  # `make reproduce` has a table
            for paper, choice in wanted.items():
                commands.print_verdicts(paper, choice)
        return status


@dataclass(frozen=True)
class Evidence(_Training):
    """Train the quick runs that undecided claims lack, cheapest claim first, for some hours; then collect them."""

    paper: Positional[PaperName] = "all"
    """A paper of `list`, or all."""
    hours: float = 2.0
    """How long to train. Unfinished runs resume next time."""
    dry: bool = False
    """Only list what would be run."""

    def __call__(self, house: House) -> int:
        from lab.sweep import evidence

        check("hours", str(self.hours))
        papers = self.papers(house, self.paper, committed=True)
        return evidence.gather(papers, self.hours, dry=self.dry, **self.sweeping())


@dataclass(frozen=True)
class Collect(_Place, _Selection):
    """Merge this machine's finished runs into the committed results; refuse runs of changed or uncommitted code."""

    paper: Positional[PaperName]
    """A paper of `list`, or all."""

    def __call__(self, house: House) -> int:
        chosen = self.chosen()
        complete = True
        for paper in commands.with_scale(self.papers(house, self.paper, committed=True), chosen["scale"]):
            entries = commands.entries_of(paper, None, device=self.device, **chosen)
            paths, refused = commands.collect(paper, entries, chosen["scale"])
            complete &= not refused
            for path in paths:
                print(f"collected: {commands.shown(path)}")
        return 0 if complete else 1


@dataclass(frozen=True)
class Figures:
    """Redraw figures from the committed results, without training."""

    paper: Positional[PaperName] = "all"
    """A paper of `list`, or all."""
    scale: str = ""
    """Only this scale; default: every scale that has results."""

    def __call__(self, house: House) -> int:
        scale = check("scale", self.scale) if self.scale else None
        papers = choose_papers(house, self.paper)
        for paper in commands.with_scale(papers, scale) if scale else papers:
            commands.redraw(paper, scale)
        return 0


@dataclass(frozen=True)
class Claims:
    """Judge the committed results: write RESULTS.md, each room's VERDICTS.md and the table in README.md."""

    mine: bool = False
    """Judge this machine's runs instead; write runs/RESULTS.md."""
    show: bool = False
    """Also print the table."""

    def __call__(self, house: House) -> int:
        commands.write_claims(dataclasses.replace(house, committed=not self.mine), show=self.show)
        return 0


@dataclass(frozen=True)
class Compare:
    """Compare two runs, or two sets of seeds: the settings that differ, and their curves in one picture."""

    a: Positional[Annotated[str, arg(metavar="A")]]
    """A run directory, a pattern such as "runs/ter/*-uer-s*", or the name of runs without -s<seed>-<hash>."""
    b: Positional[Annotated[str, arg(metavar="B")]]
    """The same for the other."""
    metrics: Annotated[str | None, arg(metavar="NAME,NAME")] = None
    """Metrics to draw; default: all that were measured more than once."""
    out: Annotated[Path | None, arg(metavar="FILE.png")] = None
    """Picture to write; default: runs/compare.png."""

    def __call__(self, house: House) -> int:
        from lab.judge.compare import compare

        compare(self.a, self.b, self.out or house.runs / "compare.png", metrics=self.metrics)
        return 0


@dataclass(frozen=True)
class Merge:
    """Merge the results of another machine (<scale>/<experiment>.csv) into a tree of results."""

    source: Positional[Directory]
    """Where they come from."""
    target: Positional[Directory]
    """Where they go, e.g. papers/ter/evidence/results."""

    def __call__(self, house: House) -> int:
        from lab.judge.collecting import merge_trees

        for path in merge_trees(self.source, self.target):
            print(f"merged: {commands.shown(path)}")
        return 0


COMMANDS = (List, Run, Collect, Evidence, Figures, Claims, Compare, Merge)


def choose_papers(house: House, name: str) -> list[Paper]:
    """The paper called `name`, or all."""
    papers = house.papers()
    chosen = choose("paper", name, [*papers, "all"])
    return list(papers.values()) if chosen == "all" else [papers[chosen]]


def read_command(words: Sequence[str], module: str = "lab") -> Any:
    """Parse the `words` after `python -m module` into an instance of one of COMMANDS. UserError for a mistake."""
    if words and not words[0].startswith("-"):
        words = [choose("command", words[0], [kind.__name__.lower() for kind in COMMANDS]), *words[1:]]
    kinds: Any = Union[tuple(Annotated[kind, FlagCreatePairsOff] for kind in COMMANDS)]  # noqa: UP007
    return parse(kinds, words, prog=f".venv/bin/python -m {module}", description=__doc__)


@guard
def main(argv: Sequence[str] | None = None, house: House | None = None, module: str = "lab") -> int:
    """Run one command; returns the exit code. A user's mistake is one line on stderr and SystemExit(2).

    module: its name in the help.
    """
    return read_command(sys.argv[1:] if argv is None else argv, module)(house or House())


if __name__ == "__main__":
    sys.exit(main())
