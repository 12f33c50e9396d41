"""Where the runs of a sweep are trained: in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import connection, forkserver
from pathlib import Path
from typing import Any, Protocol

from lab.entry import Entry, Job, train
from lab.errors import UNWRITABLE, NonFiniteLoss, RunBusy, UserError
from lab.threads import one_thread

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
BUSY_CODE = 75  # EX_TEMPFAIL: exit code of a process whose run is being written by somebody else
UNWRITABLE_CODE = 74  # EX_IOERR: of a process that could not even say in its log what is wrong
GRACE_SECONDS = 3.0
ERROR_LINES = 5


class Launcher(Protocol):
    """Starts runs and says which have ended. An outcome is "" (finished), "busy" or the last lines of an error."""

    def start(self, name: str, job: Job, run_dir: Path) -> None: ...

    def room(self) -> bool: ...

    def wait(self, seconds: float) -> list[tuple[str, str]]: ...

    def stop(self) -> None: ...


# ------------------------------------------------------------------------------------------------ inside a run


def execute(job: bytes, run_dir: Path) -> int:
    """Call the run's main with one thread, its output going to <run_dir>/log.txt; returns an exit code.

    The job comes packed (lab.entry.Job), so that importing its train script happens here: its output in the log, its
    errors in the report, and not before the number of threads is set.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        with (run_dir / "log.txt").open("ab") as log:
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
    except OSError:
        return UNWRITABLE_CODE
    faulthandler.enable()  # a segfault leaves its place in the log
    one_thread()
    try:
        train(job, run_dir)
        return 0
    except RunBusy:
        return BUSY_CODE
    except (UserError, NonFiniteLoss) as error:
        return _last_words(f"error: {error}", 2)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            return _last_words(traceback.format_exc().strip(), 1)
        where = f" {error.filename}" if error.filename else ""
        return _last_words(f"error: cannot write{where}: {error.strerror}; start again when it can be written", 2)
    except BaseException:
        return _last_words(traceback.format_exc().strip(), 1)
    finally:
        with contextlib.suppress(OSError):  # what was printed before is lost where the disk is full
            sys.stdout.flush()


def _last_words(text: str, code: int) -> int:
    """Put `text` at the end of the log; returns `code`, or UNWRITABLE_CODE where the log cannot be written either."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        return UNWRITABLE_CODE
    return code


def _outcome(code: int, run_dir: Path, log_start: int) -> str:
    """What an exit code means, with the last lines that this attempt wrote to the log."""
    if code == 0:
        return ""
    if code == BUSY_CODE:
        return "busy"
    if code == UNWRITABLE_CODE:
        return f"cannot write {run_dir}: {_why_unwritable(run_dir)}; start again when it can be written"
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


def _why_unwritable(run_dir: Path) -> str:
    """What the system says when a few bytes are written to the run's log."""
    try:
        with (run_dir / "log.txt").open("ab") as log:
            log.write(b"the log could not be written for a while\n")
    except OSError as error:
        return error.strerror or str(error)
    return "it could not be written for a while"


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
        modules = sorted({entry.module for entry in entries})
        # torch._dynamo: the first optimiser that a process makes imports it, which takes a second
        self.context.set_forkserver_preload(["torch", "torch._dynamo", "lab.preload"])
        # The server inherits these when it starts, and its numerical libraries read them only once.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        with _environment(**ONE_THREAD, PYTHONPATH=path, PRELOAD=" ".join(modules)):
            forkserver.ensure_running()

    def room(self) -> bool:
        return len(self.running) < self.jobs

    def start(self, name: str, job: Job, run_dir: Path) -> None:
        process = self.context.Process(target=_child, args=(job.packed(), run_dir), name=name)
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


def _child(job: bytes, run_dir: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the sweep itself ends its runs
    threading.Thread(target=_follow_parent, daemon=True).start()
    os._exit(execute(job, run_dir))  # all is on disk, and clean-up by libraries can hang


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

    def start(self, name: str, job: Job, run_dir: Path) -> None:
        reference = self.task.remote(job.packed(), run_dir)
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


def _ray_task(job: bytes, run_dir: Path) -> int:
    return execute(job, run_dir)  # one thread: Ray sets OMP_NUM_THREADS to the task's num_cpus


LAUNCHERS: dict[str, Callable[[list[Entry], int], Launcher]] = {"local": Local, "ray": Ray}
