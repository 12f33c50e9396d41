"""Which goals episodes have, and what IBS is told of them."""

import numpy as np
import pytest

from envs.throwing.tasks import Hand
from lab.run.errors import UserError
from lab.run.streams import Streams
from papers.bias_reduced_her.worlds.goals import AFTER, BEFORE, SPREAD, Goals


def goals(kind: str, seed: int = 0) -> Goals:
    return Goals(kind, Hand(), Streams(seed))


def places(found: np.ndarray) -> np.ndarray:
    """In sides of the box, which goes from (0.65, 0.2) to (0.95, 0.5)."""
    return (found - [0.65, 0.2]) / 0.3


def test_uniform_goals_are_left_to_the_task():
    one = goals("uniform")
    assert one.options(np.arange(3)) == {} and not one.move_on(1.0)
    assert one.known.density(np.array([[0.66, 0.3], [0.5, 0.3]])).tolist() == [1, 0]


def test_a_mixture_has_two_heaps_within_the_box():
    found = places(goals("mixture").sample(20_000, np.random.default_rng(0)))
    assert found.min() >= 0 and found.max() <= 1
    upper = found[:, 1] > found[:, 0]
    assert upper.mean() == pytest.approx(0.5, abs=0.02)
    for heap, centre in zip((found[upper], found[~upper]), BEFORE):
        np.testing.assert_allclose(heap.mean(axis=0), centre, atol=0.01)
        np.testing.assert_allclose(heap.std(axis=0), SPREAD, rtol=0.1)


def test_ibs_knows_what_samples_tell():
    """The fitted mixture is near the true one, and not it."""
    one = goals("mixture")
    points = one.low + np.random.default_rng(0).random((100, 2)) * (one.high - one.low)
    true, known = one.mixture.score(points, 0.1), one.known.score(points, 0.1)
    assert 0 < abs(true - known).max() < 0.1 * true.max()


def test_goals_follow_from_the_seeds_alone():
    one, other = goals("mixture"), goals("mixture", seed=1)
    np.testing.assert_array_equal(one.options(np.arange(5))["goal"], other.options(np.arange(5))["goal"])
    assert (one.options(np.arange(5))["goal"] != one.options(np.arange(1, 6))["goal"]).any()


def test_goals_move_once_at_half_of_the_training():
    one = goals("moving")
    before = one.known
    assert [one.move_on(progress) for progress in (0.25, 0.49, 0.5, 0.75, 1.0)] == [False, False, True, False, False]
    assert one.known is not before
    np.testing.assert_allclose(sorted(places(one.mixture.means).tolist()), sorted(map(list, AFTER)))
    assert not goals("mixture").move_on(0.5)


def test_a_task_without_a_box_of_goals_is_refused():
    with pytest.raises(UserError, match="goals moving need a task with two-dimensional goals from a box"):
        Goals("moving", type("Task", (), {"unwrapped": object()})(), Streams(0))
