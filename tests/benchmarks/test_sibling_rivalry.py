"""What can be checked about the benchmarks of Sibling Rivalry without a clock's verdict.

What needs Stable-Baselines3 (group bench) is left out without it.
"""

import importlib

import numpy as np
import pytest
import torch

from benchmarks import goal_tasks, plain_ppo
from benchmarks.plain_ppo import PlainRivalry
from envs.maze.point_maze import corridor, point_maze, tree_maze
from envs.pixel_grid import PixelGrid
from papers.sibling_rivalry import train
from papers.sibling_rivalry.agents.rollouts import Rollouts
from papers.sibling_rivalry.sibling_rivalry import rivalry
from papers.sibling_rivalry.train import Config, Trainer, of_task


# ---- steps of the tasks ----------------------------------------------------------------------------------------------
def test_random_actions_are_legal_and_all_occur():
    rng, legal = np.random.default_rng(0), np.array([[True, False, True] + [False] * 6])
    grid, maze = PixelGrid(5, 6), point_maze()
    assert {int(goal_tasks.random_actions(grid, 1, legal, rng)[0]) for _ in range(50)} == {0, 2}
    actions = goal_tasks.random_actions(maze, 1000, None, rng)
    assert actions.shape == (1000, 2) and actions.dtype == np.float32
    assert 0.9 < actions.max() <= 0.95 and -0.95 <= actions.min() < -0.9


# ---- the port in plain PyTorch ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", [point_maze(), corridor(3), tree_maze(6, 1)])
def test_the_ports_points_move_as_ours(task):
    rng = np.random.default_rng(0)
    points = task.cells[rng.integers(len(task.cells), size=5000)] + rng.uniform(-0.5, 0.5, (5000, 2))
    displacements, backoff = rng.uniform(-0.95, 0.95, (5000, 2)), rng.random((5000, 2))
    displacements[:100, 0] = displacements[50:150, 1] = 0.0
    before = points.copy()
    moved = plain_ppo.move(points, displacements, backoff, plain_ppo.walls_of(task))
    np.testing.assert_allclose(moved, task.move(points, displacements, backoff), atol=1e-9)
    np.testing.assert_array_equal(points, before)


def test_the_port_plays_by_the_rules_of_the_task():
    """States follow from actions without noise except at walls, and success ends a rollout."""
    task = corridor(1)
    port = PlainRivalry(task, seed=0)
    starts, goals = task.starts(40, port.rng), task.goals(40, port.rng)
    played = port.play(starts, goals)
    assert 0 < played.reached.sum() and played.lengths[played.reached].min() < 50
    displacements = (2 * played.units.numpy() - 1) * 0.95
    for i, length in enumerate(played.lengths):
        path = played.states[i, : length + 1]
        distances = np.linalg.norm(path[1:] - goals[i], axis=1)
        assert (distances[:-1] > 0.15).all() and (distances[-1] <= 0.15) == played.reached[i]
        assert played.reached[i] or length == 50
        ahead = task.move(path[:-1], displacements[i, :length], np.zeros((length, 2)))
        assert np.abs(path[1:] - ahead).max() <= 0.01 + 1e-6
    np.testing.assert_array_equal(played.states[:, 0], starts)


def test_the_port_treats_siblings_as_ours_does():
    rng, task = np.random.default_rng(0), point_maze()
    goals = rng.integers(0, 9, (200, 2)).repeat(2, axis=0).astype(float)
    ends, reached = rng.uniform(0, 9, (400, 2)), rng.random(400) < 0.3
    ends[40:80:2], ends[41:80:2] = goals[40:80:2] + [3, 0], goals[41:80:2] - [3, 0]  # ties, too far apart for both
    ends = np.where(reached[:, None], goals, ends)
    expected = rivalry(ends, goals, reached, task.distance, 5.0)
    anti_goals, rewards, kept = plain_ppo.rivalry(ends, goals, reached)
    np.testing.assert_array_equal(anti_goals, expected.anti_goals)
    np.testing.assert_allclose(rewards, expected.rewards)
    np.testing.assert_array_equal(kept, expected.kept)
    assert 0 < kept.mean() < 1


