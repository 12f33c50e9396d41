"""Where a sweep's runs are trained: what all launchers share, and the launcher for processes on this machine.

The launchers for clusters are in cluster_ray.py and cluster_slurm.py. Importing this file does not load torch.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from unittest import mock

from lab.run.errors import RunBusy, UserError, expected
from lab.sweep.entry import Entry, Job, train
from lab.sweep.resources import count_gpus, gpu_names, wants_gpu

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
BUSY_CODE = 75  # EX_TEMPFAIL: exit code of a process whose run is being written by another
UNWRITABLE_CODE = 100  # plus the errno: exit code of a process that cannot even write its log
GRACE_SECONDS = 3.0
ERROR_LINES = 5


class Launcher(Protocol):
    """Starts runs and says which have ended. An outcome is "" (finished), "busy" or the last lines of an error."""

    def start(self, name: str, job: Job, run_dir: Path) -> None: ...

    def room(self) -> bool: ...

    def wait(self, seconds: float) -> list[tuple[str, str]]: ...

    def stop(self) -> None: ...


def execute(job: bytes, run_dir: Path) -> int:
    """Call the run's main with one thread and its output sent to <run_dir>/log.txt; returns an exit code.

    The job comes packed (lab.sweep.entry.Job), so its train script is imported here: after the number of threads is
    set, with its output in the log and its errors in the report.
    """
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        with (run_dir / "log.txt").open("ab") as log:
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
    except OSError as error:
        return UNWRITABLE_CODE + (error.errno or 0)
    faulthandler.enable()  # a segfault leaves its place in the log
    from lab.run.threads import one_thread  # loads torch, which a process that only starts runs may not need

    one_thread()
    try:
        train(job, run_dir)
        return 0
    except RunBusy:
        return BUSY_CODE
    except BaseException as trouble:
        last_words, code = expected(trouble) or (traceback.format_exc().strip(), 1)
        try:
            print(last_words, file=sys.stderr, flush=True)
        except OSError as error:
            return UNWRITABLE_CODE + (error.errno or 0)
        return code
    finally:
        with contextlib.suppress(OSError):  # on a full disk, what was printed before is lost
            sys.stdout.flush()


def outcome(code: int, run_dir: Path, log_start: int) -> str:
    """Meaning of an exit code, with the last lines that this attempt wrote to the log."""
    if code == 0:
        return ""
    if code == BUSY_CODE:
        return "busy"
    if code >= UNWRITABLE_CODE:
        return f"cannot write {run_dir}: {os.strerror(code - UNWRITABLE_CODE)}; fix this and rerun the command"
    end = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"{log_tail(run_dir, log_start)}\n{end}".strip()


def log_tail(run_dir: Path, log_start: int) -> str:
    """Last lines of a run's log, from byte `log_start` on."""
    try:
        with (run_dir / "log.txt").open("rb") as log:
            log.seek(log_start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-ERROR_LINES:])
    except OSError as error:
        return f"no log: {error}"


def log_size(run_dir: Path) -> int:
    """Size of a run's log [bytes], where a new attempt's output begins."""
    path = run_dir / "log.txt"
    return path.stat().st_size if path.exists() else 0


class _Running(NamedTuple):
    process: Any
    directory: Path
    log_start: int
    gpu: str  # "" without one


class Local:
    """One process per run, forked from a server that has already imported torch and the train scripts.

    A run with device=cuda gets the GPU with the fewest active runs, through CUDA_VISIBLE_DEVICES, so its settings, name
    and results do not depend on which. Its process starts afresh, as CUDA does not survive a fork. Raises UserError for
    an unavailable device, and on Windows.
    """

    def __init__(self, entries: list[Entry], jobs: int) -> None:
        from lab.run.settings import check_device

        for device in sorted({getattr(entry.config, "device", "cpu") for entry in entries}):
            check_device(device)
        on_gpu = any(map(wants_gpu, entries))
        self.gpus = gpu_names(count_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES")) if on_gpu else []
        self.jobs = jobs
        self.running: dict[str, _Running] = {}
        try:
            from multiprocessing import forkserver
        except ImportError:  # Windows
            raise UserError(
                "runs side by side need POSIX's fork; use WSL, or run the train scripts one by one"
            ) from None
        self.context = multiprocessing.get_context("forkserver")
        modules = sorted({entry.module for entry in entries})
        # torch._dynamo: a process's first optimiser imports it, which takes a second
        self.context.set_forkserver_preload(["torch", "torch._dynamo", "lab.run.preload"])
        # The server inherits these when it starts, and its numerical libraries read them only once.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self.environment = ONE_THREAD | {"PYTHONPATH": path, "PRELOAD": " ".join(modules)}
        if not all(map(wants_gpu, entries)):
            with mock.patch.dict(os.environ, self.environment):
                forkserver.ensure_running()

    def room(self) -> bool:
        return len(self.running) < self.jobs

    def start(self, name: str, job: Job, run_dir: Path) -> None:
        in_use = [run.gpu for run in self.running.values()]
        gpu = min(self.gpus, key=in_use.count) if wants_gpu(job.entry) else ""
        context: Any = multiprocessing.get_context("spawn") if gpu else self.context
        process = context.Process(target=_child, args=(job.packed(), run_dir), name=name)
        run = _Running(process, run_dir, log_size(run_dir), gpu)
        with mock.patch.dict(os.environ, {**self.environment, "CUDA_VISIBLE_DEVICES": gpu} if gpu else {}):
            process.start()
        self.running[name] = run

    def wait(self, seconds: float) -> list[tuple[str, str]]:
        connection.wait([run.process.sentinel for run in self.running.values()], seconds)
        ended = []
        for name, run in list(self.running.items()):
            if run.process.exitcode is not None:
                ended.append((name, outcome(run.process.exitcode, run.directory, run.log_start)))
                run.process.close()
                del self.running[name]
        return ended

    def stop(self) -> None:
        processes = [run.process for run in self.running.values()]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
            process.kill()
            process.join()


def _child(job: bytes, run_dir: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the sweep stops its runs itself
    threading.Thread(target=_follow_parent, daemon=True).start()
    os._exit(execute(job, run_dir))  # everything is on disk, and libraries' clean-up can hang


def _follow_parent() -> None:
    """Die with the parent: a killed sweep must not leave runs behind."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)
