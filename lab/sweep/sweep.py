"""Train many runs: on this machine's cores, with one process and one thread each, or on a cluster.

A sweep can be stopped and restarted at any time: finished runs are skipped, unfinished ones resume from their
checkpoints, and runs of other sources are trained again. A run that fails, or whose process dies, does not affect the
others and is reported at the end.
"""

import json
import math
import os
import sys
import tempfile
import textwrap
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from lab.options import LAUNCHERS
from lab.run.errors import RunBusy, UserError
from lab.run.identity import State
from lab.run.provenance import take
from lab.run.runs import set_aside
from lab.sweep import resources
from lab.sweep.cluster_ray import Ray
from lab.sweep.cluster_slurm import Slurm
from lab.sweep.entry import Entry, Job
from lab.sweep.launchers import Launcher, Local

POLL_SECONDS = 0.5
MAKERS: dict[str, Callable[[list[Entry], int], Launcher]] = dict(zip(LAUNCHERS, (Local, Ray, Slurm), strict=True))


@dataclass
class Report:
    """Outcome of a sweep: its runs by their directories, relative to the one that all have in common."""

    finished: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # with the last lines of the error
    interrupted: bool = False
    busy: list[str] = field(default_factory=list)  # being written by another process at the end of the sweep

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, 1 if a run failed or is still being trained elsewhere, else 0."""
        return 130 if self.interrupted else 1 if self.failed or self.busy else 0


@dataclass(frozen=True)
class _Run:
    """A run to train. aside: first move the old content of its directory elsewhere."""

    job: Job
    directory: Path
    aside: bool


def sweep(
    work: Mapping[Path, Iterable[Entry]],
    *,
    jobs: int,
    launcher: str = "local",
    hours: Mapping[str, float] | None = None,
    longest_first: bool = False,
    seconds: float = math.inf,
    stale: str = "again",
    tensorboard: bool = False,
) -> Report:
    """Train all unfinished runs, `jobs` at a time, and report the outcome on stderr.

    work: directory of runs -> the entries that belong there. launcher: "local"; "ray", which decides itself how many
    runs go at once; "slurm", at most `jobs` jobs in the queue at a time. hours: how long a run usually takes, by run
    name; others take the average. longest_first: start the longest runs first; else keep the given order. seconds:
    stop all runs after this long; they resume from their checkpoints in the next sweep.

    stale: what to do with runs whose sources or defaults have changed since. "again": move each to stale/ beside it
    when its turn comes, and train it anew; "keep": count finished ones, resume the others.

    A run's output goes to <run_dir>/log.txt. Ctrl-C stops all runs and sets Report.interrupted. Raises UserError if
    there is no cluster, too little memory or disk, or an unwritable directory. Errors of runs are never raised; they
    are in Report.failed.
    """
    roots = {Path(root).resolve(): list(entries) for root, entries in work.items()}
    for root in roots:
        try:
            root.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=root).close()
        except OSError as error:
            raise UserError(f"cannot write {root}: {error.strerror}; choose another place for runs") from error
    report = Report()
    todo = _plan(roots, report, stale == "keep", tensorboard)
    hours = hours or {}
    if longest_first and hours:
        usual = sum(hours.values()) / len(hours)
        todo = dict(sorted(todo.items(), key=lambda item: -hours.get(item[1].directory.name, usual)))
    if todo:
        runs = [(run.job.entry, run.directory) for run in todo.values()]
        resources.check(runs, jobs, memory=launcher == "local")
        workers = MAKERS[launcher]([run.job.entry for run in todo.values()], jobs)
        anew = {name for name, run in todo.items() if run.aside}
        progress = Progress({name: run.directory for name, run in todo.items()}, hours, anew)
        _train(todo, workers, report, progress, time.monotonic() + seconds)
    for name in [name for name in report.busy if (todo[name].directory / "done.json").exists()]:
        report.busy.remove(name)
        report.skipped.append(name)
    _tell(report, {name: run.directory for name, run in todo.items()})
    return report


def _plan(roots: Mapping[Path, list[Entry]], report: Report, keep: bool, tensorboard: bool) -> dict[str, _Run]:
    """Return the runs to train, by name; enter the others in `report`, and announce stale ones."""
    code = take(entry.module for entries in roots.values() for entry in entries)  # before anything loads it
    top = os.path.commonpath(roots) if roots else ""
    todo: dict[str, _Run] = {}
    reasons: Counter[str] = Counter()
    for root, entries in roots.items():
        for entry in entries:
            directory = entry.run_dir(root)
            name = os.path.relpath(directory, top)
            if name in todo or name in report.skipped:
                continue
            try:
                found = entry.state(root)
            except UserError:  # the run itself will say what is wrong with its directory
                found = State("begun")
            kept = keep and (found.done or not found.other_config)
            if found.stage == "stale":
                reasons[f"{'kept although' if kept else 'retrained because'} {found.reason}"] += 1
            if found.done and (found.stage == "finished" or kept):
                report.skipped.append(name)
            else:
                job = Job(entry, code[entry.module], tensorboard)
                todo[name] = _Run(job, directory, found.stage == "stale" and not kept)
    for reason, count in reasons.items():
        print(f"{count} stale: {reason}", file=sys.stderr)
    return todo


def _train(todo: dict[str, _Run], workers: Launcher, report: Report, progress: "Progress", end: float) -> None:
    waiting: deque[str] = deque(todo)
    running: list[str] = []
    try:
        while (waiting or running) and time.monotonic() < end:
            while waiting and workers.room():
                name = waiting.popleft()
                if _ready(todo[name], name, report):
                    workers.start(name, todo[name].job, todo[name].directory)
                    running.append(name)
            for name, outcome in workers.wait(POLL_SECONDS):
                running.remove(name)
                if outcome == "":
                    report.finished.append(name)
                elif outcome == "busy":
                    report.busy.append(name)
                else:
                    report.failed[name] = outcome
            progress.show(running, report)
    except KeyboardInterrupt:
        report.interrupted = True
    finally:
        workers.stop()
        progress.bar.close()


def _ready(run: _Run, name: str, report: Report) -> bool:
    """Move a stale run out of the way; False, with an entry in the report, if that is not possible."""
    try:
        if run.aside and run.job.entry.state(run.directory.parent).stage == "stale":  # another sweep may have done it
            set_aside(run.directory)
        return True
    except RunBusy:
        report.busy.append(name)
    except (UserError, OSError) as error:
        report.failed[name] = str(error)
    return False


def _tell(report: Report, directories: dict[str, Path]) -> None:
    counts = [f"{len(report.finished)} finished", f"{len(report.skipped)} finished before"]
    counts += [f"{len(report.busy)} busy elsewhere"] if report.busy else []
    counts += [f"{len(report.failed)} failed"] if report.failed else []
    lines = [f"runs: {', '.join(counts)}"]
    lines += [f"busy: {name} is being trained by another process; rerun once it is done" for name in report.busy]
    for name, error in report.failed.items():
        lines += [f"failed: {name} (see {directories[name] / 'log.txt'})", textwrap.indent(error, "    ")]
    if report.interrupted:
        lines.append("interrupted: rerun the command to resume all runs from their checkpoints")
    print(*lines, sep="\n", file=sys.stderr)


class Progress:
    """One bar for all runs, measured in the minutes that each usually takes: between papers, the time of a step differs
    a hundredfold. An unfinished run counts by the share of its steps that are done."""

    def __init__(self, directories: Mapping[str, Path], hours: Mapping[str, float], anew: Collection[str] = ()) -> None:
        """directories: run -> its directory. hours: usual time of a run, by its directory's name; others take the
        average. anew: runs that start from scratch, whatever is in their directories."""
        usual = sum(hours.values()) / len(hours) if hours else 1 / 60
        self.directories = directories
        self.minutes = {name: 60 * hours.get(path.name, usual) for name, path in directories.items()}
        self.done = {name: 0.0 if name in anew else self._so_far(name) for name in directories}
        self.bar = tqdm(
            total=sum(self.minutes.values()),
            initial=sum(self.done.values()),
            mininterval=POLL_SECONDS if sys.stderr.isatty() else 60.0,
            dynamic_ncols=True,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} to go",
        )

    def show(self, running: Iterable[str], report: Report) -> None:
        """Update the bar. Runs that failed, or that another process trains, count as done."""
        ended = {*report.finished, *report.busy, *report.failed}
        self.done |= {name: self._so_far(name) for name in running} | {name: self.minutes[name] for name in ended}
        failed = f", {len(report.failed)} failed" if report.failed else ""
        self.bar.set_description_str(f"{len(ended)}/{len(self.directories)} runs{failed}", refresh=False)
        self.bar.update(sum(self.done.values()) - self.bar.n)

    def _so_far(self, name: str) -> float:
        """Its minutes times the share of its steps done, from config.json and the last complete row of metrics.csv."""
        try:
            total = json.loads((self.directories[name] / "config.json").read_bytes())["total_steps"]
            with (self.directories[name] / "metrics.csv").open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
                step = int(file.read().split(b"\n")[-2].split(b",")[0])
            return self.minutes[name] * min(1.0, step / total)
        except (OSError, ValueError, IndexError, KeyError, TypeError, ZeroDivisionError):
            return 0.0  # nothing is there yet
