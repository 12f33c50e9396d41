"""The script for Rainbow on a tiny pixel game: samplers, order of a step, evaluation, resuming, settings, learning."""

import functools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from common.replay.protocol import Chosen
from papers.ners import train_rainbow
from papers.ners.agents.fast_rainbow import FastRainbow
from papers.ners.ners import NERS
from papers.ners.samplers.methods import METHODS
from papers.ners.samplers.samplers import PER, Settings
from papers.ners.train_rainbow import Config, Trainer, main, rollouts
from tests.papers.ners.conftest import DRAWN, LAW, OWN
from tests.papers.ners.pixel_catch import PixelCatch
from tests.papers.runs import assert_goes_on, assert_refused, rows, weights

FOUR = [method for method in METHODS if method != "random-iid"]
TINY: dict[str, Any] = dict(
    env="PixelCatch", steps=160, random_steps=60, capacity=90, batch_size=8, multi_step=3, hidden=16, atoms=11,
    target_every=40, eval_every=20, eval_episodes=2, sampling=Settings(widths="code", ero_batch=8),
)  # fmt: skip


@pytest.fixture(autouse=True)
def tiny_game(monkeypatch):
    """PixelCatch in place of Atari games."""
    make = train_rainbow.make_env

    def make_env(config: Config, *, training: bool):
        return PixelCatch(training=training) if config.env == "PixelCatch" else make(config, training=training)

    monkeypatch.setattr(train_rainbow, "make_env", make_env)
    monkeypatch.setattr(train_rainbow, "LIMIT", 12)
    monkeypatch.setattr(train_rainbow, "CUT_EVERY", 12)
    monkeypatch.setattr(train_rainbow, "SAVE_EVERY", 40)


def config(method: Any = "ners", seed: int = 0, **changes) -> Config:
    return Config(**(TINY | dict(method=method, seed=seed) | changes))


# --- whole runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FOUR)
def test_every_sampler_runs_and_says_what_it_did(method, tmp_path):
    summary = main(config(method), tmp_path)
    found: dict[int, set[str]] = {}
    for step, metric, value in rows(tmp_path):
        found.setdefault(int(step), set()).add(metric)
        assert math.isfinite(float(value)), (step, metric)
    assert found.pop(100) == {"return"} | DRAWN | LAW | OWN[method]  # the fifth of eight evaluations
    assert found == {step: {"return"} for step in (20, 40, 60, 80, 120, 140, 160)}
    assert summary["steps"] == 160
    values = {metric: float(value) for step, metric, value in rows(tmp_path) if step == "100"}
    assert values["draws"] == 40 * 8
    assert 0 < values["first_time"] < 1 and 1 <= values["age"] < 100
    if "random" in method:
        assert (values["tv"], values["log_score_sd"]) == pytest.approx((0, 0)) and values["ess"] == pytest.approx(1)
    else:
        assert values["tv"] > 0


def test_another_seed_another_run(tmp_path):
    """That one seed has one result is seen where a run is resumed."""
    state = torch.get_rng_state()
    for seed in (1, 2):
        main(config(seed=seed), tmp_path / str(seed))
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's numbers are shifted
    assert rows(tmp_path / "1") != rows(tmp_path / "2")
    one, different = weights(tmp_path / "1"), weights(tmp_path / "2")
    assert not torch.equal(one["value.mu.weight"], different["value.mu.weight"])


def test_samplers_begin_with_the_same_network_and_the_same_game():
    trainers = [Trainer(config(method)) for method in METHODS]
    for trainer in trainers:
        for _ in range(60):
            trainer.advance()
        assert all(map(torch.equal, trainer.agent.weights().values(), trainers[0].agent.weights().values()))
        slots = np.arange(len(trainer.memory))
        np.testing.assert_array_equal(trainer.memory.states(slots), trainers[0].memory.states(slots))


# --- one step ---------------------------------------------------------------------------------------------------------


