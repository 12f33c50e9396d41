"""Players in processes of their own: the same numbers as alone, also when one of them dies; on a local Ray."""

import os
import sys
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lab.run.errors import UserError
from papers.sibling_rivalry import train_build
from papers.sibling_rivalry.construction.players import Order
from papers.sibling_rivalry.construction.ray_players import RayPlayers, in_ray
from papers.sibling_rivalry.train_build import Config, make_player, make_players
from tests.papers.runs import assert_refused, rows, weights

CONFIG = Config(
    env="VoxelBuildSmall", size=4, height=1, sides=(3, 3), max_steps=5, episodes=40, pairs=2, lag=3, log_every=8
)


def test_without_ray_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    needs = r"^2 actors need ray: .venv/bin/pip install --group cluster$"
    assert_refused(train_build, Config(**{**vars(CONFIG), "actors": 2}), needs, tmp_path)


def test_who_trains_says_how_many_players_there_are(monkeypatch):
    assert not in_ray() and train_build.ray_actors(CONFIG) == 2
    assert train_build.ray_actors(Config(actors=3)) == 3
    counts = []
    monkeypatch.setattr(train_build, "RayPlayers", lambda make, count: counts.append(count))
    monkeypatch.setattr(train_build, "in_ray", lambda: True)
    make_players(CONFIG)
    assert counts == [2]


class Dies:
    """A player whose process ends over order 4, unless somebody has died over it before."""

    def __init__(self, folder):
        self.player, self.folder = make_player(CONFIG), folder

    def play(self, order):
        mark = self.folder / str(order.number)
        if order.number == 4 and not mark.exists():
            mark.touch()
            os._exit(1)
        return self.player.play(order)


def test_two_actors_train_as_one_process_does_and_a_dead_one_is_replaced(tmp_path, monkeypatch):
    """Metrics and weights are the same to the last digit: nothing is lost, and nothing learnt twice."""
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    train_build.main(CONFIG, tmp_path / "alone")
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        assert in_ray()
        monkeypatch.setattr(train_build, "make_player", lambda config: Dies(tmp_path))
        train_build.main(CONFIG, tmp_path / "ray")
        assert (tmp_path / "4").exists() and ray.is_initialized(), "what was connected before stays so"
    finally:
        ray.shutdown()
    assert rows(tmp_path / "ray") == rows(tmp_path / "alone")
    ours, theirs = weights(tmp_path / "ray"), weights(tmp_path / "alone")
    assert theirs and all(torch.equal(ours[name], theirs[name]) for name in theirs)


class Ray:
    """Stands in for Ray: results are (player, order) as they were sent, and whoever gets an order of `deadly` dies."""

    class exceptions:
        class RayActorError(Exception):
            pass

    def __init__(self, deadly=()):
        self.made, self.deadly = 0, deadly

    def remote(self, make):
        self.made += 1
        name = f"player {self.made}"
        return SimpleNamespace(play=SimpleNamespace(remote=lambda order: (name, order.number)))

    def get(self, result):
        if result[1] in self.deadly:
            raise self.exceptions.RayActorError
        return result


def players_of(fake, count=2):
    players = object.__new__(RayPlayers)
    players.ray, players.actor, players.make, players.waiting = fake, fake, None, deque()
    players.players = [fake.remote(None) for _ in range(count)]
    for number in range(5):
        players.submit(Order(number, 0, np.zeros(1)))
    return players


def test_results_come_in_the_order_of_the_orders_whoever_is_done_first():
    players = players_of(Ray())
    assert [players.next() for _ in range(5)] == [(f"player {1 + number % 2}", number) for number in range(5)]


def test_players_that_die_over_one_order_time_and_again_end_the_run():
    """Those of the other player stay with it."""
    fake = Ray(deadly=(1,))
    players = players_of(fake)
    assert players.next() == ("player 1", 0)
    with pytest.raises(UserError, match=r"^3 players of Ray died one after the other over order 1; see Ray's logs$"):
        players.next()
    assert fake.made == 2 + 3
    assert [result for _, result in players.waiting] == [
        ("player 5", 1), ("player 1", 2), ("player 5", 3), ("player 1", 4)
    ]  # fmt: skip
