"""Table B.1: how long each replay method takes to make a batch.

    .venv/bin/python -m papers.ter.evidence.measures.batch_time --method ter --steps 200000

The memory is filled by a random policy exactly as in training. At every update two times are taken: of choosing the
transitions (``choose_seconds``), in which the methods differ, and of choosing them and gathering them into tensors,
pictures drawn (``batch_seconds``). No network is trained, and PER hears random TD errors. EBU's backward pass over an
episode counts as choosing, since its batches do not exist without it. DisCor draws like UER; computing its weights
counts as part of the update, which is not timed. Timed is the literal form of TER, in Python; the kernels take about
half as long. The times depend on the machine: of all metrics of this project only these differ between two runs of one
seed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np

from common.replay.samplers import PrioritizedSampler
from envs.minigrid.tasks import TASKS, MiniGridTask
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, Natural
from papers.ter import train
from papers.ter.agents.settings import METHODS

STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": np.mean, "median": np.median, "min": np.min, "max": np.max,
    "p999": lambda times: np.quantile(times, 0.999),  # a single longest time is the operating system's
}  # fmt: skip
SCORE = "batch_seconds_mean"


@dataclass(frozen=True)
class Config:
    """Settings of a measurement. Table B.1 names none; sizes are those of training on MiniGrid (App. B.1)."""

    env: Literal[tuple(TASKS)] = "SimpleCrossing-Easy"  # type: ignore[valid-type]
    """Task that fills the memory."""
    method: Literal[METHODS] = "ter"  # type: ignore[valid-type]
    """Replay method: uniform, prioritised, episodic backward update, DisCor, topological."""
    seed: Natural = 0
    """Seed of all random streams."""
    steps: Count = 1_000_000
    """Environment steps; the memory holds a million (App. B.1)."""
    warmup: Count = 50_000
    """Environment steps before the first batch (App. B.1)."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        limit = MiniGridTask(self.env).max_steps
        if not limit <= self.warmup <= self.steps - 4:
            raise UserError(
                f"warmup must lie in {limit}..steps - 4, not {self.warmup}: "
                f"by then an episode (at most {limit} steps) has ended, which EBU needs, and a batch follows"
            )


def load_kernels() -> None:
    """Let a sampler that is thrown away compile or load what PER and TER draw with: no part of a method's time."""
    sampler = PrioritizedSampler(64, np.random.default_rng(0), beta_steps=1)
    sampler.extend(np.arange(64))
    sampler.update(sampler.sample(32).indices, {"td_error": np.ones(32)})


def measure(run: Run, config: Config) -> dict:
    """Measure; returns the statistics of both times in seconds."""
    method = "uer" if config.method == "discor" else config.method
    trainer = train.Trainer(
        train.Config(config.env, method, config.seed, config.steps, epsilon_end=1.0, warmup=config.warmup)
    )
    load_kernels()
    td_errors = Streams(config.seed).numpy("td errors")
    chosen, made = [], []
    for step in range(1, config.steps + 1):
        trainer.interact()
        if step >= config.warmup and step % trainer.config.update_every == 0:
            begin = perf_counter()
            batch = trainer.sampler.sample(trainer.config.batch_size)
            chosen.append(perf_counter() - begin)
            assert batch is not None, "an episode has ended"
            trainer.memory.batch(batch[0])
            made.append(perf_counter() - begin)
            trainer.sampler.update(batch[0], {"td_error": td_errors.random(len(batch[0]))})
        if step % 5000 == 0:
            run.tick(step, **({SCORE: float(np.mean(made))} if made else {}))
    metrics = {
        f"{name}_{statistic}": float(function(times))
        for name, times in (("choose_seconds", chosen), ("batch_seconds", made))
        for statistic, function in STATISTICS.items()
    }
    run.log(config.steps, metrics)
    return run.finish(metrics)


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Measure; returns the summary. An interrupted run starts again. See `lab.run.runs.execute`."""
    return execute(config, run_dir, measure, score=SCORE, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
