"""NAF with replay rules: the quadratic Q and its gradient, and the gradient step against automatic differentiation."""

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import softplus

from papers.ref_er.agents.naf import NAF
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

NOISE = 0.6
ONES = np.ones(32, np.float32)
FIRST_MEAN = 4  # of the outputs V, L11, L21, L22, m1, m2


def learner(n_actions: int = N_ACTIONS, **options: Any) -> NAF:
    """Network and target differ. The optimiser takes no step, so that gradients can be looked at."""
    shape: dict[str, Any] = dict(hidden=(8, 7), noise=NOISE)
    one = NAF(N_STATES, n_actions, **(shape | options))
    for seed, network in enumerate((one.network, one.target)):
        shaken(network, seed=seed)
    one.optimizer.step = lambda lr: None  # type: ignore[assignment, misc]
    return one


def memory() -> EpisodeMemory:
    return filled(std=NOISE)


def values(network: nn.Module) -> list[Tensor]:
    return [value.clone() for value in network.state_dict().values()]


def factor(outputs: Tensor, d: int) -> Tensor:
    """L [B, d, d], filled entry by entry."""
    rows = []
    k = 1
    for i in range(d):
        entries = [outputs[:, k + j] for j in range(i)] + [softplus(outputs[:, k + i])]
        rows.append(torch.stack(entries + [torch.zeros(len(outputs)).double()] * (d - 1 - i), dim=1))
        k += i + 1
    return torch.stack(rows, dim=1)


def quadratic(outputs: Tensor, actions: Tensor) -> Tensor:
    """Q(s, a) = V - 1/2 (a - m)' L L' (a - m), Eq. 4 with the factor 1/2 of Gu et al. 2016."""
    offset = actions - outputs[:, -actions.shape[1] :]
    matrix = factor(outputs, actions.shape[1])
    return outputs[:, 0] - 0.5 * torch.einsum("bi,bij,bkj,bk->b", offset, matrix, matrix, offset)


# --- Q ---------------------------------------------------------------------------------------------------------------
def test_q_by_hand():
    """L = [[2, 0], [1, 3]], a - m = (1, -1): L'(a - m) = (1, -3), so that Q = 5 - (1 + 9) / 2."""
    inverse = [np.log(np.expm1(2.0)), 1.0, np.log(np.expm1(3.0))]
    outputs, action = np.array([[5.0, *inverse, 0.5, 0.5]], np.float32), np.array([[1.5, -0.5]], np.float32)
    q, gradient = learner().q(outputs, action)
    assert q == pytest.approx([0.0], abs=1e-5)
    slopes = [1 - np.exp(-2.0), 1 - np.exp(-3.0)]  # of softplus, where it is 2 and 3
    # dQ/dL_ij = -(a - m)_i (L'(a - m))_j; dQ/dm = L L'(a - m) = L (1, -3)
    np.testing.assert_allclose(gradient, [[1, -1 * slopes[0], 1, -3 * slopes[1], 2, -8]], rtol=1e-5)


