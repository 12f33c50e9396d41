"""Goals that are not uniform: a mixture of Gaussians, and how it scores a virtual goal (App. A.1).

IBS scores a virtual goal g by mu(g), the integral over x of k(g, x) times the density of goals at x, with the kernel
k(g, x) = exp(-|g - x|^2 / (2 sigma^2)) (Sec. 3.1.2). For a mixture the integral has a closed form, so that samples of
goals are enough: `fit` a mixture to them, then `GoalMixture.score`. For any other density it can be estimated by
`monte_carlo` or `importance_sampled`. Points lie in R^d; the ball's goals have d = 2.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import multivariate_normal

from lab.run.errors import UserError
from papers.bias_reduced_her.instructional import Density, kernel

STARTS = 5
"""EM finds a local maximum of the likelihood; the best of this many random starts is taken."""


@dataclass(frozen=True, eq=False)
class GoalMixture:
    """Density of goals: a weighted sum of N Gaussians. Raises UserError for invalid shapes or weights."""

    weights: np.ndarray
    """p_i, [N], not negative, of sum 1."""
    means: np.ndarray
    """mu_i, [N, d]."""
    covariances: np.ndarray
    """S_i, [N, d, d]."""

    def __post_init__(self) -> None:
        n, d = np.shape(self.means) if np.ndim(self.means) == 2 else (0, 0)
        if n == 0 or np.shape(self.weights) != (n,) or np.shape(self.covariances) != (n, d, d):
            shapes = " and ".join(str(np.shape(part)) for part in (self.weights, self.means, self.covariances))
            raise UserError(f"a goal mixture takes arrays [N], [N, d] and [N, d, d], not of shapes {shapes}")
        if np.min(self.weights) < 0 or not np.isclose(np.sum(self.weights), 1):
            raise UserError(f"weights of a goal mixture must not be negative and must sum to 1, not {self.weights}")

    def density(self, x: np.ndarray) -> np.ndarray:
        """Density at the points x [m, d]: [m]."""
        return self.weights @ _gaussians(x, self.means, self.covariances)  # Eq. (12)

    def score(self, goals: np.ndarray, sigma: float) -> np.ndarray:
        """mu of virtual goals [m, d] for a kernel of width sigma > 0, in closed form: [m], between 0 and 1."""
        d = self.means.shape[1]
        covariance = sigma**2 * np.eye(d)  # S_g: the kernel is a Gaussian around g that lacks its normaliser
        # Eq. (15), which is Eq. (13) for two Gaussians, prints a plus between the normalisers |2 pi S_i|^(1/2) and
        # |2 pi S_g|^(1/2) in its denominator. It must be a product, as in Eq. (13). Z_i is then a Gaussian's value:
        z = _gaussians(goals, self.means, self.covariances + covariance)  # Z_i = N(mu_i; g, S_i + S_g)
        return (2 * np.pi) ** (d / 2) * np.linalg.det(covariance) ** 0.5 * (self.weights @ z)  # Eq. (14)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n goals: [n, d]."""
        part = rng.choice(len(self.weights), size=n, p=self.weights)
        roots = np.linalg.cholesky(self.covariances)
        noise = rng.standard_normal((n, self.means.shape[1]))
        return self.means[part] + (roots[part] @ noise[..., None])[..., 0]

    def squared(self) -> tuple[float, "GoalMixture"]:
        """The square of the density is a constant times another mixture: that constant, and that mixture of N^2."""
        n = len(self.means)
        first, second = np.divmod(np.arange(n * n), n)  # all pairs of Gaussians
        inverse = np.linalg.inv(self.covariances)
        pull = inverse @ self.means[..., None]
        covariances = np.linalg.inv(inverse[first] + inverse[second])  # S of Eq. (13)
        means = (covariances @ (pull[first] + pull[second]))[..., 0]  # mu of Eq. (13)
        sums = self.covariances[first] + self.covariances[second]
        z = [multivariate_normal.pdf(self.means[i], self.means[j], s) for i, j, s in zip(first, second, sums)]
        weights = self.weights[first] * self.weights[second] * np.array(z)  # p_i p_j times Z of Eq. (13)
        return float(weights.sum()), GoalMixture(weights / weights.sum(), means, covariances)


