"""What the runs of a sweep take of a machine, added up before the first one starts: memory, disk, GPUs.

A train script whose replay memory is large has a function `replay_bytes(config)`: the memory [bytes] of the full
replay. A run of a script without one counts as a process and nothing else.
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
"""A run's process beside its replay: PyTorch, compiled kernels, networks, an environment; 0.35 GB were measured."""
COPIES_ON_DISK = 3
"""Of a replay, while it is saved: the checkpoint, the one before, and the temporary file of the next."""
JOBS_PER_GPU = 4
"""An update of networks this small waits for its launches, not for the GPU: several processes keep it busier, and each
has a CUDA context of half a gigabyte and needs a core of its own."""
SLURM_JOBS = 100
"""Jobs that a sweep has in SLURM's queue at a time: most sites accept some hundreds per user."""


def replay_needs(entries: Iterable[Entry]) -> list[int]:
    """Memory [bytes] of each entry's full replay; 0 where its script has none, or where its settings cannot work.

    Seeds do not matter, so that runs which differ in nothing else are asked for once.
    """
    known: dict[tuple[str, str], int] = {}
    needs = []
    with _silence():  # environments are made to know their sizes: what they print belongs in the logs of the runs
        for entry in entries:
            key = entry.target, repr(dataclasses.replace(entry.config, seed=0))
            if key not in known:
                module = sys.modules.get(entry.module)  # imported for its Config; else there is nothing to ask
                known[key] = 0
                with contextlib.suppress(Exception):  # settings that cannot work: the run itself will say so
                    known[key] = getattr(module, "replay_bytes", lambda config: 0)(entry.config)
            needs.append(known[key])
    return needs


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Without the standard error of this process, that of libraries in C included."""
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
    """Raise UserError unless any `jobs` of the runs fit side by side onto the disk, and into this machine's memory.

    runs: entries and their directories, whose parents exist. memory: whether they are to run on this machine.
    """
    replays = replay_needs(entry for entry, _ in runs)
    if memory:
        fit([BASE_BYTES + replay for replay in replays], jobs, available_memory(), "memory", "are available")
    root = runs[0][1].parent  # all lie below runs/, on one disk
    there = [sum(path.stat().st_size for path in directory.glob("*.pkl")) for _, directory in runs]
    needs = [max(COPIES_ON_DISK * replay - size, 0) for replay, size in zip(replays, there)]
    fit(needs, jobs, shutil.disk_usage(root).free, "disk", f"are free for checkpoints in {root}")


def fit(needs: Sequence[int], jobs: int, there: int, kind: str, where: str) -> None:
    """Raise UserError unless any `jobs` of the runs, which need so many bytes each, fit into the bytes that are there.

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
    """Whether the run is to have a GPU, whichever there is."""
    return getattr(entry.config, "device", "cpu") == "cuda"


def refuse_gpu_numbers(entries: Iterable[Entry]) -> None:
    """UserError for a device such as cuda:1: which GPU of which node a run gets is for a cluster to say."""
    for device in sorted({str(getattr(entry.config, "device", "cpu")) for entry in entries}):
        if device not in ("cpu", "cuda"):
            raise UserError(f"DEVICE={device} does not work on a cluster, which chooses the GPU: use cpu or cuda")


def count_gpus() -> int:
    """GPUs that PyTorch sees from this process."""
    import torch

    return torch.cuda.device_count()


def gpu_names(count: int, visible: str | None) -> list[str]:
    """What CUDA_VISIBLE_DEVICES calls each of the `count` GPUs; visible: its value in this process, None if not set."""
    names = [str(i) for i in range(count)] if visible is None else [name.strip() for name in visible.split(",")]
    return names[:count]


def default_jobs(device: str, launcher: str = "local") -> int:
    """How many runs go at once where nobody says: one per core; on GPUs JOBS_PER_GPU each, but no more than cores.

    In SLURM's queue SLURM_JOBS; Ray decides for itself.
    """
    if launcher == "slurm":
        return SLURM_JOBS
    cores = os.cpu_count() or 1
    return min(cores, JOBS_PER_GPU * count_gpus()) if device == "cuda" and launcher == "local" else cores
