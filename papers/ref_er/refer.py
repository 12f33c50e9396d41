"""Remember and Forget Experience Replay, the paper's idea (Sec. 3): the rules that any off-policy learner can follow.

A learner computes, per sample of a batch, the gradient g of its objective and hands it to ReF-ER:

    mask = refer.mask(rho)                                # Rule 1: is the sample still likely under the current policy?
    g = refer.gradient(g, kl_gradient, mask)              # Rules 1 and 2
    refer.update(n_far, n)                                # once per batch: beta follows the share of far samples

Plain experience replay is ReF-ER with neither rule: no gradient is masked and beta stays 1.
"""

from __future__ import annotations

import numpy as np

from lab.run.errors import UserError

RULES = {"refer": (True, True), "refer-1": (True, False), "refer-2": (False, True), "er": (False, False)}
"""Kinds of replay -> (Rule 1, Rule 2)."""


class ReFER:
    """Rule 1, Rule 2, the controller of beta and the annealing.

    rule1: far samples give no gradient except Rule 2's; rule2: the penalty (without it beta is 1).
    c: C of Eq. (13), how far importance weights may be from 1 at the start; annealing: A of Eq. (13), per step;
    tolerance: D of Eq. (12), the target share of far samples; rate: that of Eq. (12), per gradient step.
    UserError unless c > 0, 0 < tolerance < 1, annealing >= 0, and rate and beta lie in [0, 1].
    """

    def __init__(
        self,
        rule1: bool = True,
        rule2: bool = True,
        *,
        c: float = 4.0,
        tolerance: float = 0.1,
        annealing: float = 5e-7,
        rate: float = 1e-4,
        beta: float = 0.0,
    ):
        if not c > 0:
            raise UserError(f"C must be positive, not {c}: samples are near for 1/(1+C) < rho < 1+C")
        if not 0 < tolerance < 1:
            raise UserError(f"D must lie in (0, 1), not {tolerance}: it is the share of far-policy samples aimed at")
        if not annealing >= 0:
            raise UserError(f"A must not be negative, not {annealing}")
        if not 0 <= rate <= 1 or not 0 <= beta <= 1:
            raise UserError(f"beta and its rate must lie in [0, 1], not {beta} and {rate}")
        self.rule1, self.rule2 = rule1, rule2
        self.c, self.tolerance, self.annealing, self.rate = c, tolerance, annealing, rate
        self.beta = beta if rule2 else 1.0
        """Weight of the learner's gradient; that of the penalty is 1 - beta."""
        self.c_max = 1.0 + c
        """Samples are near for 1/c_max < rho < c_max."""

    def anneal(self, t: int) -> float:
        """Set c_max for time step t; returns the annealing factor, which also applies to the learning rate."""
        factor = 1.0 / (1.0 + self.annealing * t)
        self.c_max = 1.0 + self.c * factor  # Eq. (13)
        return factor

    def near(self, rho: np.ndarray) -> np.ndarray:
        """True for near-policy samples, bool [B], by their importance weights [B]."""
        return (rho > 1.0 / self.c_max) & (rho < self.c_max)

    def mask(self, rho: np.ndarray) -> np.ndarray:
        """Rule 1 as a factor [B] on a sample's gradient: 1 if near, 0 if far; all 1 without the rule."""
        return self.near(rho).astype(np.float32) if self.rule1 else np.ones(len(rho), np.float32)

    def gradient(self, g: np.ndarray, g_kl: np.ndarray | float, mask: np.ndarray) -> np.ndarray:
        """The gradient [B, d] to follow, from the learner's g and the divergence's g_kl, both [B, d], and `mask`.

        g_kl is 0 for outputs that are not part of the policy. Both point uphill, g for the learner's objective and g_kl
        for the divergence, hence the minus. (The paper's losses point downhill: with them, the minus of Eq. 10 would
        reward the divergence.)
        """
        return (self.beta * mask)[:, None] * g - (1.0 - self.beta) * g_kl  # Eq. (10)

    def update(self, n_far: int, n: int) -> None:
        """Let beta follow the share of far-policy samples among the n stored ones."""
        if self.rule2:
            too_far = n_far > self.tolerance * n
            self.beta = (1.0 - self.rate) * self.beta + (0.0 if too_far else self.rate)  # Eq. (12)