def test_what_happens_when(monkeypatch):
    """Random actions, then the agent's; one update per step from then on; the target network every 40 steps."""
    trainer, seen = Trainer(config("random")), []
    acts, updates, syncs = trainer.agent.act, trainer.agent.update, trainer.agent.sync

    def note(kind, call):
        def noted(*arguments):
            seen.append((kind, trainer.t))
            return call(*arguments)

        return noted

    monkeypatch.setattr(trainer.agent, "act", note("act", acts))
    monkeypatch.setattr(trainer.agent, "update", note("update", updates))
    monkeypatch.setattr(trainer.agent, "sync", note("sync", syncs))
    for _ in range(100):
        trainer.advance()
    steps = {kind: [t for k, t in seen if k == kind] for kind in ("act", "update", "sync")}
    assert steps == {"act": list(range(60, 100)), "update": list(range(61, 101)), "sync": [40, 80]}


def test_a_gradient_step_is_algorithm_1_in_its_order():
    """Sample, learn with the weights, tell the sampler which errors and which targets came out."""
    one, events = Trainer(config("random")), []
    for _ in range(60):
        one.advance()
    slots, weights = np.arange(5, 13), np.linspace(0.1, 1, 8, dtype=np.float32)
    td, q, value = (np.full(8, x, np.float32) for x in (2.0, 7.0, 3.0))

    def update(batch, given):
        assert all(torch.equal(x, getattr(batch, name)) for name, x in vars(one.memory.batch(slots)).items())
        assert given is weights
        events.append("learn")
        return td, q, value

    def told(given, signals):
        assert given is slots and signals["td_error"] is td and signals["target"] is value
        events.append("told")

    one.agent = SimpleNamespace(update=update)
    one.sampler = SimpleNamespace(sample=lambda n: (events.append(n), Chosen(slots, weights))[1], update=told)
    one.learn()
    assert events == [8, "learn", "told"] and one.loss == 2.0
    statistics = one.diagnostics.statistics()
    assert (statistics["td2_mean"], statistics["q_mean"], statistics["draws"]) == (4.0, 7.0, 8)


def test_the_exponent_of_weights_reaches_1_with_the_last_gradient_step():
    for method in ("per", "ners"):
        one, betas = Trainer(config(method, sampling=Settings(widths="code", beta=0.2))), []
        for _ in range(160):
            one.advance()
            betas.append(one.sampler.prioritized.beta)
        assert betas[59] == pytest.approx(0.2) and betas[109] == pytest.approx(0.6) and betas[158] < 1.0 == betas[159]


def test_rewards_are_clipped_for_learning_and_not_for_returns(monkeypatch):
    trainer, totals = Trainer(config("random", multi_step=1)), []
    monkeypatch.setattr(trainer.sampler, "episode", totals.append)
    for _ in range(60):
        trainer.advance()
    kept = trainer.memory.transitions["reward"][: len(trainer.memory)]
    assert set(kept.tolist()) == {-1.0, 0.0, 1.0}
    assert len(totals) == trainer.episodes > 3
    assert all((total + 1) % 5 == 0 or total % 5 == 0 for total in totals) and max(totals) >= 4


def test_samplers_and_statistics_hear_of_every_transition_once(monkeypatch):
    trainer, added = Trainer(config("random", capacity=1000)), []
    born = trainer.diagnostics.added
    monkeypatch.setattr(trainer.sampler, "add", added.append)
    monkeypatch.setattr(trainer.diagnostics, "added", lambda slot, step: (born(slot, step), None)[1])
    for _ in range(60):
        trainer.advance()
    assert added == list(range(len(trainer.memory))) and len(added) >= 58
    np.testing.assert_array_equal(trainer.diagnostics.born[: len(added)], np.arange(len(added)))  # when they acted


