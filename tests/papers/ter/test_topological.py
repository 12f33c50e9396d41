"""Hashing, graph, reverse sweep and batches of TER, each against a brute-force twin or by hand.

What holds for the literal form and for the compiled one is asked of both: ``form`` is (graph, TER).
"""

import itertools
import pickle
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
from papers.ter.replay import fast_graph, fast_sweep
from papers.ter.replay.fast_graph import FastGraph
from papers.ter.replay.fast_sweep import FastTER
from papers.ter.replay.graph import RandomProjection, TransitionGraph
from papers.ter.topological import TER, PseudoTerminalRoots, terminal_roots

PIXELS = 40 * 40 * 3
LITERAL, FAST = (TransitionGraph, TER), (FastGraph, FastTER)
S, A, B, C, D, E, G, H, T, U = range(10)
"""Vertices by name."""


@pytest.fixture(params=[LITERAL, FAST], ids=["literal", "fast"])
def form(request):
    return request.param


def both_forms(test):
    return pytest.mark.parametrize("form", [LITERAL, FAST], ids=["literal", "fast"])(test)


def edges_of(graph) -> dict:
    """Every edge with its transitions, v' -> v -> sorted numbers."""
    if isinstance(graph, TransitionGraph):
        return {after: {v: sorted(edge) for v, edge in edges.items()} for after, edges in graph.predecessors.items()}
    found = {}
    for after in graph.reached.items:
        vertex = graph.vertices[after]
        for e in graph.edge_pool[vertex["start"] :][: vertex["edges"]]:
            edge = graph.edges[e]
            assert edge["target"] == after and edge["source"] not in found.get(after, {})
            slots = graph.slot_pool[edge["start"] + edge["first"] :][: edge["count"]]
            numbers = [graph.count - 1 - (graph.count - 1 - slot) % graph.capacity for slot in slots.tolist()]
            found.setdefault(after, {})[int(edge["source"])] = numbers
            assert numbers == sorted(numbers)  # oldest first
    return found


def visits_of(graph) -> dict:
    """v -> [sum of G, visits]."""
    if isinstance(graph, TransitionGraph):
        return graph.visits
    known = fast_graph.Members(graph, fast_graph.RETURNED).items
    return {v: [float(graph.totals[v]), int(graph.visits[v])] for v in known}


def graph_of(form, *transitions: tuple, capacity: int = 1000):
    """From (v, v') and (v, v', True) for those that end the task."""
    graph = form[0](capacity)
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


@both_forms
@settings(deadline=None, max_examples=200)
@given(play=steps_of_play, capacity=st.integers(1, 12))
def test_graph_against_a_rebuild_from_the_last_transitions(form, play, capacity):
    graph = form[0](capacity, track_returns=True)
    log = transitions_of(play)
    for count, transition in enumerate(log, start=1):
        assert graph.add(*transition) == count - 1
        edges, terminal, totals = {}, set(), defaultdict(list)
        for number in range(max(0, count - capacity), count):
            v, v_next, terminated, visited = log[number]
            edges.setdefault(v_next, {}).setdefault(v, []).append(number)
            terminal |= {v_next} if terminated else set()
            for vertex, total in visited:
                totals[vertex].append(total)
        # Equality of the dictionaries says at once that nothing is left of what was evicted.
        assert edges_of(graph) == edges
        assert set(graph.reached.items) == set(edges)
        assert len(graph.reached) == len(edges)
        assert set(graph.terminal.items) == terminal
        assert len(graph.terminal) == len(terminal)
        assert visits_of(graph) == {vertex: [sum(total), len(total)] for vertex, total in totals.items()}
        assert [graph.holds(number) for number in range(count)] == [n >= count - capacity for n in range(count)]


