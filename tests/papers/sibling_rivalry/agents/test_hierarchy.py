"""Two levels: what a step is, what the low level is paid and learns from and when, turns of workers, and that it
learns: on a small world in a second, and with the ant."""

import math
import pickle

import numpy as np
import pytest
import torch

from lab.run.runs import Streams
from papers.sibling_rivalry import train, train_off_policy
from papers.sibling_rivalry.agents.hierarchy import Hierarchy, Pursuit, joined
from papers.sibling_rivalry.agents.rollouts import Rollouts, play
from papers.sibling_rivalry.agents.tasks import make_task
from tests.papers.sibling_rivalry.fake_tasks import Line, Picture, Plane


class Clocked(Plane):
    """The plane, with a third number of a state that counts steps, and a fourth that nothing changes: the episode."""

    def starts(self, n, rng):
        return np.column_stack([super().starts(n, rng), np.zeros(n), np.arange(n)])

    def step(self, states, actions, rng):
        return np.column_stack([super().step(states[:, :2], actions, rng), states[:, 2] + 1, states[:, 3]])

    def achieved(self, states):
        return states[..., :2].astype(np.float32)


def two_levels(steps: int = 24, interval: int = 6, reach: float = 0.8, seed: int = 0, world=Clocked) -> Hierarchy:
    task = Hierarchy(world(max_steps=steps), reach, interval)
    task.begin(Streams(seed))
    return task


def walks(task: Hierarchy) -> None:
    """Let the low level go straight to its subgoal, 0.2 along both axes per step."""
    task.low.ppo.act = lambda seen, goals, legal, rng: np.clip(goals - seen, -0.2, 0.2).astype(np.float32)


def parameters(task: Hierarchy) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in task.low.ppo.parameters])


def still(n: int):
    return lambda observations, goals, legal: np.zeros((len(observations), n), np.float32)


# ---- a step ----------------------------------------------------------------------------------------------------------
def test_a_step_is_a_pursuit_of_a_subgoal_that_stays_where_it_was_set():
    task, rng = two_levels(), np.random.default_rng(0)
    walks(task)
    states = np.array([[0.0, 0.0, 0, 0], [1.0, -1.0, 6, 1]])
    after = task.step(states, np.float32([[0.5, -0.7], [-2.0, 0.1]]), rng)  # the third is cut to -0.8
    np.testing.assert_allclose(after, [[0.5, -0.7, 6, 0], [0.2, -0.9, 12, 1]], atol=1e-6)
    assert states[0, 2] == 0
    assert (task.max_steps, task.n_actions, task.action_range, task.interval) == (4, 2, 0.8, 6)
    assert task.observation_shape == task.goal_shape == (2,) and task.tolerance == 0.3


def test_who_runs_through_the_goal_has_not_reached_it():
    """Success is looked for at the end of a pursuit; after 6 steps of 0.2 the goal at 0.6 lies behind."""
    task, rng = two_levels(), np.random.default_rng(0)
    walks(task)

    def right(observations, goals, legal):
        return np.float32([[0.8, 0.0]] * len(observations)) * (np.abs(observations[:, :1]) < 5)

    starts = np.zeros((2, 4))
    rollouts = play(task, right, starts, np.float32([[0.4, 0.0], [1.5, 0.0]]), rng)
    assert rollouts.reached.tolist() == [False, True] and rollouts.lengths.tolist() == [4, 2]


@pytest.mark.parametrize("interval", [5, 0, 2, 48])
def test_intervals_that_do_not_divide_an_episode(interval):
    right = "4, 6, 8, 12, 24, which divide an episode of 24"
    with pytest.raises(ValueError, match=f"steps per subgoal must be one of {right}, not {interval}"):
        Hierarchy(Plane(max_steps=24), 1.0, interval)


@pytest.mark.parametrize("world", [Line, Picture])
def test_worlds_without_subgoals(world):
    with pytest.raises(ValueError, match="a world with subgoals needs goals that are vectors and continuous actions"):
        Hierarchy(world(), 1.0, world.max_steps)


# ---- what the low level learns from ----------------------------------------------------------------------------------
def pursued(task: Hierarchy, n: int = 8) -> tuple[Rollouts, list[Pursuit]]:
    """Episodes, some of which end early, and what was pursued in them."""
    rng = np.random.default_rng(0)
    starts, goals = task.starts(n, rng), task.goals(n, rng) / 2

    def act(observations, goals, legal):
        return rng.uniform(-0.8, 0.8, (len(observations), 2)).astype(np.float32)

    rollouts, pursuits = task.observed(lambda s, g, r: play(task, act, s, g, r), starts, goals, rng)
    assert 1 <= rollouts.lengths.min() < rollouts.lengths.max() == task.max_steps
    return rollouts, pursuits


