"""HER's own protocol and the Fetch tasks: settings as published, what is stored and measured, resuming, bad input."""

import dataclasses
import sys

import numpy as np
import pytest

from envs.fetch import FetchVector
from papers.bias_reduced_her import train, train_fetch
from papers.bias_reduced_her.agents.fast_plain_ddpg import FastPlainDDPG
from papers.bias_reduced_her.filtered import misleading
from papers.bias_reduced_her.train_fetch import Config, Trainer, main
from papers.bias_reduced_her.worlds import measure
from papers.bias_reduced_her.worlds.measure import Episode
from tests.papers.runs import assert_refused, assert_resumes, rows

pytest.importorskip("gymnasium_robotics")
TINY = dict(epochs=2, cycles=2, episodes=3, updates=3, batch_size=32, capacity=5_000, eval_episodes=4)


def config(**settings) -> Config:
    return Config(**(TINY | settings))


def test_settings_as_published():
    """Of openai/baselines; what is not here has the same value in both protocols."""
    c = Config()
    assert (c.batch_size, c.lr, c.gamma, c.tau, c.action_penalty) == (256, 1e-3, 0.98, 0.05, 1.0)
    assert (c.cycles, c.updates, c.k, c.networks, c.clip, c.per_alpha) == (50, 40, 4, "her", np.inf, 0.0)
    assert (c.random_actions, 2 * c.noise, c.epsilon, c.epsilon_decay, c.end_at_success) == (0.3, 0.2, 1, 1, False)
    changed = {f.name for f in dataclasses.fields(c) if getattr(c, f.name) != getattr(train.Config(), f.name)}
    assert changed == {
        "env", "method", "epochs", "batch_size", "capacity", "networks", "clip", "action_penalty", "epsilon_decay",
        "random_actions", "noise", "end_at_success", "per_alpha", "eval_episodes", "eval_every",
    }  # fmt: skip


def test_a_run_and_what_it_logs(tmp_path):
    summary = main(config(), tmp_path)
    assert set(summary) == {"episodes", "success", "distance", "q_estimate", "return", "solved", "misleading"}
    assert summary["episodes"] == 12 and summary["misleading"] > 0.8
    assert [row[0] for row in rows(tmp_path) if row[1] == "success"] == ["6", "12"]
    assert ["12", "env_steps", "600.0"] in rows(tmp_path)


@pytest.mark.parametrize("settings", [{}, dict(method="filtered-her", end_at_success=True), dict(method="none")])
def test_interrupted_and_resumed_equals_uninterrupted(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(train, "SAVE_EVERY", 1)
    assert_resumes(train_fetch, config(**settings), tmp_path, monkeypatch, kills=[9], saved=6)


def test_every_step_is_kept_with_its_virtual_goals():
    """1 + 4 of each for HER; the filter keeps those that do not mislead, and thinning as many."""
    stored = {}
    for method in ("none", "her", "filtered-her", "her-thinned"):
        one = Trainer(config(env="FetchReach", method=method, episodes=1))
        assert isinstance(one.worlds, FetchVector) and type(one.agent) is FastPlainDDPG
        for e in one.play(one.worlds, np.arange(1), one.explore):
            one.store(e, *one.hindsight(e.achieved))
        stored[method] = len(one.memory)
        drawn, wrong = one.hindsight.count()
        assert drawn == (0 if method == "none" else 200) and one.hindsight.count() == (0, 0)
        assert stored[method] == 50 + (drawn if method == "her" else drawn - wrong)
        assert not one.memory["terminal"][:].any()  # bootstrapped through every success
    assert stored["none"] < stored["filtered-her"] == stored["her-thinned"] < stored["her"]


def test_a_goal_misleads_where_the_object_lies_on_it_already():
    """A resting object: every goal but those after it moved by 5 cm."""
    one = Trainer(config(env="FetchPush"))
    achieved = np.zeros((6, 3))
    achieved[3:, 0] = 0.06
    found = misleading(np.repeat(achieved[[0, 2]], 6, axis=0), np.tile(achieved, (2, 1)), one.reward)
    assert found.tolist() == 2 * [True, True, True, False, False, False]


def test_solved_leaves_out_what_is_solved_at_the_start(monkeypatch):
    one = Trainer(config(method="none"))

    def episode(start: float, end: float) -> Episode:
        achieved = np.array([[start, 0, 0], [end, 0, 0]])
        rewards = one.reward(achieved[1:], np.zeros((1, 3)), None)
        return Episode(np.zeros((2, 25)), achieved, np.zeros(3), np.zeros((1, 4)), rewards, False)

    found = measure.of_fetch(one, [episode(0.0, 0.0), episode(1.0, 0.0), episode(1.0, 1.0), episode(1.0, 0.9)])
    assert found == {"solved": 0.33333}
    assert measure.of_fetch(one, [episode(0.0, 0.0)]) == {"solved": 0.0}


def test_success_ends_an_episode_where_it_is_asked_to():
    one = Trainer(config(env="FetchReach", end_at_success=True, episodes=16))
    played = one.play(one.worlds, np.arange(16), one.explore)
    short = [e for e in played if len(e.actions) < 50]
    assert short and all(e.terminated and e.rewards[-1] == 0 and (e.rewards[:-1] < 0).all() for e in short)


@pytest.mark.parametrize(("settings", "message"), [
    (dict(env="FetchPsuh"), "unknown env 'FetchPsuh' .*; choose from: Hand, .*, FetchSlide or an installed id"),
    (dict(env="FetchPush-v9"), "unknown env 'FetchPush-v9' .*v4"),
    (dict(env="FetchPush-v1"), "unknown env 'FetchPush-v1' "),
    (dict(method="her-ibs"), "her-ibs needs a task with two-dimensional goals"),
])  # fmt: skip
def test_settings_that_cannot_work_are_named(settings, message, tmp_path):
    assert_refused(train_fetch, config(**settings), message, tmp_path)


@pytest.mark.parametrize("script", [train, train_fetch])
def test_without_the_package_one_line_says_what_to_install(script, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    words = "^the Fetch tasks need gymnasium-robotics==1.4.2: pip install gymnasium-robotics==1.4.2$"
    assert_refused(script, script.Config(env="FetchPush"), words, tmp_path)


def test_reaching_is_learned_in_hindsight():
    """FetchReach, 8,000 steps: hindsight alone learns it so fast (three seeds: 0.5 to 0.85 against 0 to 0.1)."""
    success = {}
    for method in ("her", "none"):
        one = Trainer(Config(env="FetchReach", method=method, seed=2, capacity=50_000, eval_episodes=20))
        for _ in range(10):
            one.cycle()
        success[method] = one.evaluate()["success"]
    assert success["her"] >= 0.5 and success["none"] <= 0.25