# --- roots -----------------------------------------------------------------------------------------------------------
def test_roots_are_distinct_terminal_vertices_drawn_uniformly(form):
    ends = range(1, 13)
    # the first one was reached often, and still is one
    graph = graph_of(form, *[(S, end, True) for end in ends], *[(S, 1, True)] * 50, *[(S, 13)] * 20)
    reached = [*ends, *[1] * 50, *[13] * 20]
    ter, drawn = sweep_of(form, graph), Counter()
    for _ in range(3000):
        roots = [reached[number] for number in ter.sweep(8)]
        assert len(set(roots)) == len(roots) == 8
        drawn.update(roots)
    assert ter.sweeps == 3000
    assert set(drawn) == set(ends)
    # 8 of 12 without replacement: indicator variance p (1 - p), and the counts sum to a constant
    p, counts = 8 / 12, np.array(list(drawn.values()))
    statistic = ((counts - 3000 * p) ** 2).sum() / (3000 * p * (1 - p)) * 11 / 12
    assert stats.chi2.sf(statistic, 11) > 0.001


def test_any_vertices_are_roots_until_an_episode_has_ended(form):
    ter = sweep_of(form, graph_of(form, *itertools.pairwise(range(20))))
    numbers = ter.sweep(8)  # of the roots: transition k leads to k + 1
    assert len(set(numbers)) == 8
    assert set(numbers) <= set(range(19)) and ter.sweeps == 1
    ter = sweep_of(form, graph_of(form, (A, T, True), (A, B)))
    assert ter.sweep(3) == [0, 0, 0] and ter.sweeps == 3
    assert terminal_roots(TransitionGraph(5), 8, random.Random(0)) == []


def choosing(form, means: dict, n: int, roots: PseudoTerminalRoots, seed: int = 0):
    """A function that draws ``n`` roots on a graph where U is ``means``."""
    graph = form[0](1000, track_returns=True)
    for vertex, mean in means.items():
        for offset in (-2.0, 2.0):  # U is the mean over visits
            graph.add(S, vertex, False, ((vertex, mean + offset),))
    ter = sweep_of(form, graph, n, choose_roots=roots, seed=seed)
    if isinstance(ter, FastTER):
        return lambda: ter._chosen_roots().tolist()
    return lambda: roots(graph, n, ter.rng)


def test_at_the_papers_temperature_the_best_vertices_are_the_roots(form):
    means = dict(enumerate(np.random.default_rng(0).permutation(np.arange(-324.0, 324.0, 4)), start=1))
    best = sorted(means, key=means.get, reverse=True)
    draw = choosing(form, means, 8, PseudoTerminalRoots(kappa=0.01))
    with np.errstate(all="raise"):
        for _ in range(50):
            assert draw() == best[:8]
    assert sorted(choosing(form, {A: 1.0, B: 2.0}, 8, PseudoTerminalRoots(kappa=0.01))()) == [A, B]
    assert choosing(form, {}, 8, PseudoTerminalRoots())() == []


MEANS = {A: 0.0, B: 40.0, C: 100.0, D: -60.0}


def test_at_a_high_temperature_roots_follow_the_softmax(form):
    kappa, draws = 50.0, 6000
    p = np.exp(np.array(list(MEANS.values())) / kappa)
    p /= p.sum()
    draw = choosing(form, MEANS, 2, PseudoTerminalRoots(kappa), seed=3)
    pairs = Counter(tuple(draw()) for _ in range(draws))
    first = [sum(n for pair, n in pairs.items() if pair[0] == v) for v in MEANS]
    assert stats.chisquare(first, draws * p).pvalue > 0.001
    # and the second one by the softmax over the others
    ordered = [(i, j) for i in range(4) for j in range(4) if i != j]
    seen = [pairs[tuple((A, B, C, D)[k] for k in pair)] for pair in ordered]
    assert stats.chisquare(seen, [draws * p[i] * p[j] / (1 - p[i]) for i, j in ordered]).pvalue > 0.001


