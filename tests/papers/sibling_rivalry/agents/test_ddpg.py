"""The agent for continuous actions: acting by frequencies, targets and losses by hand, who learns from what."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare, kstest
from torch import Tensor, nn

from papers.sibling_rivalry.agents.ddpg import DDPG, Batch
from tests.papers.sibling_rivalry.fake_tasks import Plane

N = 32
REACH = 0.5  # of Plane
SETTINGS = dict(
    lr=1e-3, adam_eps=1e-8, gamma=0.98, polyak=0.95, random_actions=0.2, noise=0.1, action_l2=0.25, seed=0
)  # fmt: skip


def agent(**settings) -> DDPG:
    return DDPG(Plane(), **(SETTINGS | settings))


def batch(seed: int = 0, n: int = N) -> Batch:
    g = torch.Generator().manual_seed(seed)
    observations, goals, following = (torch.randn(n, 2, generator=g) for _ in range(3))
    actions = REACH * (2 * torch.rand(n, 2, generator=g) - 1)
    rewards, terminal = torch.randn(n, generator=g), torch.randint(2, (n,), generator=g).float()
    return Batch(observations, actions, goals, rewards, following, terminal)


def trained(updates: int = 20, **settings) -> DDPG:
    """An agent whose networks and targets differ."""
    one = agent(**(dict(lr=0.01) | settings))
    for seed in range(updates):
        one.update(batch(seed))
    one.sync()
    for seed in range(updates):
        one.update(batch(seed))
    return one


def state(*networks: nn.Module) -> list[Tensor]:
    return [value.clone() for network in networks for value in network.state_dict().values()]


def same(first: list[Tensor], second: list[Tensor]) -> bool:
    return len(first) == len(second) and all(map(torch.equal, first, second))


def perceptron(network: nn.Module, *parts: Tensor) -> np.ndarray:
    """Three hidden layers of 128 with ReLU and one linear output, in float64 NumPy."""
    x = np.concatenate([part.numpy().astype(np.float64) for part in parts], axis=1)
    values = [value.numpy().astype(np.float64) for value in network.state_dict().values()]
    assert [len(value) for value in values[1::2]][:3] == [128, 128, 128] and len(values) == 8
    for i in range(0, 8, 2):
        x = np.maximum(x, 0) if i else x
        x = x @ values[i].T + values[i + 1]
    return x


# --- acting ----------------------------------------------------------------------------------------------------------
def test_actions_by_hand():
    one, b = trained(), batch(5)
    expected = REACH * np.tanh(0.005 * perceptron(one.actor, b.observations, b.goals))
    actions = one.act(b.observations.numpy(), b.goals.numpy(), None)
    assert actions.dtype == np.float32 and actions.shape == (N, 2)
    np.testing.assert_allclose(actions, expected, rtol=1e-4, atol=1e-8)
    assert abs(expected).max() > 1e-3


def explored(n: int, seed: int = 0, bias: float = 0.0, **settings) -> np.ndarray:
    one = agent(**settings)
    with torch.no_grad():
        one.actor.body[-1].bias.fill_(bias / 0.005)
    places = np.zeros((n, 2), np.float32)
    return one.explore(places, places, None, np.random.default_rng(seed))


def test_exploring_is_noisy_or_uniform():
    """A fifth of the actions anywhere in the range, the others near the actor's; all numbers of an action alike."""
    n = 20_000
    actions = explored(n)
    assert actions.dtype == np.float32 and actions.shape == (n, 2)
    assert kstest(explored(n, random_actions=1.0).ravel(), "uniform", args=(-REACH, 2 * REACH)).pvalue > 0.01
    quiet = explored(n, random_actions=0.0) - explored(1, random_actions=0.0, noise=0.0)
    assert kstest(quiet.ravel(), "norm", args=(0, 0.1 * REACH)).pvalue > 0.01
    far = abs(actions) > 5 * 0.1 * REACH  # of which the noise has none
    expected = np.array([0.8 + 0.2 / 4, 0.2 / 2, 0.2 / 4]) * n  # with 0, 1, 2 such numbers
    assert chisquare(np.bincount(far.sum(axis=1)), expected).pvalue > 0.01


def test_exploring_stays_in_range_and_can_be_switched_off():
    clipped = explored(1000, bias=9.0, random_actions=0.0, noise=0.5)
    assert clipped.max() == np.float32(REACH) and (clipped == clipped.max()).mean() > 0.3
    assert explored(1000, bias=-9.0, random_actions=0.0, noise=0.5).min() == -np.float32(REACH)
    still = agent(random_actions=0.0, noise=0.0)
    o, g = batch(3).observations.numpy(), batch(3).goals.numpy()
    np.testing.assert_array_equal(still.explore(o, g, None, np.random.default_rng(0)), still.act(o, g, None))


