"""The training script of Sokoban: methods, pictures, ends and time-outs, levels, metrics, settings, learning."""

from typing import Any

import numpy as np
import pytest
import torch

from envs.sokoban import levels
from envs.sokoban.game import MAX_STEPS, Sokoban
from envs.sokoban.levels import parse
from papers.ter import train_sokoban
from papers.ter.agents.settings import METHODS
from papers.ter.train_sokoban import TASKS, Config, Trainer, main
from tests.papers.runs import assert_refused, assert_resumes, rows
from tests.papers.ter.test_trainer import evaluated, play

TINY: dict[str, Any] = dict(
    env="5x5-1", steps=120, capacity=80, warmup=32, batch_size=16, epsilon_steps=100, target_interval=30,
    eval_every=40, eval_episodes=2, pixels=40,
)  # fmt: skip
CORNER = """
#####
# $.#
#   #
#@  #
#####
"""
"""Twice up, then right: no single action solves it."""


def config(**settings) -> Config:
    return Config(**(TINY | settings))


def trainer(**settings) -> Trainer:
    return Trainer(config(**settings))


@pytest.fixture
def short(monkeypatch):
    """Levels end after 30 steps."""
    init = Sokoban.__init__
    monkeypatch.setattr(Sokoban, "__init__", lambda self, *args, **kw: init(self, *args, **(kw | {"max_steps": 30})))


@pytest.fixture
def easy(short, monkeypatch):
    """Every level is the one above; as before, it ends after 30 steps."""
    monkeypatch.setattr(levels, "generate", lambda *_: parse(CORNER))


# --- whole runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_interrupted_and_resumed_equals_uninterrupted(method, tmp_path, monkeypatch, short):
    """Also shows that every method runs, and that a seed gives one result."""
    settings = config(method=method, capacity=60)
    summary = assert_resumes(train_sokoban, settings, tmp_path, monkeypatch, kills=[120], saved=80)
    metrics = {"return", "normalized_return", "success", "q_overestimation", "loss"}
    metrics |= {"ter": {"vertices", "fallbacks"}, "discor": {"tau"}}.get(method, set())
    assert set(summary) == metrics | {"steps"} and summary["steps"] == 120
    found = rows(tmp_path / "whole")
    assert {row[0] for row in found} == {"0", "40", "80", "120"} and {row[1] for row in found} == metrics
    assert all(np.isfinite(value) for value in summary.values())


# --- what is stored ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pixels", [84, 40])
@pytest.mark.parametrize("env", TASKS)
def test_the_network_sees_the_environments_picture(env, pixels):
    """Pixel for pixel, whatever the codes of the cells."""
    one = trainer(env=env, method="uer", pixels=pixels)
    size, _ = TASKS[env]
    codes = np.random.default_rng(0).integers(7, size=(3, size, size), dtype=np.uint8)
    drawn = one.memory.draw(codes)
    assert one.world.env.observation_space.shape == (pixels, pixels, 3)
    assert drawn.dtype == torch.float32 and drawn.shape == (3, 3, pixels, pixels)
    env = one.world.env
    for picture, env._codes in zip(drawn, codes):
        assert torch.equal(picture, torch.from_numpy(env._observe()).permute(2, 0, 1).float() / 255)


@pytest.mark.parametrize("timeout_is_done", [False, True])
def test_what_is_stored_is_what_happened(timeout_is_done, easy):
    """Solved levels end the task; a time-out is bootstrapped, unless the setting says otherwise."""
    one = trainer(method="uer", capacity=1000, epsilon_end=1.0, epsilon_steps=1, timeout_is_done=timeout_is_done)
    log = play(one, 300)
    indices = np.random.default_rng(0).permutation(300)
    batch = one.memory.batch(indices)
    frame, action, reward, following, solved, out_of_time = (np.stack(x) for x in zip(*(log[i] for i in indices)))
    assert 3 <= solved.sum() and 1 <= out_of_time.sum() and not (solved & out_of_time).any()
    for ours, theirs in ((batch.frame, frame), (batch.next_frame, following)):
        assert torch.equal(ours, torch.from_numpy(theirs).permute(0, 3, 1, 2).float() / 255)
    assert batch.action.tolist() == action.tolist() and set(action.tolist()) == set(range(8))
    assert batch.reward.tolist() == reward.astype(np.float32).tolist()
    assert batch.absorbing.tolist() == (solved | (out_of_time & timeout_is_done)).astype(float).tolist()
    np.testing.assert_allclose(reward[solved], -0.1 + 1 + 10)


# --- levels and evaluation --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env", TASKS)
def test_evaluation_plays_the_task_of_training(env):
    size, boxes = TASKS[env]
    assert env == f"{size}x{size}-{boxes}"
    one = trainer(env=env, method="uer")
    for world in (one.world.env, one.world.make_env(training=False)):
        assert (world.grid_shape, world.boxes, world.max_steps, world.action_space.n) == ((size, size), boxes, 120, 8)
    assert MAX_STEPS == 120


@pytest.mark.parametrize(("env", "largest"), [("5x5-1", 11), ("7x7-2", 12), ("6x6-3", 13)])
def test_metrics_by_hand(env, largest, monkeypatch):
    """Returns between -(10 + boxes) and 10 + boxes are normalised; Q is compared with the upper end."""
    one = trainer(env=env, method="uer")
    assert one.world.return_range() == (-largest, largest)
    monkeypatch.setattr(one.world, "play", lambda *_: (np.array([largest, 0.0]), np.array([True, False])))
    one.recorded = {"q": [2.0 * largest, 4.0 * largest], "loss": [1.0, 2.0]}
    assert one.evaluate() == {
        "return": largest / 2, "normalized_return": 0.75, "success": 0.5, "q_overestimation": 2.0, "loss": 1.5,
    }  # fmt: skip


# --- settings ---------------------------------------------------------------------------------------------------------


def test_the_smallest_picture_runs_and_a_smaller_one_is_refused(tmp_path, short):
    words = "pixels must be at least 36, which the convolutions need, not 35"
    assert_refused(train_sokoban, config(pixels=35), words, tmp_path)
    assert main(config(pixels=36, steps=40), tmp_path / "run")["steps"] == 40


def play_once(one):
    return evaluated(one, [1])


# --- learning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", ["nature", "codes"])
def test_one_level_is_learnt(network, easy):
    """An untrained network does not solve it, after 1200 steps of TER it does, in three steps."""
    one = trainer(
        method="ter", steps=1200, capacity=1200, warmup=100, epsilon_steps=300, epsilon_end=0.2, target_interval=50,
        eval_noise=0.0, eval_episodes=1, lr=1e-3, gamma=0.9, network=network, scale_output=True,
    )  # fmt: skip
    assert play_once(one)[1].tolist() == [False]
    while one.step < 1200:
        one.interact()
        if one.step >= 100 and one.step % 4 == 0:
            one.learn()
        if one.step % 50 == 0:
            one.sync()
    returns, successes = play_once(one)
    assert successes.tolist() == [True] and returns[0] == pytest.approx(10.7)
