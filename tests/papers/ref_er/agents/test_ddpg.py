"""DDPG's gradient step with replay rules against automatic differentiation of the losses, its targets and steps."""

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from papers.ref_er.agents.ddpg import DDPG
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.refer import RULES, ReFER
from tests.papers.ref_er.agents.test_vracer import (
    assert_gradients,
    drawable,
    filled,
    likelihood,
    near,
    random_weights,
    refer,
    shaken,
    stored,
)  # fmt: skip
from tests.papers.ref_er.conftest import GAMMA, N_ACTIONS, N_STATES, SCALE

NOISE = 0.3
ONES = np.ones(32, np.float32)


def learner(still: bool = True, **settings: Any) -> DDPG:
    """Networks and targets all differ. still: the optimisers take no step, so that gradients can be looked at."""
    shape: dict[str, Any] = dict(hidden=(8, 7), noise=NOISE)
    one = DDPG(N_STATES, N_ACTIONS, **(shape | settings))
    for seed, network in enumerate((one.actor, one.critic, one.actor_target, one.critic_target)):
        shaken(network, seed=seed)
    if still:
        one.actor_optimizer.step = one.critic_optimizer.step = lambda lr: None  # type: ignore[assignment, misc]
    return one


def memory() -> EpisodeMemory:
    return filled(std=NOISE, spread=0.6)


def values(*networks: nn.Module) -> list[torch.Tensor]:
    return [value.clone() for network in networks for value in network.state_dict().values()]


def losses(one: DDPG, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, rules: ReFER) -> SimpleNamespace:
    """Losses to decrease, in float64 from the formulas, with the gradients of either network."""
    networks = (one.actor, one.critic, one.actor_target, one.critic_target)
    actor, critic, actor_target, critic_target = (deepcopy(network).double() for network in networks)
    d, std = stored(memory, slots), torch.full((N_ACTIONS,), NOISE).double()
    best = actor_target(d.following).tanh()
    following = critic_target(torch.cat([d.following, best], dim=1))[:, 0]
    error = (SCALE * d.r + GAMMA * d.goes_on * following).detach() - critic(torch.cat([d.s, d.a], dim=1))[:, 0]  # Eq. 2
    mean = actor(d.s).tanh()
    climbed = critic(torch.cat([d.s, mean], dim=1))[:, 0]  # Eq. 3
    rho = likelihood(d.a, mean, std, d.mean, d.std)
    kl = kl_divergence(Normal(d.mean, d.std), Normal(mean, std)).sum(-1)
    w, mask = torch.from_numpy(weights).double(), near(rho, rules)
    critic_loss = (w * mask * 0.5 * error.square()).mean()
    actor_loss = (w * (-rules.beta * mask * climbed + (1 - rules.beta) * kl)).mean()
    return SimpleNamespace(
        critic=list(torch.autograd.grad(critic_loss, list(critic.parameters()), retain_graph=True)),
        actor=list(torch.autograd.grad(actor_loss, list(actor.parameters()))),
        error=error.detach().numpy(), rho=rho.numpy(), kl=kl.detach().numpy(),
    )  # fmt: skip


@pytest.mark.parametrize("replay", RULES)
def test_gradients_are_those_of_the_losses(replay):
    one, its, rules = learner(), memory(), refer(replay)
    slots = np.random.default_rng(2).permutation(drawable(its))
    for weights in (ONES, random_weights(32)):
        expected = losses(one, its, slots, weights, rules)
        far = (expected.rho <= 0.5) | (expected.rho >= 2)
        assert 5 < far.sum() < 27 and rules.beta == (0.3 if rules.rule2 else 1.0)
        errors = one.update(its, slots, weights, rules, 1.0)
        assert_gradients(one.critic.parameters(), expected.critic)
        assert_gradients(one.actor.parameters(), expected.actor)
        np.testing.assert_allclose(errors, expected.error, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(its.rho[slots], expected.rho, rtol=1e-3)
        np.testing.assert_allclose(its.kl[slots], expected.kl, rtol=1e-4, atol=1e-6)
        one = learner()  # the targets have moved


# --- targets ---------------------------------------------------------------------------------------------------------
def test_targets_start_as_the_networks_and_follow_slowly():
    one, its = DDPG(N_STATES, N_ACTIONS, polyak=0.2), memory()
    old = values(one.actor_target, one.critic_target)
    assert all(map(torch.equal, old, values(one.actor, one.critic)))
    one.update(its, drawable(its), ONES, refer(), 1.0)
    for before, now, new in zip(old, values(one.actor, one.critic), values(one.actor_target, one.critic_target)):
        torch.testing.assert_close(new, 0.8 * before + 0.2 * now)
        assert not torch.equal(before, now)


# --- steps -----------------------------------------------------------------------------------------------------------
def test_both_learning_rates_are_annealed():
    """By factors that do not add up. What a step makes of rate and decay is tested in test_networks.py."""
    one, its, taken = learner(lr=0.01, actor_lr=0.003), memory(), []
    one.critic_optimizer.step = one.actor_optimizer.step = taken.append  # type: ignore[method-assign]
    for factor in (0.25, 0.5):
        one.update(its, drawable(its), ONES, refer(), factor)
    assert taken == pytest.approx([0.0025, 0.00075, 0.005, 0.0015])


def test_both_gradients_are_taken_before_either_network_changes():
    """A critic that is replaced altogether by its step does not change the actor's."""
    steps = []
    for lr in (1e-8, 10.0):
        one, its = learner(still=False, lr=lr, actor_lr=0.01), memory()
        one.update(its, drawable(its), ONES, refer(), 1.0)
        steps.append(values(one.actor))
    assert all(map(torch.equal, *steps))


def test_a_linear_actor_has_no_bounds_and_climbs_the_critic_all_the_same():
    one, its = learner(linear=True), memory()
    with torch.no_grad():
        list(one.actor.parameters())[-1].add_(3.0)
        list(one.actor_target.parameters())[-1].add_(3.0)
    slots, network = drawable(its), deepcopy(one.actor).double()
    critic, d = deepcopy(one.critic).double(), stored(its, slots)
    mean = network(d.s)
    climbed = critic(torch.cat([d.s, mean], dim=1)).mean()
    expected = torch.autograd.grad(-climbed, list(network.parameters()))
    one.update(its, slots, ONES, refer("er"), 1.0)
    assert_gradients(one.actor.parameters(), list(expected))
    found = one.act(its.states[slots[0]])[0]
    np.testing.assert_allclose(found, mean[0].detach(), rtol=1e-4)
    assert found.min() > 1.5


# --- acting, seeds and pickles ---------------------------------------------------------------------------------------
def test_actions_are_squashed_and_the_deviation_is_the_noise():
    one = learner()
    with torch.no_grad():
        list(one.actor.parameters())[-2].mul_(10)
    states = np.random.default_rng(0).standard_normal((20, N_STATES)).astype(np.float32)
    found = [one.act(state) for state in states]
    with torch.no_grad():
        expected = one.actor(torch.from_numpy(states)).tanh().numpy()
    np.testing.assert_allclose([mean for mean, _, _ in found], expected, rtol=1e-4, atol=1e-5)
    assert 0.9 < abs(expected).max() < 1
    assert all(std.tolist() == [np.float32(NOISE)] * N_ACTIONS and value == 0 for _, std, value in found)
