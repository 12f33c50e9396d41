"""One run: its random streams, its directory, its metrics and its checkpoints.

A run directory holds

    config.json      resolved config and where the numbers come from (versions, commit, machine, threads)
    metrics.csv      step,metric,value,hours: one row per metric and evaluation
    checkpoint.pkl   everything needed to resume, and previous.pkl, the one before it; deleted once the run is finished
    weights.pt       final weights, and done.json, the summary; only once the run is finished

A run that is killed and restarted writes what an undisturbed run would, except for the hours. A checkpoint is a pickle,
and loading it can execute any code: another user's is refused until it is copied.
"""

import dataclasses
import io
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import torch
from filelock import FileLock, Timeout
from torch import Tensor
from tqdm import tqdm

from lab.run import checkpoints
from lab.run.errors import NonFiniteLoss, RunBusy, UserError
from lab.run.identity import CHECKPOINTS, attempts, difference, json_bytes, module_name, read_json, state
from lab.run.provenance import code, surroundings
from lab.run.settings import check
from lab.run.sources import changes
from lab.run.streams import Streams as Streams  # train scripts take both from here
from lab.run.writers import TensorBoard, WeightsAndBiases, Writer, opened

HEADER = b"step,metric,value,hours\n"
T = TypeVar("T")
RESUMES = "free space and rerun: the run resumes from its checkpoint"


def execute(
    config: Any,
    run_dir: Path,
    train: Callable[["Run", T], dict[str, Any]],
    make: Callable[[Any], T] = lambda config: config,
    *,
    total: Callable[[T], int] | None = None,
    unit: str = "step",
    score: str = "return",
    tensorboard: bool = False,
    track: bool = False,
    progress: bool = False,
) -> dict[str, Any]:
    """Train as `config` says, or resume the run in `run_dir`; returns its summary, at once if it is finished.

    make: creates the trainer from the config; `run.save(trainer)` pickles it whole. By default, `train` gets the config
    itself. train: the loop, from the trainer's current state to the end:

        def train(run: Run, trainer: Trainer) -> dict:
            while trainer.t < trainer.config.steps:
                ...                  # run.tick(step); run.check_finite(step, loss=loss); run.log(step, {...})
                run.save(trainer)
            return run.finish({"steps": trainer.t, **run.last}, trainer.network.state_dict())

    total: length of the progress bar, in `unit`s; None: config.steps. score: the metric that it shows. tensorboard,
    track: also show metrics in TensorBoard, in Weights & Biases; see lab/run/writers.py. Raises UserError
    for settings that cannot work, and for a `run_dir` that cannot be written or belongs to another run.
    """
    check(config)
    trainer = make(config)  # before the run directory is created: settings that it rejects leave none behind
    shown: Any = dict(total_steps=total(trainer) if total else config.steps, unit=unit, score=score)
    with Run.open(config, run_dir, **shown, tensorboard=tensorboard, track=track, progress=progress) as run:
        if run.finished is not None:
            return run.finished
        if (begun := run.load()) is not None:
            trainer = begun
        del begun
        return train(run, trainer)


