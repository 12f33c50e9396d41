"""Train double DQN on Sokoban with one of five replay methods, and measure how well it does.

    .venv/bin/python -m papers.ter.train_sokoban --env 6x6-1 --method ter --seed 0 --steps 200000

Every episode is a new level. The agent sees 84x84 pixels, of which the memory keeps the codes of the cells.
What is the same in all worlds stands in `train.py`.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from lab.run.cli import cli
from lab.run.runs import execute
from lab.run.settings import Count, Range
from papers.ter import train
from papers.ter.agents.settings import ReplaySettings, TileSettings
from papers.ter.worlds.sokoban import TASKS, Sokoban, make_env
from papers.ter.worlds.tiles import tile_bytes


@dataclass(frozen=True)
class Config(ReplaySettings, TileSettings):
    """Every setting of a run. Defaults are the paper's for Sokoban, with the place where it states them."""

    env: Literal[tuple(TASKS)] = "6x6-1"  # type: ignore[valid-type]
    """Task: size of the room, its walls included, and number of boxes (Fig. 3b)."""
    steps: Count = 1_000_000
    """Environment steps. Not in the text of the paper; the released scripts have 1M for 5x5-1, 5x5-2 and 6x6-1; 3M for
    7x7-1; 5M for 6x6-2 and 7x7-2; 10M for 6x6-3."""
    capacity: Count = 1_000_000
    """Transitions kept (App. B.1). The released scripts give 50,000 to all methods but TER."""
    pixels: Annotated[int, Range("be at least 36, which the convolutions need", lambda value: value >= 36)] = 84
    """Side of the picture that the agent sees (App. D.3), at least 36."""


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return tile_bytes(config, make_env(config).grid_shape)


Trainer = functools.partial(train.Trainer, make_world=Sokoban)


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or go on there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train.train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
