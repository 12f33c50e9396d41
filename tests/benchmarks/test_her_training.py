"""What can be checked about the benchmarks of DDPG with hindsight without a clock's verdict.

Most needs Stable-Baselines3 (group bench) and is left out without it.
"""

import importlib
import sys

import pytest

from benchmarks import fetch_reach
from papers.bias_reduced_her.agents.ddpg import DDPG
from papers.bias_reduced_her.train import Config


# ---- training against Stable-Baselines3 ------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def her_training():
    pytest.importorskip("stable_baselines3")
    return importlib.import_module("benchmarks.her_training")


def test_operations_of_an_update_by_hand(her_training):
    actor = [2 * 5 * 64, 2 * 64 * 64, 2 * 64 * 64, 2 * 64 * 2]  # a product and a sum per weight
    critic = [2 * 5 * 64, 2 * 66 * 64, 2 * 64 * 64, 2 * 64 * 1]
    targets = sum(actor) + sum(critic)
    critic_step = 3 * sum(critic) - critic[0]  # the input's normalisation has nothing to learn
    actor_loss = sum(actor) + sum(critic)
    gradient_of_actions = critic[3] + critic[2] + 2 * 2 * 64
    gradient_of_actor = 2 * sum(actor) - actor[0]
    by_hand = targets + critic_step + actor_loss + gradient_of_actions + gradient_of_actor
    assert her_training.update_operations(DDPG(5, 2)) == by_hand


def test_a_trainer_is_warmed_up_but_not_trained(her_training):
    trainer = her_training.warmed_up("her", steps=60)
    assert 60 <= trainer.steps_done <= 16 * 50 and trainer.cycles_done == 0
    assert len(trainer.memory) == 5 * trainer.steps_done  # each step and its four virtual goals
    acting = 2 * (11 * 64 + 64 * 64 + 64 * 64 + 64 * 3)
    update = her_training.update_operations(trainer.agent)
    assert her_training.operations(trainer) == pytest.approx(40 / 800 * 64 * update + acting)


def test_the_peer_learns_as_often_as_ours(her_training, monkeypatch):
    monkeypatch.setattr(her_training, "WARMUP", 1600)
    counts = []
    algorithm = her_training.sb3.DDPG
    train = algorithm.train

    def counted(self, gradient_steps: int, batch_size: int) -> None:
        counts.append((self.num_timesteps, gradient_steps, batch_size))
        train(self, 1, batch_size)

    monkeypatch.setattr(algorithm, "train", counted)
    task = her_training._peer(Config(), 10_000, {"fused": True})
    assert counts == []  # warming up
    assert task() > 0.0
    assert counts == [(2400, 40, 64), (3200, 40, 64)]


# ---- FetchReach ------------------------------------------------------------------------------------------------------
def test_without_gymnasium_robotics_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    with pytest.raises(SystemExit) as stopped:
        fetch_reach.main([])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert not out and err.endswith("pip install gymnasium-robotics==1.4.2\n") and err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["0"], ["-3"], ["two"], ["1", "2"]])
def test_a_wrong_number_of_epochs_costs_one_line(arguments, capsys):
    with pytest.raises(SystemExit):
        fetch_reach.main(arguments)
    assert capsys.readouterr().err.startswith("error: give at most one number of epochs")


def test_a_line_per_epoch_and_the_last_success(capsys):
    """On Hand, which needs no further package."""
    config = Config(method="none", epochs=2, cycles=1, episodes=2, updates=2, eval_episodes=2, end_at_success=False)
    last = fetch_reach.train(config, "none")
    lines = capsys.readouterr().out.splitlines()
    assert [line[:14] for line in lines] == ["none: epoch  1", "none: epoch  2"]
    assert f"success {last:4.0%}" in lines[-1]
