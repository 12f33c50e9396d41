"""Many runs: on the cores of this machine, one process and one thread each, or on a Ray cluster.

A sweep can be stopped and started again at any time: finished runs are skipped, half-done ones go on from their
checkpoints. A run that fails, or whose process dies, leaves the others alone and is reported at the end.
"""

import json
import os
import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from common.lab.errors import UserError
from common.lab.launchers import LAUNCHERS, Launcher
from common.lab.runs import run_name

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Entry:
    """One run of an experiment. method, env, seed: labels in the results. target: "module:function" with the
    signature main(config, run_dir, *, tensorboard=False, progress=False). config: its dataclass."""

    method: str
    env: str
    seed: int
    target: str
    config: Any

    def run_dir(self, runs_root: Path) -> Path:
        """Named after the config alone, so that a config shared by two experiments is one run."""
        return Path(runs_root) / run_name(self.config)


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
    """Train what is not finished yet, `jobs` runs at a time, and say on stderr what became of it.

    launcher: "local", or "ray" for the cluster that RAY_ADDRESS names (without one, a Ray instance of `jobs` cores on
    this machine); a cluster decides itself how many runs go at once. The output of a run goes to <run_dir>/log.txt.
    Ctrl-C stops all runs and sets Report.interrupted. Raises UserError: unknown launcher, no ray, unwritable
    directory; errors of runs are never raised, they are in Report.failed.
    """
    if jobs < 1:
        raise UserError(f"JOBS={jobs} leaves nothing to work with; use 1 or more")
    if launcher not in LAUNCHERS:
        raise UserError(f"unknown LAUNCHER={launcher}; use one of {', '.join(LAUNCHERS)}")
    runs_root = Path(runs_root).resolve()
    try:
        runs_root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {runs_root}: {error.strerror}; choose another place for runs") from error

    report = Report()
    todo: dict[str, tuple[Entry, Path]] = {}
    for entry in entries:
        directory = entry.run_dir(runs_root)
        if directory.name in todo or directory.name in report.skipped:
            continue
        if (directory / "done.json").exists():
            report.skipped.append(directory.name)
        else:
            todo[directory.name] = entry, directory
    if todo:
        _train(todo, LAUNCHERS[launcher]([entry for entry, _ in todo.values()], jobs), report)
    _tell(report, runs_root)
    return report


def _train(todo: dict[str, tuple[Entry, Path]], workers: Launcher, report: Report) -> None:
    waiting: deque[str] = deque(todo)
    running: list[str] = []
    with _Progress({name: directory for name, (_, directory) in todo.items()}) as progress:
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


def _tell(report: Report, runs_root: Path) -> None:
    counts = [f"{len(report.finished)} finished", f"{len(report.skipped)} finished before"]
    counts += [f"{len(report.busy)} busy elsewhere"] if report.busy else []
    counts += [f"{len(report.failed)} failed"] if report.failed else []
    print(f"runs: {', '.join(counts)}", file=sys.stderr)
    for name, error in report.failed.items():
        print(f"failed: {name} (see {runs_root / name / 'log.txt'})", file=sys.stderr)
        print("\n".join(f"    {line}" for line in error.splitlines()), file=sys.stderr)
    if report.interrupted:
        print("interrupted: the same command again resumes all runs from their checkpoints", file=sys.stderr)


# ------------------------------------------------------------------------------------------------ progress


class _Progress:
    """One bar over the steps of all runs. Steps done are read from metrics.csv, totals from config.json."""

    def __init__(self, directories: dict[str, Path]) -> None:
        self.directories = directories
        self.totals: dict[str, int] = {}
        self.steps = {name: _last_step(directory) for name, directory in directories.items()}
        self.bar = tqdm(
            total=None,
            initial=sum(self.steps.values()),
            unit="step",
            unit_scale=True,
            smoothing=0.0,  # the ETA follows the mean speed: runs differ, and so does the speed of the moment
            mininterval=POLL_SECONDS if sys.stderr.isatty() else 60.0,
            dynamic_ncols=True,
        )

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def show(self, seen: list[str], report: Report) -> None:
        """Bring the bar up to date. seen: the runs that may have got further since the last call."""
        for name in seen:
            self.steps[name] = _last_step(self.directories[name])
            if total := _total_steps(self.directories[name]):
                self.totals[name] = self.steps[name] if name in report.failed or name in report.busy else total
            if name in report.finished:
                self.steps[name] = self.totals.get(name, self.steps[name])
        if self.totals:  # runs that have not begun count as the mean of those that have
            self.bar.total = round(sum(self.totals.values()) * len(self.directories) / len(self.totals))
        ended = len(report.finished) + len(report.busy) + len(report.failed)
        failed = f", {len(report.failed)} failed" if report.failed else ""
        self.bar.set_description(f"{ended}/{len(self.directories)} runs{failed}", refresh=False)
        self.bar.update(sum(self.steps.values()) - self.bar.n)


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
