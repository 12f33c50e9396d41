"""Train double DQN on an Atari game with one of five replay methods, and measure how well it does.

    .venv/bin/python -m papers.ter.train_atari --env Pong --method ter --seed 0 --steps 200000

A state is the last four frames, grey, of an episode; the memory keeps each frame once. An episode of training ends when
a life is lost; the game then goes on. TER's vertices are single frames, the newest of each state.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.run.cli import cli
from lab.run.runs import execute
from lab.run.settings import Count, Positive
from papers.ter import train
from papers.ter.agents.settings import ReplaySettings, Settings
from papers.ter.worlds import atari


@dataclass(frozen=True)
class Config(ReplaySettings, Settings):
    """Every setting of a run. Defaults are the paper's for Atari, with the place where it states them."""

    env: str = "Pong"
    """Game, by its plain name such as Pong. App. B.3 names Pong, Kangaroo, Venture and Freeway with Fig. M.15."""
    steps: Count = 2_500_000
    """Environment steps, of 4 frames each. The paper does not say; 10 million frames as in EBU's paper."""
    lr: Positive = 2.5e-4
    """RMSProp's step size (App. B.1)."""


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return atari.replay_bytes(config.capacity)


Trainer = functools.partial(train.Trainer, make_world=atari.Atari)


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or go on there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train.train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
