"""Draw transitions, except those drawn more often than expected ("ahead"), at O(log stored) per draw.

Each batch of n adds n p / (sum of p) to the expected draws of a transition with priority p. With a clock that each
batch advances by n / (sum of p), this expectation is b + p (clock - c), where b is its value when the priority last
changed, at time c. It can be looked up at any time, and we know when each transition that is ahead will no longer be.
So a batch looks only at those whose time has come, those it draws, and those whose priorities change.

When a transition leaves, all expectations are multiplied by the same number, near 1. The product of these numbers is
kept as a scale: an expectation is scale (b + p (clock - c)), and the clock advances by n / (scale sum of p). The scale
may move between `low` and `high`: a transition that is ahead at one and behind at the other is looked at in every
batch. Beyond these bounds, everything is recomputed with a scale of 1.

The literal form, a few lines of NumPy and O(stored) per batch, is in this file's test: both draw the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

MASKED = 1e-8
"""Factor on the priority of a transition that is ahead, as in the author's program (Fujita 2025)."""

# columns of `items`: one row per transition
_P, _B, _C, _DRAWN = 0, 1, 2, 3
# entries of `now`
_CLOCK, _SCALE, _LOW, _HIGH, _POSITIVE, _TOTAL, _THEN = range(7)
# columns of `nodes`, a tree as in `sum_tree`: sums of weights and of priorities, and the largest 1 / (time to look
# again), where 0 means never and inf always
_WEIGHT, _PRIORITY, _SOON = 0, 1, 2


@njit(cache=True)
def _leaf(nodes, width, items, now, i):
    p, b, c, drawn = items[i, _P], items[i, _B], items[i, _C], items[i, _DRAWN]
    expected, node = b + p * (now[_CLOCK] - c), width + i
    nodes[node, _PRIORITY] = p
    if drawn > now[_SCALE] * expected:
        nodes[node, _WEIGHT] = MASKED * p
        if p > 0.0:
            time = c + (drawn / now[_HIGH] - b) / p
            nodes[node, _SOON] = 1.0 / time if time > now[_CLOCK] else np.inf
        else:
            nodes[node, _SOON] = 0.0 if drawn > now[_HIGH] * b else np.inf
    else:
        nodes[node, _WEIGHT] = p
        nodes[node, _SOON] = 0.0 if drawn <= now[_LOW] * expected else np.inf


@njit(cache=True)
def _join(nodes, node):
    """Compute a node from its children."""
    left, right = 2 * node, 2 * node + 1
    nodes[node, _WEIGHT] = nodes[left, _WEIGHT] + nodes[right, _WEIGHT]
    nodes[node, _PRIORITY] = nodes[left, _PRIORITY] + nodes[right, _PRIORITY]
    nodes[node, _SOON] = max(nodes[left, _SOON], nodes[right, _SOON])


@njit(cache=True)
def _mark(changed, i):
    """Mark slot i to be looked at before the next batch. `changed` [capacity + 1, 2]: its first column lists the marked
    slots, with their number in the last row; its second says of every slot whether it is marked."""
    if not changed[i, 1]:
        changed[i, 1] = 1
        changed[changed[-1, 0], 0] = i
        changed[-1, 0] += 1


@njit(cache=True)
def _mark_due(nodes, width, now, changed):
    """Mark all slots whose time has come."""
    waiting = np.empty(130, np.int64)  # each level adds at most one more than it takes away
    waiting[0], size = 1, 1
    while size > 0:
        size -= 1
        node = waiting[size]
        soon = nodes[node, _SOON]
        if soon == np.inf or soon * now[_CLOCK] >= 1.0:
            if node >= width:
                _mark(changed, node - width)
            else:
                waiting[size], waiting[size + 1] = 2 * node + 1, 2 * node
                size += 2


