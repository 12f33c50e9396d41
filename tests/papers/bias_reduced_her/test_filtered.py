"""Which virtual transitions mislead, on episodes whose answer can be seen."""

import numpy as np
import pytest

from envs.throwing.tasks import Hand
from papers.bias_reduced_her.filtered import misleading

REWARD = Hand(tolerance=0.04).compute_reward


def pairs(places: list, reward=REWARD) -> set[tuple[int, int]]:
    """All (t, u) for which the transition from state t with the goal of state u > t misleads."""
    achieved = np.array(places, np.float32)
    steps, goals = np.triu_indices(len(achieved), k=1)
    found = misleading(achieved[steps], achieved[goals], reward)
    assert found.dtype == np.bool_ and found.shape == steps.shape
    return set(zip(steps[found].tolist(), goals[found].tolist()))


@pytest.mark.parametrize(("places", "expected"), [
    # States 0 to 3 are one place: nothing done there earns that place. What moves it afterwards does count.
    ([(0.1, 0.0)] * 4 + [(0.2, 0.1), (0.3, 0.2), (0.3, 0.2)],
     {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (5, 6)}),
    # Throwing it up to catch it again teaches nothing about the first state, but about the states between.
    ([(0.1, 0.1), (0.1, 0.3), (0.1, 0.5), (0.1, 0.1)], {(0, 3)}),
    ([(0.1 * t, 0.05 * t) for t in range(8)], set()),
    # 0.03 per step and a tolerance of 0.04: the next place is already reached, the one after it is not.
    ([(0.03 * t, 0.0) for t in range(5)], {(0, 1), (1, 2), (2, 3), (3, 4)}),
], ids=["three steps without a move", "comes back", "always moves far enough", "creeps"])  # fmt: skip
def test_which_transitions_mislead(places, expected):
    assert pairs(places) == expected


@pytest.mark.parametrize(("distance", "expected"), [(0.0, True), (0.249, True), (0.25, False), (0.251, False)])
def test_success_is_what_the_environment_calls_success(distance, expected):
    """Powers of two, so that the edge itself is exact; the environment's success lies strictly within."""
    reward = Hand(tolerance=0.25).compute_reward
    found = misleading(np.array([[0.5, 0.25]]), np.array([[0.5 + distance, 0.25]]), reward)
    assert found.tolist() == [expected]


def test_no_transitions():
    assert misleading(np.empty((0, 2)), np.empty((0, 2)), REWARD).shape == (0,)
