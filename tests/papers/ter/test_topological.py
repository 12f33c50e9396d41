"""Hashing, graph, reverse sweep and batches of TER, each against a brute-force twin or by hand."""

import itertools
import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from common.replay.protocol import Chosen, Step
from common.replay.samplers import PrioritizedSampler
from envs.minigrid.tasks import TASKS, MiniGridTask
from papers.ter.replay.graph import RandomProjection, TransitionGraph
from papers.ter.topological import TER, PseudoTerminalRoots, terminal_roots

PIXELS = 40 * 40 * 3


def graph_of(*transitions: tuple, capacity: int = 1000) -> TransitionGraph:
    """From (v, v') and (v, v', True) for those that end the task."""
    graph = TransitionGraph(capacity)
    for v, v_next, *terminated in transitions:
        graph.add(v, v_next, bool(terminated))
    return graph


# --- state -> vertex -------------------------------------------------------------------------------------------------
def frames_of(task: str, levels: int = 4, steps: int = 150) -> list[np.ndarray]:
    env, rng = MiniGridTask(task), np.random.default_rng(0)
    frames = []
    for seed in range(levels):
        frames.append(env.reset(seed=seed)[0])
        for _ in range(steps):
            frame, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
            frames.append(frame)
            if terminated or truncated:
                break
    return frames


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("task", TASKS)
def test_one_vertex_per_frame(task, dim):
    phi = RandomProjection(dim, PIXELS, np.random.default_rng(5))
    vertex_of = defaultdict(set)
    for frame in frames_of(task):
        vertex_of[frame.tobytes()].add(phi(frame))
    assert all(len(vertices) == 1 for vertices in vertex_of.values())
    assert len(set.union(*vertex_of.values())) == len(vertex_of) > 40


def test_layout_and_type_of_a_state_do_not_matter():
    phi = RandomProjection(3, PIXELS, np.random.default_rng(0))
    for frame in frames_of("Unlock", levels=2, steps=50):
        spread = np.zeros((40, 80, 3), np.uint8)
        spread[:, ::2] = frame
        shifted = np.frombuffer(b"x" + frame.tobytes(), np.uint8)[1:]  # at an odd address
        for same in (spread[:, ::2], np.asfortranarray(frame), shifted, frame.astype(np.float32), frame.astype(int)):
            assert phi(same) == phi(frame)


def test_projection_by_hand():
    """phi(s) = M s, M_ij ~ Normal(0, 1/d), rounded to six digits, in float64."""
    phi = RandomProjection(2, 3, np.random.default_rng(1))
    phi.matrix = np.array([[0.1234567, 0.0, 0.0], [0.0, 2.0, -1e-9]])
    assert np.frombuffer(phi(np.array([1, 2, 0], np.uint8))).tolist() == [0.123457, 4.0]
    assert np.frombuffer(phi(np.array([250, 0, 0], np.uint8))).tolist() == [30.864175, 0.0]  # float32 has 7 digits
    assert phi(np.array([0, 0, 1])) == phi(np.array([0, 0, 0])) == bytes(16)  # -1e-9 rounds to 0, not to -0
    matrix = RandomProjection(4, 50_000, np.random.default_rng(2)).matrix
    assert matrix.dtype == np.float64
    assert matrix.mean() == pytest.approx(0, abs=0.005)
    assert matrix.var() == pytest.approx(1 / 4, rel=0.02)


# --- graph -----------------------------------------------------------------------------------------------------------
steps_of_play = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-3, 3), st.sampled_from(["goes on", "goes on", "terminal", "time-out"])),
    max_size=40,
)
"""(next vertex, reward, what becomes of the episode)"""


def transitions_of(play) -> list[tuple]:
    """(v, v', terminated, visited) of episodes that start at vertex 0."""
    found, v, total, opens = [], 0, 0.0, True
    for v_next, reward, end in play:
        visited = ((v, total),) if opens else ()
        total += reward
        found.append((v, v_next, end == "terminal", (*visited, (v_next, total))))
        opens = end != "goes on"
        v, total = (0, 0.0) if opens else (v_next, total)
    return found


