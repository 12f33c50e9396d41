"""Topological Experience Replay: replay transitions in the order in which values become known, from the goal back.

A Q-value can only be right once the values behind it are. Stored transitions are therefore kept as a graph whose
vertices are hashed states, and batches are read off a breadth-first search that starts at terminal states -- whose
value needs no bootstrapping -- and walks against the direction of time. Episodes that pass through one state share its
vertex, so the search leaves the episode it started in: that sets TER apart from replaying single episodes backwards.

    RandomProjection   Sec. 4.2   state -> vertex
    TransitionGraph    Sec. 4.2   vertex -> predecessors -> transitions, pruned with the replay memory
    ReverseSweep       Sec. 4.3   Algorithm 1, lines 7-16: the search and the queue of transitions it leaves behind
    TopologicalSampler Sec. 4.4   a batch: 1 - eta from the sweep, eta from prioritised replay
"""

import random
from collections import deque
from collections.abc import Callable, Hashable

import numpy as np

Vertex = Hashable


class RandomProjection:
    """phi(s) = M s with M_ij ~ Normal(0, 1/d), rounded to a hash key (Sec. 4.2).

    The product is taken in float64 and always for a single state: in float32, or when several states are multiplied at
    once, the order of summation changes digits that survive the rounding, and one state would get two vertices.

    Args:
        dim: d, the length of the projected vector.
        size: number of values of a flattened state.
        rng: draws M.
        decimals: digits kept of each coordinate (pictures are projected with their raw values, 0..255).
    """

    def __init__(self, dim: int, size: int, rng: np.random.Generator, decimals: int = 6):
        self.matrix = rng.normal(0.0, np.sqrt(1.0 / dim), (dim, size))
        self.decimals = decimals

    def __call__(self, state: np.ndarray) -> bytes:
        projected = self.matrix @ state.reshape(-1).astype(np.float64)
        return (np.round(projected, self.decimals) + 0.0).tobytes()  # + 0.0 turns -0.0 into 0.0


class IndexedSet:
    """A set from which members are drawn uniformly in O(1): a list, and the place of each member in it."""

    def __init__(self) -> None:
        self.items: list[Vertex] = []
        self.place: dict[Vertex, int] = {}

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item: Vertex) -> bool:
        return item in self.place

    def add(self, item: Vertex) -> None:
        if item not in self.place:
            self.place[item] = len(self.items)
            self.items.append(item)

    def remove(self, item: Vertex) -> None:
        hole, last = self.place.pop(item), self.items.pop()
        if last != item:
            self.items[hole] = last
            self.place[last] = hole


