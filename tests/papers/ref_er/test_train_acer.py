"""The script for ACER: warm-up, schedule, what it reports, resuming, bad settings, learning."""

from typing import Any

import numpy as np
import pytest

from papers.ref_er import train_acer
from papers.ref_er.agents import progress
from papers.ref_er.agents.acer import ACER
from papers.ref_er.memory.episode import CUT, TERMINATED
from papers.ref_er.train_acer import Config, Trainer, main
from tests.papers.runs import assert_goes_on, assert_refused, rows, weights

pytestmark = pytest.mark.usefixtures("counter")


TINY = dict(env="testsCounter-v0", steps=80, bins=10, capacity=40, warmup=30, episodes=4, segment=3, hidden=8)


def config(**changes) -> Config:
    return Config(**(TINY | changes))


# --- a trainer -------------------------------------------------------------------------------------------------------


def test_warm_up_fills_the_memory_and_fixes_the_units():
    one = Trainer(config(warmup=3000, capacity=3000))
    one.warm_up()
    memory = one.memory
    assert 3000 <= memory.n < 3007 and one.t == one.k == 0 and not one.player.episode.states
    assert one._returns == one._endings == []
    assert memory.mean[1] == pytest.approx(5, abs=0.1) and memory.inverse_std[1] == pytest.approx(1, abs=0.05)
    kept = memory.states[np.flatnonzero(memory.steps >= 0)]
    assert abs(kept.mean()) < 0.2 and memory.reward_scale == pytest.approx(
        1 / np.sqrt(np.mean(memory.rewards[memory.steps >= 0] ** 2)), rel=1e-4
    )
    assert {TERMINATED, CUT} <= set(memory.ends[memory.steps >= 0]) and "return" not in one.metrics()


def test_every_setting_reaches_its_place():
    one = Trainer(config(lr=0.01, critic_lr=0.02, gamma=0.9, truncation=3.0, delta=0.5, polyak=0.4, samples=2,
                         variance=0.04, capacity=777, hidden=9))  # fmt: skip
    agent, memory = one.agent, one.memory
    assert (agent.lr, agent.critic_lr, agent.gamma, memory.gamma, memory.capacity) == (0.01, 0.02, 0.9, 0.9, 777)
    assert (agent.truncation, agent.delta, agent.polyak, agent.samples) == (3.0, 0.5, 0.4, 2)
    assert agent.std == pytest.approx([0.2, 0.2])
    assert [len(bias) for bias in list(agent.policy.parameters())[1::2]] == [9, 9, 2]
    assert {it.param_groups[0]["eps"] for it in (agent.optimizer, agent.critic_optimizer)} == {1.2e-7}
    recurrent: Any = Trainer(config(network="lstm", window=4))
    assert recurrent.memory.length == recurrent.player.window == 4


def test_segments_are_drawn_as_the_settings_say(monkeypatch):
    one, seen = Trainer(config(lr=1e-3, annealing=0.5)), []
    one.warm_up()
    monkeypatch.setattr(ACER, "update", lambda self, *arguments: seen.append(arguments) or np.full(3, 2.0))
    one.t = 4
    for _ in range(100):
        one.learn()
    memory, slots, offsets, rng, lr_factor = seen[-1]
    assert memory is one.memory and rng is one.draws and rng is not one.replay
    assert np.diff(offsets).tolist() == [3] * 4 and len(slots) == 12
    assert lr_factor == pytest.approx(1 / (1 + 0.5 * 4))
    assert one.k == 100 and one.metrics()["td_error"] == pytest.approx(2.0)


def test_the_rewards_scale_follows_the_memory_every_thousand_gradients(monkeypatch):
    one = Trainer(config())
    one.warm_up()
    monkeypatch.setattr(ACER, "update", lambda self, *arguments: np.zeros(3))
    one.memory.rewards *= 2.0
    before = one.memory.reward_scale
    for _ in range(999):
        one.learn()
    assert one.memory.reward_scale == before
    one.learn()
    assert one.memory.reward_scale == pytest.approx(before / 2, rel=1e-4)


@pytest.mark.parametrize("steps", [30, 1000])
def test_what_is_over_the_capacity_is_forgotten_before_learning(steps):
    """And before there is no room, however many steps are played between two gradient steps."""
    one = Trainer(config(steps_per_update=float(steps)))
    one.warm_up()
    for _ in range(steps):
        one.play()
    one.learn()
    assert 40 <= one.memory.n < 40 + 7


def test_metrics_are_of_memory_and_policy():
    one = Trainer(config(lr=1e-2))
    one.warm_up()
    for _ in range(30):
        one.learn()
        one.play()
        one.t += 1
    values, memory = one.metrics(), one.memory
    stored = memory.steps >= 0
    assert values["kl"] == pytest.approx(memory.kl[stored].mean(), rel=1e-4) and values["kl"] > 0
    assert values["far"] == np.mean((memory.rho[stored] >= 5) | (memory.rho[stored] <= 0.2))
    assert values["std"] == pytest.approx(one.agent.std.mean()) and values["stored"] == memory.n
    assert values["gradient_steps"] == 30 and values["td_error"] == 0.0
    assert values["episodes"] > 2 and {values["return p0"], values["return p100"]} <= {10.0, 28.0}
    assert one.metrics()["episodes"] == 0


# --- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps_per_update", "gradients"), [(2.0, 20), (0.5, 80)])
def test_gradient_steps_per_environment_step(steps_per_update, gradients, tmp_path):
    assert main(config(steps=40, steps_per_update=steps_per_update), tmp_path)["gradient_steps"] in (
        gradients - 1,  # the last one is due when the run is over
        gradients,
    )


def test_interrupted_and_resumed_equals_uninterrupted(tmp_path, monkeypatch):
    """Stopped in the last eighth, when episodes have left the memory. Also: one seed, one result."""
    monkeypatch.setattr(progress, "SAVE_EVERY", 1)
    played = assert_goes_on(
        train_acer, config(), tmp_path, monkeypatch, "play", lambda one: one.t == 72, lambda one: one.t
    )
    assert 50 < played[0] < 72 and played == list(range(played[0], 80))
    assert weights(tmp_path / "whole")["advantage.layers.0.weight"].shape == (8, 4)


def test_it_learns_to_balance(tmp_path):
    """Two thousand steps; learning and target rates are far above the paper's, and the networks smaller, for speed."""
    settings = Config(
        "InvertedPendulum-v5", steps=2000, bins=4, capacity=4000, warmup=1000, segment=10, annealing=0.0,
        lr=1e-3, critic_lr=1e-3, polyak=0.01, hidden=64, gamma=0.98,
    )  # fmt: skip
    trainer = Trainer(settings)
    trainer.warm_up()
    initial = trainer.memory.n / np.sum(trainer.memory.steps == 0)  # steps per episode, and each pays 1
    main(settings, tmp_path)
    curve = [float(value) for _, metric, value in rows(tmp_path) if metric == "return"]
    assert initial < 10 and curve[-1] > 5 * initial


# --- bad input -------------------------------------------------------------------------------------------------------


def test_a_warm_up_that_the_memory_cannot_hold_leaves_no_run_behind(tmp_path):
    assert_refused(train_acer, config(warmup=41), "does not hold the 41 of the warm-up", tmp_path)
