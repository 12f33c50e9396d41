"""LAUNCHER=slurm: one job per run, submitted with sbatch through submitit.

All nodes must see the same checkout with its .venv, at the same path, and the same directory of runs (runs/, with logs
and checkpoints). SLURM's accounting (sacct) must be on: it says which jobs have died.

A job asks for one core, one GPU if the run's device is cuda, its run's memory, and HOURS of time. If your site needs
more or something else, set the variables that sbatch reads itself; they take precedence over a job's script:
SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_QOS, SBATCH_CONSTRAINT, SBATCH_TIMELIMIT, SBATCH_MEM_PER_NODE, SBATCH_GRES.
A run that reaches its time limit is reported as failed; rerun the command to resume from its checkpoint.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.run.errors import UserError
from lab.sweep.launchers import ERROR_LINES, GRACE_SECONDS, execute, log_size, log_tail, outcome
from lab.sweep.resources import BASE_BYTES, refuse_gpu_numbers, replay_needs, wants_gpu

if TYPE_CHECKING:
    from lab.sweep.entry import Entry, Job

CLUSTER = "slurm"
"""submitit's executor; tests use its "local" one in place of SLURM."""
HOURS = 24
POLL_SECONDS = 2.0
"""Between two looks at the jobs' files, which lie on a shared disk."""


class Slurm:
    """Launcher of SLURM jobs, with at most `jobs` in the queue at a time. The logs of SLURM and submitit go to
    <runs>/slurm, a run's own output to its log.txt, as everywhere.

    UserError without submitit or SLURM, and if sbatch refuses a job.
    """

    def __init__(self, entries: list[Entry], jobs: int) -> None:
        try:
            import submitit
        except ImportError:
            raise UserError("LAUNCHER=slurm needs submitit: .venv/bin/pip install --group cluster") from None
        if CLUSTER == "slurm":
            _check_slurm()
        refuse_gpu_numbers(entries)
        self.submitit: Any = submitit
        self.jobs = jobs
        pairs = zip(entries, replay_needs(entries))
        self.asks = {entry.run_dir(Path()).name: ask_for(entry, replay) for entry, replay in pairs}
        self.running: dict[str, tuple[Any, Path, int]] = {}

    def room(self) -> bool:
        return len(self.running) < self.jobs

    def start(self, name: str, job: Job, run_dir: Path) -> None:
        with ThreadPoolExecutor(1) as thread:  # Ctrl-C waits for it: a job must be known to be cancelled
            thread.submit(self._submit, name, job, run_dir).result()

    def _submit(self, name: str, job: Job, run_dir: Path) -> None:
        executor = self.submitit.AutoExecutor(run_dir.parent / "slurm", cluster=CLUSTER)
        executor.update_parameters(name=run_dir.name, **self.asks[run_dir.name])
        log_start = log_size(run_dir)
        try:
            self.running[name] = executor.submit(_job, job.packed(), run_dir), run_dir, log_start
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            raise UserError(f"sbatch refused a job: {why}; SBATCH_PARTITION and the like change what jobs request, "
                            "JOBS limits how many are in the queue") from None  # fmt: skip

    def wait(self, seconds: float) -> list[tuple[str, str]]:
        deadline = time.monotonic() + max(seconds, POLL_SECONDS)
        while not (done := [name for name, (job, _, _) in self.running.items() if job.done()]):
            if time.monotonic() >= deadline:
                break
            time.sleep(POLL_SECONDS)
        return [(name, self._outcome(*self.running.pop(name))) for name in done]

    def _outcome(self, job: Any, run_dir: Path, log_start: int) -> str:
        """As `launchers.outcome`; for a job that died, the last lines of the run's log, or else of SLURM's."""
        try:
            return outcome(job.result(), run_dir, log_start)
        except self.submitit.core.utils.UncompletedJobError:
            of_slurm = "\n".join((job.stderr() or "").splitlines()[-ERROR_LINES:])
            said = log_tail(run_dir, log_start) if log_size(run_dir) > log_start else of_slurm
            return f"{said}\nslurm: job {job.job_id} ended without a result ({job.state})".strip()

    def stop(self) -> None:
        jobs = [job for job, _, _ in self.running.values()]
        left = []
        for job in jobs:
            try:
                job.cancel()
            except (OSError, subprocess.SubprocessError):
                left.append(job.job_id)
        if left:
            print(f"cannot cancel jobs; run: scancel {' '.join(left)}", file=sys.stderr)
        deadline = time.monotonic() + GRACE_SECONDS
        while not all(job.done() for job in jobs) and time.monotonic() < deadline:
            time.sleep(0.1)


def ask_for(entry: Entry, replay: int) -> dict[str, Any]:
    """Resources that a run's job requests, in submitit's names. replay: memory [bytes] of the run's replay."""
    gigabytes = math.ceil((BASE_BYTES + replay) / 1e9) + 1  # SLURM kills a job at the first byte above
    asked = {"mem_gb": gigabytes, "cpus_per_task": 1, "timeout_min": 60 * HOURS}
    return asked | ({"gpus_per_node": 1} if wants_gpu(entry) else {})


def _check_slurm() -> None:
    """Raise UserError unless this machine can submit jobs and read their status."""
    if not (shutil.which("sbatch") and shutil.which("srun")):
        raise UserError("LAUNCHER=slurm needs sbatch: start on a login node of the cluster; LAUNCHER=local trains here")
    try:
        done = subprocess.run(["sacct", "--noheader", "--allocations"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"LAUNCHER=slurm needs SLURM's accounting: sacct does not answer ({error})") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UserError(f"LAUNCHER=slurm needs SLURM's accounting: sacct says {why}")


def _job(job: bytes, run_dir: Path) -> int:
    for number in (signal.SIGUSR2, signal.SIGTERM, signal.SIGCONT):
        # submitit would requeue the job at its time limit, though nobody waits for it, and ignore the other signals
        signal.signal(number, signal.SIG_DFL)
    ours = os.dup(1), os.dup(2)
    try:
        return execute(job, run_dir)
    finally:  # submitit's further output does not belong to the run
        for stream, kept in zip((1, 2), ours):
            os.dup2(kept, stream)
