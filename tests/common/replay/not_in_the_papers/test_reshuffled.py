"""Random reshuffling: every slot once per epoch; and draws that keep to their expected number."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from common.replay.not_in_the_papers.reshuffled import RRC, RRM
from common.replay.samplers import PrioritizedSampler


@settings(deadline=None)
@given(
    stored=st.integers(1, 20), empty=st.integers(0, 10), whole=st.booleans(),
    sizes=st.lists(st.integers(1, 15), min_size=1, max_size=20),
)  # fmt: skip
def test_each_slot_once_per_epoch(stored, empty, whole, sizes):
    sampler = RRC(stored + empty, np.random.default_rng(0), whole=whole)
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


@pytest.mark.parametrize("sizes", [(1, 1, 2), (2, 1, 2)])  # in mid-epoch, and where an epoch has just been read
def test_both_forms_of_rrc_have_the_same_law(sizes):
    def drawn(whole, rng):
        sampler = RRC(5, rng, whole=whole)
        sampler.add(0)
        found = []
        for slot, n in enumerate(sizes, 1):
            sampler.add(slot)  # the first one before the first batch
            found += sampler.sample(n).indices.tolist()
        return tuple(found)

    counts = []
    for whole in (True, False):
        rng = np.random.default_rng(whole)
        counts.append(Counter(drawn(whole, rng) for _ in range(8_000)))
    table = np.array([[count[found] for count in counts] for found in counts[0].keys() | counts[1].keys()])
    assert len(table) > 15 and chi2_contingency(table).pvalue > 0.01


def test_an_epoch_costs_what_is_stored():
    class Counting:
        """Counts the random numbers that are asked for."""

        def __init__(self):
            self.rng, self.numbers = np.random.default_rng(0), 0

        def permutation(self, n):
            self.numbers += n
            return self.rng.permutation(n)

        def integers(self, n):
            self.numbers += 1
            return self.rng.integers(n)

    rng = Counting()
    sampler = RRC(100_000, rng)
    for slot in range(50):
        sampler.add(slot)
    for slot in range(50, 100):
        sampler.sample(25)
        sampler.add(slot)
    assert rng.numbers <= 50 + 50 * 25 + 100  # the slots that were added, those that were drawn, and a last epoch


def masked(tds: list[float], **chosen) -> RRM:
    sampler = RRM(len(tds), np.random.default_rng(0), **({"alpha": 1.0, "epsilon": 0.0} | chosen))
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
    assert sampler.tree.expected.sum() == pytest.approx(64) and sampler.tree.drawn.sum() == 64
    gone = int(sampler.tree.drawn[3])
    sampler.add(3)
    assert sampler.tree.drawn.sum() == 64 - gone == pytest.approx(sampler.tree.expected.sum())
    assert sampler.tree.priority[3] == sampler.max_priority == 8.0


def test_a_batch_holds_nothing_twice_and_takes_masked_transitions_last():
    for _ in range(20):
        sampler = masked([1.0] * 10)
        first, second = ({*sampler.sample(6).indices.tolist()} for _ in range(2))  # drawn once, 0.6 times expected
        assert len(first) == len(second) == 6 and second > {*range(10)} - first


def test_what_is_no_td_error_or_no_transition_changes_nothing():
    sampler = masked([1.0, 2.0, 3.0])
    for slots, td, error in (
        ([0, 1], [1.0, np.nan], ValueError), ([0, 1], [1.0, np.inf], ValueError), ([0, 3], [5.0, 5.0], IndexError),
        ([0, -1], [5.0, 5.0], IndexError),
    ):  # fmt: skip
        with pytest.raises(error):
            sampler.update(np.array(slots), {"td_error": np.array(td)})
        assert sampler.tree.priority.tolist() == [1.0, 2.0, 3.0] and sampler.max_priority == 3.0
    for kind in (RRC, RRM):
        with pytest.raises(IndexError, match="slots run from 0 to 2"):
            kind(3, np.random.default_rng(0)).add(3)


def test_there_must_be_something():
    for sampler in (RRC(3, np.random.default_rng(0)), RRM(3, np.random.default_rng(0))):
        with pytest.raises(ValueError, match="no transition has been added"):
            sampler.sample(1)
