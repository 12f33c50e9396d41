"""Topological Experience Replay: replay transitions in the order in which values become known, from the goal back.

A Q-value can only be right once the values behind it are. Stored transitions are therefore kept as a graph whose
vertices are hashed states, and batches are read off a breadth-first search that starts at terminal states -- whose
value needs no bootstrapping -- and walks against the direction of time. Episodes that pass through one state share its
vertex, so the search leaves the episode it started in: that sets TER apart from replaying single episodes backwards.

This file has Algorithm 1 and the choice of roots; the graph is in `replay/graph.py`.
"""

import random
from collections import deque
from collections.abc import Callable

import numpy as np

from common.replay.checks import drawable, positive
from common.replay.protocol import Chosen, Sampler, Signals, Step
from common.replay.samplers import PrioritizedSampler
from common.replay.trail import FOLLOWS, Trail
from papers.ter.replay.graph import TransitionGraph, Vertex


def terminal_roots(graph: TransitionGraph, n: int, rng: random.Random) -> list[Vertex]:
    """Up to ``n`` distinct terminal vertices, uniformly (App. B.5); arbitrary vertices while no episode has ended."""
    pool = graph.terminal if len(graph.terminal) else graph.reached
    return rng.sample(pool.items, min(n, len(pool)))


class PseudoTerminalRoots:
    """Roots for tasks without terminal states: P(v) = exp(U(v)/kappa) / sum exp(U/kappa) (Appendix H).

    The draw is without replacement, by adding Gumbel noise to the logits and taking the largest: it needs no
    normaliser, so that U of a few hundred over kappa = 0.01 cannot overflow. U of that size makes the draw an argmax;
    ``standardise`` divides it by its standard deviation over the vertices first.
    """

    def __init__(self, kappa: float = 0.01, standardise: bool = False):
        self.kappa, self.standardise = kappa, standardise

    def __call__(self, graph: TransitionGraph, n: int, rng: random.Random) -> list[Vertex]:
        assert graph.visits is not None, "the graph must be made with track_returns=True"
        vertices = list(graph.visits)
        mean = np.array([total / visits for total, visits in graph.visits.values()])  # U(v)
        if self.standardise and len(mean):
            mean = mean / max(mean.std(), 1e-9)
        gumbel = np.random.default_rng(rng.getrandbits(64)).gumbel(size=len(mean))
        best = np.argsort(mean / self.kappa + gumbel)[::-1][:n]  # P(v)
        return [vertices[i] for i in best]


