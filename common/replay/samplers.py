"""Samplers that see only slots: uniform, stratified, and prioritised by the size of the TD error.

Everything in them, the random generator included, is pickled, so that an unpickled sampler continues identically.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from common.replay.checks import NO_SLOTS, at_least, checked, drawable, positive
from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.replay.sum_tree import SumTree
from common.schedules import linear


@njit(cache=True)
def _clipped(td, clip, epsilon):
    """|TD| clipped to `clip` + epsilon [n]; a kernel, as three calls of NumPy take longer than a batch of 32."""
    sizes = np.empty(td.size, np.float64)
    for k in range(td.size):
        sizes[k] = min(abs(td[k]), clip) + epsilon
    return sizes


class UniformSampler(Sampler):
    """Every stored transition with the same probability, with replacement; all weights are 1.

    IndexError for a negative slot.
    """

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.stored = 0
        """Number of filled slots: the first ones."""

    def add(self, index: int, step: Step | None = None) -> None:
        if index < 0:
            raise IndexError(f"slots are numbered from 0, not {index}")
        self.stored = max(self.stored, index + 1)

    def sample(self, n: int) -> Chosen:
        drawable(n, self.stored)
        return Chosen(self._draw(n), np.ones(n, np.float32))

    def _draw(self, n: int) -> np.ndarray:
        return self.rng.integers(self.stored, size=n)

    def probabilities(self) -> np.ndarray:
        return np.full(self.stored, 1.0 / max(self.stored, 1))


class StratifiedSampler(UniformSampler):
    """One transition from each of n equal parts of the memory; all weights are 1."""

    def _draw(self, n: int) -> np.ndarray:
        slots = ((np.arange(n) + self.rng.random(n)) / n * self.stored).astype(np.int64)
        return np.minimum(slots, self.stored - 1)


class PrioritizedSampler(Sampler):
    """Proportional prioritised experience replay (Schaul et al. 2016, https://arxiv.org/abs/1511.05952, Sec. 3.3, 3.4).

    Priority (|TD| clipped to `clip` + epsilon)^alpha; None does not clip (they clip to 1 on Atari, where rewards are
    clipped). A new transition gets the largest priority seen so far (1 at first), so that it is soon replayed. The
    weights correct the bias of the sampling by (P(i) / smallest P of the batch)^-beta, so that the largest weight is 1;
    beta goes linearly from `beta0` to 1 over `beta_steps` calls of `sample`. A batch holds no transition twice, unless
    `stratified` is True: as in their App. B.2.1, one transition is then drawn from each of n equal parts of the sum of
    all priorities. If fewer than n transitions have a positive priority, all n are drawn with replacement; if none has,
    uniformly.
    """

    needs = frozenset({"td_error"})

    def __init__(
        self,
        capacity: int,
        rng: np.random.Generator,
        alpha: float = 0.6,
        beta0: float = 0.4,
        *,
        beta_steps: int,
        epsilon: float = 0.01,
        clip: float | None = None,
        stratified: bool = False,
    ):
        at_least(0, alpha=alpha, beta0=beta0, epsilon=epsilon)
        positive(clip=clip)
        self.rng = rng
        self.alpha, self.epsilon, self.clip = alpha, float(epsilon), np.inf if clip is None else float(clip)
        self.stratified = stratified
        self._beta = linear(beta0, 1.0, beta_steps)
        self.tree = SumTree(capacity)
        self.max_priority = 1.0  # in units of the tree, i.e. with the exponent alpha
        self.calls = 0  # of `sample`
        self.stored = 0
        """Number of filled slots: the first ones."""

    @property
    def beta(self) -> float:
        """The exponent of the weights in the next call of `sample`."""
        return self._beta(self.calls)

    def add(self, index: int, step: Step | None = None) -> None:
        self.tree.set(index, self.max_priority)
        self.stored = max(self.stored, index + 1)

    def extend(self, indices: np.ndarray) -> None:
        """Like `add`, for all slots `indices` [n]."""
        self.tree.set_many(indices, np.full(len(indices), self.max_priority))
        self.stored = max(self.stored, int(indices.max(initial=-1)) + 1)

    def sample(self, n: int) -> Chosen:
        drawable(n, self.stored)
        indices = self._draw(n)
        weights = self.tree.over_smallest(indices) ** -self.beta if self.tree.total else np.ones(n)
        self.calls += 1
        return Chosen(indices, weights.astype(np.float32))

    def _draw(self, n: int) -> np.ndarray:
        """Slots int64 [n]."""
        if not self.tree.total:
            return self.rng.integers(self.stored, size=n)
        if self.stratified:
            return self.tree.find((np.arange(n) + self.rng.random(n)) / n * self.tree.total)
        distinct = self.tree.draw_distinct(n, self.rng) if n <= self.stored else NO_SLOTS
        return distinct if len(distinct) == n else self.tree.find(self.rng.random(n) * self.tree.total)

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        """As in `Sampler`; if a slot comes twice, its last TD error counts."""
        slots, td = checked(indices, signals, "td_error", stored=self.stored)
        priorities = _clipped(td, self.clip, self.epsilon) ** self.alpha
        self.max_priority = max(self.max_priority, self.tree.set_many(slots, priorities))

    def probabilities(self) -> np.ndarray:
        """Probability of each transition in a stratified draw; without strata, in the first draw of a batch."""
        priorities, total = self.tree[: self.stored], self.tree.total
        return priorities / total if total else np.full(self.stored, 1.0 / max(self.stored, 1))