# --- targets and losses ----------------------------------------------------------------------------------------------
def test_targets_by_hand():
    """Bootstrapped from the target networks unless the goal has been reached."""
    one, b = trained(), batch(7)
    actions = REACH * np.tanh(0.005 * perceptron(one.target_actor, b.next_observations, b.goals))
    next_q = perceptron(one.target_critic, b.next_observations, torch.from_numpy(actions), b.goals)[:, 0]
    rewards = b.rewards.numpy()
    expected = np.where(b.terminal == 1, rewards, rewards + 0.98 * next_q)
    np.testing.assert_allclose(one.targets(b), expected, rtol=1e-4, atol=1e-5)
    assert 0 < b.terminal.sum() < N and not one.targets(b).requires_grad


def test_losses_by_hand():
    one, b = trained(), batch(7)
    q = perceptron(one.critic, b.observations, b.actions, b.goals)[:, 0]
    loss, mean = one.critic_loss(b)
    assert loss.item() == pytest.approx(np.square(one.targets(b).numpy() - q).mean(), rel=1e-4)
    assert mean.item() == pytest.approx(q.mean(), rel=1e-3, abs=1e-6)
    actions = REACH * np.tanh(0.005 * perceptron(one.actor, b.observations, b.goals))
    climbed = perceptron(one.target_critic, b.observations, torch.from_numpy(actions), b.goals)
    assert one.actor_loss(b).item() == pytest.approx(0.25 * np.square(actions).mean() - climbed.mean(), abs=1e-5)


def test_actor_and_critic_get_their_own_gradients():
    one, twin, b = trained(), trained(), batch(50)
    actor, critic = list(twin.actor.parameters()), list(twin.critic.parameters())
    expected = [*torch.autograd.grad(twin.actor_loss(b), actor), *torch.autograd.grad(twin.critic_loss(b)[0], critic)]
    targets = state(one.target_actor, one.target_critic)
    one.update(b)
    for parameter, gradient in zip([*one.actor.parameters(), *one.critic.parameters()], expected):
        torch.testing.assert_close(parameter.grad, gradient)
        assert gradient.abs().max() > 0
    assert same(state(one.target_actor, one.target_critic), targets)
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in one.averaged)


def test_sync_moves_targets_by_polyak_averaging():
    one = trained()
    old, online = state(one.target_actor, one.target_critic), state(one.actor, one.critic)
    one.sync()
    moved = state(one.target_actor, one.target_critic)
    for before, now, new in zip(old, online, moved):
        torch.testing.assert_close(new, 0.95 * before + 0.05 * now)
        assert not torch.equal(before, now)
    assert same(state(one.actor, one.critic), online)


# --- seeds and pickles -----------------------------------------------------------------------------------------------
def test_the_same_seed_the_same_weights():
    first, second, other = agent(seed=1), agent(seed=1), agent(seed=2)
    networks = [(one.actor, one.critic, one.target_actor, one.target_critic) for one in (first, second, other)]
    assert same(state(*networks[0]), state(*networks[1])) and not same(state(*networks[0]), state(*networks[2]))
    assert same(state(first.actor, first.critic), state(first.target_actor, first.target_critic))


# --- learning --------------------------------------------------------------------------------------------------------
def test_it_learns_a_task_of_one_step():
    """Reward -|a - g / 2|^2 and the end: the critic has to find it, the actor to go to its top."""
    one, generator = agent(lr=4e-3, polyak=0.5, action_l2=0.0), torch.Generator().manual_seed(0)
    goals = np.random.default_rng(0).uniform(-0.8, 0.8, (200, 2)).astype(np.float32)

    def distance() -> float:
        return float(np.linalg.norm(one.act(np.zeros_like(goals), goals) - goals / 2, axis=1).mean())

    before, none, ends = distance(), torch.zeros(64, 2), torch.ones(64)
    for i in range(300):
        actions, wanted = (torch.rand(64, 2, generator=generator) * 2 - 1 for _ in range(2))
        actions, wanted = REACH * actions, 0.8 * wanted
        rewards = -(actions - wanted / 2).square().sum(dim=1)
        one.update(Batch(none, actions, wanted, rewards, none, ends))
        if i % 4 == 0:
            one.sync()
    assert before > 0.25 and distance() < 0.08
