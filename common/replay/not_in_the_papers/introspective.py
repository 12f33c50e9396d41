"""Introspective experience replay (IER; Kumar and Nagaraj 2023, https://arxiv.org/abs/2206.03171): look back.

Where the learner is most surprised, it asks what led there: a batch is a surprising transition, its pivot, and the
steps just before it. The pivots of the next batches are the transitions with the largest TD errors.

TD errors are up to date: the learner computes them for the whole memory whenever pivots are chosen. Those of the last
replay would not do: transitions that were never replayed have none, and would crowd out everything else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from common.replay.checks import drawable, positive, sizes
from common.replay.protocol import Chosen, Sampler, Step
from common.replay.trail import CUT, Trail

NONE = -1
CHUNK = 1024
"""Number of TD errors asked for at a time."""


class IER(Sampler):
    """Batches of consecutive steps that end at a pivot; all weights are 1.

    errors: returns the TD errors float [n] of slots int64 [n] by today's networks. pivots: how many are chosen at a
    time, one for each of the next batches. uniform: share of batches drawn uniformly instead. candidates: if more are
    stored, choose pivots among this many transitions, drawn uniformly; the paper has no such limit.
    Steps of one environment (`Step.env_id`) follow each other, even across the end of an episode, but not after one
    that was abandoned. If too few of them are stored, the rest of the batch is drawn uniformly. IndexError for a slot
    outside the capacity.
    """

    needs = frozenset({"step", "errors"})

    def __init__(
        self,
        capacity: int,
        rng: np.random.Generator,
        errors: Callable[[np.ndarray], np.ndarray],
        *,
        pivots: int = 64,
        uniform: float = 0.0,
        candidates: int | None = None,
    ):
        positive(capacity=capacity)
        if not 0 <= uniform <= 1:
            raise ValueError(f"uniform must lie in [0, 1], not be {uniform}")
        if pivots < 1:
            raise ValueError(f"at least 1 pivot is needed, not {pivots}")
        if candidates is not None and candidates < pivots:
            raise ValueError(f"{pivots} pivots cannot be chosen among {candidates} candidates")
        self.rng, self.errors, self.pivots, self.uniform, self.candidates = rng, errors, pivots, uniform, candidates
        self.stored = self.added = 0
        self.number = np.full(capacity, NONE)
        """Serial number of the transition in each slot, in order of arrival."""
        self.before = np.full(capacity, NONE)
        """Slot of the step before in the same environment, by slot."""
        self.trail = Trail()
        self._last: dict[int, tuple[int, int]] = {}  # env_id -> slot and number of its last step
        self._waiting: list[tuple[int, int]] = []

    def add(self, index: int, step: Step | None = None) -> None:
        assert step is not None, "IER reads steps"
        if not 0 <= index < len(self.number):
            raise IndexError(f"slots run from 0 to {len(self.number) - 1}, not to {index}")
        self.stored = max(self.stored, index + 1)
        if self.trail.add(step) == CUT:
            self._last.pop(step.env_id, None)
        before, number = self._last.get(step.env_id, (NONE, NONE))
        # It may be gone: other environments have filled the ring since, or this very step takes its slot.
        gone = before == index or self.number[before] != number
        self.number[index], self.before[index] = self.added, NONE if gone else before
        self._last[step.env_id] = index, self.added
        self.added += 1

    def cut(self, env_id: int | None = None) -> None:
        self.trail.cut(env_id)
        for env in [*self._last] if env_id is None else [env_id]:
            self._last.pop(env, None)

    def sample(self, n: int) -> Chosen:
        drawable(n, self.stored)
        if self.uniform and self.rng.random() < self.uniform:
            return Chosen(self.rng.integers(self.stored, size=n), np.ones(n, np.float32))
        while self._waiting and self.number[self._waiting[-1][0]] != self._waiting[-1][1]:
            self._waiting.pop()  # overwritten since it was chosen
        if not self._waiting:
            self._waiting = [(int(slot), int(self.number[slot])) for slot in self.surprising()]
        slots = self.back_from(self._waiting.pop()[0], n)
        filled = np.concatenate([slots, self.rng.integers(self.stored, size=n - len(slots))])
        return Chosen(filled.astype(np.int64), np.ones(n, np.float32))

    def surprising(self) -> np.ndarray:
        """Slots of the next pivots, int64 [<= pivots], the most surprising one last."""
        slots = np.arange(self.stored)
        if self.candidates is not None and self.candidates < self.stored:
            slots = self.rng.choice(self.stored, self.candidates, replace=False)
        parts = np.split(slots, range(CHUNK, len(slots), CHUNK))
        surprise = np.concatenate([sizes(self.errors, part) for part in parts])
        count = min(self.pivots, len(slots))
        top = np.argpartition(-surprise, count - 1)[:count]
        return slots[top[np.argsort(surprise[top], kind="stable")]]

    def back_from(self, slot: int, n: int) -> np.ndarray:
        """Slots of up to n consecutive steps that end in `slot`, newest first: int64 [<= n]."""
        found = [slot]
        while len(found) < n:
            before = int(self.before[found[-1]])
            if before == NONE or self.number[before] > self.number[found[-1]]:
                break  # the first step of all, or one whose predecessor has been overwritten
            found.append(before)
        return np.array(found, np.int64)
