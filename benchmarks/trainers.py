"""Learners of the first paper in the state in which most of a run is spent: warmed up, acting by the network."""

import contextlib
import io
from functools import cache

from papers.ter.train import Config, Trainer

METHODS = ("uer", "per", "ebu", "discor", "ter")
ENV = "SimpleCrossing-Easy"


@cache
def warmed_up(method: str) -> Trainer:
    """A trainer with the paper's settings (batch 64, a memory of a million) whose warm-up is over; made once."""
    trainer = make(Config(env=ENV, method=method))
    trainer.epsilon = lambda step: 1.0
    for _ in range(trainer.config.warmup):
        trainer.interact()
    trainer.epsilon = lambda step: trainer.config.epsilon_end  # as after the first million steps
    return trainer


def make(config: Config) -> Trainer:
    with contextlib.redirect_stdout(io.StringIO()):  # the size of its memory
        return Trainer(config)


def train(trainer: Trainer, steps: int) -> None:
    """The loop of `papers.ter.train.main`, without evaluation and logging."""
    config = trainer.config
    for _ in range(steps):
        trainer.interact()
        if trainer.step % config.update_every == 0:
            trainer.learn()
        if trainer.step % config.target_interval == 0:
            trainer.sync()