class TER(Sampler):
    """Topological experience replay. Algorithm 1 stands in this class in its order: `add`, `sweep`, `sample`, `update`.

    A batch has ``int(eta * n)`` prioritised transitions and the rest from the reverse sweep (Sec. 4.4): without the
    mixed-in share, transitions that no terminal state can be reached from would never be replayed. All roots share one
    queue and one set of visited vertices, so no vertex is expanded twice in a sweep.

    TD errors are needed for the prioritised share alone: not where eta is 0.

    Args:
        graph: an empty one with the capacity of the replay memory.
        rng: draws roots, predecessors and transitions.
        phi: state -> vertex, e.g. :class:`RandomProjection`.
        eta: share of prioritised transitions, in [0, 1].
        prioritized: sampler that this share comes from, and what a sweep cannot deliver. None where eta is 0: a batch
            is then smaller where a sweep finds less.
        roots: terminal vertices that a sweep starts from.
        predecessors: predecessors expanded per vertex; None expands all.
        choose_roots: ``f(graph, roots, rng) -> vertices``.
    """

    needs = frozenset({"step", "td_error"})

    def __init__(
        self,
        graph: TransitionGraph,
        rng: random.Random,
        phi: Callable[..., Vertex],
        eta: float = 0.0,
        prioritized: PrioritizedSampler | None = None,
        roots: int = 8,
        predecessors: int | None = 3,
        choose_roots: Callable[[TransitionGraph, int, random.Random], list[Vertex]] = terminal_roots,
    ):
        if not 0 <= eta <= 1:
            raise ValueError(f"eta must lie in [0, 1], not be {eta}")
        if eta and prioritized is None:
            raise ValueError(f"an eta of {eta} needs `prioritized`, where that share of a batch comes from")
        positive(roots=roots, predecessors=predecessors)
        self.rng, self.phi, self.eta, self.prioritized = rng, phi, eta, prioritized
        self.needs = frozenset({"step", "td_error"} if eta else {"step"})
        self.roots, self.predecessors, self.choose_roots = roots, predecessors, choose_roots
        self.sweeps = 0
        self.fallbacks = 0  # transitions that the sweep could not deliver
        self.trail = Trail()
        self._open: dict[int, tuple[Vertex, float]] = {}  # env_id -> state that its last step ended in, and its G
        self.graph = graph  # Algorithm 1, line 1
        self.search_queue: deque[Vertex] = deque()  # Algorithm 1, line 2
        self.batch_queue: deque[int] = deque()
        self.visited: set[Vertex] = set()

    def add(self, index: int, step: Step | None = None) -> None:
        assert step is not None, "TER reads steps"
        # Algorithm 1, lines 3-4: the loop over environment steps, from which this is called
        if index != self.graph.count % self.graph.capacity:
            raise ValueError(f"slots are filled in turn: {self.graph.count % self.graph.capacity} is next, not {index}")
        opens = self.trail.add(step) != FOLLOWS
        v, accumulated = (self.phi(step.observation), 0.0) if opens else self._open[step.env_id]
        v_next, accumulated_next = self.phi(step.next_observation), accumulated + step.reward
        visited = ((v, accumulated), (v_next, accumulated_next)) if opens else ((v_next, accumulated_next),)
        self.graph.add(v, v_next, step.terminated, visited)  # Algorithm 1, lines 5-6
        self._open[step.env_id] = v_next, accumulated_next
        if self.prioritized is not None:
            self.prioritized.add(index)

    def cut(self, env_id: int | None = None) -> None:
        self.trail.cut(env_id)

    def sweep(self, n: int) -> list[int]:
        """The next ``n`` transitions of the reverse search; fewer only if a whole fresh one finds none."""
        graph, rng = self.graph, self.rng
        self.batch_queue = deque(number for number in self.batch_queue if graph.holds(number))
        queued = -1  # transitions that waited when the last search began
        while len(self.batch_queue) < n:  # Algorithm 1, line 7
            if not self.search_queue:  # Algorithm 1, line 8
                if queued == len(self.batch_queue):
                    break  # it has found none: the graph has none to offer
                queued = len(self.batch_queue)
                self.search_queue.extend(self.choose_roots(graph, self.roots, rng))  # Algorithm 1, line 9
                self.visited.clear()
                self.sweeps += 1
                continue  # Algorithm 1, line 10
            v_next = self.search_queue.popleft()  # Algorithm 1, line 11
            if v_next in self.visited:
                continue
            edges = graph.predecessors.get(v_next, {})  # none: a start state that nothing leads to, or pruned since
            chosen = list(edges)  # Algorithm 1, line 12: E_P(v'). A self-loop (a bump into a wall) may be among them.
            if self.predecessors is not None and len(chosen) > self.predecessors:
                chosen = rng.sample(chosen, self.predecessors)
            for v in chosen:
                self.search_queue.append(v)  # Algorithm 1, line 13
                self.batch_queue.append(rng.choice(edges[v]))  # Algorithm 1, line 14
            self.visited.add(v_next)  # Algorithm 1, line 15
            # Algorithm 1, line 16
        return [self.batch_queue.popleft() for _ in range(min(n, len(self.batch_queue)))]  # Algorithm 1, line 18

    def sample(self, n: int) -> Chosen | None:
        # Algorithm 1, line 17: the learner asks for no batch before its warm-up is over
        drawable(n, self.graph.count)
        mixed = int(self.eta * n)
        swept = [number % self.graph.capacity for number in self.sweep(n - mixed)]
        self.fallbacks += n - mixed - len(swept)
        mixed = n - len(swept)
        if not mixed or self.prioritized is None:
            return Chosen(np.array(swept, dtype=np.int64), np.ones(len(swept), np.float32)) if swept else None
        weights = np.ones(n, np.float32)
        indices, weights[:mixed], _ = self.prioritized.sample(mixed)
        return Chosen(np.concatenate([indices, swept]).astype(np.int64), weights)

    def update(self, indices: np.ndarray, signals: Signals) -> None:
        """After Q was updated (Algorithm 1, lines 19-21): new priorities for the whole batch, the sweep's too."""
        if self.prioritized is None or ("td_error" not in signals and not self.eta):
            super().update(indices, signals)
        else:
            self.prioritized.update(indices, signals)

    def metrics(self) -> dict[str, float]:
        return {"vertices": len(self.graph.reached), "fallbacks": self.fallbacks}
