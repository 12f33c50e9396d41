"""Appendix A.1: the closed form against quadrature and against the printed one, EM, and both estimates."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from lab.run.errors import UserError
from papers.bias_reduced_her.instructional import Grid, kernel, target_distribution
from papers.bias_reduced_her.worlds.goal_mixture import GoalMixture, fit, importance_sampled, monte_carlo, variances

SQUARE = ([0.0, 0.0], [1.0, 1.0])
MIXTURE = GoalMixture(
    np.array([0.6, 0.4]),
    np.array([[0.3, 0.4], [0.7, 0.6]]),
    np.array([[[0.004, 0.002], [0.002, 0.003]], [[0.002, 0.0], [0.0, 0.005]]]),
)
GOALS = np.array([[0.3, 0.4], [0.5, 0.5], [0.9, 0.1], [0.0, 1.0]])


def lattice(low: float = -1.0, high: float = 2.0, n: int = 301) -> tuple[np.ndarray, float]:
    """Points [n * n, 2] and the area of each: sums over them are integrals of what vanishes at the edge."""
    line = np.linspace(low, high, n)
    return np.array(list(itertools.product(line, line))), (line[1] - line[0]) ** 2


def integral_of_kernel(goals: np.ndarray, sigma: float, mixture: GoalMixture, power: int = 1) -> np.ndarray:
    """The definition: sum over a lattice of k^power times density."""
    points, area = lattice()
    return (kernel(goals, points, sigma**2) ** power * mixture.density(points)).sum(axis=1) * area


def printed_score(goals: np.ndarray, sigma: float, mixture: GoalMixture, normaliser) -> np.ndarray:
    """Eqs. (14) and (15) as they stand in the paper; normaliser: how its denominator joins the two determinants."""
    d = mixture.means.shape[1]
    covariance = sigma**2 * np.eye(d)
    total = np.zeros(len(goals))
    for row, g in enumerate(goals):
        for p, mean, own in zip(mixture.weights, mixture.means, mixture.covariances):
            inverse, kernel_inverse = np.linalg.inv(own), np.linalg.inv(covariance)
            joint = np.linalg.inv(inverse + kernel_inverse)
            mu = joint @ (inverse @ mean + kernel_inverse @ g)
            exponent = mu @ np.linalg.inv(joint) @ mu - mean @ inverse @ mean - g @ kernel_inverse @ g
            roots = [np.linalg.det(2 * np.pi * s) ** 0.5 for s in (joint, own, covariance)]
            total[row] += p * roots[0] / normaliser(roots[1], roots[2]) * np.exp(exponent / 2)
    return (2 * np.pi) ** (d / 2) * np.linalg.det(covariance) ** 0.5 * total


@st.composite
def mixtures(draw, d: int | None = None) -> GoalMixture:
    """Up to three Gaussians in up to three dimensions, of standard deviations 0.1 to 1 or so."""
    d = d or draw(st.integers(1, 3))
    n = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    roots = np.eye(d) * rng.uniform(0.1, 1, (n, 1, 1)) + 0.3 * rng.normal(size=(n, d, d)) * np.tri(d, k=-1)
    return GoalMixture(rng.dirichlet(np.ones(n)), rng.normal(size=(n, d)), roots @ roots.transpose(0, 2, 1))


# ---- the density -----------------------------------------------------------------------------------------------------
def test_density_by_hand():
    line = GoalMixture(np.array([0.25, 0.75]), np.array([[0.0], [2.0]]), np.array([[[1.0]], [[4.0]]]))
    x = np.array([[0.0], [2.0], [-1.0]])
    np.testing.assert_allclose(line.density(x), 0.25 * norm.pdf(x[:, 0]) + 0.75 * norm.pdf(x[:, 0], 2, 2))
    assert line.density(x[:1]).shape == (1,)
    apart = GoalMixture(np.ones(1), np.array([[1.0, 2.0]]), np.diag([4.0, 9.0])[None])
    np.testing.assert_allclose(apart.density(np.array([[2.0, 0.0]])), norm.pdf(2, 1, 2) * norm.pdf(0, 2, 3))


def test_samples_have_the_mixtures_moments():
    samples = MIXTURE.sample(40_000, np.random.default_rng(0))
    assert samples.shape == (40_000, 2)
    mean = MIXTURE.weights @ MIXTURE.means
    apart = MIXTURE.means - mean
    covariance = np.einsum("i,ijk->jk", MIXTURE.weights, MIXTURE.covariances + apart[:, :, None] * apart[:, None])
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.005)
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.001)
    right = samples[samples[:, 0] > 0.5]  # all but a hundredth of them from the second Gaussian
    assert len(right) / len(samples) == pytest.approx(0.4, abs=0.01)
    np.testing.assert_allclose(right.mean(axis=0), [0.7, 0.6], atol=0.01)
    np.testing.assert_array_equal(samples[:5], MIXTURE.sample(40_000, np.random.default_rng(0))[:5])


def test_what_is_no_mixture():
    one, square = np.zeros((1, 2)), np.eye(2)[None]
    for weights, means, covariances in [
        (np.ones(2), one, square),
        (np.ones(1), one[0], square),
        (np.ones(1), one, square[0]),
        (np.ones(0), np.zeros((0, 2)), np.zeros((0, 2, 2))),
    ]:
        with pytest.raises(UserError, match="takes arrays"):
            GoalMixture(weights, means, covariances)
    for weights in ([0.5, 0.6], [1.5, -0.5]):
        with pytest.raises(UserError, match="sum to 1"):
            GoalMixture(np.array(weights), np.zeros((2, 2)), np.array([np.eye(2)] * 2))


# ---- the closed form -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sigma", [0.05, 0.2, 1.0])
def test_score_is_the_integral_over_the_kernel(sigma):
    np.testing.assert_allclose(MIXTURE.score(GOALS, sigma), integral_of_kernel(GOALS, sigma, MIXTURE), rtol=1e-9)


@pytest.mark.parametrize("sigma", [0.05, 0.2, 1.0])
def test_the_printed_denominator_is_wrong(sigma):
    """Eq. (15) with its plus misses the integral; with a product it is our closed form."""
    expected = integral_of_kernel(GOALS, sigma, MIXTURE)
    with_plus = printed_score(GOALS, sigma, MIXTURE, lambda a, b: a + b)
    assert (np.abs(with_plus / expected - 1) > 0.5).all()
    np.testing.assert_allclose(printed_score(GOALS, sigma, MIXTURE, lambda a, b: a * b), expected, rtol=1e-8)


@settings(max_examples=40, deadline=None)
@given(mixtures(), st.floats(0.1, 2), st.integers(0, 1000))
def test_both_forms_of_z_agree(mixture, sigma, seed):
    goals = np.random.default_rng(seed).normal(size=(4, mixture.means.shape[1]))
    paper = printed_score(goals, sigma, mixture, lambda a, b: a * b)
    np.testing.assert_allclose(mixture.score(goals, sigma), paper, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("sigma", [0.2, 0.45])
def test_scores_give_the_target_of_the_grid(sigma):
    """q* from the closed form is that from Eq. (3) as a sum over the cells of a grid."""
    grid = Grid((20, 20))
    mu = kernel(grid.centres, grid.centres, sigma**2) @ MIXTURE.density(grid.centres)
    np.testing.assert_allclose(target_distribution(grid, MIXTURE, sigma**2), mu / mu.sum(), rtol=2e-3)


# ---- EM --------------------------------------------------------------------------------------------------------------
def test_em_finds_the_mixture_that_made_the_samples():
    found = fit(MIXTURE.sample(20_000, np.random.default_rng(1)), 2, seed=0)
    order = np.argsort(found.means[:, 0])
    np.testing.assert_allclose(found.weights[order], MIXTURE.weights, atol=0.02)
    np.testing.assert_allclose(found.means[order], MIXTURE.means, atol=0.005)
    np.testing.assert_allclose(found.covariances[order], MIXTURE.covariances, atol=4e-4)
    np.testing.assert_allclose(found.score(GOALS, 0.2), MIXTURE.score(GOALS, 0.2), rtol=0.03, atol=1e-4)


def test_one_gaussian_is_the_mean_and_the_covariance():
    samples = np.random.default_rng(2).normal(size=(50, 3)) * [1, 2, 3]
    found = fit(samples, 1, seed=0)
    np.testing.assert_allclose(found.weights, [1])
    np.testing.assert_allclose(found.means[0], samples.mean(axis=0))
    np.testing.assert_allclose(found.covariances[0], np.cov(samples.T, bias=True), atol=2e-6)


def test_em_has_a_seed():
    samples = np.random.default_rng(3).random((60, 2))
    first, second = fit(samples, 3, seed=5), fit(samples, 3, seed=5)
    np.testing.assert_array_equal(first.means, second.means)


@pytest.mark.parametrize(("samples", "components", "words"), [
    (np.zeros(5), 1, "finite numbers"),
    (np.array([[0.0, np.nan], [1.0, 1.0]]), 1, "finite numbers"),
    (np.zeros((3, 2)), 4, "3 samples of goals cannot be fitted by 4 Gaussians"),
    (np.zeros((1, 2)), 1, "two samples"),
    (np.zeros((3, 2)), 0, "at least one Gaussian"),
])  # fmt: skip
def test_what_em_cannot_fit(samples, components, words):
    with pytest.raises(UserError, match=words):
        fit(samples, components, seed=0)


# ---- estimates -------------------------------------------------------------------------------------------------------
def test_estimates_by_hand():
    """A constant density: the first is the area under the kernel in the domain, and the second all of it."""
    ones = lambda x: np.ones(len(x))  # noqa: E731
    rng = np.random.default_rng(0)
    estimate, error = monte_carlo(GOALS, 1e6, ones, ([0.0, -1.0], [3.0, 1.0]), 10, rng)
    np.testing.assert_allclose(estimate, 6)
    np.testing.assert_allclose(error, 0, atol=1e-9)
    estimate, error = importance_sampled(GOALS, 0.3, ones, 10, rng)
    np.testing.assert_allclose(estimate, 2 * np.pi * 0.09)
    np.testing.assert_allclose(error, 0, atol=1e-12)
    estimate, _ = importance_sampled(GOALS[:, :1], 0.3, ones, 10, rng)
    np.testing.assert_allclose(estimate, np.sqrt(2 * np.pi) * 0.3)


def repeated(sample, repeats: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and standard errors [repeats, goals]."""
    rng = np.random.default_rng(7)
    pairs = [sample(rng) for _ in range(repeats)]
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])