def test_the_state_acted_on_is_the_state_replayed(monkeypatch):
    trainer, acted = Trainer(config("random", capacity=1000)), []
    act = trainer.agent.act
    monkeypatch.setattr(trainer.agent, "act", lambda stack: (acted.append(stack.copy()), act(stack))[1])
    for _ in range(100):
        trainer.advance()
    slots = np.arange(60, len(trainer.memory))
    np.testing.assert_array_equal(trainer.memory.states(slots), acted[: len(slots)])


# --- evaluation -------------------------------------------------------------------------------------------------------


def test_evaluation_plays_other_games_with_unclipped_rewards_and_no_life_lost(monkeypatch):
    trainer, made = Trainer(config(eval_episodes=5, eval_noise=0.0)), []
    make = train_rainbow.make_env

    def watched(config, *, training):
        made.append((training, make(config, training=training)))
        return made[-1][1]

    monkeypatch.setattr(train_rainbow, "make_env", watched)
    stays = {"stacks": []}

    def greedy(stacks):
        stays["stacks"].append(stacks.copy())
        return np.ones(len(stacks), np.int64)

    monkeypatch.setattr(trainer.agent, "greedy", greedy)
    first = rollouts(trainer)
    assert [training for training, _ in made] == [False] * 5
    assert all(value % 5 == 0 and 0 <= value <= 30 for value in first)  # in training a miss would pay -1
    np.testing.assert_array_equal(rollouts(trainer), first)  # the same moment: the same games
    trainer.t = 20
    assert any((rollouts(trainer) != first).tolist() for trainer.t in range(20, 25))
    start, following = stays["stacks"][:2]
    assert start.shape == (5, 4, 84, 84) and not start[:, :-1].any() and start[:, -1].any(axis=(1, 2)).all()
    np.testing.assert_array_equal(following[:, -2], start[:, -1])  # nobody has lost after one step


@pytest.mark.parametrize(("noise", "least", "most"), [(0.0, 0, 0), (1.0, 10, 1000)])
def test_evaluation_noise_and_its_absence(noise, least, most, monkeypatch):
    trainer, played = Trainer(config(eval_episodes=20, eval_noise=noise)), []
    monkeypatch.setattr(trainer.agent, "greedy", lambda stacks: np.ones(len(stacks), np.int64))
    step = PixelCatch.step
    monkeypatch.setattr(PixelCatch, "step", lambda self, action: (played.append(action), step(self, action))[1])
    rollouts(trainer)
    assert least <= sum(action != 1 for action in played) <= most and len(played) >= 40


def test_the_sampler_hears_of_the_evaluation(monkeypatch):
    trainer, heard = Trainer(config()), []
    monkeypatch.setattr(train_rainbow, "rollouts", lambda trainer: np.array([1.0, 4.0]))
    monkeypatch.setattr(trainer.sampler, "evaluation", heard.append)
    assert trainer.evaluate() == {"return": 2.5} and heard == [2.5]


def test_evaluating_does_not_change_what_is_learnt(tmp_path):
    often, seldom = config("per", eval_every=20), config("per", eval_every=160)
    main(often, tmp_path / "often")
    main(seldom, tmp_path / "seldom")
    ours, theirs = weights(tmp_path / "often"), weights(tmp_path / "seldom")
    assert all(map(torch.equal, ours.values(), theirs.values()))


# --- resuming ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FOUR)
def test_interrupted_and_resumed_equals_uninterrupted(method, tmp_path, monkeypatch):
    """Stopped some evaluations after a checkpoint, in the middle of an episode; the memory has wrapped round."""
    evaluated = assert_goes_on(
        train_rainbow, config(method), tmp_path, monkeypatch, "evaluate", lambda one: one.t == 140, lambda one: one.t
    )
    assert evaluated == [140, 160]  # from the checkpoint at 120 on


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(batch_size=100), "memory of 90.*batch of 100"),
        (dict(random_steps=9), "from step 9 on with 3-step returns.*batch of 8"),
    ],
)
def test_settings_that_cannot_work_are_named(changes, words, tmp_path):
    assert_refused(train_rainbow, config(**changes), words, tmp_path)


