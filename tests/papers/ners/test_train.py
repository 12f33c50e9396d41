"""The train script: both agents with every sampler, order of a step, resuming, metrics, bad settings, learning."""

import functools
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from common.replay.protocol import Chosen
from lab.run.errors import NonFiniteLoss
from papers.ners import train
from papers.ners.agents.fast_sac import FastSAC
from papers.ners.agents.fast_td3 import FastTD3
from papers.ners.agents.sac import SAC
from papers.ners.agents.td3 import TD3
from papers.ners.ners import NERS
from papers.ners.samplers.batch import Signals
from papers.ners.samplers.ero import ERO
from papers.ners.samplers.methods import METHODS
from papers.ners.samplers.samplers import PER, Random, Settings
from papers.ners.train import FAST, Config, Trainer, main, turn
from tests.papers.ners.conftest import DRAWN, LAW, OWN, SCORES
from tests.papers.runs import assert_goes_on, assert_refused, rows, same, weights

AGENTS = ("sac", "td3")
SAMPLING: dict[str, Any] = dict(widths="code", train_size=16, ero_batch=16)
SHORT: dict[str, Any] = dict(env="Hopper-v4", steps=300, random_steps=100, eval_every=20, batch_size=16, score_starts=2)
CUT = "CutHopper-v0"
"""A hopper with a time limit of 15 steps: some episodes end by it, some by a fall."""
gymnasium.register(CUT, "gymnasium.envs.mujoco.hopper_v4:HopperEnv", max_episode_steps=15)


@pytest.fixture(autouse=True, scope="module")
def small_networks() -> Iterator[None]:
    """Agents that are quick; one test below looks at those of the paper."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "FAST", twins(hidden=(32, 32)))
        yield


def twins(**settings) -> dict:
    """The train script's table, with these settings of the agents."""
    return {literal: functools.partial(twin, **settings) for literal, twin in FAST.items()}


def config(method: Any = "random", agent: Any = "sac", seed: int = 0, **changes) -> Config:
    sampling = {name: changes.pop(name) for name in list(changes) if name in Settings.__dataclass_fields__}
    settings = SHORT | dict(method=method, agent=agent, seed=seed, sampling=Settings(**(SAMPLING | sampling)))
    return Config(**(settings | changes))


def trainer(*arguments, **changes) -> Trainer:
    return Trainer(config(*arguments, **changes))


def series(run_dir: Path, metric: str) -> dict[int, float]:
    return {int(step): float(value) for step, name, value in rows(run_dir) if name == metric}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, small_networks):
    """A finished short run of an agent with a sampler: its directory and its summary. Each is made once."""

    @functools.cache
    def make(agent: str, method: str) -> tuple[Path, dict]:
        run_dir = tmp_path_factory.mktemp("whole") / f"{agent}-{method}"
        return run_dir, main(config(method, agent), run_dir)

    return make


FOUR = [method for method in METHODS if method != "random-iid"]
"""Independent draws are compared with RANDOM's below, and differ in nothing else."""
EACH = pytest.mark.parametrize(("agent", "method"), [(agent, method) for agent in AGENTS for method in FOUR])


# --- whole runs -------------------------------------------------------------------------------------------------------


@EACH
def test_every_sampler_runs_with_both_agents(agent, method, whole):
    """An evaluation every 20 steps, statistics with every fifth one, of draws from the second on."""
    run_dir, summary = whole(agent, method)
    always = LAW | (OWN[method] & {"scorer_updates"})
    wanted = {(step, "return") for step in range(20, 301, 20)} | {(step, name) for step in range(100, 301, 100)
              for name in always | SCORES | (DRAWN | OWN[method] if step > 100 else set())}  # fmt: skip
    found = [(int(step), name) for step, name, _ in rows(run_dir)]
    assert sorted(found) == sorted(wanted)
    assert all(math.isfinite(float(value)) for _, _, value in rows(run_dir))
    assert series(run_dir, "draws") == dict.fromkeys((200, 300), 1600.0)
    assert summary["steps"] == 300 and summary.keys() == {"steps", "return"} | SCORES | LAW | DRAWN | OWN[method]
    last = {name: float(value) for step, name, value in rows(run_dir) if step == "300"}
    assert {name: summary[name] for name in last} == last
    before = Trainer(config(method, agent)).agent.weights()
    after = weights(run_dir)
    assert after.keys() == before.keys() and not any(torch.equal(after[name], before[name]) for name in before)
    tv, ess = series(run_dir, "tv"), series(run_dir, "ess")
    if "random" in method:
        assert set(tv.values()) == {0.0} and set(ess.values()) == {1.0}
    else:
        assert tv[300] > 1e-3 and ess[300] < 1


