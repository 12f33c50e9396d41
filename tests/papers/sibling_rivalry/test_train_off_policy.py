"""The off-policy script: what is stored and replayed, when targets move, resuming, metrics, bad settings, learning."""

import dataclasses
from functools import partial

import numpy as np
import pytest
import torch

from envs.goal_task import GoalTask
from papers.sibling_rivalry import train_off_policy
from papers.sibling_rivalry.agents.ddpg import DDPG
from papers.sibling_rivalry.agents.dqn import DQN
from papers.sibling_rivalry.agents.hierarchy import Hierarchy
from papers.sibling_rivalry.agents.rollouts import Rollouts
from papers.sibling_rivalry.train_off_policy import Config, Trainer, main, of_task
from tests.papers.runs import assert_refused, assert_resumes, rows, weights
from tests.papers.sibling_rivalry.fake_tasks import Flat, Line, Picture, Plane

TINY = dict(
    epochs=3, cycles=2, episodes=4, updates=3, batch_size=16, capacity=1_000, warmup=20, adam_eps=1e-8, eval_episodes=5
)  # fmt: skip
METRICS = {"success", "distance", "env_steps", "train_success", "critic_loss", "q_mean"}


class Ring(Plane):
    """Goals lie on a circle around the start, four steps away or more: too far to be found by chance."""

    tolerance = 0.15

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        angle = rng.uniform(0, 2 * np.pi, n)
        return (1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)).astype(np.float32)


class Bits(Flat):
    """Eight bits, of which each action flips one, and as many steps: 256 goals."""

    observation_shape = goal_shape = (8,)
    n_actions, action_range, tolerance, max_steps = 8, None, 0.0, 8

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(2, size=(n, 8), dtype=np.uint8)

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.starts(n, rng).astype(np.float32)

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        after = states.copy()
        after[np.arange(len(states)), actions] ^= 1
        return after

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return states.astype(np.float32)


TASKS = {
    "Plane": partial(Plane, noise=0.1), "Line": Line, "Picture": Picture, "Ring": partial(Ring, 8), "Bits": Bits,
    "Levels": lambda: Hierarchy(Plane(max_steps=24), 0.5, 6),
}  # fmt: skip
KINDS = [("Plane", "ddpg-her"), ("Line", "dqn-her"), ("Line", "dqn"), ("Picture", "dqn-her"), ("Picture", "dqn")]


@pytest.fixture(autouse=True)
def these_tasks(monkeypatch):
    make = train_off_policy.make_task
    monkeypatch.setattr(train_off_policy, "make_task", lambda name: TASKS[name]() if name in TASKS else make(name))


def config(env: str = "Plane", method: str = "ddpg-her", seed: int = 0, **settings) -> Config:
    return Config(env, method, seed, **(TINY | settings))


def trainer(*arguments, **settings) -> Trainer:
    return Trainer(config(*arguments, **settings))


# --- whole runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("env", "method"), KINDS)
def test_interrupted_and_resumed_equals_uninterrupted(env, method, tmp_path, monkeypatch):
    """Stopped in the last epoch, after a checkpoint of the second. The memory wraps round. One seed, one result."""
    settings = config(env, method, capacity=120)
    summary = assert_resumes(train_off_policy, settings, tmp_path, monkeypatch, kills=[20], saved=16, save_every=1)

    # and what a run of each method leaves behind
    assert set(summary) == METRICS | {"episodes"} and summary["episodes"] == 24
    ends = {f"end {i} {axis}" for i in range(5) for axis in "xy"} if env == "Plane" else set()
    found = {(step, metric) for step, metric, _ in rows(tmp_path / "whole")}
    assert found == {(step, metric) for step in ("8", "16", "24") for metric in METRICS | ends}
    agent = Trainer(settings).agent
    network = agent.actor if method == "ddpg-her" else agent.q
    assert weights(tmp_path / "whole").keys() == network.state_dict().keys()


def test_with_two_levels_too(tmp_path, monkeypatch):
    settings = config("Levels", capacity=120, warmup=5)
    summary = assert_resumes(train_off_policy, settings, tmp_path, monkeypatch, kills=[20], saved=16, save_every=1)
    low = {"low_policy_loss", "low_value_loss", "low_entropy", "subgoal_distance"}
    assert set(summary) == METRICS | low | {"episodes"} and summary["env_steps"] % 6 == 0
    assert {name.split(".")[0] for name in weights(tmp_path / "whole")} == {"high", "low"}


