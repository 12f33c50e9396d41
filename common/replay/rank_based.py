"""Rank-based prioritised replay: a transition is drawn by its place in the list of all TD errors, not by their size.

The sampler keeps that list sorted. A batch changes a few hundred of up to some hundred thousand entries, so only these
are sorted, then merged into the others in one pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from common.replay.checks import checked, drawable, whole
from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.schedules import linear

# Sorted by the bits of |TD error| read as int64: for floats that are not negative, both have the same order.
# Numbers above the bits of infinity are no |TD error|: they number the transitions that have none yet.
_NEVER_SEEN = int(np.float64(np.inf).view(np.int64))
_EMPTY = -1


@njit(cache=True)
def _merge(slots, keys, size, changed, new_slots, new_keys):
    """Merge two lists of slots that are sorted by key, largest first, equal keys by slot, smallest first.

    `slots`, `keys`: the first `size` entries are the old list, from which those with `changed[slot]` are dropped. The
    result replaces it; returns its length.
    """
    kept = 0
    for i in range(size):
        slot = slots[i]
        if not changed[slot]:
            slots[kept], keys[kept] = slot, keys[i]
            kept += 1
    length = kept + new_slots.size
    at, to = kept - 1, length - 1  # from the last entry to the first: nothing is overwritten before it has moved
    for k in range(new_slots.size - 1, -1, -1):
        slot, key = new_slots[k], new_keys[k]
        while at >= 0 and (keys[at] < key or (keys[at] == key and slots[at] > slot)):
            slots[to], keys[to] = slots[at], keys[at]
            at -= 1
            to -= 1
        slots[to], keys[to] = slot, key
        to -= 1
    return length


class RankBasedSampler(Sampler):
    """Rank-based prioritised experience replay (Schaul et al. 2016, https://arxiv.org/abs/1511.05952, Sec. 3.3, 3.4).

    P(i) = rank(i)^-alpha / sum of rank^-alpha over all n stored transitions. Rank 1 has the largest |TD error|; ties
    are ranked by slot. Transitions without a TD error come before all others, the newest first. A batch holds no
    transition twice: its members are drawn one after the other, and repeats drawn again. A batch larger than the memory
    is drawn with replacement.

    The weights correct the bias of the sampling by (P_min / P(i))^beta = (rank(i) / n)^(alpha beta), where P_min is the
    probability of the last rank in the memory (the article: the smallest in the batch), so that 1 is the largest
    possible weight. beta goes linearly from `beta0` to 1 over `beta_steps` calls of `sample`, or stays `beta0` if that
    is None.

    `sample` renews the ranks after `rerank_every` calls, or when a transition has been added or removed; TD errors
    reported in between take effect then. A renewal costs O(capacity): this sampler is meant for a memory that changes
    by whole episodes, not by a transition per batch.

    ValueError for alpha outside [0, 1] (above 1, redrawing is no longer fast), a negative beta0, or a capacity or
    `rerank_every` below 1.
    """

    needs = frozenset({"td_error"})

    def __init__(
        self,
        capacity: int,
        rng: np.random.Generator,
        alpha: float = 0.5,
        beta0: float = 0.5,
        *,
        beta_steps: int | None,
        rerank_every: int = 10,
    ):
        if capacity < 1:
            raise ValueError(f"a sampler needs a capacity of at least 1, not {capacity}")
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha must lie in [0, 1], not be {alpha}")
        if not beta0 >= 0:
            raise ValueError(f"beta0 must be at least 0, not {beta0}")
        if rerank_every < 1:
            raise ValueError(f"rerank_every must be at least 1, not {rerank_every}")
        self.capacity = int(capacity)
        self.rng = rng
        self.alpha, self.beta0, self.rerank_every = alpha, beta0, rerank_every
        self._annealed = None if beta_steps is None else linear(beta0, 1.0, beta_steps)
        self.calls = 0  # of `sample`

        self._keys = np.full(self.capacity, _EMPTY)  # by slot, always up to date
        self._added = 0  # transitions so far
        self._changed = np.zeros(self.capacity, bool)  # by slot: since the ranks were last renewed
        self._stale = False  # were transitions added or removed since then?
        self._age = 0  # calls of `sample` since then
        self._size = 0  # transitions in the two lists below: rank r is entry r - 1
        self._ranked, self._ranked_keys = self._lists()
        self._cumulative = self._table()

    def _lists(self) -> tuple[np.ndarray, np.ndarray]:
        """Room for slots and their keys in rank order."""
        return np.zeros(self.capacity, np.int64), np.zeros(self.capacity, np.int64)

    def _table(self) -> np.ndarray:
        """Entry r - 1 is the sum of rank^-alpha over the ranks 1 to r, however many ranks there are."""
        return np.cumsum(np.arange(1.0, self.capacity + 1) ** -self.alpha)

    @property
    def beta(self) -> float:
        """The exponent of the weights in the next call of `sample`."""
        return self.beta0 if self._annealed is None else self._annealed(self.calls)

    def add(self, index: int, step: Step | None = None) -> None:
        """As in `Sampler`. IndexError outside the capacity."""
        self.extend(np.array([index]))

    def extend(self, indices: np.ndarray) -> None:
        """Like `add`, for all slots `indices` [n], the newest transition last; a slot may hold an older one."""
        slots = self._checked(indices)
        self._set(slots, _NEVER_SEEN + 1 + self._added + np.arange(slots.size))
        self._added += slots.size
        self._stale |= slots.size > 0

    def remove(self, indices: np.ndarray) -> None:
        """The storage has forgotten the transitions in the slots `indices` [n]: stop drawing them.

        IndexError outside the capacity, ValueError for a slot that holds no transition; nothing is then removed.
        """
        slots = self._checked(indices, filled=True)
        self._set(slots, _EMPTY)
        self._stale |= slots.size > 0

    def sample(self, n: int) -> Chosen:
        if self._stale or self._age >= self.rerank_every:
            self._renew_ranks()
        drawable(n, self._size)
        ranks = self._draw_ranks(n)
        weights = (ranks / self._size) ** (self.alpha * self.beta)
        self.calls += 1
        self._age += 1
        return Chosen(self._ranked[ranks - 1], weights.astype(np.float32))

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        """As in `Sampler`; if a slot comes twice, its last TD error counts.

        Call this before the storage changes: TD errors belong to the transitions that were drawn, and a refilled slot
        holds another one. ValueError also for a slot that no longer holds a transition.
        """
        slots, td = checked(indices, signals, "td_error", stored=self.capacity)
        self._checked(slots, filled=True)
        self._set(slots, np.abs(td).view(np.int64))  # without a sign also for -0.0: see _NEVER_SEEN

    def _checked(self, indices: np.ndarray, filled: bool = False) -> np.ndarray:
        """Return `indices` as int64 [n], all within the capacity and, if `filled`, with a transition in them."""
        slots = whole(indices)
        if slots.size and not (slots.min() >= 0 and slots.max() < self.capacity):
            raise IndexError(f"slots run from 0 to {self.capacity - 1}, not from {slots.min()} to {slots.max()}")
        if filled and (empty := self._keys[slots] == _EMPTY).any():
            raise ValueError(f"slot {slots[empty][0]} holds no transition")
        return slots

    def _set(self, slots: np.ndarray, keys: np.ndarray | int) -> None:
        self._keys[slots] = keys
        self._changed[slots] = True

    def _renew_ranks(self) -> None:
        slots = np.flatnonzero(self._changed)  # ascending, and the sorting is stable: equal keys stay sorted by slot
        stored = slots[self._keys[slots] != _EMPTY]
        stored = stored[np.argsort(-self._keys[stored], kind="stable")]
        keys = self._keys[stored]
        self._size = _merge(self._ranked, self._ranked_keys, self._size, self._changed, stored, keys)
        self._changed[slots] = False
        self._stale, self._age = False, 0

    def _draw_ranks(self, n: int) -> np.ndarray:
        """Draw n ranks int64 [n], in the order of drawing; different ones if there are that many."""
        cumulative = self._cumulative[: self._size]
        if n > self._size:
            return np.searchsorted(cumulative, self.rng.random(n) * cumulative[-1], side="right") + 1
        ranks = np.empty(0, np.int64)
        while ranks.size < n:
            uniforms = self.rng.random(n + n // 8 + 1)  # a few more, so that repeats rarely need a second round
            # A number < 1 times the total is less than the total in floating point too: no rank beyond the last one.
            drawn = np.searchsorted(cumulative, uniforms * cumulative[-1], side="right") + 1
            ranks = np.concatenate([ranks, drawn])
            ranks = ranks[np.sort(np.unique(ranks, return_index=True)[1])]  # without repeats
        return ranks[:n]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_cumulative"]  # a function of the settings
        for name in ("_ranked", "_ranked_keys"):
            state[name] = state[name][: self._size].copy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cumulative = self._table()
        for full, name in zip(self._lists(), ("_ranked", "_ranked_keys")):
            full[: self._size] = state[name]
            setattr(self, name, full)