@pytest.mark.parametrize("agent", AGENTS)
def test_ners_learns_at_every_evaluation_after_the_first_with_replays(agent, whole):
    """Evaluations 2 to 5 have none: nothing is drawn during the random steps."""
    run_dir, _ = whole(agent, "ners")
    assert series(run_dir, "scorer_updates") == {100: 0, 200: 5, 300: 10}
    returns = series(run_dir, "return")
    for step in (200, 300):  # the mean of differences of neighbours is that of the ends
        wanted = (returns[step] - returns[step - 100]) / 5
        assert series(run_dir, "replay_reward")[step] == pytest.approx(wanted, rel=1e-4, abs=1e-3)


def finished(one: Trainer) -> list[tuple[int, int]]:
    """Play a run; steps done and transitions stored at the end of each of its episodes."""
    ends = []
    while one.t < one.config.steps:
        if one.advance():
            ends.append((one.t, len(one.memory)))
        if one.t % one.eval_every == 0:
            one.evaluate()
    assert len(ends) == one.episodes >= 5
    return ends


@pytest.mark.parametrize("agent", AGENTS)
def test_ero_learns_after_every_episode_but_the_first(agent):
    one = trainer("ero", agent, steps=300)
    assert one.sampler.updates == 0
    ends = finished(one)
    assert one.sampler.updates == sum(stored >= 16 for _, stored in ends[1:])


def test_ners_star_learns_after_every_episode_with_replays(monkeypatch):
    one = trainer("ners", replay_reward="training", steps=300)
    learn, told = one.sampler.learn, []
    monkeypatch.setattr(one.sampler, "learn", lambda value: (told.append(value), learn(value)))
    ends = finished(one)
    assert len(told) == len(ends) and one.sampler.updates == sum(t > 100 for t, _ in ends)
    lengths = np.diff([0, *(t for t, _ in ends)])  # a hopper earns about 1 a step
    assert all(0.2 * n < value < 4 * n for n, value in zip(lengths, told))


BASE: dict[str, Any] = dict(env=CUT, steps=100, random_steps=25, eval_every=5)


def wave(one: Trainer, start: int, rng: Any = None) -> float:
    """Takes the place of an evaluation; its returns go up and down."""
    return math.sin(3 * one.t)


@pytest.fixture(scope="module")
def plain(small_networks, tmp_path_factory) -> list[list[str]]:
    """Metrics of NERS without any change."""
    run_dir = tmp_path_factory.mktemp("plain") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_rollout", wave)
        main(config("ners", **BASE), run_dir)
    return rows(run_dir)


@pytest.mark.parametrize(
    "changes",
    [
        dict(replay_reward="training"), dict(features="few"), dict(global_context=False), dict(reference="first"),
        dict(time="episode"), dict(time="environment"), dict(tanh_all=True), dict(standardise=True),
        dict(log_loss="buffer"), dict(log_loss="train"), dict(scorer_steps=3), dict(train_size=8),
        dict(scorer_lr=1e-3), dict(widths="paper"),
    ],
    ids=lambda changes: "-".join(changes),
)  # fmt: skip
def test_variants_of_ners_run_and_make_a_difference(changes, plain, tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "_rollout", wave)
    main(config("ners", **BASE, **changes), tmp_path)
    assert rows(tmp_path) != plain and len(series(tmp_path, "scorer_updates")) == 4


@pytest.mark.parametrize("agent", AGENTS)
def test_another_seed_another_run(agent, whole, tmp_path):
    """That one seed has one result is seen where a run is resumed."""
    run_dir, state = whole(agent, "ners")[0], torch.get_rng_state()
    main(config("ners", agent, seed=1), tmp_path)
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's numbers are shifted
    assert rows(tmp_path) != rows(run_dir)
    ours, others = weights(run_dir), weights(tmp_path)
    assert not any(torch.equal(ours[name], others[name]) for name in ours)


def test_samplers_start_from_the_same_agent_and_random_steps():
    ours = trainer("random")
    for method in METHODS[1:]:
        theirs = trainer(method)
        assert same(ours.agent.weights(), theirs.agent.weights())
        while theirs.t < 100:
            theirs.advance()
        while ours.t < 100:
            ours.advance()
        for name in ours.memory.fields:
            np.testing.assert_array_equal(ours.memory[name][:100], theirs.memory[name][:100])


