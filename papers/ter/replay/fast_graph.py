"""The graph of `graph.py` in arrays. That one is to be read; tests hold both against each other.

Here a vertex is a whole number, a transition is known by its slot, and the order in which a vertex keeps its edges, or
a set its members, is nobody's business: draws without replacement shuffle it (`fast_sweep.py`).

Lists of varying length (the edges into a vertex, the transitions of an edge) lie in blocks of a common pool. A list
that outgrows its block moves to one twice as large at the end of the pool; when that is reached, the pool is packed
anew without what was left behind.
"""

from typing import Any

import numpy as np
from numba import njit

from common.replay.checks import positive
from papers.ter.replay.states import table_bytes

# --- layout -----------------------------------------------------------------------------------------------------------

VERTEX = np.dtype([(name, np.int32) for name in ("start", "room", "edges", "ends", "visited")], align=True)
"""Its block of edges in their pool and how many there are; stored transitions that ended the task here; last sweep that
expanded it."""
EDGE = np.dtype([(name, np.int32) for name in ("source", "target", "start", "room", "first", "count")], align=True)
"""From where, to where; its block of transitions in their pool, the place of the oldest in it, and how many there are.
Edges that are free are chained by ``start``."""

COUNT, OLDEST, EDGES, USED, FREE, EDGE_TOP, SLOT_TOP, SIZES = range(8)
"""Of the graph's book: transitions added; number of the oldest that is stored; edges there are; edges that were ever
used; first free edge or -1; ends of the used parts of the pools; from here on, sizes of the sets."""
REACHED, TERMINAL, RETURNED = range(3)
"""Sets of vertices: that a search can expand; V_E; that U is known of."""
ITEM, PLACE = range(2)
"""Of a set: its members, and the place of each vertex among them (-1: it is none)."""
ENDED, OPENED = 1, 2
"""Flags of a transition: it ended the task; it began an episode."""
DONE, VERTICES, ENOUGH_EDGES, POOLS = range(4)
"""What `_add` lacks: nothing, or room for vertices, for edges, or in the pools."""

# --- the graph --------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _put(sets, book, which, vertex):
    if sets[PLACE, which, vertex] < 0:
        size = book[SIZES + which]
        sets[ITEM, which, size] = vertex
        sets[PLACE, which, vertex] = size
        book[SIZES + which] = size + 1


@njit(cache=True)
def _take(sets, book, which, vertex):
    hole, size = sets[PLACE, which, vertex], book[SIZES + which] - 1
    last = sets[ITEM, which, size]
    sets[ITEM, which, hole] = last
    sets[PLACE, which, last] = hole
    sets[PLACE, which, vertex] = -1
    book[SIZES + which] = size


@njit(cache=True)
def _visit(sets, book, totals, visits, vertex, accumulated, sign):
    """A visit of a vertex counts in U, or, with sign -1, does so no longer."""
    totals[vertex] += sign * accumulated
    visits[vertex] += sign
    if visits[vertex] == 0:
        totals[vertex] = 0.0
        _take(sets, book, RETURNED, vertex)
    else:
        _put(sets, book, RETURNED, vertex)


@njit(cache=True)
def _drop(slot, book, vertices, sets, edges, edge_pool, edge_of, flags, gains, totals, visits):
    """Forget the transition in a slot: the oldest one, and so the oldest of its edge."""
    edge = edge_of[slot]
    v, v_next = edges[edge].source, edges[edge].target
    edges[edge].first += 1
    edges[edge].count -= 1
    if edges[edge].count == 0:
        last = vertices[v_next].start + vertices[v_next].edges - 1
        at = last
        while edge_pool[at] != edge:
            at -= 1
        edge_pool[at] = edge_pool[last]
        vertices[v_next].edges -= 1
        if vertices[v_next].edges == 0:
            vertices[v_next].room = 0  # `_pack` does not come by
            _take(sets, book, REACHED, v_next)
        edges[edge].start = book[FREE]
        book[FREE] = edge
        book[EDGES] -= 1
    if flags[slot] & ENDED:
        vertices[v_next].ends -= 1
        if vertices[v_next].ends == 0:
            _take(sets, book, TERMINAL, v_next)
    if visits.size:
        if flags[slot] & OPENED:
            _visit(sets, book, totals, visits, v, 0.0, -1)
        _visit(sets, book, totals, visits, v_next, gains[slot], -1)


