"""Many runs: on the cores of this machine, one process and one thread each, or on a Ray cluster.

A sweep can be stopped and started again at any time: finished runs are skipped, half-done ones go on from their
checkpoints. A run that fails, or whose process dies, leaves the others alone and is reported at the end.
"""

import json
import os
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lab import resources
from lab.cluster_ray import Ray
from lab.cluster_slurm import Slurm
from lab.entry import Entry
from lab.errors import UserError
from lab.launchers import LAUNCHERS, Launcher, Local

POLL_SECONDS = 0.5
MAKERS: dict[str, Callable[[list[Entry], int], Launcher]] = dict(zip(LAUNCHERS, (Local, Ray, Slurm), strict=True))
PRIOR_MINUTES = 3.0  # of work per process at the usual speed that an estimate of the remaining time starts from


@dataclass
class Report:
    """What became of a sweep's runs, by run name. failed maps to the last lines of the error."""

    finished: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    busy: list[str] = field(default_factory=list)  # being written by another sweep, which will finish them

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, 1 when a run failed, else 0."""
        return 130 if self.interrupted else 1 if self.failed else 0


def run_entries(entries: Iterable[Entry], runs_root: Path, *, jobs: int, launcher: str = "local") -> Report:
    """`sweep` of runs that all lie in one directory."""
    return sweep({runs_root: entries}, jobs=jobs, launcher=launcher)


def sweep(
    work: Mapping[Path, Iterable[Entry]],
    *,
    jobs: int,
    launcher: str = "local",
    hours: Mapping[str, float] | None = None,
    longest_first: bool = False,
) -> Report:
    """Train what is not finished yet, `jobs` runs at a time, and say on stderr what became of it.

    work: directory of runs -> the entries that belong there. launcher: "local"; "ray" for the cluster that RAY_ADDRESS
    names or that this machine belongs to, which decides itself how many runs go at once; "slurm" for a job per run, at
    most `jobs` of them in the queue at a time. hours: how long a run usually takes, by run name, for the progress bar;
    the average for others. longest_first: begin with the runs that usually take longest; else in the order given.
    The output of a run goes to <run_dir>/log.txt. Ctrl-C stops all runs and sets Report.interrupted. Raises UserError:
    unknown launcher, no cluster, too little memory or disk, unwritable directory; errors of runs are never raised, they
    are in Report.failed.
    """
    if jobs < 1:
        raise UserError(f"JOBS={jobs} leaves nothing to work with; use 1 or more")
    if launcher not in LAUNCHERS:
        raise UserError(f"unknown LAUNCHER={launcher}; use one of {', '.join(LAUNCHERS)}")
    report = Report()
    todo: dict[str, tuple[Entry, Path]] = {}
    for runs_root, entries in work.items():
        runs_root = Path(runs_root).resolve()
        try:
            runs_root.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=runs_root).close()
        except OSError as error:
            raise UserError(f"cannot write {runs_root}: {error.strerror}; choose another place for runs") from error
        for entry in entries:
            directory = entry.run_dir(runs_root)
            if directory.name in todo or directory.name in report.skipped:
                continue
            if (directory / "done.json").exists():
                report.skipped.append(directory.name)
            else:
                todo[directory.name] = entry, directory
    hours = hours or {}
    if longest_first and hours:
        usual = sum(hours.values()) / len(hours)
        todo = dict(sorted(todo.items(), key=lambda item: -hours.get(item[0], usual)))
    if todo:
        directories = {name: directory for name, (_, directory) in todo.items()}
        resources.check(todo.values(), jobs, memory=launcher == "local")
        workers = MAKERS[launcher]([entry for entry, _ in todo.values()], jobs)
        with Progress(directories, hours, jobs) as progress:
            _train(todo, workers, report, progress)
    _tell(report, {name: directory for name, (_, directory) in todo.items()})
    return report


def _train(todo: dict[str, tuple[Entry, Path]], workers: Launcher, report: Report, progress: "Progress") -> None:
    waiting: deque[str] = deque(todo)
    running: list[str] = []
    try:
        while waiting or running:
            while waiting and workers.room():
                name = waiting.popleft()
                workers.start(name, *todo[name])
                running.append(name)
            seen = list(running)
            for name, outcome in workers.wait(POLL_SECONDS):
                running.remove(name)
                if outcome == "":
                    report.finished.append(name)
                elif outcome == "busy":
                    report.busy.append(name)
                else:
                    report.failed[name] = outcome
            progress.show(seen, report)
    except KeyboardInterrupt:
        report.interrupted = True
    finally:
        workers.stop()


def _tell(report: Report, directories: dict[str, Path]) -> None:
    counts = [f"{len(report.finished)} finished", f"{len(report.skipped)} finished before"]
    counts += [f"{len(report.busy)} busy elsewhere"] if report.busy else []
    counts += [f"{len(report.failed)} failed"] if report.failed else []
    print(f"runs: {', '.join(counts)}", file=sys.stderr)
    for name, error in report.failed.items():
        print(f"failed: {name} (see {directories[name] / 'log.txt'})", file=sys.stderr)
        print("\n".join(f"    {line}" for line in error.splitlines()), file=sys.stderr)
    if report.interrupted:
        print("interrupted: the same command again resumes all runs from their checkpoints", file=sys.stderr)


# ------------------------------------------------------------------------------------------------ progress


class Progress:
    """One bar over the work of all runs, and how long it will still take.

    Runs of different papers differ a hundredfold in the time of a step, so the bar counts the minutes that each run
    usually takes, and of these the share of steps that it has done (metrics.csv, total in config.json). The estimate
    starts from the usual speed and follows the speed seen here, more and more as work gets done.
    """

    def __init__(self, directories: Mapping[str, Path], hours: Mapping[str, float], jobs: int) -> None:
        """directories: run name -> its directory. hours: what runs usually take. jobs: runs at a time."""
        known = [hours[name] for name in directories if name in hours]
        usual = sum(known) / len(known) if known else 1 / 60
        self.directories = directories
        self.minutes = {name: 60 * hours.get(name, usual) for name in directories}
        self.shares = {name: _share_done(directory) for name, directory in directories.items()}
        self.bar = _Bar(
            total=sum(self.minutes.values()),
            initial=self.done,
            mininterval=POLL_SECONDS if sys.stderr.isatty() else 60.0,
            dynamic_ncols=True,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} to go",
        )
        self.bar.prior = (PRIOR_MINUTES * min(jobs, len(directories)), min(jobs, len(directories))) if known else (0, 0)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    @property
    def done(self) -> float:
        """Minutes of work done, also by earlier sweeps."""
        return sum(minutes * self.shares[name] for name, minutes in self.minutes.items())

    def show(self, seen: list[str], report: Report) -> None:
        """Bring the bar up to date. seen: the runs that may have got further since the last call."""
        for name in seen:
            self.shares[name] = 1.0 if name in report.finished else _share_done(self.directories[name])
            if name in report.busy or name in report.failed:  # what this sweep will not do is no work of its own
                self.minutes[name] *= self.shares[name]
                self.shares[name] = 1.0
        self.bar.total = sum(self.minutes.values())
        ended = len(report.finished) + len(report.busy) + len(report.failed)
        failed = f", {len(report.failed)} failed" if report.failed else ""
        self.bar.set_description_str(f"{ended}/{len(self.directories)} runs{failed}", refresh=False)
        self.bar.update(self.done - self.bar.n)


class _Bar(tqdm):
    """A bar whose speed starts from a prior: (minutes of work, how many of them are usually done in a minute)."""

    prior: tuple[float, float] = (0.0, 0.0)

    @property
    def format_dict(self) -> dict[str, Any]:
        """What tqdm prints; the rate is in units per second."""
        values = super().format_dict
        work, speed = self.prior
        seconds = values["elapsed"] + (60 * work / speed if speed else 0.0)
        done = self.n - self.initial + work
        return values | {"rate": done / seconds if done and seconds else None}


def _share_done(run_dir: Path) -> float:
    total = _total_steps(run_dir)
    return min(1.0, _last_step(run_dir) / total) if total else 0.0


def _last_step(run_dir: Path) -> int:
    """Step of the last whole row of metrics.csv, 0 when there is none yet."""
    try:
        with (run_dir / "metrics.csv").open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            rows = file.read().split(b"\n")
        return int(rows[-2].split(b",")[0])
    except (OSError, ValueError, IndexError):
        return 0


def _total_steps(run_dir: Path) -> int | None:
    try:
        return json.loads((run_dir / "config.json").read_bytes()).get("total_steps")
    except (OSError, ValueError):
        return None
