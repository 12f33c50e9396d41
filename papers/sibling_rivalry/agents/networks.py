"""Networks for observations and goals that are vectors or pictures (App. F)."""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from common.networks import mlp
from envs.goal_task import GoalTask

HIDDEN = 128
FEATURES = 64
CHUNK = 256
"""Pictures per gradient computation on a CPU: the feature maps of a whole mini-batch do not fit into its cache, which
would make it half as slow again."""


def input_shape(task: GoalTask, goals: int = 1) -> tuple[int, ...]:
    """Shape of an observation with `goals` goals joined to it along the first dimension; 0: the observation alone."""
    return (task.observation_shape[0] + goals * task.goal_shape[0], *task.observation_shape[1:])


def network(shape: tuple[int, ...], n_outputs: int, pool: Literal["max", "mean"]) -> nn.Module:
    """Maps float32 [n, *shape] to [n, n_outputs]: a perceptron for vectors, convolutions for pictures."""
    if len(shape) == 1:
        rectify = partial(nn.ReLU, inplace=True)  # saves a twentieth of a training step
        return mlp([shape[0], HIDDEN, HIDDEN, HIDDEN, n_outputs], rectify)  # App. F, "2D point maze navigation"
    return nn.Sequential(
        PixelEncoder(shape[0], pool), nn.Linear(FEATURES, FEATURES), nn.ReLU(), nn.Linear(FEATURES, n_outputs)
    )


class PixelEncoder(nn.Module):
    """Four convolutions, pooled over the picture and normalised: [n, planes, height, width] -> [n, FEATURES].

    The paper states convolution, max pooling and LayerNorm (App. F, "2D bit flipping task"); sizes are the authors', as
    is that values, unlike policies, pool by the mean. Height and width must be at least 5.
    """

    def __init__(self, planes: int, pool: Literal["max", "mean"]):
        super().__init__()
        self.pool = pool
        self.convolutions = nn.Sequential(
            nn.Conv2d(planes, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, FEATURES, 3),
        )  # fmt: skip
        self.norm = nn.LayerNorm(FEATURES)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # faster convolutions

    def forward(self, pictures: Tensor) -> Tensor:
        maps = self.convolutions(pictures)
        return self.norm(maps.amax(dim=(2, 3)) if self.pool == "max" else maps.mean(dim=(2, 3)))


def join(*parts: Tensor) -> Tensor:
    """Observations and goals [n, k, ...] joined along their first dimension: [n, sum of k, ...]."""
    return torch.cat(parts, dim=1)
