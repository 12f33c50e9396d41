"""Both closed-form advantages: their values by hand, and their mean under the policy by quadrature and Monte Carlo."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from papers.ref_er.agents.advantages import Gaussian, Quadratic, lower_triangular

FORMS = [Quadratic(), Gaussian()]
both_forms = pytest.mark.parametrize("form", FORMS, ids=["quadratic", "gaussian"])


def coefficients(form, d: int, seed: int = 0) -> Tensor:
    """Random ones [1, k], float64."""
    g = torch.Generator().manual_seed(seed)
    return torch.randn(1, form.n_outputs(d), generator=g, dtype=torch.float64)


def deviation(d: int) -> Tensor:
    return torch.tensor([0.6, 1.3, 0.4, 0.9])[:d].double()


def quadrature(std: Tensor) -> tuple[Tensor, Tensor]:
    """Offsets [n, d] on a grid over +-8 deviations, and their probabilities [n] (the trapezoidal rule).

    Zero is a node, where the Gaussian bump has its kink.
    """
    z = torch.linspace(-8, 8, 4001 if len(std) == 1 else 401, dtype=torch.float64)
    p = torch.exp(-0.5 * z**2)
    grids = torch.meshgrid(*[z] * len(std), indexing="ij")
    weights = torch.stack(torch.meshgrid(*[p / p.sum()] * len(std), indexing="ij")).prod(0)
    return torch.stack([grid.reshape(-1) for grid in grids], dim=-1) * std, weights.reshape(-1)


# --- the mean is zero ------------------------------------------------------------------------------------------------
@both_forms
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_mean_is_zero_by_quadrature(form, d, seed):
    std = deviation(d)
    offset, p = quadrature(std)
    advantage = form(coefficients(form, d, seed).expand(len(offset), -1), offset, std)
    assert advantage.std() > 0.01
    assert (p * advantage).sum().item() == pytest.approx(0.0, abs=2e-5)  # of 401 nodes


@pytest.mark.parametrize("d", [1, 2])
def test_the_printed_mean_of_the_quadratic_form_is_wrong(d):
    """Eq. (19) prints Tr[L L' Sigma]. That is -2 times the mean of Eq. (18): with it the advantage has a mean of
    -3/2 Tr[L L' Sigma]."""
    form, std = Quadratic(), deviation(d)
    one = coefficients(form, d)
    factor = lower_triangular(one[0], d).numpy()
    trace = np.trace(factor @ factor.T @ np.diag(std.numpy() ** 2))
    offset, p = quadrature(std)
    f = np.array([-0.5 * u @ factor @ factor.T @ u for u in offset.numpy()])
    assert p.numpy() @ f == pytest.approx(-0.5 * trace, rel=1e-9)
    assert p.numpy() @ (f - trace) == pytest.approx(-1.5 * trace, rel=1e-9) and trace > 0.1
    found = form(one.expand(len(offset), -1), offset, std).numpy()
    np.testing.assert_allclose(found, f + 0.5 * trace, rtol=1e-9, atol=1e-12)


# --- values ----------------------------------------------------------------------------------------------------------
def test_quadratic_by_hand():
    """L = [[1, 0], [2, 3]], u = (1, -1), Sigma = diag(4, 1): L' u = (-1, -3), f = -5, Tr = 1 * 4 + (4 + 9) * 1 = 17."""
    raw = [math.log(math.e - 1), 2.0, math.log(math.exp(3) - 1)]  # softplus(ln(e^y - 1)) = y
    found = Quadratic()(torch.tensor([raw]).double(), torch.tensor([[1.0, -1.0]]).double(), torch.tensor([2.0, 1.0]))
    assert found.tolist() == [pytest.approx(-5 + 17 / 2)]


@pytest.mark.parametrize("u, exponent", [((2, -3), 4 / 2 + 9 / 10), ((-2, 3), 4 / 3 + 9 / 4), ((0, 0), 0)])
def test_gaussian_by_hand(u, exponent):
    """K = 7; L+ = (2, 4) above the mean, L- = (3, 10) below it; Sigma = diag(4, 1)."""
    raw = torch.tensor([[7.0, 2.0, 4.0, 3.0, 10.0]]).double().expm1().log()
    found = Gaussian()(raw, torch.tensor([u]).double(), torch.tensor([2.0, 1.0]))
    halves = [math.sqrt(2 / 6) + math.sqrt(3 / 7), math.sqrt(4 / 5) + math.sqrt(10 / 11)]
    assert found.tolist() == [pytest.approx(7 * math.exp(-exponent / 2) - 7 * halves[0] * halves[1] / 4)]


@both_forms
@pytest.mark.parametrize("d", [1, 3])
def test_the_mean_action_is_the_best(form, d):
    n, std = 500, deviation(d)
    one = coefficients(form, d).expand(n, -1)
    offset = torch.randn(n, d, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    best = form(one, torch.zeros_like(offset), std)
    assert (best > 0).all() and (form(one, offset, std) < best).all()


@both_forms
def test_samples_of_a_batch_are_independent(form):
    d, std = 2, deviation(2)
    many = torch.cat([coefficients(form, d, seed) for seed in range(4)])
    offset = torch.randn(4, d, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    together = form(many, offset, std)
    assert together.shape == (4,)
    each = torch.cat([form(many[i : i + 1], offset[i : i + 1], std) for i in range(4)])
    torch.testing.assert_close(together, each)


# --- coefficients ----------------------------------------------------------------------------------------------------
def test_first_biases():
    assert Quadratic().initial_biases(2) == [0, 0, 0]
    assert Gaussian().initial_biases(2) == [-1, 1, 1, 1, 1]


def test_entries_of_the_triangular_matrix():
    """Row by row; softplus on the diagonal only."""
    entries = torch.tensor([[-1.0, -2.0, 3.0, -4.0, 5.0, -6.0], [0.0] * 6])
    s = [math.log1p(math.exp(x)) for x in (-1, 3, -6)]
    found = lower_triangular(entries, 3)
    torch.testing.assert_close(found[0], torch.tensor([[s[0], 0, 0], [-2, s[1], 0], [-4, 5, s[2]]]))
    torch.testing.assert_close(found[1], math.log(2) * torch.eye(3))


@both_forms
def test_gradient_of_the_coefficients(form):
    """Against finite differences; offset and deviation are constants."""
    many = torch.cat([coefficients(form, 2, seed) for seed in range(3)]).requires_grad_()
    offset = torch.tensor([[0.5, -0.4], [-0.3, 1.0], [0.9, 0.2]]).double()
    assert torch.autograd.gradcheck(lambda c: form(c, offset, deviation(2)), many)
    assert not form(many.detach(), offset, deviation(2)).requires_grad