def test_the_port_learns_what_ours_learns(monkeypatch):
    """The same weights from the same rollouts. With one mini-batch, as both shuffle with generators of their own."""
    settings = dict(EPOCHS=3, MINIBATCHES=1, EPSILON=1.0, LR=0.01)
    for name, value in settings.items():
        monkeypatch.setattr(plain_ppo, name, value)
    monkeypatch.setattr(train, "FAST", {})  # the twin's Adam cannot be exchanged for PyTorch's, which the port has
    config = Config(env="Corridor-3", epsilon=1.0, worker_rollouts=80, ppo_epochs=3, minibatches=1, lr=0.01)
    trainer, port = Trainer(config), PlainRivalry(corridor(3), seed=0)
    trainer.agent.adam = torch.optim.Adam(trainer.agent.parameters, lr=0.01, eps=1e-3)
    pairs = [(trainer.agent.policy, port.policy), (trainer.agent.critic, port.critic)]
    ours, theirs = ([weights for pair in pairs for weights in pair[i].parameters()] for i in (0, 1))
    first = [weights.detach().clone() for weights in theirs]
    for into, weights in zip(ours, first, strict=True):
        into.data.copy_(weights)

    starts, goals = trainer.pairs(40, port.rng)
    played = port.play(starts, goals)
    actions = ((2 * played.units - 1) * 0.95).numpy()
    ends = played.states[np.arange(80), played.lengths].astype(np.float32)
    rollouts = Rollouts(played.states, actions, goals, ends, played.lengths, played.reached)
    last_rewards, anti_goals, kept = trainer.last_rewards(rollouts)
    data, workers = trainer.experience(rollouts, last_rewards, anti_goals, kept)
    assert 0 < played.reached.mean() < 1 and 0 < kept.mean() < 1
    trainer.agent.learn(data, workers, trainer.shuffling)
    port.learn(played)

    for before, one, other in zip(first, ours, theirs, strict=True):
        assert (one - before).abs().max() > 0.005
        torch.testing.assert_close(one, other, rtol=0, atol=2e-5)


def test_the_port_has_the_settings_of_ours():
    config = Config()
    settings = of_task(config, point_maze())
    pairs = {
        "ROLLOUTS": config.rollouts, "STEPS": point_maze().max_steps, "EPOCHS": settings.ppo_epochs,
        "MINIBATCHES": config.minibatches, "LR": config.lr, "ADAM_EPS": config.adam_eps,
        "ENTROPY": settings.entropy, "LAMBDA": config.gae_lambda, "EPSILON": settings.epsilon,
    }  # fmt: skip
    assert {name: getattr(plain_ppo, name) for name in pairs} == pairs


# ---- training against Stable-Baselines3 ------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def training():
    pytest.importorskip("stable_baselines3")
    return importlib.import_module("benchmarks.sibling_rivalry")


def test_operations_by_hand(training):
    policy = [2 * 4 * 128, 2 * 128 * 128, 2 * 128 * 128, 2 * 128 * 4]  # a product and a sum per weight
    critic = [2 * 6 * 128, 2 * 128 * 128, 2 * 128 * 128, 2 * 128 * 1]
    forward = sum(policy) + sum(critic)
    backward = 2 * forward - policy[0] - critic[0]  # nobody asks for gradients of the states
    playing = sum(policy)
    learning = sum(critic) + 4 * (forward + backward)
    trainer = Trainer(Config())
    assert training.operations(trainer, kept=1.0) == playing + learning
    assert training.operations(trainer, kept=0.5) == playing + learning / 2


def test_the_peer_sees_the_observation_and_the_goal(training):
    peer = training.make_peer(Config(), {})
    env = peer.env.envs[0]
    seen, _ = env.reset(seed=3)
    inner = env.unwrapped
    np.testing.assert_array_equal(seen, np.concatenate([inner.state.astype(np.float32), inner.goal]))
    assert env.observation_space.contains(seen)


def test_the_peer_has_as_much_to_do(training, monkeypatch):
    """16 gradient steps of 1,000 transitions after 16 x 250 steps, on networks like ours."""
    peer = training.make_peer(Config(), {"fused": True})
    trainer, sizes = Trainer(Config()), []
    evaluate = peer.policy.evaluate_actions

    def counted(observations, actions):
        sizes.append(len(observations))
        return evaluate(observations, actions)

    monkeypatch.setattr(peer.policy, "evaluate_actions", counted)
    training.learn(peer, 4_000)
    assert peer.num_timesteps == 4_000 and sizes == [1_000] * 16
    training.learn(peer, 4_000)
    assert peer.num_timesteps == 8_000 and len(sizes) == 32
    shapes = [tuple(p.shape) for p in peer.policy.mlp_extractor.policy_net.parameters()]
    assert shapes == [tuple(p.shape) for p in trainer.agent.policy.parameters()][:-2]
    assert peer.policy.optimizer.defaults["fused"]
    assert not training.make_peer(Config(), {}).policy.optimizer.defaults["fused"]


def test_rows(training, monkeypatch, run_once):
    """Seconds of an update become seconds of an epoch and microseconds of a step."""
    monkeypatch.setattr(training, "UPDATES", 1)
    run_once(training)
    epoch, step, default, floor = training.measure()
    assert (epoch.ours, epoch.peer, epoch.limit, epoch.judged) == (50 * 1.0, 50 * 2.0, 6.0, "ours")
    assert (step.ours, step.peer, step.limit) == (1e6 / 4000, 4e6 / 4000, 0.2)
    assert default.peer == 8e6 / 4000 and default.met is None
    assert 0 < floor.peer <= training.operations(Trainer(Config()), 1.0) / 16 * 1e6
