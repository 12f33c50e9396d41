"""Every idea with every agent: legal pairs learn for a few steps, the others are refused with a line that says why."""

import contextlib
import io
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from arena.replay import continuous, train
from arena.replay.evidence.experiments import legal
from arena.replay.ideas import IDEAS
from arena.replay.tasks import TASKS, make, room_config
from arena.replay.train import Config
from common.replay.samplers import PrioritizedSampler, UniformSampler
from lab.run.cli import cli
from papers.bias_reduced_her import train as throwing
from papers.bias_reduced_her import train_bitflip
from papers.ners import train as sac
from papers.ners.samplers.samplers import Settings
from tests.papers.runs import assert_refused, assert_resumes

BEYOND_SAC = {"ebu", "discor", "her", "her-per", "filtered-her", "filtered-her-per"}
"""What SAC cannot be joined with."""
REFUSED = {
    "double DQN": {"refer", "her", "her-per", "filtered-her", "filtered-her-per"},
    "SAC": BEYOND_SAC,
    "DDPG": {"ebu", "discor", "refer"},
}


def refused(env: str) -> set[str]:
    return {"ebu", "discor", "refer"} if env == "BitFlip-6" else REFUSED[TASKS[env].agent.name]


def play(env: str, idea: str, turns: int = 3):
    """A tiny run that has learnt for some turns of its loop and been evaluated twice."""
    with contextlib.redirect_stdout(io.StringIO()):
        one = make(env, idea, room_config(env, idea, 0, None, "smoke"))
    if TASKS[env].agent.name == "SAC":
        for _ in range(one.config.random_steps + 20 * turns):
            sac.turn(one, evaluate=False)
        for _ in range(2):
            sac.turn(one, evaluate=False)
            one.sampler.evaluation(one.evaluate()["return"])
        return one
    if TASKS[env].agent.unit == "episode":
        for _ in range(turns):
            one.cycle()
    else:
        while one.step < one.config.warmup + 20 * turns or one.learn() is None:
            one.interact()
        one.sync()
        for _ in range(turns):
            one.learn()
    one.evaluate()
    if TASKS[env].agent.unit == "episode":
        one.cycle()
    else:
        one.learn()
    one.evaluate()
    return one


LIGHT = ("NChain-20", "BitFlip-6", "SparsePendulum", "Hand")
"""A task of each agent. On the others, the ideas that depend on what states look like."""
PAIRS = [(env, idea) for env in TASKS for idea in legal(env) if env in LIGHT or idea in ("uniform", "ter", "discor")]


@pytest.mark.parametrize(("env", "idea"), PAIRS)
def test_a_legal_pair_learns(env, idea):
    # ERO learns at the ends of episodes, of which the pendulum's have 200 steps
    one = play(env, idea, turns=20 if (env, idea) == ("SparsePendulum", "ero") else 3)
    found = one.sampler.metrics()
    assert one.sampler.meter.draws > 0
    if idea in ("ners", "ero"):
        assert found["scorer_updates"] > 0, "returns have reached it"
    if idea == "refer":
        assert one.sampler.sampler.rho.std() > 0, "the policy has moved"
    if idea == "discor":
        assert np.isfinite(found["tau"])
    if IDEAS[idea].family == "relabel":
        assert one.hindsight.k > 0 and one.hindsight.keep == ("filtered" if "filtered" in idea else "all")


def test_illegal_pairs_are_refused_with_a_line(tmp_path):
    for env in TASKS:
        assert set(IDEAS) - set(legal(env)) == refused(env)
        for idea in refused(env):
            words = f"^{idea} cannot be joined with {env}: it needs .*{TASKS[env].agent.name}"
            assert_refused(train, Config(env, idea), words, tmp_path)


def test_a_refusal_costs_exit_code_2(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["train", "--env", "Hopper-v4", "--idea", "her"])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with pytest.raises(SystemExit, match=r"^2$"):
        cli(Config, train.main, "")
    assert capsys.readouterr().err == (
        "error: her cannot be joined with Hopper-v4: it needs a task with goals and its compute_reward, which SAC does "
        "not give\n"
    )


@pytest.mark.parametrize(("wrong", "words"), [(dict(steps=0), "steps"), (dict(idea="best"), "uniform, stratified")])
def test_wrong_settings(tmp_path, wrong, words):
    assert_refused(train, Config(**wrong), words, tmp_path)


def test_memory_is_said_for_every_task():
    assert all(train.replay_bytes(Config(env, "uniform")) > 10**5 for env in TASKS)


