"""Samplers: frequencies, weights and priorities by their formulas, and an identical continuation after a pickle."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from common.replay.protocol import Sampler
from common.replay.samplers import PrioritizedSampler, UniformSampler
from common.replay.storage import Ring


def prioritized(capacity: int = 8, filled: int = 8, **settings) -> PrioritizedSampler:
    settings = {"beta_steps": 100} | settings
    sampler = PrioritizedSampler(capacity, np.random.default_rng(0), **settings)
    for index in range(filled):
        sampler.add(index)
    return sampler


def test_uniform_draws_every_filled_slot_alike():
    sampler = UniformSampler(np.random.default_rng(0))
    for index in [0, 1, 2, 3, 0, 1]:  # a ring of four slots, the first two overwritten
        sampler.add(index)
    indices, weights, _ = sampler.sample(20_000)
    sampler.update(indices, {"td_error": np.zeros(20_000)})
    assert indices.dtype == np.int64
    assert weights.dtype == np.float32
    assert (weights == 1).all()
    assert chisquare(np.bincount(indices)).pvalue > 0.01


def test_priority_formula():
    for chosen, largest in (({"clip": 1.0}, 1.01), ({"clip": None}, 7.01), ({}, 7.01)):
        sampler = prioritized(alpha=0.6, epsilon=0.01, **chosen)
        sampler.update(np.array([0, 1, 2]), {"td_error": np.array([-0.5, 0.0, -7.0], np.float32)})
        np.testing.assert_allclose(sampler.tree[:3], [0.51**0.6, 0.01**0.6, largest**0.6], rtol=1e-12)


def test_a_new_transition_gets_the_largest_priority_seen_so_far():
    sampler = prioritized(capacity=4, filled=2, alpha=0.5, epsilon=0.0, clip=None)
    assert sampler.tree[:].tolist() == [1, 1, 0, 0]
    sampler.update([0, 1], {"td_error": [9.0, 0.25]})
    sampler.add(2)
    sampler.update([0], {"td_error": [0.04]})  # the maximum is remembered although no transition has it any more
    sampler.add(3)
    sampler.add(1)  # slot 1 is overwritten
    np.testing.assert_allclose(sampler.tree[:], [0.2, 3, 3, 3])


@settings(deadline=None)
@given(
    chunks=st.lists(st.tuples(st.lists(st.integers(0, 7), unique=True), st.floats(0, 100)), max_size=6),
    filled=st.integers(0, 8),
)
def test_extend_is_add_many_times(chunks, filled):
    one, twin = prioritized(filled=filled, clip=None), prioritized(filled=filled, clip=None)
    for slots, td in chunks:
        one.extend(np.array(slots, np.int64))
        for slot in slots:
            twin.add(slot)
        np.testing.assert_array_equal(one.tree[:], twin.tree[:])
        assert one.tree.total == twin.tree.total and one.stored == twin.stored
        for sampler in (one, twin):  # raises the priority of what comes next
            sampler.update(slots[:1], {"td_error": [td] * len(slots[:1])})
    assert one.max_priority == twin.max_priority


def test_frequencies_are_proportional_to_priorities():
    sampler = prioritized(stratified=True, alpha=1.0, epsilon=0.0, clip=None)
    td = np.arange(1.0, 9.0)
    sampler.update(np.arange(8), {"td_error": -td})
    indices = np.concatenate([sampler.sample(4)[0] for _ in range(12_500)])
    assert chisquare(np.bincount(indices, minlength=8), td / td.sum() * 50_000).pvalue > 0.01


def test_a_stratified_batch_takes_one_from_each_part():
    sampler = prioritized(stratified=True, alpha=1.0, epsilon=0.0, clip=None)
    sampler.update(np.arange(8), {"td_error": [8, 4, 4, 0, 0, 0, 0, 16]})  # four parts of 8 each
    indices = sampler.sample(4).indices
    assert indices[0] == 0
    assert indices[1] in (1, 2)
    assert indices[2:].tolist() == [7, 7]


def test_each_part_of_a_stratified_batch_is_drawn_for_itself():
    sampler = prioritized(capacity=1000, filled=1000, stratified=True)
    indices = sampler.sample(10).indices
    np.testing.assert_array_equal(indices // 100, np.arange(10))
    assert len(set(indices % 100)) > 5


def test_weights_by_hand():
    sampler = prioritized(capacity=3, filled=3, alpha=1.0, beta0=0.5, epsilon=0.0, clip=None)
    sampler.update([0, 1, 2], {"td_error": [1.0, 4.0, 16.0]})
    indices, weights, _ = sampler.sample(3)
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights[np.argsort(indices)], [1, 1 / 2, 1 / 4])


@settings(deadline=None)
@given(tds=st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=8), n=st.integers(1, 8), calls=st.integers(0, 120))
def test_batches_without_replacement(tds, n, calls):
    sampler = prioritized()
    sampler.update(np.arange(8), {"td_error": tds})
    sampler.calls = calls
    before = sampler.tree[:].copy()
    indices, weights, _ = sampler.sample(n)
    assert len(set(indices.tolist())) == n
    assert weights.max() == 1
    assert (weights > 0).all()
    np.testing.assert_array_equal(sampler.tree[:], before)


def test_beta_goes_linearly_to_one_with_the_calls():
    sampler = prioritized(beta0=0.4, beta_steps=10)
    betas = []
    for _ in range(13):
        betas.append(sampler.beta)
        sampler.sample(1)
    np.testing.assert_allclose(betas[:11], np.linspace(0.4, 1.0, 11))
    assert betas[10:] == [1.0, 1.0, 1.0]


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="nothing to draw"):
        prioritized(filled=0, stratified=True).sample(1)
    with pytest.raises(ValueError, match="no transition has been added"):
        UniformSampler(np.random.default_rng(0)).sample(1)
    sampler = prioritized()
    with pytest.raises(ValueError, match="finite"):
        sampler.update([0, 1], {"td_error": [0.5, np.nan]})
    assert sampler.tree[0] == 1.0
    assert sampler.max_priority == 1.0


def play(ring: Ring, sampler: Sampler, steps: int) -> list:
    """A little training: what was drawn, with which weights."""
    drawn = []
    for t in range(steps):
        sampler.add(ring.add(x=t))
        indices, weights, _ = sampler.sample(4 if len(ring) >= 4 else 1)
        sampler.update(indices, {"td_error": np.sin(ring["x"][indices])})
        drawn.append((indices.tolist(), weights.tolist()))
    return drawn


@pytest.mark.parametrize("make", [
    lambda: UniformSampler(np.random.default_rng(3)),
    lambda: PrioritizedSampler(20, np.random.default_rng(3), beta_steps=60),
    lambda: PrioritizedSampler(20, np.random.default_rng(3), beta_steps=60, clip=None, stratified=True),
], ids=["uniform", "prioritized", "prioritized-stratified"])  # fmt: skip
@pytest.mark.parametrize("interrupted_at", [5, 33])
def test_an_unpickled_sampler_continues_identically(make, interrupted_at):
    whole = play(Ring(20, {"x": ((), np.float64)}), make(), interrupted_at)
    ring, sampler = Ring(20, {"x": ((), np.float64)}), make()
    assert play(ring, sampler, interrupted_at) == whole  # the same seed, the same draws
    copy_ring, copy = pickle.loads(pickle.dumps((ring, sampler)))
    assert play(copy_ring, copy, 40) == play(ring, sampler, 40)
