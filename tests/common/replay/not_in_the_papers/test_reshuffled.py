"""Random reshuffling: every slot once per epoch; and draws that keep to their expected number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.replay.not_in_the_papers.reshuffled import RRC, RRM
from common.replay.samplers import PrioritizedSampler


@settings(deadline=None)
@given(stored=st.integers(1, 20), empty=st.integers(0, 10), sizes=st.lists(st.integers(1, 15), min_size=1, max_size=20))
def test_each_slot_once_per_epoch(stored, empty, sizes):
    sampler = RRC(stored + empty, np.random.default_rng(0))
    for index in range(stored):
        sampler.add(index)
    drawn = np.concatenate([sampler.sample(n).indices for n in sizes])
    assert len(drawn) == sum(sizes)
    for epoch in range(0, len(drawn), stored):
        part = drawn[epoch : epoch + stored].tolist()
        assert len({*part}) == len(part) and max(part) < stored


def test_epochs_differ_and_new_slots_join_at_once():
    sampler = RRC(40, np.random.default_rng(0))
    for index in range(20):
        sampler.add(index)
    first, second = sampler.sample(20).indices.tolist(), sampler.sample(20).indices.tolist()
    assert sorted(first) == sorted(second) and first != second
    sampler.sample(2)
    for index in range(20, 40):
        sampler.add(index)
    assert max(sampler.sample(30).indices) >= 20


def masked(tds: list[float], **chosen) -> RRM:
    sampler = RRM(len(tds), np.random.default_rng(0), **({"alpha": 1.0, "epsilon": 0.0, "clip": None} | chosen))
    for index in range(len(tds)):
        sampler.add(index)
    sampler.update(np.arange(len(tds)), {"td_error": np.array(tds)})
    return sampler


def test_draws_keep_to_the_priorities_more_closely_than_chance():
    tds = [1.0, 2.0, 3.0, 4.0]
    sampler = masked(tds)
    plain = PrioritizedSampler(4, np.random.default_rng(0), 1.0, beta_steps=1, epsilon=0, clip=None, stratified=True)
    plain.extend(np.arange(4))
    plain.update(np.arange(4), {"td_error": np.array(tds)})
    expected = 1_000 * np.array(tds) / 10
    counts = [
        np.bincount(np.concatenate([s.sample(1).indices for _ in range(1_000)]), minlength=4) for s in (sampler, plain)
    ]
    assert np.abs(counts[0] - expected).max() <= 3
    assert np.abs(counts[1] - expected).max() > 3


def test_weights_and_the_sums_of_both_counts():
    sampler = masked([1.0, 2.0, 4.0, 8.0], beta=0.5)
    slots, weights, _ = sampler.sample(64)  # more than are stored: with replacement
    smallest = slots.min()
    np.testing.assert_allclose(weights, (2.0 ** (slots - smallest)) ** -0.5, rtol=1e-6)
    assert sampler.expected.sum() == pytest.approx(64) and sampler.drawn.sum() == 64
    gone = int(sampler.drawn[3])
    sampler.add(3)
    assert sampler.drawn.sum() == 64 - gone == pytest.approx(sampler.expected.sum())
    assert sampler.priority[3] == sampler.max_priority == 8.0


def test_a_batch_holds_nothing_twice_and_takes_masked_transitions_last():
    sampler = masked([1.0] * 10)
    for _ in range(20):
        sampler.drawn[:], sampler.expected[:] = [5] * 6 + [0] * 4, 1.0  # the first six are ahead
        slots = sampler.sample(6).indices
        assert len({*slots.tolist()}) == 6 and {6, 7, 8, 9} <= {*slots.tolist()}


def test_there_must_be_something():
    for sampler in (RRC(3, np.random.default_rng(0)), RRM(3, np.random.default_rng(0))):
        with pytest.raises(ValueError, match="no transition has been added"):
            sampler.sample(1)