@pytest.mark.parametrize("agent", AGENTS)
def test_random_is_ners_with_equal_scores(agent, tmp_path):
    """With an exponent of 0 all priorities are 1: NERS then draws the same slots from the same stream, and its networks
    may learn what they like. So RANDOM and NERS differ by the scores alone."""
    changes: dict[str, Any] = dict(steps=240, alpha=0.0)
    for method in ("random", "ners", "random-iid"):
        main(config(method, agent, **changes), tmp_path / method)
    ners, random, independent = (weights(tmp_path / method) for method in ("ners", "random", "random-iid"))
    assert same(ners, random) and not same(independent, random)
    assert series(tmp_path / "ners", "scorer_updates")[200] > 0
    assert series(tmp_path / "ners", "return") == series(tmp_path / "random", "return")


def test_evaluations_do_not_disturb_training(tmp_path):
    for every in (30, 200):
        main(config("per", steps=200, eval_every=every), tmp_path / str(every))
    assert same(weights(tmp_path / "30"), weights(tmp_path / "200"))


# --- resuming ---------------------------------------------------------------------------------------------------------


@EACH
def test_interrupted_and_resumed_equals_uninterrupted(agent, method, tmp_path, monkeypatch):
    """Broken off before evaluation 13; the checkpoint was made after the tenth, when an episode was over."""
    evaluated = assert_goes_on(
        train, config(method, agent), tmp_path, monkeypatch, "evaluate",
        lambda one: one.evaluations == 12, lambda one: one.evaluations,
    )  # fmt: skip
    assert 10 <= evaluated[0] <= 13 and evaluated[-1] == 14  # from the checkpoint on, not from the start


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("ners", dict(replay_reward="training")), ("ners", dict(features="few", log_loss="buffer")),
        ("per", dict(capacity=90)), ("ners", dict(capacity=90)), ("ero", dict(capacity=90)),
    ],
    ids=str,
)  # fmt: skip
def test_resuming_variants_and_a_memory_that_has_wrapped_round(method, changes, tmp_path, monkeypatch):
    settings = config(method, "td3", env=CUT, steps=200, random_steps=60, eval_every=10, **changes)
    monkeypatch.setattr(train, "SAVE_EVERY", 4)
    assert_goes_on(train, settings, tmp_path, monkeypatch, "evaluate", lambda one: one.evaluations == 15)


def test_a_trainer_is_not_pickled_within_an_episode():
    """Unpickled, the sampler's clock is still that of the diagnostics, which goes on."""
    one = trainer("ners", time="environment")
    one.advance()
    with pytest.raises(RuntimeError, match="between two episodes"):
        pickle.dumps(one)
    while not one.advance():
        pass
    twin = pickle.loads(pickle.dumps(one))
    assert (twin.t, twin.episodes) == (one.t, 1) and twin.env is not one.env and twin.eval_env is not twin.env
    twin.advance()
    newest = np.array([twin.t - 1])
    assert twin.sampler.transitions.reward_and_time(newest)[0, 1] == twin.t - 1 == one.t


# --- steps of the environment and of the gradient ---------------------------------------------------------------------


def recorded(one: Trainer, steps: int) -> list[SimpleNamespace]:
    """Advance; what the training environment was given and gave back."""
    seen: list[SimpleNamespace] = []
    reset, step = one.env.reset, one.env.step
    start: list[np.ndarray] = []

    def watched_reset(**settings):
        start[:] = [(found := reset(**settings))[0]]
        return found

    def watched_step(action):
        state, (following, reward, terminated, truncated, info) = start[0], step(action)
        seen.append(SimpleNamespace(state=state, action=np.array(action), reward=reward, next_state=following,
                                    terminated=terminated, truncated=truncated))  # fmt: skip
        start[0] = following
        return following, reward, terminated, truncated, info

    one.env.reset, one.env.step = watched_reset, watched_step  # type: ignore[method-assign]
    for _ in range(steps):
        one.advance()
    return seen