@njit(cache=True)
def _look(nodes, width, items, now, changed):
    """Update all marked slots, then the nodes above them level by level, so that none waits for another."""
    size = 0
    for k in range(changed[-1, 0]):
        i = changed[k, 0]
        node = width + i
        weight, priority, soon = nodes[node, _WEIGHT], nodes[node, _PRIORITY], nodes[node, _SOON]
        _leaf(nodes, width, items, now, i)
        changed[i, 1] = 0
        if weight != nodes[node, _WEIGHT] or priority != nodes[node, _PRIORITY] or soon != nodes[node, _SOON]:
            changed[size, 0] = node
            size += 1
    changed[-1, 0] = 0
    row = width
    while row > 1:
        row >>= 1
        above = 0
        for k in range(size):
            node = changed[k, 0] >> 1
            if above == 0 or changed[above - 1, 0] != node:
                _join(nodes, node)
                changed[above, 0] = node
                above += 1
        size = above


@njit(cache=True)
def _build(nodes, width, items, now, stored):
    """Compute all leaves, then the nodes above."""
    for i in range(stored):
        _leaf(nodes, width, items, now, i)
    first, last = width >> 1, (width + stored - 1) >> 1
    while first >= 1:
        for node in range(first, last + 1):
            _join(nodes, node)
        first >>= 1
        last >>= 1


@njit(cache=True)
def _find(nodes, width, uniforms):
    """Slots whose slices of the cumulative weights contain `uniforms` times the total, as in `sum_tree`."""
    at, rest, row = np.ones(uniforms.size, np.int64), uniforms * nodes[1, _WEIGHT], 1
    while row < width:
        for k in range(at.size):
            node = 2 * at[k]
            left = nodes[node, _WEIGHT]
            right_turn = (rest[k] >= left) & (nodes[node + 1, _WEIGHT] > 0.0)
            rest[k] -= left * right_turn
            at[k] = node + right_turn
        row *= 2
    return at - width


@njit(cache=True)
def _find_new(nodes, width, uniforms, found, count):
    """Append the new slots among those of `_find` to the `count` slots in `found`, in order; return their number now.
    Slots already found weigh 0 meanwhile; if all weights are 0, nothing is added."""
    at, row = found[:count].copy(), width
    while count and row > 1:
        row >>= 1
        for k in range(count):
            at[k] >>= 1
            node = row + at[k]
            nodes[node, _WEIGHT] = nodes[2 * node, _WEIGHT] + nodes[2 * node + 1, _WEIGHT]
    if not nodes[1, _WEIGHT] > 0.0:
        return count
    slots = _find(nodes, width, uniforms)
    for k in range(slots.size):
        if nodes[width + slots[k], _WEIGHT] > 0.0:
            nodes[width + slots[k], _WEIGHT] = 0.0  # only the leaf, as a mark
            found[count] = slots[k]
            count += 1
    return count


@njit(cache=True)
def _count(nodes, items, now, changed, slots):
    """Count `slots` as a batch that was drawn."""
    now[_CLOCK] += slots.size / (now[_SCALE] * nodes[1, _PRIORITY])
    now[_TOTAL] += slots.size
    for k in range(slots.size):
        items[slots[k], _DRAWN] += 1
        _mark(changed, slots[k])


@njit(cache=True)
def _set(items, now, changed, slots, priorities):
    for k in range(slots.size):
        i = slots[k]
        items[i, _B] += items[i, _P] * (now[_CLOCK] - items[i, _C])
        items[i, _C] = now[_CLOCK]
        now[_POSITIVE] += (priorities[k] > 0.0) - (items[i, _P] > 0.0)
        items[i, _P] = priorities[k]
        _mark(changed, i)


@njit(cache=True)
def _renew(items, now, changed, i, priority):
    """Put a new transition into slot i."""
    expected = now[_SCALE] * (items[i, _B] + items[i, _P] * (now[_CLOCK] - items[i, _C]))
    drawn = now[_TOTAL] - items[i, _DRAWN]
    others = now[_TOTAL] - expected  # both sums are the same before a transition leaves
    if others > 0.0:
        now[_SCALE] *= drawn / others
    now[_TOTAL] = drawn
    now[_POSITIVE] += (priority > 0.0) - (items[i, _P] > 0.0)
    items[i, _P], items[i, _B], items[i, _C], items[i, _DRAWN] = priority, 0.0, now[_CLOCK], 0.0
    _mark(changed, i)


