"""What all worlds share, on MiniGrid tasks: one step, one update, evaluation, the loop."""

import functools
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from envs.games import Games
from envs.minigrid.tasks import MiniGridTask
from papers.ter.agents.settings import METHODS
from papers.ter.replay.ebu import NOTHING
from papers.ter.train import Config, Trainer, main
from papers.ter.worlds import minigrid
from papers.ter.worlds.world import World
from tests.papers.runs import rows, weights

# The memory wraps round, all schedules move, and episodes are short because lava ends them.
TINY: dict[str, Any] = dict(
    env="LavaCrossing-Easy", steps=200, capacity=120, warmup=32, batch_size=16, epsilon_steps=150, target_interval=50,
    eval_every=80, eval_episodes=2,
)  # fmt: skip


def config(**settings) -> Config:
    return Config(**(TINY | settings))


def trainer(**settings) -> Trainer:
    return Trainer(config(**settings))


def play(one: Any, steps: int) -> list[tuple]:
    """(observation, action, reward, next observation, terminated, truncated) of the next steps."""
    log, step = [], one.world.env.step

    def watched(action):
        result = step(action)
        log.append((one.here.seen, action, result[1], result[0], result[2], result[3]))
        return result

    one.world.env.step = watched
    for _ in range(steps):
        one.interact()
    del one.world.env.step
    return log


def resets(monkeypatch) -> list[int]:
    """The seeds with which environments will be reset."""
    drawn: list[int] = []
    reset = MiniGridTask.reset
    monkeypatch.setattr(MiniGridTask, "reset", lambda self, seed=None: drawn.append(seed) or reset(self, seed=seed))
    return drawn


def plays(monkeypatch, one: Any) -> list[list[int]]:
    """The levels of its evaluations to come."""
    played: list[list[int]] = []
    play = one.world.play
    monkeypatch.setattr(one.world, "play", lambda policy, levels: played.append(levels) or play(policy, levels))
    return played