class TransitionGraph:
    """G = {V, E} as nested hash tables: ``predecessors[v'][v]`` lists the transitions v -> v', oldest first (Sec. 4.2).

    Transitions are named by the number of the environment step that made them (0, 1, 2, ...). Only the newest
    ``capacity`` of them are kept: adding one removes the one that falls out, with its edge, vertex and root once they
    are empty. The paper prunes lazily when the search meets an old transition; the search sees the same graph either
    way, but memory stays bounded here.

    Args:
        capacity: number of transitions kept.
        track_returns: also keep U(v), the mean reward accumulated since the start of the episode over all visits of v
            (Appendix H), for tasks without terminal states.
    """

    def __init__(self, capacity: int, track_returns: bool = False):
        self.capacity = capacity
        self.count = 0
        self.predecessors: dict[Vertex, dict[Vertex, list[int]]] = {}
        self.reached = IndexedSet()  # vertices with predecessors: all that a search can expand
        self.terminal = IndexedSet()  # V_E: vertices that some stored transition ended at
        self._terminal_count: dict[Vertex, int] = {}
        # Ends of the stored transitions, so that the one that falls out is found again: (v, v', terminated)
        self._ends: list[tuple[Vertex, Vertex, bool]] = []
        self.visits: dict[Vertex, list[float]] | None = {} if track_returns else None  # v -> [sum of G, visits]
        self._visited: list[tuple[tuple[Vertex, float], ...]] = []

    def add(self, v: Vertex, v_next: Vertex, terminated: bool, visited: tuple[tuple[Vertex, float], ...] = ()) -> int:
        """Algorithm 1, lines 5-6. Returns the number of the new transition.

        Args:
            visited: ``(vertex, G)`` for each state that this transition adds to the memory: its end, and its start too
                if it opens an episode. Only read with ``track_returns``.
        """
        number, slot = self.count, self.count % self.capacity
        if number >= self.capacity:
            self._drop(number - self.capacity, slot)
            self._ends[slot] = (v, v_next, terminated)
        else:
            self._ends.append((v, v_next, terminated))
        self.predecessors.setdefault(v_next, {}).setdefault(v, []).append(number)
        self.reached.add(v_next)
        if terminated:
            self._terminal_count[v_next] = self._terminal_count.get(v_next, 0) + 1
            self.terminal.add(v_next)
        if self.visits is not None:
            for vertex, accumulated in visited:
                total = self.visits.setdefault(vertex, [0.0, 0])
                total[0] += accumulated
                total[1] += 1
            self._visited[slot : slot + 1] = [visited]
        self.count += 1
        return number

    def holds(self, number: int) -> bool:
        """Whether a transition is still stored (App. B.5: its age does not exceed the capacity)."""
        return number >= self.count - self.capacity

    def _drop(self, number: int, slot: int) -> None:
        v, v_next, terminated = self._ends[slot]
        edges = self.predecessors[v_next]
        edge = edges[v]
        assert edge[0] == number
        edge.pop(0)
        if not edge:
            del edges[v]
        if not edges:
            del self.predecessors[v_next]
            self.reached.remove(v_next)
        if terminated:
            self._terminal_count[v_next] -= 1
            if not self._terminal_count[v_next]:
                del self._terminal_count[v_next]
                self.terminal.remove(v_next)
        if self.visits is not None:
            for vertex, accumulated in self._visited[slot]:
                total = self.visits[vertex]
                total[0] -= accumulated
                total[1] -= 1
                if not total[1]:
                    del self.visits[vertex]


def terminal_roots(graph: TransitionGraph, n: int, rng: random.Random) -> list[Vertex]:
    """Up to ``n`` distinct terminal vertices, uniformly (App. B.5); arbitrary vertices while no episode has ended."""
    pool = graph.terminal if len(graph.terminal) else graph.reached
    return rng.sample(pool.items, min(n, len(pool)))


class PseudoTerminalRoots:
    """Roots for tasks without terminal states: P(v) = exp(U(v)/kappa) / sum exp(U/kappa) (Appendix H).

    The draw is without replacement, by adding Gumbel noise to the logits and taking the largest: it needs no
    normaliser, so that U of a few hundred over kappa = 0.01 cannot overflow.
    """

    def __init__(self, kappa: float = 0.01):
        self.kappa = kappa

    def __call__(self, graph: TransitionGraph, n: int, rng: random.Random) -> list[Vertex]:
        assert graph.visits is not None, "the graph must be made with track_returns=True"
        vertices = list(graph.visits)
        mean = np.array([total / visits for total, visits in graph.visits.values()])  # U(v)
        gumbel = np.random.default_rng(rng.getrandbits(64)).gumbel(size=len(mean))
        best = np.argsort(mean / self.kappa + gumbel)[::-1][:n]  # P(v)
        return [vertices[i] for i in best]


