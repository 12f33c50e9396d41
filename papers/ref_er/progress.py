"""What goes on beside learning in the train scripts of this room: evaluations, the progress bar, checkpoints."""

from typing import Any, Protocol

import torch

from lab.runs import Run

SAVE_EVERY = 5
"""Evaluations between two checkpoints."""
TICK = 500
"""Steps between two updates of the progress bar."""


class Trainer(Protocol):
    """What is asked of a trainer, which is pickled as a whole."""

    agent: Any
    t: int
    bins_done: int

    def warm_up(self) -> None:
        """What comes before the first step."""

    def metrics(self) -> dict[str, float]:
        """An evaluation: what happened since the last one."""


class Progress:
    """`config.bins` evaluations in `config.steps` steps of a run's `trainer`, and the checkpoints between them.

    trainer: with which a run begins; one that has begun goes on with the trainer of its checkpoint.
    """

    def __init__(self, run: Run, config: Any, trainer: Any):
        self.run, self.config = run, config
        state = run.load()
        if state is None:
            trainer.warm_up()
            state = {"trainer": trainer, "metrics": {}}
        self.trainer, self.metrics = state["trainer"], state["metrics"]
        self._save_due = False

    def after_step(self, over: bool) -> None:
        """Do what is due after an environment step, which was the last one of an episode or not."""
        run, trainer, c = self.run, self.trainer, self.config
        if trainer.t % TICK == 0:
            run.tick(trainer.t)
        if trainer.t * c.bins >= (trainer.bins_done + 1) * c.steps:
            self.metrics = trainer.metrics()
            losses = {name: self.metrics[name] for name in ("td_error", "kl") if name in self.metrics}
            run.check_finite(trainer.t, **losses)
            run.log(trainer.t, self.metrics)
            self._save_due = self._save_due or trainer.bins_done % SAVE_EVERY == 0
        if self._save_due and over:  # the simulator's state is not kept: only between two episodes
            run.save({"trainer": trainer, "metrics": self.metrics})
            self._save_due = False

    def finish(self) -> dict[str, Any]:
        """End the run; returns its last evaluation."""
        trainer = self.trainer
        units = getattr(trainer, "memory", trainer)  # PPO, which keeps no memory, has the units of states itself
        states = {"mean": torch.from_numpy(units.mean), "inverse_std": torch.from_numpy(units.inverse_std)}
        weights = trainer.agent.weights() | {"states": states}
        return self.run.finish({"steps": trainer.t, **self.metrics}, weights=weights)
