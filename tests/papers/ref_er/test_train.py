"""The train script: every learner with every replay, order of a step, resuming, metrics, bad settings, learning."""

import math
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from papers.ref_er import train, train_acer, train_ppo
from papers.ref_er.agents import progress
from papers.ref_er.agents.ddpg import DDPG
from papers.ref_er.agents.naf import NAF
from papers.ref_er.agents.networks import MLP
from papers.ref_er.agents.player import OrnsteinUhlenbeck, WhiteNoise
from papers.ref_er.agents.racer import RACER
from papers.ref_er.train import ADVANTAGES, METHODS, REPLAYS, Config, Trainer, main, make_refer
from tests.papers.runs import assert_goes_on, assert_refused, flat, rows, weights

TINY: dict[str, Any] = dict(
    steps=300, bins=2, capacity=300, warmup=300, batch_size=32, hidden=16, beta=0.3, annealing=5 / 300
)  # fmt: skip
METRICS = {"episodes", "return", *(f"return p{p}" for p in range(0, 101, 10))}
METRICS |= {"kl", "far", "beta", "c_max", "std", "stored", "gradient_steps", "td_error"}
SHORT = "ShortPendulum-v0"
"""InvertedPendulum-v5 with a time limit of 8 steps: some episodes end by it, and a small memory soon wraps round."""
gymnasium.register(SHORT, "gymnasium.envs.mujoco.inverted_pendulum_v5:InvertedPendulumEnv", max_episode_steps=8)


def config(method: Any = "vracer", replay: Any = "refer", seed: int = 0, **settings) -> Config:
    return Config(**(TINY | dict(env="InvertedPendulum-v5", method=method, replay=replay, seed=seed) | settings))


def trainer(*arguments, **settings) -> Trainer:
    return Trainer(config(*arguments, **settings))


# --- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replay", REPLAYS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_with_every_replay(method, replay, tmp_path):
    one = trainer(method, replay)
    before = {name: value.clone() for name, value in flat(one.agent.weights()).items()}
    summary = main(config(method, replay), tmp_path)
    assert set(summary) == METRICS | {"steps"} and all(map(math.isfinite, summary.values()))
    assert (summary["steps"], summary["gradient_steps"]) == (300, 300)
    found = rows(tmp_path)
    assert {(step, metric) for step, metric, _ in found} == {(s, m) for s in ("150", "300") for m in METRICS}
    assert {metric: float(value) for step, metric, value in found if step == "300"} == {
        metric: summary[metric] for metric in METRICS
    }
    after = weights(tmp_path)
    assert after.keys() == before.keys() | {"states.mean", "states.inverse_std"}
    assert not any(torch.equal(after[name], before[name]) for name in before)
    assert summary["c_max"] == pytest.approx(1 + 4 / (1 + 5 / 300 * 299))  # of the last gradient step
    assert (summary["beta"] == 1) == (replay not in ("refer", "refer-2")) and 0 <= summary["far"] <= 1
    assert 300 <= summary["stored"] < 1300 and (summary["std"] == pytest.approx(0.2)) == (method != "vracer")


OPTIONS = [
    dict(advantage="quadratic"), dict(advantage="gaussian"), dict(reverse_kl=True), dict(residual=True),
    dict(method="ddpg", linear_actor=True), dict(method="naf", residual=True),
]  # fmt: skip


@pytest.mark.parametrize("settings", OPTIONS, ids=lambda settings: "-".join(settings))
def test_options_run_and_make_a_difference(settings, tmp_path):
    main(config(settings.get("method", "vracer"), steps=100), tmp_path / "without")
    assert main(config(**settings, steps=100), tmp_path / "with")["steps"] == 100
    assert rows(tmp_path / "with") != rows(tmp_path / "without")