def test_standardised_returns_have_another_temperature(form):
    """U / std of U: at kappa = 1 the softmax of that, whatever the size of the rewards."""
    p = np.exp(np.array(list(MEANS.values())) / np.std(list(MEANS.values())))
    p /= p.sum()
    roots = PseudoTerminalRoots(1.0, standardise=True)
    for factor in (1.0, 1000.0):
        draw = choosing(form, {vertex: factor * mean for vertex, mean in MEANS.items()}, 1, roots, seed=3)
        drawn = Counter(draw()[0] for _ in range(6000))
        assert stats.chisquare([drawn[v] for v in MEANS], 6000 * p).pvalue > 0.001
    assert sorted(choosing(form, {A: 5.0, B: 5.0}, 8, roots)()) == [A, B]
    assert choosing(form, {}, 8, roots)() == []


def test_pseudo_terminal_roots_start_a_sweep(form):
    graph = form[0](10, track_returns=True)
    for v, v_next, total in ((S, A, 1.0), (A, B, 5.0), (S, C, 2.0)):
        graph.add(v, v_next, False, ((v_next, total),))
    assert sweep_of(form, graph, 2, 3, PseudoTerminalRoots(0.01)).sweep(3) == [1, 2, 0]  # B, C, then A


# --- sweep -----------------------------------------------------------------------------------------------------------
def sweep_of(form, graph, roots=8, predecessors=3, choose_roots=terminal_roots, seed=0) -> TER:
    return form[1](graph, random.Random(seed), phi, 0.0, None, roots, predecessors, choose_roots)


TWO_EPISODES = (
    (S, A),  # 0
    (A, B),  # 1
    (B, G, True),  # 2
    (T, A),  # 3
    (A, C),  # 4
    (C, G, True),  # 5
    (C, D),  # 6
    (D, H, True),  # 7
    (A, A),  # 8
)


def test_breadth_first_order_by_hand(form):
    graph = graph_of(form, *TWO_EPISODES)
    sweep = sweep_of(form, graph, 8, None, lambda *_: [G, H])
    # G <- B, C; H <- D; B <- A; C <- A; D <- C (known); A <- S, T, itself. Both starts hang on both ends.
    assert sweep.sweep(9) == [2, 5, 7, 1, 4, 6, 0, 3, 8]
    assert sweep.sweeps == 1
    assert sweep.sweep(4) == [2, 5, 7, 1]  # a new sweep from the roots
    assert sweep.sweeps == 2


class Twin:
    """Algorithm 1 on a list of transitions, without any index."""

    def __init__(self, log: list, rng: random.Random, n_roots: int, max_predecessors: int | None, capacity: int = 1000):
        self.log, self.rng, self.n_roots, self.max_predecessors = log, rng, n_roots, max_predecessors
        self.capacity, self.search_queue, self.batch_queue, self.expanded = capacity, [], [], []

    @staticmethod
    def roots(ends: set, reached: set, n: int, rng: random.Random) -> list:
        return rng.sample(sorted(ends or reached), min(n, len(ends or reached)))

    def some(self, predecessors: list) -> list:
        few = self.max_predecessors is None or len(predecessors) <= self.max_predecessors
        return predecessors if few else self.rng.sample(predecessors, self.max_predecessors)

    def one(self, edge: list) -> int:
        return self.rng.choice(edge)

    def take(self, n: int) -> list[int]:
        stored = dict(list(enumerate(self.log))[-self.capacity :])
        self.batch_queue = [number for number in self.batch_queue if number in stored]
        while len(self.batch_queue) < n and stored:
            if not self.search_queue:
                ends, reached = {t[1] for t in stored.values() if t[2]}, {t[1] for t in stored.values()}
                self.search_queue, self.expanded = self.roots(ends, reached, self.n_roots, self.rng), []
            v_next = self.search_queue.pop(0)
            if v_next not in self.expanded:
                predecessors = self.some(list(dict.fromkeys(t[0] for t in stored.values() if t[1] == v_next)))
                for v in predecessors:
                    edge = [number for number, t in stored.items() if t[:2] == (v, v_next)]
                    self.batch_queue.append(self.one(edge))
                self.search_queue += predecessors
                self.expanded.append(v_next)
        taken, self.batch_queue = self.batch_queue[:n], self.batch_queue[n:]
        return taken


