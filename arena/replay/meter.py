"""Measure what any sampler does: how often it replays what, how old that is, how even its choice is."""

from __future__ import annotations

import numpy as np


class Meter:
    """Track the transitions in a memory's slots, and the draws. A *window* ends with each call of `metrics`."""

    def __init__(self, capacity: int):
        self.number = np.full(capacity, -1)
        """Number of the transition in each slot, in order of arrival."""
        self.times = np.zeros(capacity, np.int64)
        """How often the transition in each slot has been replayed."""
        self.added = self.draws = self.ever = 0
        """Transitions stored so far, replays so far, and transitions replayed at least once."""
        self._forget_window()

    def _forget_window(self) -> None:
        self._drawn: list[np.ndarray] = []
        self._age = self._share = 0.0

    def add(self, slots: np.ndarray) -> None:
        """Record new transitions in `slots` [n], in this order."""
        self.number[slots] = self.added + np.arange(len(slots))
        self.times[slots] = 0
        self.added += len(slots)

    def draw(self, slots: np.ndarray, weights: np.ndarray) -> None:
        """Record a replay of the transitions in `slots` [n], whose losses are weighted by `weights` [n]."""
        numbers = self.number[slots]
        different, counts = np.unique(slots, return_counts=True)
        self.ever += int((self.times[different] == 0).sum())
        self.times[different] += counts
        self.draws += len(slots)
        self._drawn.append(numbers)
        self._age += float((self.added - 1 - numbers).sum())
        w = np.asarray(weights, np.float64)
        self._share += float(w.sum() ** 2 / max(len(w) * np.square(w).sum(), 1e-300))

    def metrics(self) -> dict[str, float]:
        """Since the start: ``replays``, replays per stored transition, and ``replayed``, the share of transitions ever
        replayed. Over the window, which ends here: ``age``, the mean number of transitions newer than a replayed one;
        ``entropy`` of the empirical distribution of replays, in nats; ``weighed``, the effective size of a weighted
        batch as a share of its size, 1 if all weights are equal. {} if nothing was replayed in the window."""
        if not self._drawn:
            return {}
        numbers = np.concatenate(self._drawn)
        p = np.unique(numbers, return_counts=True)[1] / len(numbers)
        found = {
            "replays": self.draws / self.added,
            "replayed": self.ever / self.added,
            "age": self._age / len(numbers),
            "entropy": float(-(p * np.log(p)).sum()),
            "weighed": self._share / len(self._drawn),
        }
        self._forget_window()
        return {name: float(f"{value:.5g}") for name, value in found.items()}