def test_experience_step_by_step():
    """Paid minus the distance to the subgoal after each step; behind the last, the critic's value is expected."""
    task = two_levels()
    rollouts, pursuits = pursued(task)
    together, found = joined(pursuits), task.low.experience(joined(pursuits))
    assert len(found) == 6 * rollouts.lengths.sum() == 6 * len(together.subgoals)
    row = 0
    for states, actions, subgoal in zip(*together):
        goal = torch.from_numpy(subgoal)
        values = [float(task.low.ppo.values(torch.from_numpy(s[None, :2]).float(), goal[None], None)) for s in states]
        rewards = [-math.dist(s[:2], subgoal) for s in states[1:]]
        for t in range(6):
            delta = [rewards[k] + 0.98 * values[k + 1] - values[k] for k in range(6)]
            advantage = sum((0.98 * 0.95) ** (k - t) * delta[k] for k in range(t, 6))
            assert found.advantages[row] == pytest.approx(advantage, abs=1e-5)
            assert found.returns[row] == pytest.approx(advantage + values[t], abs=1e-5)
            np.testing.assert_allclose(found.observations[row], states[t][:2].astype(np.float32))
            np.testing.assert_array_equal(found.actions[row], actions[t])
            assert torch.equal(found.goals[row], goal)
            row += 1
    assert found.anti_goals is found.next_observations is found.legal is None


def test_every_episode_is_a_workers_own(monkeypatch):
    """Whatever others do, and however early it has ended."""
    task, heard = two_levels(), []
    rollouts, pursuits = pursued(task)
    learn = task.low.ppo.learn
    monkeypatch.setattr(
        task.low.ppo, "learn", lambda data, workers, rng: heard.append(workers) or learn(data, workers, rng)
    )
    before = parameters(task)
    entry = task.low.learn(pursuits, rollouts.lengths)
    assert np.bincount(heard[0]).tolist() == (6 * rollouts.lengths).tolist()
    assert heard[0].tolist() == [int(i) for p in pursuits for i in p.states[:, 0, 3] for _ in range(6)]
    assert not torch.equal(before, parameters(task))
    last = [math.dist(states[-1][:2], goal) for p in pursuits for states, goal in zip(p.states, p.subgoals)]
    assert entry["subgoal_distance"] == pytest.approx(np.mean(last))
    assert {"low_policy_loss", "low_value_loss", "low_entropy"} < set(entry)


# ---- turns -----------------------------------------------------------------------------------------------------------
def test_workers_play_one_episode_after_the_other_and_the_low_level_learns_after_each(monkeypatch):
    task, events, rng = two_levels(), [], np.random.default_rng(0)
    starts, goals = task.starts(10, rng), task.goals(10, rng)
    learn = task.low.learn

    def learnt(pursuits, lengths):
        events.append(("learn", [p.states[0, 0, 3] for p in pursuits][:1]))
        return learn(pursuits, lengths)

    def played(starts, goals, rng):
        events.append(("play", starts[:, 3].tolist()))
        return play(task, still(2), starts, goals, rng)

    monkeypatch.setattr(task.low, "learn", learnt)
    rollouts, entry = task.practise(played, starts, goals, rng, turns=4)
    assert events == [
        ("play", [0, 4, 8]), ("learn", [0]), ("play", [1, 5, 9]), ("learn", [1]),
        ("play", [2, 6]), ("learn", [2]), ("play", [3, 7]), ("learn", [3]),
    ]  # fmt: skip
    np.testing.assert_array_equal(rollouts.states[:, 0], starts)  # in the order in which they were given
    np.testing.assert_array_equal(rollouts.goals, goals)
    assert rollouts.states.shape == (10, 5, 4) and len(rollouts) == 10
    assert entry["subgoal_distance"] > 0


def config(script, method, **settings):
    small = dict(epochs=2, eval_episodes=2)
    small |= dict(updates=2, rollouts=8) if script is train else dict(cycles=2, episodes=8, updates=2, batch_size=16)
    small |= {} if script is train else dict(warmup=20, capacity=2_000)
    return script.Config("Levels", method, **(small | settings))


METHODS = [(train, method) for method in train.METHODS] + [(train_off_policy, "ddpg-her")]


@pytest.fixture
def levels(monkeypatch):
    """A world of the tests by its name."""
    for script in (train, train_off_policy):
        monkeypatch.setattr(script, "make_task", lambda name: Hierarchy(Plane(max_steps=24), 0.5, 6))


