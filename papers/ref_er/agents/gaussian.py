"""Diagonal Gaussian policies: densities, divergences and their gradients, and sampling.

Gradients are written out instead of differentiated automatically: on batches of a few hundred actions they cost a few
microseconds each, and they are the formulas that ReF-ER combines (Eq. 10). All arrays are [..., d] for d components of
the action; ``mean`` and ``std`` may have fewer leading axes. Sums over components are [...].
"""

from __future__ import annotations

import numpy as np

from lab.run.errors import UserError

Array = np.ndarray
LOG_RATIO_LIMIT = 7.0
"""Log importance weights are clipped at +-7: rho lies in [0.0009, 1097]. The paper clips at 1000, for ReF-ER-2 only
(Sec. 5.3); with Rule 1 a step with such a weight is far-policy anyway."""
TRUNCATION = 3.0
"""Actions are drawn from a normal distribution truncated at this many standard deviations (App. A)."""


def log_density(actions: Array, mean: Array, std: Array) -> Array:
    """ln N(a; mean, std^2), summed over components and without the constant -d/2 ln(2 pi); the truncation of sampling
    is ignored, as it cancels in ratios of policies."""
    z = (actions - mean) / std
    return -0.5 * (z * z).sum(-1) - np.log(std).sum(-1)


def importance_weight(actions: Array, mean: Array, std: Array, old_mean: Array, old_std: Array) -> Array:
    """rho = pi(a|s) / mu(a|s) [...] of the current policy and the behaviour that took the action (Sec. 2)."""
    log_ratio = log_density(actions, mean, std) - log_density(actions, old_mean, old_std)
    return np.exp(np.clip(log_ratio, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT))


def log_density_gradient(actions: Array, mean: Array, std: Array) -> tuple[Array, Array]:
    """Gradients [..., d] of ln pi(a|s) with respect to the mean and to the standard deviation of pi."""
    z = (actions - mean) / std
    return z / std, (z * z - 1.0) / std


def kl(mean: Array, std: Array, old_mean: Array, old_std: Array) -> Array:
    """KL(mu || pi) [...] between the behaviour mu and the current policy pi, the divergence of Eq. 11."""
    ratio = (old_std / std) ** 2
    shift = (mean - old_mean) / std
    return 0.5 * (ratio - 1.0 - np.log(ratio) + shift * shift).sum(-1)


def kl_gradient(mean: Array, std: Array, old_mean: Array, old_std: Array, reverse: bool = False) -> tuple[Array, Array]:
    """Gradients [..., d] of KL(mu || pi) with respect to the mean and to the standard deviation of the current policy.

    `reverse`: of KL(pi || mu), which the authors' program penalises. Where the means drift apart KL(mu || pi) makes pi
    wider; KL(pi || mu) pulls std towards old_std regardless. With equal deviations their slopes in the mean are equal.
    """
    shift = mean - old_mean
    if reverse:
        return shift / old_std**2, std / old_std**2 - 1.0 / std
    variance = std * std
    return shift / variance, (variance - old_std * old_std - shift * shift) / (variance * std)  # Eq. (11)


def truncated_normal(rng: np.random.Generator, n: int) -> Array:
    """n numbers, standard normal inside +-3; what falls outside is redrawn uniformly from [-3, 3] (App. A).

    The paper says "truncated normal"; a uniform redraw is how the authors' program does it. It concerns 0.3 % of draws.
    """
    z = rng.standard_normal(n)
    outside = np.abs(z) > TRUNCATION
    if outside.any():
        z[outside] = rng.uniform(-TRUNCATION, TRUNCATION, int(outside.sum()))
    return z


def softplus(x: Array) -> Array:
    """ln(1 + exp(x)), the map to positive numbers (App. A)."""
    return np.logaddexp(0.0, x)


def softplus_slope(x: Array) -> Array:
    """Derivative of `softplus`: the logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def inverse_softplus(y: float) -> float:
    """The x with softplus(x) = y. UserError unless y > 0."""
    if not y > 0:
        raise UserError(f"a standard deviation must be positive, not {y}")
    return float(y + np.log(-np.expm1(-y)))
