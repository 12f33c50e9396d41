"""Table B.1: how long each replay method takes to make a batch.

    .venv/bin/python -m papers.ter.batch_time --method ter --steps 200000

The memory is filled by a random policy exactly as in training. At every update the time is taken of choosing the
transitions and of gathering them into tensors, pictures drawn; no network is trained, and PER hears random TD errors.
EBU's backward pass over an episode counts as choosing, since its batches do not exist without it.
The times depend on the machine: of all metrics of this project only these differ between two runs of one seed.
"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np

from envs.minigrid_tasks import TASKS, MiniGridTask
from lab.cli import cli
from lab.errors import UserError
from lab.runs import Run, Streams
from papers.ter import train
from papers.ter.settings import METHODS


@dataclass(frozen=True)
class Config:
    """Settings of a measurement. Table B.1 names none; sizes are those of training on MiniGrid (App. B.1)."""

    env: Literal[tuple(TASKS)] = "SimpleCrossing-Easy"  # type: ignore[valid-type]
    """Task that fills the memory."""
    method: Literal[METHODS] = "ter"  # type: ignore[valid-type]
    """Replay method: uniform, prioritised, episodic backward update, DisCor, topological."""
    seed: int = 0
    """Seed of all random streams."""
    steps: int = 1_000_000
    """Environment steps; the memory holds a million (App. B.1)."""
    warmup: int = 50_000
    """Environment steps before the first batch (App. B.1)."""


def main(config: Config, run_dir: Path, *, tensorboard: bool = False, progress: bool = False) -> dict:
    """Measure; returns mean, median, smallest and largest time of a batch in seconds.

    Raises:
        UserError: settings with which no batch can be made, or a ``run_dir`` that belongs to another run.
    """
    limit = MiniGridTask(config.env).max_steps
    if not limit <= config.warmup <= config.steps - 4:
        raise UserError(
            f"warmup must lie in {limit}..steps - 4, not {config.warmup}: "
            f"by then an episode (at most {limit} steps) has ended, which EBU needs, and a batch follows"
        )
    score = "batch_seconds_mean"
    with Run.open(
        config, run_dir, total_steps=config.steps, score=score, tensorboard=tensorboard, progress=progress
    ) as run:
        if run.finished is not None:
            return run.finished
        run.load()
        trainer = train.Trainer(
            train.Config(config.env, config.method, config.seed, config.steps, epsilon_end=1.0, warmup=config.warmup)
        )
        td_errors = Streams(config.seed).numpy("td errors")
        times = []
        for step in range(1, config.steps + 1):
            trainer.interact()
            if step >= config.warmup and step % trainer.config.update_every == 0:
                begin = perf_counter()
                indices, _, _ = trainer.choose()
                trainer.batch(indices)
                times.append(perf_counter() - begin)
                trainer.sampler.update(indices, td_errors.random(len(indices)))
            if step % 5000 == 0:
                run.tick(step, **({score: float(np.mean(times))} if times else {}))
        metrics = {
            score: float(np.mean(times)),
            "batch_seconds_median": float(np.median(times)),
            "batch_seconds_min": float(np.min(times)),
            "batch_seconds_max": float(np.max(times)),
        }
        run.log(config.steps, metrics)
        return run.finish(metrics)


if __name__ == "__main__":
    cli(Config, main, __doc__)