@settings(deadline=None, max_examples=200)
@given(play=steps_of_play, capacity=st.integers(1, 12))
def test_graph_against_a_rebuild_from_the_last_transitions(play, capacity):
    graph = TransitionGraph(capacity, track_returns=True)
    log = transitions_of(play)
    for count, transition in enumerate(log, start=1):
        assert graph.add(*transition) == count - 1
        edges, terminal, totals = {}, set(), defaultdict(list)
        for number in range(max(0, count - capacity), count):
            v, v_next, terminated, visited = log[number]
            edges.setdefault(v_next, {}).setdefault(v, []).append(number)  # oldest first
            terminal |= {v_next} if terminated else set()
            for vertex, total in visited:
                totals[vertex].append(total)
        # Equality of the dictionaries says at once that nothing is left of what was evicted.
        assert graph.predecessors == edges
        assert set(graph.reached.items) == set(edges)
        assert len(graph.reached) == len(edges)
        assert set(graph.terminal.items) == terminal
        assert len(graph.terminal) == len(terminal)
        assert graph.visits == {vertex: [sum(total), len(total)] for vertex, total in totals.items()}
        assert [graph.holds(number) for number in range(count)] == [n >= count - capacity for n in range(count)]


# --- roots -----------------------------------------------------------------------------------------------------------
def test_roots_are_distinct_terminal_vertices_drawn_uniformly():
    terminals = [("a", f"T{i}", True) for i in range(12)]
    graph = graph_of(*terminals, *terminals[:1] * 50, *[("a", "b")] * 20)  # T0 was reached often, and still is one
    rng, drawn = random.Random(0), Counter()
    for _ in range(3000):
        roots = terminal_roots(graph, 8, rng)
        assert len(set(roots)) == len(roots) == 8
        drawn.update(roots)
    assert set(drawn) == {f"T{i}" for i in range(12)}
    # 8 of 12 without replacement: indicator variance p (1 - p), and the counts sum to a constant
    p, counts = 8 / 12, np.array(list(drawn.values()))
    statistic = ((counts - 3000 * p) ** 2).sum() / (3000 * p * (1 - p)) * 11 / 12
    assert stats.chi2.sf(statistic, 11) > 0.001


def test_any_vertices_are_roots_until_an_episode_has_ended():
    graph = graph_of(*itertools.pairwise(range(20)))
    roots = terminal_roots(graph, 8, random.Random(0))
    assert len(set(roots)) == 8
    assert set(roots) <= set(range(1, 20))
    assert terminal_roots(TransitionGraph(5), 8, random.Random(0)) == []
    graph = graph_of(("a", "T", True), ("a", "b"))
    assert terminal_roots(graph, 8, random.Random(0)) == ["T"]


def visited_graph(means: dict) -> TransitionGraph:
    graph = TransitionGraph(1000, track_returns=True)
    for vertex, mean in means.items():
        for offset in (-2.0, 2.0):  # U is the mean over visits
            graph.add("s", vertex, False, ((vertex, mean + offset),))
    return graph


def test_at_the_papers_temperature_the_best_vertices_are_the_roots():
    means = {f"v{i}": float(u) for i, u in enumerate(np.random.default_rng(0).permutation(np.arange(-324, 324, 4)))}
    graph, rng = visited_graph(means), random.Random(0)
    best = sorted(means, key=means.get, reverse=True)
    with np.errstate(all="raise"):
        for _ in range(50):
            assert PseudoTerminalRoots(kappa=0.01)(graph, 8, rng) == best[:8]
    assert sorted(PseudoTerminalRoots(kappa=0.01)(visited_graph({"a": 1.0, "b": 2.0}), 8, rng)) == ["a", "b"]
    assert PseudoTerminalRoots()(TransitionGraph(5, track_returns=True), 8, rng) == []


def test_at_a_high_temperature_roots_follow_the_softmax():
    means = {"a": 0.0, "b": 40.0, "c": 100.0, "d": -60.0}
    graph, rng, kappa, draws = visited_graph(means), random.Random(3), 50.0, 6000
    p = np.exp(np.array(list(means.values())) / kappa)
    p /= p.sum()
    pairs = Counter(tuple(PseudoTerminalRoots(kappa)(graph, 2, rng)) for _ in range(draws))
    first = [sum(n for pair, n in pairs.items() if pair[0] == v) for v in means]
    assert stats.chisquare(first, draws * p).pvalue > 0.001
    # and the second one by the softmax over the others
    ordered = [(i, j) for i in range(4) for j in range(4) if i != j]
    seen = [pairs[tuple("abcd"[k] for k in pair)] for pair in ordered]
    assert stats.chisquare(seen, [draws * p[i] * p[j] / (1 - p[i]) for i, j in ordered]).pvalue > 0.001


