"""Players in processes of their own: the same numbers as alone, also when one of them dies; on a local Ray."""

import os
import sys
import time

import numpy as np
import pytest

from lab.errors import UserError
from papers.sibling_rivalry import build
from papers.sibling_rivalry.build import Config, Trainer, make_player, make_players
from papers.sibling_rivalry.ray_players import RayPlayers, in_ray
from tests.papers.runs import rows, weights

CONFIG = Config(
    env="VoxelBuildSmall", size=4, height=1, sides=(3, 3), max_steps=5, episodes=40, pairs=2, lag=3, log_every=8
)


def test_without_ray_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"^2 actors need ray: pip install -r requirements-cluster.txt$"):
        build.main(Config(**{**vars(CONFIG), "actors": 2}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_who_trains_says_how_many_players_there_are(monkeypatch):
    assert not in_ray() and build.ray_actors(CONFIG) == 2
    assert build.ray_actors(Config(actors=3)) == 3
    counts = []
    monkeypatch.setattr(build, "RayPlayers", lambda make, count: counts.append(count))
    monkeypatch.setattr(build, "in_ray", lambda: True)
    make_players(CONFIG)
    assert counts == [2]


class Dies:
    """A player whose process ends over an order, unless somebody has died over it before."""

    def __init__(self, folder):
        self.player, self.folder = make_player(CONFIG), folder

    def play(self, order):
        mark = self.folder / f"{order.number}-{time.monotonic_ns()}"
        died = len(list(self.folder.glob(f"{order.number}-*")))
        mark.touch()
        if (order.number == 4 and died < 1) or order.number == 9:
            os._exit(1)
        return self.player.play(order)


def test_two_actors_train_as_one_process_does_and_a_dead_one_is_replaced(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        build.main(CONFIG, tmp_path / "ray")
        with monkeypatch.context() as patch:
            patch.setattr(build, "in_ray", lambda: False)
            build.main(CONFIG, tmp_path / "alone")
        assert rows(tmp_path / "ray") == rows(tmp_path / "alone")
        ours, theirs = weights(tmp_path / "ray"), weights(tmp_path / "alone")
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)

        marks = tmp_path / "marks"
        marks.mkdir()
        trainer, alone = Trainer(CONFIG), make_player(CONFIG)
        players = RayPlayers(lambda: Dies(marks), 2)
        learnt = []
        for order in trainer.orders:
            players.submit(order)
        for number in range(9):
            order = trainer.orders[0]
            trainer.learner.learn = lambda played, rewards, anti: learnt.append(played) or {}
            trainer.update(players)
            expected = alone.play(order)
            assert learnt[-1].number == number
            np.testing.assert_array_equal(learnt[-1].rollouts.states, expected.rollouts.states)
            np.testing.assert_array_equal(learnt[-1].log_probs, expected.log_probs)
        assert len(list(marks.glob("4-*"))) == 2 and len(learnt) == 9
        with pytest.raises(UserError, match="3 players of Ray died one after the other over order 9"):
            trainer.update(players)
        players.close()
        assert ray.is_initialized(), "what was connected before stays so"
    finally:
        ray.shutdown()
