"""Nothing is joined that did not follow: episodes that are cut anywhere, with and without a word, on several
environments, for all that remembers the last step or walks along slots."""

import random
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.replay.joined import Seen
from common.replay.not_in_the_papers.introspective import IER
from common.replay.protocol import Step
from common.replay.trail import CUT, FOLLOWS, OPENS, Trail
from papers.ter.replay.batch import Batch
from papers.ter.replay.ebu import EBU
from papers.ter.replay.fast_graph import FastGraph
from papers.ter.replay.fast_sweep import FastTER
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER
from tests.papers.ter.test_topological import edges_of, visits_of


# ---- what follows what -----------------------------------------------------------------------------------------------
def step(before, after, end: str = "", env_id: int = 0, reward: float = 0.0) -> Step:
    return Step(before, 0, reward, after, end == "terminated", end == "truncated", env_id)


def test_what_a_step_is():
    trail = Trail()
    assert trail.add(step(4, 5)) == OPENS
    assert trail.add(step(5, 6, env_id=1)) == OPENS
    assert trail.add(step(5, 6)) == FOLLOWS
    assert trail.add(step(7, 8, "truncated")) == CUT
    assert trail.add(step(8, 9)) == OPENS
    trail.cut()
    assert trail.add(step(9, 9)) == OPENS and trail.add(step(6, 7, env_id=1)) == OPENS
    trail.cut(1)
    assert trail.add(step(9, 1)) == FOLLOWS and trail.add(step(7, 8, env_id=1)) == OPENS
    trail.cut(5)  # an environment that has not been seen