def test_another_seed_gives_another_run(tmp_path):
    for seed in (0, 1):
        main(config(seed=seed), tmp_path / str(seed))
    assert rows(tmp_path / "0") != rows(tmp_path / "1")


# --- what is stored --------------------------------------------------------------------------------------------------


def made_up(task: GoalTask, visits: list[list[int]], goals: list[int], reached: list[bool]) -> Rollouts:
    """Episodes on the line that visit these cells."""
    n, steps = len(visits), task.max_steps
    states, actions = np.zeros((n, steps + 1, 1), np.int64), np.zeros((n, steps), np.int64)
    for i, cells in enumerate(visits):
        states[i, : len(cells), 0] = cells
        actions[i, : len(cells) - 1] = np.diff(cells) + 1
    lengths = np.array([len(cells) - 1 for cells in visits])
    ends = np.array([cells[-1:] for cells in visits], np.float32)
    return Rollouts(states, actions, np.array(goals, np.float32)[:, None], ends, lengths, np.array(reached))


def stored(one: Trainer, *names: str) -> list[tuple]:
    """The memory's rows, sorted: the order is of no interest."""
    values = one.memory.get(np.arange(len(one.memory)))
    names = names or ("state", "action", "next_state", "goal", "reward", "terminal")
    return sorted(zip(*(values[name].ravel().tolist() for name in names)))


VISITS = [[0, 1, 2], [5, 5, 4, 3, 3, 4]]  # the first reaches its goal, the second runs out of time
PURSUED = [(0, 2, 1, 2, 0, 0), (1, 2, 2, 2, 1, 1)], [
    (5, 1, 5, 0, 0, 0), (5, 0, 4, 0, 0, 0), (4, 0, 3, 0, 0, 0), (3, 1, 3, 0, 0, 0), (3, 2, 4, 0, 0, 0),
]  # fmt: skip


def test_stored_transitions_by_hand():
    """Everything that comes later as a goal, but for goals that are met already; and always the goal pursued."""
    one = trainer("Line", "dqn-her", k=5)
    one.store(made_up(one.task, VISITS, [2, 0], [True, False]))
    hindsight = [
        (0, 2, 1, 1, 1, 1), (0, 2, 1, 2, 0, 0),
        (1, 2, 2, 2, 1, 1),
        (5, 1, 5, 4, 0, 0), (5, 1, 5, 3, 0, 0), (5, 1, 5, 3, 0, 0), (5, 1, 5, 4, 0, 0),
        (5, 0, 4, 4, 1, 1), (5, 0, 4, 3, 0, 0), (5, 0, 4, 3, 0, 0), (5, 0, 4, 4, 1, 1),
        (4, 0, 3, 3, 1, 1), (4, 0, 3, 3, 1, 1),
        (3, 1, 3, 4, 0, 0),
        (3, 2, 4, 4, 1, 1),
    ]  # fmt: skip
    assert stored(one) == sorted([*PURSUED[0], *PURSUED[1], *hindsight])


def test_dense_rewards_by_hand():
    """Minus the distance after every step, 1 for success, and no hindsight."""
    one = trainer("Line", "dqn", k=5, capacity=20)  # which hindsight would not fit into
    one.store(made_up(one.task, VISITS, [2, 0], [True, False]))
    rewards = [-1, 1], [-5, -4, -3, -3, -4]
    expected = [(*step[:4], reward, step[5]) for i in (0, 1) for step, reward in zip(PURSUED[i], rewards[i])]
    assert stored(one) == sorted(expected)


def test_batches_are_observed_from_the_memory():
    for env, method in KINDS:
        one = trainer(env, method, episodes=10)
        one.cycle()
        slots = np.random.default_rng(0).permutation(len(one.memory))
        assert method == "dqn" or 0 < one.memory["terminal"].sum() < len(slots)
        b, values, task = one.batch(slots), one.memory.get(slots), one.task
        assert values["goal"].dtype == (np.uint8 if env == "Picture" else np.float32)
        goals, after = values["goal"].astype(np.float32), task.achieved(values["next_state"])
        np.testing.assert_array_equal(task.success(after, goals), values["terminal"])
        expected = dict(
            observations=task.observe(values["state"]), actions=values["action"], goals=values["goal"],
            rewards=values["reward"], next_observations=task.observe(values["next_state"]), terminal=values["terminal"],
            next_legal=task.legal(values["next_state"]),
        )  # fmt: skip
        for name, value in expected.items():
            found = getattr(b, name)
            assert (found is None) == (value is None)
            if value is not None:
                np.testing.assert_array_equal(found.numpy(), value)
                integers = torch.float32 if env == "Plane" else torch.int64
                types = {"actions": integers, "next_legal": torch.bool}
                assert found.dtype == types.get(name, torch.float32)
        assert (b.next_legal is None) == (env == "Plane")