@pytest.mark.parametrize(
    ("env", "terminations", "cuts"), [("Pendulum-v1", False, True), ("Hopper-v4", True, False), (CUT, True, True)]
)
@pytest.mark.parametrize("timeout_terminal", [False, True])
def test_what_is_stored(timeout_terminal, env, terminations, cuts):
    """A termination is terminal, a time-out is if the settings say so; the time is the step in the episode."""
    one = trainer("random", env=env, random_steps=450, steps=450, timeout_terminal=timeout_terminal)
    seen, time = recorded(one, 430), 0
    assert len(one.memory) == len(seen) == 430
    for k, s in enumerate(seen):
        for name in ("state", "action", "reward", "next_state"):
            np.testing.assert_allclose(one.memory[name][k], getattr(s, name), rtol=1e-6)
        assert one.memory["terminal"][k] == float(s.terminated or (timeout_terminal and s.truncated))
        assert one.memory["time"][k] == time
        time = 0 if s.terminated or s.truncated else time + 1
    assert any(s.terminated for s in seen) == terminations
    assert any(s.truncated and not s.terminated for s in seen) == cuts


@pytest.mark.parametrize("agent", AGENTS)
def test_random_steps_come_first_and_then_one_gradient_step_per_step(agent, monkeypatch):
    one, events = trainer("random", agent, env="Pendulum-v1", random_steps=300, steps=350), []
    act, update = one.agent.act, one.agent.update
    monkeypatch.setattr(one.agent, "act", lambda state, rng: (events.append("act"), act(state, rng))[1])
    monkeypatch.setattr(one.agent, "update", lambda batch: (events.append("learn"), update(batch))[1])
    recorded(one, 300)
    actions = one.memory["action"][:300, 0]
    assert not events and abs(actions.mean()) < 0.15 and np.std(actions) == pytest.approx(3**-0.5, rel=0.1)
    assert -1 <= actions.min() < -0.95 and 0.95 < actions.max() <= 1
    for _ in range(50):
        one.advance()
    assert events == ["act", "learn"] * 50


def test_a_turn_is_algorithm_1_in_its_order(monkeypatch):
    """Store, sample, learn with the weights, tell the sampler what came out, evaluate, learn to sample."""
    one, events = trainer("random", random_steps=60, steps=70, eval_every=61), []
    while one.t < 60:
        turn(one)
    told = Signals(*(np.full(16, x, np.float32) for x in (1.0, 4.0, 3.0, 7.0)))
    act = one.agent.act

    class Spy:
        def add(self, slot):
            events.append(("stored", slot))

        def sample(self, n):
            events.append(("sample", n))
            return Chosen(np.arange(5, 21), np.linspace(0.1, 1, 16, dtype=np.float32))

        def update(self, slots, signals):
            events.append(("told", slots.tolist(), signals["td_error"] is told.td, signals["target"] is told.y))

        def evaluation(self, mean_return):
            events.append(("evaluated", mean_return))

        def episode(self, total):
            events.append(("episode",))

    def update(batch):
        slots = np.arange(5, 21)
        for name in ("state", "action", "reward", "next_state", "terminal"):
            np.testing.assert_array_equal(getattr(batch, name), one.memory[name][slots])
        assert batch.weight.tolist() == pytest.approx(np.linspace(0.1, 1, 16)) and batch.reward.shape == (16,)
        events.append(("learn",))
        return told

    one.sampler, one.agent = Spy(), SimpleNamespace(update=update, act=act)
    _, found = turn(one)
    events = [event for event in events if event != ("episode",)]
    told_last = ("told", list(range(5, 21)), True, True)
    assert events == [("stored", 60), ("sample", 16), ("learn",), told_last, ("evaluated", found["return"])]
    assert one.td2 == 4.0 and found.keys() == {"return"} and turn(one)[1] == {}
    statistics = one.diagnostics.statistics()
    assert (statistics["td2_mean"], statistics["q_mean"], statistics["draws"]) == (4.0, 7.0, 32)


def test_the_sampler_hears_of_every_transition_and_episode():
    one, heard = trainer("random", env=CUT, capacity=40, random_steps=400), []
    one.sampler = SimpleNamespace(add=lambda slot: heard.append(slot), episode=lambda total: heard.append(float(total)))
    seen = recorded(one, 200)
    wanted: list[float] = []
    total = 0.0
    for k, s in enumerate(seen):
        wanted.append(k % 40)
        total += s.reward
        if s.terminated or s.truncated:
            wanted.append(total)
            total = 0.0
    assert heard == pytest.approx(wanted) and one.episodes > 10


def test_the_exponent_of_weights_reaches_1_with_the_last_gradient_step():
    for method in ("per", "ners"):
        one = trainer(method, env="Pendulum-v1", steps=160, random_steps=60, beta=0.2)
        betas = []
        for _ in range(160):
            one.advance()
            betas.append(one.sampler.prioritized.beta)
        assert betas[59] == pytest.approx(0.2) and betas[109] == pytest.approx(0.6) and betas[159] == 1.0
        assert betas[158] < 1.0


