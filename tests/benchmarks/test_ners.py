"""What can be checked about the benchmarks of NERS without a clock's verdict; left out without Stable-Baselines3."""

import importlib
from itertools import pairwise

import numpy as np
import pytest
from torch import nn

from benchmarks.floor import layer_flops
from benchmarks.rows import FLOOR

STATES, ACTIONS, FEATURES = 11, 3, 11 + 3 + 1 + 11 + 1 + 2  # of Hopper; the last two are TD error and value


@pytest.fixture
def topic(monkeypatch):
    """The topic with small memories and few steps."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("pfrl")
    ners = importlib.import_module("benchmarks.ners")
    for name, value in dict(WARMUP=150, STORED=400, STEPS=2, ROUNDS=1, UPDATES=2, FRAMES=200).items():
        monkeypatch.setattr(ners, name, value)
    return ners


# ---- operations ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("agent", "outputs", "climbed", "every"), [("sac", 2 * ACTIONS, 2, 1), ("td3", ACTIONS, 1, 2)])
def test_operations_by_hand(topic, agent, outputs, climbed, every):
    """climbed: critics that the actor climbs, in one of `every` steps. A product and a sum per weight."""
    actor, back = 2 * (STATES * 256 + 256 * 256 + 256 * outputs), 2 * (256 * 256 + 256 * outputs)
    critic, critic_back = 2 * ((STATES + ACTIONS) * 256 + 256 * 256 + 256), 2 * (256 * 256 + 256)
    targets = actor + 2 * critic
    critic_step = 2 * (2 * critic + critic_back)  # forwards and gradients of the weights cost the same
    actor_step = 2 * actor + back + climbed * (critic + critic_back + 2 * ACTIONS * 256)
    trainer = topic.make_trainer(agent=agent, method="random")
    assert topic.operations(trainer) == pytest.approx(128 * (targets + critic_step + actor_step / every) + actor)


@pytest.mark.parametrize(("name", "context", "score"), [
    ("sac ners", (FEATURES, 256, 512, 256, 128), (256, 256, 128, 64, 1)),
    ("sac ners, widths of the code", (FEATURES, 128, 256, 128, 64), (128, 128, 64, 1)),
])  # fmt: skip
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
    config = ours.config
    assert peer.learning_rate == ours.agent.lr
    assert (peer.gamma, peer.tau, peer.batch_size, peer.buffer_size) == (
        config.gamma, config.tau, config.batch_size, config.capacity,
    )  # fmt: skip
    assert peer.replay_buffer.size() == topic.STORED
    rows = peer.replay_buffer.observations[: topic.STORED]
    assert np.abs(rows).sum(axis=(1, 2)).min() > 0
    before = peer._n_updates
    topic.learn(peer, 4)
    assert peer._n_updates == before + 4 and peer.replay_buffer.size() == topic.STORED + 4


def test_gradient_steps_of_each_agent_and_batch_as_kernels_and_as_pytorch(topic, monkeypatch):
    learnt: list[tuple] = []
    monkeypatch.setattr(topic, "_update", lambda agent, batches: learnt.append((type(agent), len(batches[0].weight))))
    rows = topic.gradient_steps()
    what = [f"{agent}: gradient step, batch {n}" for agent in ("sac", "td3") for n in (128, 256)]
    assert [(row.what, row.limit) for row in rows] == list(zip(what, [0.6, 0.7] * 2))
    assert learnt[:8] == [(kind, n) for pair in topic.train.FAST.items() for n in (128, 256) for kind in pair[::-1]]


# ---- draws and games -------------------------------------------------------------------------------------------------
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


# ---- all of it -------------------------------------------------------------------------------------------------------
def test_rows(topic, monkeypatch, run_once):
    monkeypatch.setattr(topic, "FRAMES", 2_000)
    monkeypatch.setattr(topic, "PRIORITIES", 3_000)
    monkeypatch.setattr(topic, "GAME_STEPS", 3)
    run_once(topic)
    rows = {(row.what, row.peer_name): row for row in topic.measure()}
    sac, td3 = rows["sac: step", "SB3"], rows["td3: step", "SB3"]
    assert sac.limit == td3.limit == 0.5 and sac.ours != td3.ours and sac.peer != td3.peer
    for sampler, limit in {"per": 1.03, "ero": None, "ners": None, "ners, widths of the code": 1.15}.items():
        row = rows[f"sac {sampler}: step", "sac random"]
        assert (row.peer, row.limit) == (sac.ours, limit) and "telling the sampler" in row.note
    assert rows["rainbow per: gradient step", "pfrl Rainbow"].ours != rows["rainbow random: gradient step", FLOOR].ours
    assert {rows[f"{game}: step of the game", "emulator alone"].limit for game in topic.GAMES} == {1000.0}
    memory = rows["rainbow: memory of 100,000 transitions", ""]
    assert memory.unit == "GB" and memory.met
