"""Learners of the TER paper in the state in which they spend most of a run: warmed up, acting by the network."""

import contextlib
import io
from functools import cache
from typing import Any

from papers.ter import train as minigrid
from papers.ter import train_sokoban as sokoban
from papers.ter.agents.settings import METHODS
from papers.ter.train import Trainer

__all__ = ["ENV", "METHODS", "ROOM", "make", "train", "warmed_up"]

ENV = "SimpleCrossing-Easy"
ROOM = "7x7-2"


@cache
def warmed_up(method: str, world: str = "minigrid") -> Trainer:
    """A trainer with the paper's settings (a memory of a million) after its warm-up; cached."""
    if world == "minigrid":
        trainer = make(minigrid.Trainer, minigrid.Config(env=ENV, method=method))
    else:
        trainer = make(sokoban.Trainer, sokoban.Config(env=ROOM, method=method))
    trainer.epsilon = lambda step: 1.0
    for _ in range(trainer.config.warmup):
        trainer.interact()
    trainer.epsilon = lambda step: trainer.config.epsilon_end  # as after the first million steps
    return trainer


def make(kind: type[Trainer], config: Any) -> Trainer:
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        return kind(config)


def train(trainer: Trainer, steps: int) -> None:
    """The loop of `papers.ter.train.train`, without evaluation and logging."""
    config = trainer.config
    for _ in range(steps):
        trainer.interact()
        if trainer.step % config.update_every == 0:
            trainer.learn()
        if trainer.step % config.target_interval == 0:
            trainer.sync()
