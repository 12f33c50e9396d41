"""Memory, disk and GPUs that a sweep's runs need, added up before the first one starts.

A train script with a large replay memory has a function `replay_bytes(config)`: the size [bytes] of the full replay.
A run of a script without one counts as a bare process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from common.replay.storage import available_memory
from lab.run.errors import UserError

if TYPE_CHECKING:
    from lab.sweep.entry import Entry

BASE_BYTES = 500_000_000
"""Memory of a run besides its replay: PyTorch, compiled kernels, networks, an environment; 0.35 GB measured."""
COPIES_ON_DISK = 3
"""Copies of a replay on disk during a save: the checkpoint, the previous one, and the next one's temporary file."""
JOBS_PER_GPU = 4
"""Updates of networks this small wait for kernel launches, not for the GPU, so several processes keep it busier; each
takes half a gigabyte for its CUDA context and a core of its own."""
SLURM_JOBS = 100
"""Jobs that a sweep keeps in SLURM's queue at a time; most sites accept some hundreds per user."""


def replay_needs(entries: Iterable[Entry]) -> list[int]:
    """Memory [bytes] of each entry's full replay; 0 if its script has none or its settings cannot work.

    Runs that differ only in their seeds are computed once.
    """
    known: dict[tuple[str, str], int] = {}
    needs = []
    with _silence():  # sizes need environments, and what these print belongs in the logs of the runs
        for entry in entries:
            key = entry.target, repr(dataclasses.replace(entry.config, seed=0))
            if key not in known:
                module = sys.modules.get(entry.module)  # already imported for its Config, if it exists
                known[key] = 0
                with contextlib.suppress(Exception):  # settings that cannot work: the run itself will say so
                    known[key] = getattr(module, "replay_bytes", lambda config: 0)(entry.config)
            needs.append(known[key])
    return needs


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silence this process's stderr, including output of C libraries."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def check(runs: Sequence[tuple[Entry, Path]], jobs: int, *, memory: bool) -> None:
    """Raise UserError unless any `jobs` of the runs fit at once on the disk and in this machine's memory.

    runs: entries and their directories, whose parents exist. memory: whether to check memory (runs on this machine).
    """
    replays = replay_needs(entry for entry, _ in runs)
    if memory:
        fit([BASE_BYTES + replay for replay in replays], jobs, available_memory(), "memory", "are available")
    root = runs[0][1].parent  # all lie below runs/, on one disk
    there = [sum(path.stat().st_size for path in directory.glob("*.pkl")) for _, directory in runs]
    needs = [max(COPIES_ON_DISK * replay - size, 0) for replay, size in zip(replays, there)]
    fit(needs, jobs, shutil.disk_usage(root).free, "disk", f"are free for checkpoints in {root}")


def fit(needs: Sequence[int], jobs: int, there: int, kind: str, where: str) -> None:
    """Raise UserError unless any `jobs` of the runs, with `needs` [bytes] each, fit into `there` [bytes].

    kind, where: for the message, e.g. "memory" and "are available".
    """
    largest = sorted(needs, reverse=True)[:jobs]
    if sum(largest) <= there:
        return
    if fitting := next((n for n in range(len(largest) - 1, 0, -1) if sum(largest[:n]) <= there), 0):
        most = "up to " if largest[0] > largest[-1] else ""
        runs, advice = f"JOBS={len(largest)} runs of {most}{_gb(largest[0])} need", f"JOBS={fitting} fits"
    else:
        runs, largest, advice = "a run needs", largest[:1], "lower its capacity, or train on a larger machine"
    raise UserError(f"{runs} {_gb(sum(largest))} of {kind}, {_gb(there)} {where}; {advice}")


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f}".removesuffix(".0") + " GB"


def wants_gpu(entry: Entry) -> bool:
    """Whether the run needs a GPU, whichever is free."""
    return getattr(entry.config, "device", "cpu") == "cuda"


def refuse_gpu_numbers(entries: Iterable[Entry]) -> None:
    """Raise UserError for a device such as cuda:1: a cluster chooses the GPU itself."""
    for device in sorted({str(getattr(entry.config, "device", "cpu")) for entry in entries}):
        if device not in ("cpu", "cuda"):
            raise UserError(f"DEVICE={device} does not work on a cluster, which chooses the GPU: use cpu or cuda")


def count_gpus() -> int:
    """Number of GPUs that PyTorch sees from this process."""
    import torch

    return torch.cuda.device_count()


def gpu_names(count: int, visible: str | None) -> list[str]:
    """Names of the `count` GPUs for CUDA_VISIBLE_DEVICES; visible: its value in this process, None if not set."""
    names = [str(i) for i in range(count)] if visible is None else [name.strip() for name in visible.split(",")]
    return names[:count]


def default_jobs(device: str, launcher: str = "local") -> int:
    """Default number of concurrent runs: one per core; on GPUs JOBS_PER_GPU per GPU, but no more than cores.

    SLURM_JOBS in SLURM's queue; Ray decides for itself.
    """
    if launcher == "slurm":
        return SLURM_JOBS
    cores = os.cpu_count() or 1
    return min(cores, JOBS_PER_GPU * count_gpus()) if device == "cuda" and launcher == "local" else cores