def test_the_largest_batch_that_fits_runs(tmp_path):
    assert main(config("random", steps=62, random_steps=10, batch_size=8), tmp_path)["steps"] == 62


def test_every_setting_reaches_its_place():
    changes: dict[str, Any] = dict(
        gamma=0.9, multi_step=5, stack=3, hidden=24, sigma=0.3, atoms=13, v_max=7.0, lr=0.01, adam_epsilon=0.02,
        max_gradient=3.0, capacity=99, sampling=Settings(time="episode", alpha=0.7, scorer_lr=0.02, widths="code"),
    )  # fmt: skip
    one = Trainer(config("ners", **changes))
    a, m, s = one.agent, one.memory, one.sampler
    assert type(a) is FastRainbow and (a.lr, a.adam_epsilon, a.max_gradient) == (0.01, 0.02, 3.0)
    assert torch.equal(a.support, torch.linspace(-7.0, 7.0, 13))
    assert a.online.convolutions.first.in_features == 3 * 25 and a.online.value_hidden.mu.out_features == 24
    assert a.online.value.sigma.weight.unique().tolist() == pytest.approx([0.3 * 24**-0.5])
    assert (m.n, m.gamma, m.stack, m.transitions.capacity) == (5, 0.9, 3, 99)
    assert isinstance(s, NERS) and s.settings == one.config.sampling and s.alpha == 0.7
    assert s.adam.param_groups[0]["lr"] == 0.02 and s.transitions is one.transitions
    clock = one.transitions.clock
    assert (clock.kind, clock.horizon) == ("episode", 1_000) and clock.born is one.diagnostics.born
    per = Trainer(config("per")).sampler
    assert isinstance(per, PER) and per.prioritized.epsilon == 0.0


# --- Atari ------------------------------------------------------------------------------------------------------------


def test_a_real_game_interrupted_and_resumed(tmp_path, monkeypatch):
    """Asterix, broken off after 60 steps, so that some of its episodes are cut."""
    monkeypatch.setattr(train_rainbow, "Atari", functools.partial(train_rainbow.Atari, max_frames=240))
    monkeypatch.setattr(train_rainbow, "LIMIT", 60)
    settings = config("per", env="Asterix", eval_every=40, eval_episodes=1, capacity=100)
    assert_goes_on(train_rainbow, settings, tmp_path, monkeypatch, "evaluate", lambda one: one.t == 120)


def test_a_lost_life_ends_the_episode_and_the_game_goes_on():
    trainer = Trainer(config("random", env="Asterix", random_steps=700, steps=700, capacity=1000))
    lives = []
    for _ in range(600):
        trainer.advance()
        lives.append(trainer.env.unwrapped.ale.lives())  # type: ignore[attr-defined]
    assert trainer.episodes >= 3 and {1, 2, 3} <= set(lives)
    first = trainer.memory.transitions["t"][: len(trainer.memory)]
    assert (first == 0).sum() in (trainer.episodes, trainer.episodes + 1)
    ended = trainer.memory.transitions["discount"][: len(trainer.memory)] == 0
    assert ended.sum() == 3 * trainer.episodes  # the last three starts of each episode, for three-step returns


# --- learning ---------------------------------------------------------------------------------------------------------


def caught(method: str, **changes) -> float:
    """Mean return of 30 games after training: 5 per square, at most 30."""
    settings: dict[str, Any] = dict(
        steps=800, random_steps=200, capacity=800, batch_size=16, multi_step=2, hidden=64, atoms=21, lr=1e-3,
        target_every=100, eval_episodes=30, gamma=0.9,
    )  # fmt: skip
    trainer = Trainer(config(method, **(settings | changes)))
    for _ in range(trainer.config.steps):
        trainer.advance()
    return float(rollouts(trainer).mean())


def test_rainbow_learns_to_catch():
    assert caught("ners") > 15


def test_rainbow_does_not_catch_without_learning():
    assert caught("random", random_steps=800) < 8
