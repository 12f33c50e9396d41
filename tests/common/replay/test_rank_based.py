"""The rank-based sampler: probabilities and weights by their formulas, and a twin that sorts everything anew."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.replay.rank_based import RankBasedSampler


def ranked(tds, capacity: int | None = None, **settings) -> RankBasedSampler:
    """A sampler whose slot i has the TD error `tds[i]`, seed 0."""
    settings = {"beta_steps": None} | settings
    sampler = RankBasedSampler(capacity or len(tds), np.random.default_rng(0), **settings)
    sampler.extend(np.arange(len(tds)))
    sampler.update(np.arange(len(tds)), {"td_error": tds})
    return sampler


def order(sampler: RankBasedSampler, n: int) -> list[int]:
    """The slots by rank, seen from outside: all n are drawn (one call of `sample`) and sorted by their weights."""
    indices, weights, _ = sampler.sample(n)
    return indices[np.argsort(weights)].tolist()


class Twin:
    """The same sampler in plain Python: sorts everything, draws one number after the other."""

    def __init__(self, seed: int, alpha: float, beta0: float, beta_steps: int | None, rerank_every: int):
        self.rng = np.random.default_rng(seed)
        self.alpha, self.beta0, self.beta_steps, self.rerank_every = alpha, beta0, beta_steps, rerank_every
        self.entries: dict[int, tuple] = {}  # slot -> what it is sorted by
        self.added = self.calls = self.age = 0
        self.order: list[int] | None = None

    def extend(self, slots):
        for slot in slots:
            self.added += 1
            self.entries[slot] = (0, -self.added)
        self.order = None if slots else self.order  # where nothing comes or goes, the ranks stay

    def remove(self, slots):
        for slot in slots:
            self.entries.pop(slot, None)
        self.order = None if slots else self.order

    def update(self, slots, signals):
        for slot, td in zip(slots, signals["td_error"]):
            self.entries[slot] = (1, -abs(td), slot)

    def sample(self, n):
        if self.order is None or self.age == self.rerank_every:
            self.order, self.age = sorted(self.entries, key=self.entries.__getitem__), 0
        shares = [rank**-self.alpha for rank in range(1, len(self.order) + 1)]
        edges = list(itertools.accumulate(shares))
        drawn: list[int] = []
        while len(drawn) < n:
            for u in self.rng.random(n + n // 8 + 1):
                rank = next(r for r, edge in enumerate(edges, start=1) if u * edges[-1] < edge)
                if rank not in drawn:
                    drawn.append(rank)
        ranks = np.array(drawn[:n])
        beta = self.beta0
        if self.beta_steps is not None:
            beta += (1 - beta) * min(1.0, self.calls / self.beta_steps)
        self.calls += 1
        self.age += 1
        probabilities = np.array(shares) / sum(shares)
        weights = (probabilities.min() / probabilities[ranks - 1]) ** beta
        return [self.order[r - 1] for r in ranks], weights, None


CAPACITY = 12
slot_lists = st.lists(st.integers(0, CAPACITY - 1), max_size=6)
operations = st.one_of(
    st.tuples(st.just("extend"), slot_lists),
    st.tuples(st.just("remove"), slot_lists),
    # few different TD errors, so that many are equal
    st.tuples(st.just("update"), slot_lists, st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5]), min_size=6)),
    st.tuples(st.just("sample"), st.integers(1, CAPACITY)),
)


@settings(deadline=None)
@given(
    script=st.lists(operations, max_size=40), alpha=st.sampled_from([0.0, 0.5, 1.0]),
    beta_steps=st.sampled_from([None, 5]), rerank_every=st.integers(1, 4), seed=st.integers(0, 9),
)  # fmt: skip
def test_the_same_draws_as_the_twin(script, alpha, beta_steps, rerank_every, seed):
    chosen = {"alpha": alpha, "beta0": 0.4, "beta_steps": beta_steps, "rerank_every": rerank_every}
    sampler, twin = RankBasedSampler(CAPACITY, np.random.default_rng(seed), **chosen), Twin(seed, **chosen)
    for name, *arguments in [("extend", [3, 4, 5]), *script, ("sample", 1), ("extend", [0]), ("sample", 1)]:
        if name == "sample":
            if not twin.entries:
                with pytest.raises(ValueError, match="nothing to draw"):
                    sampler.sample(1)
                continue
            n = min(arguments[0], len(twin.entries))
            indices, weights, _ = sampler.sample(n)
            expected, expected_weights, _ = twin.sample(n)
            assert indices.tolist() == expected
            np.testing.assert_allclose(weights, expected_weights, rtol=1e-6)
            continue
        slots = [slot for slot in arguments[0] if name == "extend" or slot in twin.entries]
        more = [{"td_error": arguments[1][: len(slots)]}] if name == "update" else []
        getattr(sampler, name)(np.array(slots, np.int64), *more)
        getattr(twin, name)(slots, *more)


def test_the_same_order_as_sorting_a_large_memory():
    rng, capacity = np.random.default_rng(1), 5000
    td, stored = rng.random(capacity), np.ones(capacity, bool)
    sampler = ranked(td, rerank_every=1)
    for _ in range(20):
        changed = rng.choice(np.flatnonzero(stored), 300, replace=False)
        gone = changed[:100]
        td[changed] = rng.random(300)
        sampler.update(changed, {"td_error": td[changed]})
        sampler.remove(gone)
        stored[gone] = False
        expected = np.argsort(-np.where(stored, td, -1.0), kind="stable")[: stored.sum()]
        sampler.sample(1)
        np.testing.assert_array_equal(sampler._ranked[: stored.sum()], expected)
        assert sampler._size == stored.sum()


def test_weights_by_hand():
    sampler = ranked([1.0, 2.0, 4.0, 3.0], capacity=9, alpha=0.5, beta0=0.5)  # ranks 4, 3, 1, 2 of n = 4, not of 9
    indices, weights, _ = sampler.sample(4)
    assert indices.dtype == np.int64
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights[np.argsort(indices)], [1, 0.75**0.25, 0.25**0.25, 0.5**0.25], rtol=1e-6)


def test_transitions_without_a_td_error_come_first_the_newest_in_front():
    sampler = ranked([1.0, 1e300, 2.0], capacity=7)
    sampler.extend(np.array([5, 3, 4]))
    sampler.add(6)
    assert order(sampler, 7) == [6, 4, 3, 5, 1, 2, 0]
    sampler.update([4], {"td_error": [1.5]})
    sampler.add(0)  # overwritten: what is known of slot 0 belongs to an older transition
    assert order(sampler, 7) == [0, 6, 3, 5, 1, 2, 4]


def test_td_errors_take_effect_after_ten_calls():
    sampler = ranked([3.0, 2.0, 1.0])
    assert order(sampler, 3) == [0, 1, 2]
    sampler.update([2], {"td_error": [9.0]})
    for _ in range(9):
        assert order(sampler, 3) == [0, 1, 2]
    sampler.update([1], {"td_error": [7.0]})
    assert order(sampler, 3) == [2, 1, 0]


def test_too_few_transitions_are_said_and_nothing_is_consumed():
    sampler = RankBasedSampler(4, np.random.default_rng(0), beta_steps=9)
    with pytest.raises(ValueError, match="no transition has been added"):
        sampler.sample(1)
    assert sampler.calls == 0
    assert sampler.rng.random() == np.random.default_rng(0).random()


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda s: s.update([0, 1], {"td_error": [0.5, np.nan]}), ValueError, "finite"),
    (lambda s: s.update([0, 1], {"td_error": [0.5, -np.inf]}), ValueError, "finite"),
    (lambda s: s.update([0, 1], {"td_error": [0.5]}), ValueError, "1 entries for 2 slots"),
    (lambda s: s.update([0, 3], {"td_error": [0.5, 0.5]}), ValueError, "slot 3 holds no transition"),
    (lambda s: s.update([0, 4], {"td_error": [0.5, 0.5]}), IndexError, "slot 4 .* slots run from 0 to 3"),
    (lambda s: s.update([0, -1], {"td_error": [0.5, 0.5]}), IndexError, "slot -1"),
    (lambda s: s.remove([0, 3]), ValueError, "slot 3 holds no transition"),
    (lambda s: s.remove([0, 4]), IndexError, "not from 0 to 4"),
    (lambda s: s.extend([0, 4]), IndexError, "not from 0 to 4"),
    (lambda s: s.add(-1), IndexError, "not from -1 to -1"),
])  # fmt: skip
def test_what_is_wrong_is_refused_and_changes_nothing(call, error, words):
    sampler = ranked([3.0, 2.0, 1.0], capacity=4, rerank_every=1)
    with pytest.raises(error, match=words):
        call(sampler)
    assert order(sampler, 3) == [0, 1, 2]


@pytest.mark.parametrize(("wrong", "words"), [
    ({"capacity": 0}, "capacity of at least 1, not 0"),
    ({"alpha": 1.01}, r"alpha must lie in \[0, 1\], not be 1.01"),
    ({"alpha": -0.5}, "alpha"),
    ({"alpha": np.nan}, "alpha"),
    ({"beta0": -0.1}, "beta0"),
    ({"beta_steps": 0}, "positive number of steps"),
    ({"rerank_every": 0}, "rerank_every"),
])  # fmt: skip
def test_wrong_settings(wrong, words):
    with pytest.raises(ValueError, match=words):
        RankBasedSampler(**{"capacity": 4, "rng": np.random.default_rng(0), "beta_steps": None} | wrong)


def play(sampler: RankBasedSampler, start: int, stop: int) -> list:
    """A little training on episodes of five transitions, the last six of which are kept."""
    drawn = []
    for t in range(start, stop):
        if t % 7 == 0:
            slots = np.arange(5) + 5 * (t // 7 % 6)
            if t >= 42:
                sampler.remove(slots)
            sampler.extend(slots)
        indices, weights, _ = sampler.sample(4)
        sampler.update(indices, {"td_error": np.sin(indices + t)})
        drawn.append((indices.tolist(), weights.tolist()))
    return drawn


@pytest.mark.parametrize("interrupted_at", [0, 5, 43, 56, 60])
def test_an_unpickled_sampler_continues_identically(interrupted_at):
    def make():
        return RankBasedSampler(30, np.random.default_rng(3), beta_steps=90, rerank_every=4)

    whole = play(make(), 0, 120)
    sampler = make()
    assert play(sampler, 0, interrupted_at) == whole[:interrupted_at]
    copy = pickle.loads(pickle.dumps(sampler))
    assert play(copy, interrupted_at, 120) == whole[interrupted_at:]
    assert play(sampler, interrupted_at, 120) == whole[interrupted_at:]  # pickling has left it as it was