# --- evaluation -------------------------------------------------------------------------------------------------------


def test_an_evaluation_is_played_without_noise_in_its_own_environment(monkeypatch):
    one, seen = trainer(env="Pendulum-v1", eval_episodes=3), []
    act, returns = one.agent.act, []
    monkeypatch.setattr(one.agent, "act", lambda state, rng=None: (seen.append(rng), act(state, rng))[1])
    step = one.eval_env.step

    def watched(action):
        found = step(action)
        returns.append(found[1])
        return found

    monkeypatch.setattr(one.eval_env, "step", watched)
    monkeypatch.setattr(one.env, "step", None)
    found = one.evaluate()
    assert seen == [None] * 600 and len(one.memory) == 0 and one.t == 0
    assert found == {"return": float(f"{sum(returns) / 3:.6g}")}
    starts = [round(sum(returns[k : k + 200]), 3) for k in (0, 200, 400)]
    assert len(set(starts)) == 3


@pytest.mark.parametrize("agent", AGENTS)
def test_scores_come_from_fixed_starts(agent, monkeypatch):
    """The same at any time, for any seed and sampler."""
    played: list[int] = []
    monkeypatch.setattr(Trainer, "_rollout", lambda self, start: (played.append(start), start - 10_000.0)[1])
    one, other = trainer("random", agent, score_starts=3), trainer("ners", agent, seed=4, score_starts=3)
    other.t += 1
    assert one.scores() == other.scores() == {"score": 1.0} and played == 2 * [10_000, 10_001, 10_002]


def test_scores_by_hand():
    """A policy that does nothing, unless it is asked to explore."""
    one = trainer(env="Pendulum-v1", score_starts=2)
    one.agent = SimpleNamespace(act=lambda state, rng=None: np.zeros(1) if rng is None else rng.uniform(-1, 1, 1))
    env, totals = gymnasium.make("Pendulum-v1"), []
    for start in (10_000, 10_001):
        env.reset(seed=start)
        totals.append(sum(env.step(np.zeros(1, np.float32))[1] for _ in range(200)))
    assert one.scores() == {"score": pytest.approx(np.mean(totals), rel=1e-5)}


def test_scores_are_no_part_of_training(tmp_path):
    """More starts, and neither weights nor anything else that is logged changes."""
    for starts in (1, 3):
        main(config("ners", steps=200, score_starts=starts), tmp_path / str(starts))
    ones, threes = ([row for row in rows(tmp_path / name) if "score" not in row[1] or "log" in row[1]] for name in "13")
    assert ones == threes and same(weights(tmp_path / "1"), weights(tmp_path / "3"))


def test_evaluations_come_every_so_many_steps_and_at_the_end(tmp_path):
    for every, wanted in ((50, [50, 100, 130]), (65, [65, 130]), (500, [130]), (None, [130])):
        main(config(steps=130, eval_every=every), tmp_path / str(every))
        assert list(series(tmp_path / str(every), "return")) == wanted
    assert trainer(env="Pendulum-v1", eval_every=None).eval_every == 200
    assert trainer(env="BipedalWalker-v3", eval_every=None).eval_every == 1600


# --- trouble ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_the_run_before_the_sampler_sees_it(agent, value, tmp_path, monkeypatch):
    kind, told = {"sac": FastSAC, "td3": FastTD3}[agent], []
    update = kind.update

    def broken(self, batch):
        found = update(self, batch)
        self.count = getattr(self, "count", 0) + 1
        return found._replace(td2=found.td2 * value) if self.count == 30 else found

    monkeypatch.setattr(kind, "update", broken)
    monkeypatch.setattr(NERS, "update", lambda self, slots, signals: told.append(signals))
    with pytest.raises(NonFiniteLoss, match=rf"td2 is {value} at step 130; no checkpoint was written yet"):
        main(config("ners", agent), tmp_path)
    assert len(told) == 29 and not (tmp_path / "done.json").exists()


