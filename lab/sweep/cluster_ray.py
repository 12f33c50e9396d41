"""LAUNCHER=ray: one task per run on a Ray cluster.

All nodes must see the same checkout with its .venv, at the same path, and the same directory of runs (runs/, with logs
and checkpoints). The cluster is the one that RAY_ADDRESS names, or else the one that this machine belongs to.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.run.errors import UserError
from lab.sweep.launchers import GRACE_SECONDS, execute, log_size, log_tail, outcome
from lab.sweep.resources import BASE_BYTES, JOBS_PER_GPU, refuse_gpu_numbers, replay_needs, wants_gpu

if TYPE_CHECKING:
    from lab.sweep.entry import Entry, Job

CONNECT_SECONDS = 5.0
NO_CLUSTER = "set RAY_ADDRESS, or start one here: ray start --head; LAUNCHER=local needs none"


class Ray:
    """Launcher of Ray tasks. A task asks for one core, one more per actor, its run's memory, and a share of a GPU if
    the run's device is cuda.

    Ray starts tasks as cores, memory and GPUs become free, so it decides how many run at once. Whether a device works
    is checked on the node that runs the task. UserError without ray, without a cluster, or if no node is large enough
    for a run.
    """

    def __init__(self, entries: list[Entry], jobs: int) -> None:
        try:
            import ray
        except ImportError:
            raise UserError("LAUNCHER=ray needs ray: .venv/bin/pip install --group cluster") from None
        refuse_gpu_numbers(entries)
        self.ray: Any = ray
        self.connected_before = ray.is_initialized()
        if not self.connected_before:
            self._connect()
        pairs = zip(entries, replay_needs(entries))
        self.needs = {entry.run_dir(Path()).name: needs_of(entry, replay) for entry, replay in pairs}
        # max_calls: every run gets a fresh process, as it does locally; Ray sets OMP_NUM_THREADS to its num_cpus
        self.task = self.ray.remote(max_retries=0, max_calls=1)(execute)
        self.running: dict[Any, tuple[str, Path, int]] = {}
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        for need in self.needs.values():
            if not fits_a_node(need, nodes):
                self.stop()
                cores = f"{need['num_cpus']:.0f} cores and " if need["num_cpus"] > 1 else ""
                what = ("a GPU and " if need["num_gpus"] else "") + cores + f"{need['memory'] / 1e9:.1f} GB of memory"
                raise UserError(f"no node of the Ray cluster has {what}, which a run needs; add such a node")

    def _connect(self) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        address = os.environ.get("RAY_ADDRESS", "auto")
        if address != "auto":  # Ray itself would keep trying for minutes
            host, _, port = address.removeprefix("ray://").rpartition(":")
            try:
                socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
            except (OSError, ValueError, OverflowError):
                raise UserError(f"no Ray cluster at RAY_ADDRESS={address}: {NO_CLUSTER}") from None
        try:
            self.ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError) as error:
            why = str(error).splitlines()[0].rstrip(".")
            raise UserError(f"no Ray cluster to train on ({why}): {NO_CLUSTER}") from None

    def room(self) -> bool:
        return True

    def start(self, name: str, job: Job, run_dir: Path) -> None:
        reference = self.task.options(**self.needs[run_dir.name]).remote(job.packed(), run_dir)
        self.running[reference] = name, run_dir, log_size(run_dir)

    def wait(self, seconds: float) -> list[tuple[str, str]]:
        ready, _ = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=seconds)
        ended = []
        for reference in ready:
            name, run_dir, log_start = self.running.pop(reference)
            try:
                ended.append((name, outcome(self.ray.get(reference), run_dir, log_start)))
            except self.ray.exceptions.RayError as error:
                ended.append((name, f"{log_tail(run_dir, log_start)}\nray: {str(error).splitlines()[0]}".strip()))
        return ended

    def stop(self) -> None:
        for reference in self.running:
            self.ray.cancel(reference, force=True)
        if self.running:
            self.ray.wait(list(self.running), num_returns=len(self.running), timeout=GRACE_SECONDS)
        if not self.connected_before:
            self.ray.shutdown()


def needs_of(entry: Entry, replay: int) -> dict[str, float]:
    """Resources that a task requests from Ray. replay: memory [bytes] of the run's replay.

    A train script that starts Ray actors must declare their number in a function `ray_actors(config)`.
    """
    module = sys.modules.get(entry.module)  # imported for its Config
    processes = 1 + int(getattr(module, "ray_actors", lambda config: 0)(entry.config))
    gpus = 1 / JOBS_PER_GPU if wants_gpu(entry) else 0
    return {"num_cpus": processes, "num_gpus": gpus, "memory": processes * BASE_BYTES + replay}


def fits_a_node(need: Mapping[str, float], nodes: Iterable[Mapping[str, float]]) -> bool:
    """Whether any single node has all that a task needs; otherwise Ray would let it wait forever."""
    names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
    return any(all(node.get(names[what], 0) >= amount for what, amount in need.items()) for node in nodes)