@dataclasses.dataclass
class Run:
    """An open run directory. Scripts do not open one themselves; they call `execute`."""

    directory: Path
    total_steps: int | None = None
    """For the progress bar, like `unit`, the name of a step, and `score`, the metric shown."""
    unit: str = "step"
    score: str = "return"
    tensorboard: bool = False
    track: bool = False
    """Whether metrics are shown in TensorBoard and in Weights & Biases, too."""
    progress: bool = False

    def __post_init__(self) -> None:
        self._lock: FileLock | None = None
        self._metrics: io.BufferedWriter | None = None
        self._writers: list[Writer] = []
        self._config: Any = None
        self._bar: tqdm | None = None
        self.last: dict[str, float] = {}
        """The values logged last, even if before an interruption."""
        self._step = 0  # of the last row logged
        self._hours = 0.0  # spent before this attempt
        self._start = time.monotonic()

    @classmethod
    def open(cls, config: Any, directory: Path, **how: Any) -> Self:
        """Create or reopen a run directory, lock it and write config.json. A finished run is only read, without the
        lock.

        config: a dataclass instance. how: fields of this class. Raises UserError if the directory cannot be written or
        holds a run of another config, RunBusy if another process has it open; neither overwrites anything.
        """
        run = cls(Path(directory), **how)
        run._config = config
        origin = code(module_name(type(config)))
        if run.finished is not None:
            _check_same_config(config, run.directory)
            if (found := state(run.directory, config, origin["files"])).reason:
                print(f"warning: {run.directory} was finished with other code: {found.reason}", file=sys.stderr)
            return run
        try:
            with _writing(run.directory, "choose another place for runs"):
                run.directory.mkdir(parents=True, exist_ok=True)
                run._lock = _lock(run.directory)
                _check_same_config(config, run.directory)
                for left in run.directory.glob("*.tmp"):  # by a process killed while writing
                    left.unlink(missing_ok=True)
                _write_config(config, run.directory, run.total_steps, {**origin, **surroundings()})
        except BaseException:
            run.close()
            raise
        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the directory. Called by the `with` statement."""
        for resource in (self._metrics, *self._writers, self._bar):
            if resource is not None:
                with suppress(OSError):  # a full disk has already been reported by log() or save()
                    resource.close()
        if self._lock is not None:
            self._lock.release()
        self._lock = self._metrics = self._bar = None
        self._writers = []

    @property
    def finished(self) -> dict[str, Any] | None:
        """The summary of a finished run (content of done.json), else None."""
        path = self.directory / "done.json"
        return read_json(path) if path.exists() else None

    @property
    def hours(self) -> float:
        """Wall-clock hours spent in this run, over all its attempts."""
        return self._hours + (time.monotonic() - self._start) / 3600

    def load(self) -> Any:
        """Return the state of the newest good checkpoint (see checkpoints.load), or None for a new run.

        Cuts metrics.csv back to that moment and restores the elapsed hours, so call it once, before `log`.
        """
        checkpoint = checkpoints.load(self.directory)
        if checkpoint is None:
            checkpoint = {"state": None, "metrics_bytes": 0, "hours": 0.0, "step": 0, "last": {}}
        path, wanted = self.directory / "metrics.csv", checkpoint["metrics_bytes"]
        with _writing(path, "make the directory writable"):
            self._metrics = path.open("ab")
            if self._metrics.tell() < wanted:
                raise UserError(
                    f"{path} has {self._metrics.tell()} bytes, but its checkpoint expects {wanted}; "
                    f"restore the file or delete {self.directory} to start again"
                )
            self._metrics.truncate(wanted)
            self._metrics.seek(0, os.SEEK_END)
            if wanted == 0:
                self._metrics.write(HEADER)
                self._metrics.flush()
        self._step, self._hours, self._start = checkpoint["step"], checkpoint["hours"], time.monotonic()
        self.last = checkpoint["last"]
        kinds: list[type[Writer]] = [TensorBoard] * self.tensorboard + [WeightsAndBiases] * self.track
        self._writers = opened(kinds, self.directory, self._config, path.read_text(), self._hours)
        if self.progress:
            self._bar = tqdm(total=self.total_steps, initial=self._step, unit=self.unit, dynamic_ncols=True)
        return checkpoint["state"]

    def log(self, step: int, values: dict[str, float]) -> None:
        """Append one row per metric to metrics.csv, and show the score. Raises UserError (disk full)."""
        if self._metrics is None:
            raise RuntimeError("call load() before log()")
        hours = self.hours
        rows = "".join(f"{step},{name},{float(value)!r},{hours:.6f}\n" for name, value in values.items())
        with _writing(self.directory / "metrics.csv", RESUMES):
            self._metrics.write(rows.encode())
            self._metrics.flush()
        self._step, self.last = step, values
        for writer in self._writers:
            writer.add(step, values)
        if self.score in values:
            self.tick(step, **{self.score: values[self.score]})

    def save(self, state: Any) -> None:
        """Write a checkpoint of `state`, which must be picklable and not None. Raises UserError (disk full); earlier
        checkpoints stay good.

        References inside `state` survive (an optimiser keeps its module's parameters); tensors that are views of one
        another become copies.
        """
        if self._metrics is None:
            raise RuntimeError("call load() before save()")
        with _writing(self.directory / "checkpoint.pkl", "the previous checkpoint is intact: free space and rerun"):
            os.fsync(self._metrics.fileno())  # the checkpoint must not remember rows that a power cut can take back
            now = {"metrics_bytes": self._metrics.tell(), "hours": self.hours, "step": self._step, "last": self.last}
            checkpoints.save(self.directory, {**now, "state": state})

    def tick(self, step: int, **shown: float) -> None:
        """Show progress (with progress=True): steps done and per second, and numbers such as the latest return."""
        if self._bar is None:
            return
        if shown:
            self._bar.set_postfix({name: f"{value:.4g}" for name, value in shown.items()}, refresh=False)
        self._bar.update(step - self._bar.n)

    def check_finite(self, step: int, **losses: float | Tensor) -> None:
        """Raise NonFiniteLoss if a loss is NaN or infinite. Call it where losses are read anyway, before `save`."""
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
        with _writing(self.directory, RESUMES):
            os.fsync(self._metrics.fileno())
            if weights is not None:
                buffer = io.BytesIO()
                torch.save(weights, buffer)
                checkpoints.write_atomically(self.directory / "weights.pt", buffer.getvalue())
            checkpoints.write_atomically(self.directory / "done.json", json_bytes(summary))
        for name in CHECKPOINTS:
            (self.directory / name).unlink(missing_ok=True)
        if self.total_steps is not None:
            self.tick(self.total_steps)
        return read_json(self.directory / "done.json")


@contextmanager
def _writing(path: Path, advice: str) -> Iterator[None]:
    """Turn an OSError into one line: what could not be written, why, and what to do."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}; {advice}") from error