def test_standardised_returns_have_another_temperature():
    """U / std of U: at kappa = 1 the softmax of that, whatever the size of the rewards."""
    means = {"a": 0.0, "b": 40.0, "c": 100.0, "d": -60.0}
    p = np.exp(np.array(list(means.values())) / np.std(list(means.values())))
    p /= p.sum()
    for factor in (1.0, 1000.0):
        graph, rng = visited_graph({vertex: factor * mean for vertex, mean in means.items()}), random.Random(3)
        drawn = Counter(PseudoTerminalRoots(1.0, standardise=True)(graph, 1, rng)[0] for _ in range(6000))
        assert stats.chisquare([drawn[v] for v in means], 6000 * p).pvalue > 0.001
    flat = visited_graph({"a": 5.0, "b": 5.0})
    assert sorted(PseudoTerminalRoots(1.0, standardise=True)(flat, 8, rng)) == ["a", "b"]
    assert PseudoTerminalRoots(1.0, standardise=True)(TransitionGraph(5, track_returns=True), 8, rng) == []


# --- sweep -----------------------------------------------------------------------------------------------------------
def sweep_of(graph, roots=8, predecessors=3, choose_roots=terminal_roots, seed=0) -> TER:
    return TER(graph, random.Random(seed), phi, 0.0, None, roots, predecessors, choose_roots)


TWO_EPISODES = (
    ("s", "a"),  # 0
    ("a", "b"),  # 1
    ("b", "G", True),  # 2
    ("t", "a"),  # 3
    ("a", "c"),  # 4
    ("c", "G", True),  # 5
    ("c", "d"),  # 6
    ("d", "H", True),  # 7
    ("a", "a"),  # 8
)


def test_breadth_first_order_by_hand():
    graph = graph_of(*TWO_EPISODES)
    sweep = sweep_of(graph, 8, None, lambda *_: ["G", "H"])
    # G <- b, c; H <- d; b <- a; c <- a; d <- c (known); a <- s, t, itself. Both starts hang on both ends.
    assert sweep.sweep(9) == [2, 5, 7, 1, 4, 6, 0, 3, 8]
    assert sweep.sweeps == 1
    assert sweep.sweep(4) == [2, 5, 7, 1]  # a new sweep from the roots
    assert sweep.sweeps == 2


class Twin:
    """Algorithm 1 on a list of transitions, without any index."""

    def __init__(self, log: list, rng: random.Random, n_roots: int, max_predecessors: int | None):
        self.log, self.rng, self.n_roots, self.max_predecessors = log, rng, n_roots, max_predecessors
        self.search_queue, self.batch_queue, self.expanded = [], [], []

    @staticmethod
    def roots(ends: set, reached: set, n: int, rng: random.Random) -> list:
        return rng.sample(sorted(ends or reached), min(n, len(ends or reached)))

    def take(self, n: int) -> list[int]:
        while len(self.batch_queue) < n and self.log:
            if not self.search_queue:
                ends, reached = {t[1] for t in self.log if t[2]}, {t[1] for t in self.log}
                self.search_queue, self.expanded = self.roots(ends, reached, self.n_roots, self.rng), []
            v_next = self.search_queue.pop(0)
            if v_next not in self.expanded:
                predecessors = list(dict.fromkeys(t[0] for t in self.log if t[1] == v_next))
                if self.max_predecessors is not None and len(predecessors) > self.max_predecessors:
                    predecessors = self.rng.sample(predecessors, self.max_predecessors)
                for v in predecessors:
                    edge = [number for number, t in enumerate(self.log) if t[:2] == (v, v_next)]
                    self.batch_queue.append(self.rng.choice(edge))
                self.search_queue += predecessors
                self.expanded.append(v_next)
        taken, self.batch_queue = self.batch_queue[:n], self.batch_queue[n:]
        return taken


@settings(deadline=None, max_examples=200)
@given(
    play=steps_of_play, takes=st.lists(st.integers(0, 9), max_size=40), n_roots=st.integers(1, 4),
    max_predecessors=st.sampled_from([1, 2, 3, None]),
)  # fmt: skip
def test_sweep_against_a_naive_twin(play, takes, n_roots, max_predecessors):
    """One random stream for both, batches taken while the graph grows."""

    def sorted_roots(graph, n, rng):  # the order in which the graph keeps its roots is nobody's business
        return Twin.roots(set(graph.terminal.items), set(graph.reached.items), n, rng)

    graph, log = TransitionGraph(1000), []
    sweep = sweep_of(graph, n_roots, max_predecessors, sorted_roots, 7)
    twin = Twin(log, random.Random(7), n_roots, max_predecessors)
    for transition, n in itertools.zip_longest(transitions_of(play), takes):
        if transition is not None:
            graph.add(*transition)
            log.append(transition[:3])
        assert sweep.sweep(n or 0) == twin.take(n or 0)


