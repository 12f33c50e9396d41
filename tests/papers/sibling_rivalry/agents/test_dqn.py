"""The agent for discrete actions: what is legal, targets and loss by hand, gradients in parts, learning."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor, nn

from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents import dqn
from papers.sibling_rivalry.agents.ddpg import Batch
from papers.sibling_rivalry.agents.dqn import DQN
from tests.papers.sibling_rivalry.agents.test_ddpg import same, state
from tests.papers.sibling_rivalry.fake_tasks import Line, Picture

N = 32
SETTINGS = dict(lr=1e-3, adam_eps=1e-8, gamma=0.98, polyak=0.95, random_actions=0.2, seed=0)
TASKS = {"line": Line(), "picture": Picture()}


def agent(task: GoalTask, **settings) -> DQN:
    return DQN(task, **(SETTINGS | settings))


def batch(task: GoalTask, seed: int = 0, n: int = N) -> Batch:
    g = torch.Generator().manual_seed(seed)
    observations, following = (torch.randn(n, *task.observation_shape, generator=g) for _ in range(2))
    legal = torch.rand(n, task.n_actions, generator=g) < 0.5
    legal[torch.arange(n), torch.randint(task.n_actions, (n,), generator=g)] = True
    return Batch(
        observations, torch.randint(task.n_actions, (n,), generator=g), torch.randn(n, *task.goal_shape, generator=g),
        torch.randn(n, generator=g), following, torch.randint(2, (n,), generator=g).float(), legal,
    )  # fmt: skip


def trained(task: GoalTask, **settings) -> DQN:
    """An agent whose network and target differ."""
    one = agent(task, **(dict(lr=0.01) | settings))
    for seed in range(10):
        one.update(batch(task, seed))
    return one


def values(network: nn.Module, observations: Tensor, goals: Tensor) -> np.ndarray:
    with torch.no_grad():
        return network(torch.cat([observations, goals], dim=1)).numpy()


@pytest.fixture(params=TASKS)
def task(request) -> GoalTask:
    return TASKS[request.param]


# --- acting ----------------------------------------------------------------------------------------------------------
def test_greedy_actions_are_the_best_legal_ones(task):
    one, b = trained(task), batch(task, 50)
    q, legal = values(one.q, b.observations, b.goals), b.next_legal.numpy()
    o, g = b.observations.numpy(), b.goals.numpy()
    actions = one.act(o, g, legal)
    assert actions.dtype == np.int64
    assert actions.tolist() == [max(np.flatnonzero(may), key=row.__getitem__) for row, may in zip(q, legal)]
    assert one.act(o, g, None).tolist() == q.argmax(axis=1).tolist() != actions.tolist()


def test_a_legal_action_is_taken_however_bad_it_is():
    one = agent(Line())
    with torch.no_grad():
        one.q[-1].bias[:] = torch.tensor([-1000.0, 1000.0, 1000.0])
    places, legal = np.zeros((3, 1), np.float32), np.tile([True, False, False], (3, 1))
    assert one.act(places, places, legal).tolist() == [0, 0, 0]


def test_a_fifth_of_the_actions_is_any_action_also_an_illegal_one():
    n, one = 30_000, agent(Line())
    places, legal = np.zeros((n, 1), np.float32), np.tile([True, False, False], (n, 1))
    actions = one.explore(places, places, legal, np.random.default_rng(0))
    assert actions.dtype == np.int64 and actions.shape == (n,)
    assert chisquare(np.bincount(actions), np.array([0.8 + 0.2 / 3, 0.2 / 3, 0.2 / 3]) * n).pvalue > 0.01
    one.random_actions = 0.0
    assert not one.explore(places, places, legal, np.random.default_rng(0)).any()


# --- targets and loss ------------------------------------------------------------------------------------------------
def test_targets_by_hand(task):
    """The target network's best value of the actions that are legal in the next state, unless the goal is reached."""
    one, b = trained(task), batch(task, 50)
    q = values(one.target, b.next_observations, b.goals)
    best = np.array([row[may].max() for row, may in zip(q, b.next_legal.numpy())])
    expected = np.where(b.terminal == 1, b.rewards.numpy(), b.rewards.numpy() + 0.98 * best)
    np.testing.assert_allclose(one.targets(b), expected, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(best, q.max(axis=1)) and 0 < b.terminal.sum() < N
    free = b._replace(next_legal=None)
    unmasked = np.where(b.terminal == 1, b.rewards.numpy(), b.rewards.numpy() + 0.98 * q.max(axis=1))
    np.testing.assert_allclose(one.targets(free), unmasked, rtol=1e-5, atol=1e-6)


def test_a_reached_goal_without_legal_actions_has_a_target():
    one, b = agent(Line()), batch(Line())
    b = b._replace(terminal=torch.ones(N), next_legal=torch.zeros(N, 3, dtype=torch.bool))
    assert torch.equal(one.targets(b), b.rewards)


def test_loss_by_hand(task):
    one, b = trained(task), batch(task, 50)
    q = values(one.q, b.observations, b.goals)[np.arange(N), b.actions]
    loss, mean = one.loss(b)
    assert loss.item() == pytest.approx(np.square(one.targets(b).numpy() - q).mean(), rel=1e-4)
    assert mean.item() == pytest.approx(q.mean(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("chunk", [1, 5, 31, 32, 1000])
def test_the_gradient_in_parts_is_that_of_the_whole_batch(task, chunk, monkeypatch):
    monkeypatch.setattr(dqn, "CHUNK", chunk)
    one, b = trained(task), batch(task, 50)
    target = state(one.target)
    loss, q = one.loss(b)
    expected = torch.autograd.grad(loss, one.parameters)
    found = one.update(b)
    assert [part.item() for part in found] == pytest.approx([loss.item(), q.item()], rel=1e-4, abs=1e-6)
    assert not found[0].requires_grad
    for parameter, gradient in zip(one.parameters, expected):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-5)
        assert gradient.abs().max() > 0
    assert same(state(one.target), target)
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in one.averaged)


def test_sync_moves_the_target_by_polyak_averaging(task):
    one = trained(task)
    old, online = state(one.target), state(one.q)
    one.sync()
    for before, now, new in zip(old, online, state(one.target)):
        torch.testing.assert_close(new, 0.95 * before + 0.05 * now)
        assert not torch.equal(before, now)
    assert same(state(one.q), online)


# --- networks, seeds and pickles -------------------------------------------------------------------------------------
def test_pictures_are_pooled_by_the_mean_and_weights_need_no_seed_but_theirs():
    first, second, other = (agent(Picture(), seed=seed) for seed in (1, 1, 2))
    assert first.q[0].pool == "mean"
    assert same(state(first.q, first.target), state(second.q, second.target))
    assert same(state(first.q), state(first.target)) and not same(state(first.q), state(other.q))


# --- learning --------------------------------------------------------------------------------------------------------
def test_it_learns_which_pixel_is_missing():
    """Reward 1 for switching on a pixel of the goal that is off, and the end."""
    task, one, rng = Picture(), agent(Picture(), lr=3e-3), np.random.default_rng(0)

    def situations(n: int) -> tuple[np.ndarray, np.ndarray]:
        return task.observe(rng.integers(2, size=(n, 5), dtype=np.uint8)), task.goals(n, rng)

    def right(observations, goals, actions):
        rows = np.arange(len(actions)), 0, actions, 1
        return (goals[rows] == 1) & (observations[rows] == 0)

    def share() -> float:
        seen = situations(300)
        missing = ((seen[1][:, 0] == 1) & (seen[0][:, 0] == 0)).any(axis=(1, 2))
        return right(*seen, one.act(*seen, None))[missing].mean()

    before = share()
    for _ in range(150):
        observations, goals = situations(64)
        actions = rng.integers(5, size=64)
        rewards = right(observations, goals, actions).astype(np.float32)
        parts = (torch.from_numpy(part) for part in (observations, actions, goals, rewards, observations))
        one.update(Batch(*parts, torch.ones(64)))
    assert before < 0.6 and share() > 0.95
