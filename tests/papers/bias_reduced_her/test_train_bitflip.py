"""Bit flipping: what hindsight stores of the useless action, how bias is measured, runs, and that HER learns."""

import dataclasses
import itertools

import numpy as np
import pytest

from envs.bitflip import exact_values
from papers.bias_reduced_her import train, train_bitflip
from papers.bias_reduced_her.train_bitflip import PAIRS, Config, Trainer, pairs, shares
from tests.papers.runs import assert_refused, assert_resumes, rows

SMALL = dict(epochs=3, cycles=2, updates=3, eval_episodes=4, capacity=2_000, batch_size=16)


def small(env="BitFlip-4-timeout", method="her", seed=0, **settings):
    return Config(env, method, seed, **(SMALL | settings))


def played(env, method, episodes=150, **settings):
    """What the memory holds after episodes of a random policy: name -> array, and the number of real transitions."""
    trainer = Trainer(small(env, method, capacity=50_000, **settings))
    trainer.cycles_done, real = 0, 0
    for _ in range(episodes):
        episode = trainer.play()
        real += len(episode[2])
        trainer.store(*episode)
    slots = np.arange(len(trainer.memory))
    return trainer.memory.get(slots), real


def split(stored, n):
    """Bits, next bits and goal of each transition (m, n)."""
    assert np.array_equal(stored["inputs"][:, n:], stored["next_inputs"][:, n:])
    return stored["inputs"][:, :n], stored["next_inputs"][:, :n], stored["inputs"][:, n:]


# ---- what is stored --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env", ["BitFlip-4-terminal", "BitFlip-4-timeout"])
def test_of_the_useless_action_hindsight_stores_successes_only(env):
    stored, real = played(env, "her")
    bits, after, goals = split(stored, 4)
    quits = stored["action"] == 4
    assert np.array_equal(bits[quits], after[quits])
    reached = (bits == goals).all(axis=1)
    # The virtual ones: in a state that is its own goal, paid, and the end. The real ones: in no such state, and a cost.
    virtual = quits & (stored["reward"] == 0)
    assert np.array_equal(virtual, quits & reached) and stored["terminal"][virtual].all()
    there = quits & ~virtual
    assert virtual.sum() == 4 * there.sum() > 100
    assert (stored["reward"][there] == -1).all() and (stored["terminal"][there] == (env == "BitFlip-4-terminal")).all()
    assert len(quits) == 5 * real


@pytest.mark.parametrize("env", ["BitFlip-4-terminal", "BitFlip-4-timeout"])
def test_the_filter_removes_exactly_what_starts_at_its_goal(env):
    """All virtual transitions of the useless action among them. Both methods see the same episodes and draws."""
    her, filtered = played(env, "her")[0], played(env, "filtered-her")[0]
    bits, _, goals = split(her, 4)
    keep = ~(bits == goals).all(axis=1)
    assert 0 < (~keep & (her["action"] != 4)).sum()
    for name, values in her.items():
        np.testing.assert_array_equal(values[keep], filtered[name])
    assert not (filtered["reward"][filtered["action"] == 4] == 0).any()


@pytest.mark.parametrize("env", ["BitFlip-4", "BitFlip-4-terminal", "BitFlip-4-timeout"])
def test_terminal_are_successes_and_giving_up_where_it_is_meant_to_be(env):
    stored, _ = played(env, "her")
    _, after, goals = split(stored, 4)
    reached = (after == goals).all(axis=1)
    assert np.array_equal(stored["reward"], reached - 1.0)
    ends = reached | ((stored["action"] == 4) if env == "BitFlip-4-terminal" else False)
    assert np.array_equal(stored["terminal"], ends)


def test_virtual_goals_are_what_the_episode_achieves_later():
    trainer = Trainer(small("BitFlip-4", "her"))
    seen = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]], np.float32)
    trainer.store(seen, np.ones(4, np.float32), [0, 1], [-1.0, -1.0], False)
    stored = trainer.memory.get(np.arange(len(trainer.memory)))
    bits, after, goals = split(stored, 4)
    assert stored["action"].tolist() == [0, 1, *[0] * 4, *[1] * 4] and (goals[:2] == 1).all()
    assert np.array_equal(bits, seen[stored["action"]]) and np.array_equal(after, seen[stored["action"] + 1])
    assert {tuple(goal) for goal in goals[2:6]} <= {(1, 0, 0, 0), (1, 1, 0, 0)}
    assert (goals[6:] == seen[2]).all() and (stored["terminal"][6:] == 1).all()


