"""The graph of the stored transitions, and the hash that makes vertices of states (Sec. 4.2)."""

from collections.abc import Hashable

import numpy as np

from common.replay.checks import positive

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
    """G = {V, E} as nested hash tables: ``predecessors[v'][v]`` lists the transitions v -> v' (Sec. 4.2).

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
        positive(capacity=capacity)
        self.capacity = capacity
        self.count = 0
        self.predecessors: dict[Vertex, dict[Vertex, list[int]]] = {}
        self.reached = IndexedSet()  # vertices with predecessors: all that a search can expand
        self.terminal = IndexedSet()  # V_E: vertices that some stored transition ended at
        self._terminal_count: dict[Vertex, int] = {}
        # Ends of the stored transitions, so that the one that falls out is found again: (v, v', terminated)
        self._ends: list[tuple[Vertex, Vertex, bool]] = []
        self._place: list[int] = []  # where it stands in the list of its edge
        self.visits: dict[Vertex, list[float]] | None = {} if track_returns else None  # v -> [sum of G, visits]
        self._visited: list[tuple[tuple[Vertex, float], ...]] = []

    def add(self, v: Vertex, v_next: Vertex, terminated: bool, visited: tuple[tuple[Vertex, float], ...] = ()) -> int:
        """Add e(v, v') with its transition, and v' to V_E if the task is over. Returns the number of the transition.

        Args:
            visited: ``(vertex, G)`` for each state that this transition adds to the memory: its end, and its start too
                if it opens an episode. Only read with ``track_returns``.
        """
        number, slot = self.count, self.count % self.capacity
        if number >= self.capacity:
            self._drop(number - self.capacity, slot)
        edge = self.predecessors.setdefault(v_next, {}).setdefault(v, [])
        self._ends[slot : slot + 1] = [(v, v_next, terminated)]
        self._place[slot : slot + 1] = [len(edge)]
        edge.append(number)
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
        hole, last = self._place[slot], edge.pop()
        if last != number:  # the last one takes its place: nothing else moves
            edge[hole] = last
            self._place[last % self.capacity] = hole
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


def graph_bytes(capacity: int, track_returns: bool = False) -> int:
    """Memory [bytes] of a full graph in which no state was met twice; 312 a transition on crossings, where many are."""
    return capacity * (1150 if track_returns else 800)
