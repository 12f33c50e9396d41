"""Other processes that tests start, wait for and look at."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def started(*command: str, cwd: Path, **environment: str) -> subprocess.Popen:
    """A command in a process group of its own, which takes a Ctrl-C as in a terminal."""
    return subprocess.Popen(
        command, cwd=cwd, env={**fresh(), "OMP_NUM_THREADS": "1", **environment}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def wait_until(condition: Callable[[], object], process: Any = None) -> None:
    """Wait for as long as it takes, but fail when `process` ends before."""
    while not condition():
        assert process is None or process.poll() is None or condition(), process.communicate()
        time.sleep(0.02)


def members(group: int) -> list[str]:
    """Names of the living processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[2]) == group and rest.split()[0] != "Z":
            found.append(name)
    return found


def metrics(run_dir: Path) -> list[list[str]]:
    """Rows of a run's metrics.csv without the hours."""
    return [line.split(",")[:3] for line in (run_dir / "metrics.csv").read_text().splitlines()]


def fresh() -> dict[str, str]:
    """The environment without the variables of the make that may be running these tests, and without a GPU."""
    own = ("MAKE", "MFLAGS", "SCALE", "JOBS", "DEVICE", "LAUNCHER", "PYTHON", "SEED", "STALE", "TENSORBOARD", "HOURS")
    return {k: v for k, v in os.environ.items() if not k.startswith((*own, "DRY")) and k != "N"} | {
        "CUDA_VISIBLE_DEVICES": ""
    }


def say_gpu(job: bytes, run_dir: Path) -> None:
    """A run that only writes into its log which GPUs it may see."""
    run_dir.mkdir()
    (run_dir / "log.txt").write_text(f"GPU {os.environ.get('CUDA_VISIBLE_DEVICES')}")