# --- a cycle ---------------------------------------------------------------------------------------------------------


def test_a_cycle_plays_then_learns_then_moves_the_targets_once(monkeypatch):
    one, log = trainer(), []
    drawn, update, sync = one.batch, one.agent.update, one.agent.sync
    one.batch = lambda slots: log.append(slots) or drawn(slots)
    monkeypatch.setattr(one.agent, "update", lambda batch: log.append("update") or update(batch))
    monkeypatch.setattr(one.agent, "sync", lambda: log.append("sync") or sync())
    entry = one.cycle()
    slots = np.stack(log[0:6:2])
    assert log[1::2] == ["update"] * 3 and log[6:] == ["sync"]
    assert slots.shape == (3, 16) and 0 <= slots.min() and 20 < slots.max() < len(one.memory)
    assert len(np.unique(slots)) > 30  # every update has a batch of its own
    assert one.episodes_done == 4 and 4 <= one.steps_done <= 24
    assert set(entry) == {"train_success", "critic_loss", "q_mean"}


def test_what_a_cycle_reports_is_the_mean_of_its_updates(monkeypatch):
    one = trainer()
    results = iter([(1.0, 10.0), (2.0, 20.0), (6.0, 30.0)])
    monkeypatch.setattr(one.agent, "update", lambda batch: tuple(map(torch.tensor, next(results))))
    entry = one.cycle()
    assert (entry["critic_loss"], entry["q_mean"]) == (3.0, 20.0)


def test_learning_starts_after_the_warm_up(monkeypatch):
    """Without hindsight, episodes that cannot succeed add 4 x 5 transitions per cycle."""
    monkeypatch.setattr(Line, "success", lambda self, achieved, goals: np.zeros(len(goals), bool))
    one = trainer("Line", "dqn", warmup=41)
    entries = [one.cycle() for _ in range(4)]
    assert ["critic_loss" in entry for entry in entries] == [False, False, True, True]
    assert "critic_loss" in trainer("Line", "dqn", warmup=20).cycle()
    assert "critic_loss" not in trainer("Line", "dqn", warmup=41).evaluate()


def test_the_plain_and_the_hindsight_learner_see_the_same_first_episodes():
    her, plain = trainer("Line", "dqn-her"), trainer("Line", "dqn")
    for one in (her, plain):
        one.config = dataclasses.replace(one.config, warmup=10**6)
        one.cycle()
    n = plain.steps_done
    for name in ("state", "action", "goal"):
        np.testing.assert_array_equal(her.memory[name][:n], plain.memory[name][:n])
    assert all(torch.equal(a, b) for a, b in zip(her.agent.parameters, plain.agent.parameters))


# --- evaluation ------------------------------------------------------------------------------------------------------


def test_evaluation_is_greedy_and_leaves_training_alone(monkeypatch):
    one, other = trainer(), trainer()
    monkeypatch.setattr(DDPG, "explore", None)  # would fail if asked
    first, again = one.evaluate(), one.evaluate()
    assert first == again
    monkeypatch.undo()
    monkeypatch.setattr(train_off_policy, "make_task", lambda name: TASKS[name]())
    for each in (one, other):
        each.cycle()
    np.testing.assert_array_equal(one.memory["state"], other.memory["state"])
    assert torch.equal(one.agent.actor.body[0].weight, other.agent.actor.body[0].weight)
    assert one.evaluate()["distance"] != first["distance"]