class Referee(Twin):
    """Draws what another search has drawn, if that could be drawn."""

    def some(self, predecessors: list) -> list:
        few = self.max_predecessors is None or len(predecessors) <= self.max_predecessors
        chosen = [self.log[number][0] for number in self.drawn[: len(predecessors) if few else self.max_predecessors]]
        assert len(set(chosen)) == len(chosen) and set(chosen) <= set(predecessors)
        return chosen

    def one(self, edge: list) -> int:
        number = self.drawn.pop(0)
        assert number in edge
        return number

    def check(self, ter: TER, n: int) -> None:
        """The next batch of a search, and what waits in its queue then."""
        oldest = len(self.log) - self.capacity
        waited = [number for number in self.batch_queue if number >= oldest]
        taken = ter.sweep(n)
        if isinstance(ter, FastTER):
            waits = ter.to_serve[ter.book[fast_sweep.FIRST] : ter.book[fast_sweep.LAST]].tolist()
        else:
            waits = list(ter.batch_queue)
        assert (taken + waits)[: len(waited)] == waited
        self.drawn = (taken + waits)[len(waited) :]
        assert self.take(n) == taken
        assert self.batch_queue == waits and not self.drawn


some_takes = st.lists(st.integers(0, 9), max_size=40)
some_predecessors = st.sampled_from([1, 2, 3, None])


@settings(deadline=None, max_examples=200)
@given(play=steps_of_play, takes=some_takes, n_roots=st.integers(1, 4), max_predecessors=some_predecessors)
def test_sweep_against_a_naive_twin(play, takes, n_roots, max_predecessors):
    """One random stream for both, batches taken while the graph grows."""

    def sorted_roots(graph, n, rng):  # the order in which the graph keeps its roots is nobody's business
        return Twin.roots(set(graph.terminal.items), set(graph.reached.items), n, rng)

    graph, log = TransitionGraph(1000), []
    sweep = sweep_of(LITERAL, graph, n_roots, max_predecessors, sorted_roots, 7)
    twin = Twin(log, random.Random(7), n_roots, max_predecessors)
    for transition, n in itertools.zip_longest(transitions_of(play), takes):
        if transition is not None:
            graph.add(*transition)
            log.append(transition[:3])
        assert sweep.sweep(n or 0) == twin.take(n or 0)


@both_forms
@settings(deadline=None, max_examples=300)
@given(
    play=steps_of_play, takes=some_takes, n_roots=st.integers(1, 4), max_predecessors=some_predecessors,
    capacity=st.integers(1, 15),
)  # fmt: skip
def test_sweep_against_a_referee(form, play, takes, n_roots, max_predecessors, capacity):
    """Whatever is drawn: each batch is one of Algorithm 1, while transitions come and go."""
    root_draws = random.Random(7)

    def sorted_roots(graph, n, rng):
        return Twin.roots(set(graph.terminal.items), set(graph.reached.items), n, root_draws)

    graph, log = form[0](capacity), []
    sweep = sweep_of(form, graph, n_roots, max_predecessors, sorted_roots)
    referee = Referee(log, random.Random(7), n_roots, max_predecessors, capacity)
    for transition, n in itertools.zip_longest(transitions_of(play), takes):
        if transition is not None:
            graph.add(*transition)
            log.append(transition[:3])
        referee.check(sweep, n or 0)