# ---- what is found out between agent and sampler ---------------------------------------------------------------------
@pytest.mark.parametrize("env", LIGHT)
def test_target_networks_errors_are_of_the_targets_that_were_learnt_from(env, monkeypatch):
    """|y - Q'(s, a)| as the networks were before the update: ReLo gets it by an agent that tells TD errors alone."""
    one, seen = play(env, "relo"), []
    monkeypatch.setattr(one.sampler.sampler, "update", lambda indices, signals: seen.append((indices, signals)))
    values: list = []
    sample = one.sampler.sample

    def looked(n):
        chosen = sample(n)
        values.append((one.target_q_of(chosen.indices).copy(), one.targets_of(chosen.indices).copy()))
        return chosen

    monkeypatch.setattr(one.sampler, "sample", looked)
    if env == "SparsePendulum":
        sac.turn(one, evaluate=False)
    elif env == "Hand":
        one.learn(*one.sampler.sample(one.config.batch_size)[:2])
    else:
        one.learn()
    [(_, signals)], [(target_q, y)] = seen, values
    expected = np.abs(np.atleast_2d(y - target_q)).mean(axis=0)
    np.testing.assert_allclose(signals["target_td_error"], expected, atol=1e-4 * (1 + np.abs(expected).max()))
    assert np.abs(signals["target_td_error"] - np.abs(signals["td_error"])).max() > 1e-3, "another network"


def test_laber_sees_the_td_errors_of_today():
    one = play("NChain-20", "laber")
    slots = np.arange(20)
    batch = one.memory.batch(slots)
    with torch.no_grad():
        q = one.agent.q(batch.frame)[torch.arange(20), batch.action]
        best = one.agent.q(batch.next_frame).argmax(dim=1)
        y = batch.reward + 0.99 * (1 - batch.absorbing) * one.agent.target(batch.next_frame)[torch.arange(20), best]
    np.testing.assert_allclose(one.sampler.sampler.errors(slots), (y - q).abs().numpy(), rtol=1e-4, atol=1e-5)


def test_steps_of_continuous_agents_end_where_episodes_end():
    """And NERS reads the share of the time limit at which a step was made."""
    one = play("SparsePendulum", "ners", turns=10)
    count, horizon = len(one.memory), one.horizon
    steps = [one.step_of(slot, last=False) for slot in range(count)]
    assert [step.ended for step in steps] == [(slot + 1) % horizon == 0 for slot in range(count)]
    assert not any(step.terminated for step in steps)
    np.testing.assert_allclose(one.sampler.seen.time[:count], (np.arange(count) % horizon) / horizon)
    full = one.sampler.seen.full(np.array([5]))[0].numpy()[0]
    m = one.memory
    by_hand = [*m["state"][5], *m["action"][5], m["reward"][5], *m["next_state"][5], 5 / horizon]
    np.testing.assert_allclose(full, by_hand, rtol=1e-6)


def test_goal_agents_hand_out_episodes_in_order():
    one, steps = play("BitFlip-6", "uniform"), []
    one.sampler._reads_steps = True
    one.sampler.sampler.add = lambda index, step: steps.append(step)
    for _ in range(5):
        one.store(*one.play())
    lengths = np.diff([-1, *np.flatnonzero([step.ended for step in steps])])
    assert len(lengths) == 5 and all(step.truncated != step.terminated for step in steps if step.ended)
    for before, after in pairwise(steps):
        assert before.ended or np.array_equal(before.next_observation, after.observation)


@pytest.mark.parametrize(("idea", "epsilon"), [("per", 0.01), ("relo", 0.01)])
def test_draws_follow_the_registered_law(idea, epsilon):
    """alpha = 0.6 and no clipping, as joined: single draws by chi-square."""
    one = play("NChain-20", idea)
    sampler, n = one.sampler.sampler, 8
    td, target_td = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]), np.array([1.0, 0, 0, 0.5, 2.5, 1, 4, 8.0])
    rest = np.arange(n, sampler.stored)
    sampler.tree.set_many(rest, np.zeros(len(rest)))
    sampler.update(np.arange(n), {"td_error": td, "target_td_error": target_td})

    def huber(x):
        return np.where(x <= 1, x**2 / 2, x - 0.5)

    size = td if idea == "per" else np.maximum(huber(td) - huber(target_td), 0.0)
    law = (size + epsilon) ** 0.6
    drawn = np.bincount(np.concatenate([sampler.sample(1).indices for _ in range(4_000)]), minlength=n)
    assert drawn.sum() == 4_000 and chisquare(drawn, 4_000 * law / law.sum()).pvalue > 1e-4


