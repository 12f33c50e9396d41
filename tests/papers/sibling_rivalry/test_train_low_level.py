"""The low level alone: subgoals by chance, metrics, resuming, bad settings, and that the ant learns to move."""

import math

import numpy as np
import pytest
import torch

from papers.sibling_rivalry import train_low_level
from papers.sibling_rivalry.agents.hierarchy import Hierarchy
from papers.sibling_rivalry.train_low_level import Config, Trainer
from tests.papers.runs import assert_refused, assert_resumes, rows
from tests.papers.sibling_rivalry.fake_tasks import Plane

TINY = dict(updates=4, episodes=3, eval_every=2, eval_episodes=4)


@pytest.fixture
def levels(monkeypatch):
    monkeypatch.setattr(train_low_level, "make_task", lambda name: Hierarchy(Plane(max_steps=24), 0.5, 6))


def test_interrupted_and_resumed_equals_uninterrupted(levels, tmp_path, monkeypatch):
    """Stopped in the last update, with a checkpoint of the second. One seed, one result."""
    config = Config(**TINY)
    summary = assert_resumes(train_low_level, config, tmp_path, monkeypatch, kills=[288], saved=144, save_every=1)
    assert set(summary) == {"steps", "success", "distance", "before"} and summary["steps"] == 4 * 3 * 24
    assert [step for step, metric, _ in rows(tmp_path / "whole") if metric == "success"] == ["0", "144", "288"]


def test_metrics_by_hand(levels, monkeypatch):
    """An ant that stays where it is: as far from its subgoals in the end as when they were set. Subgoals lie anywhere
    within reach, and no episode ends early."""
    one = Trainer(Config(**TINY | dict(eval_episodes=2_000)))
    monkeypatch.setattr(one.task.low.ppo, "act", lambda seen, *_: np.zeros((len(seen), 2), np.float32))
    metrics = one.evaluate()
    mean = (math.sqrt(2) + math.asinh(1)) / 3  # from a corner of the unit square to a point in it
    assert metrics["distance"] == metrics["before"] == pytest.approx(0.5 * mean, abs=0.01)
    assert metrics["success"] == pytest.approx(math.pi * 0.3**2, abs=0.02)
    before = one.rng.bit_generator.state
    assert one.evaluate() == metrics and one.rng.bit_generator.state == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(env="PointMaze"), "PointMaze has no low level; choose from: AntArena, AntMaze, AntMazeSmall"),
        (dict(env="Ant"), "unknown env 'Ant'; choose from: PointMaze, "),
    ],
)
def test_settings_that_cannot_work_are_named_and_leave_no_directory(settings, message, tmp_path):
    assert_refused(train_low_level, Config(**settings), message, tmp_path)


def test_the_ants_levels_run(tmp_path):
    one = Trainer(Config(updates=1, episodes=1))
    assert (one.task.max_steps, one.task.interval, one.task.world.name) == (20, 20, "arena")
    first = torch.cat([p.flatten() for p in one.task.low.ppo.policy.parameters()])
    entry = one.update()
    assert one.steps == 400 and entry["subgoal_distance"] > 1
    assert not torch.equal(first, torch.cat([p.flatten() for p in one.task.low.ppo.policy.parameters()]))
