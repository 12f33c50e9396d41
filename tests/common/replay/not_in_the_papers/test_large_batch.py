"""LaBER: what is drawn from the large batch, and that its weights undo it."""

import numpy as np
import pytest
from scipy.stats import chisquare

from common.replay.not_in_the_papers.large_batch import TINY, LaBER


def laber(stored: int, errors, **settings) -> LaBER:
    sampler = LaBER(np.random.default_rng(0), errors, **settings)
    sampler.add(stored - 1)
    return sampler


def test_in_proportion_to_the_errors_of_the_large_batch():
    counts, places = np.zeros(8), np.arange(8)
    seen: list[np.ndarray] = []

    def errors(slots):  # whatever is in the large batch, its k-th member has the error k
        seen.append(slots)
        return np.where(places % 2, -1.0, 1.0) * places

    sampler = laber(10**9, errors, factor=4)  # so many that no slot comes twice
    for _ in range(4_000):
        slots, weights, _ = sampler.sample(2)
        drawn = [int(np.flatnonzero(seen[-1] == slot)[0]) for slot in slots]
        np.add.at(counts, drawn, 1)
        np.testing.assert_allclose(weights, 3.5 / np.array(drawn), rtol=1e-4)
    assert counts[0] == 0 and chisquare(counts[1:], 8_000 * places[1:] / 28).pvalue > 0.01


def test_weighted_means_are_those_of_the_memory():
    values = np.linspace(-3.0, 5.0, 50) ** 2
    sampler = laber(50, lambda slots: values[slots] + 0.5, factor=4)
    draws = [sampler.sample(32) for _ in range(3_000)]
    assert np.mean([np.mean(weights * slots) for slots, weights, _ in draws]) == pytest.approx(24.5, abs=0.5)
    assert np.mean([slots.mean() for slots, _, _ in draws]) > 27  # without the weights


def test_the_gradient_of_a_huber_loss_grows_no_further():
    sampler = laber(2, lambda slots: np.where(slots == 0, 1.0, 1000.0), factor=64, clip=1.0)
    assert np.allclose(sampler.sample(8).weights, 1.0)


def test_errors_of_zero_leave_a_uniform_draw():
    slots, weights, targets = laber(5, lambda slots: np.zeros(len(slots))).sample(100)
    assert (weights == 1).all() and set(slots) == {*range(5)} and targets is None and TINY > 0
