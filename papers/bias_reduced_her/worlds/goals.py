"""The task's goals, and what IBS knows about them: uniform goals, a mixture of Gaussians, and goals that move.

IBS knows a mixture (App. A.1) only by samples, to which EM fits a mixture again; goals that move (App. A.2) change from
one mixture to another halfway through training, and IBS then gets new samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.run.errors import UserError
from lab.run.runs import Streams
from papers.bias_reduced_her.instructional import GoalDistribution, UniformGoals
from papers.bias_reduced_her.worlds.goal_mixture import GoalMixture, fit

SPREAD = 0.1
"""Standard deviation of each Gaussian, in sides of the box of goals."""
BEFORE = ((0.25, 0.75), (0.75, 0.25))
AFTER = ((0.25, 0.25), (0.75, 0.75))
"""Centres of the two Gaussians, in sides of the box from its lower left corner: one diagonal, then the other."""
SAMPLES = 1_000
"""Goals from which IBS learns a mixture."""


class Goals:
    """The goals of a task's episodes. `known` is their distribution as IBS knows it; None for a task without a
    two-dimensional box of goals, where only "uniform" works: the task's own."""

    def __init__(self, kind: str, task: Any, streams: Streams):
        """kind: as `train.Config.goals` says. UserError for a mixture where the task has no box of goals."""
        self.kind, self.moved = kind, False
        self.rng, self.seed = streams.numpy("goals"), streams.integer("goals")
        self.low, self.high = (
            np.asarray(getattr(task.unwrapped, name, np.empty(0)), float) for name in ("goal_low", "goal_high")
        )
        self.known: GoalDistribution | None = None
        if self.low.shape != (2,):
            if kind != "uniform":
                raise UserError(f"goals {kind} need a task with two-dimensional goals from a box")
        elif kind == "uniform":
            self.known = UniformGoals(self.low, self.high)
        else:
            self._become(BEFORE)

    def _become(self, centres: Any) -> None:
        size = self.high - self.low
        covariance = np.diag((SPREAD * size) ** 2)
        self.mixture = GoalMixture(
            np.array([0.5, 0.5]), self.low + np.array(centres) * size, np.stack(2 * [covariance])
        )
        self.known = fit(self.sample(SAMPLES, self.rng), 2, self.seed % 2**32)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n goals [n, 2] of the mixture; those outside the box, one in a hundred, are drawn again."""
        goals = self.mixture.sample(n, rng)
        while (outside := ((goals < self.low) | (goals > self.high)).any(axis=1)).any():
            goals[outside] = self.mixture.sample(int(outside.sum()), rng)
        return goals

    def options(self, seeds: np.ndarray) -> dict[str, Any]:
        """Reset options that give episodes with these seeds [n] goals of the mixture; none for uniform goals."""
        return {} if self.kind == "uniform" else {"goal": self.sample(len(seeds), np.random.default_rng(seeds))}

    def move_on(self, progress: float) -> bool:
        """Move the goals when it is time. progress: share of training that is over. True if they have just moved."""
        if self.kind != "moving" or self.moved or progress < 0.5:
            return False
        self._become(AFTER)
        self.moved = True
        return True
