"""Reducible loss (ReLo; Sujit et al. 2022, https://arxiv.org/abs/2208.10483): replay what can still be learnt.

A large TD error may be noise that no amount of replay removes. ReLo takes an error for noise if the target network, an
older copy of the learner, makes it too: only the difference between the two losses counts.
"""

from __future__ import annotations

import numpy as np

from common.replay.checks import checked, positive
from common.replay.protocol import Signals
from common.replay.samplers import PrioritizedSampler


def loss(td: np.ndarray, huber_delta: float | None) -> np.ndarray:
    """Loss of each TD error: Huber's, which bends at `huber_delta`, or half the square if that is None."""
    size = np.abs(np.asarray(td, np.float64))
    inside = size if huber_delta is None else np.minimum(size, huber_delta)
    return inside * (size - 0.5 * inside)


class ReLo(PrioritizedSampler):
    """Prioritised replay with the priority max(0, L(theta) - L(theta target)) + epsilon, to the power of alpha.

    Both losses use the same targets. huber_delta: where the learner's loss bends; None if it is the square. The rest is
    as in `PrioritizedSampler`.
    """

    needs = frozenset({"td_error", "target_td_error"})

    def __init__(
        self,
        capacity: int,
        rng: np.random.Generator,
        *,
        huber_delta: float | None,
        **settings,
    ):
        positive(huber_delta=huber_delta)
        super().__init__(capacity, rng, **settings)
        self.huber_delta = huber_delta

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        slots, *errors = checked(indices, signals, "td_error", "target_td_error", stored=self.stored)
        now, of_target = (loss(error, self.huber_delta) for error in errors)
        super().update(slots, {"td_error": np.maximum(now - of_target, 0.0)})