# ---- how bias is measured --------------------------------------------------------------------------------------------


def test_pairs_have_the_distance_of_their_row_and_are_otherwise_random():
    bits, goals = pairs(5, np.random.default_rng(0))
    assert bits.shape == goals.shape == (5, PAIRS, 5) and bits.dtype == goals.dtype == np.float32
    assert set(np.unique(bits)) == set(np.unique(goals)) == {0, 1}
    wrong = bits != goals
    assert np.array_equal(wrong.sum(axis=2), np.broadcast_to(np.arange(1, 6)[:, None], (5, PAIRS)))
    np.testing.assert_allclose(wrong.mean(axis=1), np.arange(1, 6)[:, None] / 5 * np.ones(5), atol=0.12)
    np.testing.assert_allclose(bits.mean(axis=1), 0.5, atol=0.15)


def test_shares_are_those_of_all_pairs():
    strings = np.array(list(itertools.product((0, 1), repeat=4)))
    distance = (strings[:, None] != strings[None]).sum(axis=2).ravel()
    np.testing.assert_allclose(shares(4), np.bincount(distance)[1:] / (distance > 0).sum())


class Oracle:
    """An agent that knows Q*, but for what is added to every flip and to giving up."""

    def __init__(self, n, kind, flip=0.0, quit=0.0):
        self.n, self.kind = n, kind
        self.added = np.array([flip] * n + [quit] * (kind is not None))

    def values(self, inputs):
        flat = inputs.reshape(-1, 2 * self.n)
        q = np.full((len(flat), len(self.added)), -99.0)
        apart = (flat[:, : self.n] != flat[:, self.n :]).any(axis=1)
        q[apart] = exact_values(flat[apart, : self.n], flat[apart, self.n :], 0.98, self.kind)
        return (q + self.added).reshape(*inputs.shape[:-1], -1)


def measured(env, **added):
    trainer = Trainer(small(env, eval_episodes=300))
    trainer.agent = Oracle(trainer.n, trainer.kind, **added)
    return trainer.evaluate(), trainer.bias_by_distance()


def test_whoever_knows_the_values_is_not_biased():
    metrics, distances = measured("BitFlip-6-timeout")
    assert metrics == {"success": 1.0, "flip_bias": 0.0, "quit_bias": 0.0, "quit_bias_near": 0.0, "quits": 0.0}
    assert distances == {f"quit_bias {d}": 0.0 for d in range(1, 7)}
    assert measured("BitFlip-6") == ({"success": 1.0, "flip_bias": 0.0}, {})


def test_in_the_literal_reading_the_best_policy_gives_up_beyond_two_wrong_bits():
    metrics, _ = measured("BitFlip-6-terminal")
    assert metrics["quits"] == pytest.approx(shares(6)[2:].sum(), abs=1e-6)  # ties at two: flipping comes first
    assert metrics["success"] == pytest.approx(shares(6)[:2].sum(), abs=0.08)


def test_bias_is_the_difference_to_the_right_value():
    metrics, distances = measured("BitFlip-6-timeout", flip=-0.1, quit=0.3)
    assert metrics["flip_bias"] == -0.1 and metrics["quit_bias"] == metrics["quit_bias_near"] == 0.3
    assert set(distances.values()) == {0.3} and metrics["quits"] == 0
    metrics, _ = measured("BitFlip-6-timeout", quit=2.0)
    assert metrics["quits"] == 1 and metrics["success"] == 0