@settings(deadline=None, max_examples=200)
@given(
    play=steps_of_play, takes=st.lists(st.integers(0, 9), min_size=40, max_size=40), capacity=st.integers(1, 12),
    n_roots=st.sampled_from([1, 2, 8]), max_predecessors=st.sampled_from([1, 3, None]),
)  # fmt: skip
def test_rules_of_the_sweep_while_transitions_come_and_go(play, takes, capacity, n_roots, max_predecessors):
    graph = TransitionGraph(capacity)
    sweep = sweep_of(graph, n_roots, max_predecessors, seed=2)
    assert sweep.sweep(3) == []
    for transition, n in zip(transitions_of(play), takes):
        graph.add(*transition)
        taken = sweep.sweep(n)
        assert len(taken) == n
        assert all(graph.count - capacity <= number < graph.count for number in taken)


def test_what_has_been_overwritten_is_skipped():
    graph = graph_of(("a", "T", True), ("b", "T", True), ("c", "T", True), capacity=3)
    sweep = sweep_of(graph, 8, None)
    assert sweep.sweep(1) == [0]  # 1 and 2 wait in the queue
    graph.add("d", "U", True)  # drops 0
    graph.add("e", "U", True)  # drops 1
    assert sweep.sweep(1) == [2]


def test_fewer_transitions_only_when_a_fresh_sweep_finds_none():
    assert sweep_of(TransitionGraph(5)).sweep(4) == []
    graph = graph_of(("s", "a"), ("a", "T", True))
    unreachable = sweep_of(graph, 8, 3, lambda *_: ["s", "nowhere"])
    assert unreachable.sweep(4) == []
    assert unreachable.sweeps == 1
    roots = iter([["a"], ["s"], ["T"]])
    hit_and_miss = sweep_of(graph, 8, 3, lambda *_: next(roots))
    assert hit_and_miss.sweep(4) == [0]  # the second sweep started where nothing leads to
    assert hit_and_miss.sweep(2) == [1, 0]


# --- batches ---------------------------------------------------------------------------------------------------------
class Recorder:
    """In place of the prioritised sampler."""

    def __init__(self):
        self.added, self.asked, self.updated = [], [], []

    def add(self, index):
        self.added.append(index)

    def sample(self, n):
        self.asked.append(n)
        return Chosen(np.full(n, 1), np.full(n, 0.25, np.float32))

    def update(self, indices, signals):
        self.updated.append((indices, signals["td_error"]))


def phi(state: np.ndarray) -> int:
    return int(state[0])


def sampler_of(eta: float, capacity: int = 100, track_returns: bool = False, **search) -> TER:
    return TER(TransitionGraph(capacity, track_returns), random.Random(0), phi, eta, Recorder(), **search)


def step(v: int, v_next: int, reward: float = -1.0, end: str = "goes on", env_id: int = 0) -> Step:
    return Step(np.array([v]), 0, reward, np.array([v_next]), end == "terminal", end == "time-out", env_id)


def add(sampler: TER, *steps: Step) -> None:
    for one in steps:
        sampler.add(sampler.graph.count % sampler.graph.capacity, one)


def episode(sampler: TER, *states: int, end: str = "terminal", reward: float = -1.0) -> None:
    pairs = list(itertools.pairwise(states))
    add(sampler, *(step(*pair, reward, end if pair is pairs[-1] else "goes on") for pair in pairs))


@pytest.mark.parametrize(
    ("eta", "n", "mixed"), [(0.5, 64, 32), (0.1, 32, 3), (0.2, 32, 6), (0.0, 64, 0), (1.0, 64, 64), (0.7, 64, 44)]
)
def test_composition_of_a_batch(eta, n, mixed):
    sampler = sampler_of(eta)
    episode(sampler, 0, 1, 2, 3, 4, 5)
    indices, weights, targets = sampler.sample(n)
    assert targets is None
    assert sampler.prioritized.asked == ([mixed] if mixed else [])
    assert indices.dtype == np.int64
    assert weights.dtype == np.float32
    assert indices.tolist() == [1] * mixed + [4 - k % 5 for k in range(n - mixed)]
    assert weights.tolist() == [0.25] * mixed + [1.0] * (n - mixed)
    assert sampler.fallbacks == 0