@pytest.mark.parametrize(("method", "replay"), [("vracer", "refer"), ("ddpg", "per"), ("naf", "er")])
def test_another_seed_another_run(method, replay, tmp_path):
    """That one seed has one result is seen where a run is resumed."""
    for seed in (1, 2):
        main(config(method, replay, seed, env=SHORT, steps=100, warmup=100), tmp_path / str(seed))
    assert rows(tmp_path / "1") != rows(tmp_path / "2")
    ours, others = weights(tmp_path / "1"), weights(tmp_path / "2")
    assert not any(torch.equal(ours[key], others[key]) for key in ours)


def test_replays_start_from_the_same_warm_up_and_network():
    first, second = trainer("ddpg", "refer"), trainer("ddpg", "refer-1")
    third, fourth = trainer("vracer", "er"), trainer("vracer", "per")
    for one, other in ((first, second), (third, fourth)):
        one.warm_up()
        other.warm_up()
        np.testing.assert_array_equal(one.memory.states, other.memory.states)
        ours, theirs = flat(one.agent.weights()), flat(other.agent.weights())
        assert all(torch.equal(ours[key], theirs[key]) for key in ours)


# --- resuming --------------------------------------------------------------------------------------------------------


RESUMED = [
    ("vracer", "refer", {}), ("vracer", "er", dict(advantage="gaussian")), ("vracer", "per", {}), ("ddpg", "refer", {}),
    ("ddpg", "per", {}), ("naf", "refer-2", {}), ("naf", "per", dict(steps_per_update=2.0)),
]  # fmt: skip


@pytest.mark.parametrize(("method", "replay", "settings"), RESUMED)
def test_interrupted_and_resumed_equals_uninterrupted(method, replay, settings, tmp_path, monkeypatch):
    """Stopped in the middle, some evaluations after a checkpoint. The memory wraps round, rewards are rescaled."""
    settings = config(method, replay, env=SHORT, capacity=120, warmup=120, bins=20, steps=200, **settings)
    monkeypatch.setattr(progress, "SAVE_EVERY", 4)
    monkeypatch.setattr(train, "RESCALE_EVERY", 30)
    evaluated = assert_goes_on(
        train, settings, tmp_path, monkeypatch, "metrics", lambda one: one.bins_done == 15, lambda one: one.bins_done
    )
    assert evaluated == list(range(12, 20))  # from the checkpoint on, not from the start


# --- steps of the environment and of the gradient --------------------------------------------------------------------