def test_predecessors_and_transitions_are_drawn_uniformly(form):
    """2 of 5 edges, of 1 to 5 transitions each of which two have been overwritten."""
    transitions = [(v, T) for v in range(5) for _ in range(v + 3)]
    random.Random(0).shuffle(transitions)
    transitions = [(v, T) for v in range(5) for _ in range(2)] + [(v, T) for v in range(5) for _ in range(v + 1)]
    graph = graph_of(form, *transitions, capacity=15)
    sweep, pairs, numbers = sweep_of(form, graph, 1, 2, lambda *_: [T]), Counter(), Counter()
    for _ in range(5000):
        pair = sweep.sweep(2)
        pairs[frozenset(transitions[number][0] for number in pair)] += 1
        numbers.update(pair)
    assert len(pairs) == 10 and {len(pair) for pair in pairs} == {2}
    assert stats.chisquare(list(pairs.values())).pvalue > 0.001
    for v, edge in edges_of(graph)[T].items():
        assert len(edge) == v + 1 and (v == 0 or stats.chisquare([numbers[k] for k in edge]).pvalue > 0.001)


@settings(deadline=None, max_examples=200)
@given(play=steps_of_play, root=st.integers(0, 5), capacity=st.integers(1, 40))
def test_both_forms_serve_the_same_edges_where_all_are_followed(play, root, capacity):
    log = [transition[:3] for transition in transitions_of(play)]
    stored = log[-capacity:]
    frontier, edges = {root}, set()
    while frontier:
        new = {t[:2] for t in stored if t[1] in frontier} - edges
        edges |= new
        frontier = {v for v, _ in new}
    for form in (LITERAL, FAST):
        sweep = sweep_of(form, graph_of(form, *log, capacity=capacity), 1, None, lambda *_: [root])
        for number in range(1, 3):
            served = [log[k][:2] for k in sweep.sweep(len(edges))]
            assert sorted(served) == sorted(edges) and sweep.sweeps == number * bool(edges)


@both_forms
@settings(deadline=None, max_examples=200)
@given(
    play=steps_of_play, takes=st.lists(st.integers(0, 9), min_size=40, max_size=40), capacity=st.integers(1, 12),
    n_roots=st.sampled_from([1, 2, 8]), max_predecessors=st.sampled_from([1, 3, None]),
)  # fmt: skip
def test_rules_of_the_sweep_while_transitions_come_and_go(form, play, takes, capacity, n_roots, max_predecessors):
    graph = form[0](capacity)
    sweep = sweep_of(form, graph, n_roots, max_predecessors, seed=2)
    assert sweep.sweep(3) == []
    for transition, n in zip(transitions_of(play), takes):
        graph.add(*transition)
        taken = sweep.sweep(n)
        assert len(taken) == n
        assert all(graph.count - capacity <= number < graph.count for number in taken)


def test_what_has_been_overwritten_is_skipped(form):
    graph = graph_of(form, (A, T, True), (B, T, True), (C, T, True), capacity=3)
    sweep = sweep_of(form, graph, 8, None)
    assert sweep.sweep(1) == [0]  # 1 and 2 wait in the queue
    graph.add(D, U, True)  # drops 0
    graph.add(E, U, True)  # drops 1
    assert sweep.sweep(1) == [2]


def test_fewer_transitions_only_when_a_fresh_sweep_finds_none(form):
    assert sweep_of(form, form[0](5)).sweep(4) == []
    graph = graph_of(form, (S, A), (A, T, True))
    unreachable = sweep_of(form, graph, 8, 3, lambda *_: [S, 123_456])
    assert unreachable.sweep(4) == []
    assert unreachable.sweeps == 1
    roots = iter([[A], [S], [T]])
    hit_and_miss = sweep_of(form, graph, 8, 3, lambda *_: next(roots))
    assert hit_and_miss.sweep(4) == [0]  # the second sweep started where nothing leads to
    assert hit_and_miss.sweep(2) == [1, 0]


# --- what grows ------------------------------------------------------------------------------------------------------
def wandering(rng: np.random.Generator, vertices: int):
    """A step between random vertices, some of which are met much more often than others."""
    while True:
        v, v_next = (vertices * rng.random(2) ** 8).astype(int).tolist()
        yield v, v_next, bool(rng.random() < 0.1), ((v, 0.0), (v_next, float(rng.integers(9))))


