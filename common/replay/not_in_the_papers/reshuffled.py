"""Replay with random reshuffling (Fujita 2025, https://arxiv.org/abs/2503.02269): nothing is drawn twice too early.

Draws with replacement leave some transitions out for long. A data set is usually shuffled and read to its end instead.
A replay memory changes while it is read: `RRC` reshuffles slots, not transitions, and `RRM` masks transitions drawn
more often than their priority warrants.
"""

from __future__ import annotations

import numpy as np

from common.replay.checks import at_least, checked, drawable, positive
from common.replay.not_in_the_papers.ahead import AheadTree
from common.replay.protocol import Chosen, Sampler, Signals, Step

CHUNK = 1024
"""Number of places in the order read at a time."""


class RRC(Sampler):
    """RR-C: all slots in random order, each once per epoch, except those still empty; all weights are 1.

    Only the filled slots are shuffled. A slot filled in mid-epoch takes a random place in the order: it is drawn in
    this epoch if that place is still ahead. whole: shuffle all `capacity` slots, even the empty ones, and read them in
    turn. The law is the same, the draws differ, and an epoch costs O(capacity), however few are filled.
    IndexError for a slot outside the capacity.
    """

    def __init__(self, capacity: int, rng: np.random.Generator, *, whole: bool = False):
        positive(capacity=capacity)
        self.rng, self.capacity, self.whole, self.stored = rng, capacity, whole, 0
        self._order = np.empty(capacity, np.int64)
        self._size = self._next = 0  # places in the order: how many are used, how many have been read

    def add(self, index: int, step: Step | None = None) -> None:
        if not 0 <= index < self.capacity:
            raise IndexError(f"slots run from 0 to {self.capacity - 1}, not to {index}")
        for slot in range(self.stored, index + 1):
            if self._size and not self.whole:
                self._insert(slot)
        self.stored = max(self.stored, index + 1)

    def _insert(self, slot: int) -> None:
        """Insert `slot` at any place with the same probability. What has been read is over; the rest is in random
        order, so moving one of its slots to the end changes nothing."""
        place = max(int(self.rng.integers(self._size + 1)), self._next - 1)
        if place == self._next - 1:  # among those that have been read
            place = self._next
            self._next += 1
        self._order[self._size] = self._order[place] if place < self._size else slot
        self._order[place] = slot
        self._size += 1

    def sample(self, n: int) -> Chosen:
        drawable(n, self.stored)
        slots, count = np.empty(n, np.int64), 0
        while count < n:
            if self._next == self._size:
                self._size, self._next = self.capacity if self.whole else self.stored, 0
                self._order[: self._size] = self.rng.permutation(self._size)
            ahead = self._order[self._next : min(self._next + max(CHUNK, n), self._size)]
            filled = np.flatnonzero(ahead < self.stored)[: n - count]
            slots[count : count + len(filled)] = ahead[filled]
            count += len(filled)
            self._next += int(filled[-1]) + 1 if count == n else len(ahead)
        return Chosen(slots, np.ones(n, np.float32))


class RRM(Sampler):
    """RR-M: prioritised replay that skips what was drawn more often than expected.

    Priorities are as in `PrioritizedSampler`. Each batch of n adds n P(i) to the expected number of draws of every
    transition i. Transitions ahead of it are masked: they come only if a batch cannot be filled without them. The
    transitions of a batch are distinct if that many have a positive priority. When a transition leaves, the expected
    numbers are scaled so that both sums stay equal. Weights are (P(i) / smallest P of the batch)^-beta with P by
    priorities alone. A batch costs O(n log capacity).
    """

    needs = frozenset({"td_error"})

    def __init__(
        self,
        capacity: int,
        rng: np.random.Generator,
        alpha: float = 0.6,
        beta: float = 0.4,
        *,
        epsilon: float = 0.01,
        clip: float | None = None,
    ):
        at_least(0, alpha=alpha, beta=beta, epsilon=epsilon)
        positive(clip=clip)
        self.rng, self.alpha, self.beta, self.epsilon = rng, alpha, beta, epsilon
        self.clip = np.inf if clip is None else clip
        self.max_priority = 1.0
        self.tree = AheadTree(capacity)

    @property
    def stored(self) -> int:
        return self.tree.stored

    def add(self, index: int, step: Step | None = None) -> None:
        self.tree.add(index, self.max_priority)

    def sample(self, n: int) -> Chosen:
        drawable(n, self.stored)
        slots = self.tree.draw(n, self.rng)
        p = self.tree.priority[slots]
        weights = (p / p.min()) ** -self.beta if p.all() else np.ones(len(p))  # 0 is drawn only if all are 0
        return Chosen(slots, weights.astype(np.float32))

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        """As in `Sampler`; if a slot comes twice, its last TD error counts."""
        slots, td = checked(indices, signals, "td_error", stored=self.stored)
        priorities = (np.minimum(np.abs(td), self.clip) + self.epsilon) ** self.alpha
        self.tree.set_many(slots, priorities)
        self.max_priority = float(self.tree.priority[slots].max(initial=self.max_priority))

    def probabilities(self) -> np.ndarray:
        """P(i) by priorities alone: the long-run shares of draws; uniform where all priorities are 0."""
        total = self.tree.priority.sum()
        return self.tree.priority / total if total else np.full(self.stored, 1.0 / max(self.stored, 1))
