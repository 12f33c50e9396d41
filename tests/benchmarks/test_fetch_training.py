"""Fetch beside Stable-Baselines3's, what needs no clock's verdict: the floor's operations, and whose time is whose."""

import importlib
import sys
from types import SimpleNamespace

import mujoco
import pytest

from lab.run.errors import UserError
from papers.bias_reduced_her.agents.fast_plain_ddpg import FastPlainDDPG
from papers.bias_reduced_her.train_fetch import Config


@pytest.fixture(scope="module")
def fetch_training():
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("gymnasium_robotics")
    return importlib.import_module("benchmarks.fetch_training")


def test_operations_of_a_step_by_hand(fetch_training):
    wide, out = 2 * 256 * 256, 2 * 256
    actor, critic = [out * 28, wide, wide, out * 4], [out * 32, wide, wide, out * 1]
    targets = sum(actor) + sum(critic)
    critic_step = sum(critic) + sum(critic) + sum(critic[1:])  # forward, weights, inputs of all layers but the first
    actor_step = sum(actor) + sum(critic)  # forward
    actor_step += sum(critic[1:]) + out * 4  # back to the action, which is 4 of the critic's 32 inputs
    actor_step += sum(actor) + sum(actor[1:])
    trainer = SimpleNamespace(agent=FastPlainDDPG(28, 4), config=Config())
    by_hand = 40 / 800 * 256 * (targets + critic_step + actor_step) + sum(actor)
    assert fetch_training.operations(trainer) == pytest.approx(by_hand)


def test_physics_is_the_time_of_mujocos_steps_alone(fetch_training):
    body = "<body><freejoint/><geom size='1'/></body>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    data, original = mujoco.MjData(model), mujoco.mj_step
    with fetch_training.physics_watch() as seconds:
        mujoco.mj_forward(model, data)
        assert seconds() == 0.0
        mujoco.mj_step(model, data, nstep=20_000)
        assert seconds() > 0.0
    assert mujoco.mj_step is original and data.time == pytest.approx(20_000 * model.opt.timestep)


def test_without_gymnasium_robotics_one_line_says_what_to_install(fetch_training, monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    with pytest.raises(UserError, match=r"pip install gymnasium-robotics==1\.4\.2$"):
        importlib.reload(fetch_training)
