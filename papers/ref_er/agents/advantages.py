"""Closed-form advantages A(s, a) whose mean under a Gaussian policy is zero (App. E), an option of V-RACER.

The network's coefficients [B, n_outputs] describe a bump f around the policy's mean; A = f - E[f]. Each class takes
`offset`, u = a - m [B, d], and the policy's deviation `std` [d], both constants.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import softplus


class Advantage(Protocol):
    """What V-RACER requires of an advantage."""

    def n_outputs(self, d: int) -> int:
        """Number of coefficients for d components of the action."""

    def initial_biases(self, d: int) -> list[float]:
        """Initial biases of the coefficients."""

    def __call__(self, coefficients: Tensor, offset: Tensor, std: Tensor) -> Tensor:
        """A(s, a) [B]."""


class Quadratic:
    """f = -u' L L' u / 2 with a lower-triangular L whose diagonal is positive (Eq. 18)."""

    def n_outputs(self, d: int) -> int:
        return d * (d + 1) // 2

    def initial_biases(self, d: int) -> list[float]:
        return [0.0] * self.n_outputs(d)

    def __call__(self, coefficients: Tensor, offset: Tensor, std: Tensor) -> Tensor:
        factor = lower_triangular(coefficients, offset.shape[-1])
        f = -0.5 * (factor.mT @ offset[..., None]).square().sum((-2, -1))  # Eq. (18)
        # Eq. (19) prints Tr[L L' Sigma]; the factor -1/2 of f belongs to its mean, too.
        mean = -0.5 * (factor.square().sum(-1) * std.square()).sum(-1)  # Eq. (19)
        return f - mean


class Gaussian:
    """f = K exp(-sum u_i^2 / (2 L_i)), with L+ above the mean and L- below it: 1 + 2 d coefficients (Eq. 20)."""

    def n_outputs(self, d: int) -> int:
        return 1 + 2 * d

    def initial_biases(self, d: int) -> list[float]:
        """Not in the paper; from the authors' program."""
        return [-1.0] + [1.0] * (2 * d)

    def __call__(self, coefficients: Tensor, offset: Tensor, std: Tensor) -> Tensor:
        height, above, below = softplus(coefficients).split([1, offset.shape[-1], offset.shape[-1]], dim=-1)
        width = torch.where(offset > 0, above, below)
        f = height[..., 0] * torch.exp(-0.5 * (offset.square() / width).sum(-1))  # Eq. (20)
        variance = std.square()
        halves = 0.5 * ((above / (above + variance)).sqrt() + (below / (below + variance)).sqrt())  # Eq. (21)
        return f - height[..., 0] * halves.prod(-1)  # Eq. (22)


def lower_triangular(entries: Tensor, d: int) -> Tensor:
    """L [B, d, d] from its d (d + 1) / 2 entries [B, ...], row by row; softplus makes the diagonal positive."""
    rows, columns = torch.tril_indices(d, d)
    on_diagonal = rows == columns
    values = torch.where(on_diagonal.to(entries.device), softplus(entries), entries)
    matrix = entries.new_zeros(*entries.shape[:-1], d, d)
    matrix[..., rows, columns] = values
    return matrix
