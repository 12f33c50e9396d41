"""The construction task's training: what is paid and measured, orders and their lag, and runs."""

import numpy as np
import pytest

from papers.sibling_rivalry import train_build
from papers.sibling_rivalry.agents.rollouts import Rollouts
from papers.sibling_rivalry.construction.players import Played
from papers.sibling_rivalry.train_build import Config, Trainer, make_players
from tests.papers.runs import assert_resumes, rows

SMALL = dict(
    env="VoxelBuildSmall", size=4, height=1, sides=(3, 3), max_steps=5, episodes=24, pairs=2, lag=2, log_every=8
)


def small(method="impala-sr", seed=0, **settings):
    return Config(method=method, seed=seed, **(SMALL | settings))


def played_to(task, ends, goals, reached):
    """Episodes of one step each that leave these builds in an arena that was empty."""
    n = len(ends)
    states = np.zeros((n, 3, task.cells + 8), np.uint8)
    states[:, 1, : task.cells] = ends
    rollouts = Rollouts(
        states, np.zeros((n, 2), np.int64), np.array(goals, np.float32), np.array(ends, np.float32),
        np.ones(n, np.int64), np.array(reached),
    )  # fmt: skip
    return Played(0, rollouts, np.zeros((n, 2), np.float32))


def cells(**blocks):
    """A build of 16 cells: a=2 puts material 2 at the first, b at the second, ..."""
    found = np.zeros(16)
    for name, material in blocks.items():
        found[ord(name) - ord("a")] = material
    return found


GOAL = cells(a=1, b=1, c=1, d=1)
PAIR = [cells(a=1, b=1, e=1), cells(a=2)]
"""Ends of two siblings: 3 and 4 cells from the goal, 3 cells apart."""


# ---- what is paid ----------------------------------------------------------------------------------------------------


def test_naive_pays_what_comes_nearer_and_shows_no_anti_goal():
    trainer = Trainer(small("impala"))
    rewards, anti_goals = trainer.rewards(played_to(trainer.task, PAIR, [GOAL] * 2, [False] * 2))
    assert rewards.tolist() == [[1.0, 0.0], [0.0, 0.0]] and anti_goals is None


def test_siblings_are_paid_less_for_what_brings_them_together():
    """First: 4 - 3 to the goal, 1 - 3 to the sibling's end. Second: 4 - 4, 3 - 3."""
    trainer = Trainer(small())
    rewards, anti_goals = trainer.rewards(played_to(trainer.task, PAIR, [GOAL] * 2, [False] * 2))
    assert rewards.tolist() == [[1.0 + 2.0, 0.0], [0.0, 0.0]]
    np.testing.assert_array_equal(anti_goals, PAIR[::-1])


def test_a_sibling_of_success_is_pushed_nowhere_and_success_is_paid():
    trainer = Trainer(small())
    rewards, anti_goals = trainer.rewards(played_to(trainer.task, [GOAL, PAIR[0]], [GOAL] * 2, [True, False]))
    assert rewards.tolist() == [[1.0 + 4.0 - (3.0 - 3.0), 0.0], [0.0, 0.0]]
    np.testing.assert_array_equal(anti_goals, [PAIR[0], GOAL])
    rewards, _ = trainer.rewards(played_to(trainer.task, [GOAL, GOAL], [GOAL] * 2, [True, True]))
    assert rewards.tolist() == [[1.0, 0.0], [1.0, 0.0]]


# ---- what is measured ------------------------------------------------------------------------------------------------


def test_metrics_by_hand():
    """Right and wrong blocks of two episodes; a block that was placed and broken again counts as placed."""
    trainer = Trainer(small("impala"))
    played = played_to(trainer.task, PAIR, [GOAL] * 2, [False, False])
    played.rollouts.states[1, 2] = 0
    played.rollouts.lengths[1] = 2
    played.rollouts.ends[1] = 0
    trainer._log = [
        {"rho": 0.5} | trainer.built(played.rollouts, np.array([[1.0, 2.0], [0.0, -1.0]])),
        {"rho": 0.25} | trainer.built(played_to(trainer.task, [GOAL], [GOAL], [True]).rollouts, np.zeros((1, 2))),
    ]
    found = trainer.metrics()
    expected = {
        "success": 1 / 3, "completion": (0.25 + 0 + 1) / 3, "completion low": 0.125, "completion median": 0.25,
        "completion high": 0.625, "placed": (0.25 + 0.25 + 0.25) / 3, "paid": 2 / 3, "rho": 0.375,
    }  # fmt: skip
    assert found == pytest.approx(expected, abs=1e-5)


# ---- orders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_what_is_learnt_from_was_played_so_many_updates_ago(lag):
    config = small(lag=lag, pairs=1)
    trainer, players, versions = Trainer(config), make_players(config), []
    history = [trainer.learner.policy.weights()]
    for order in trainer.orders:
        players.submit(order)
    for number in range(6):
        order = trainer.orders[0]
        assert order.number == number
        np.testing.assert_array_equal(order.weights, history[order.version])
        versions.append(order.version)
        trainer.update(players)
        history.append(trainer.learner.policy.weights())
        assert not np.array_equal(history[-1], history[-2])
    assert versions == [max(0, number - lag) for number in range(6)]
    assert trainer.metrics()["lag"] == pytest.approx(np.mean(np.arange(6) - versions), abs=1e-5)


def test_without_lag_every_ratio_is_one_and_with_lag_they_move():
    for lag, one in ((0, True), (3, False)):
        config = small(lag=lag, lr=0.05)
        trainer, players = Trainer(config), make_players(config)
        for order in trainer.orders:
            players.submit(order)
        for _ in range(5):
            trainer.update(players)
        assert (trainer.metrics()["rho"] > 0.9999) == one


def test_what_was_played_for_another_order_is_not_learnt_from():
    config = small()
    trainer, players = Trainer(config), make_players(config)
    for order in [*trainer.orders][1:]:
        players.submit(order)
    with pytest.raises(RuntimeError, match="order 0 is due, but 1 was played"):
        trainer.update(players)


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_what_is_logged_and_that_the_last_update_is_played_to_its_end(tmp_path):
    summary = train_build.main(small(episodes=22), tmp_path)
    table = rows(tmp_path)
    names = {
        "success", "completion", "completion low", "completion median", "completion high", "placed", "paid",
        "policy_loss", "value_loss", "entropy", "rho", "lag",
    }  # fmt: skip
    assert {name for _, name, _ in table} == names
    assert {int(step) for step, _, _ in table} == {8, 16, 24}
    assert summary["episodes"] == 24 and set(summary) == {"episodes"} | names


@pytest.mark.parametrize("settings", [dict(method="impala"), dict(picture=(8, 8))])
def test_interrupted_and_resumed_equals_uninterrupted(settings, tmp_path, monkeypatch):
    """Before the first checkpoint and a row after it, with orders under way."""
    assert_resumes(train_build, small(**settings), tmp_path, monkeypatch, kills=[8, 20], saved=16, save_every=2)