@pytest.mark.parametrize(("capacity", "vertices"), [(700, 12), (3000, 60), (2500, 3000)])
def test_both_forms_hold_the_same_graph_as_pools_grow_and_are_packed(capacity, vertices):
    steps = wandering(np.random.default_rng(0), vertices)
    literal, fast = (form[0](capacity, track_returns=True) for form in (LITERAL, FAST))
    sweeps = [sweep_of(form, graph, 8, 3) for form, graph in ((LITERAL, literal), (FAST, fast))]
    packed = 0
    for number, step in zip(range(4 * capacity), steps):
        pool = fast.slot_pool
        assert literal.add(*step) == fast.add(*step) == number
        packed += fast.slot_pool is not pool
        if number % 97 == 0:
            for ter in sweeps:
                assert len(ter.sweep(50)) == 50
        if number % 500 == 0:
            assert edges_of(fast) == edges_of(literal) and visits_of(fast) == visits_of(literal)
            assert sorted(fast.terminal.items) == sorted(literal.terminal.items)
    assert packed > 5


def test_as_many_transitions_in_one_edge_as_there_are(form):
    """A player who stands at a wall."""
    graph = graph_of(form, *[(A, A)] * 2500, capacity=1000)
    assert edges_of(graph) == {A: {A: list(range(1500, 2500))}}
    assert min(sweep_of(form, graph).sweep(50)) >= 1500


def test_random_numbers_are_those_of_splitmix64():
    """Published for the seed 0: e220a8397b1dcdaf, 6e789e6aa1b965f4. Of both the upper 52 bits count."""
    stream = np.zeros(1, np.uint64)
    for bits in (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4):
        assert fast_sweep._uniform(stream) == ((bits >> 12) + 0.5) / 2**52


@pytest.mark.parametrize("choose_roots", [terminal_roots, PseudoTerminalRoots(100.0)], ids=["terminal", "pseudo"])
def test_an_unpickled_method_goes_on_identically(form, choose_roots):
    prioritized = PrioritizedSampler(700, np.random.default_rng(0), beta_steps=100)
    one = form[1](form[0](700, True), random.Random(3), phi, 0.5, prioritized, 3, 2, choose_roots)
    steps = [
        Step(np.array([v]), 0, G, np.array([v_next]), end, False)
        for (v, v_next, end, ((_, _), (_, G))), _ in zip(wandering(np.random.default_rng(1), 400), range(3000))
    ]

    def batches(ter: TER, start: int, end: int) -> list:
        found = []
        for number in range(start, end):
            ter.add(number % 700, steps[number])
            if number > 100 and number % 5 == 0:
                found.append(ter.sample(16).indices.tolist())
                ter.update(ter.sample(16).indices, {"td_error": np.linspace(0, number % 3, 16)})
        return found

    batches(one, 0, 1500)
    other = pickle.loads(pickle.dumps(one))
    expected = batches(one, 1500, 3000)
    assert batches(other, 1500, 3000) == expected
    assert edges_of(other.graph) == edges_of(one.graph)


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


def sampler_of(form, eta: float, capacity: int = 100, track_returns: bool = False, **search) -> TER:
    return form[1](form[0](capacity, track_returns), random.Random(0), phi, eta, Recorder(), **search)


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
def test_composition_of_a_batch(form, eta, n, mixed):
    sampler = sampler_of(form, eta)
    episode(sampler, 0, 1, 2, 3, 4, 5)
    indices, weights, targets = sampler.sample(n)
    assert targets is None
    assert sampler.prioritized.asked == ([mixed] if mixed else [])
    assert indices.dtype == np.int64
    assert weights.dtype == np.float32
    assert indices.tolist() == [1] * mixed + [4 - k % 5 for k in range(n - mixed)]
    assert weights.tolist() == [0.25] * mixed + [1.0] * (n - mixed)
    assert sampler.fallbacks == 0