class ReverseSweep:
    """Reverse breadth-first search over the graph, resumed batch after batch (Sec. 4.3; Algorithm 1, lines 7-16).

    All roots share one queue and one set of expanded vertices, so no vertex is expanded twice in a sweep.

    Args:
        graph: what to search.
        rng: draws roots, predecessors and transitions.
        n_roots: terminal vertices that a sweep starts from.
        max_predecessors: predecessors expanded per vertex; None expands all.
        choose_roots: ``f(graph, n_roots, rng) -> vertices``.
    """

    def __init__(
        self,
        graph: TransitionGraph,
        rng: random.Random,
        n_roots: int = 8,
        max_predecessors: int | None = 3,
        choose_roots: Callable[[TransitionGraph, int, random.Random], list[Vertex]] = terminal_roots,
    ):
        self.graph = graph
        self.rng = rng
        self.n_roots = n_roots
        self.max_predecessors = max_predecessors
        self.choose_roots = choose_roots
        self.search_queue: deque[Vertex] = deque()  # Algorithm 1, line 2
        self.batch_queue: deque[int] = deque()
        self.visited: set[Vertex] = set()
        self.sweeps = 0

    def take(self, n: int) -> list[int]:
        """The next ``n`` transitions of the sweep; fewer only if a whole fresh sweep finds none."""
        taken: list[int] = []
        while len(taken) < n:
            if not self.batch_queue and not self._search():
                break
            number = self.batch_queue.popleft()  # Algorithm 1, line 18
            if self.graph.holds(number):
                taken.append(number)
        return taken

    def _search(self) -> bool:
        """Expand vertices until a transition is queued; False if the graph offers none even after a restart."""
        restarted = False
        while not self.batch_queue:
            if not self.search_queue:
                if restarted:
                    return False
                self._restart()
                restarted = True
                continue
            self._expand(self.search_queue.popleft())
        return True

    def _restart(self) -> None:
        # Algorithm 1, lines 8-10
        self.visited.clear()
        self.search_queue.extend(self.choose_roots(self.graph, self.n_roots, self.rng))
        self.sweeps += 1

    def _expand(self, v_next: Vertex) -> None:
        if v_next in self.visited:  # Algorithm 1, line 11
            return
        self.visited.add(v_next)  # Algorithm 1, line 15
        edges = self.graph.predecessors.get(v_next)
        if edges is None:  # a start state that nothing leads to, or pruned since it was queued
            return
        # Algorithm 1, line 12: E_P(v'). A self-loop (a bump into a wall) may be drawn; its branch ends at once.
        chosen = list(edges)
        if self.max_predecessors is not None and len(chosen) > self.max_predecessors:
            chosen = self.rng.sample(chosen, self.max_predecessors)
        for v in chosen:
            self.search_queue.append(v)  # Algorithm 1, line 13
            self.batch_queue.append(self.rng.choice(edges[v]))  # Algorithm 1, line 14


class TopologicalSampler:
    """Batches of TER: ``int(eta * n)`` prioritised transitions and the rest from the reverse sweep (Sec. 4.4).

    Without the mixed-in share, transitions that no terminal state can be reached from would never be replayed.

    Args:
        graph, sweep: see above; the graph's capacity must be that of the replay memory.
        prioritized: sampler over the same memory, e.g. :class:`common.replay.samplers.PrioritizedSampler`.
        eta: share of prioritised transitions, in [0, 1].
        phi: state -> vertex, e.g. :class:`RandomProjection`.
    """

    def __init__(self, graph: TransitionGraph, sweep: ReverseSweep, prioritized, eta: float, phi: Callable):
        self.graph = graph
        self.sweep = sweep
        self.prioritized = prioritized
        self.eta = eta
        self.phi = phi
        self.fallbacks = 0  # transitions that the sweep could not deliver
        self._open: tuple[Vertex, float] | None = None  # current state of the running episode, and its G

    def add(self, index: int, state: np.ndarray, reward: float, next_state: np.ndarray, terminated: bool, ended: bool):
        """Take in the transition that the memory just wrote to slot ``index``.

        ``terminated``: the task is over (a root). ``ended``: the episode is over for any reason, time limit included.
        """
        opens = self._open is None
        v, accumulated = self._open or (self.phi(state), 0.0)
        v_next, accumulated_next = self.phi(next_state), accumulated + reward
        visited = ((v, accumulated), (v_next, accumulated_next)) if opens else ((v_next, accumulated_next),)
        number = self.graph.add(v, v_next, terminated, visited)
        assert index == number % self.graph.capacity, "graph and memory must hold the same transitions"
        self._open = None if ended else (v_next, accumulated_next)
        self.prioritized.add(index)

    def sample(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Slots ``(n,)`` int64 and loss weights ``(n,)`` float32; the sweep's share carries weight 1."""
        swept = [number % self.graph.capacity for number in self.sweep.take(n - int(self.eta * n))]
        mixed = n - len(swept)
        self.fallbacks += mixed - int(self.eta * n)
        if not mixed:
            return np.array(swept, dtype=np.int64), np.ones(n, np.float32)
        indices, weights = self.prioritized.sample(mixed)
        return np.concatenate([indices, swept]).astype(np.int64), np.append(weights, np.ones(len(swept), np.float32))

    def update(self, indices: np.ndarray, td: np.ndarray) -> None:
        """New priorities for the whole batch, the sweep's share included."""
        self.prioritized.update(indices, td)
