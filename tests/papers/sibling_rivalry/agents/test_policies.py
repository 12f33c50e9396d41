"""Policies against torch's distributions, by frequencies, and at the edges of what they may do."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Beta, Categorical

from papers.sibling_rivalry.agents.policies import EDGE, FORBIDDEN, BetaPolicy, CategoricalPolicy, make_policy
from tests.papers.sibling_rivalry.fake_tasks import Line, Picture, Plane


def policy_of(task, seed: int = 0):
    """A policy that tells what it sees apart: as if trained, its outputs have a deviation of 1 and a mean of 0."""
    torch.manual_seed(seed)
    policy = make_policy(task)
    with torch.no_grad():
        outputs = policy.body(torch.cat(seen(task, 500)[:2], dim=1))
        policy.body[-1].weight /= outputs.std(dim=0)[:, None]
        policy.body[-1].bias.copy_((policy.body[-1].bias - outputs.mean(dim=0)) / outputs.std(dim=0))
    return policy


def seen(task, n: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor | None]:
    """Observations, goals and legal actions of random states."""
    rng = np.random.default_rng(seed)
    states = task.starts(n, rng)
    if isinstance(task, Picture):
        states = (rng.random(states.shape) < 0.4).astype(np.uint8)
        states[:, 0] = 0  # else there might be no action left
    legal = task.legal(states)
    return (
        torch.from_numpy(task.observe(states)), torch.from_numpy(task.goals(n, rng)),
        None if legal is None else torch.from_numpy(legal),
    )  # fmt: skip


def many(task, n: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """The same state n times."""
    return tuple(None if part is None else part.expand(n, *part.shape[1:]).contiguous() for part in seen(task, 1, 3))


@pytest.mark.parametrize("task", [Plane(), Line(), Picture()], ids=lambda task: type(task).__name__)
def test_policies_are_shown_observation_and_goal_only(task):
    """Their first layer has no room for an anti-goal."""
    policy, (observations, goals, legal) = policy_of(task), seen(task, 20)
    assert next(policy.parameters()).shape[1] == task.observation_shape[0] + task.goal_shape[0]
    first, second = (policy.act(observations, g, legal, None) for g in (goals, goals.flip(0)))
    assert not np.array_equal(first, second)


# ---- Beta ------------------------------------------------------------------------------------------------------------
def distributions(policy: BetaPolicy, observations: Tensor, goals: Tensor) -> Beta:
    alpha, beta = policy.parameters_of(observations, goals)
    return Beta(alpha.double(), beta.double())


def test_log_density_and_entropy_are_torchs():
    """Summed and averaged over the two dimensions."""
    task = Plane()
    policy, (observations, goals, _) = policy_of(task), seen(task, 200)
    unit = torch.from_numpy(np.random.default_rng(0).uniform(0.001, 0.999, (200, 2)))
    actions = ((2 * unit - 1) * task.action_range).float()
    log_prob, entropy = policy.evaluate(observations, goals, actions, None)
    truth = distributions(policy, observations, goals)
    torch.testing.assert_close(log_prob.double(), truth.log_prob(unit).sum(dim=1), rtol=1e-3, atol=2e-4)
    torch.testing.assert_close(entropy.double(), truth.entropy().mean(dim=1), rtol=1e-3, atol=1e-4)
    assert log_prob.shape == entropy.shape == (200,)


def test_actions_at_the_very_edge_have_a_density():
    """An action that rounding has put on the edge would have the density 0, and a log of minus infinity."""
    task = Plane()
    policy, (observations, goals, _) = policy_of(task), seen(task, 2)
    edges = torch.tensor([[0.5, -0.5], [-0.5, 0.5]])
    log_prob, _ = policy.evaluate(observations, goals, edges, None)
    assert torch.isfinite(log_prob).all() and EDGE == 1e-6
    assert all(torch.isfinite(g).all() for g in torch.autograd.grad(log_prob.sum(), list(policy.parameters())))


def test_draws_stay_in_range_and_have_betas_moments():
    task, n = Plane(), 40_000
    policy, (observations, goals, _) = policy_of(task), many(task, n)
    actions = policy.act(observations, goals, None, np.random.default_rng(0))
    assert actions.dtype == np.float32 and actions.shape == (n, 2) and abs(actions).max() <= 0.5
    truth = distributions(policy, observations[:1], goals[:1])
    np.testing.assert_allclose(actions.mean(axis=0), 2 * 0.5 * (truth.mean[0].detach() - 0.5), atol=0.006)
    np.testing.assert_allclose(actions.std(axis=0), 2 * 0.5 * truth.stddev[0].detach(), rtol=0.02)
    assert abs(np.corrcoef(actions.T)[0, 1]) < 0.02


def test_greedy_actions_are_the_densitys_peak():
    task = Plane()
    policy, (observations, goals, _) = policy_of(task), seen(task, 20)
    grid = torch.linspace(0.0005, 0.9995, 1000, dtype=torch.float64)
    density = distributions(policy, observations, goals).log_prob(grid[:, None, None])
    peak = (2 * grid[density.argmax(dim=0)] - 1) * task.action_range
    greedy = policy.act(observations, goals, None, None)
    assert greedy.dtype == np.float32
    np.testing.assert_allclose(greedy, peak, atol=0.0011)
    assert np.ptp(greedy, axis=0).min() > 0.1


# ---- categorical -----------------------------------------------------------------------------------------------------
DISCRETE = pytest.mark.parametrize("task", [Line(), Picture()], ids=lambda task: type(task).__name__)


def categorical(policy: CategoricalPolicy, observations: Tensor, goals: Tensor, legal: Tensor | None) -> Categorical:
    logits = policy.body(torch.cat([observations, goals], dim=1)).double()
    return Categorical(logits=logits if legal is None else logits.masked_fill(~legal, -torch.inf))


@DISCRETE
def test_log_probabilities_and_entropy_are_torchs(task):
    """Over legal actions. Torch's entropy does not like probabilities of 0: taken over legal ones alone."""
    policy, (observations, goals, legal) = policy_of(task), seen(task, 100)
    actions = torch.from_numpy(policy.act(observations, goals, legal, np.random.default_rng(0)))
    log_prob, entropy = policy.evaluate(observations, goals, actions, legal)
    truth = categorical(policy, observations, goals, legal)
    torch.testing.assert_close(log_prob.double(), truth.log_prob(actions), rtol=1e-4, atol=1e-5)
    by_hand = -torch.where(legal, truth.probs * truth.logits, 0.0).sum(dim=1)
    torch.testing.assert_close(entropy.double(), by_hand, rtol=1e-4, atol=1e-5)
    free, _ = policy.evaluate(observations, goals, actions, None)
    torch.testing.assert_close(
        free.double(), categorical(policy, observations, goals, None).log_prob(actions), rtol=1e-4, atol=1e-5
    )
    assert 0 < (~legal).sum() and not torch.allclose(free, log_prob)