def test_metrics_by_hand(monkeypatch):
    """Three of four episodes reach their goal, the last ends 2 cells away."""
    one = trainer("Line", "dqn")
    rollouts = made_up(one.task, [[0, 1], [1, 2], [2, 3], [6, 5, 4, 4, 4, 4]], [1, 2, 3, 2], [True, True, True, False])
    monkeypatch.setattr(train_off_policy, "play", lambda *given: rollouts)
    one.steps_done = 77
    one._log = [{"train_success": 0.5}, {"train_success": 0.0, "critic_loss": 3.0, "q_mean": -1.0}]
    assert one.evaluate() == {
        "success": 0.75, "distance": 0.5, "env_steps": 77, "train_success": 0.25, "critic_loss": 3.0, "q_mean": -1.0,
    }  # fmt: skip
    assert one.evaluate() == {"success": 0.75, "distance": 0.5, "env_steps": 77}  # of the time since the last one
    assert one.evaluations == 2


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "method", "column"),
    [
        *((env, "ddpg-her", (50, 20 * 64, 20 * 100_000, 0.25)) for env in ("PointMaze", "Corridor-10", "UMaze-10")),
        *(("PixelGrid-13", method, (50, 20 * 128, 20 * 500_000)) for method in ("dqn-her", "dqn")),
        ("AntMaze", "ddpg-her", (20, 20 * 128, 20 * 500_000, 0.0002)),
    ],
)
def test_settings_are_those_of_the_papers_columns(env, method, column):
    """Table 2, for 20 workers; cycles and capacity are the authors'. A discrete action has no square."""
    plain = Config(env, method)
    assert of_task(plain, train_off_policy.make_task(env))[: len(column)] == column
    assert (plain.episodes, plain.updates, plain.lr, plain.gamma, plain.polyak) == (20 * 4, 40, 1e-3, 0.98, 0.95)
    assert (plain.random_actions, plain.noise) == (0.2, 0.1)


def test_every_setting_reaches_its_place():
    shared = dict(lr=0.01, adam_eps=1e-5, gamma=0.9, polyak=0.7, random_actions=0.4, capacity=777, batch_size=9, k=2)
    for env, method in (("Plane", "ddpg-her"), ("Line", "dqn-her")):
        one = trainer(env, method, **shared, noise=0.3, action_l2=0.6)
        agent = one.agent
        adam = agent._arguments[1] if env == "Plane" else agent.adam.param_groups[0]
        assert isinstance(agent, DDPG if env == "Plane" else DQN)
        assert (
            adam["lr"],
            adam["adam_eps" if env == "Plane" else "own_eps"],
            agent.gamma,
            agent.polyak,
            agent.random_actions,
        ) == (0.01, 1e-5, 0.9, 0.7, 0.4)
        assert (one.memory.capacity, one.settings.batch_size, one.k) == (777, 9, 2)
    ddpg = trainer(noise=0.3, action_l2=0.6).agent
    assert (ddpg.noise, ddpg.action_l2) == (0.3, 0.6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(method="dqn"), "dqn does not work with the continuous actions of Plane; use ddpg-her"),
        (dict(method="dqn-her"), "dqn-her does not work with the continuous actions of Plane; use ddpg-her"),
        (dict(env="Line"), "ddpg-her does not work with the discrete actions of Line; use dqn-her or dqn"),
        (dict(batch_size=1001), "a capacity of 1000 is too small: batch_size needs 1001 transitions"),
        (dict(warmup=1001), "a capacity of 1000 is too small: warmup needs 1001 transitions"),
        (dict(capacity=119), "a capacity of 119 is too small: a cycle needs 120 transitions"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_settings_that_cannot_work_are_named(settings, message, tmp_path):
    assert_refused(train_off_policy, config(**settings), message, tmp_path)


def test_the_smallest_settings_that_are_allowed_do_run(tmp_path):
    smallest = dict(epochs=1, cycles=1, episodes=1, updates=1, batch_size=1, eval_episodes=1, warmup=1, k=0, capacity=6)
    zeros = dict(noise=0.0, action_l2=0.0, gamma=0.0, polyak=0.0, random_actions=0.0)
    assert main(config(**smallest, **zeros), tmp_path)["episodes"] == 1


# --- learning --------------------------------------------------------------------------------------------------------

FAST = dict(episodes=20, updates=20, batch_size=128, capacity=50_000, warmup=500, polyak=0.8, eval_episodes=100)


def success(env: str, method: str, cycles: int, **settings) -> float:
    one = trainer(env, method, **(FAST | settings))
    for _ in range(cycles):
        one.cycle()
    return one.evaluate()["success"]


def test_the_ring_is_reached_in_hindsight_and_not_without():
    assert success("Ring", "ddpg-her", 20, lr=2e-3) >= 0.6
    assert success("Ring", "ddpg-her", 20, lr=2e-3, k=0) <= 0.2


def test_bits_are_flipped_in_hindsight_and_not_without():
    assert success("Bits", "dqn-her", 32) >= 0.4
    assert success("Bits", "dqn-her", 32, k=0) <= 0.15


def test_the_line_is_learnt_with_dense_rewards():
    assert success("Line", "dqn", 0) <= 0.6
    assert success("Line", "dqn", 10, batch_size=64, warmup=100) >= 0.85
