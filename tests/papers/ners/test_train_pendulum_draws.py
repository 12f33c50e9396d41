"""Fig. 1's run: priorities by hand, rows that can be checked against the memory, no transition drawn twice."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from papers.ners import train, train_pendulum_draws
from papers.ners.train_pendulum_draws import RULES, Config, largest, main, priorities, values
from tests.papers.runs import assert_refused, rows

COLUMNS = ("angle", "speed", "action", "td", "q")


def test_priorities_by_hand():
    found = priorities(np.array([-3.0, 0.5, 2.0]), np.array([-120.0, -100.0, -150.0]))
    assert {"top_td", *found} == {*RULES}
    np.testing.assert_array_equal(found["td"], [3.0, 0.5, 2.0])
    np.testing.assert_array_equal(found["q"], [30.0, 50.0, 0.0])
    np.testing.assert_array_equal(found["uniform"], [1.0, 1.0, 1.0])


def test_the_largest_td_errors():
    assert largest(np.array([-3.0, 0.5, 2.0, 3.0, -7.0]), 3).tolist() == [4, 0, 3]


def test_values_by_hand():
    """y = r + gamma (min Q' - alpha log pi) against both critics; the noise of y is drawn from a twin generator."""
    trainer = train.Trainer(train.Config("Pendulum-v1", "random", "sac", 0, 300, random_steps=128, capacity=300))
    for _ in range(140):
        trainer.advance()
    noise = trainer.agent.noise.get_state()
    td, q = values(trainer)
    assert td.shape == q.shape == (140,)
    trainer.agent.noise.set_state(noise)
    memory, agent = trainer.memory, trainer.agent
    tensors = [torch.from_numpy(memory[name][:140]) for name in ("state", "action", "reward", "next_state", "terminal")]
    with torch.no_grad():
        action, log_density = agent.policy(tensors[3])
        next_value = torch.minimum(*agent.target(tensors[3], action)) - agent.log_alpha.exp() * log_density
        y = tensors[2] + 0.99 * next_value
        both = agent.critics(tensors[0], tensors[1])
    np.testing.assert_allclose(q, (both[0] + both[1]) / 2, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(td, y - (both[0] + both[1]) / 2, rtol=1e-4, atol=1e-4)


def table(run_dir: Path) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for step, name, value in rows(run_dir):
        found.setdefault(name, {})[int(step)] = float(value)
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run: its directory, its summary and the trainer behind it."""
    run_dir, trainers = tmp_path_factory.mktemp("draws") / "run", []
    with pytest.MonkeyPatch.context() as patch:
        make = train_pendulum_draws.values
        patch.setattr(train_pendulum_draws, "values", lambda trainer: (trainers.append(trainer), make(trainer))[1])
        summary = main(Config(steps=300), run_dir)
    return run_dir, summary, trainers[0]


def test_a_run_logs_64_draws_of_each_rule(run):
    run_dir, summary, _ = run
    found = table(run_dir)
    assert found.keys() == {f"{rule}_{column}" for rule in RULES for column in COLUMNS}
    assert all(list(column) == list(range(64)) for column in found.values())
    assert summary.keys() == {"steps", *(f"{rule}_angle" for rule in RULES)} and summary["steps"] == 300
    for rule in RULES:
        angles = found[f"{rule}_angle"].values()
        assert summary[f"{rule}_angle"] == pytest.approx(np.mean(np.abs([*angles])), rel=1e-4)
        assert all(-math.pi <= angle <= math.pi for angle in angles)


def test_what_is_logged_lies_in_the_memory_and_no_transition_comes_twice(run):
    run_dir, _, trainer = run
    found, memory = table(run_dir), trainer.memory
    states, actions = memory["state"][:300], memory["action"][:300, 0]
    for rule in RULES:
        slots = []
        for k in range(64):
            angle, speed, action, td, _ = (found[f"{rule}_{column}"][k] for column in COLUMNS)
            distance = np.abs(states - [math.cos(angle), math.sin(angle), speed]).sum(axis=1) + abs(actions - action)
            slots.append(int(distance.argmin()))
            assert distance.min() < 1e-4 and td >= 0
        assert len(set(slots)) == 64
    assert len({tuple(found[f"{rule}_angle"].values()) for rule in RULES}) == 4


def test_draws_follow_their_rule(run):
    found = table(run[0])
    mean = {name: np.mean([*column.values()]) for name, column in found.items()}
    assert mean["top_td_td"] > mean["td_td"] > mean["uniform_td"] and mean["q_q"] > mean["uniform_q"]


def test_one_seed_one_result(run, tmp_path):
    main(Config(steps=300), tmp_path / "again")
    main(Config(steps=300, seed=1), tmp_path / "other")
    assert table(tmp_path / "again") == table(run[0]) != table(tmp_path / "other")


def test_the_agent_learns_as_the_figure_says(monkeypatch, tmp_path):
    seen = []

    class Stop(Exception):
        pass

    def stop(config):
        seen.append(config)
        raise Stop

    monkeypatch.setattr(train, "Trainer", stop)
    for steps, terminal in ((30_000, False), (600, True)):
        with pytest.raises(Stop):
            main(Config(seed=3, steps=steps, timeout_terminal=terminal), tmp_path)
    assert seen[0] == train.Config("Pendulum-v1", "random", "sac", 3, 30_000, random_steps=1_000)
    assert seen[1] == train.Config("Pendulum-v1", "random", "sac", 3, 600, random_steps=300, timeout_terminal=True)
    assert not list(tmp_path.iterdir())


def test_more_draws_than_transitions_are_all_of_them(tmp_path):
    main(Config(steps=260, draws=1_000), tmp_path)
    found = table(tmp_path)
    assert all(len(found[f"{rule}_angle"]) <= 260 for rule in RULES) and len(found["uniform_angle"]) == 260


def test_runs_that_are_too_short_are_refused(tmp_path):
    words = "learning from step 100 on, is smaller than a batch of 128"
    assert_refused(train_pendulum_draws, Config(steps=200), words, tmp_path)
