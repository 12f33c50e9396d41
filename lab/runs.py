"""One run: its random streams, its directory, its metrics and its checkpoints.

A run directory holds

    config.json      resolved config and where the numbers come from (versions, commit, machine, threads)
    metrics.csv      step,metric,value,hours: one row per metric and evaluation
    checkpoint.pkl   everything needed to go on, and previous.pkl, the one before it; gone once the run is finished
    weights.pt       final weights, and done.json, the summary; only once the run is finished

A run that was killed and started again writes what it would have written without the kill: `load` cuts metrics.csv
back to the moment of the checkpoint. Times are wall-clock hours over all attempts, and differ from run to run.
"""

import dataclasses
import fcntl
import hashlib
import io
import json
import math
import os
import re
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from lab import checkpoints
from lab.errors import NonFiniteLoss, RunBusy, UserError, guard
from lab.provenance import provenance

HEADER = b"step,metric,value,hours\n"


class Streams:
    """Independent named random streams from one seed, so that no consumer shifts the numbers of another.

    The stream of a name is numpy's SeedSequence([seed, crc32(name)]). Asking twice for a name gives the same stream
    from its start, so every consumer has a name of its own.
    """

    def __init__(self, seed: int) -> None:
        if seed < 0:
            raise UserError(f"seed {seed} is negative; use 0 or more")
        self.seed = seed

    def _sequence(self, name: str) -> np.random.SeedSequence:
        return np.random.SeedSequence([self.seed, zlib.crc32(name.encode())])

    def numpy(self, name: str) -> np.random.Generator:
        """A numpy generator."""
        return np.random.default_rng(self._sequence(name))

    def torch(self, name: str, device: str | torch.device = "cpu") -> torch.Generator:
        """A torch generator on `device`."""
        return torch.Generator(device).manual_seed(self.integer(name))

    def integer(self, name: str) -> int:
        """An integer in [0, 2**31), for env.reset(seed=...) and torch.manual_seed."""
        return int(self._sequence(name).generate_state(1)[0] >> 1)