@njit(cache=True)
def _add(
    v, v_next, terminated, opens, gain,
    capacity, book, vertices, sets, edges, edge_pool, slot_pool, edge_of, flags, gains, totals, visits,
):  # fmt: skip
    """`FastGraph.add`. Where something lacks, nothing has been added, and the call is to be repeated."""
    if min(v, v_next) < 0:
        raise ValueError("vertices are numbered from 0")
    if max(v, v_next) >= vertices.size:
        return VERTICES
    slot = book[COUNT] % capacity
    if book[OLDEST] + capacity == book[COUNT]:
        _drop(slot, book, vertices, sets, edges, edge_pool, edge_of, flags, gains, totals, visits)
        book[OLDEST] += 1
    start, count = vertices[v_next].start, vertices[v_next].edges
    edge = -1
    for at in range(start, start + count):
        if edges[edge_pool[at]].source == v:
            edge = edge_pool[at]
            break

    if edge < 0:
        if book[FREE] < 0 and book[USED] == edges.size:
            return ENOUGH_EDGES
        room = vertices[v_next].room
        if book[SLOT_TOP] + 2 > slot_pool.size or (count == room and book[EDGE_TOP] + 2 * room + 2 > edge_pool.size):
            return POOLS
        if count == room:
            for k in range(count):
                edge_pool[book[EDGE_TOP] + k] = edge_pool[start + k]
            vertices[v_next].start, vertices[v_next].room = book[EDGE_TOP], 2 * room + 2
            book[EDGE_TOP] += 2 * room + 2
        if book[FREE] >= 0:
            edge = book[FREE]
            book[FREE] = edges[edge].start
        else:
            edge = book[USED]
            book[USED] += 1
        edge_pool[vertices[v_next].start + count] = edge
        vertices[v_next].edges += 1
        _put(sets, book, REACHED, v_next)
        edges[edge].source, edges[edge].target = v, v_next
        edges[edge].start, edges[edge].room, edges[edge].first, edges[edge].count = book[SLOT_TOP], 2, 0, 0
        book[SLOT_TOP] += 2
        book[EDGES] += 1
    elif edges[edge].first + edges[edge].count == edges[edge].room:  # the block is filled to its end
        oldest, count, room = edges[edge].start + edges[edge].first, edges[edge].count, edges[edge].room
        if 2 * count > room:
            if book[SLOT_TOP] + 2 * room > slot_pool.size:
                return POOLS
            edges[edge].start, edges[edge].room = book[SLOT_TOP], 2 * room
            book[SLOT_TOP] += 2 * room
        for k in range(count):
            slot_pool[edges[edge].start + k] = slot_pool[oldest + k]
        edges[edge].first = 0

    slot_pool[edges[edge].start + edges[edge].first + edges[edge].count] = slot
    edges[edge].count += 1
    edge_of[slot] = edge
    flags[slot] = ENDED * terminated + OPENED * opens
    if terminated:
        vertices[v_next].ends += 1
        _put(sets, book, TERMINAL, v_next)
    if visits.size:
        gains[slot] = gain
        if opens:
            _visit(sets, book, totals, visits, v, 0.0, 1)
        _visit(sets, book, totals, visits, v_next, gain, 1)
    book[COUNT] += 1
    return DONE


@njit(cache=True)
def _pack(book, vertices, sets, edges, edge_pool, slot_pool, new_edge_pool, new_slot_pool):
    """Copy the pools into new ones, with room for half as much more in each block."""
    edge_top = slot_top = 0
    for k in range(book[SIZES + REACHED]):
        v = sets[ITEM, REACHED, k]
        start, count = vertices[v].start, vertices[v].edges
        for i in range(count):
            e = edge_pool[start + i]
            new_edge_pool[edge_top + i] = e
            oldest, stored = edges[e].start + edges[e].first, edges[e].count
            for j in range(stored):
                new_slot_pool[slot_top + j] = slot_pool[oldest + j]
            edges[e].start, edges[e].first, edges[e].room = slot_top, 0, stored + stored // 2 + 1
            slot_top += edges[e].room
        vertices[v].start, vertices[v].room = edge_top, count + count // 2 + 1
        edge_top += vertices[v].room
    book[EDGE_TOP], book[SLOT_TOP] = edge_top, slot_top


class Members:
    """A set of vertices of a `FastGraph`, to look at."""

    def __init__(self, graph: "FastGraph", which: int):
        self.graph, self.which = graph, which

    def __len__(self) -> int:
        return int(self.graph.book[SIZES + self.which])

    @property
    def items(self) -> list[int]:
        return self.graph.sets[ITEM, self.which, : len(self)].tolist()