@pytest.mark.parametrize(("ratio", "wanted"), [(0.2, [*range(1, 497, 5)]), (1, [*range(1, 101)]), (4, None)])
def test_a_gradient_step_follows_every_so_many_environment_steps(ratio, wanted, tmp_path, monkeypatch):
    """Gradient step k comes as soon as t >= k F, the first one before the first step."""
    seen, play = [], Trainer.play

    def watched(self):
        seen.append(self.k)
        return play(self)

    monkeypatch.setattr(Trainer, "play", watched)
    summary = main(config(steps=100, steps_per_update=float(ratio)), tmp_path)
    assert seen[-100:] == (wanted or [1 + t // 4 for t in range(100)])
    assert summary["gradient_steps"] == {0.2: 496, 1: 100, 4: 25}[ratio]


def test_a_run_counts_subnormals_as_zero(tmp_path, monkeypatch):
    products, learn = [], Trainer.learn

    def noted(trainer):
        products.append(float(torch.tensor([1e-20]) * torch.tensor([1e-20])))
        learn(trainer)

    monkeypatch.setattr(Trainer, "learn", noted)
    main(config("ddpg"), tmp_path)
    assert products and not any(products)
    assert float(torch.tensor([1e-20]) * torch.tensor([1e-20])) > 0.0


def test_the_warm_up_fills_the_memory_and_fixes_units():
    one = trainer(warmup=200, capacity=300)
    one.warm_up()
    m = one.memory
    kept = m.steps >= 0
    assert 200 <= m.n == kept.sum() < 300 and one.t == one.k == 0 and one._returns == one._endings == []
    states = m.states[m._occupied()]
    np.testing.assert_allclose(states.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(states.std(axis=0), 1, rtol=1e-3)
    # All rewards are 1 but those of falls, which are 0
    assert m.reward_scale == pytest.approx(1 / np.sqrt(np.mean(m.rewards[kept] ** 2)), rel=1e-5) and m.reward_scale > 1
    assert "return" not in one.metrics()  # of training only
    mean, inverse = m.mean.copy(), m.inverse_std.copy()
    for _ in range(100):
        one.learn()
        one.play()
    np.testing.assert_array_equal(m.mean, mean)
    np.testing.assert_array_equal(m.inverse_std, inverse)


def test_rewards_are_rescaled_every_thousand_gradient_steps(monkeypatch):
    monkeypatch.setattr(train, "RESCALE_EVERY", 7)
    one, found = trainer(), []
    one.warm_up()
    monkeypatch.setattr(one.memory, "rescale_rewards", lambda: found.append(one.k))
    for _ in range(22):
        one.learn()
    assert found == [7, 14, 21]
    monkeypatch.undo()
    assert train.RESCALE_EVERY == 1000


@pytest.mark.parametrize(("replay", "falls"), [("refer", True), ("refer", False), ("er", True)])
def test_a_gradient_step_anneals_first_and_moves_beta_last(replay, falls, monkeypatch):
    """The learner sees the beta of the step before, and C and learning rate of now; beta follows what it stored."""
    one, seen = trainer(replay=replay, annealing=0.01, beta=0.5, beta_rate=0.1), []
    one.warm_up()
    one.t = 100

    def update(memory, slots, weights, refer, factor):
        seen.append((refer.beta, refer.c_max, factor, len({*slots.tolist()}), {*weights.tolist()}))
        every = np.flatnonzero(memory.steps >= 0)  # C / (1 + A t) = 2: near is up to 3
        memory.store(every, memory.values[every], np.full(len(every), 3.1 if falls else 2.9), memory.kl[every])
        return np.zeros(len(slots))

    monkeypatch.setattr(one.agent, "update", update)
    one.learn()
    assert seen == [(0.5 if replay == "refer" else 1.0, 3.0, 0.5, 32, {1.0})] and one.k == 1
    assert one.refer.beta == pytest.approx({"er": 1.0, "refer": 0.45 if falls else 0.55}[replay])
    assert one.metrics()["far"] == (1.0 if falls else 0.0)
    one.learn()  # beta moves with every gradient step
    assert one.refer.beta == pytest.approx({"er": 1.0, "refer": 0.405 if falls else 0.595}[replay])


@pytest.mark.parametrize("ratio", [1, 32])
def test_the_oldest_episodes_leave_when_enough_remains(ratio):
    """Episodes of at most 8 steps, of which a gradient step in 32 steps drops several."""
    one = trainer(env=SHORT, capacity=150, warmup=150, steps_per_update=float(ratio))
    one.warm_up()
    for _ in range(600 // ratio):
        one.learn()
        assert 150 <= one.memory.n < 158 + 8 and (one.memory.steps >= 0).sum() == one.memory.n
        for _ in range(ratio):
            one.play()


@pytest.mark.parametrize("replay", ["refer", "per"])
def test_the_memory_has_room_for_what_is_played_between_gradient_steps(replay, tmp_path):
    """Three times what it holds."""
    settings = config(env=SHORT, replay=replay, capacity=64, warmup=64, steps=500, steps_per_update=200.0)
    summary = main(settings, tmp_path)
    assert summary["gradient_steps"] == 3 and 64 <= summary["stored"] < 64 + 2 * 8


@pytest.mark.parametrize("method", METHODS)
def test_per_draws_what_is_stored_and_learns_its_errors(method, monkeypatch):
    """From the first to the last batch, also when the slots of forgotten episodes are used again."""
    one = trainer(method, "per", env=SHORT, capacity=100, warmup=100, annealing=0.01, per_beta=0.25)
    one.warm_up()
    update, told = one.agent.update, []

    def watched(memory, slots, weights, *rest):
        assert (memory.steps[slots] >= 0).all() and len({*slots.tolist()}) == 32
        assert 0 < weights.min() < weights.max() <= 1
        told.append((slots, update(memory, slots, weights, *rest)))
        return told[-1][1]

    monkeypatch.setattr(one.agent, "update", watched)
    sampler: Any = one.sampler
    take = sampler.update

    def taken(slots, signals):
        told.append((slots, signals["td_error"]))
        take(slots, signals)

    monkeypatch.setattr(sampler, "update", taken)
    for _ in range(300):
        one.learn()
        one.play()
    assert len(told) == 600 and all(a[0] is b[0] and a[1] is b[1] for a, b in zip(told[::2], told[1::2]))
    assert sampler.beta == 1.0  # after 1 / A steps


def test_pers_exponent_grows_over_the_annealing_in_gradient_steps():
    one: Any = trainer("naf", "per", annealing=0.001, steps_per_update=4.0, per_alpha=0.7, per_beta=0.2)
    assert (one.sampler.alpha, one.sampler.beta) == (0.7, 0.2)
    one.sampler.calls = 125  # of 1 / (A F) = 250
    assert one.sampler.beta == pytest.approx(0.6)
    still: Any = trainer("ddpg", "per", annealing=0.0)
    still.sampler.calls = 10**9
    assert still.sampler.beta == 0.5


# --- metrics ---------------------------------------------------------------------------------------------------------


def test_metrics_by_hand(monkeypatch):
    one = trainer()
    one.warm_up()
    slots = np.flatnonzero(one.memory.steps >= 0)
    one.memory.store(slots[:30], np.zeros(30), np.full(30, 7.0), np.repeat([2.0, 0.0], [10, 20]))
    one._returns, one._errors, one.k = [1.0, 4.0, 2.0, 3.0, 10.0], [4.0, 14.0], 77
    found, n = one.metrics(), one.memory.n
    assert (found["episodes"], found["return"], found["return p0"], found["return p50"]) == (5, 4.0, 1.0, 3.0)
    assert (found["return p100"], found["td_error"], found["gradient_steps"]) == (10.0, 3.0, 77)
    assert found["far"] == pytest.approx(30 / n) and found["kl"] == pytest.approx(20 / n)
    assert (found["beta"], found["c_max"], found["stored"]) == (0.3, 5.0, n)
    assert found["std"] == pytest.approx(0.2**0.5)
    again = one.metrics()  # of the time since the last evaluation
    assert again["episodes"] == 0 and "return" not in again and again["td_error"] == 0 and one.bins_done == 2


def test_errors_are_sampled_every_hundredth_gradient_step(monkeypatch):
    one = trainer()
    one.warm_up()
    monkeypatch.setattr(one.agent, "update", lambda memory, slots, *rest: np.full(len(slots), one.k + 1.0))
    for _ in range(250):
        one.learn()
    assert one._errors == [100.0**2, 200.0**2]


def test_returns_are_those_of_the_episodes_played():
    one, total = trainer(), 0.0
    for _ in range(200):
        episode = one.play()
        if episode is not None:
            total += sum(episode.rewards)
            assert one._returns[-1] == sum(episode.rewards) == len(episode) - episode.terminated
    assert one.memory.n > 100 and sum(one._returns) == total


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replay", REPLAYS)
@pytest.mark.parametrize("method", METHODS)
def test_the_rules_of_each_kind_of_run(method, replay):
    """Annealing is off for DDPG without ReF-ER only; beta moves by 0.1 B / N."""
    rules = make_refer(Config(method=method, replay=replay))
    assert rules.annealing == (0.0 if method == "ddpg" and replay in ("er", "per") else 5e-7)
    assert rules.rate == pytest.approx(0.1 * (128 if method == "ddpg" else 256) / 2**18)
    assert (rules.rule1, rules.rule2) == (replay in ("refer", "refer-1"), replay in ("refer", "refer-2"))
    assert rules.beta == (0.0 if rules.rule2 else 1.0) and (rules.c, rules.tolerance) == (4.0, 0.1)
    assert make_refer(Config(method=method, replay=replay, annealing=0.5)).annealing == 0.5


SHARED: dict[str, Any] = dict(
    seed=0, steps=10_000_000, bins=50, device="cpu", env="HalfCheetah-v5", gamma=0.995, variance=0.2
)  # fmt: skip
REPLAYED: dict[str, Any] = dict(steps_per_update=1.0, hidden=128, network="mlp", window=16)
PAPERS: dict[Any, dict[str, Any]] = {
    Config: SHARED | REPLAYED | dict(
        method="vracer", replay="refer", c=4.0, tolerance=0.1, annealing=None, beta_rate=None, beta=0.0,
        reverse_kl=False, capacity=2**18, warmup=2**18, batch_size=None, residual=False, lr=1e-4, advantage="none",
        noise=0.2, polyak=0.01, linear_actor=False, actor_lr=1e-5, weight_decay=1e-4, theta=0.15, per_alpha=0.5,
        per_beta=0.5,
    ),
    train_acer.Config: SHARED | REPLAYED | dict(
        method="acer", capacity=100_000, warmup=100_000, episodes=24, segment=200, lr=1e-5, critic_lr=1e-4,
        annealing=5e-7, truncation=5.0, delta=1.0, polyak=0.001, samples=5,
    ),
    train_ppo.Config: SHARED | dict(
        method="ppo", warmup=2**18, rollout=2048, epochs=10, batch_size=64, hidden=64, lr=1e-4, value_lr=3e-4,
        annealing=5e-7, lam=0.97, clip=0.2,
    ),
}  # fmt: skip
"""App. A, Secs. 3 and 5; where the paper is silent, what the notebook says. None: `test_the_rules_of_each_kind_of_run`
and `batch_size`."""


@pytest.mark.parametrize("kind", PAPERS, ids=lambda kind: kind.__module__)
def test_the_defaults_are_the_papers(kind):
    assert asdict(kind()) == PAPERS[kind]
    assert [train.batch_size(Config(method=method)) for method in METHODS] == [256, 128, 256]


def test_every_setting_reaches_its_place():
    shared: dict[str, Any] = dict(lr=0.01, gamma=0.9, capacity=777, c=3.0, tolerance=0.2, beta=0.6, hidden=9)
    one = trainer(**shared, variance=0.04, reverse_kl=True, advantage="gaussian")
    assert isinstance(one.agent, RACER) and one.agent.reverse_kl and one.agent.advantage is ADVANTAGES["gaussian"]
    assert one.agent.std == pytest.approx([0.2]) and one.agent.lr == 0.01 and one.sampler is None
    assert (one.memory.capacity, one.memory.gamma) == (777, 0.9)
    assert (one.refer.c, one.refer.tolerance, one.refer.beta) == (3.0, 0.2, 0.6)
    assert [len(bias) for bias in list(one.agent.network.parameters())[1::2]] == [9, 9, 1 + 1 + 3]
    naf = trainer("naf", **shared, noise=0.3, polyak=0.4).agent
    assert isinstance(naf, NAF) and naf.std == pytest.approx([0.3]) and (naf.polyak, naf.lr) == (0.4, 0.01)
    ddpg = trainer("ddpg", **shared, noise=0.3, polyak=0.4, actor_lr=0.02, weight_decay=0.5).agent
    assert isinstance(ddpg, DDPG) and ddpg.std == pytest.approx([0.3])
    assert (ddpg.polyak, ddpg.lr, ddpg.actor_lr) == (0.4, 0.01, 0.02)
    assert ddpg.critic_optimizer.weight_decay == 0.5 and ddpg.actor_optimizer.weight_decay == 0
    assert not ddpg.linear and trainer("ddpg", linear_actor=True).agent.linear
    for method in METHODS:
        networks = vars(trainer(method, residual=True).agent).values()
        assert {net.residual for net in networks if isinstance(net, MLP)} == {True}
    recurrent: Any = trainer(network="lstm", window=4)
    assert recurrent.memory.length == recurrent.player.window == 4


@pytest.mark.parametrize("replay", REPLAYS)
@pytest.mark.parametrize("method", METHODS)
def test_noise_is_correlated_for_ddpg_without_refer_only(method, replay):
    noise = trainer(method, replay, theta=0.25).player.noise
    correlated = method == "ddpg" and replay in ("er", "per")
    assert type(noise) is (OrnsteinUhlenbeck if correlated else WhiteNoise)
    assert not correlated or noise.theta == 0.25  # type: ignore[attr-defined]


BAD = [
    (dict(method="sac"), "unknown method 'sac'; choose from: vracer, ddpg, naf"),
    (dict(replay="her"), "unknown replay 'her'; choose from: refer, refer-1, refer-2, er, per"),
    (dict(advantage="gaussian", method="naf"), "advantage 'gaussian' is an option of vracer, not of naf"),
    (dict(network="lstm", method="naf"), "naf has no recurrent form; network must be mlp"),
    (dict(network="lstm", residual=True), "residual has no recurrent form; network must be mlp"),
    (dict(linear_actor=True), "linear_actor is an option of ddpg, not of vracer"),
    (dict(capacity=31), "a memory of 31 steps, learning from step 300 on, is smaller than a batch of 32"),
    (dict(warmup=31), "a memory of 300 steps, learning from step 31 on, is smaller than a batch of 32"),
    (dict(capacity=64, warmup=65), "the memory of 64 steps does not hold the 65 of the warm-up; lower warmup"),
    (dict(c=0.0), "C must be positive, not 0.0"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "message"), BAD, ids=str)
def test_settings_that_cannot_work_are_named(settings, message, tmp_path):
    assert_refused(train, config(**settings), message, tmp_path)


def test_the_smallest_settings_that_are_allowed_do_run(tmp_path):
    smallest: dict[str, Any] = dict(steps=1, bins=1, capacity=1, warmup=1, batch_size=1, hidden=1)
    zeros: dict[str, Any] = dict(
        weight_decay=0.0, per_alpha=0.0, per_beta=0.0, gamma=0.0, polyak=0.0, theta=0.0, annealing=0.0
    )
    for method, replay in (("vracer", "refer"), ("ddpg", "per"), ("naf", "per")):
        summary = main(config(method, replay, **smallest, **zeros), tmp_path / method)
        assert (summary["steps"], summary["gradient_steps"], summary["episodes"]) == (1, 1, 0)


# --- learning --------------------------------------------------------------------------------------------------------


def learning_curve(replay: str, thousands: int, run_dir: Path) -> SimpleNamespace:
    """Mean training returns of so many times 1,000 steps of V-RACER on InvertedPendulum-v5, and the last metrics."""
    large_steps: dict[str, Any] = dict(
        capacity=8192, warmup=2048, batch_size=128, hidden=128, lr=1e-3, annealing=5 / 15_000
    )
    last = main(config("vracer", replay, steps=1000 * thousands, bins=thousands, **large_steps), run_dir)
    returns = [float(value) for _, metric, value in rows(run_dir) if metric == "return"]
    return SimpleNamespace(returns=returns, last=last)


def test_with_large_steps_vracer_learns_with_refer_and_collapses_without(tmp_path):
    """Ten times the usual learning rate, an episode returns at most 1,000.

    ReF-ER keeps a tenth of the samples far-policy, and learns. Without its rules nearly all of them become far, and the
    policy's deviation vanishes. (The large steps matter: with a third of them plain replay learns this easy task, too.)
    """
    refer = learning_curve("refer", 15, tmp_path / "refer")
    assert max(refer.returns[:2]) < 100 and max(refer.returns) >= 900 and np.mean(refer.returns[-3:]) >= 500
    assert refer.last["far"] < 0.2 and refer.last["std"] > 0.2
    er = learning_curve("er", 8, tmp_path / "er")
    assert np.mean(er.returns[-3:]) < 50 < np.mean(refer.returns[5:8]) and er.last["far"] > 0.5