def test_means_weigh_distances_by_how_many_pairs_there_are():
    trainer = Trainer(small("BitFlip-5-timeout"))
    oracle = Oracle(5, "timeout")
    exact, distance = oracle.values, lambda inputs: (inputs[..., :5] != inputs[..., 5:]).sum(axis=-1)

    def values(inputs):
        q = exact(inputs)
        q[..., 5] += distance(inputs) ** 2
        q[..., 5] += np.where(distance(inputs) == 2, 10, 0)
        return q

    oracle.values = values
    trainer.agent = oracle
    weights, added = shares(5), np.arange(1, 6) ** 2 + np.array([0, 10, 0, 0, 0])
    metrics = trainer.evaluate()
    assert metrics["quit_bias"] == pytest.approx(weights @ added, abs=1e-5) and metrics["quit_bias_near"] == 1
    assert list(trainer.bias_by_distance().values()) == added.tolist()
    # one wrong bit: the best flip ends the game at no cost, and 0 > -1 + 1 is a tie that the flips, listed first, win
    assert metrics["quits"] == pytest.approx(1 - weights[0], abs=1e-6)


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_what_is_logged(tmp_path):
    summary = train_bitflip.main(small(), tmp_path)
    table = rows(tmp_path)
    names = ("success", "flip_bias", "quit_bias", "quit_bias_near", "quits")
    for metric in names:
        assert [int(step) for step, name, _ in table if name == metric] == [8, 16, 24]
    assert [(step, name) for step, name, _ in table[-4:]] == [("24", f"quit_bias {d}") for d in range(1, 5)]
    assert table[-4][2] == dict((name, value) for _, name, value in table)["quit_bias_near"]
    assert set(summary) == {"episodes", *names} and summary["episodes"] == 24


@pytest.mark.parametrize("method", ["none", "her", "filtered-her"])
def test_interrupted_and_resumed_equals_uninterrupted(method, tmp_path, monkeypatch):
    """Before the first checkpoint, and an epoch after it."""
    config = small(method=method, epochs=5)
    assert_resumes(train_bitflip, config, tmp_path, monkeypatch, kills=[8, 24], saved=16, save_every=2)


def test_nothing_is_learned_before_there_is_a_batch():
    trainer = Trainer(small(method="none", batch_size=64))
    before = trainer.agent.values(trainer.pairs)
    assert trainer.cycle() == 0.0 and len(trainer.memory) < 64
    assert np.array_equal(trainer.agent.values(trainer.pairs), before)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (dict(env="BitFlip"), "BitFlip-<n>-timeout"),
        (dict(env="BitFlip-0"), "n from 1 to 30"),
        (dict(env="BitFlip-31"), "n from 1 to 30"),
        (dict(env="BitFlip-8-quit"), "not 'BitFlip-8-quit'"),
        (dict(capacity=49), "capacity must hold an episode with its virtual goals, 50, not 49"),
    ],
)
def test_bad_settings_cost_one_line(settings, words, tmp_path):
    config = Config(**(dict(env="BitFlip-10", batch_size=8) | settings))
    assert_refused(train_bitflip, config, words, tmp_path)


def test_settings_that_train_has_too_have_the_same_default():
    own = dataclasses.asdict(Config())
    shared = set(own) & set(dataclasses.asdict(train.Config())) - {
        "env", "method", "epochs", "cycles", "episodes", "tau", "eval_episodes",
    }  # fmt: skip
    assert {name: own[name] for name in shared} == {name: getattr(train.Config(), name) for name in shared}
    assert len(shared) == 13


# ---- HER learns what cannot be learned without it --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["her", "none"])
def test_dqn_flips_ten_bits_with_hindsight_alone(method):
    trainer = Trainer(Config("BitFlip-10", method))
    for _ in range(70):
        trainer.cycle()
    success = trainer.evaluate()["success"]
    assert success >= 0.5 if method == "her" else success <= 0.1


@pytest.mark.parametrize("method", ["her", "none"])
def test_the_agent_of_the_throwing_tasks_flips_ten_bits_with_hindsight_alone(method):
    """DDPG, its training loop and its settings as they are; the largest of its ten numbers says which bit to flip."""
    config = train.Config("envs:BitFlipBox-v0", method, epochs=7, cycles=20, capacity=100_000, eval_episodes=200)
    trainer = train.Trainer(config)
    for _ in range(config.epochs * config.cycles):
        trainer.cycle()
    success = trainer.evaluate()["success"]
    assert success >= 0.4 if method == "her" else success <= 0.1
