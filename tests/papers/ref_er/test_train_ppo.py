"""The script for PPO: warm-up, rollouts over several episodes, what it reports, resuming, bad settings, learning."""

import numpy as np
import pytest
import torch

from papers.ref_er import train_ppo
from papers.ref_er.agents import progress
from papers.ref_er.memory.episode import CUT, TERMINATED
from papers.ref_er.train_ppo import Config, Trainer, main
from tests.papers.runs import assert_goes_on, assert_refused, rows, weights

pytestmark = pytest.mark.usefixtures("counter")


TINY = dict(env="testsCounter-v0", steps=80, bins=10, warmup=20, rollout=16, batch_size=8, epochs=2, hidden=8)


def config(**changes) -> Config:
    return Config(**(TINY | changes))


# --- a trainer -------------------------------------------------------------------------------------------------------


def test_warm_up_fixes_the_units_of_states_and_teaches_nothing():
    one = Trainer(config(warmup=3000))
    before = {name: value.clone() for name, value in one.agent.weights()["policy"].items()}
    one.warm_up()
    assert one.mean[1] == pytest.approx(5, abs=0.1) and one.inverse_std[1] == pytest.approx(1, abs=0.05)
    assert 2 < one.mean[0] < 3.5
    assert one.t == one.k == one.rollout.n == 0 and not one.player.episode.states
    assert all(torch.equal(before[name], value) for name, value in one.agent.weights()["policy"].items())
    one.play()
    state = one.rollout.states[0]
    assert state[0] == pytest.approx(-one.mean[0] * one.inverse_std[0], rel=1e-5)  # step 0, in these units
    mean = one.mean.copy()
    for _ in range(15):
        one.play()
    one.learn()
    np.testing.assert_array_equal(one.mean, mean)  # they stay
    assert "return" not in Trainer.metrics(fresh := Trainer(config())) and fresh.bins_done == 1


def test_every_setting_reaches_its_place():
    one = Trainer(config(lr=0.01, value_lr=0.02, gamma=0.9, lam=0.8, clip=0.3, variance=0.04, epochs=3, hidden=9))
    agent = one.agent
    assert (agent.lr, agent.value_lr, agent.gamma, agent.lam, agent.clip) == (0.01, 0.02, 0.9, 0.8, 0.3)
    assert (agent.epochs, agent.batch_size, len(one.rollout)) == (3, 8, 16) and agent.std == pytest.approx([0.2, 0.2])
    assert [len(bias) for bias in list(agent.policy.parameters())[1::2]] == [9, 9, 2]
    assert {it.param_groups[0]["eps"] for it in (agent.optimizer, agent.value_optimizer)} == {1.2e-7}


def test_a_rollout_goes_over_ends_and_the_next_one_goes_on_where_it_stopped():
    one, overs = Trainer(config()), []
    one.warm_up()
    for _ in range(16):
        overs.append(one.play())
    rollout, t = one.rollout, one.t
    assert rollout.full and t == 16
    numbers = np.rint(rollout.states / one.inverse_std + one.mean)[:, 0]
    reached = np.rint(rollout.following / one.inverse_std + one.mean)[:, 0]
    np.testing.assert_array_equal(reached, numbers + 1)
    np.testing.assert_array_equal(rollout.rewards, numbers + 1)
    np.testing.assert_array_equal(rollout.ends != 0, overs)
    for end, number in zip(rollout.ends[rollout.ends != 0], reached[rollout.ends != 0]):
        assert (end, number) in ((TERMINATED, 4), (CUT, 7))
    assert {TERMINATED, CUT} <= set(rollout.ends)
    played, last = len(one.player.episode), reached[-1] if not overs[-1] else 0
    one.learn()
    assert one.rollout.n == 0 and one.k == 4 and len(one.player.episode) == played
    one.play()
    assert one.rollout.states[0, 0] / one.inverse_std[0] + one.mean[0] == pytest.approx(last, abs=1e-4)


def test_metrics_are_of_what_happened_since_the_last_time():
    one = Trainer(config(rollout=20, epochs=1, batch_size=20))
    one.warm_up()
    while one.rollout.n < 20:
        one.play()
    first = one.metrics()
    returns = {10.0, 28.0}  # 1 + 2 + 3 + 4, and up to 7
    assert first["episodes"] >= 2 and first["gradient_steps"] == 0 and {"kl", "td_error"}.isdisjoint(first)
    assert first["return p0"] in returns and first["return p100"] in returns
    advantages, _ = one.agent.estimate(one.rollout)
    one.learn()
    second = one.metrics()
    assert second["td_error"] == pytest.approx(np.sqrt(np.mean(advantages**2)), rel=1e-5)
    assert second["episodes"] == 0 and second["gradient_steps"] == 1 and second["kl"] > 0
    assert second["std"] == pytest.approx(one.agent.std.mean())
    assert {"kl", "td_error"}.isdisjoint(one.metrics())


def test_learning_rate_falls_with_time():
    one = Trainer(config(annealing=0.25, lr=1e-3))
    one.warm_up()
    for _ in range(16):
        one.play()
    one.learn()
    assert one.agent.optimizer.param_groups[0]["lr"] == pytest.approx(1e-3 / (1 + 0.25 * 16))


# --- whole runs ------------------------------------------------------------------------------------------------------


def test_interrupted_and_resumed_equals_uninterrupted(tmp_path, monkeypatch):
    """Stopped with a checkpoint in the middle of a rollout. Also: one seed, one result."""
    monkeypatch.setattr(progress, "SAVE_EVERY", 1)
    played = assert_goes_on(
        train_ppo, config(), tmp_path, monkeypatch, "play", lambda one: one.t == 61, lambda one: (one.t, one.rollout.n)
    )
    first, kept = played[0]
    assert 40 < first < 61 and [t for t, _ in played] == list(range(first, 80)) and kept > 0
    assert weights(tmp_path / "whole")["policy.layers.4.bias"].shape == (2,)


def test_it_learns_to_balance(tmp_path):
    """Six rollouts of the paper's length; the learning rates are ten times the paper's, for speed."""
    settings = Config("InvertedPendulum-v5", steps=12_288, bins=6, warmup=2048, lr=1e-3, value_lr=3e-3, annealing=0.0)
    main(settings, tmp_path)
    curve = [float(value) for _, metric, value in rows(tmp_path) if metric == "return"]
    assert curve[0] < 10 and curve[-1] > 5 * curve[0]


# --- bad input -------------------------------------------------------------------------------------------------------

BAD = [
    (dict(steps=15), "raise steps or lower rollout"),
    (dict(batch_size=17), "batch_size must be at most the rollout of 16 steps, not 17"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=str)
def test_bad_settings_leave_no_run_behind(changes, message, tmp_path):
    assert_refused(train_ppo, config(**changes), message, tmp_path)
