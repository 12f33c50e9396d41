"""The training script of Atari games: methods, what is stored, lives, TER's vertices, scores, settings."""

import functools
from typing import Any

import numpy as np
import pytest
import torch

from envs.atari import Atari
from papers.ter import train_atari
from papers.ter.train_atari import Config, Trainer, main
from papers.ter.worlds import atari
from tests.papers.runs import assert_refused, assert_resumes, rows, weights
from tests.papers.ter.test_trainer import evaluated, play

pytest.importorskip("ale_py")

# The memory wraps round. In Breakout a random player soon loses a life.
TINY: dict[str, Any] = dict(
    env="Breakout", steps=60, capacity=45, warmup=28, batch_size=8, epsilon_steps=60, target_interval=20, eval_every=50,
    eval_episodes=1,
)  # fmt: skip


def cut(monkeypatch, frames: int) -> None:
    """Games are broken off after so many frames, four per step."""
    monkeypatch.setattr(atari, "Game", functools.partial(Atari, max_frames=frames))
    monkeypatch.setattr(atari, "CUT_EVERY", frames // atari.REPEAT // 2)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Games of at most 40 steps, the no-ops at their start included."""
    cut(monkeypatch, 160)


def config(**settings) -> Config:
    return Config(**(TINY | settings))


def trainer(**settings) -> Trainer:
    return Trainer(config(**settings))


def stacks(log: list[tuple]) -> tuple[np.ndarray, np.ndarray]:
    """States and next states of the steps in `log`, uint8 (steps, 4, 84, 84), by hand."""
    states, following, seen = [], [], []
    for frame, _, _, next_frame, terminated, truncated in log:
        seen = [*(seen or [np.zeros((84, 84), np.uint8)] * 3), frame][-4:]
        states.append(np.stack(seen))
        following.append(np.stack([*seen[1:], next_frame]))
        seen = [] if terminated or truncated else seen
    return np.stack(states), np.stack(following)


# --- whole runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ebu", "discor"])
def test_other_methods_run(method, tmp_path):
    summary = main(config(method=method, eval_every=60), tmp_path)
    metrics = {"return", "mean_q", "loss"}
    metrics |= {"tau"} if method == "discor" else set()
    assert set(summary) == metrics | {"steps"} and summary["steps"] == 60
    before = {("0", name) for name in metrics & {"return", "tau"}}
    assert {tuple(row[:2]) for row in rows(tmp_path)} == {("60", metric) for metric in metrics} | before
    assert all(np.isfinite(value) for value in summary.values())
    assert len(weights(tmp_path)["head.bias"]) == 4


def test_interrupted_and_resumed_equals_uninterrupted(tmp_path, monkeypatch):
    """In the middle of a game, after the memory has wrapped round; also shows that a seed gives one result."""
    assert_resumes(train_atari, config(method="ter"), tmp_path, monkeypatch, kills=[60], saved=50)
    assert {row[0] for row in rows(tmp_path / "whole")} == {"0", "50", "60"}


# --- environment steps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout_is_done", [False, True])
def test_what_is_stored_is_what_the_agent_saw(timeout_is_done, monkeypatch):
    """In Asterix, whose rewards are 50: they are clipped to 1."""
    cut(monkeypatch, 480)
    one = trainer(env="Asterix", method="uer", capacity=1000, timeout_is_done=timeout_is_done)
    one.epsilon = lambda step: 1.0
    log = play(one, 400)
    states, following = stacks(log)
    _, action, reward, _, terminated, truncated = (np.array(x) for x in zip(*log))
    assert terminated.any() and truncated.any() and set(reward) == {0.0, 50.0}
    indices = np.random.default_rng(0).permutation(400)
    batch = one.memory.batch(indices)
    absorbing = terminated | (truncated & timeout_is_done)
    assert batch.absorbing.tolist() == absorbing[indices].astype(float).tolist()
    assert batch.action.tolist() == action[indices].tolist()
    assert batch.reward.tolist() == (reward[indices] / 50).tolist()
    assert torch.equal(batch.frame, torch.from_numpy(states[indices]).float() / 255)
    goes_on = ~absorbing[indices]
    assert torch.equal(batch.next_frame[goes_on], torch.from_numpy(following[indices[goes_on]]).float() / 255)
    np.testing.assert_array_equal(one.memory.next_states(indices)[goes_on], following[indices[goes_on]])
    assert {part.dtype for part in (batch.frame, batch.next_frame, batch.reward, batch.absorbing)} == {torch.float32}


def test_the_state_acted_on_is_the_state_replayed(monkeypatch):
    one, seen = trainer(method="uer", capacity=200, epsilon_steps=1, epsilon_end=0.0), []
    act = one.agent.act
    monkeypatch.setattr(one.agent, "act", lambda stack: (seen.append(stack), act(stack))[1])
    log = play(one, 100)
    assert len(seen) == 99  # the first action is random
    assert torch.equal(torch.cat(seen), one.memory.batch(np.arange(1, 100)).frame)
    assert torch.equal(torch.cat(seen), torch.from_numpy(stacks(log)[0][1:]).float() / 255)


def test_rewards_are_clipped():
    one = trainer(method="uer")
    for reward in (-20.0, -1.0, -0.5, 0.0, 400.0):
        slot = one.memory.add(0, reward, one.here.state, False, False)
        assert one.memory.batch(np.array([slot])).reward.item() == min(max(reward, -1.0), 1.0)


def test_a_lost_life_ends_the_episode_and_the_game_goes_on(monkeypatch):
    """Only the very first game has a seed: a later one would start anew where a life was lost."""
    seeds, lives, frames = [], [], []
    reset = Atari.reset

    def watched(self, *, seed=None, options=None):
        observation, info = reset(self, seed=seed, options=options)
        seeds.append(seed)
        lives.append(info["lives"])
        frames.append(self.ale.getEpisodeFrameNumber())
        return observation, info

    monkeypatch.setattr(Atari, "reset", watched)
    one = trainer(method="uer", capacity=400, seed=0)
    one.epsilon = lambda step: 1.0
    log = play(one, 300)
    ends = [k for k, (*_, terminated, truncated) in enumerate(log) if terminated or truncated]
    lost = [k for k in ends if log[k][4]]
    assert isinstance(seeds[0], int) and seeds[1:] == [None] * len(ends)
    assert len(lost) >= 3 and len(ends) > len(lost)
    for number, end in enumerate(ends):
        if end in lost:
            assert lives[number + 1] == lives[number] - 1 and frames[number + 1] > frames[number]
        else:  # broken off: a new game with all its lives
            assert lives[number + 1] == 5 and frames[number + 1] < 40
    assert np.flatnonzero(one.memory.batch(np.arange(300)).absorbing).tolist() == lost


def test_ters_vertices_are_single_frames_and_its_roots_follow_lost_lives():
    one = trainer(capacity=400)
    one.epsilon = lambda step: 1.0
    log = play(one, 200)
    graph, phi = one.sampler.graph, one.sampler.phi
    assert set(graph.terminal.items) == {phi(after) for _, _, _, after, terminated, _ in log if terminated}
    assert set(graph.reached.items) == {phi(after) for _, _, _, after, _, _ in log}
    for number, (before, _, _, after, *_) in enumerate(log):
        assert before.shape == (84, 84) and number in graph.predecessors[phi(after)][phi(before)]
    assert any(truncated for *_, truncated in log)
    one.learn()
    assert one.sampler.fallbacks == 0


# --- evaluation -------------------------------------------------------------------------------------------------------


def test_evaluation_plays_whole_games_with_unclipped_rewards(monkeypatch):
    """Asterix pays 50; the games are broken off by time, none ends with a life."""
    cut(monkeypatch, 480)
    one, made = trainer(env="Asterix", method="uer", eval_episodes=2, eval_noise=1.0), []
    make_env = one.world.make_env
    monkeypatch.setattr(one.world, "make_env", lambda training: made.append(make_env(training)) or made[-1])
    returns, successes = evaluated(one, [1, 3])
    assert [env.training for env in made] == [False] * 2 and one.world.env.training
    assert returns.max() >= 50 and (returns % 50 == 0).all() and not successes.any()
    assert all(env.ale.game_over() and not env.ale.game_over(with_truncation=False) for env in made)


@pytest.mark.parametrize(
    ("game", "score", "normalized"),
    [("Pong", -5.7, 0.5), ("Kangaroo", 52.0, 0.0), ("Venture", 297.0, 0.25), ("Freeway", 29.6, 1.0)],
)
def test_scores_are_normalised_by_a_random_player_and_a_person(game, score, normalized):
    one = trainer(env=game, method="uer")
    metrics = one.world.judge(np.array([score - 1, score + 1]), np.array([False, False]))
    assert metrics == pytest.approx({"return": score, "normalized_return": normalized})


# --- settings ---------------------------------------------------------------------------------------------------------


def test_both_networks_learn_by_the_papers_rmsprop():
    one = trainer(method="discor")
    for optimizer in (one.agent.optimizer, one.sampler.errors.optimizer):
        assert isinstance(optimizer, torch.optim.RMSprop)
        [group] = optimizer.param_groups
        assert [group[name] for name in ("lr", "alpha", "eps", "momentum")] == [2.5e-4, 0.95, 0.01, 0.0]
    assert one.agent.q.trunk.convolutions[0].in_channels == 4


def test_a_misspelt_game_is_answered_with_the_right_one(tmp_path):
    assert_refused(train_atari, config(env="Pogn"), "unknown Atari game 'Pogn'; did you mean Pong", tmp_path)
