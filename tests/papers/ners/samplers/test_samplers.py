"""RANDOM, and the law of PER, whose draws, weights and priorities are those of common/replay/samplers.py."""

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


# --- law and weights --------------------------------------------------------------------------------------------------
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=16), st.floats(0.1, 2))
def test_law_is_eq_1_for_any_exponent(td, alpha):
    sampler = per(td, alpha=alpha)
    powers = np.array(td) ** alpha
    np.testing.assert_allclose(sampler.probabilities(), powers / powers.sum())
    np.testing.assert_allclose(sampler.scores(), td)


def test_weights_by_hand():
    """Probabilities 1/30, 4/30, 9/30, 16/30; the rarest transition of the batch has the weight 1."""
    sampler = per([1.0, 16.0, 81.0, 256.0], beta=0.5)
    slots, weights, _ = sampler.sample(30)  # one from each part of 1/30: the law itself
    assert np.bincount(slots).tolist() == [1, 4, 9, 16]
    assert slots.dtype == np.int64 and weights.dtype == np.float32
    np.testing.assert_allclose(weights, np.array([1, 1 / 2, 1 / 3, 1 / 4])[slots], rtol=1e-6)


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
