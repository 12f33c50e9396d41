"""V-trace (Espeholt et al. 2018, IMPALA): returns for a policy pi from steps taken by an older policy mu."""

from __future__ import annotations

import numpy as np

RHO_BAR = C_BAR = 1.0
"""Caps of the ratios pi / mu: rho decides whose value the targets estimate, c how far they look ahead."""


def vtrace(
    rewards: np.ndarray, values: np.ndarray, log_ratios: np.ndarray, lengths: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Targets v of the values, and advantages rho (r + gamma v' - V) of the actions: float64 [n, T] each.

    rewards: [n, T]. values: [n, T + 1], V of all states; after an episode's last step, the bootstrap value, 0 if the
    episode terminated. log_ratios: [n, T], log pi - log mu of the actions taken. lengths: int [n], of the episodes, at
    least 1; what follows them is ignored, and 0 in both results.
    """
    n, steps = rewards.shape
    values = np.asarray(values, np.float64)
    inside = np.arange(steps) < lengths[:, None]
    ratios = np.exp(np.where(inside, log_ratios, 0.0))
    rho, c = np.minimum(RHO_BAR, ratios), np.minimum(C_BAR, ratios)
    targets, advantages = np.zeros((n, steps)), np.zeros((n, steps))
    beyond = np.zeros(n)  # v - V of the next state
    for t in reversed(range(steps)):
        delta = rho[:, t] * (rewards[:, t] + gamma * values[:, t + 1] - values[:, t])
        advantages[:, t] = delta + rho[:, t] * gamma * beyond
        beyond = np.where(inside[:, t], delta + gamma * c[:, t] * beyond, 0.0)
        targets[:, t] = values[:, t] + beyond  # Eq. (V.1)
    return np.where(inside, targets, 0.0), np.where(inside, advantages, 0.0)