def test_priorities_of_the_whole_batch_are_updated():
    graph, capacity = TransitionGraph(50), 50
    prioritized = PrioritizedSampler(capacity, np.random.default_rng(0), beta_steps=10)
    sampler = TER(graph, random.Random(0), phi, 0.5, prioritized)
    episode(sampler, *range(41))
    indices, weights, _ = sampler.sample(16)
    assert weights.tolist() == [1.0] * 16  # all priorities are still the same
    td = np.linspace(-2, 2, 16)
    sampler.update(indices, {"td_error": td})
    expected = {int(i): (min(abs(x), 1.0) + 0.01) ** 0.6 for i, x in zip(indices, td)}  # the last one of a slot counts
    assert prioritized.tree[np.array(list(expected))] == pytest.approx(list(expected.values()))
    assert len(set(indices[8:])) == 8
    untouched = np.array([i for i in range(40) if i not in expected])
    assert (prioritized.tree[untouched] == 1.0).all()


def test_time_outs_are_no_roots_and_episodes_are_not_joined():
    sampler = sampler_of(0.0)
    episode(sampler, 0, 1, 2, end="time-out")
    episode(sampler, 5, 6, 7, end="terminal")
    episode(sampler, 0, 1, 8, end="time-out")
    graph = sampler.graph
    assert graph.terminal.items == [7]
    assert graph.predecessors == {1: {0: [0, 4]}, 2: {1: [1]}, 6: {5: [2]}, 7: {6: [3]}, 8: {1: [5]}}
    assert sampler.prioritized.added == [0, 1, 2, 3, 4, 5]
    assert sampler.sample(6)[0].tolist() == [3, 2] * 3


def test_episodes_of_environments_side_by_side_are_kept_apart():
    """Two of them take turns; the graph is that of one after the other, and so are the returns."""
    mixed, apart = (sampler_of(0.0, track_returns=True) for _ in range(2))
    first = [step(0, 1, 1.0), step(1, 2, 2.0), step(2, 9, 3.0, "terminal")]
    second = [step(5, 6, 10.0, env_id=1), step(6, 7, 20.0, env_id=1), step(7, 8, 30.0, "time-out", env_id=1)]
    third = [step(0, 2, 7.0, env_id=1)]  # the second environment begins anew
    add(mixed, *itertools.chain(*zip(first, second)), *third)
    add(apart, *first, *second, *third)

    def ends(sampler) -> dict:
        return {after: {before: len(edge) for before, edge in edges.items()}
                for after, edges in sampler.graph.predecessors.items()}  # fmt: skip

    assert ends(mixed) == ends(apart) == {1: {0: 1}, 2: {1: 1, 0: 1}, 9: {2: 1}, 6: {5: 1}, 7: {6: 1}, 8: {7: 1}}
    assert mixed.graph.visits == apart.graph.visits
    assert mixed.graph.visits[8] == [60.0, 1] and mixed.graph.visits[2] == [3.0 + 7.0, 2]
    assert mixed.graph.terminal.items == [9] and mixed.sample(3)[0].tolist() == [4, 2, 6]


def test_slots_wrap_round_with_the_memory():
    sampler = sampler_of(0.0, capacity=4)
    for start in range(0, 60, 10):
        episode(sampler, start, start + 1, start + 2, start + 3)
    # of 18 transitions the last four are left: 14 to 17, in slots 2, 3, 0, 1
    assert sorted(sampler.sample(4)[0].tolist()) == [0, 1, 2, 3]
    with pytest.raises(AssertionError, match="the same transitions"):
        sampler.add(0, step(0, 1))


def test_returns_since_the_start_of_the_episode():
    sampler = sampler_of(0.0, track_returns=True)
    add(sampler, step(0, 1, -1.0), step(1, 2, 10.0), step(2, 2, 0.0, "time-out"), step(0, 2, 4.0, "time-out"))
    assert sampler.graph.visits == {0: [0.0, 2], 1: [-1.0, 1], 2: [9.0 + 9.0 + 4.0, 3]}


def test_what_the_sweep_cannot_deliver_comes_from_prioritised_replay():
    sampler = sampler_of(0.5, choose_roots=lambda *_: [])
    episode(sampler, 0, 1, 2)
    indices, weights, _ = sampler.sample(10)
    assert sampler.prioritized.asked == [10]
    assert len(indices) == len(weights) == 10
    assert sampler.fallbacks == 5
    sampler.sample(10)
    assert sampler.fallbacks == 10