class Run:
    """Owns a run directory while it is open. Use as a context manager:

    with Run.open(config, run_dir, total_steps=config.steps) as run:
        if run.finished is not None:
            return run.finished
        state = run.load() or fresh_state()
        ...                      # run.log(step, {...}); run.save(state); run.check_finite(step, loss=loss)
        return run.finish({"return": 1.0}, network.state_dict())
    """

    def __init__(
        self, directory: Path, total_steps: int | None, unit: str, score: str, tensorboard: bool, progress: bool
    ) -> None:
        """Not to be called: use Run.open."""
        self.directory = Path(directory)
        self._total_steps, self._unit, self._score = total_steps, unit, score
        self._use_tensorboard, self._use_bar = tensorboard, progress
        self._lock: io.BufferedWriter | None = None
        self._metrics: io.BufferedWriter | None = None
        self._tensorboard: Any = None
        self._bar: tqdm | None = None
        self._step = 0  # of the last row logged
        self._hours = 0.0  # spent before this attempt
        self._start = time.monotonic()

    @classmethod
    def open(
        cls,
        config: Any,
        directory: Path,
        *,
        total_steps: int | None = None,
        unit: str = "step",
        score: str = "return",
        tensorboard: bool = False,
        progress: bool = False,
    ) -> Self:
        """Create or reopen a run directory and lock it; write config.json.

        config: a dataclass instance. For the progress bar: total_steps, what one step is called (`unit`), and the
        metric whose latest value is shown (`score`). Raises UserError when the directory cannot be written or holds a
        run of another config, RunBusy when another process has it open; nothing is overwritten then.
        A finished run is opened without the lock, only to be read.
        """
        run = cls(directory, total_steps, unit, score, tensorboard, progress)
        if run.finished is not None:
            _check_same_config(config, run.directory)
            return run
        try:
            with _writing(run.directory, "choose another place for runs"):
                run.directory.mkdir(parents=True, exist_ok=True)
                run._lock = (run.directory / "lock").open("ab")
                try:
                    fcntl.flock(run._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    busy = f"{run.directory} is being written by another process; wait for it or stop it"
                    raise RunBusy(busy) from None
                _check_same_config(config, run.directory)
                _write_config(config, run.directory, total_steps)
        except BaseException:
            run.close()
            raise
        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the directory back. Called by the `with` statement."""
        for resource in (self._metrics, self._tensorboard, self._bar, self._lock):  # the lock last
            if resource is not None:
                try:
                    resource.close()
                except OSError:  # a full disk has already been reported by log() or save()
                    pass
        self._lock = self._metrics = self._tensorboard = self._bar = None

    @property
    def finished(self) -> dict[str, Any] | None:
        """The summary of a finished run (content of done.json), else None."""
        path = self.directory / "done.json"
        return _read_json(path) if path.exists() else None

    @property
    def hours(self) -> float:
        """Wall-clock hours spent in this run, over all its attempts."""
        return self._hours + (time.monotonic() - self._start) / 3600

    def load(self) -> dict[str, Any] | None:
        """The state of the newest good checkpoint, or None when the run starts from nothing.

        Also cuts metrics.csv back to that moment and restores the elapsed hours, so call it once, before `log`.
        A damaged checkpoint is reported on stderr and the one before it used. Raises UserError when none is good.
        """
        checkpoint = checkpoints.load(self.directory)
        if checkpoint is None:
            checkpoint = {"state": None, "metrics_bytes": 0, "hours": 0.0, "step": 0}
        path, wanted = self.directory / "metrics.csv", checkpoint["metrics_bytes"]
        with _writing(path, "make the directory writable"):
            self._metrics = path.open("ab")
            if self._metrics.tell() < wanted:
                raise UserError(
                    f"{path} has {self._metrics.tell()} bytes, its checkpoint remembers {wanted}; "
                    f"bring the file back or delete {self.directory} to start again"
                )
            self._metrics.truncate(wanted)
            self._metrics.seek(0, os.SEEK_END)
            if wanted == 0:
                self._metrics.write(HEADER)
                self._metrics.flush()
        self._step, self._hours, self._start = checkpoint["step"], checkpoint["hours"], time.monotonic()
        if self._use_tensorboard:
            self._tensorboard = _summary_writer(self.directory / "tensorboard", self._step + 1)
        if self._use_bar:
            self._bar = tqdm(total=self._total_steps, initial=self._step, unit=self._unit, dynamic_ncols=True)
        return checkpoint["state"]

    def log(self, step: int, values: dict[str, float]) -> None:
        """Append one row per metric to metrics.csv, and show the score. Raises UserError (disk full).

        step: environment steps so far, or what else this run counts.
        """
        if self._metrics is None:
            raise RuntimeError("call load() before log()")
        hours = self.hours
        rows = "".join(f"{step},{name},{float(value)!r},{hours:.6f}\n" for name, value in values.items())
        with _writing(self.directory / "metrics.csv", "make room and start again: the run goes on from its checkpoint"):
            self._metrics.write(rows.encode())
            self._metrics.flush()
        self._step = step
        if self._tensorboard is not None:
            for name, value in values.items():
                self._tensorboard.add_scalar(name, float(value), step)
        if self._score in values:
            self.tick(step, **{self._score: values[self._score]})

    def save(self, state: dict[str, Any]) -> None:
        """Write a checkpoint of `state` (any picklable dict: modules, optimisers, generators, replay memories).

        References inside `state` survive (an optimiser keeps its module's parameters); tensors that are views of one
        another become copies. Raises UserError when the disk is full; the checkpoints written before stay good.
        """
        if self._metrics is None:
            raise RuntimeError("call load() before save()")
        with _writing(self.directory / "checkpoint.pkl", "the checkpoint before is intact: make room and start again"):
            os.fsync(self._metrics.fileno())  # the checkpoint must not remember rows that a power cut can take back
            payload = {"metrics_bytes": self._metrics.tell(), "hours": self.hours, "step": self._step, "state": state}
            checkpoints.save(self.directory, payload)

    def tick(self, step: int, **shown: float) -> None:
        """Show progress (with progress=True): steps done and per second, and numbers such as the latest return."""
        if self._bar is None:
            return
        if shown:
            self._bar.set_postfix({name: f"{value:.4g}" for name, value in shown.items()}, refresh=False)
        self._bar.update(step - self._bar.n)

    def check_finite(self, step: int, **losses: float | Tensor) -> None:
        """Raise NonFiniteLoss when a loss is NaN or infinite. Call it where losses are read anyway, before `save`."""
        for name, loss in losses.items():
            value = float(loss.detach() if isinstance(loss, Tensor) else loss)
            if not math.isfinite(value):
                path = self.directory / "checkpoint.pkl"
                last = f"last good checkpoint: {path}" if path.exists() else "no checkpoint was written yet"
                raise NonFiniteLoss(f"{name} is {value} at step {step}; {last}")

    def finish(self, summary: dict[str, Any], weights: dict[str, Tensor] | None = None) -> dict[str, Any]:
        """Write weights.pt (torch.save) and done.json, remove the checkpoints, and return the summary as written."""
        if self._metrics is None:
            raise RuntimeError("call load() before finish()")
        with _writing(self.directory, "make room and start again: the run goes on from its checkpoint"):
            os.fsync(self._metrics.fileno())
            if weights is not None:
                buffer = io.BytesIO()
                torch.save(weights, buffer)
                checkpoints.write_atomically(self.directory / "weights.pt", buffer.getvalue())
            checkpoints.write_atomically(self.directory / "done.json", _json_bytes(summary))
        for name in ("checkpoint.pkl", "previous.pkl"):
            (self.directory / name).unlink(missing_ok=True)
        if self._total_steps is not None:
            self.tick(self._total_steps)
        return _read_json(self.directory / "done.json")


def config_hash(config: Any) -> str:
    """Ten hex digits that name a config: blake2b of its class name and its canonical JSON."""
    text = json.dumps(dataclasses.asdict(config), sort_keys=True, separators=(",", ":"), default=_plain)
    name = f"{module_name(type(config))}.{type(config).__qualname__}"
    return hashlib.blake2b(f"{name} {text}".encode(), digest_size=5).hexdigest()


def run_name(config: Any) -> str:
    """Directory name of a run: env, method, seed and hash of its config."""
    name = f"{config.env}-{config.method}-s{config.seed}-{config_hash(config)}"
    return re.sub(r"[^\w.+-]+", "_", name)  # ids such as ALE/Pong-v5


@contextmanager
def _writing(path: Path, advice: str) -> Iterator[None]:
    """An OSError becomes one line: what could not be written, why, and what to do."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}; {advice}") from error


def module_name(cls: type) -> str:
    """The importable name of the module of `cls`, also when it was started with `python -m`."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if cls.__module__ == "__main__" and spec is not None else cls.__module__


def _plain(value: Any) -> Any:
    """What json does not know: numpy and torch scalars become numbers, paths and enums their text."""
    return value.item() if hasattr(value, "item") else str(value)


def _json_bytes(content: Any) -> bytes:
    return (json.dumps(content, indent=1, default=_plain) + "\n").encode()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise UserError(f"cannot read {path} ({error}); delete {path.parent} to start again") from error


def _check_same_config(config: Any, directory: Path) -> None:
    """Raises UserError naming the first field in which the config in `directory` differs from `config`."""
    path = directory / "config.json"
    if not path.exists():
        return
    there = _flat(_read_json(path)["config"])
    here = _flat(json.loads(_json_bytes(dataclasses.asdict(config))))
    for name in [*here, *there]:
        old, new = there.get(name, "not there"), here.get(name, "not there")
        if old != new:
            raise UserError(
                f"{directory} holds a run with another config: {name} was {old!r} and is now {new!r}; "
                "use the old value or another run directory"
            )


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat.update(_flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value})
    return flat


def _write_config(config: Any, directory: Path, total_steps: int | None) -> None:
    """Write config.json; of a run that goes on, keep where it began and note what has changed since ("resumed")."""
    path, now = directory / "config.json", provenance()
    content = {"config": dataclasses.asdict(config), "total_steps": total_steps, **now}
    begun = any((directory / name).exists() for name in ("checkpoint.pkl", "previous.pkl"))
    if path.exists() and begun:
        content = _read_json(path)
        attempts = [content, *content.get("resumed", [])]
        if all(attempts[-1].get(key) == value for key, value in now.items()):
            return
        content["resumed"] = [*attempts[1:], now]
    checkpoints.write_atomically(path, _json_bytes(content))


def _summary_writer(directory: Path, purge_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError("--tensorboard needs tensorboard: pip install tensorboard==2.21.0") from None
    return SummaryWriter(str(directory), purge_step=purge_step)


@guard
def _main(arguments: list[str]) -> None:
    if len(arguments) != 3 or arguments[0] != "collect":
        raise UserError("usage: python -m lab.runs collect SOURCE_RESULTS TARGET_RESULTS")
    from lab.results import merge_trees  # pandas: a training run does without

    for path in merge_trees(Path(arguments[1]), Path(arguments[2])):
        print(path)


if __name__ == "__main__":
    _main(sys.argv[1:])
