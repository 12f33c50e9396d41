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
from typing import Literal

import numpy as np

from envs import minigrid_tasks
from lab.cli import cli
from lab.errors import UserError
from lab.runs import Run
from lab.settings import check_settings
from papers.ter.dreamer import SIZES, task_of
from papers.ter.train_sokoban import TASKS as SOKOBAN

ENVS = (*minigrid_tasks.TASKS, *SOKOBAN)
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
    seed: int = 0
    """Seed of sheeprl's random streams, and of the task."""
    steps: int = 3_000_000
    """Environment steps."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""
    size: Literal[tuple(SIZES)] = "paper"  # type: ignore[valid-type]
    """paper: networks as DreamerV2's on Atari. small: a tenth of that, for CPUs (dreamer.py)."""
    replay_ratio: float = 0.2
    """Gradient steps per environment step."""
    learning_starts: int = 1_000
    """Environment steps with random actions at first."""
    pretrain: int = 100
    """Gradient steps before the first that counts."""
    batch_size: int = 16
    """Sequences per gradient step."""
    sequence: int = 50
    """Steps of a sequence."""
    gamma: float = 0.99
    """Discount."""
    capacity: int = 1_000_000
    """Transitions kept, TER's on Sokoban."""
    levels: int = 0
    """Levels of training, the same as the other methods'; 0: a new one in every episode."""
    log_every: int = 10_000
    """Environment steps between two rows of metrics, which cover the episodes since the row before."""


def check(config: Config) -> None:
    """Raise UserError for settings that cannot work."""
    sizes = ("steps", "batch_size", "sequence", "capacity", "log_every")
    check_settings(
        config, at_least_1=sizes, positive=("replay_ratio",), not_negative=("learning_starts", "pretrain", "levels")
    )
    if config.env not in ENVS:
        raise UserError(f"unknown env {config.env!r}; right are: {', '.join(ENVS)}")
    if config.size not in SIZES:
        raise UserError(f"unknown size {config.size!r}; right are: {', '.join(SIZES)}")
    if min(config.learning_starts, config.capacity) < config.sequence:
        raise UserError(f"learning_starts and capacity must be at least a sequence, {config.sequence} steps")


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay, pictures of 64 x 64: a sweep adds up its runs before it starts them."""
    return config.capacity * 3 * 64 * 64


def episodes(config: Config, logs: Path) -> Iterator[tuple[int, float, bool]]:
    """Steps so far, return and success of each episode of training, as they are played. UserError if that fails."""
    settings = dataclasses.asdict(config) | {"logs": str(logs), "accelerator": config.device.partition(":")[0]}
    command = [str(PYTHON), "-m", "papers.ter.dreamer", json.dumps(settings)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    last = ""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
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


def main(config: Config, run_dir: Path, *, tensorboard: bool = False, progress: bool = False) -> dict:
    """Train as ``config`` says; returns the last row of metrics.

    Raises:
        UserError: settings that cannot work, no .venv-dreamer, or a ``run_dir`` that belongs to another run.
    """
    check(config)
    if not PYTHON.exists():
        raise UserError("DreamerV2 needs an environment of its own, .venv-dreamer: make dreamer")
    _, largest = task_of(config.env)
    with Run.open(config, run_dir, total_steps=config.steps, tensorboard=tensorboard, progress=progress) as run:
        if run.finished is not None:
            return run.finished
        run.load()  # there is never a checkpoint: sheeprl keeps what it knows to itself
        returns: list[float] = []
        solved: list[bool] = []
        found: dict[str, float] = {}
        due = config.log_every
        for step, total, success in episodes(config, run_dir / "sheeprl"):
            returns.append(total)
            solved.append(success)
            run.tick(min(step, due, config.steps))  # rows stand at fixed steps, and a bar does not go back
            if step >= due:
                found = metrics(returns, solved, largest)
                run.log(min(due, config.steps), found)
                due += config.log_every * ((step - due) // config.log_every + 1)
                returns, solved = [], []
        if returns or not found:
            found = metrics(returns, solved, largest) if returns else {}
            run.log(config.steps, found)
        shutil.rmtree(run_dir / "sheeprl", ignore_errors=True)
        return run.finish({"steps": config.steps, **found})


if __name__ == "__main__":
    cli(Config, main, __doc__)