BAD = [
    (dict(capacity=15), "a memory of 15 transitions, learning from step 100 on, is smaller than a batch of 16"),
    (dict(random_steps=15), "a memory of 1000000 transitions, learning from step 15 on, is smaller than a batch of 16"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BAD, ids=str)
def test_settings_that_cannot_work_are_named(changes, message, tmp_path):
    assert_refused(train, config("ners", **changes), message, tmp_path)


def test_the_smallest_settings_that_are_allowed_do_run(tmp_path):
    smallest: dict[str, Any] = dict(
        steps=2, random_steps=1, capacity=1, batch_size=1, eval_every=1, gamma=0.0, tau=0.0, action_noise=0.0,
        target_noise=0.0, noise_clip=0.0, alpha=0.0, beta=0.0, train_size=1, ero_batch=1,
    )  # fmt: skip
    for agent in AGENTS:
        for method in METHODS:
            summary = main(config(method, agent, **smallest), tmp_path / f"{agent}-{method}")
            assert summary["steps"] == 2 and math.isfinite(summary["return"])
    assert main(config(steps=1), tmp_path / "one")["steps"] == 1  # random steps only


# --- settings ---------------------------------------------------------------------------------------------------------


def test_every_setting_reaches_its_place(monkeypatch):
    monkeypatch.setattr(train, "FAST", twins())  # with networks as large as the paper's
    shared: dict[str, Any] = dict(gamma=0.9, tau=0.2, capacity=777, eval_every=7)
    noise: dict[str, Any] = dict(action_noise=0.3, target_noise=0.6, noise_clip=0.7, policy_delay=5)
    sac = trainer("ners", "sac", lr=0.01, time="episode", scorer_lr=0.02, alpha=0.7, **shared)
    assert type(sac.agent) is FastSAC and (sac.agent.gamma, sac.agent.tau, sac.agent.lr) == (0.9, 0.2, 0.01)
    assert [len(bias) for bias in list(sac.agent.actor.parameters())[1::2]] == [256, 256, 6]
    assert (sac.memory.capacity, sac.eval_every, sac.horizon) == (777, 7, 1000)
    assert (
        isinstance(sac.sampler, NERS) and sac.sampler.transitions.clock.kind == "episode" and sac.sampler.alpha == 0.7
    )
    assert sac.sampler.adam.param_groups[0]["lr"] == 0.02 and sac.sampler.settings == sac.config.sampling
    td3 = trainer("per", "td3", lr=0.01, **shared, **noise)
    a = td3.agent
    assert type(a) is FastTD3 and (a.gamma, a.tau, a.policy_delay, a.lr) == (0.9, 0.2, 5, 0.01)
    assert (a.action_noise, a.target_noise, a.noise_clip) == (0.3, 0.6, 0.7)
    assert isinstance(td3.sampler, PER) and td3.sampler.prioritized.epsilon == 1e-6
    ero = trainer("ero", "td3", scorer_lr=0.03, ero_batch=9)
    assert isinstance(ero.sampler, ERO) and ero.sampler.batch == 9 and ero.sampler.transitions.clock.horizon == 1000
    assert ero.sampler.adam.param_groups[0]["lr"] == 0.03 and isinstance(trainer("random").sampler, Random)
    assert (ero.agent.lr, trainer().agent.lr) == (1e-3, 3e-4)


def test_the_twin_is_chosen_by_the_device(monkeypatch):
    asked: list[tuple] = []
    monkeypatch.setattr(train, "fast", lambda literal, *how: (asked.append(how), literal)[1])
    assert [type(trainer("random", agent).agent) for agent in AGENTS] == [SAC, TD3]
    assert asked == [(train.FAST, "cpu")] * 2


def test_no_two_streams_are_one():
    one = trainer("ners")
    streams = (one.starts, one.eval_starts, one.exploration, one.sampler.rng)
    assert len({rng.integers(2**62) for rng in streams}) == 4


# --- learning ---------------------------------------------------------------------------------------------------------


def swung_up(agent: str, run_dir: Path, **changes) -> float:
    """Mean return of ten evaluation episodes on the pendulum after 3,500 steps. A random policy has about -1,200."""
    settings: dict[str, Any] = dict(
        env="Pendulum-v1", steps=3_500, random_steps=400, eval_every=3_500, eval_episodes=10, batch_size=64, lr=2e-3,
        gamma=0.98, tau=0.01,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "FAST", twins(hidden=(64, 64)))
        return main(config("random", agent, **(settings | changes)), run_dir)["return"]


@pytest.mark.parametrize("agent", AGENTS)
def test_both_agents_learn_to_swing_the_pendulum_up(agent, tmp_path):
    assert swung_up(agent, tmp_path) > -400


@pytest.mark.parametrize("agent", AGENTS)
def test_the_pendulum_stays_down_without_learning(agent, tmp_path):
    assert swung_up(agent, tmp_path, random_steps=3_500) < -800
