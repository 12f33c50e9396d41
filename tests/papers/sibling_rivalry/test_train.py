"""The training script: what is learnt from, by method; runs, resuming, evaluation, bad settings; and that it learns."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from envs.ant.ant_maze import LAYOUTS
from lab.run.settings import check
from papers.sibling_rivalry import train
from papers.sibling_rivalry.agents.fast_ppo import FastPPO
from papers.sibling_rivalry.agents.hierarchy import Hierarchy
from papers.sibling_rivalry.agents.ppo import Experience
from papers.sibling_rivalry.agents.rollouts import Rollouts
from papers.sibling_rivalry.train import METHODS, Config, Trainer, main
from tests.papers.runs import assert_refused, assert_resumes, rows, weights
from tests.papers.sibling_rivalry.fake_tasks import Hook, Line, Picture, Plane

TINY = dict(epochs=2, updates=2, rollouts=8, eval_episodes=3)
CURIOUS = ("ppo-icm", "ppo-rnd")
FAKES = {
    "Plane": Plane, "Line": Line, "Picture": Picture, "Hook": Hook,
    "Levels": lambda: Hierarchy(Plane(max_steps=24), 0.5, 6),
}  # fmt: skip


@pytest.fixture(autouse=True)
def fake_tasks(monkeypatch):
    """Tasks of the tests have names, too."""
    real = train.make_task
    monkeypatch.setattr(train, "make_task", lambda name: FAKES[name]() if name in FAKES else real(name))


def config(**settings) -> Config:
    return Config(**(TINY | settings))


def trainer(env: str = "Plane", **settings) -> Trainer:
    return Trainer(config(env=env, **settings))


def parameters(one: Trainer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in one.agent.parameters])


# --- whole runs ------------------------------------------------------------------------------------------------------

COMMON = {"success", "distance", "apart", "env_steps", "train_success", "kept", "policy_loss", "value_loss", "entropy"}
VARIANTS = {
    **{f"PointMaze, {method}": dict(env="PointMaze", method=method) for method in METHODS},
    **{f"PixelGrid, {method}": dict(env="PixelGrid-5-12", method=method) for method in METHODS if method != "ppo-go"},
    "independent starts": dict(env="PointMaze", independent_starts=True, epsilon=0.1),
    "two levels": dict(env="Levels", epsilon=0.1),
    "ant": dict(env="AntMazeSmall", worker_rollouts=2),
}
LOW = {"low_policy_loss", "low_value_loss", "low_entropy", "subgoal_distance"}


@pytest.mark.parametrize("name", VARIANTS)
def test_interrupted_and_resumed_equals_uninterrupted(name, tmp_path, monkeypatch):
    """Stopped in the last epoch, with a checkpoint of the second. Also: one seed, one result."""
    monkeypatch.setitem(LAYOUTS, "small U", dataclasses.replace(LAYOUTS["small U"], steps=40))
    settings = config(**(VARIANTS[name] | {"epochs": 3, "rollouts": 4, "eval_episodes": 1}))
    summary = assert_resumes(train, settings, tmp_path, monkeypatch, kills=[20], saved=16, save_every=1)

    # and what a run of each method leaves behind
    levels = settings.env in ("Levels", "AntMazeSmall")
    expected = COMMON | ({"curiosity_loss"} if settings.method in CURIOUS else set()) | (LOW if levels else set())
    assert set(summary) == expected | {"episodes"} and summary["episodes"] == 24
    assert all(math.isfinite(value) for value in summary.values())
    assert 0 <= summary["success"] <= 1 and 0 < summary["env_steps"] <= 24 * 50
    assert 0.5 <= summary["kept"] <= 1 and (summary["kept"] == 1 or settings.method == "ppo-sr")
    ends = set() if settings.env.startswith("Pixel") else {f"end {i} {axis}" for i in range(2) for axis in "xy"}
    found = {(step, metric) for step, metric, _ in rows(tmp_path / "whole")}
    assert found == {(step, metric) for step in ("8", "16", "24") for metric in expected | ends}
    fresh = Trainer(settings).weights()
    assert fresh.keys() == weights(tmp_path / "whole").keys() and levels == ("low.body.0.weight" in fresh)
    assert not any(torch.equal(value, fresh[name]) for name, value in weights(tmp_path / "whole").items())


# --- what is learnt from ---------------------------------------------------------------------------------------------


def played(one: Trainer, n: int = 40, seed: int = 0) -> Rollouts:
    """Rollouts of n / 2 pairs, among them successes of any length."""
    rng = np.random.default_rng(seed)
    rollouts = one.play(*one.pairs(n // 2, rng), rng)
    assert 0 < rollouts.reached.sum() < n and len(set(rollouts.lengths.tolist())) > 1
    return rollouts


def regions(task, rollouts: Rollouts, i: int, side: float) -> int:
    """Squares of the plane that rollout i has been in after a step."""
    places = task.achieved(rollouts.states[i, 1 : rollouts.lengths[i] + 1]).tolist()
    return len({tuple(math.floor((coordinate + 0.5) / side) for coordinate in place) for place in places})


def expected_experience(one: Trainer, rollouts: Rollouts) -> list[dict]:
    """The transitions of each kept rollout, in plain Python, step by step."""
    task, settings, found = one.task, one.config, []
    for i in range(len(rollouts)):
        length, goal, sibling = rollouts.lengths[i], rollouts.goals[i], i ^ 1
        reached, end = (
            rollouts.reached[i],
            {j: rollouts.goals[j] if rollouts.reached[j] else rollouts.ends[j] for j in (i, sibling)},
        )
        to_goal = {j: 0.0 if rollouts.reached[j] else float(task.distance(end[j], goal)) for j in (i, sibling)}
        anti_goal = None
        if settings.method == "ppo-sr":
            anti_goal, apart = end[sibling], float(task.distance(end[i], end[sibling]))
            closer = to_goal[i] < to_goal[sibling] or (to_goal[i] == to_goal[sibling] and i % 2 == 1)
            if closer and apart >= settings.epsilon and not reached:
                continue
            last = 1.0 if reached else min(0.0, apart - to_goal[i])
        else:
            last = float(reached)
            last -= to_goal[i] if settings.method == "ppo" else 0.0
            last += 0.01 * regions(task, rollouts, i, settings.cell_side) if settings.method == "ppo-go" else 0.0
        states = rollouts.states[i, : length + 1]
        seen = torch.from_numpy(task.observe(states))
        goals = torch.from_numpy(goal).expand(length + 1, *goal.shape)
        anti_goals = None if anti_goal is None else torch.from_numpy(anti_goal).expand(length + 1, *goal.shape)
        values = one.agent.values(seen, goals, anti_goals).tolist()
        actions, rewards = torch.from_numpy(rollouts.actions[i, :length]), [0.0] * (length - 1) + [last]
        if settings.method in CURIOUS:
            surprise = one.curiosity.surprise(seen[:-1], actions, seen[1:])
            rewards = [r + 0.01 * s for r, s in zip(rewards, surprise.tolist())]
        if reached or settings.method not in CURIOUS:
            values[-1] = 0.0  # nothing is expected behind the end, be it a success or a time-out
        gamma = 0.98 if settings.method in CURIOUS else 1.0
        delta = [rewards[t] + gamma * values[t + 1] - values[t] for t in range(length)]
        for t in range(length):
            advantage = sum((0.98 * gamma) ** (k - t) * delta[k] for k in range(t, length))
            found.append(dict(
                observations=seen[t], next_observations=seen[t + 1], goals=goals[t],
                anti_goals=None if anti_goal is None else anti_goals[t], actions=actions[t],
                legal=None if task.legal(states) is None else torch.from_numpy(task.legal(states))[t],
                advantages=advantage, returns=advantage + values[t],
            ))  # fmt: skip
    return found


TRIALS = [
    (env, method) for env in ("Plane", "Line", "Picture") for method in METHODS if env == "Plane" or method != "ppo-go"
]


@pytest.mark.parametrize(("env", "method"), TRIALS)
def test_transitions_step_by_step(env, method):
    one = trainer(env, method=method, epsilon=1.0, cell_side=0.4)
    rollouts = played(one)
    last, anti_goals, kept = one.last_rewards(rollouts)
    data, workers = one.experience(rollouts, last, anti_goals, kept)
    assert workers.tolist() == [i // 4 for i in np.flatnonzero(kept) for _ in range(rollouts.lengths[i])]
    expected = expected_experience(one, rollouts)
    assert len(data) == len(expected) == rollouts.lengths[kept].sum()
    assert (kept.sum() < len(rollouts)) == (method == "ppo-sr")
    for field in dataclasses.fields(Experience):
        values = getattr(data, field.name)
        if field.name in ("advantages", "returns"):
            assert values.dtype == torch.float32
            np.testing.assert_allclose(values, [row[field.name] for row in expected], rtol=1e-4, atol=1e-4)
        elif field.name == "next_observations" and method not in CURIOUS:
            assert values is None
        elif expected[0][field.name] is None:
            assert values is None
        else:
            assert torch.equal(values, torch.stack([row[field.name] for row in expected]))


@pytest.mark.parametrize("method", METHODS)
def test_an_update_learns_from_what_it_played(method, monkeypatch):
    one, heard = trainer(method=method, rollouts=6), []
    play = one.play
    monkeypatch.setattr(one, "play", lambda *given: heard.append(play(*given)) or heard[-1])
    before = parameters(one)
    for n in (1, 2):
        entry = one.update()
        assert one.episodes_done == 6 * n and one.steps_done == sum(rollouts.lengths.sum() for rollouts in heard)
        assert entry["train_success"] == heard[-1].reached.mean() and one._log[-1] == entry
        assert entry["kept"] == one.last_rewards(heard[-1])[2].mean()
        assert not torch.equal(before, parameters(one))


def test_too_few_transitions_for_the_minibatches_are_not_learnt_from(tmp_path):
    one = trainer(minibatches=1000)
    before = parameters(one)
    assert set(one.update()) == {"train_success", "kept"} and torch.equal(before, parameters(one))
    assert one.episodes_done == 8
    assert "policy_loss" not in main(config(env="Plane", minibatches=1000), tmp_path)


def test_methods_share_everything_but_rewards():
    """The same first policy; and those that play alike, the same first episodes."""
    trainers = {method: trainer(method=method) for method in METHODS}
    policy = trainers["ppo"].agent.policy.state_dict()
    for one in trainers.values():
        assert all(torch.equal(value, policy[name]) for name, value in one.agent.policy.state_dict().items())
    steps = {}
    for method, one in trainers.items():
        one.update()
        steps[method] = one.steps_done, one._log[0]["train_success"]
    assert len({steps[method] for method in METHODS if method != "ppo-sr"}) == 1
    assert [one.curiosity is not None for one in trainers.values()] == [method in CURIOUS for method in METHODS]


# --- pairs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("independent", [False, True])
def test_siblings_share_the_goal_and_unless_told_otherwise_the_start(independent):
    starts, goals = trainer("Plane", independent_starts=independent).pairs(30, np.random.default_rng(0))
    assert starts.shape == goals.shape == (60, 2)
    assert len(np.unique(starts, axis=0)) == (60 if independent else 30) and len(np.unique(goals, axis=0)) == 30
    np.testing.assert_array_equal(goals[::2], goals[1::2])
    assert independent or np.array_equal(starts[::2], starts[1::2])


def test_only_sibling_rivalry_plays_pairs(monkeypatch):
    for method in METHODS:
        one, seen = trainer(method=method, rollouts=6), []
        play = one.play
        monkeypatch.setattr(one, "play", lambda *given, play=play, seen=seen: seen.append(given) or play(*given))
        one.update()
        starts, goals, rng = seen[0]
        n = 3 if method == "ppo-sr" else 6
        assert len(starts) == 6 and len(np.unique(starts, axis=0)) == len(np.unique(goals, axis=0)) == n
        assert rng is one.rng


# --- evaluation ------------------------------------------------------------------------------------------------------


def test_metrics_by_hand(monkeypatch):
    """Two pairs: 0.5 and 1.5 from the goal and 2 apart; success within 0.1, and 3 from the goal, so 2.9 apart."""
    one = trainer(eval_episodes=2)
    ends = np.float32([[0.5, 0], [2.5, 0], [1.1, 0], [4.0, 0]])
    rollouts = Rollouts(
        np.zeros((4, 7, 2)), np.zeros((4, 6, 2), np.float32), np.float32([[1, 0]] * 4), ends, np.array([6, 6, 3, 6]),
        np.array([False, False, True, False]),
    )  # fmt: skip
    monkeypatch.setattr(one, "play", lambda starts, goals, rng: rollouts)
    one.steps_done = 77
    one._log = [{"kept": 1.0, "policy_loss": 2.0}, {"kept": 0.5}, {"kept": 0.0, "policy_loss": 5.0}]
    metrics = one.evaluate()
    ends = {name: metrics.pop(name) for name in list(metrics) if name.startswith("end ")}
    assert metrics == pytest.approx(dict(
        success=0.25, distance=(0.5 + 1.5 + 0.1 + 3) / 4, apart=(2 + 2.9) / 2, env_steps=77, kept=0.5, policy_loss=3.5
    ))  # fmt: skip
    assert ends["end 1 x"] == 2.5 and len(ends) == 8
    assert (one.evaluations, one._log) == (1, [])
    assert "kept" not in one.evaluate()  # means are of the updates since the last evaluation


def test_every_method_is_evaluated_on_the_same_pairs(monkeypatch):
    """Two episodes per start and goal, drawn anew for each evaluation, and actions at random as in training."""
    asked = {}
    for method in METHODS:
        one = trainer(method=method, eval_episodes=5)
        play, act = one.play, one.agent.act
        seen = asked[method] = []
        monkeypatch.setattr(one, "play", lambda *given, play=play, seen=seen: seen.append(given[:2]) or play(*given))
        monkeypatch.setattr(one.agent, "act", lambda *given, act=act: act(*given) if given[3] is not None else 1 / 0)
        one.evaluate(), one.evaluate()
        one.update()
        seen.pop()
        one.evaluate()
    for (starts, goals), again, later in asked.values():
        assert len(starts) == len(goals) == 10
        np.testing.assert_array_equal(starts[::2], starts[1::2])
        for mine, ppos, same, other in zip((starts, goals), asked["ppo"][0], again, later):
            np.testing.assert_array_equal(mine, ppos)
            np.testing.assert_array_equal(mine, same)
            assert not np.isin(mine, other).any()
        np.testing.assert_array_equal(later[0], asked["ppo"][2][0])


@pytest.mark.parametrize("method", ["ppo-sr", "ppo-icm", "ppo-rnd"])
def test_first_weights_are_the_seeds(method):
    one, two, other = (trainer(method=method, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(parameters(one), parameters(two))
    networks = ("policy", "critic") + (("curiosity",) if method in CURIOUS else ())
    for name in networks:
        mine, theirs = (next(getattr(each.agent, name).parameters()) for each in (one, other))
        assert not torch.equal(mine, theirs)


def test_evaluating_leaves_training_alone():
    one, other = trainer(), trainer()
    for _ in range(3):
        one.evaluate()
        one.update(), other.update()
    assert torch.equal(parameters(one), parameters(other)) and one.steps_done == other.steps_done


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(env="Pointmaze"), "unknown env 'Pointmaze'; choose from: PointMaze, Corridor-<length>"),
        (dict(env="PixelGrid-4"), "env 'PixelGrid-4': "),
        (dict(env="PixelGrid-5-12", method="ppo-go"), "ppo-go counts regions of a plane, and PixelGrid-5-12 has none"),
        (dict(rollouts=7), "siblings come in pairs: rollouts must be even, not 7"),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)  # fmt: skip
def test_settings_that_cannot_work_are_named_and_leave_no_directory(settings, message, tmp_path):
    assert_refused(train, config(**settings), message, tmp_path)


@pytest.mark.parametrize("method", METHODS)
def test_the_smallest_settings_that_are_allowed_do_run(method, tmp_path):
    smallest = dict(epochs=1, updates=1, rollouts=2, ppo_epochs=1, minibatches=1, eval_episodes=1)
    zeros = dict(entropy=0.0, epsilon=0.0, curiosity_weight=0.0, curiosity_rate=0.0, oracle_weight=0.0)
    ones = dict(lr_decay=1.0, gae_lambda=1.0, gamma=1.0)
    assert main(config(env="PointMaze", method=method, **smallest, **zeros, **ones), tmp_path)["episodes"] == 2


def test_odd_rollouts_are_for_other_methods():
    one = trainer(method="ppo", rollouts=7)
    check(one.config)
    one.update()
    assert one.episodes_done == 7


def test_what_is_not_set_is_as_in_table_1():
    """Its columns: mazes and the pixel grid."""
    for method in METHODS:
        maze = trainer("PointMaze", method=method, updates=None)
        gamma = 0.98 if method in CURIOUS else 1.0
        assert maze.settings == (0.025, gamma, 5.0, 50, 4, 0.95) and maze.agent.entropy == 0.025
        if method != "ppo-go":
            grid = trainer("PixelGrid-13", method=method, updates=None)
            assert grid.agent.entropy == (0.0 if method == "ppo-sr" else 0.025)
            assert grid.settings[1:] == (gamma, math.inf, 50, 4, 0.95)
    for env in ("PointMaze", "PixelGrid-5-12"):
        one = trainer(env, gamma=0.9, entropy=0.0, epsilon=0.0, updates=7, ppo_epochs=3, lr_decay=0.5)
        assert one.settings == (0.0, 0.9, 0.0, 7, 3, 0.5) and one.agent.entropy == 0.0


def test_the_step_size_falls_after_every_epoch(tmp_path, monkeypatch):
    seen, step = [], train.PPO.learn
    monkeypatch.setattr(train.PPO, "learn", lambda self, *given: seen.append(self.lr) or step(self, *given))
    main(config(env="Plane", lr=0.01, lr_decay=0.5, epochs=3), tmp_path)
    assert seen == pytest.approx([0.01] * 2 + [0.005] * 2 + [0.0025] * 2)


def test_the_twin_is_chosen_by_device_and_task(monkeypatch):
    assert type(trainer(env="Plane").agent) is FastPPO
    assert type(trainer(method="ppo-icm").agent) is type(trainer(env="PixelGrid-5-12").agent) is train.PPO
    asked: list[tuple] = []
    monkeypatch.setattr(train, "fast", lambda literal, *how: (asked.append(how), literal)[1])
    assert type(trainer(env="Plane").agent) is train.PPO and asked == [(train.FAST, "cpu")]


def test_every_setting_reaches_its_place():
    quick = trainer(lr=0.01, adam_eps=1e-4, lr_decay=0.5, entropy=0.1, minibatches=5).agent
    assert (quick.lr, quick.epsilon, quick.lr_decay, quick.entropy, quick.minibatches) == (0.01, 1e-4, 0.5, 0.1, 5)
    one = trainer(
        method="ppo-icm", ppo_epochs=3, minibatches=5, lr=0.01, lr_decay=0.5, adam_eps=1e-4, entropy=0.1,
        gae_lambda=0.7, curiosity_rate=0.3,
    )  # fmt: skip
    agent, group = one.agent, one.agent.adam.param_groups[0]
    assert (agent.epochs, agent.minibatches, agent.entropy, agent.lr_decay) == (3, 5, 0.1, 0.5)
    assert (group["lr"], group["own_eps"], agent.curiosity_rate) == (0.01, 1e-4, 0.3)
    assert agent.curiosity is one.curiosity
    rollouts = played(one)
    for settings in (dict(gae_lambda=0.1), dict(curiosity_weight=5.0), dict(gamma=0.3)):
        other = trainer(**(dataclasses.asdict(one.config) | settings))
        found, plain = (each.experience(rollouts, *each.last_rewards(rollouts))[0].advantages for each in (other, one))
        assert not torch.allclose(found, plain)
    sizes = [
        trainer(method="ppo-go", **s).last_rewards(rollouts)[0]
        for s in ({}, {"cell_side": 0.1}, {"oracle_weight": 1.0})
    ]
    assert (sizes[0] < sizes[1]).any() and (sizes[0] < sizes[2]).all()
    firsts = [next(trainer(method=method).agent.critic.parameters()).shape[1] for method in METHODS]
    assert firsts == [4, 6, 4, 4, 4]  # only the critic of Sibling Rivalry is shown a second goal


# --- learning --------------------------------------------------------------------------------------------------------


def reached_in_the_end(**settings) -> float:
    """Train 30 updates on the hook. Success in the last five of them."""
    values = dict(env="Hook", rollouts=80, epsilon=0.0, entropy=0.0, adam_eps=1e-8, lr_decay=1.0)
    one = Trainer(config(**(values | settings)))
    return float(np.mean([one.update()["train_success"] for _ in range(30)][-5:]))


def test_sibling_rivalry_leaves_the_trap_into_which_the_distance_leads():
    assert reached_in_the_end() > 0.9 and reached_in_the_end(method="ppo") == 0


def of_themselves(found, goals, distance):
    """Everyone's anti-goal is its own end."""
    own = found.anti_goals[np.arange(len(goals)) ^ 1]
    return {"anti_goals": own, "rewards": np.where(found.rewards == 1, 1.0, -distance(own, goals))}


FAULTS = {  # what is wrong about the result of `rivalry`
    "the closer sibling is always kept": lambda found, goals, _: {"kept": np.ones(len(goals), bool)},
    "the closer sibling is kept, not the farther": lambda found, *_: {"kept": found.closer},
    "the closer sibling is not kept even where it succeeds": lambda found, *_: {"kept": ~found.closer},
    "the critic is shown strangers' ends": lambda found, *_: {"anti_goals": np.roll(found.anti_goals, 2, axis=0)},
    "everyone's anti-goal is its own end": of_themselves,
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_part_of_sibling_rivalry_is_needed_to_leave_it(name, monkeypatch):
    """As long as it takes with all of them: with one thing wrong, the goal is reached much less often.

    How often differs between processors, whose last digits differ: up to 0.4 was seen, against 0.9 and more.
    """
    rivalry = train.rivalry

    def broken(ends, goals, reached, distance, epsilon):
        found = rivalry(ends, goals, reached, distance, epsilon)
        return dataclasses.replace(found, **FAULTS[name](found, goals, distance))

    monkeypatch.setattr(train, "rivalry", broken)
    assert reached_in_the_end() < 0.6