def _gaussians(x: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """N(x; mean, covariance) at the points x [m, d] for N Gaussians: [N, m]."""
    rows = [multivariate_normal.pdf(x, mean, covariance) for mean, covariance in zip(means, covariances)]
    return np.reshape(rows, (len(means), len(x)))


def fit(samples: np.ndarray, components: int, seed: int) -> GoalMixture:
    """The mixture of `components` Gaussians that expectation maximisation finds for samples of goals [n, d].

    Raises UserError: fewer samples than components, or less than two, or samples that are not numbers in rows; and
    where scikit-learn is not installed.
    """
    try:
        from sklearn.mixture import GaussianMixture  # nothing else needs scikit-learn
    except ImportError:
        advice = ".venv/bin/pip install --group extras"
        raise UserError(f"fitting a mixture of Gaussians needs scikit-learn: {advice}") from None
    samples = np.asarray(samples, dtype=float)
    if samples.ndim != 2 or not np.isfinite(samples).all():
        raise UserError(f"samples of goals must be finite numbers [n, d], not an array of shape {samples.shape}")
    if components < 1 or len(samples) < max(components, 2):
        raise UserError(
            f"{len(samples)} samples of goals cannot be fitted by {components} Gaussians: "
            "it takes at least one Gaussian, two samples, and a sample per Gaussian"
        )
    found = GaussianMixture(components, n_init=STARTS, max_iter=1000, random_state=seed).fit(samples)
    return GoalMixture(found.weights_, found.means_, found.covariances_)


def monte_carlo(
    goals: np.ndarray,
    sigma: float,
    density: Density,
    domain: tuple[np.ndarray, np.ndarray],
    n: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """mu of virtual goals [m, d] from n >= 2 uniform samples of the domain (low [d], high [d]), shared by all goals.

    Returns the estimates [m] and their standard errors [m]. Unbiased for the integral over the domain.
    """
    low, high = (np.asarray(corner, dtype=float) for corner in domain)
    x = rng.uniform(low, high, (n, goals.shape[1]))
    values = np.prod(high - low) * kernel(goals, x, sigma**2) * density(x)  # Eq. (16): V k(g, X_i) times g(X_i)
    return values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(n)


def importance_sampled(
    goals: np.ndarray, sigma: float, density: Density, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """mu of virtual goals [m, d] from n >= 2 samples each of the normalised kernel around it, N(g, sigma^2 I).

    Returns the estimates [m] and their standard errors [m]. Unbiased for the integral over all of R^d. Not always the
    better of the two, see `variances`; the density is evaluated at m * n points instead of n. The best sampling density
    is proportional to the integrand, k(g, x) times the density of goals at x; mu(g), which App. A.1 names, has no x.
    """
    m, d = goals.shape
    x = goals[:, None] + sigma * rng.standard_normal((m, n, d))
    ratio = (2 * np.pi * sigma**2) ** (d / 2)  # of kernel and sampling density: the same at every x
    values = ratio * density(x.reshape(-1, d)).reshape(m, n)
    return values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(n)


def variances(goals: np.ndarray, sigma: float, mixture: GoalMixture, volume: float) -> tuple[np.ndarray, np.ndarray]:
    """Variance of one sample of `monte_carlo` and of `importance_sampled` for virtual goals [m, d]: [m] and [m].

    An estimate from n samples has 1/n of it. Exact as far as the mixture lies within the domain of that volume V. The
    second moments are V * integral of k^2 g^2 and (2 pi sigma^2)^(d/2) * integral of k g^2. Since k is at most 1,
    importance sampling has the larger variance, whatever the goals, where (2 pi sigma^2)^(d/2) is V or more. A narrower
    kernel wins for virtual goals amid the goals; far from them its samples miss what little counts.
    """
    d = goals.shape[1]
    constant, square = mixture.squared()
    narrow = constant * square.score(goals, sigma / np.sqrt(2))  # the square of a kernel is a kernel of half sigma^2
    wide = constant * square.score(goals, sigma)
    mean_squared = mixture.score(goals, sigma) ** 2
    return volume * narrow - mean_squared, (2 * np.pi * sigma**2) ** (d / 2) * wide - mean_squared
