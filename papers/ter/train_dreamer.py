"""Train DreamerV2 on a task of this paper, for the comparison with TER (App. L).

    make dreamer     # once: sheeprl and what it needs, into .venv-dreamer
    .venv/bin/python -m papers.ter.train_dreamer --env SimpleCrossing-Easy --seed 0 --steps 50000

The learner is sheeprl's, in an environment and a process of its own (dreamer.py); here is what makes a run of it: its
settings, and its metrics, read from the episodes that it prints. They are those of its policy in training, which is
sampled, where TER's are of evaluations. A run that was stopped begins again.
"""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from envs import minigrid
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, execute
from lab.run.settings import Count, Natural, Positive, Share
from papers.ter.agents.dreamer import SIZES, task_of
from papers.ter.train_sokoban import TASKS as SOKOBAN

ENVS = (*minigrid.TASKS, *SOKOBAN)
ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-dreamer/bin/python"
"""The interpreter that has sheeprl."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are sheeprl's for DreamerV2, but for `capacity`; the paper states none."""

    env: Literal[ENVS] = "SimpleCrossing-Easy"  # type: ignore[valid-type]
    """Task of MiniGrid or Sokoban."""
    method: Literal["dreamer"] = "dreamer"
    """DreamerV2."""
    seed: Natural = 0
    """Seed of sheeprl's random streams, and of the task."""
    steps: Count = 3_000_000
    """Environment steps."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""
    size: Literal[tuple(SIZES)] = "paper"  # type: ignore[valid-type]
    """paper: networks as DreamerV2's on Atari. small: a tenth of that, for CPUs (dreamer.py)."""
    replay_ratio: Positive = 0.2
    """Gradient steps per environment step."""
    learning_starts: Natural = 1_000
    """Environment steps with random actions at first."""
    pretrain: Natural = 100
    """Gradient steps before the first that counts."""
    batch_size: Count = 16
    """Sequences per gradient step."""
    sequence: Count = 50
    """Steps of a sequence."""
    gamma: Share = 0.99
    """Discount."""
    capacity: Count = 1_000_000
    """Transitions kept, TER's on Sokoban."""
    levels: Natural = 0
    """Levels of training, the same as the other methods'; 0: a new one in every episode."""
    log_every: Count = 10_000
    """Environment steps between two rows of metrics, which cover the episodes since the row before."""

    def check(self) -> None:
        """Raise UserError for settings that cannot work together."""
        if min(self.learning_starts, self.capacity) < self.sequence:
            raise UserError(f"learning_starts and capacity must be at least a sequence, {self.sequence} steps")


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay, pictures of 64 x 64: a sweep adds up its runs before it starts them."""
    return config.capacity * 3 * 64 * 64


def episodes(config: Config, logs: Path) -> Iterator[tuple[int, float, bool]]:
    """Train in the folder ``logs``: steps so far, return and success of each episode. UserError if that fails."""
    settings = dataclasses.asdict(config) | {"accelerator": config.device.partition(":")[0]}
    command = [str(PYTHON), "-m", "papers.ter.agents.dreamer", json.dumps(settings)]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "HYDRA_FULL_ERROR": "1",  # or the last line is not the error
    }  # fmt: skip
    last = ""
    logs.mkdir(exist_ok=True)
    with subprocess.Popen(  # in `logs`: a path on sheeprl's command line could hold characters that it reads as its own
        command, cwd=logs, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as learner:
        try:
            assert learner.stdout is not None
            for line in learner.stdout:
                if line.startswith("episode "):
                    _, steps, total, solved = line.split()
                    yield int(steps), float(total), solved == "1"
                last = line.strip() or last
        finally:
            if learner.poll() is None and sys.exc_info()[0] is not None:
                learner.kill()
    if learner.returncode:
        raise UserError(f"DreamerV2 ended with exit code {learner.returncode}: {last}")


def metrics(returns: list[float], solved: list[bool], largest: float) -> dict[str, float]:
    """Of the episodes since the last row: mean return, the same from 0 to 1 (-R_max to R_max), and share solved."""
    mean = float(np.mean(returns))
    return {"return": mean, "normalized_return": (mean + largest) / (2 * largest), "success": float(np.mean(solved))}


def ready(config: Config) -> Config:
    """The config, where the learner's environment is there."""
    if not PYTHON.exists():
        raise UserError("DreamerV2 needs an environment of its own, .venv-dreamer: make dreamer")
    return config


def train(run: Run, config: Config) -> dict:
    """Train to the end; returns the last row of metrics. There is never a checkpoint: sheeprl keeps its own."""
    _, largest = task_of(config.env)
    logs = run.directory / "sheeprl"
    returns: list[float] = []
    solved: list[bool] = []
    due = config.log_every
    for step, total, success in episodes(config, logs):
        returns.append(total)
        solved.append(success)
        run.tick(min(step, due, config.steps))  # rows stand at fixed steps, and a bar does not go back
        if step >= due:
            run.log(min(due, config.steps), metrics(returns, solved, largest))
            due += config.log_every * ((step - due) // config.log_every + 1)
            returns, solved = [], []
    if returns or not run.last:
        run.log(config.steps, metrics(returns, solved, largest) if returns else {})
    shutil.rmtree(logs, ignore_errors=True)
    return run.finish({"steps": config.steps, **run.last})


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or go on there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train, ready, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
