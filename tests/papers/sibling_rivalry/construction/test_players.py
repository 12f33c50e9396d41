"""Orders and who plays them: siblings, random numbers of their own, and the probabilities that are handed over."""

import numpy as np
import pytest
import torch

from papers.sibling_rivalry.construction.networks import BuildPolicy
from papers.sibling_rivalry.construction.players import Alone, Order, Player
from papers.sibling_rivalry.construction.task import make_build

TASK = make_build("VoxelBuildSmall", size=5, sides=(3, 4), max_steps=9)


def weights(seed=0):
    torch.manual_seed(seed)
    return BuildPolicy(TASK).weights()


def assert_same(one, other):
    assert one.number == other.number
    np.testing.assert_array_equal(one.log_probs, other.log_probs)
    for name, values in vars(one.rollouts).items():
        np.testing.assert_array_equal(values, getattr(other.rollouts, name))


def test_siblings_share_start_and_goal_and_part_ways():
    played = Player(TASK, 20, siblings=True, seed=0).play(Order(0, 0, weights())).rollouts
    assert len(played) == 40
    np.testing.assert_array_equal(played.goals[::2], played.goals[1::2])
    np.testing.assert_array_equal(played.states[::2, 0], played.states[1::2, 0])
    assert (played.actions[::2] != played.actions[1::2]).any(axis=1).all()
    assert len(np.unique(played.goals, axis=0)) > 10
    alone = Player(TASK, 20, siblings=False, seed=0).play(Order(0, 0, weights())).rollouts
    assert (alone.goals[::2] != alone.goals[1::2]).any(axis=1).mean() > 0.8


def test_an_order_is_played_the_same_by_anybody_at_any_time():
    one, other = Player(TASK, 3, True, seed=4), Player(TASK, 3, True, seed=4)
    first = one.play(Order(5, 0, weights()))
    other.play(Order(7, 0, weights(1)))
    assert_same(first, other.play(Order(5, 0, weights())))
    for order, seed in ((Order(6, 0, weights()), 4), (Order(5, 0, weights()), 3), (Order(5, 0, weights(1)), 4)):
        again = Player(TASK, 3, True, seed=seed).play(order).rollouts
        assert not np.array_equal(again.actions, first.rollouts.actions)


def test_the_probabilities_are_those_of_the_policy_that_played(monkeypatch):
    """Also where episodes end early: the rows of the others move up."""
    player, rng = Player(TASK, 6, True, seed=0), np.random.default_rng(0)
    monkeypatch.setattr(TASK, "success", lambda achieved, goals: rng.random(len(goals)) < 0.1)
    played = player.play(Order(0, 0, weights()))
    rollouts = played.rollouts
    assert rollouts.lengths.min() < 9 and rollouts.reached.any() and not rollouts.reached.all()
    policy = BuildPolicy(TASK)
    policy.load(weights())
    for i, length in enumerate(rollouts.lengths):
        seen = torch.from_numpy(TASK.observe(rollouts.states[i, :length]))
        goals = torch.from_numpy(rollouts.goals[[i] * length])
        with torch.no_grad():
            log_probs = policy.log_probs(seen, goals, None).numpy()
        np.testing.assert_allclose(
            played.log_probs[i, :length], log_probs[np.arange(length), rollouts.actions[i, :length]], atol=1e-5
        )
        assert not played.log_probs[i, length:].any()


def test_alone_one_plays_in_the_order_of_the_orders():
    players = Alone(Player(TASK, 1, True, seed=0))
    for number in (3, 4, 5):
        players.submit(Order(number, 0, weights()))
    assert [players.next().number for _ in range(3)] == [3, 4, 5]
    with pytest.raises(IndexError):
        players.next()