class FastGraph:
    """`TransitionGraph` for vertices that are whole numbers from 0 on; it keeps a row up to the largest.

    An edge is looked up among those into its end: where very many lead to one vertex, adding takes as long.
    """

    def __init__(self, capacity: int, track_returns: bool = False):
        positive(capacity=capacity)
        self.capacity, self.track_returns = capacity, track_returns
        self.book = np.zeros(SIZES + 3, np.int64)
        self.book[FREE] = -1
        self.vertices = np.zeros(0, VERTEX)
        self.sets = np.full((2, 2 + track_returns, 0), -1, np.int32)
        self.edges = np.zeros(0, EDGE)
        self.edge_pool, self.slot_pool = np.zeros((2, 0), np.int32)
        self.edge_of, self.flags = np.zeros(capacity, np.int32), np.zeros(capacity, np.uint8)
        self.gains = np.zeros(capacity * track_returns)  # G of a transition's end
        self.totals, self.visits = np.zeros(0), np.zeros(0, np.int32)  # sum of G, visits

    @property
    def count(self) -> int:
        return int(self.book[COUNT])

    @property
    def reached(self) -> Members:
        return Members(self, REACHED)

    @property
    def terminal(self) -> Members:
        return Members(self, TERMINAL)

    def add(self, v: int, v_next: int, terminated: bool, visited: tuple[tuple[int, float], ...] = ()) -> int:
        """As `TransitionGraph.add`. An episode begins with G = 0."""
        opens, gain = len(visited) == 2, visited[-1][1] if visited else 0.0
        while lacks := _add(
            v, v_next, terminated, opens, float(gain),
            self.capacity, self.book, self.vertices, self.sets, self.edges, self.edge_pool, self.slot_pool,
            self.edge_of, self.flags, self.gains, self.totals, self.visits,
        ):  # fmt: skip
            self._grow(lacks, max(v, v_next))
        return self.count - 1

    def holds(self, number: int) -> bool:
        return number >= self.count - self.capacity

    def _grow(self, lacks: int, vertex: int) -> None:
        if lacks == VERTICES:
            room = max(1024, 2 * len(self.vertices), vertex + 1)
            self.vertices = longer(self.vertices, room)
            self.sets = longer(self.sets, room, -1)
            if self.track_returns:
                self.totals, self.visits = longer(self.totals, room), longer(self.visits, room)
        elif lacks == ENOUGH_EDGES:
            self.edges = longer(self.edges, min(self.capacity, max(1024, 2 * len(self.edges))))
        else:  # twice what `_pack` needs at most
            reached, edges, stored = len(self.reached), int(self.book[EDGES]), self.count - int(self.book[OLDEST])
            edge_pool = np.zeros(2 * reached + 3 * edges + 64, np.int32)
            slot_pool = np.zeros(2 * edges + 3 * stored + 64, np.int32)
            _pack(self.book, self.vertices, self.sets, self.edges, self.edge_pool, self.slot_pool, edge_pool, slot_pool)
            self.edge_pool, self.slot_pool = edge_pool, slot_pool

    def __getstate__(self) -> dict[str, Any]:
        stored = min(self.count, self.capacity)
        return self.__dict__ | {
            "edges": self.edges[: self.book[USED]],
            "edge_pool": self.edge_pool[: self.book[EDGE_TOP]],
            "slot_pool": self.slot_pool[: self.book[SLOT_TOP]],
            **{name: getattr(self, name)[:stored] for name in ("edge_of", "flags", "gains")},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.edge_of, self.flags = longer(self.edge_of, self.capacity), longer(self.flags, self.capacity)
        if self.track_returns:
            self.gains = longer(self.gains, self.capacity)


def longer(values: np.ndarray, length: int, fill: int = 0) -> np.ndarray:
    """With more entries in the last axis."""
    larger = np.full((*values.shape[:-1], length), fill, values.dtype) if fill else np.zeros(length, values.dtype)
    larger[..., : values.shape[-1]] = values
    return larger


def graph_bytes(capacity: int, states: int, track_returns: bool = False) -> int:
    """Memory [bytes] of a full graph, of its search and of the `Vertices` of so many states, at its largest: no state
    was met twice, and pools and tables exist twice while they grow."""
    transition = 4 * (5 + 5) * 2 + EDGE.itemsize + 4 + 1 + 12  # pools; edge; edge_of and flags; search queue
    vertex = 3 * (VERTEX.itemsize + 4 * 2 * (2 + track_returns) + 12 * track_returns)
    phi = table_bytes(states, 24) + 4 * states
    return capacity * (transition + 8 * track_returns) + states * vertex + phi
