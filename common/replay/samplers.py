"""Samplers: which of the stored transitions are replayed.

A sampler knows slots, not transitions: it is told of every slot that is filled (`add`), returns slots and the weights
of their losses (`sample`), and hears the new TD errors of those slots (`update`). Everything in it, the random
generator included, is pickled, so that an unpickled sampler continues identically.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from common.replay.sum_tree import SumTree
from common.schedules import linear


class Sampler(Protocol):
    """What every sampler can do."""

    def add(self, index: int) -> None:
        """Slot `index` has just been filled, or overwritten, by a new transition."""

    def sample(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Slots int64 [n] and loss weights float32 [n]. ValueError when nothing can be drawn."""

    def update(self, indices: np.ndarray, td: np.ndarray) -> None:
        """The transitions in slots `indices` [n] now have the TD errors `td` [n], in units of the return."""


class UniformSampler:
    """Every stored transition with the same probability, with replacement; all weights are 1."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self._size = 0

    def add(self, index: int) -> None:
        self._size = max(self._size, index + 1)

    def sample(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        if self._size == 0:
            raise ValueError("nothing to draw: no transition has been added yet")
        return self.rng.integers(self._size, size=n), np.ones(n, np.float32)

    def update(self, indices: np.ndarray, td: np.ndarray) -> None:
        pass


class PrioritizedSampler:
    """Proportional prioritised experience replay (Schaul et al. 2016, https://arxiv.org/abs/1511.05952, Sec. 3.3, 3.4).

    Priority (|TD| clipped to `clip` + epsilon)^alpha; no clipping with `clip=None`. A new transition gets the largest
    priority seen so far (1 at first), so that it is soon replayed. The weights correct the bias of the sampling by
    (P(i) / smallest P of the batch)^-beta, so that the largest weight is 1; beta goes linearly from `beta0` to 1 over
    `beta_steps` calls of `sample`. A batch holds no transition twice, unless `stratified` is True: as in
    their App. B.2.1, one transition is then drawn from each of n equal parts of the sum of all priorities.
    """

    def __init__(
        self,
        capacity: int,
        rng: np.random.Generator,
        alpha: float = 0.6,
        beta0: float = 0.4,
        *,
        beta_steps: int,
        epsilon: float = 0.01,
        clip: float | None = 1.0,
        stratified: bool = False,
    ):
        self.rng = rng
        self.alpha, self.epsilon, self.clip = alpha, epsilon, np.inf if clip is None else clip
        self.stratified = stratified
        self._beta = linear(beta0, 1.0, beta_steps)
        self.tree = SumTree(capacity)
        self.max_priority = 1.0  # in units of the tree, i.e. with the exponent alpha
        self.calls = 0  # of `sample`

    @property
    def beta(self) -> float:
        """The exponent of the weights in the next call of `sample`."""
        return self._beta(self.calls)

    def add(self, index: int) -> None:
        self.tree.set(index, self.max_priority)

    def extend(self, indices: np.ndarray) -> None:
        """As `add`, for the slots `indices` [n]."""
        self.tree.set_many(indices, np.full(len(indices), self.max_priority))

    def sample(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """As in `Sampler`. ValueError when fewer than n transitions can be drawn (`stratified`: none)."""
        if self.stratified:
            indices = self.tree.find((np.arange(n) + self.rng.random(n)) / n * self.tree.total)
        else:
            indices = self.tree.draw_distinct(n, self.rng)
        priorities = self.tree[indices]
        weights = (priorities / priorities.min()) ** -self.beta
        self.calls += 1
        return indices, weights.astype(np.float32)

    def update(self, indices: np.ndarray, td: np.ndarray) -> None:
        """As in `Sampler`; where a slot comes twice, its last TD error counts. ValueError for a TD error of nan."""
        td = np.abs(np.asarray(td, np.float64))
        priorities = (np.minimum(td, self.clip) + self.epsilon) ** self.alpha
        self.tree.set_many(indices, priorities)
        self.max_priority = float(priorities.max(initial=self.max_priority))