def evaluated(one: Any, levels: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Returns and successes on these levels."""
    return one.world.play(functools.partial(one.noisy_greedy, rng=np.random.default_rng(0)), levels)


@pytest.fixture
def short(monkeypatch):
    """Episodes of at most 40 steps: evaluations are quick, and time-outs happen in a short training, too."""
    make_env = minigrid.make_env

    def make_short_env(*arguments):
        env = make_env(*arguments)
        env.max_steps = 40
        return env

    monkeypatch.setattr(minigrid, "make_env", make_short_env)


# --- whole runs -------------------------------------------------------------------------------------------------------


def test_another_seed_gives_another_run(tmp_path, short):
    main(config(), tmp_path / "0")
    main(config(seed=1), tmp_path / "1")
    assert rows(tmp_path / "0") != rows(tmp_path / "1")


def test_methods_learn_differently_from_the_same_start(tmp_path, short):
    """All methods begin with the same network and the same levels."""
    starts = {method: trainer(method=method) for method in METHODS}
    for one in starts.values():
        assert torch.equal(one.agent.q.head.weight, starts["uer"].agent.q.head.weight)
        np.testing.assert_array_equal(one.here.seen, starts["uer"].here.seen)
    for method in METHODS:
        main(config(method=method, steps=80), tmp_path / method)
    assert len({weights(tmp_path / method)["head.weight"].numpy().tobytes() for method in METHODS}) == 5


@pytest.mark.parametrize(("ratio", "per_visit"), [(0.25, 1), (1.0, 4), (2.0, 8)])
def test_gradient_steps_and_syncs(ratio, per_visit, tmp_path, monkeypatch, short):
    """Updates at every fourth step from the warm-up's end on; a sync every 50 steps, whatever the ratio."""
    learned, synced = Counter(), []
    monkeypatch.setattr(Trainer, "learn", lambda self: learned.update([self.step]))
    monkeypatch.setattr(Trainer, "sync", lambda self: synced.append(self.step))
    main(config(replay_ratio=ratio), tmp_path / "run")
    assert learned == {step: per_visit for step in range(32, 201, 4)}
    assert synced == [50, 100, 150, 200]


# --- environment steps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout_is_done", [False, True])
@pytest.mark.parametrize("env", ["SimpleCrossing-Easy", "LavaCrossing-Hard"])
def test_what_is_stored_is_what_happened(env, timeout_is_done):
    one = trainer(env=env, method="uer", capacity=1000, timeout_is_done=timeout_is_done, epsilon_end=1.0)
    log = play(one, 800)
    assert any(entry[5] for entry in log) or "Lava" in env  # time-outs
    assert any(entry[4] for entry in log) or "Simple" in env  # deaths
    indices = np.random.default_rng(0).permutation(800)
    batch = one.memory.batch(indices)
    frame, action, reward, next_frame, terminated, truncated = (np.stack(x) for x in zip(*(log[i] for i in indices)))
    for ours, theirs in ((batch.frame, frame), (batch.next_frame, next_frame)):
        assert torch.equal(ours, torch.from_numpy(theirs).permute(0, 3, 1, 2).float() / 255)
    assert batch.action.tolist() == action.tolist()
    assert batch.reward.tolist() == reward.tolist()
    assert batch.absorbing.tolist() == (terminated | (truncated & timeout_is_done)).astype(float).tolist()
    assert (batch.action.dtype, batch.reward.dtype, batch.absorbing.dtype) == (
        torch.int64, torch.float32, torch.float32,
    )  # fmt: skip


@pytest.mark.parametrize("timeout_is_done", [False, True])
def test_time_outs_are_never_roots(timeout_is_done):
    one = trainer(env="SimpleCrossing-Easy", capacity=9999, epsilon_end=1.0, timeout_is_done=timeout_is_done)
    log = play(one, 6000)
    assert sum(entry[5] for entry in log) >= 3
    assert sum(entry[4] for entry in log) >= 1
    graph, phi = one.sampler.graph, one.sampler.phi
    assert set(graph.terminal.items) == {phi(entry[3]) for entry in log if entry[4]}
    assert set(graph.reached.items) == {phi(entry[3]) for entry in log}
    for number, entry in enumerate(log):
        assert number in graph.predecessors[phi(entry[3])][phi(entry[0])]


@pytest.mark.parametrize("timeout_is_done", [False, True])
@pytest.mark.parametrize("ebu_timeouts", [False, True])
def test_ebu_hears_of_ends_and_time_outs(ebu_timeouts, timeout_is_done):
    settings = dict(env="SimpleCrossing-Easy", method="ebu", capacity=9999, epsilon_end=1.0)
    one = trainer(**settings, ebu_timeouts=ebu_timeouts, timeout_is_done=timeout_is_done)
    log, expected, first = play(one, 6000), [], 0
    for past, (*_, terminated, truncated) in enumerate(log, start=1):
        if terminated or (truncated and ebu_timeouts):
            expected.append((list(range(first, past)), terminated or timeout_is_done))
        if terminated or truncated:
            first = past
    assert [(numbers.tolist(), absorbing) for numbers, absorbing in one.sampler._episodes] == expected
    assert 1 <= sum(entry[4] for entry in log) < sum(entry[5] for entry in log)


def test_exploration_fades_into_the_greedy_policy():
    one = trainer(method="uer", epsilon_steps=1000, epsilon_end=0.01)
    assert [one.epsilon(step) for step in (0, 500, 1000, 5000)] == pytest.approx([1.0, 0.505, 0.01, 0.01])
    greedy = trainer(method="uer", epsilon_steps=1, epsilon_end=0.0)
    greedy.interact()
    for frame, action, *_ in play(greedy, 30):
        assert action == greedy.agent.act(torch.from_numpy(frame).permute(2, 0, 1)[None].float() / 255)[0]
    random = trainer(method="uer", epsilon_steps=1, epsilon_end=1.0)
    random.agent.act = None  # would fail if asked
    assert min(Counter(action for _, action, *_ in play(random, 600)).values()) > 150


def test_fixed_levels(monkeypatch, short):
    """Training plays these and no others; evaluation others, which begin otherwise, and these, each with metrics of its
    own."""
    one, other = (trainer(levels=5, seed=seed, epsilon_end=1.0, eval_episodes=40) for seed in (0, 1))
    drawn = resets(monkeypatch)
    play(one, 2000)
    assert set(drawn) == set(one.world.known) and len(one.world.known) == 5 and len(drawn) > 25
    assert not any(level % 2 for level in one.world.known) and not set(one.world.known) & set(other.world.known)
    drawn.clear()
    evaluated = plays(monkeypatch, one)
    metrics = one.evaluate()
    tried, (played, again) = drawn.copy(), evaluated
    assert all(level % 2 for level in played) and set(again) == set(one.world.known)
    first = one.world.first_tiles
    assert not {first(level) for level in played} & {first(level) for level in one.world.known}
    assert set(played) < set(tried), "some of the 42 layouts were drawn that are known"
    for name in ("return", "normalized_return", "success"):
        assert f"{name}_known" in metrics and name in metrics


def test_trainer_and_evaluation_never_draw_the_same_level(monkeypatch, short):
    """Training has even seeds, each of them once; evaluation odd ones: the same at one step, others at another."""
    drawn = resets(monkeypatch)
    for seed in range(3):
        drawn.clear()
        one = trainer(seed=seed, method="uer", epsilon_end=1.0, eval_episodes=10)
        play(one, 1000)
        played, evaluated = drawn.copy(), plays(monkeypatch, one)
        one.evaluate(), one.evaluate(), play(one, 1), one.evaluate()
        first, again, later = evaluated
        assert len(set(played)) == len(played) > 10 and not any(level % 2 for level in played)
        assert first == again and len({*first, *later}) == 20 and all(level % 2 for level in first + later)


# --- gradient steps ---------------------------------------------------------------------------------------------------


def ready(**settings) -> Trainer:
    one = trainer(capacity=600, epsilon_end=1.0, **settings)
    play(one, 500)
    return one


def test_ebu_waits_for_its_first_episode():
    one = trainer(env="SimpleCrossing-Easy", method="ebu")
    play(one, 40)
    assert one.learn() is None
    assert ready(method="ebu").learn() > 0


def double_targets(one, indices) -> torch.Tensor:
    batch = one.memory.batch(indices)
    with torch.no_grad():
        best = one.agent.q(batch.next_frame).argmax(dim=1, keepdim=True)
        value = one.agent.target(batch.next_frame).gather(1, best).squeeze(1)
    return batch.reward + 0.99 * (1 - batch.absorbing) * value


def test_ebu_with_a_share_of_prioritised_replay():
    """The first part of the batch has EBU's targets and weight 1, the rest double Q-learning's and PER's weights."""
    one = ready(method="ebu", ebu_per_share=0.25)
    for _ in range(30):
        one.learn()  # to make priorities and both networks differ
    indices, weights, targets = one.sampler.sample(16)
    assert len(indices) == len(weights) == len(targets) == 16
    assert weights[:12].tolist() == [1.0] * 12
    assert weights[12:].max() == 1.0
    assert weights[12:].min() < 1.0
    one_step = double_targets(one, indices).numpy()
    assert targets[12:] == pytest.approx(one_step[12:], rel=1e-4, abs=1e-4)
    assert np.abs(targets[:12] - one_step[:12]).max() > 1e-3


@pytest.mark.parametrize("double", [True, False])
def test_ebu_without_diffusion_has_the_one_step_targets(double):
    """Those of double DQN as all methods have them, or the target network's largest value."""
    one = ready(method="ebu", ebu_beta=0.0, ebu_double=double)
    for _ in range(20):
        one.learn()
    one.sampler._pending = NOTHING  # not those by the networks of before
    indices, weights, targets = one.sampler.sample(16)
    batch = one.memory.batch(indices)
    with torch.no_grad():
        largest = batch.reward + 0.99 * (1 - batch.absorbing) * one.agent.target(batch.next_frame).amax(dim=1)
    expected = double_targets(one, indices) if double else largest
    assert targets == pytest.approx(expected.numpy(), rel=1e-4, abs=1e-4)
    assert (double_targets(one, indices) - largest).abs().max() > 1e-3
    assert (weights == 1).all()


@pytest.mark.parametrize("method", METHODS)
def test_weights_of_the_loss_and_the_signals_to_the_method(method, monkeypatch):
    """The learner uses what the method has chosen, and nothing of it depends on which method it is."""
    one = ready(method=method, eta=0.25, per_clip=None)
    for _ in range(10):
        one.learn()
    chosen = one.sampler.sample(16)
    indices, weights, targets = chosen
    batch = one.memory.batch(indices)
    with torch.no_grad():
        q = one.agent.q(batch.frame).gather(1, batch.action[:, None]).squeeze(1)
    double = double_targets(one, indices)
    y = double if targets is None else torch.from_numpy(targets)
    heard, learned, update, sampler_update = {}, {}, one.agent.update, one.sampler.update
    monkeypatch.setattr(one.sampler, "sample", lambda n: chosen)
    monkeypatch.setattr(
        one.sampler, "update", lambda i, signals: (heard.update(signals, indices=i), sampler_update(i, signals))
    )
    monkeypatch.setattr(one.agent, "update", lambda b, y, w: learned.update(y=y, w=w) or update(b, y, w))
    one.learn()
    assert learned["w"].tolist() == weights.tolist()
    assert learned["y"].numpy() == pytest.approx(y.numpy(), rel=1e-4, abs=1e-4)
    assert heard["indices"] is indices
    assert heard["td_error"] == pytest.approx((y - q).numpy(), rel=1e-3, abs=1e-3)
    assert heard["q"] == pytest.approx(q.numpy(), rel=1e-3, abs=1e-3)
    if method in ("uer", "ebu"):
        assert (weights == 1).all()
    if method == "discor":
        assert weights.sum() == pytest.approx(16, rel=1e-5)
        assert targets == pytest.approx(double.numpy(), rel=1e-4, abs=1e-4)
    if method == "ter":
        assert (weights[4:] == 1).all() and weights[:4].min() < 1
    assert (targets is None) == (method in ("uer", "per", "ter"))


def test_methods_hear_the_returns_of_episodes(monkeypatch):
    one, heard = trainer(epsilon_end=1.0, capacity=999), []
    monkeypatch.setattr(one.sampler, "episode", heard.append)
    log, total, expected = play(one, 500), 0.0, []
    for *_, reward, _, terminated, truncated in log:
        total += reward
        if terminated or truncated:
            expected, total = [*expected, total], 0.0
    assert len(heard) > 3 and heard == expected


def test_sync_reaches_every_network():
    one = ready(method="discor")
    one.learn()
    assert one.sampler.tau == 10.0
    one.sync()
    assert torch.equal(one.agent.target.head.weight, one.agent.q.head.weight)
    assert torch.equal(one.sampler.errors.target.head.weight, one.sampler.errors.q.head.weight)
    assert one.sampler.tau != 10.0


def test_per_beta_reaches_1_with_the_last_update():
    one = trainer(method="per", steps=400, update_every=4, replay_ratio=0.5)
    prioritized = one.sampler
    assert prioritized.beta == 0.4
    prioritized.calls = 400 // 4 * 2
    assert prioritized.beta == 1.0
    prioritized.calls -= 1
    assert prioritized.beta < 1.0
    longer = trainer(method="per", steps=400, update_every=4, replay_ratio=0.5, per_beta_steps=800).sampler
    longer.calls = 400 // 4 * 2
    assert longer.beta == pytest.approx(0.7)


# --- evaluation -------------------------------------------------------------------------------------------------------


class Scripted:
    """Episode k lasts k + 1 steps; odd ones succeed in their first step and end by time, even ones die at the end."""

    made, closed = 0, 0

    def __init__(self):
        self.k, self.t, self.actions = Scripted.made, 0, []
        Scripted.made += 1

    def reset(self, seed):
        return None, {"tiles": np.array([self.k, 0])}

    def step(self, action):
        assert self.t <= self.k, "stepped after its end"
        self.t += 1
        end = self.t == self.k + 1
        info = {"tiles": np.array([self.k, self.t]), "success": bool(self.k % 2 and self.t == 1)}
        return None, float(10 * self.k + action), end and self.k % 2 == 0, end and self.k % 2 == 1, info

    def close(self):
        Scripted.closed += 1


def test_rollouts_by_hand(monkeypatch):
    """The policy plays action t in step t: it must see the current state of the right episode."""
    one = trainer(eval_noise=0.0, eval_episodes=4)
    monkeypatch.setattr(Scripted, "made", 0)
    monkeypatch.setattr(Scripted, "closed", 0)
    monkeypatch.setattr(one.world, "make_env", lambda training: pytest.fail("for training") if training else Scripted())
    monkeypatch.setattr(one.world, "play", partial(World.play, one.world))  # TileWorld's plays all games at once
    monkeypatch.setattr(one.memory, "draw", lambda tiles: tiles)
    monkeypatch.setattr(one.agent, "act", lambda tiles: tiles[:, 1].copy())
    returns, successes = evaluated(one, [0, 1, 2, 3])
    assert returns.tolist() == [0, 10 + 10 + 1, 3 * 20 + 0 + 1 + 2, 4 * 30 + 0 + 1 + 2 + 3]
    assert successes.tolist() == [False, True, False, True]
    assert Scripted.closed == Scripted.made == 4


def test_evaluation_noise(monkeypatch):
    one = trainer(env="SimpleCrossing-Easy", eval_noise=0.05, eval_episodes=10)
    monkeypatch.setattr(one.agent, "act", lambda frames: np.zeros(len(frames), np.int64))
    actions: Counter = Counter()
    step = Games.step
    monkeypatch.setattr(Games, "step", lambda self, i, a: actions.update(a.tolist()) or step(self, i, a))
    one.evaluate()
    total = sum(actions.values())
    assert total > 2500
    assert (actions[1] + actions[2]) / total == pytest.approx(0.05 * 2 / 3, abs=0.012)


def test_metrics_by_hand(monkeypatch):
    one = trainer(method="ter")
    played = np.array([-324.0, 324.0, 300.0]), np.array([False, True, True])
    monkeypatch.setattr(one.world, "play", lambda *_: played)
    assert one.evaluate() == {
        "return": 100.0, "normalized_return": (100 + 324) / 648, "success": 2 / 3, "vertices": 0.0, "fallbacks": 0.0,
    }  # fmt: skip
    one.recorded = {"q": [972.0, 324.0], "loss": [1.0, 3.0]}
    metrics = one.evaluate()
    assert metrics["q_overestimation"] == 1.0
    assert metrics["loss"] == 2.0
    assert "loss" not in one.evaluate()  # of the time since the last evaluation


def test_evaluating_leaves_training_alone(short):
    one, other = trainer(method="uer"), trainer(method="uer")
    for _ in range(3):
        one.evaluate()
    ours, theirs = play(one, 100), play(other, 100)
    assert [entry[1:3] for entry in ours] == [entry[1:3] for entry in theirs]
