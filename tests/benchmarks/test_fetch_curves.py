"""HER beside Stable-Baselines3's: runs that are there are not repeated, files are checked, both learn equally often."""

import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks import fetch_curves as f
from papers.bias_reduced_her.train_fetch import Config

REACH = f.BUDGETS["FetchReach"]


def run(env="FetchReach", method=f.OURS, seed=0, value=0.5) -> pd.DataFrame:
    steps, every = f.BUDGETS[env]
    rows = [(env, method, seed, step, value) for step in range(every, steps + 1, every)]
    return pd.DataFrame(rows, columns=f.COLUMNS)


def refused(capsys, *argv) -> str:
    with pytest.raises(SystemExit) as stopped:
        f.main([*map(str, argv)])
    out, err = capsys.readouterr()
    assert stopped.value.code == 2 and not out and err.count("\n") == 1
    return err


def test_mistakes_cost_one_line(tmp_path, monkeypatch, capsys):
    assert "choose from: fetchreach, fetchpush" in refused(capsys, "--env", "FetchPsuh")
    assert "a number of seeds" in refused(capsys, "--seeds", "two")
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n")
    monkeypatch.setattr(f, "library", lambda script: None)
    monkeypatch.setattr(f, "register", lambda: None)
    assert "has not the columns env, method" in refused(capsys, "--csv", bad)
    for rows in (run()[1:], pd.concat([run(), run()])):
        rows.to_csv(bad, index=False)
        assert "not every step of FetchReach, ours, seed 0 once" in refused(capsys, "--csv", bad)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    monkeypatch.setattr(f, "library", lambda script: None)
    assert "pip install gymnasium-robotics==1.4.2" in refused(capsys)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    assert refused(capsys) == "error: fetch_curves needs stable_baselines3: .venv/bin/pip install --group bench\n"


def test_what_is_there_is_not_trained_again(tmp_path, monkeypatch):
    """Seed 0 of ours is there; the others are added, each when it is done."""
    csv, made = tmp_path / "a.csv", []
    f.append(csv, run(value=0.25))

    def learner(sb3, *which):
        assert len(f.read(csv).groupby(f.RUN)) == 1 + len(made)  # those before are written
        made.append(which)

    monkeypatch.setattr(f, "library", lambda script: None)
    monkeypatch.setattr(f, "register", lambda: None)
    monkeypatch.setattr(f, "learner", learner)
    monkeypatch.setattr(f, "trained", lambda env, name, seed, learner: run(env, name, seed, 1.0))
    for _ in range(2):
        f.main(["--env", "FetchReach", "--seeds", "2", "--csv", str(csv)])
        names = [(f.PLAIN, 0), (f.PEER, 0), (f.OURS, 1), (f.PLAIN, 1), (f.PEER, 1)]
        assert made == [("FetchReach", name, seed) for name, seed in names]
    frame = f.read(csv)
    assert len(frame) == 6 * REACH[0] // REACH[1]
    assert frame[(frame["method"] == f.OURS) & (frame["seed"] == 0)]["solved"].unique() == [0.25]
    assert csv.with_suffix(".png").stat().st_size > 10_000
    assert "| FetchReach | over 32,000 steps" in csv.with_suffix(".md").read_text()


class Trained:
    """A trainer of two episodes per cycle, whose agent says how often it has learned."""

    def __init__(self, config):
        self.config, self.steps_done, self.agent, self.cycles = config, 0, self, 0

    def cycle(self):
        self.steps_done, self.cycles = self.steps_done + 100, self.cycles + 1

    def inputs(self, states, goals):
        return states + goals

    def act(self, inputs):
        return inputs, self.cycles, self.config


