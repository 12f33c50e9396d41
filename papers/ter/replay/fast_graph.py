"""The graph of `graph.py` in arrays, and the loop of Algorithm 1 in `topological.py` as a kernel.

What is stored and the law of what is drawn are those of the literal forms, which are the ones to be read: tests hold
both against each other. Here a vertex is a whole number, a transition is known by its slot, and the order in which a
vertex keeps its edges, or a set its members, is nobody's business: draws without replacement shuffle it.

Lists of varying length (the edges into a vertex, the transitions of an edge) lie in blocks of a common pool. A list
that outgrows its block moves to one twice as large at the end of the pool; when that is reached, the pool is packed
anew without what was left behind.
"""

import random
from typing import Any

import numpy as np
from numba import njit

from papers.ter.replay.states import table_bytes
from papers.ter.topological import TER, PseudoTerminalRoots, terminal_roots

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
HEAD, TAIL, FIRST, LAST, QUEUED, SWEEPS = range(6)
"""Of the search's book: used parts of the search queue and of the batch queue; transitions that waited when the last
search began; sweeps begun."""
DONE, VERTICES, ENOUGH_EDGES, POOLS, ROOTS, QUEUES = range(6)
"""What a kernel lacks: nothing, or room for vertices, edges, pools, or roots, or room in the queues."""

# --- random numbers ---------------------------------------------------------------------------------------------------