@pytest.mark.parametrize(("end", "start", "same"), [
    (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
    (np.zeros(2, np.float32), np.zeros(2), True),  # what one library calls float32 is float64 elsewhere
    (np.zeros(2, np.float32), np.array([0.0, 1e-9]), False),
    (np.zeros((2, 1)), np.zeros((1, 2)), False),
    (np.array([1, 2], np.uint8), np.array([1, 3], np.uint8), False),
    ({"a": np.ones(2), "b": 1}, {"b": 1, "a": np.ones(2)}, True),
    ({"a": np.ones(2), "b": 1}, {"a": np.zeros(2), "b": 1}, False),
    ((np.ones(2), 3), [np.ones(2), 3], True),
    ((np.ones(2), 3), (np.ones(2), 4), False),
    (torch.ones(2), torch.ones(2), True),
    (torch.ones(2), torch.zeros(2), False),
    (np.array(["a", None], object), np.array(["a", None], object), True),
    (np.int64(3), 3, True),
    ("here", "there", False),
    (None, None, True),
    (np.zeros(0), np.zeros(0), True),
])  # fmt: skip
def test_observations_of_any_kind(end, start, same):
    trail = Trail()
    trail.add(step(None, end))
    assert trail.add(step(start, None)) == (FOLLOWS if same else CUT)


def test_an_environment_may_write_each_observation_into_the_same_array():
    trail, shown = Trail(), np.zeros(3)
    trail.add(step(shown.copy(), shown))
    shown[:] = 7.0  # started anew
    assert trail.add(step(shown, shown)) == CUT


# ---- plays with cuts -------------------------------------------------------------------------------------------------
class Played(NamedTuple):
    """A step and, by brute force, to which piece of an episode it belongs."""

    step: Step
    piece: int
    cut: bool
    """The environment's running episode is told to be given up before it."""


@st.composite
def plays(draw) -> list[Played]:
    """Up to 3 environments in random turns; an episode ends, or is given up, at any step."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    n_envs, states, often = draw(st.integers(1, 3)), draw(st.integers(2, 30)), draw(st.sampled_from([0.05, 0.2, 0.5]))
    at: dict[int, int] = {}  # where each episode is that has not ended
    piece: dict[int, int] = {}
    pieces, played = 0, []
    for _ in range(draw(st.integers(1, 70))):
        env, told = rng.randrange(n_envs), False
        start = at.get(env)
        if start is not None and rng.random() < often:
            told, start = rng.random() < 0.3, rng.randrange(states)
        if start is None or told or start != at[env]:
            piece[env], pieces = pieces, pieces + 1
            start = rng.randrange(states) if start is None else start
        end = rng.choice(["terminated", "truncated"]) if rng.random() < often else ""
        after = rng.randrange(states)
        played.append(Played(step(start, after, end, env, rng.randrange(100)), piece[env], told))
        at[env] = after
        if end:
            del at[env]
    return played


def tell(sampler, played: list[Played], capacity: int) -> None:
    for k, one in enumerate(played):
        if one.cut:
            sampler.cut(one.step.env_id)
        sampler.add(k % capacity, one.step)


capacities = st.integers(1, 30)


@pytest.mark.parametrize(("graph", "kind"), [(TransitionGraph, TER), (FastGraph, FastTER)], ids=["literal", "fast"])
@settings(deadline=None, max_examples=150)
@given(played=plays(), capacity=capacities)
def test_ter_has_the_edges_that_were_walked_and_no_others(graph, kind, played, capacity):
    sampler = kind(graph(capacity, True), random.Random(0), int)
    tell(sampler, played, capacity)
    edges, visits, gain = {}, {}, {}
    for k, one in enumerate(played):
        opens = one.piece not in gain
        gain[one.piece] = gain.get(one.piece, 0.0) + one.step.reward
        if k < len(played) - capacity:
            continue
        v, v_next = one.step.observation, one.step.next_observation
        edges.setdefault(v_next, {}).setdefault(v, []).append(k)
        for vertex, accumulated in [(v, 0.0)] * opens + [(v_next, gain[one.piece])]:
            total, count = visits.get(vertex, (0.0, 0))
            visits[vertex] = total + accumulated, count + 1
    assert edges_of(sampler.graph) == edges
    assert {vertex: tuple(entry) for vertex, entry in visits_of(sampler.graph).items()} == visits


def test_a_reset_without_an_end_makes_no_edge():
    for graph, kind in [(TransitionGraph, TER), (FastGraph, FastTER)]:
        sampler = kind(graph(9), random.Random(0), int)
        for k, one in enumerate([step(4, 5, "truncated"), step(0, 1), step(5, 6, "terminated")]):
            sampler.add(k, one)
        assert edges_of(sampler.graph)[6] == {5: [2]}


@settings(deadline=None, max_examples=300)
@given(played=plays(), capacity=capacities, n=st.integers(1, 12))
def test_ier_goes_back_over_what_followed(played, capacity, n):
    """Back to the step before of the same environment, while it is stored; across an end, too, but not across a cut."""
    sampler = IER(capacity, np.random.default_rng(0), np.zeros_like, pivots=1)
    last: dict[int, int] = {}  # env -> number of its last step
    before = []
    for k, (one, piece, _) in enumerate(played):
        number = last.get(one.env_id)
        follows = number is not None and (played[number].step.ended or played[number].piece == piece)
        before.append(number if follows else None)
        last[one.env_id] = k
    tell(sampler, played, capacity)
    oldest = len(played) - min(capacity, len(played))
    for number in range(oldest, len(played)):
        expected = [number]
        while len(expected) < n and (found := before[expected[-1]]) is not None and found >= oldest:
            expected.append(found)
        assert sampler.back_from(number % capacity, n).tolist() == [k % capacity for k in expected]


def test_ier_does_not_repeat_a_slot():
    sampler = IER(4, np.random.default_rng(0), np.zeros_like, pivots=1)
    for k, env in enumerate([0, 1, 1, 1, 0]):
        sampler.add(k % 4, step(0, 0, env_id=env))
    assert sampler.back_from(0, 3).tolist() == [0]
    assert sampler.back_from(3, 3).tolist() == [3, 2, 1]


def test_ier_does_not_go_on_into_another_environment():
    """The step before is gone, and its slot was filled by another environment before this step was made."""
    sampler = IER(3, np.random.default_rng(0), np.zeros_like, pivots=1)
    for k, env in enumerate([0, 1, 1, 1, 0]):  # 3 has come into the slot of 0, of which 4 is the next step
        sampler.add(k % 3, step(0, 0, env_id=env))
    assert sampler.back_from(1, 3).tolist() == [1]


class Rewards:
    """A memory, and an agent to whom all states are worth nothing: what EBU serves with beta 1 are the rewards from a
    step to the end of its piece."""

    gamma = 1.0

    def __init__(self, capacity: int):
        self.capacity, self.reward = capacity, np.zeros(capacity)

    def __getitem__(self, field: str) -> np.ndarray:
        return self.reward if field == "reward" else np.zeros(self.capacity, np.int64)

    def batch(self, slots: np.ndarray) -> Batch:
        return Batch(*[torch.zeros(len(slots))] * 5)

    def next_target_q(self, batch: Batch) -> torch.Tensor:
        return torch.zeros(len(batch.reward), 1)


@settings(deadline=None, max_examples=200)
@given(played=plays(), capacity=capacities, n=st.integers(1, 5), every=st.integers(1, 4))
def test_ebu_serves_pieces_of_episodes_that_are_stored(played, capacity, n, every):
    memory = Rewards(capacity)
    sampler = EBU(memory, memory, np.random.default_rng(0), beta=1.0, double=False)
    closed: set[int] = set()  # pieces that are over
    running: dict[int, int] = {}
    for k, (one, piece, told) in enumerate(played):
        if told:
            sampler.cut(one.env_id)
        if one.env_id in running and running[one.env_id] != piece:
            closed.add(running.pop(one.env_id))
        memory.reward[k % capacity] = one.reward
        sampler.add(k % capacity, one)
        running[one.env_id] = piece
        if one.ended:
            closed.add(running.pop(one.env_id))
        if k % every:
            continue
        members: dict[int, list[int]] = {}
        for number, other in enumerate(played[: k + 1]):
            members.setdefault(other.piece, []).append(number)
        over = [numbers for p, numbers in members.items() if p in closed]
        whole = any(numbers[0] > k - capacity for numbers in over)
        chosen = sampler.sample(n)
        if chosen is None:
            assert not whole
        else:
            due = {
                number % capacity: sum(played[later].step.reward for later in numbers[place:])
                for numbers in over
                for place, number in enumerate(numbers)
                if number > k - capacity
            }
            assert [due.get(slot) for slot in chosen.indices.tolist()] == chosen.targets.tolist()


def test_ebu_of_two_environments_serves_nothing_that_was_overwritten():
    memory = Rewards(9)
    sampler = EBU(memory, memory, np.random.default_rng(0), double=False)
    envs = [0, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    for k, env in enumerate(envs):
        sampler.add(k % 9, step(0, 0, "terminated" if k in (2, 8) else "", env))
    assert {slot for _ in range(100) for slot in sampler.sample(1).indices.tolist()} == {1, 2}


def test_an_episode_that_was_given_up_goes_on_being_worth_something():
    """EBU serves it as one that the time limit has cut: not where time-outs are left out, and never as an end."""
    for timeouts in (True, False):
        memory = Rewards(9)
        memory.next_target_q = lambda batch: torch.full((len(batch.reward), 1), 100.0)
        options = {"timeouts": timeouts, "timeout_is_done": True}
        sampler = EBU(memory, memory, np.random.default_rng(0), beta=0.0, double=False, **options)
        sampler.add(0, step(0, 1))
        sampler.add(1, step(7, 8))
        assert (sampler.sample(1) is None) != timeouts
        if timeouts:
            chosen = sampler.sample(1)
            assert chosen.indices.tolist() == [0] and chosen.targets.tolist() == [100.0]
        sampler.cut()
        assert len(sampler._episodes) == 2 * timeouts


@settings(deadline=None, max_examples=150)
@given(played=plays())
def test_the_time_that_ners_and_ero_see_begins_anew(played):
    seen = Seen(len(played), horizon=1)
    age: dict[int, int] = {}
    for k, one in enumerate(played):
        if one.cut:
            seen.trail.cut(one.step.env_id)
        seen.add(k, one.step)
        assert seen.time[k] == age.get(one.piece, 0)
        age[one.piece] = age.get(one.piece, 0) + 1
