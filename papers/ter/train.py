"""Train double DQN on a MiniGrid task with one of five replay methods, and measure how well it does.

.venv/bin/python -m papers.ter.train --env SimpleCrossing-Easy --method ter --seed 0 --steps 200000
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from common.replay.storage import ring_bytes
from envs.minigrid_tasks import TASKS, MiniGridTask
from lab.cli import cli
from lab.errors import UserError
from lab.settings import check_settings
from papers.ter import trainer
from papers.ter.settings import Settings, check_shared
from papers.ter.topological import PseudoTerminalRoots, ReverseSweep, TransitionGraph


@dataclass(frozen=True)
class Config(Settings):
    """Every setting of a run. Defaults are the paper's for MiniGrid, with the place where it states them."""

    env: Literal[tuple(TASKS)] = "SimpleCrossing-Easy"  # type: ignore[valid-type]
    """Task (App. D.2)."""
    steps: int = 3_000_000
    """Environment steps. Not in the text of the paper; the released scripts have 3M, and 6M for DoorKey."""
    batch_size: int = 64
    """Transitions per gradient step (App. B.1)."""
    target_interval: int = 1_000
    """Environment steps between two copies into the target network (App. B.1)."""
    eta: float = 0.5
    """TER: share of a batch that prioritised replay supplies (App. B.5)."""

    n_actions: int | None = None
    """Number of actions; None takes 3 for crossings and 7 elsewhere, as the released code does. The paper lists 6."""
    random_action_probability: float = 0.0
    """Share of steps in which the world replaces the action by a random one (App. G: 0.1)."""
    pseudo_terminal: bool = False
    """Crossings whose goal does not end the episode (App. H)."""
    kappa: float = 0.01
    """TER: temperature of the roots of pseudo-terminal tasks (App. H)."""


def check(config: Config) -> None:
    """Raise UserError for settings that cannot work."""
    check_shared(config)
    check_settings(config, positive=("kappa",), in_0_1=("random_action_probability",))
    if config.n_actions is not None and not 3 <= config.n_actions <= 7:
        raise UserError(f"n_actions must lie in 3..7, not {config.n_actions}")
    if config.pseudo_terminal and "Crossing" not in config.env:
        raise UserError(f"pseudo_terminal needs a crossing task, not {config.env}")


def make_env(config: Config) -> MiniGridTask:
    return MiniGridTask(config.env, config.n_actions, config.random_action_probability, config.pseudo_terminal)


def replay_bytes(config: Config) -> int:
    """Memory [bytes] of the full replay: a sweep adds up its runs before it starts them."""
    return ring_bytes(config.capacity, trainer.replay_fields(make_env(config).grid_shape))


class Trainer(trainer.Trainer):
    """A run on a MiniGrid task."""

    def make_env(self, training: bool = True) -> MiniGridTask:
        return make_env(self.config)

    def return_range(self) -> tuple[float, float]:
        return -self.env.max_steps, self.env.max_steps

    def make_sweep(self, rng: random.Random) -> ReverseSweep:
        c = self.config
        if not c.pseudo_terminal:
            return super().make_sweep(rng)
        graph = TransitionGraph(c.capacity, track_returns=True)
        return ReverseSweep(graph, rng, c.roots, c.predecessors, PseudoTerminalRoots(c.kappa))


def main(config: Config, run_dir: Path, *, tensorboard: bool = False, progress: bool = False) -> dict:
    """Train as ``config`` says, resuming what ``run_dir`` already holds; returns the last evaluation.

    Raises:
        UserError: settings that cannot work, or a ``run_dir`` that belongs to another run.
    """
    check(config)
    return trainer.train(Trainer, config, run_dir, tensorboard=tensorboard, progress=progress)


if __name__ == "__main__":
    cli(Config, main, __doc__)
