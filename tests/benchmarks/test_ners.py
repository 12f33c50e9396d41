"""What can be checked about the benchmarks of NERS without a clock's verdict; left out without Stable-Baselines3."""

import importlib
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks import __main__ as bench
from benchmarks.floor import layer_flops
from lab.errors import UserError

STATES, ACTIONS, FEATURES = 11, 3, 11 + 3 + 1 + 11 + 1 + 2  # of Hopper; the last two are TD error and value


def test_the_topic_is_registered():
    assert "ners" in bench.TOPICS


@pytest.fixture
def topic(monkeypatch):
    """The topic with small memories and few steps."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("pfrl")
    ners = importlib.import_module("benchmarks.ners")
    for name, value in dict(WARMUP=150, STORED=400, STEPS=2, ROUNDS=1, UPDATES=2, FRAMES=200).items():
        monkeypatch.setattr(ners, name, value)
    return ners


def test_a_missing_peer_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "benchmarks.peers", SimpleNamespace(pfrl=None))  # installed or not
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.delitem(sys.modules, "benchmarks.ners", raising=False)
    with pytest.raises(UserError, match=r"^make bench needs stable_baselines3: pip install -r requirements-bench.txt$"):
        importlib.import_module("benchmarks.ners")


# ---- operations ------------------------------------------------------------------------------------------------------


def critics_by_hand() -> tuple[int, int, int]:
    """Two critics: a forward, gradients of the inputs of all layers but the first, and of the actions."""
    forward = 2 * 2 * ((STATES + ACTIONS) * 256 + 256 * 256 + 256)  # a product and a sum per weight
    return forward, 2 * 2 * (256 * 256 + 256), 2 * 2 * ACTIONS * 256


def test_operations_of_sac_by_hand(topic):
    actor = 2 * (STATES * 256 + 256 * 256 + 256 * 2 * ACTIONS)
    back = 2 * (256 * 256 + 256 * 2 * ACTIONS)
    critics, critics_back, to_actions = critics_by_hand()
    targets = actor + critics
    critic_step = 2 * critics + critics_back  # forwards and gradients of the weights cost the same
    actor_step = 2 * actor + back + critics + critics_back + to_actions
    trainer = topic.make_trainer(agent="sac", method="random")
    assert topic.operations(trainer) == pytest.approx(128 * (targets + critic_step + actor_step) + actor)


def test_operations_of_td3_by_hand(topic):
    actor = 2 * (STATES * 256 + 256 * 256 + 256 * ACTIONS)
    back = 2 * (256 * 256 + 256 * ACTIONS)
    critics, critics_back, to_actions = critics_by_hand()
    critic_step = 2 * critics + critics_back
    actor_step = 2 * actor + back + (critics + critics_back + to_actions) / 2  # one critic
    trainer = topic.make_trainer(agent="td3", method="random")
    assert topic.operations(trainer) == pytest.approx(128 * (actor + critics + critic_step + actor_step / 2) + actor)


@pytest.mark.parametrize(
    ("name", "context", "score"),
    [
        ("sac ners", (FEATURES, 256, 512, 256, 128), (256, 256, 128, 64, 1)),
        ("sac ners, widths of the code", (FEATURES, 128, 256, 128, 64), (128, 128, 64, 1)),
    ],
)
def test_operations_of_scores_by_hand(topic, name, context, score):
    weights = lambda sizes: sum(n * m for n, m in pairwise(sizes))  # noqa: E731
    by_hand = 2 * 128 * (2 * weights(context) + weights(score))  # a local and a global network
    assert topic.scoring_operations(topic.make_trainer(**topic.OURS[name])) == by_hand


def test_operations_of_rainbows_layers(topic):
    network = topic.make_rainbow("random").agent.online
    convolutions = nn.Sequential(nn.Conv2d(4, 32, 5, 5), nn.Conv2d(32, 64, 5, 5))
    heads = [2 * 576 * 256, 2 * 256 * 51, 2 * 576 * 256, 2 * 256 * 18 * 51]
    assert topic.rainbow_layers(network) == [*layer_flops(convolutions, (84, 84, 4)), *heads]


# ---- SAC and TD3 -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["random", "per", "ero", "ners"])
def test_ours_is_full_but_has_not_learnt(topic, method):
    trainer = topic.make_trainer(agent="sac", method=method)
    memory, n = trainer.memory, topic.WARMUP
    assert len(memory) == len(trainer.sampler.scores()) == topic.STORED
    assert trainer.sampler.probabilities() == pytest.approx(1 / topic.STORED)
    for name in memory.fields:
        np.testing.assert_array_equal(memory[name][n : 2 * n], memory[name][:n])
    assert len(np.unique(memory["state"][:n], axis=0)) == n
    assert trainer.diagnostics.draws == 0
    topic.advance(trainer, 3)
    assert trainer.diagnostics.draws == 3 * 128  # a gradient step each
    assert len(memory) == topic.STORED + 3


@pytest.mark.parametrize("agent", ["sac", "td3"])
def test_the_peer_has_as_much_to_do(topic, agent):
    peer, ours = topic.make_peer(agent, {"fused": True}), topic.make_trainer(agent=agent, method="random")
    count = lambda network: sum(p.numel() for p in network.parameters())  # noqa: E731
    assert count(peer.actor) == count(ours.agent.actor) and count(peer.critic) == count(ours.agent.critics)
    assert peer.actor.optimizer.defaults["fused"] and peer.critic.optimizer.defaults["fused"]
    config, rates = ours.config, {group["lr"] for group in ours.agent.critic_adam.param_groups}
    assert {peer.learning_rate} == rates
    assert (peer.gamma, peer.tau, peer.batch_size, peer.buffer_size) == (
        config.gamma, config.tau, config.batch_size, config.capacity,
    )  # fmt: skip
    assert peer.replay_buffer.size() == topic.STORED
    rows = peer.replay_buffer.observations[: topic.STORED]
    assert np.abs(rows).sum(axis=(1, 2)).min() > 0
    before = peer._n_updates
    topic.learn(peer, 4)
    assert peer._n_updates == before + 4 and peer.replay_buffer.size() == topic.STORED + 4


def test_the_peer_with_its_defaults_and_td3s_noises(topic):
    peer, agent = topic.make_peer("td3", {}), topic.make_trainer(agent="td3", method="random").agent
    assert not peer.actor.optimizer.defaults["fused"]
    assert (peer.policy_delay, peer.target_policy_noise, peer.target_noise_clip) == (
        agent.policy_delay, agent.target_noise, agent.noise_clip,
    )  # fmt: skip
    np.testing.assert_array_equal(peer.action_noise._sigma, np.full(ACTIONS, agent.action_noise))


def test_rows_of_sac_and_td3(topic, monkeypatch):
    """Each row compares the two that it names."""
    names = [
        *topic.OURS, "sac SB3", "td3 SB3", "sac SB3, its defaults", "td3 SB3, its defaults",
        "sac ners: scores", "sac ners, widths of the code: scores",
    ]  # fmt: skip
    results = {name: float(2**i) for i, name in enumerate(names)} | {"rate": 1e11}

    def measured(tasks, rounds):
        assert tasks.keys() == results.keys()
        for task in tasks.values():
            assert task() > 0
        return results

    monkeypatch.setattr(topic, "interleaved", measured)
    rows = {(row.what, row.peer_name): row for row in topic.continuous()}
    for agent in ("sac", "td3"):
        assert rows[f"{agent}: step", "SB3"].value == results[f"{agent} random"] / results[f"{agent} SB3"]
        assert rows[f"{agent}: step", "SB3"].limit == 0.5
        default = rows[f"{agent}: step", "SB3, its defaults"]
        assert default.peer == results[f"{agent} SB3, its defaults"] and default.limit is None
    floor = topic.operations(topic.make_trainer(agent="td3", method="random")) / 1e11 * 1e6
    assert rows["td3: step", "arithmetic floor"].peer == pytest.approx(floor)
    limits = {"per": 1.08, "ero": None, "ners": 1.30, "ners, widths of the code": None}
    for sampler, limit in limits.items():
        row = rows[f"sac {sampler}: step", "sac random"]
        assert (row.ours, row.peer, row.limit) == (results[f"sac {sampler}"], results["sac random"], limit)
        assert "telling the sampler" in row.note
    row = rows["ners: scores of a batch", "arithmetic floor"]
    assert row.ours == results["sac ners: scores"] and row.peer == pytest.approx(182.1e6 / 1e5, rel=1e-3)
    assert len(rows) == 6 + 4 + 2


# ---- draws and games -------------------------------------------------------------------------------------------------


def test_a_million_priorities_are_drawn_from_and_updated(topic, monkeypatch):
    seen = {"sample": [], "update": []}
    for name in seen:
        original = getattr(topic.PrioritizedSampler, name)

        def noted(self, *arguments, name=name, original=original):
            seen[name].append(arguments[0])
            return original(self, *arguments)

        monkeypatch.setattr(topic.PrioritizedSampler, name, noted)
    monkeypatch.setattr(topic, "PRIORITIES", 3_000)
    rows = topic.draws()
    assert [(row.limit, row.judged) for row in rows] == [(100.0, "ours")] * 2
    assert seen["sample"] == [256] * (500 + 2 * 200)  # and the round that is thrown away
    assert len({slots.tobytes() for slots in seen["update"]}) == 400
    assert all(len(slots) == 256 and (np.diff(slots) >= 0).all() for slots in seen["update"])  # one of each part


def test_ours_and_the_emulator_play_as_many_frames(topic):
    frames = []
    for play in (topic.play_game, topic.emulate):
        game = topic.Atari("Pong")
        game.reset(seed=0)
        before = game.ale.getFrameNumber()
        play(game, [0, 1, 2, 3, 4, 5] * 5)
        frames.append((game.ale.getFrameNumber() - before, game.ale.getRAM().tobytes()))
    assert frames[0] == frames[1]
    assert frames[0][0] == 30 * 4


@pytest.mark.parametrize("play", ["play_game", "emulate"])
def test_games_go_on_after_their_end(topic, play):
    game = topic.Atari("Seaquest", max_frames=200)
    game.reset(seed=0)
    getattr(topic, play)(game, [0] * 60)
    assert game.ale.getEpisodeFrameNumber() < 200 < 60 * 4


def test_a_row_per_game(topic, monkeypatch):
    monkeypatch.setattr(topic, "GAME_STEPS", 3)
    us = {"Pong ours": 3.0, "Pong emulator": 2.0, "Seaquest ours": 5.0, "Seaquest emulator": 4.0}

    def measured(tasks, rounds):
        assert tasks.keys() == us.keys()
        for task in tasks.values():
            task()
        return us

    monkeypatch.setattr(topic, "interleaved", measured)
    rows = topic.games()
    assert [(row.ours, row.peer, row.limit, row.judged) for row in rows] == [
        (3.0, 2.0, 1000.0, "ours"), (5.0, 4.0, 1000.0, "ours"),
    ]  # fmt: skip


# ---- Rainbow ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["random", "per", "ners"])
def test_rainbows_memory_is_filled_and_a_step_can_be_made(topic, method):
    trainer = topic.make_rainbow(method)
    assert topic.FRAMES <= len(trainer.memory) < topic.FRAMES + 20  # a lost life completes 20 at once
    assert len(trainer.sampler.scores()) == len(trainer.memory)
    before = [p.clone() for p in trainer.agent.online.parameters()]
    trainer.learn()
    assert trainer.diagnostics.draws == 32
    assert all((p != q).any() for p, q in zip(before, trainer.agent.online.parameters()))


def test_lives_are_lost_in_rainbows_memory(topic, monkeypatch):
    monkeypatch.setattr(topic, "EPISODE", 50)
    memory = topic.make_rainbow("random").memory
    ends = memory.transitions["ahead"][: len(memory)] == 0
    assert ends.sum() == 20 * (len(memory) // 50)


def test_the_peer_of_rainbow_learns_with_our_network(topic, monkeypatch):
    monkeypatch.setattr(topic, "FRAMES", 2_000)  # more than the peer waits for
    made = []
    algorithm = topic.pfrl.agents.CategoricalDoubleDQN
    original = algorithm.__init__
    monkeypatch.setattr(algorithm, "__init__", lambda self, *a, **k: made.append(self) or original(self, *a, **k))
    learn = topic.make_pfrl_rainbow()
    [peer], ours = made, topic.make_rainbow("per").agent.online
    assert [p.shape for p in peer.model.network.parameters()] == [p.shape for p in ours.parameters()]
    assert len(peer.replay_buffer) == 2_000 and peer.replay_buffer.num_steps == 20
    before = [p.clone() for p in peer.model.parameters()]
    learn()
    assert all((p != q).any() for p, q in zip(before, peer.model.parameters()))


RESULTS = {"random": 40.0, "per": 50.0, "ners": 60.0, "pfrl": 80.0, "rate": 1e12}


def test_rows_of_rainbow(topic, monkeypatch, capsys):
    monkeypatch.setattr(topic, "interleaved", lambda tasks, rounds: RESULTS)
    step, per, per_floor, ners, memory = topic.rainbow()
    assert (per.ours, per.peer, per_floor.ours, per_floor.peer) == (50.0, 80.0, 50.0, step.peer)
    assert (step.ours, step.limit, ners.ours, ners.peer) == (40.0, None, 60.0, 40.0)
    convolutions = 2 * 100 * 32 * 16**2, 2 * 800 * 64 * 3**2
    forward = sum(convolutions) + 2 * 2 * 576 * 256 + 2 * 256 * 51 * (1 + 18)
    # s forwards and both gradients, but not that of the frames; s' through two networks
    assert step.peer == pytest.approx(32 * (5 * forward - convolutions[0]) / 1e12 * 1e6)
    topic.train_rainbow.Trainer(topic.train_rainbow.Config("Alien", "random"))
    announced = float(capsys.readouterr().out.split("=")[1].split()[0])
    assert memory.ours == pytest.approx(announced, abs=0.01)
    assert (memory.unit, memory.limit, memory.judged) == ("GB", 1.0, "ours")


def test_scoring_needs_no_gradient(topic):
    trainer = topic.make_trainer(agent="sac", method="ners")
    needed = []
    trainer.sampler.network.register_forward_hook(lambda *seen: needed.append(seen[-1].requires_grad))
    topic._scoring(trainer)()
    assert needed == [False] * topic.STEPS
    assert torch.is_grad_enabled()
