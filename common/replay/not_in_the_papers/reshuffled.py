"""Replay with random reshuffling (Fujita 2025, https://arxiv.org/abs/2503.02269): nothing is drawn twice too early.

Draws with replacement leave some transitions out for long. A data set is usually shuffled and read to its end instead.
A replay memory changes while it is read: `RRC` reshuffles slots, not transitions, and `RRM` masks what has been drawn
more often than its priority would have it.
"""

from __future__ import annotations

import numpy as np

from common.replay.checks import checked, drawable
from common.replay.protocol import Chosen, Sampler, Signals, Step

MASKED = 1e-8
"""What is left of the priority of a masked transition, as in the author's program."""


class RRC(Sampler):
    """RR-C: all `capacity` slots in random order, each once per epoch; slots that are still empty are passed over. All
    weights are 1."""

    def __init__(self, capacity: int, rng: np.random.Generator):
        self.rng, self.capacity, self.stored = rng, capacity, 0
        self._order, self._next = np.empty(0, np.int64), 0

    def add(self, index: int, step: Step | None = None) -> None:
        self.stored = max(self.stored, index + 1)

    def sample(self, n: int) -> Chosen:
        drawable(n, self.stored)
        parts, missing = [], n
        while missing:
            if self._next == len(self._order):
                self._order, self._next = self.rng.permutation(self.capacity), 0
            ahead = self._order[self._next :]
            filled = np.flatnonzero(ahead < self.stored)[:missing]
            parts.append(ahead[filled])
            missing -= len(filled)
            self._next += int(filled[-1]) + 1 if not missing else len(ahead)
        return Chosen(np.concatenate(parts), np.ones(n, np.float32))


class RRM(Sampler):
    """RR-M: prioritised replay, (|TD error| + epsilon)^alpha, without what has been drawn more often than expected.

    Each batch of n adds n P(i) to the expected number of draws of every transition i; those ahead of it are masked:
    they come only where a batch cannot be filled without them. The transitions of a batch are distinct, if so many have
    a positive priority. The expected numbers are scaled when a transition leaves, so that both sums stay the same. A
    new transition has the largest priority seen. Weights are (P(i) / smallest P of the batch)^-beta with the P of
    priorities alone. A batch costs O(stored).
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
        clip: float | None = 1.0,
    ):
        self.rng, self.alpha, self.beta, self.epsilon = rng, alpha, beta, epsilon
        self.clip = np.inf if clip is None else clip
        self.stored, self.max_priority = 0, 1.0
        self.priority, self.expected = np.zeros(capacity), np.zeros(capacity)
        self.drawn = np.zeros(capacity, np.int64)

    def add(self, index: int, step: Step | None = None) -> None:
        self.stored = max(self.stored, index + 1)
        self.priority[index] = self.max_priority
        if self.expected[index] > 0.0:
            self.expected[index], self.drawn[index] = 0.0, 0
            if (total := self.expected[: self.stored].sum()) > 0.0:
                self.expected[: self.stored] *= self.drawn[: self.stored].sum() / total

    def sample(self, n: int) -> Chosen:
        drawable(n, self.stored)
        law = self.probabilities()
        ahead = self.drawn[: self.stored] > self.expected[: self.stored]
        masked = np.where(ahead, MASKED * law, law)
        replace = int(np.count_nonzero(masked)) < n
        slots = self.rng.choice(self.stored, n, replace=replace, p=masked / masked.sum())
        self.expected[: self.stored] += n * law
        np.add.at(self.drawn, slots, 1)
        return Chosen(slots, ((law[slots] / law[slots].min()) ** -self.beta).astype(np.float32))

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        slots, td = checked(indices, signals, "td_error", stored=self.stored)
        self.priority[slots] = (np.minimum(np.abs(td), self.clip) + self.epsilon) ** self.alpha
        self.max_priority = float(self.priority[slots].max(initial=self.max_priority))

    def probabilities(self) -> np.ndarray:
        """P(i) by priorities alone: the long-run shares of draws; uniform where all priorities are 0."""
        priorities = self.priority[: self.stored]
        total = priorities.sum()
        return priorities / total if total else np.full(self.stored, 1.0 / max(self.stored, 1))