@pytest.mark.parametrize("sigma", [0.1, 0.5])
@pytest.mark.parametrize("method", ["monte carlo", "importance"])
def test_estimates_are_unbiased_and_know_their_error(method, sigma):
    n, goals = 200, GOALS[:2]
    if method == "monte carlo":
        estimates, errors = repeated(lambda rng: monte_carlo(goals, sigma, MIXTURE.density, SQUARE, n, rng))
        variance = variances(goals, sigma, MIXTURE, 1.0)[0]
    else:
        estimates, errors = repeated(lambda rng: importance_sampled(goals, sigma, MIXTURE.density, n, rng))
        variance = variances(goals, sigma, MIXTURE, 1.0)[1]
    exact = MIXTURE.score(goals, sigma)
    assert (np.abs(estimates.mean(axis=0) - exact) < 4 * (variance / n / len(estimates)) ** 0.5).all()
    np.testing.assert_allclose(estimates.var(axis=0, ddof=1), variance / n, rtol=0.35)
    np.testing.assert_allclose((errors**2).mean(axis=0), variance / n, rtol=0.15)


def test_monte_carlo_sees_the_domain_alone():
    """Half of these goals lie outside: the estimate is that of the integral over the square, not of the closed form."""
    half = GoalMixture(np.ones(1), np.array([[0.0, 0.5]]), 0.1**2 * np.eye(2)[None])
    goals = np.array([[0.0, 0.5]])
    inside, error = monte_carlo(goals, 0.3, half.density, SQUARE, 20_000, np.random.default_rng(0))
    whole, whole_error = importance_sampled(goals, 0.3, half.density, 20_000, np.random.default_rng(0))
    exact = half.score(goals, 0.3)
    assert abs(inside - exact / 2) < 4 * error and error < 0.03 * exact
    assert abs(whole - exact) < 4 * whole_error and whole_error < 0.03 * exact