@pytest.mark.parametrize(("script", "method"), METHODS, ids=[method for _, method in METHODS])
def test_the_low_level_learns_from_every_episode_below_every_method(script, method, levels, monkeypatch):
    """Also from those that Sibling Rivalry leaves out, and not in evaluations."""
    one = script.Trainer(config(script, method, **({"epsilon": 0.0} if method == "ppo-sr" else {})))
    seen = []
    learn = one.task.low.ppo.learn
    monkeypatch.setattr(one.task.low.ppo, "learn", lambda data, *rest: seen.append(len(data)) or learn(data, *rest))
    entry = one.update() if script is train else one.cycle()
    assert len(seen) == 4 and sum(seen) == one.steps_done > 0 and entry["subgoal_distance"] > 0
    assert one.steps_done % 6 == 0
    if method == "ppo-sr":
        assert entry["kept"] < 1
    monkeypatch.undo()
    before = pickle.dumps(one.task)
    one.evaluate()
    assert pickle.dumps(one.task) == before  # nor is anything kept of them


@pytest.mark.parametrize(("script", "method"), METHODS, ids=[method for _, method in METHODS])
def test_low_levels_are_drawn_in_training_and_greedy_below_greedy_ones(script, method, levels, monkeypatch):
    """In evaluation: DDPG's is greedy with it."""
    one, greedy = script.Trainer(config(script, method)), []
    act = one.task.low.ppo.act
    monkeypatch.setattr(one.task.low.ppo, "act", lambda *given: greedy.append(given[3] is None) or act(*given))
    one.update() if script is train else one.cycle()
    assert greedy and not any(greedy)
    greedy.clear()
    one.evaluate()
    assert greedy and set(greedy) == {script is train_off_policy}


def test_all_methods_begin_with_the_same_low_level_and_the_seed_decides(levels):
    lows = [parameters(script.Trainer(config(script, method)).task) for script, method in METHODS]
    assert all(torch.equal(lows[0], low) for low in lows)
    assert not torch.equal(lows[0], parameters(train.Trainer(config(train, "ppo", seed=1)).task))


def test_the_ants_settings_are_those_of_its_columns():
    for env, reach, subgoals in (("AntMaze", 5.0, 25), ("AntMazeSmall", 2.5, 20), ("AntArena", 2.5, 20)):
        task = make_task(env)
        assert (task.action_range, task.interval, task.max_steps) == (reach, 20, subgoals)
        found = train.of_task(train.Config(env, "ppo-sr"), task)
        assert found == (0.025, 1.0, 2 * reach, 20, 2, 1.0)
        assert train.of_task(train.Config(env, "ppo-icm"), task).gamma == 0.98
        other = train_off_policy.of_task(train_off_policy.Config(env), task)
        assert other == (20, 2_560, 10_000_000, 0.0002)
        task.begin(Streams(0))
        low, few = task.low.ppo, env != "AntMaze"
        group = low.adam.param_groups[0]
        assert (low.epochs, low.entropy, group["lr"]) == (2, 0.02, 1e-3)
        assert (low.minibatches, group["own_eps"]) == ((16, 1e-8) if few else (4, 1e-3))


def test_a_copy_goes_on_alike():
    task = two_levels()
    rollouts, pursuits = pursued(task)
    other = pickle.loads(pickle.dumps(task))
    for one in (task, other):
        one.low.learn(pursuits, rollouts.lengths)
    assert torch.equal(parameters(task), parameters(other))
    states = [
        one.step(rollouts.states[:, 0], np.ones((8, 2), np.float32), np.random.default_rng(1)) for one in (task, other)
    ]
    np.testing.assert_array_equal(*states)


# ---- learning --------------------------------------------------------------------------------------------------------
def mean_distance(task: Hierarchy, updates: int) -> float:
    """From subgoals when their time is over, in the last fifth of the updates."""
    rng, found = np.random.default_rng(5), []

    def act(observations, goals, legal):
        return rng.uniform(-0.8, 0.8, (len(observations), 2)).astype(np.float32)

    for _ in range(updates):
        starts, goals = task.starts(20, rng), np.full((20, 2), np.inf, np.float32)
        entry = task.practise(lambda s, g, r: play(task, act, s, g, r), starts, goals, rng, turns=1)[1]
        found.append(entry["subgoal_distance"])
    return float(np.mean(found[-max(1, updates // 5) :]))


def test_the_low_level_learns_to_reach_subgoals():
    """Drawn within 0.8, they are 0.61 away on average; the noise of the policy, 6 steps of up to 0.5, leaves more."""
    assert mean_distance(two_levels(), 1) > 0.6 and mean_distance(two_levels(), 60) < 0.3
