"""Show the metrics of a run in TensorBoard and in Weights & Biases, beside metrics.csv.

Each attempt at a run opens its writers anew and tells them what metrics.csv holds by then, so that each shows every
step once, whenever the run was killed and wherever its last checkpoint was.
"""

import secrets
import shutil
import time
from pathlib import Path
from typing import Any, Protocol

from lab.run.errors import UserError
from lab.run.identity import room_name, run_name, settings


class Writer(Protocol):
    """Shows metrics; made from a run's directory and config."""

    def __init__(self, directory: Path, config: Any) -> None: ...

    def add(self, step: int, values: dict[str, float], ago: float = 0.0) -> None:
        """Show metrics logged `ago` seconds ago."""

    def close(self) -> None:
        """Flush and close."""


class TensorBoard:
    """Event files in <run directory>/tensorboard; purges what earlier attempts wrote there."""

    def __init__(self, directory: Path, config: Any) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError("--tensorboard needs tensorboard: pip install tensorboard==2.21.0") from None
        self.writer: Any = SummaryWriter(str(directory / "tensorboard"), purge_step=0)

    def add(self, step: int, values: dict[str, float], ago: float = 0.0) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, float(value), step, walltime=time.time() - ago)

    def close(self) -> None:
        self.writer.close()


class WeightsAndBiases:
    """A W&B run; its project is the paper. With WANDB_MODE=offline it is a folder in <run directory>/wandb; sync it
    when the run is finished.

    Each attempt resumes the W&B run of the one before. Steps that W&B already has stay as they are: the run computes
    the same again. Offline, each attempt writes all steps and removes the folders of earlier ones.
    """

    def __init__(self, directory: Path, config: Any) -> None:
        try:
            import wandb
        except ImportError:
            raise UserError("--track needs wandb: .venv/bin/pip install --group track") from None
        place = directory / "wandb"
        place.mkdir(exist_ok=True)
        known = place / "id"
        if not known.exists():  # belongs to the directory, not the config: a run started afresh is another
            known.write_text(secrets.token_hex(8))
        before = list(place.glob("offline-run-*"))
        try:
            self.run: Any = wandb.init(
                project=room_name(type(config)).replace("_", "-"), name=run_name(config), config=settings(config),
                id=known.read_text(), dir=directory, resume="allow", reinit="create_new",
                settings=wandb.Settings(console="off"),
            )  # fmt: skip
        except wandb.Error as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"W&B: {reason}; log in with `wandb login`, or set WANDB_MODE=offline") from None
        self.first = self.run.step
        """The first step that W&B lacks."""
        if self.run.offline:
            for old in before:
                if old != Path(self.run.dir).parent:
                    shutil.rmtree(old, ignore_errors=True)

    def add(self, step: int, values: dict[str, float], ago: float = 0.0) -> None:
        if step >= self.first:
            self.run.log({name: float(value) for name, value in values.items()}, step=step)

    def close(self) -> None:
        self.run.finish()


def opened(kinds: list[type[Writer]], directory: Path, config: Any, metrics: str, hours: float) -> list[Writer]:
    """Open writers of these kinds and show them the rows of `metrics`, a metrics.csv. hours: since the run began."""
    writers: list[Writer] = []
    for kind in kinds:
        writers.append(kind(directory, config))
        for row in metrics.splitlines()[1:]:
            step, name, value, then = row.split(",")
            writers[-1].add(int(step), {name: float(value)}, 3600 * (hours - float(then)))
    return writers