@DISCRETE
def test_illegal_actions_have_no_probability(task):
    policy, (observations, goals, legal) = policy_of(task), seen(task, 100)
    probabilities = policy.log_probs(observations, goals, legal).exp()
    assert (probabilities[~legal] == 0).all() and (probabilities[legal] > 0).all() and FORBIDDEN == -1e4
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(100))
    gradients = torch.autograd.grad(
        sum(policy.evaluate(observations, goals, legal.int().argmax(1), legal)).sum(), list(policy.parameters())
    )
    assert all(torch.isfinite(g).all() for g in gradients)


@DISCRETE
def test_illegal_actions_are_never_taken(task):
    """Not even the one that the network likes best by far."""
    policy, (observations, goals, legal) = policy_of(task), seen(task, 5000)
    with torch.no_grad():
        policy.body[-1].bias[1 if isinstance(task, Picture) else 0] += 50
    rng = np.random.default_rng(0)
    for actions in (policy.act(observations, goals, legal, rng), policy.act(observations, goals, legal, None)):
        assert actions.dtype == np.int64 and legal[torch.arange(5000), torch.from_numpy(actions)].all()
    assert not legal[torch.arange(5000), torch.from_numpy(policy.act(observations, goals, None, rng))].all()


@DISCRETE
def test_draws_have_the_policys_frequencies(task):
    n = 40_000
    policy, (observations, goals, legal) = policy_of(task), many(task, n)
    actions = policy.act(observations, goals, legal, np.random.default_rng(0))
    expected = categorical(policy, observations[:1], goals[:1], legal[:1]).probs[0].detach().numpy()
    np.testing.assert_allclose(np.bincount(actions, minlength=task.n_actions) / n, expected, atol=0.01)
    assert expected.max() < 0.98


@DISCRETE
def test_greedy_actions_are_the_likeliest_legal_ones(task):
    policy, (observations, goals, legal) = policy_of(task), seen(task, 200)
    expected = categorical(policy, observations, goals, legal).probs.argmax(dim=1)
    np.testing.assert_array_equal(policy.act(observations, goals, legal, None), expected)
    assert len(set(expected.tolist())) > 1
