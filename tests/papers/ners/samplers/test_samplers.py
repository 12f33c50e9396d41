"""RANDOM and PER, and what PER shares with NERS: the law of the draws, their weights, new transitions; the settings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from papers.ners.samplers.samplers import PER, Random, RandomIID


def random(filled: int, kind: type[RandomIID] = Random) -> RandomIID:
    sampler = kind(np.random.default_rng(0))
    for slot in range(filled):
        sampler.add(slot)
    return sampler


def per(
    td: list[float], *, capacity: int = 16, alpha: float = 0.5, beta: float = 0.4, draws: int = 100, epsilon: float = 0
) -> PER:
    """Slot i holds a transition with a TD error of the size td[i]."""
    sampler = PER(capacity, np.random.default_rng(0), alpha, beta, draws, epsilon)
    for slot in range(len(td)):
        sampler.add(slot)
    sampler.update(np.arange(len(td)), {"td_error": np.array(td), "target": np.zeros(len(td))})
    return sampler


def frequencies(sampler, batch: int, draws: int = 21_000) -> np.ndarray:
    """How often each stored slot came in `draws` draws, made in batches."""
    slots = np.concatenate([sampler.sample(batch)[0] for _ in range(draws // batch)])
    return np.bincount(slots, minlength=len(sampler.probabilities()))


# --- law and weights --------------------------------------------------------------------------------------------------
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=16), st.floats(0.1, 2))
def test_law_is_eq_1_for_any_exponent(td, alpha):
    sampler = per(td, alpha=alpha)
    powers = np.array(td) ** alpha
    np.testing.assert_allclose(sampler.probabilities(), powers / powers.sum())
    np.testing.assert_allclose(sampler.scores(), td)


@pytest.mark.parametrize("batch", [1, 7])
def test_draws_follow_the_law(batch):
    sampler = per([0.1, 4.0, 1.0, 9.0, 0.0, 2.0])
    counts, p = frequencies(sampler, batch), sampler.probabilities()
    assert counts[4] == 0 == p[4], "without an epsilon no TD error means no replay"
    drawn = p > 0
    assert chisquare(counts[drawn], p[drawn] * counts.sum()).pvalue > 0.01


def weights_by_definition(sampler: PER, slots: np.ndarray, beta: float) -> np.ndarray:
    p = sampler.probabilities()
    w = np.array([(1.0 / (len(p) * p[slot])) ** beta for slot in slots])
    return w / w.max()


def test_weights_by_hand():
    """Probabilities 1/30, 4/30, 9/30, 16/30; the rarest transition of the batch has the weight 1."""
    sampler = per([1.0, 16.0, 81.0, 256.0], beta=0.5)
    slots, weights, _ = sampler.sample(30)  # one from each part of 1/30: the law itself
    assert np.bincount(slots).tolist() == [1, 4, 9, 16]
    assert slots.dtype == np.int64 and weights.dtype == np.float32
    np.testing.assert_allclose(weights, np.array([1, 1 / 2, 1 / 3, 1 / 4])[slots], rtol=1e-6)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=16), st.integers(1, 20), st.floats(0, 1))
def test_weights_are_eq_5_and_the_largest_is_1(td, n, beta):
    sampler = per(td, beta=beta)
    slots, weights, _ = sampler.sample(n)
    assert weights.max() == 1.0 and weights.min() > 0
    np.testing.assert_allclose(weights, weights_by_definition(sampler, slots, beta), rtol=1e-5)


def test_beta_grows_from_its_start_to_1():
    """It is 0.4 in the first draw, then grows alike with every draw; from call `draws` on it stays 1."""
    draws, sampler = 5, per([1.0, 16.0, 81.0, 256.0], draws=5)
    for call, beta in enumerate([0.4, 0.52, 0.64, 0.76, 0.88, 1.0, 1.0]):
        slots, weights, _ = sampler.sample(8)
        np.testing.assert_allclose(weights, weights_by_definition(sampler, slots, beta), rtol=1e-6)
        assert len(set(slots)) > 1, "one slot alone would have the weight 1 whatever beta is"
        assert (beta == 1.0) == (call >= draws)


# --- scores of PER ----------------------------------------------------------------------------------------------------
def test_epsilon_is_added_to_the_size_of_the_td_error():
    sampler = per([0.0, 3.0], epsilon=0.25)
    np.testing.assert_allclose(sampler.scores(), [0.25, 3.25])
    np.testing.assert_allclose(sampler.probabilities(), np.sqrt([0.25, 3.25]) / np.sqrt([0.25, 3.25]).sum())


def test_a_new_transition_has_the_largest_score_seen():
    sampler = PER(4, np.random.default_rng(0), 0.5, 0.4, 10, 0.0)
    sampler.add(0)
    sampler.add(1)
    assert sampler.scores().tolist() == [1, 1], "1 at first"
    sampler.update(np.array([0, 1]), {"td_error": np.array([9.0, 0.25])})
    sampler.add(2)
    np.testing.assert_allclose(sampler.scores(), [9, 0.25, 9])
    sampler.update(np.array([0, 2]), {"td_error": np.array([0.5, 0.5])})
    sampler.add(1)  # slot 1 is overwritten; no stored transition has the largest score any more
    np.testing.assert_allclose(sampler.scores(), [0.5, 9, 0.5])
    sampler = per([0.1, 0.2])
    sampler.add(2)
    np.testing.assert_allclose(sampler.scores(), [0.1, 0.2, 1.0])


def test_an_update_concerns_its_slots_alone():
    sampler = per([1.0, 2.0, 3.0, 4.0])
    sampler.update(
        np.array([1, 3, 1]), {"td_error": np.array([7.0, 8.0, 9.0], np.float32), "target": np.zeros(3, np.float32)}
    )
    np.testing.assert_allclose(sampler.scores(), [1, 9, 3, 8])  # the last of two counts


# --- RANDOM -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [Random, RandomIID])
def test_random_draws_all_alike(kind):
    sampler = random(5, kind)
    sampler.add(0)  # overwritten: there are still five
    slots, weights, _ = sampler.sample(20_000)
    assert slots.dtype == np.int64 and weights.dtype == np.float32 and (weights == 1).all()
    assert chisquare(np.bincount(slots)).pvalue > 0.01 and slots.max() == 4
    assert sampler.probabilities().tolist() == [0.2] * 5 and sampler.scores().tolist() == [1.0] * 5


def test_random_draws_one_transition_from_each_part_of_the_memory():
    """Independent draws do not: of ten, some come twice."""
    assert random(10).sample(10)[0].tolist() == [*range(10)]
    assert len(set(random(10, RandomIID).sample(10)[0])) < 10
    for _ in range(20):
        slots = (sampler := random(7)).sample(3).indices
        assert all(k * 7 // 3 <= slot <= math.ceil((k + 1) * 7 / 3) - 1 for k, slot in enumerate(slots))
        sampler.add(7)


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 99))
def test_random_draws_what_equal_priorities_draw(filled, n, seed):
    """Slot for slot, from the same stream."""
    ours = Random(np.random.default_rng(seed))
    theirs = PER(300, np.random.default_rng(seed), 0.0, 0.4, 10)
    for slot in range(filled):
        ours.add(slot)
        theirs.add(slot)
    for _ in range(3):
        assert ours.sample(n)[0].tolist() == theirs.sample(n)[0].tolist()


@pytest.mark.parametrize("empty", [random(0), random(0, RandomIID), per([])], ids=["random", "random-iid", "per"])
def test_nothing_to_draw(empty):
    with pytest.raises(ValueError, match="nothing to draw"):
        empty.sample(1)