def test_priorities_of_the_whole_batch_are_updated(form):
    graph, capacity = form[0](50), 50
    prioritized = PrioritizedSampler(capacity, np.random.default_rng(0), beta_steps=10, clip=1.0)
    sampler = form[1](graph, random.Random(0), phi, 0.5, prioritized)
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


def test_time_outs_are_no_roots_and_episodes_are_not_joined(form):
    sampler = sampler_of(form, 0.0)
    episode(sampler, 0, 1, 2, end="time-out")
    episode(sampler, 5, 6, 7, end="terminal")
    episode(sampler, 0, 1, 8, end="time-out")
    graph = sampler.graph
    assert graph.terminal.items == [7]
    assert edges_of(graph) == {1: {0: [0, 4]}, 2: {1: [1]}, 6: {5: [2]}, 7: {6: [3]}, 8: {1: [5]}}
    assert sampler.prioritized.added == [0, 1, 2, 3, 4, 5]
    assert sampler.sample(6)[0].tolist() == [3, 2] * 3


def test_episodes_of_environments_side_by_side_are_kept_apart(form):
    """Two of them take turns; the graph is that of one after the other, and so are the returns."""
    mixed, apart = (sampler_of(form, 0.0, track_returns=True) for _ in range(2))
    first = [step(0, 1, 1.0), step(1, 2, 2.0), step(2, 9, 3.0, "terminal")]
    second = [step(5, 6, 10.0, env_id=1), step(6, 7, 20.0, env_id=1), step(7, 8, 30.0, "time-out", env_id=1)]
    third = [step(0, 2, 7.0, env_id=1)]  # the second environment begins anew
    add(mixed, *itertools.chain(*zip(first, second)), *third)
    add(apart, *first, *second, *third)

    def ends(sampler) -> dict:
        return {after: {before: len(edge) for before, edge in edges.items()}
                for after, edges in edges_of(sampler.graph).items()}  # fmt: skip

    assert ends(mixed) == ends(apart) == {1: {0: 1}, 2: {1: 1, 0: 1}, 9: {2: 1}, 6: {5: 1}, 7: {6: 1}, 8: {7: 1}}
    assert visits_of(mixed.graph) == visits_of(apart.graph)
    assert visits_of(mixed.graph)[8] == [60.0, 1] and visits_of(mixed.graph)[2] == [3.0 + 7.0, 2]
    assert mixed.graph.terminal.items == [9] and mixed.sample(3)[0].tolist() == [4, 2, 6]


def test_slots_wrap_round_with_the_memory(form):
    sampler = sampler_of(form, 0.0, capacity=4)
    for start in range(0, 60, 10):
        episode(sampler, start, start + 1, start + 2, start + 3)
    # of 18 transitions the last four are left: 14 to 17, in slots 2, 3, 0, 1
    assert sorted(sampler.sample(4)[0].tolist()) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="slots are filled in turn: 2 is next, not 0"):
        sampler.add(0, step(0, 1))
    assert sampler.graph.count == 18


def test_returns_since_the_start_of_the_episode(form):
    sampler = sampler_of(form, 0.0, track_returns=True)
    add(sampler, step(0, 1, -1.0), step(1, 2, 10.0), step(2, 2, 0.0, "time-out"), step(0, 2, 4.0, "time-out"))
    assert visits_of(sampler.graph) == {0: [0.0, 2], 1: [-1.0, 1], 2: [9.0 + 9.0 + 4.0, 3]}


def test_what_the_sweep_cannot_deliver_comes_from_prioritised_replay(form):
    sampler = sampler_of(form, 0.5, choose_roots=lambda *_: [])
    episode(sampler, 0, 1, 2)
    indices, weights, _ = sampler.sample(10)
    assert sampler.prioritized.asked == [10]
    assert len(indices) == len(weights) == 10
    assert sampler.fallbacks == 5
    sampler.sample(10)
    assert sampler.fallbacks == 10
