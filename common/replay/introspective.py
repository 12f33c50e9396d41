"""Introspective experience replay (IER; Kumar and Nagaraj 2023, https://arxiv.org/abs/2206.03171): look back.

Where the learner is most surprised it asks what led there: a batch is a surprising transition, its pivot, and the steps
that were made just before it. The pivots of the next batches are the transitions with the largest TD errors.

The paper computes the TD errors of the whole memory whenever pivots are chosen. Here they are those of the last replay,
as in prioritised replay, and the largest one seen for transitions that were never replayed.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from common.replay.protocol import Chosen, Sampler, Signals, Step

NONE = -1


class IER(Sampler):
    """Batches of consecutive steps that end at a pivot; all weights are 1.

    pivots: how many are chosen at a time, one for each of the next batches. uniform: share of batches that are drawn
    uniformly instead. Steps of one environment (`Step.env_id`) follow each other, across the ends of episodes, too.
    Where not enough of them are stored, the batch is filled up uniformly.
    """

    needs: ClassVar = frozenset({"step", "td_error"})

    def __init__(self, capacity: int, rng: np.random.Generator, *, pivots: int = 64, uniform: float = 0.0):
        if pivots < 1:
            raise ValueError(f"at least 1 pivot is needed, not {pivots}")
        self.rng, self.pivots, self.uniform = rng, pivots, uniform
        self.stored = self.added = 0
        self.surprise = np.zeros(capacity)
        """|TD error| at the last replay, by slot."""
        self.largest = 1.0
        self.number = np.full(capacity, NONE)
        """Of the transition in each slot, counted as they came."""
        self.before = np.full(capacity, NONE)
        """Slot of the step before, in the same environment."""
        self._last: dict[int, int] = {}
        self._waiting: list[tuple[int, int]] = []

    def add(self, index: int, step: Step | None = None) -> None:
        assert step is not None, "IER reads steps"
        self.stored = max(self.stored, index + 1)
        self.number[index], self.before[index] = self.added, self._last.get(step.env_id, NONE)
        self.surprise[index] = self.largest
        self.added += 1
        self._last[step.env_id] = index

    def sample(self, n: int) -> Chosen:
        if self.stored == 0:
            raise ValueError("nothing to draw: no transition has been added yet")
        if self.uniform and self.rng.random() < self.uniform:
            return Chosen(self.rng.integers(self.stored, size=n), np.ones(n, np.float32))
        while self._waiting and self.number[self._waiting[-1][0]] != self._waiting[-1][1]:
            self._waiting.pop()  # overwritten since it was chosen
        if not self._waiting:
            count = min(self.pivots, self.stored)
            top = np.argpartition(-self.surprise[: self.stored], count - 1)[:count]
            top = top[np.argsort(self.surprise[top], kind="stable")]  # the most surprising one comes last, to be popped
            self._waiting = [(int(slot), int(self.number[slot])) for slot in top]
        slots = self.back_from(self._waiting.pop()[0], n)
        filled = np.concatenate([slots, self.rng.integers(self.stored, size=n - len(slots))])
        return Chosen(filled.astype(np.int64), np.ones(n, np.float32))

    def back_from(self, slot: int, n: int) -> np.ndarray:
        """The slots of up to n consecutive steps, the last of them in `slot`, newest first: int64 [<= n]."""
        found = [slot]
        while len(found) < n:
            before = int(self.before[found[-1]])
            if before == NONE or self.number[before] > self.number[found[-1]]:
                break  # the first step of all, or one whose predecessor has been overwritten
            found.append(before)
        return np.array(found, np.int64)

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        size = np.abs(np.asarray(signals["td_error"], np.float64))
        self.surprise[indices] = size
        self.largest = float(size.max(initial=self.largest))
