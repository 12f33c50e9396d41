"""A sum tree: draws an item with probability proportional to its priority in O(log capacity).

The tree is one float64 array. Node 1 is the root, the children of node i are 2i and 2i + 1, item i is leaf `width + i`.
Two properties keep it exact for any number of updates: a parent is always recomputed as left + right (a running
`+= change` would drift), and the descent never enters a subtree whose sum is zero, whatever the rounding, so an item of
priority zero is never drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from common.replay.checks import flat


@njit(cache=True)
def _set_leaf(nodes, node, priority):
    nodes[node] = priority
    node >>= 1
    while node >= 1:
        nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
        node >>= 1


@njit(cache=True)
def _descend(nodes, width, prefix):
    """Return the leaf (as a node number) whose slice of the cumulative priorities contains `prefix`."""
    node = 1
    while node < width:
        node *= 2
        left = nodes[node]
        if prefix >= left and nodes[node + 1] > 0.0:
            prefix -= left
            node += 1
    return node


@njit(cache=True)
def _set_one(nodes, width, capacity, index, priority):
    # Kernels do not check array bounds, so a wrong index would overwrite other memory.
    if not 0 <= index < capacity:
        raise IndexError("index outside the sum tree")
    if not 0.0 <= priority < np.inf:
        raise ValueError("a priority must be finite and not negative")
    _set_leaf(nodes, width + index, priority)


@njit(cache=True)
def _set_many(nodes, width, capacity, indices, priorities):
    if indices.size != priorities.size:
        raise ValueError("there must be as many priorities as indices")
    outside = wrong = False
    for k in range(indices.size):  # everything is checked first: the tree is changed completely or not at all
        outside |= (indices[k] < 0) | (indices[k] >= capacity)  # no branches: faster
        wrong |= not ((priorities[k] >= 0.0) & (priorities[k] < np.inf))
    if outside:
        raise IndexError("index outside the sum tree")
    if wrong:
        raise ValueError("a priority must be finite and not negative")
    largest = 0.0
    for k in range(indices.size):
        _set_leaf(nodes, width + indices[k], priorities[k])
        largest = max(largest, priorities[k])
    return largest


@njit(cache=True)
def _find_many(nodes, width, prefix_sums):
    """`_descend` for many sums, all of them level by level: the memory accesses overlap instead of waiting."""
    at = np.ones(prefix_sums.size, np.int64)
    rest = prefix_sums.copy()
    row = 1
    while row < width:
        for k in range(at.size):
            node = 2 * at[k]
            left = nodes[node]
            right_turn = (rest[k] >= left) & (nodes[node + 1] > 0.0)  # no branch: it would be unpredictable
            rest[k] -= left * right_turn
            at[k] = node + right_turn
        row *= 2
    return at - width


@njit(cache=True)
def _different(nodes, width, items):
    """Whether no item comes twice and all have a positive priority."""
    old = np.empty(items.size, np.float64)
    seen = 0
    while seen < items.size and nodes[width + items[seen]] > 0.0:  # leaves that were seen are zero until the end
        node = width + items[seen]
        old[seen] = nodes[node]
        nodes[node] = 0.0
        seen += 1
    for k in range(seen):
        nodes[width + items[k]] = old[k]
    return seen == items.size


@njit(cache=True)
def _draw_distinct(nodes, width, uniforms):
    """Draw n different items by 2n uniform numbers; fewer if fewer have a positive priority.

    Drawing with replacement and ignoring repeats has the same distribution as drawing without replacement, so the first
    n numbers are looked up together; repeats are then drawn again, one by one, from what is left.
    """
    n = uniforms.size // 2
    candidates = _find_many(nodes, width, uniforms[:n] * nodes[1])
    if _different(nodes, width, candidates):  # as nearly always
        return candidates
    found = np.empty(n, np.int64)
    old = np.empty(n, np.float64)
    drawn = 0
    for k in range(n):
        node = width + candidates[k]
        if nodes[node] > 0.0:  # not drawn yet: drawn leaves are zero until the end of the batch
            found[drawn], old[drawn] = candidates[k], nodes[node]
            _set_leaf(nodes, node, 0.0)
            drawn += 1
    while drawn < n and nodes[1] > 0.0:
        node = _descend(nodes, width, uniforms[n + drawn] * nodes[1])
        found[drawn], old[drawn] = node - width, nodes[node]
        _set_leaf(nodes, node, 0.0)
        drawn += 1
    for k in range(drawn):
        _set_leaf(nodes, width + found[k], old[k])
    return found[:drawn]


@njit(cache=True)
def _over_smallest(nodes, width, items):
    found = np.empty(items.size, np.float64)
    smallest = np.inf
    for k in range(items.size):
        found[k] = nodes[width + items[k]]
        smallest = min(smallest, found[k])
    for k in range(items.size):
        found[k] /= smallest
    return found


class SumTree:
    """Priorities of `capacity` items, all zero at first.

    An update and a draw cost O(log capacity) each. Pickling keeps the leaves only (up to the last one that is
    not zero); the inner nodes are a function of them.
    """

    def __init__(self, capacity: int):
        if capacity < 1:
            raise ValueError(f"a sum tree needs a capacity of at least 1, not {capacity}")
        self.capacity = int(capacity)
        self._width = 1 << (self.capacity - 1).bit_length()  # number of leaves: the next power of two
        self._nodes = np.zeros(2 * self._width)

    def __len__(self) -> int:
        return self.capacity

    def __getitem__(self, indices: Any) -> Any:
        """Priorities of the items `indices` (an integer, an integer array or a slice)."""
        return self._nodes[self._width : self._width + self.capacity][indices]

    @property
    def total(self) -> float:
        """Sum of all priorities."""
        return float(self._nodes[1])

    def set(self, index: int, priority: float) -> None:
        """Set one priority. IndexError outside the tree, ValueError unless finite and >= 0."""
        _set_one(self._nodes, self._width, self.capacity, int(index), float(priority))

    def set_many(self, indices: np.ndarray, priorities: np.ndarray) -> float:
        """Set the priorities of `indices` [n]; if an index comes twice, the last one counts. Errors as in `set`.

        Returns the largest of `priorities`, or 0 if there are none.
        """
        return _set_many(self._nodes, self._width, self.capacity, flat(indices, np.int64), flat(priorities, np.float64))

    def find(self, prefix_sums: np.ndarray) -> np.ndarray:
        """Items int64 [n] whose slices of the cumulative priorities contain the `prefix_sums` [n] in [0, total)."""
        if not self.total > 0:
            raise ValueError("nothing to draw: all priorities are zero")
        return _find_many(self._nodes, self._width, flat(prefix_sums, np.float64))

    def draw_distinct(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n different items -> int64 [n]; fewer if fewer have a positive priority. The tree stays the same.

        They are drawn one after the other, each in proportion to its priority among those not drawn yet.
        """
        return _draw_distinct(self._nodes, self._width, rng.random(2 * n))

    def over_smallest(self, drawn: np.ndarray) -> np.ndarray:
        """Priorities of the items int64 [n] that `find` or `draw_distinct` gave, as multiples of their smallest."""
        return _over_smallest(self._nodes, self._width, drawn)

    def __getstate__(self) -> dict[str, Any]:
        leaves = self[:]
        used = np.flatnonzero(leaves)
        return {"capacity": self.capacity, "leaves": leaves[: used[-1] + 1 if used.size else 0].copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["capacity"])  # type: ignore[misc]
        leaves, width = state["leaves"], self._width
        self._nodes[width : width + leaves.size] = leaves
        while width > 1:  # level by level towards the root
            below = self._nodes[width : 2 * width]
            width //= 2
            self._nodes[width : 2 * width] = below[0::2] + below[1::2]