@njit(cache=True)
def _rescale(items, now, stored):
    """Set the scale to 1 and the clock to 0."""
    for i in range(stored):
        items[i, _B] = now[_SCALE] * (items[i, _B] + items[i, _P] * (now[_CLOCK] - items[i, _C]))
        items[i, _C] = 0.0
    # Wide enough that a batch looks at about a hundred slots in vain; each departure moves the scale by 1 / total.
    margin = min(0.01, 32.0 / max(now[_TOTAL], 1.0))
    now[_CLOCK], now[_SCALE], now[_LOW], now[_HIGH] = 0.0, 1.0, 1.0 - margin, 1.0 + margin
    now[_THEN] = now[_TOTAL]


class AheadTree:
    """Priorities of up to `capacity` transitions in slots, and how often each was drawn and should have been.

    A draw and a change cost O(log capacity) each. Only the transitions are pickled; the tree is a function of them.
    """

    def __init__(self, capacity: int):
        if capacity < 1:
            raise ValueError(f"a capacity of at least 1 is needed, not {capacity}")
        self.capacity, self.stored = int(capacity), 0
        self._width = 1 << (self.capacity - 1).bit_length()
        self._nodes, self._items = np.zeros((2 * self._width, 3)), np.zeros((self.capacity, 4))
        self._changed = np.zeros((self.capacity + 1, 2), np.int64)
        self._now = np.array([0.0, 1.0, 0.99, 1.01, 0.0, 0.0, 0.0])

    @property
    def priority(self) -> np.ndarray:
        """Priority of each, float64 [stored]."""
        return self._items[: self.stored, _P]

    @property
    def drawn(self) -> np.ndarray:
        """How often each was drawn, float64 [stored]."""
        return self._items[: self.stored, _DRAWN]

    @property
    def expected(self) -> np.ndarray:
        """How often each should have been, float64 [stored]."""
        p, b, c, _ = self._items[: self.stored].T
        return self._now[_SCALE] * (b + p * (self._now[_CLOCK] - c))

    @property
    def positive(self) -> int:
        """How many priorities are positive."""
        return int(self._now[_POSITIVE])

    def add(self, slot: int, priority: float) -> None:
        """Put a new transition into `slot`, in place of the one there. IndexError outside the capacity."""
        if not 0 <= slot < self.capacity:
            raise IndexError(f"slots run from 0 to {self.capacity - 1}, not to {slot}")
        self.stored = max(self.stored, slot + 1)
        _renew(self._items, self._now, self._changed, slot, priority)

    def set_many(self, slots: np.ndarray, priorities: np.ndarray) -> None:
        """Set priorities [n], finite and not negative, of stored `slots` int64 [n]; the last one of a slot counts."""
        many = np.ascontiguousarray(slots, np.int64), np.ascontiguousarray(priorities, np.float64)
        _set(self._items, self._now, self._changed, *many)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the next batch, int64 [n]: different slots if n have a positive priority; uniform if none has.

        These are the slots that `rng.choice` draws with the same weights and the same random numbers.
        """
        if not self.positive:
            return rng.choice(self.stored, n, replace=self.stored < n)
        nodes, width, now = self._nodes, self._width, self._now
        if now[_TOTAL] > 2.0 * now[_THEN] or not now[_LOW] <= now[_SCALE] <= now[_HIGH]:
            _rescale(self._items, now, self.stored)
            self._rebuild()
        _mark_due(nodes, width, now, self._changed)
        _look(nodes, width, self._items, now, self._changed)
        if self.positive < n:
            slots = _find(nodes, width, rng.random(n))
        else:
            slots, count = np.empty(n, np.int64), 0
            while count < n and (more := _find_new(nodes, width, rng.random(n - count), slots, count)) > count:
                count = more
            slots = slots[:count]  # fewer only if a priority times MASKED is 0
        _count(nodes, self._items, now, self._changed, slots)
        return slots

    def _rebuild(self) -> None:
        _build(self._nodes, self._width, self._items, self._now, self.stored)
        self._changed[: self.stored, 1] = self._changed[-1, 0] = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"capacity": self.capacity, "items": self._items[: self.stored].copy(), "now": self._now}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["capacity"])  # type: ignore[misc]
        self.stored, self._now = len(state["items"]), state["now"]
        self._items[: self.stored] = state["items"]
        self._rebuild()
