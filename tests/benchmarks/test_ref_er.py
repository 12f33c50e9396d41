"""What can be checked about the benchmarks of ReF-ER without a clock's verdict; left out without Stable-Baselines3."""

import dataclasses

import pytest


@pytest.fixture
def topic():
    pytest.importorskip("stable_baselines3")
    from benchmarks import ref_er

    return ref_er


def test_operations_by_hand(topic):
    trainer = topic.Trainer(topic.Config(topic.ENV, "vracer", hidden=10, capacity=256, warmup=256))
    # forwards, gradients of weights and of hidden units: 17 inputs, two layers of 10, V and six means
    forward = 2 * (17 * 10 + 10 * 10 + 10 * 7)
    assert topic.vracer_operations(trainer) == 256 * (2 * forward + 2 * (10 * 10 + 10 * 7))
    trainer = topic.Trainer(topic.Config(topic.ENV, "ddpg", hidden=10, capacity=256, warmup=256))
    actor, critic = 2 * (17 * 10 + 100 + 60), 2 * (23 * 10 + 100 + 10)
    back = 2 * (100 + 60) + 2 * (100 + 10)  # gradients of the inputs of all layers but the first
    learnt = 2 * (actor + critic) + back
    assert topic.ddpg_operations(trainer) == 128 * (learnt + 2 * critic + actor + critic) + actor


def test_the_memory_is_full_and_a_step_can_be_made(topic, monkeypatch):
    config = topic.Config
    monkeypatch.setattr(topic, "Config", lambda *a, **k: config(*a, **k | dict(capacity=2_000, warmup=2_000)))
    trainer = topic.make_vracer()
    assert trainer.memory.n >= 2_000
    for _ in range(3):
        trainer.learn()
    assert trainer.k == 3


def test_both_ddpgs_have_as_much_to_do(topic, monkeypatch):
    monkeypatch.setattr(topic, "WARMUP", 300)
    peer = topic.make_peer({"fused": True})
    ours = topic.Trainer(topic.Config(topic.ENV, "ddpg", "refer"))
    count = lambda network: sum(p.numel() for p in network.parameters())  # noqa: E731
    assert count(peer.actor) == count(ours.agent.actor) and count(peer.critic) == count(ours.agent.critic)
    config = {field.name: getattr(ours.config, field.name) for field in dataclasses.fields(ours.config)}
    assert (peer.gamma, peer.tau, peer.batch_size, peer.buffer_size) == (
        config["gamma"], config["polyak"], 128, config["capacity"],
    )  # fmt: skip
    before = peer._n_updates
    topic.learn(peer, 5)
    assert peer._n_updates == before + 5


def test_nafs_peer_has_its_batches(topic, monkeypatch):
    monkeypatch.setattr(topic, "WARMUP", 300)
    naf = topic.Trainer(topic.Config(topic.ENV, "naf", "refer", warmup=300))
    peer = topic.make_peer({"fused": True}, topic.batch_size(naf.config))
    naf.warm_up()
    slots, _ = naf.draw()
    assert peer.batch_size == len(slots)
    topic.play_and_learn(naf, 3)
    assert (naf.t, naf.k) == (3, 3)