def set_aside(directory: Path) -> None:
    """Move a run directory to stale/<its name> (or <its name>.2, .3, ...) beside it, where nothing looks for runs.

    Raises RunBusy if a process has it open.
    """
    with _lock(directory):
        aside = directory.parent / "stale"
        aside.mkdir(exist_ok=True)
        names = [directory.name, *(f"{directory.name}.{number}" for number in range(2, 10_000))]
        directory.rename(next(aside / name for name in names if not (aside / name).exists()))


def _lock(directory: Path) -> FileLock:
    """Acquire and return the lock of a run directory. Raises RunBusy."""
    lock = FileLock(directory / "lock", timeout=0)
    with suppress(Timeout):
        lock.acquire()
        if (directory / "lock").exists():
            return lock
        lock.release()  # the directory was set aside after the lock was opened
    raise RunBusy(f"{directory} is being written by another process; wait for it or stop it")


def _check_same_config(config: Any, directory: Path) -> None:
    """Raise UserError naming the first setting in which the config in `directory` differs from `config`."""
    path = directory / "config.json"
    if path.exists() and (other := difference(read_json(path)["config"], config)):
        raise UserError(
            f"{directory} holds a run with different settings: {other}; use the old value or another run directory"
        )


def _write_config(config: Any, directory: Path, total_steps: int | None, now: dict[str, Any]) -> None:
    """Write config.json; for a resumed run, keep its first provenance and note what has changed since ("resumed")."""
    path = directory / "config.json"
    content = {"config": dataclasses.asdict(config), "total_steps": total_steps, **now}
    begun = any((directory / name).exists() for name in CHECKPOINTS)
    if path.exists() and begun:
        content = read_json(path)
        before = attempts(content)
        if other := changes(before[-1].get("files", {}), now["files"]):
            print(f"warning: {directory} resumes with changed code: {other}; it will not be collected", file=sys.stderr)
        if all(before[-1].get(key) == value for key, value in now.items()):
            return
        content["resumed"] = [*before[1:], now]
    checkpoints.write_atomically(path, json_bytes(content))
