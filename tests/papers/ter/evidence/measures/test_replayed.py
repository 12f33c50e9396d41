"""Distances by hand, and that a run that is listened to is the run."""

from types import SimpleNamespace

import numpy as np
import pytest

from papers.ter import train
from papers.ter.evidence.measures import replayed
from papers.ter.evidence.measures.replayed import distances
from papers.ter.replay.memory import TileMemory
from tests.papers.runs import assert_resumes, rows
from tests.papers.ter.test_trainer import TINY, short

__all__ = ["short"]  # a fixture: pytest looks it up here by its name


def test_distances_by_hand():
    """A chain 0 1 2 3 with its goal behind 3, a way around 0 4 3, a trap 5 that ends badly, and 6, which leads back."""
    memory = TileMemory(SimpleNamespace(grid_shape=(1, 1), tiles=np.zeros((9, 1, 1, 3), np.uint8)), 20, None)
    assert np.isinf(distances(memory)).all()
    steps = [(0, 1), (1, 2), (2, 3), (3, 7), (0, 4), (4, 3), (1, 5), (5, 8), (6, 0), (2, 2)]
    for before, after in steps:
        memory.begin(np.array([[before]], np.uint8))
        memory.add(0, {7: 10.0, 8: -10.0}.get(after, -1.0), np.array([[after]], np.uint8), after in (7, 8))
    number = [memory.states.see(np.array([[state]], np.uint8)) for state in range(7)]
    assert distances(memory)[number].tolist() == [3.0, 3.0, 2.0, 1.0, 2.0, np.inf, 4.0]


def test_what_is_measured_by_hand(monkeypatch):
    """Two batches: |TD errors| 3, 1, 2, 2; from states at 1, 4, 1 steps and one without a path."""

    class Deaf:
        def update(self, indices, signals):
            pass

    one = replayed.Trainer(replayed.Config(**TINY))
    one.sampler, one.memory = Deaf(), {"state": np.array([0, 1, 2])}
    monkeypatch.setattr(replayed, "distances", lambda memory: np.array([1.0, 4.0, np.inf]))
    monkeypatch.setattr(train.Trainer, "evaluate", lambda self: {})
    for slots, errors in [([0, 1], [-3.0, 1.0]), ([0, 2], [2.0, -2.0])]:
        chosen = np.array(slots), {"td_error": np.array(errors)}
        monkeypatch.setattr(train.Trainer, "learn", lambda self, chosen=chosen: self.sampler.update(*chosen))
        one.learn()
    assert one.evaluate() == {"td_error": 2.0, "astray": 0.25, "distance": 2.0}
    assert one.evaluate() == {}, "since the last evaluation nothing was replayed"


@pytest.mark.parametrize("method", ["uer", "ter"])
def test_a_run_that_is_listened_to_is_the_run(method, tmp_path, short, monkeypatch):
    settings = TINY | dict(method=method, network="codes", steps=120, epsilon_steps=100, eval_every=40)
    train.main(train.Config(**settings), tmp_path / "plain")
    config = replayed.Config(**settings)
    assert_resumes(replayed, config, tmp_path, monkeypatch, kills=[120], saved=80)
    heard = {tuple(row) for row in rows(tmp_path / "whole")}
    assert {tuple(row) for row in rows(tmp_path / "plain")} < heard
    assert {metric for _, metric, *_ in heard} >= {"td_error", "astray"}