@njit(cache=True)
def _uniform(stream):
    """In (0, 1), by splitmix64 (Steele et al. 2014): its whole state is one number, which is pickled with the rest."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    z = stream[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(12)) + 0.5) * 2.0**-52


@njit(cache=True)
def _below(stream, n):
    """One of 0, ..., n - 1."""
    return np.int64(_uniform(stream) * n)


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
            self.vertices = _longer(self.vertices, room)
            self.sets = _longer(self.sets, room, -1)
            if self.track_returns:
                self.totals, self.visits = _longer(self.totals, room), _longer(self.visits, room)
        elif lacks == ENOUGH_EDGES:
            self.edges = _longer(self.edges, min(self.capacity, max(1024, 2 * len(self.edges))))
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
        self.edge_of, self.flags = _longer(self.edge_of, self.capacity), _longer(self.flags, self.capacity)
        if self.track_returns:
            self.gains = _longer(self.gains, self.capacity)


def graph_bytes(capacity: int, states: int, track_returns: bool = False) -> int:
    """Memory [bytes] of a full graph, of its search and of the `Vertices` of so many states, at its largest: no state
    was met twice, and pools and tables exist twice while they grow."""
    transition = 4 * (5 + 5) * 2 + EDGE.itemsize + 4 + 1 + 12  # pools; edge; edge_of and flags; search queue
    vertex = 3 * (VERTEX.itemsize + 4 * 2 * (2 + track_returns) + 12 * track_returns)
    phi = table_bytes(states, 24) + 4 * states
    return capacity * (transition + 8 * track_returns) + states * vertex + phi


def _longer(values: np.ndarray, length: int, fill: int = 0) -> np.ndarray:
    """With more entries in the last axis."""
    larger = np.full((*values.shape[:-1], length), fill, values.dtype) if fill else np.zeros(length, values.dtype)
    larger[..., : values.shape[-1]] = values
    return larger


# --- the search -------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _sweep(
    n, roots, predecessors,
    graph_book, vertices, sets, edges, edge_pool, slot_pool, capacity,
    book, to_expand, to_serve, stream,
):  # fmt: skip
    """`TER.sweep` up to the `n` transitions, which then wait in the batch queue, or to what it lacks.

    roots: how many terminal vertices to start from; -1: somebody else chooses. predecessors: -1 for all.
    """
    count = graph_book[COUNT]
    waiting = 0
    for k in range(book[FIRST], book[LAST]):
        if to_serve[k] >= count - capacity:
            to_serve[waiting] = to_serve[k]
            waiting += 1
    book[FIRST], book[LAST] = 0, waiting
    while book[LAST] < n:
        if book[HEAD] == book[TAIL]:
            if book[QUEUED] == book[LAST]:
                break
            book[HEAD] = book[TAIL] = 0
            if roots < 0:
                return ROOTS
            which = TERMINAL if graph_book[SIZES + TERMINAL] else REACHED
            size = graph_book[SIZES + which]
            if to_expand.size < min(roots, size):
                return QUEUES
            for k in range(min(roots, size)):
                j = k + _below(stream, size - k)
                a, b = sets[ITEM, which, k], sets[ITEM, which, j]
                sets[ITEM, which, k], sets[ITEM, which, j] = b, a
                sets[PLACE, which, a], sets[PLACE, which, b] = j, k
                to_expand[k] = b
                book[TAIL] = k + 1
            book[QUEUED] = book[LAST]
            book[SWEEPS] += 1
            continue
        v_next = to_expand[book[HEAD]]
        if v_next >= vertices.size or vertices[v_next].visited == book[SWEEPS]:
            book[HEAD] += 1
            continue
        start, degree = vertices[v_next].start, vertices[v_next].edges
        chosen = degree if predecessors < 0 else min(predecessors, degree)
        if book[TAIL] + chosen > to_expand.size or book[LAST] + chosen > to_serve.size:
            return QUEUES
        book[HEAD] += 1
        for k in range(chosen):
            if chosen < degree:
                j = k + _below(stream, degree - k)
                edge_pool[start + k], edge_pool[start + j] = edge_pool[start + j], edge_pool[start + k]
            edge = edge_pool[start + k]
            to_expand[book[TAIL]] = edges[edge].source
            book[TAIL] += 1
            slot = slot_pool[edges[edge].start + edges[edge].first + _below(stream, edges[edge].count)]
            to_serve[book[LAST]] = count - 1 - (count - 1 - slot) % capacity  # its number
            book[LAST] += 1
        vertices[v_next].visited = book[SWEEPS]
    return DONE


@njit(cache=True)
def _softmax_roots(n, kappa, standardise, sets, size, totals, visits, stream):
    """`PseudoTerminalRoots`. Noise is drawn only where the largest there is could lift a vertex into the best n."""
    mean = np.empty(size)  # U(v)
    for k in range(size):
        mean[k] = totals[sets[ITEM, RETURNED, k]] / visits[sets[ITEM, RETURNED, k]]
    if standardise and size:
        mean /= max(mean.std(), 1e-9)
    n = min(n, size)
    best, scores = np.empty(n, np.int64), np.full(n, -np.inf)
    largest = -np.log(-np.log(1.0 - 2.0**-53))
    for k in range(size):
        logit = mean[k] / kappa
        if n == 0 or logit + largest <= scores[n - 1]:
            continue
        score = logit - np.log(-np.log(_uniform(stream)))
        if score > scores[n - 1]:
            at = n - 1
            while at > 0 and scores[at - 1] < score:
                scores[at], best[at] = scores[at - 1], best[at - 1]
                at -= 1
            scores[at], best[at] = score, sets[ITEM, RETURNED, k]
    return best


class FastTER(TER):
    """`TER` on a `FastGraph`: the same arguments, the same law, other draws. phi gives whole numbers (`Vertices`)."""

    def __init__(self, graph: FastGraph, rng: random.Random, *args: Any, **options: Any):
        super().__init__(graph, rng, *args, **options)  # type: ignore[arg-type]
        del self.search_queue, self.batch_queue, self.visited  # of the literal form; vertices know who visited them
        self.arrays = graph  # `graph` by its own type
        self.to_expand, self.to_serve = np.zeros(64, np.int32), np.zeros(64, np.int64)  # the two queues
        self.book = np.zeros(SWEEPS + 1, np.int64)
        self.stream = np.array([rng.getrandbits(64)], np.uint64)

    def sweep(self, n: int) -> list[int]:
        g, book = self.arrays, self.book
        roots = self.roots if self.choose_roots is terminal_roots else -1
        predecessors = -1 if self.predecessors is None else self.predecessors
        book[QUEUED] = -1
        while lacks := _sweep(
            n, roots, predecessors,
            g.book, g.vertices, g.sets, g.edges, g.edge_pool, g.slot_pool, g.capacity,
            book, self.to_expand, self.to_serve, self.stream,
        ):  # fmt: skip
            if lacks == ROOTS:
                chosen = self._chosen_roots()
                self.to_expand = _longer(self.to_expand, max(len(self.to_expand), len(chosen)))
                self.to_expand[: len(chosen)] = chosen
                book[TAIL], book[QUEUED] = len(chosen), book[LAST]
                book[SWEEPS] += 1
            else:
                self.to_expand = _longer(self.to_expand[book[HEAD] :], 2 * len(self.to_expand))
                self.to_serve = _longer(self.to_serve, 2 * len(self.to_serve))
                book[HEAD], book[TAIL] = 0, book[TAIL] - book[HEAD]
        self.sweeps = int(book[SWEEPS])
        first, last = int(book[FIRST]), int(min(book[FIRST] + n, book[LAST]))
        book[FIRST] = last
        return self.to_serve[first:last].tolist()

    def _chosen_roots(self) -> Any:
        """Vertices to start from, where they are not the terminal ones."""
        g, choose = self.arrays, self.choose_roots
        if not isinstance(choose, PseudoTerminalRoots):
            return choose(self.graph, self.roots, self.rng)
        size = g.book[SIZES + RETURNED]
        return _softmax_roots(
            self.roots, choose.kappa, choose.standardise, g.sets, size, g.totals, g.visits, self.stream
        )
