"""IER: pivots by surprise, and the steps before them, through overwriting and several environments."""

import numpy as np
import pytest

from common.replay.not_in_the_papers.introspective import IER
from common.replay.protocol import Step


def filled(envs: list[int], capacity: int = 100, **settings) -> IER:
    """A sampler with one step per entry, and `surprised` to say what their TD errors are."""
    sampler = IER(capacity, np.random.default_rng(0), lambda slots: np.zeros(len(slots)), **settings)
    for number, env in enumerate(envs):
        sampler.add(number % capacity, Step(0, 0, 0.0, 0, number % 3 == 2, False, env))
    return sampler


def surprised(sampler: IER, sizes: list[float]) -> None:
    sampler.errors = lambda slots: np.array(sizes)[slots]


def test_batches_end_at_the_most_surprising_transitions_in_their_order():
    sampler = filled([0] * 8, pivots=2)
    surprised(sampler, [0.1, 0.2, 0.3, 0.4, 0.5, -9.0, 0.7, 0.8])
    assert sampler.sample(3).indices.tolist() == [5, 4, 3]
    surprised(sampler, [0.1, 0.2, 0.3, 8.0, 0.5, 0.0, 0.7, 0.8])
    assert sampler.sample(2).indices.tolist() == [7, 6]  # chosen with the first
    assert sampler.sample(4).indices.tolist() == [3, 2, 1, 0]  # new pivots


def test_it_does_not_turn_into_replay_of_the_newest():
    """Of TD errors that stay what they are, the largest are found wherever they lie, with a new step per batch."""
    sampler, size = filled([0] * 500, capacity=2_000, pivots=8), np.random.default_rng(1).random(2_000)
    surprised(sampler, size.tolist())
    ages = []
    for number in range(500, 2_000):
        sampler.add(number, Step(0, 0, 0.0, 0, False, False))
        ages.append(number - sampler.sample(4).indices.mean())
    largest = np.argsort(-size)[:8]
    assert np.mean(ages[-200:]) > 500
    sampler._waiting.clear()
    assert {int(sampler.sample(1).indices[0]) for _ in range(8)} == {*largest.tolist()}


def test_pivots_are_chosen_among_all_or_among_candidates():
    sampler = filled([0] * 3_000, capacity=3_000, pivots=2)
    surprised(sampler, [*range(3_000)])  # more than are asked for at a time
    assert sampler.surprising().tolist() == [2_998, 2_999]
    sampler.candidates = 100
    found = np.concatenate([sampler.surprising() for _ in range(300)])
    # the largest of 100 of 3,000 is 2,970 on average, the next one 2,941
    assert found[1::2].mean() == pytest.approx(2_970, abs=6) and found[::2].mean() == pytest.approx(2_941, abs=8)
    with pytest.raises(ValueError, match="64 pivots cannot be chosen among 63 candidates"):
        filled([0], candidates=63)


def test_environments_side_by_side_are_not_mixed_up():
    sampler = filled([0, 1, 0, 1, 1, 0, 1], pivots=1)
    surprised(sampler, [0, 0, 0, 0, 0, 0, 5.0])
    assert sampler.sample(4).indices.tolist() == [6, 4, 3, 1]
    surprised(sampler, [0, 0, 0, 0, 0, 5.0, 0])
    assert sampler.sample(3).indices.tolist() == [5, 2, 0]


def test_what_was_overwritten_is_not_looked_back_at():
    sampler = filled([0] * 6, capacity=4, pivots=1)  # slots hold the steps 4, 5, 2, 3
    assert sampler.back_from(1, 9).tolist() == [1, 0, 3, 2]
    surprised(sampler, [0.0, 0.0, 0.0, 3.0])
    slots = sampler.sample(6).indices
    assert slots[:2].tolist() == [3, 2] and len(slots) == 6 and slots.max() < 4  # filled up


def test_a_pivot_that_is_overwritten_before_its_turn_is_dropped():
    sampler = filled([0] * 4, capacity=4, pivots=3)
    surprised(sampler, [5.0, 1.0, 2.0, 9.0])
    assert sampler.sample(1).indices.tolist() == [3]
    sampler.add(0, Step(0, 0, 0.0, 0, False, False))  # was the next pivot
    assert sampler.sample(1).indices.tolist() == [2]
    assert sampler.back_from(0, 3).tolist() == [0, 3, 2]


def test_a_share_of_batches_is_uniform():
    sampler = filled([0] * 50, pivots=1, uniform=0.25)
    surprised(sampler, [0.0] * 49 + [1.0])
    looked_back = [sampler.sample(2).indices.tolist() == [49, 48] for _ in range(2_000)]
    assert np.mean(looked_back) == pytest.approx(0.75, abs=0.04)


def test_there_must_be_something():
    with pytest.raises(ValueError, match="no transition has been added"):
        filled([]).sample(1)
    with pytest.raises(ValueError, match="at least 1 pivot"):
        filled([0], pivots=0)
