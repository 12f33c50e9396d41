"""Where closer and farther siblings come from (App. A), computed exactly for finitely many trajectories.

A policy plays trajectory i with probability pi_i and is paid r_i. Two siblings are two independent draws; the closer
one is the one that is paid more. App. A argues that the distance to the goal draws a policy to what is over-represented
among the closer siblings, and that Sibling Rivalry must therefore push away from there. Training uses nothing of this
file: a learner has samples of these distributions, its siblings.

The printed formulas need care in four places, each shown by a test:

* Eqs. (5) to (7) with two equal rewards, as when siblings do the same: ``1(r > r')`` calls neither of them closer, so
  that both are farther. The distributions still add up to pi, but the farther one has more than half of the mass.
  Counting ties as a half makes the masses equal; so does Algorithm 1, which calls the second rollout the closer one.
* Eq. (9) holds for a sibling whose policy is frozen. If psi depends on the policy, as printed, E[psi] without
  ties is 0 for every policy, as what one sibling wins the other loses, and so is its gradient.
* After Eq. (7), pi(tau | g) is printed as a sum over the steps' pi(a | s, g). A probability is their product.
* psi > 0 says that a trajectory is paid more than the median, not more than the mean: making one of these more likely
  may lower the expected reward. Adding a little of rho^c - rho^f, ties halved, to all probabilities never does.
"""

from __future__ import annotations

import numpy as np


def closer_probability(pi: np.ndarray, rewards: np.ndarray, ties: float = 0.0) -> np.ndarray:
    """phi float64 [n]: the probability of each trajectory to be paid more than a sibling.

    pi: [n] probabilities. rewards: [n]. ties: the weight of an equal reward; 0 as printed, 0.5 for equal shares.
    """
    mine, other = rewards[:, None], rewards[None, :]
    return ((mine > other) + ties * (mine == other)) @ pi  # Eq. (5)


def sibling_distributions(pi: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """rho^c and rho^f, float64 [n] each: probabilities of playing a trajectory and being closer with it, or farther."""
    return pi * phi, pi * (1.0 - phi)  # Eqs. (6) and (7)


def pseudoreward(phi: np.ndarray) -> np.ndarray:
    """psi float64 [n], from -1 for the worst to 1 for the best."""
    return 2.0 * phi - 1.0  # Eq. (8)


def policy_gradient(scores: np.ndarray, pi: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """Gradient of E[psi] float64 [d], with the sibling's policy frozen; scores: [n, d] gradients of log pi."""
    return pi @ (scores * pseudoreward(phi)[:, None])  # Eq. (9)


def gradient_from_siblings(scores: np.ndarray, closer: np.ndarray, farther: np.ndarray) -> np.ndarray:
    """The same gradient from rho^c and rho^f [n]: what is over-represented among the closer becomes more likely."""
    return (closer - farther) @ scores  # Eq. (10)
