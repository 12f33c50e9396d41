"""The loop that the train scripts of this room share: environment steps, evaluations and checkpoints."""

from pathlib import Path
from typing import Any, Protocol

import torch

from lab.runs import Run

SAVE_EVERY = 5
"""Evaluations between two checkpoints."""
TICK = 500
"""Steps between two updates of the progress bar."""


class Trainer(Protocol):
    """What the loop needs of a trainer, which is pickled as a whole."""

    agent: Any
    t: int
    bins_done: int

    def warm_up(self) -> None:
        """What comes before the first step."""

    def advance(self) -> bool:
        """One environment step, and what is to be learnt around it; True when the step ended an episode."""

    def metrics(self) -> dict[str, float]:
        """An evaluation: what happened since the last one."""


def train(
    config: Any, run_dir: Path, fresh: Trainer, *, tensorboard: bool = False, progress: bool = False
) -> dict[str, Any]:
    """Take `config.steps` steps with `config.bins` evaluations, resuming what `run_dir` already holds.

    fresh: the trainer with which a run begins. Returns the last evaluation. UserError for a `run_dir` that belongs to
    another run.
    """
    with Run.open(config, run_dir, total_steps=config.steps, tensorboard=tensorboard, progress=progress) as run:
        if run.finished is not None:
            return run.finished
        state = run.load()
        if state is None:
            fresh.warm_up()
            state = {"trainer": fresh, "metrics": {}}
        trainer, metrics = state["trainer"], state["metrics"]
        save_due = False
        while trainer.t < config.steps:
            over = trainer.advance()
            if trainer.t % TICK == 0:
                run.tick(trainer.t)
            if trainer.t * config.bins >= (trainer.bins_done + 1) * config.steps:
                metrics = trainer.metrics()
                run.check_finite(trainer.t, **{name: metrics[name] for name in ("td_error", "kl") if name in metrics})
                run.log(trainer.t, metrics)
                save_due = save_due or trainer.bins_done % SAVE_EVERY == 0
            if save_due and over:  # the simulator's state is not kept: only between two episodes
                run.save({"trainer": trainer, "metrics": metrics})
                save_due = False
        units = getattr(trainer, "memory", trainer)  # PPO, which keeps no memory, has the units of states itself
        states = {"mean": torch.from_numpy(units.mean), "inverse_std": torch.from_numpy(units.inverse_std)}
        return run.finish({"steps": trainer.t, **metrics}, weights=trainer.agent.weights() | {"states": states})