def test_variances_are_those_of_the_definition():
    points, area = lattice()
    sigma, density = 0.2, MIXTURE.density(points)
    k = kernel(GOALS, points, sigma**2)
    mu = (k * density).sum(axis=1) * area
    uniform, importance = variances(GOALS, sigma, MIXTURE, volume=3.0)
    np.testing.assert_allclose(uniform, 3.0 * (k**2 * density**2).sum(axis=1) * area - mu**2, rtol=1e-8)
    expected = 2 * np.pi * sigma**2 * (k * density**2).sum(axis=1) * area - mu**2
    np.testing.assert_allclose(importance, expected, rtol=1e-8)


@settings(max_examples=40, deadline=None)
@given(mixtures(d=2), st.floats(1.0, 3.0), st.integers(0, 1000))
def test_importance_sampling_loses_where_the_kernel_is_wider_than_the_domain(mixture, ratio, seed):
    """ratio: 2 pi sigma^2 over the volume of the domain."""
    goals = np.random.default_rng(seed).normal(size=(5, 2))
    sigma = 0.4
    uniform, importance = variances(goals, sigma, mixture, volume=2 * np.pi * sigma**2 / ratio)
    assert (importance >= uniform).all()


def test_a_narrow_kernel_wins_among_the_goals_and_loses_far_from_them():
    uniform, importance = variances(GOALS, 0.1, MIXTURE, volume=1.0)
    np.testing.assert_array_equal(importance < uniform, [True, True, False, False])
