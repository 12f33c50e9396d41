"""Many runs: on the cores of this machine, one process and one thread each, or on a Ray cluster.

A sweep can be stopped and started again at any time: finished runs are skipped, half-done ones go on from their
checkpoints. A run that fails, or whose process dies, leaves the others alone and is reported at the end.
"""

import faulthandler
import importlib
import json
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from multiprocessing import connection, forkserver
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from common.lab.errors import NonFiniteLoss, RunBusy, UserError
from common.lab.runs import run_name
from common.lab.threads import one_thread

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
BUSY_CODE = 75  # EX_TEMPFAIL: exit code of a process whose run is being written by somebody else
POLL_SECONDS = 0.5
GRACE_SECONDS = 3.0
ERROR_LINES = 5


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


class Launcher(Protocol):
    """Starts runs and says which have ended. An outcome is "" (finished), "busy" or the last lines of an error."""

    def start(self, name: str, entry: Entry, run_dir: Path) -> None: ...

    def room(self) -> bool: ...

    def wait(self, seconds: float) -> list[tuple[str, str]]: ...

    def stop(self) -> None: ...


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


# ------------------------------------------------------------------------------------------------ inside a run


def execute(pickled_entry: bytes, run_dir: Path) -> int:
    """Call the run's main with one thread, its output going to <run_dir>/log.txt; returns an exit code.

    The entry comes pickled, so that importing its train script happens here: its output in the log, its errors in the
    report, and not before the number of threads is set.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    with (run_dir / "log.txt").open("ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    faulthandler.enable()  # a segfault leaves its place in the log
    one_thread()
    try:
        entry: Entry = pickle.loads(pickled_entry)
        module, function = entry.target.split(":")
        getattr(importlib.import_module(module), function)(entry.config, run_dir)
        return 0
    except RunBusy:
        return BUSY_CODE
    except (UserError, NonFiniteLoss) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _outcome(code: int, run_dir: Path, log_start: int) -> str:
    """What an exit code means, with the last lines that this attempt wrote to the log."""
    if code == 0:
        return ""
    if code == BUSY_CODE:
        return "busy"
    end = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"{_log_tail(run_dir, log_start)}\n{end}".strip()


def _log_tail(run_dir: Path, log_start: int) -> str:
    """The last lines of a run's log, of those after its byte `log_start`."""
    try:
        with (run_dir / "log.txt").open("rb") as log:
            log.seek(log_start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-ERROR_LINES:])
    except OSError as error:
        return f"no log: {error}"


def _log_size(run_dir: Path) -> int:
    path = run_dir / "log.txt"
    return path.stat().st_size if path.exists() else 0


# ------------------------------------------------------------------------------------------------ local processes


class Local:
    """One process per run, forked from a server that has already imported torch and the train scripts."""

    def __init__(self, entries: list[Entry], jobs: int) -> None:
        self.jobs = jobs
        self.running: dict[str, tuple[Any, Path, int]] = {}
        self.context = multiprocessing.get_context("forkserver")
        modules = sorted({entry.target.split(":")[0] for entry in entries})
        # torch._dynamo: the first optimiser that a process makes imports it, which takes a second
        self.context.set_forkserver_preload(["torch", "torch._dynamo", *modules])
        # The server inherits these when it starts, and its numerical libraries read them only once.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        with _environment(**ONE_THREAD, PYTHONPATH=path):
            forkserver.ensure_running()

    def room(self) -> bool:
        return len(self.running) < self.jobs

    def start(self, name: str, entry: Entry, run_dir: Path) -> None:
        process = self.context.Process(target=_child, args=(pickle.dumps(entry), run_dir), name=name)
        log_start = _log_size(run_dir)
        process.start()
        self.running[name] = process, run_dir, log_start

    def wait(self, seconds: float) -> list[tuple[str, str]]:
        connection.wait([process.sentinel for process, _, _ in self.running.values()], seconds)
        ended = []
        for name, (process, run_dir, log_start) in list(self.running.items()):
            if process.exitcode is not None:
                ended.append((name, _outcome(process.exitcode, run_dir, log_start)))
                process.close()
                del self.running[name]
        return ended

    def stop(self) -> None:
        processes = [process for process, _, _ in self.running.values()]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
            process.kill()
            process.join()


def _child(pickled_entry: bytes, run_dir: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the sweep itself ends its runs
    threading.Thread(target=_follow_parent, daemon=True).start()
    os._exit(execute(pickled_entry, run_dir))  # all is on disk, and clean-up by libraries can hang


def _follow_parent() -> None:
    """A sweep that is killed must not leave runs behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


class _environment:
    """Environment variables for the time of a `with` block."""

    def __init__(self, **values: str) -> None:
        self.values = values

    def __enter__(self) -> None:
        self.before = {name: os.environ.get(name) for name in self.values}
        os.environ.update(self.values)

    def __exit__(self, *_: object) -> None:
        for name, value in self.before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# ------------------------------------------------------------------------------------------------ Ray


class Ray:
    """One Ray task with one core per run; the runs directory must be on a disk that all nodes share."""

    def __init__(self, entries: list[Entry], jobs: int) -> None:
        try:
            import ray
        except ImportError:
            raise UserError("LAUNCHER=ray needs ray: pip install -r requirements-cluster.txt") from None
        self.ray = ray
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.connected_before = ray.is_initialized()
        if not self.connected_before:
            quiet = {"log_to_driver": False, "logging_level": "ERROR"}
            try:
                ray.init(address="auto", **quiet)
            except ConnectionError:  # no cluster: a Ray instance of our own
                ray.init(num_cpus=jobs, include_dashboard=False, **quiet)
        # max_calls: every run gets a fresh process, as it does locally
        self.task = ray.remote(num_cpus=1, max_retries=0, max_calls=1)(_ray_task)
        self.running: dict[Any, tuple[str, Path, int]] = {}

    def room(self) -> bool:
        return True

    def start(self, name: str, entry: Entry, run_dir: Path) -> None:
        reference = self.task.remote(pickle.dumps(entry), run_dir)
        self.running[reference] = name, run_dir, _log_size(run_dir)

    def wait(self, seconds: float) -> list[tuple[str, str]]:
        ready, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=seconds)
        ended = []
        for reference in ready:
            name, run_dir, log_start = self.running.pop(reference)
            try:
                ended.append((name, _outcome(self.ray.get(reference), run_dir, log_start)))
            except self.ray.exceptions.RayError as error:
                ended.append((name, f"{_log_tail(run_dir, log_start)}\nray: {str(error).splitlines()[0]}".strip()))
        return ended

    def stop(self) -> None:
        for reference in self.running:
            self.ray.cancel(reference, force=True)
        if self.running:
            self.ray.wait(list(self.running), num_returns=len(self.running), timeout=GRACE_SECONDS)
        if not self.connected_before:
            self.ray.shutdown()


def _ray_task(pickled_entry: bytes, run_dir: Path) -> int:
    return execute(pickled_entry, run_dir)  # one thread: Ray sets OMP_NUM_THREADS to the task's num_cpus


LAUNCHERS: dict[str, Callable[[list[Entry], int], Launcher]] = {"local": Local, "ray": Ray}


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