def test_ours_trains_with_and_without_the_penalty(monkeypatch):
    monkeypatch.setattr(f, "BUDGETS", {"FetchPush": (400, 200)})
    monkeypatch.setattr(f, "Trainer", Trained)
    seen = {"observation": 1, "achieved_goal": 10, "desired_goal": 100}
    for name, penalty in ((f.OURS, 1.0), (f.PLAIN, 0.0)):
        config = Config(env="FetchPush", seed=7, capacity=5 * 400, action_penalty=penalty)
        found = [(step, act(seen)) for step, act in f.learner(None, "FetchPush", name, 7)]
        assert found == [(200, (101, 2, config)), (400, (101, 4, config))]


def test_the_page_has_means_and_differences_with_their_intervals():
    """Student's t at 0.975 is 12.7 with one degree of freedom; of one run there is no interval."""
    late = run()["step"] > REACH[0] - f.LAST * REACH[1]
    rows = [run(method=name, seed=seed, value=1.0) for name in (f.OURS, f.PLAIN) for seed in range(2)]
    rows += [run(method=f.PEER, seed=seed).assign(solved=0.2 * late + 0.1 * seed) for seed in range(2)]
    text = f.page(pd.concat([*rows, run("FetchPush", f.OURS)]), f.CSV)
    lines = [line for line in text.splitlines() if line.startswith("| Fetch")]
    over, end, push, _ = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert end[1:4] == ["in the last 8,000", "1 [1, 1]", "1 [1, 1]"]
    assert end[4:] == ["0.25 [-0.385, 0.885]", "+0.75 [+0.115, +1.39]", "2, 2, 2"]
    assert over[4] == "0.1 [-0.535, 0.735]"  # 0.2 in a quarter of the run, and 0.05 more on average
    assert push[2:] == ["0.5", "not run", "not run", "", "1, 0, 0"]


def test_solved_is_of_the_last_step_and_of_episodes_that_do_not_begin_at_their_goal():
    class Tests:
        """Three episodes: one begins and ends at its goal, one passes through its goal, one ends there."""

        num_envs = 3

        def reset(self, seed):
            assert len(set(seed)) == 3 and all(s % 2 for s in seed)
            self.t = 0
            return {}, {"is_success": np.array([1.0, 0.0, 0.0])}

        def step(self, actions):
            assert actions == "greedy"
            self.t += 1
            success = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])[self.t - 1]
            return {}, None, None, np.full(3, self.t == 2), {"is_success": success}

    assert f.solved(Tests(), lambda seen: "greedy", 0, 800) == 0.5


def test_the_peer_learns_as_often_as_ours_from_all_whole_episodes(monkeypatch):
    """Two episodes side by side, then the updates of a cycle; the scales see every step; the targets move as far."""
    sb3 = pytest.importorskip("stable_baselines3")
    pytest.importorskip("gymnasium_robotics")
    counts, train = [], sb3.DDPG.train

    def counted(self, gradient_steps: int, batch_size: int) -> None:
        counts.append((self.num_timesteps, gradient_steps, batch_size))
        assert (self.replay_buffer.ep_length[: self.num_timesteps // 2] == 50).all()
        train(self, 2, batch_size)

    monkeypatch.setattr(sb3.DDPG, "train", counted)
    agent = f.peer(sb3, Config(env="FetchReach", episodes=2, batch_size=8), 400)
    for _ in range(2):
        agent.learn(100, reset_num_timesteps=False, log_interval=None)
    assert counts == [(100, 40, 8), (200, 40, 8)]
    assert (1 - agent.tau) ** 40 == pytest.approx(0.95) and (agent.gamma, agent.learning_rate) == (0.98, 1e-3)
    scales = agent.get_vec_normalize_env()
    assert scales.obs_rms["observation"].count == pytest.approx(201, abs=6) and not scales.norm_reward
    seen = {key: np.full((3, n), 1e3) for key, n in (("observation", 10), ("achieved_goal", 3), ("desired_goal", 3))}
    assert agent.predict(scales.normalize_obs(seen), deterministic=True)[0].shape == (3, 4)
    assert max(value.max() for value in scales.normalize_obs(seen).values()) == 5.0
