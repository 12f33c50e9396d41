"""Densities, divergences and their gradients against torch.distributions and autograd; sampling by its distribution."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm
from torch.distributions import Independent, Normal, kl_divergence

from lab.run.errors import UserError
from papers.ref_er.agents.gaussian import (
    importance_weight,
    inverse_softplus,
    kl,
    kl_gradient,
    log_density,
    log_density_gradient,
    softplus,
    softplus_slope,
    truncated_normal,
)

B, D = 6, 3  # samples, components of an action


def policies(seed: int = 0) -> tuple[np.ndarray, ...]:
    """Actions, mean and std of pi, mean and std of mu, all [B, D]."""
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(B, D)), rng.normal(size=(B, D)), rng.uniform(0.3, 2, (B, D)),
        rng.normal(size=(B, D)), rng.uniform(0.3, 2, (B, D)),
    )  # fmt: skip


def leaf(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array, requires_grad=True)


def gaussian(mean, std) -> Independent:
    return Independent(Normal(torch.as_tensor(mean), torch.as_tensor(std)), 1)


# --- densities and importance weights --------------------------------------------------------------------------------
def test_log_density_against_torch():
    actions, mean, std, *_ = policies()
    expected = gaussian(mean, std).log_prob(torch.tensor(actions)).numpy() + 0.5 * D * math.log(2 * math.pi)
    np.testing.assert_allclose(log_density(actions, mean, std), expected, rtol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_gradient_of_the_log_density_against_autograd(shared):
    """Also with one deviation for all samples, whose gradient is then one per sample."""
    actions, mean, std, *_ = policies(1)
    std = std[0] if shared else std
    m, s = leaf(mean), leaf(np.broadcast_to(std, mean.shape).copy())
    gaussian(m, s).log_prob(torch.tensor(actions)).sum().backward()
    g_mean, g_std = log_density_gradient(actions, mean, std)
    np.testing.assert_allclose(g_mean, m.grad.numpy(), rtol=1e-12)
    np.testing.assert_allclose(g_std, s.grad.numpy(), rtol=1e-12)


def test_importance_weight_against_torch():
    actions, *arguments = policies(2)
    a = torch.tensor(actions)
    new, old = gaussian(*arguments[:2]), gaussian(*arguments[2:])
    log_ratio = (new.log_prob(a) - old.log_prob(a)).clamp(-7, 7)
    assert log_ratio.abs().max() > 1 and log_ratio.abs().min() < 7
    np.testing.assert_allclose(importance_weight(actions, *arguments), log_ratio.exp().numpy(), rtol=1e-10)


def test_importance_weights_are_cut():
    """At e^7 and e^-7, so that no weight overflows or vanishes."""
    std = np.full(1, 0.1)
    near, away = np.zeros(1), np.ones(1)  # ten deviations apart: the ratio of densities is e^50
    assert importance_weight(near, near, std, away, std) == pytest.approx(math.exp(7))
    assert importance_weight(near, away, std, near, std) == pytest.approx(math.exp(-7))
    assert importance_weight(near, near, std, 1e6 * away, std) == pytest.approx(math.exp(7))


# --- divergences -----------------------------------------------------------------------------------------------------
def test_divergence_against_torch():
    _, mean, std, old_mean, old_std = policies(3)
    expected = kl_divergence(gaussian(old_mean, old_std), gaussian(mean, std))
    np.testing.assert_allclose(kl(mean, std, old_mean, old_std), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("d, largest", [(17, 850.0), (6, 300.0)])
def test_largest_divergence_of_ddpg(d, largest):
    """Means inside (-1, 1) with a deviation of 0.2: at most 850 for Humanoid and 300 for Walker2d (Sec. 5.1)."""
    std = np.full(d, 0.2)
    assert kl(np.ones(d), std, -np.ones(d), std) == pytest.approx(largest)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_gradient_of_the_divergence_against_autograd(reverse, shared):
    _, mean, std, old_mean, old_std = policies(4)
    std = std[0] if shared else std
    m, s = leaf(mean), leaf(np.broadcast_to(std, mean.shape).copy())
    pi, mu = gaussian(m, s), gaussian(old_mean, old_std)
    (kl_divergence(pi, mu) if reverse else kl_divergence(mu, pi)).sum().backward()
    g_mean, g_std = kl_gradient(mean, std, old_mean, old_std, reverse)
    np.testing.assert_allclose(g_mean, m.grad.numpy(), rtol=1e-12)
    np.testing.assert_allclose(g_std, s.grad.numpy(), rtol=1e-10)


def test_only_the_papers_divergence_widens_the_policy():
    """Where the means have drifted apart, descending KL(mu || pi) increases std, KL(pi || mu) leaves it alone."""
    std, old_std = np.full(1, 0.5), np.full(1, 0.5)
    assert kl_gradient(np.ones(1), std, np.zeros(1), old_std)[1] == pytest.approx(-1 / 0.5**3)
    assert kl_gradient(np.ones(1), std, np.zeros(1), old_std, reverse=True)[1] == 0.0


# --- sampling --------------------------------------------------------------------------------------------------------
class Scripted:
    """A generator of given normal draws, and of uniform ones that are half way between the bounds and beyond."""

    def __init__(self, normal: list[float]):
        self.normal, self.asked = normal, []

    def standard_normal(self, n):
        return np.array(self.normal[:n])

    def uniform(self, low, high, n):
        self.asked.append((low, high, n))
        return np.linspace(low, high, n + 2)[1:-1]


def test_what_falls_outside_is_redrawn_uniformly():
    rng = Scripted([0.5, 3.1, -2.9, -4.0, 3.0])
    np.testing.assert_allclose(truncated_normal(rng, 5), [0.5, -1.0, -2.9, 1.0, 3.0])
    assert rng.asked == [(-3.0, 3.0, 2)]
    rng = Scripted([0.5, -0.5])
    np.testing.assert_array_equal(truncated_normal(rng, 2), [0.5, -0.5])
    assert not rng.asked


def test_distribution_of_the_noise():
    z = truncated_normal(np.random.default_rng(0), 400_000)
    assert z.shape == (400_000,) and -3 <= z.min() < -2.9 and 2.9 < z.max() <= 3
    outside = 2 * norm.cdf(-3)

    def distribution(x):
        return norm.cdf(x) - norm.cdf(-3) + outside * (x + 3) / 6

    assert kstest(z, distribution).pvalue > 0.01
    # A normal's second moment within +-3 is 1 - outside - 2 * 3 phi(3), a uniform's 3^2 / 3.
    variance = 1 - outside - 6 * norm.pdf(3) + outside * 3
    assert z.mean() == pytest.approx(0, abs=4 * math.sqrt(variance / len(z)))
    assert z.var() == pytest.approx(variance, abs=4 * math.sqrt(2 / len(z)))
    assert abs(variance - 1) > 4 * math.sqrt(2 / len(z)), "the test could not tell it from a whole normal"


# --- softplus --------------------------------------------------------------------------------------------------------
def test_softplus_and_its_slope():
    x = np.array([-1000.0, -3.0, 0.0, 2.0, 1000.0])
    tensor = torch.tensor(x, requires_grad=True)
    y = torch.nn.functional.softplus(tensor, threshold=100)
    np.testing.assert_allclose(softplus(x), y.detach().numpy(), rtol=1e-12)
    assert softplus(np.zeros(1)) == pytest.approx(math.log(2))
    y.sum().backward()
    inner = slice(1, 4)  # the logistic function of -1000 overflows on its way to 0
    np.testing.assert_allclose(softplus_slope(x[inner]), tensor.grad.numpy()[inner], rtol=1e-12)


@given(st.floats(1e-6, 500))
@settings(deadline=None)
def test_inverse_of_softplus(y):
    assert softplus(np.array(inverse_softplus(y))) == pytest.approx(y, rel=1e-9)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_a_deviation_must_be_positive(bad):
    with pytest.raises(UserError, match="positive"):
        inverse_softplus(bad)
