"""How far ReF-ER lets the policy move, from the share of far-policy samples that it aims at.

Rule 2 bounds no divergence: it holds the share of samples with rho outside (1/c_max, c_max) at the tolerance D. What
mean divergence follows depends on how the policy differs from the replayed ones. For two Gaussian policies of the same
deviation whose means are delta deviations apart at every sample, ln rho ~ N(-delta^2 / 2, delta^2) for actions of the
replayed one, so that D decides delta, and KL = delta^2 / 2. With C = 4 and D = 0.1, KL is 0.40 at first and 0.047
when A t = 5.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri


def far_share(delta: float, c_max: float) -> float:
    """Share of samples with rho <= 1 / c_max or rho >= c_max when the means are `delta` > 0 deviations apart."""
    width = math.log(c_max)
    return float(ndtr(delta / 2 - width / delta) + ndtr(-delta / 2 - width / delta))


def implied_kl(c_max: float, tolerance: float = 0.1) -> float:
    """Mean divergence at which `tolerance` (D, a share) of the samples are far, for the same shift of all means.

    Increases with `c_max` and with `tolerance`. ValueError unless c_max > 1 and 0 < tolerance < 1.
    """
    if not 1 < c_max < math.inf:
        raise ValueError(f"c_max must be above 1 and finite, not {c_max}")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie in (0, 1), not {tolerance}")
    # The share grows with delta. At the lower end, delta / 2 - ln(c_max) / delta = -40: 0 in double precision. At
    # sqrt(2 ln c_max), rho <= 1 / c_max alone has probability 1/2; the upper end is as far above it as any D needs.
    width = math.log(c_max)
    low = 2 * width / (40 + math.sqrt(40**2 + 2 * width))
    high = math.sqrt(2 * width) + 2 * abs(ndtri(tolerance))
    delta = brentq(lambda d: far_share(d, c_max) - tolerance, low, high, xtol=1e-14)
    return delta**2 / 2