@pytest.mark.parametrize("n_actions", [1, 2, 3, 5])
def test_q_and_its_gradient_against_autograd(n_actions):
    rng = np.random.default_rng(0)
    n_outputs = 1 + n_actions * (n_actions + 1) // 2 + n_actions
    outputs, actions = rng.standard_normal((20, n_outputs)), rng.standard_normal((20, n_actions))
    one = learner(n_actions=n_actions)
    assert one.network.act(np.zeros((1, N_STATES), np.float32)).shape == (1, n_outputs)
    q, gradient = one.q(outputs.astype(np.float32), actions.astype(np.float32))
    wanted = torch.from_numpy(outputs).requires_grad_()
    expected = quadratic(wanted, torch.from_numpy(actions))
    np.testing.assert_allclose(q, expected.detach(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(gradient, torch.autograd.grad(expected.sum(), wanted)[0], rtol=1e-3, atol=1e-4)


# --- the gradient step -----------------------------------------------------------------------------------------------
def losses(one: NAF, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, rules: ReFER) -> SimpleNamespace:
    """Loss to decrease, in float64 from the formulas, with its gradients. beta scales what reaches the mean only."""
    network, target = deepcopy(one.network).double(), deepcopy(one.target).double()
    d, std = stored(memory, slots), torch.full((N_ACTIONS,), NOISE).double()
    outputs = network(d.s)
    mean = outputs[:, FIRST_MEAN:]
    weakened = mean.detach() + rules.beta * (mean - mean.detach())  # the same numbers, beta times the gradient
    q = quadratic(torch.cat([outputs[:, :FIRST_MEAN], weakened], dim=1), d.a)
    error = (SCALE * d.r + GAMMA * d.goes_on * target(d.following)[:, 0]).detach() - q
    rho = likelihood(d.a, mean, std, d.mean, d.std)
    kl = kl_divergence(Normal(d.mean, d.std), Normal(mean, std)).sum(-1)
    task = near(rho, rules) * 0.5 * error.square()  # Eq. 2
    loss = (torch.from_numpy(weights).double() * (task + (1 - rules.beta) * kl)).mean()
    return SimpleNamespace(
        gradients=list(torch.autograd.grad(loss, list(network.parameters()))),
        value=outputs[:, 0].detach().numpy(), error=error.detach().numpy(), rho=rho.numpy(), kl=kl.detach().numpy(),
    )  # fmt: skip


@pytest.mark.parametrize("replay", RULES)
def test_gradients_are_those_of_the_loss(replay):
    one, its, rules = learner(), memory(), refer(replay)
    slots = np.random.default_rng(2).permutation(drawable(its))
    for weights in (ONES, random_weights(32)):
        expected = losses(one, its, slots, weights, rules)
        far = (expected.rho <= 0.5) | (expected.rho >= 2)
        assert 5 < far.sum() < 27 and rules.beta == (0.3 if rules.rule2 else 1.0)
        errors = one.update(its, slots, weights, rules, 1.0)
        assert_gradients(one.network.parameters(), expected.gradients)
        np.testing.assert_allclose(errors, expected.error, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(its.values[slots], expected.value, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(its.rho[slots], expected.rho, rtol=1e-3)
        np.testing.assert_allclose(its.kl[slots], expected.kl, rtol=1e-4, atol=1e-6)
        one = learner()  # the target has moved


def test_the_target_starts_as_the_network_and_follows_slowly():
    one, its = NAF(N_STATES, N_ACTIONS, polyak=0.2), memory()
    assert all(map(torch.equal, values(one.network), values(one.target)))
    old = values(one.target)
    one.update(its, drawable(its), ONES, refer(), 1.0)
    for before, now, new in zip(old, values(one.network), values(one.target)):
        torch.testing.assert_close(new, 0.8 * before + 0.2 * now)
        assert not torch.equal(before, now)


def test_the_learning_rate_is_annealed():
    """By factors that do not add up. What a step makes of it is tested with V-RACER and in test_networks.py."""
    one, its, taken = learner(lr=0.01), memory(), []
    one.optimizer.step = taken.append  # type: ignore[method-assign]
    for factor in (0.25, 0.5):
        one.update(its, drawable(its), ONES, refer(), factor)
    assert taken == pytest.approx([0.0025, 0.005])


# --- acting, seeds and pickles ---------------------------------------------------------------------------------------
def test_it_acts_around_the_best_action_which_has_no_bounds():
    one = learner()
    with torch.no_grad():
        list(one.network.parameters())[-1][FIRST_MEAN:] += 5.0
    states = np.random.default_rng(0).standard_normal((20, N_STATES)).astype(np.float32)
    with torch.no_grad():
        outputs = one.network(torch.from_numpy(states)).numpy()
    for state, expected in zip(states, outputs):
        mean, std, value = one.act(state)
        np.testing.assert_allclose(mean, expected[FIRST_MEAN:], rtol=1e-4, atol=1e-5)
        assert value == pytest.approx(expected[0], rel=1e-4, abs=1e-5)
        assert std.tolist() == [np.float32(NOISE)] * N_ACTIONS and mean.min() > 1
