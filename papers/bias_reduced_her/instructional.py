"""The instructional-based strategy, IBS: prefer virtual goals that teach much (Sec. 3.1, Algorithm 1).

The agent has to reach goals that are distributed as g. A virtual goal also teaches about goals near it, as a kernel
says; g smoothed by the kernel is the target distribution q* of virtual goals. What has been covered is the proposal q,
the histogram of the virtual goals stored so far. A goal is worth q* - q, but at least a small floor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.special import erf

from lab.run.errors import UserError

Density = Callable[[np.ndarray], np.ndarray]
"""A goal density, not necessarily normalised: points [n, 2] -> values [n]."""


class GoalDistribution(Protocol):
    """What IBS needs to know about the task's goals: `UniformGoals`, or a mixture of Gaussians (goal_mixture.py)."""

    def score(self, goals: np.ndarray, sigma: float) -> np.ndarray:
        """mu of virtual goals [n, 2] for a kernel of width sigma, up to a constant factor: [n]."""


class Grid:
    """M x N cells of equal size over the box of all virtual goals. Cell (i, j) lies at column i, row j from below."""

    def __init__(
        self, shape: tuple[int, int] = (20, 20), low: tuple[float, float] = (0, 0), high: tuple[float, float] = (1, 1)
    ):
        if min(shape) < 1:
            raise UserError(f"a grid needs at least one cell in each direction, not {shape[0]} x {shape[1]}")
        if not np.all(np.less(low, high)):
            raise UserError(f"a grid needs an area: {low} must lie below {high}")
        self.shape = tuple(shape)
        self.low, self.high = np.asarray(low, float), np.asarray(high, float)
        self.size = (self.high - self.low) / self.shape
        columns, rows = np.meshgrid(np.arange(shape[0]), np.arange(shape[1]), indexing="ij")
        self.centres = self.low + (np.stack([columns.ravel(), rows.ravel()], axis=1) + 0.5) * self.size
        """Centres of the cells [M * N, 2], the last index running fastest."""

    def cell(self, goals: np.ndarray) -> np.ndarray:
        """Flat cell numbers int64 [n] of goals [n, 2]; a goal outside the grid counts for the nearest cell."""
        place = ((goals - self.low) / self.size).astype(np.int64)
        place = np.clip(place, 0, np.array(self.shape) - 1)
        return place[:, 0] * self.shape[1] + place[:, 1]


def kernel(a: np.ndarray, b: np.ndarray, variance: float) -> np.ndarray:
    """Relevance of goals b [m, d] for goals a [n, d]: exp(-|a - b|^2 / (2 sigma^2)), [n, m]."""
    squares = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * variance))  # Eq. (2)


class UniformGoals:
    """Goals uniform in the box from `low` (2,) to `high` (2,)."""

    def __init__(self, low: np.ndarray, high: np.ndarray):
        self.low, self.high = np.asarray(low, float), np.asarray(high, float)

    def density(self, x: np.ndarray) -> np.ndarray:
        """Density at the points x [n, 2], not normalised: 1 within and 0 elsewhere, [n]."""
        return ((x >= self.low) & (x <= self.high)).all(axis=1).astype(float)  # Eq. (1)

    def score(self, goals: np.ndarray, sigma: float) -> np.ndarray:
        """As in `GoalDistribution`: the integral of the kernel over the box, which the error function gives."""
        low, high = (erf((corner - goals) / (sigma * 2**0.5)) for corner in (self.low, self.high))
        return (high - low).prod(axis=1)  # Eqs. (3) and (4), up to a constant factor


def target_distribution(grid: Grid, goals: GoalDistribution, variance: float) -> np.ndarray:
    """q* over the cells [M * N], from the scores of their centres. UserError where all scores are zero."""
    mu = goals.score(grid.centres, variance**0.5)
    if not mu.sum() > 0:
        raise UserError("no virtual goal is near the task's goals: choose a larger sigma")
    return mu / mu.sum()  # Eq. (8)


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Kullback-Leibler divergence KL(p || q) in nats of two distributions over the same cells; q must be positive."""
    there = p > 0
    return float((p[there] * np.log(p[there] / q[there])).sum())  # Eq. (11)


class Proposal:
    """q: the histogram of the virtual goals stored so far."""

    def __init__(self, grid: Grid):
        self.grid = grid
        self.counts = np.zeros(grid.shape[0] * grid.shape[1])

    def add(self, goals: np.ndarray) -> None:
        """Count the goals [n, 2]."""
        self.counts += np.bincount(self.grid.cell(goals), minlength=self.counts.size)

    @property
    def q(self) -> np.ndarray:
        """Shares of the cells [M * N]; all zero before the first goal."""
        return self.counts / max(self.counts.sum(), 1.0)  # Eq. (9)

    @property
    def smoothed(self) -> np.ndarray:
        """Shares with one more goal in every cell, so that none is zero; for divergences."""
        return (self.counts + 1) / (self.counts + 1).sum()


class Instruction:
    """How much a virtual goal teaches, given what has been stored."""

    def __init__(
        self,
        proposal: Proposal,
        goals: GoalDistribution,
        variance: float = 2.0,
        variance_end: float = 0.2,
        variance_decay: float = 0.9,
        floor: float = 0.002,
    ):
        """variance: initial sigma^2 of the kernel, in squared units of the goals; variance_end: its final value;
        variance_decay: the factor that `anneal` applies; floor: smallest weight of a goal."""
        if not 0 < variance_end <= variance:
            raise UserError(f"sigma^2 must be positive and fall: 0 < {variance_end} <= {variance} does not hold")
        if not 0 < variance_decay <= 1:
            raise UserError(f"the decay of sigma^2 must lie in (0, 1], not {variance_decay}")
        if not floor > 0:
            raise UserError(f"the smallest weight must be positive, not {floor}")
        self.proposal, self.floor = proposal, floor
        self.variance, self.variance_end, self.variance_decay = variance, variance_end, variance_decay
        self.set_goals(goals)

    def set_goals(self, goals: GoalDistribution) -> None:
        """Set the distribution of the task's goals, at the start and when they move (App. A.2)."""
        self.goals = goals
        self.target = target_distribution(self.proposal.grid, goals, self.variance)

    def anneal(self) -> None:
        """Decay sigma^2 once, which sharpens the target."""
        self.variance = max(self.variance * self.variance_decay, self.variance_end)
        self.set_goals(self.goals)

    def weights(self, goals: np.ndarray) -> np.ndarray:
        """Weights [n] of goals [n, 2], to be normalised over the goals to choose from: Eq. (7)."""
        missing = self.target - self.proposal.q
        return np.maximum(missing, self.floor)[self.proposal.grid.cell(goals)]  # Eqs. (6) and (10)
