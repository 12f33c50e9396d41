"""What the train scripts of this room do besides learning: evaluations, progress bar, checkpoints."""

from typing import Any, Protocol

import torch

from lab.run.runs import Run

SAVE_EVERY = 5
"""Evaluations between two checkpoints."""
TICK = 500
"""Steps between two updates of the progress bar."""


class Trainer(Protocol):
    """What is required of a trainer, which is pickled as a whole."""

    config: Any
    agent: Any
    t: int
    bins_done: int
    save_due: bool
    """A checkpoint is due as soon as the episode ends."""

    def metrics(self) -> dict[str, float]:
        """An evaluation: statistics since the last one."""


def after_step(run: Run, trainer: Trainer, over: bool) -> None:
    """Do what is due after an environment step (`over`: it ended an episode): `config.bins` evaluations in
    `config.steps` steps, and checkpoints."""
    c = trainer.config
    if trainer.t % TICK == 0:
        run.tick(trainer.t)
    if trainer.t * c.bins >= (trainer.bins_done + 1) * c.steps:
        metrics = trainer.metrics()
        run.check_finite(trainer.t, **{name: metrics[name] for name in ("td_error", "kl") if name in metrics})
        run.log(trainer.t, metrics)
        trainer.save_due = trainer.save_due or trainer.bins_done % SAVE_EVERY == 0
    if trainer.save_due and over:  # the simulator's state is not kept: only between two episodes
        trainer.save_due = False
        run.save(trainer)


def finish(run: Run, trainer: Trainer) -> dict[str, Any]:
    """End the run; returns its last evaluation."""
    units: Any = getattr(trainer, "memory", trainer)  # PPO has no memory and keeps the units of states itself
    states = {"mean": torch.from_numpy(units.mean), "inverse_std": torch.from_numpy(units.inverse_std)}
    return run.finish({"steps": trainer.t, **run.last}, weights=trainer.agent.weights() | {"states": states})
