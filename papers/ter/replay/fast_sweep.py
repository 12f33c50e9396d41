"""The loop of Algorithm 1 in `topological.py` as one kernel, on the graph of `fast_graph.py`.

The law of what is drawn is that of the literal form, which is the one to be read; the draws are others.
"""

import random
from typing import Any

import numpy as np
from numba import njit

from common.numba_cache import njit_calling
from papers.ter.replay import fast_graph
from papers.ter.replay.fast_graph import COUNT, ITEM, PLACE, REACHED, RETURNED, SIZES, TERMINAL, FastGraph, longer
from papers.ter.topological import TER, PseudoTerminalRoots, terminal_roots

HEAD, TAIL, FIRST, LAST, QUEUED, SWEEPS = range(6)
"""Of the search's book: used parts of the search queue and of the batch queue; transitions that waited when the last
search began; sweeps begun."""
DONE, ROOTS, QUEUES = range(3)
"""What `_sweep` lacks: nothing, or roots, or room in the queues."""

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


# --- the search -------------------------------------------------------------------------------------------------------


@njit_calling(fast_graph)
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


@njit_calling(fast_graph)
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
                self.to_expand = longer(self.to_expand, max(len(self.to_expand), len(chosen)))
                self.to_expand[: len(chosen)] = chosen
                book[TAIL], book[QUEUED] = len(chosen), book[LAST]
                book[SWEEPS] += 1
            else:
                self.to_expand = longer(self.to_expand[book[HEAD] :], 2 * len(self.to_expand))
                self.to_serve = longer(self.to_serve, 2 * len(self.to_serve))
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
