"""Reducible loss (ReLo; Sujit et al. 2022, https://arxiv.org/abs/2208.10483): replay what can still be learnt.

A large TD error may be noise that no amount of replay removes. What the target network, an older copy of the learner,
gets wrong as much as the learner itself does is taken for that; only the difference of both losses counts.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from common.replay.protocol import Signals
from common.replay.samplers import PrioritizedSampler


def loss(td: np.ndarray, huber: bool) -> np.ndarray:
    """Loss of each TD error: Huber's with threshold 1, or half the square."""
    size = np.abs(np.asarray(td, np.float64))
    return np.where(size <= 1.0, 0.5 * size**2, size - 0.5) if huber else 0.5 * size**2


class ReLo(PrioritizedSampler):
    """Prioritised replay with the priority max(0, L(theta) - L(theta target)) + epsilon, to the power of alpha.

    Both losses are of the same targets. huber: the learner's loss is Huber's, else the square. The rest as in
    `PrioritizedSampler`, with no clipping by default.
    """

    needs: ClassVar = frozenset({"td_error", "target_td_error"})

    def __init__(self, capacity: int, rng: np.random.Generator, *, huber: bool, clip: float | None = None, **settings):
        super().__init__(capacity, rng, clip=clip, **settings)
        self.huber = huber

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        reducible = loss(signals["td_error"], self.huber) - loss(signals["target_td_error"], self.huber)
        super().update(indices, {"td_error": np.maximum(reducible, 0.0)})