# ---- settings, as registered -----------------------------------------------------------------------------------------
BENDS = {"NChain-20": 1.0, "SimpleCrossing-Easy": 324.0, "LavaCrossing-Easy": 324.0, "Sokoban-5x5-1": 1.0}
"""Where the agent's loss bends; elsewhere it is a square."""
BY_SIZE = dict(alpha=0.6, epsilon=0.01, clip=np.inf)
REGISTERED = {
    "per": BY_SIZE | dict(stratified=False), "relo": BY_SIZE, "rr-m": BY_SIZE | dict(beta=0.4),
    "per-rank": dict(alpha=0.7), "laber": dict(factor=4), "ier": dict(pivots=64, uniform=0.0, candidates=20_000),
    "ter": dict(eta=0.1, roots=8, predecessors=3), "ebu": dict(beta=0.5, double=True, timeouts=True, per_share=0.0),
    "discor": dict(tau=10.0, released=False), "ners": dict(alpha=0.5), "ero": dict(batch=64),
    "refer": dict(c=4.0, tolerance=0.1, annealing=5e-7, rule1=True, rule2=True, beta=0.0),
}  # fmt: skip
"""Attributes of the samplers; README.md has the sources."""
FIRST_BETA = {"per": 0.4, "relo": 0.4, "per-rank": 0.5, "ners": 0.4}


@pytest.mark.parametrize("env", TASKS)
def test_settings_are_those_registered(env):
    bend = BENDS.get(env)
    for idea in legal(env):
        with contextlib.redirect_stdout(io.StringIO()):
            one = make(env, idea, room_config(env, idea, 0, None, "smoke"))
        sampler, c = one.sampler.sampler, one.config
        expected, annealed = dict(REGISTERED.get(idea, {})), sampler
        if idea == "relo":
            expected["huber_delta"] = bend
        if idea == "laber":
            expected["clip"] = np.inf if bend is None else bend
        if idea == "ter":
            assert len(np.frombuffer(sampler.phi(np.zeros(one.state_size)))) == 3, "dimensions"
            assert vars(sampler.prioritized).items() >= (REGISTERED["per"]).items()
        if idea == "ners":
            features = "full" if one.sampler.seen.memory is not None else "few"
            assert sampler.settings == Settings(widths="code", features=features)
            annealed = sampler.prioritized
        if idea == "refer":
            sampler, expected = sampler.refer, expected | {"rate": min(0.1 * c.batch_size / c.capacity, 1.0)}
        if IDEAS[idea].family == "relabel":
            assert type(sampler) is (PrioritizedSampler if "per" in idea.split("-") else UniformSampler)
            assert one.hindsight.k == 4
        assert {name: getattr(sampler, name) for name in expected} == expected, idea
        if idea in FIRST_BETA:
            betas = [annealed.beta]
            for annealed.calls in (one.updates // 2, one.updates):
                betas.append(annealed.beta)
            assert betas[::2] == [FIRST_BETA[idea], 1.0] and betas[1] < 1.0, idea


# ---- returns ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("env", TASKS)
def test_evaluations_reach_the_sampler(env, monkeypatch):
    """Return on the levels of training where there are such, success where tasks have goals."""
    with contextlib.redirect_stdout(io.StringIO()):
        one = make(env, "uniform", room_config(env, "uniform", 0, None, "smoke"))
    name = {"Sokoban-5x5-1": "return_known", "BitFlip-6": "success", "Hand": "success"}.get(env, "return")
    room = next(kind for kind in type(one).__mro__ if kind.__module__.startswith("papers."))
    told, metrics = [], {key: float(k) for k, key in enumerate(("return", "return_known", "success"), 2)}
    monkeypatch.setattr(room, "evaluate", lambda self: dict(metrics))
    one.sampler.sampler.evaluation = told.append
    if TASKS[env].agent.name == "SAC":
        while not told:
            sac.turn(one)
    else:
        assert one.evaluate().items() >= metrics.items()
    assert told == [metrics[name]]


# ---- resume ----------------------------------------------------------------------------------------------------------
RESUMED = {
    "NChain-20": ("laber", dict(kills=[480], saved=240)),
    "BitFlip-6": ("ners", dict(kills=[12], saved=8)),
    "SparsePendulum": ("refer", dict(kills=[300], saved=200)),
    "Hand": ("ier", dict(kills=[12], saved=8)),
}


@pytest.mark.parametrize("env", RESUMED)
def test_interrupted_and_resumed_equals_uninterrupted(env, tmp_path, monkeypatch):
    idea, when = RESUMED[env]
    for script in (train_bitflip, throwing, sac):
        monkeypatch.setattr(script, "SAVE_EVERY", 1)
    monkeypatch.setattr(continuous.train, "TICK", 100)
    # the goal tasks have 2 cycles of 4 episodes per epoch, and tick after each
    settings = dict(steps=16) if TASKS[env].agent.unit == "episode" else {}
    with contextlib.redirect_stdout(io.StringIO()):
        summary = assert_resumes(train, Config(env, idea, budget="smoke", **settings), tmp_path, monkeypatch, **when)
    assert summary["replays"] > 0
