"""Random Network Distillation (Burda et al. 2018b): a reward for states that a predictor has rarely seen.

A target network with fixed random weights maps every state to a vector; a predictor learns to output the same vector.
It can do so only where it has been trained: its error is the surprise. Unlike ICM, it looks only at the state that a
step leads to. The paper reports on it in one sentence; sizes are those of the authors' code.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common.networks import mlp
from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.icm import encoder
from papers.sibling_rivalry.agents.networks import HIDDEN


class Rnd(nn.Module):
    """Has ICM's interface, with observations float32 [n, *observation_shape] and actions, but uses only the next
    observations."""

    def __init__(self, task: GoalTask, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        shape = task.observation_shape
        # For vectors the target is wider than the predictor; the encoder of pictures has only one size.
        wide = mlp([shape[0], 2 * HIDDEN, 2 * HIDDEN, HIDDEN]) if len(shape) == 1 else encoder(shape)
        self.target = wide.requires_grad_(False)
        self.predictor = encoder(shape)

    @torch.no_grad()
    def surprise(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor:
        """Mean squared error of the predictor, float32 [n]: at most 4 / width, as both vectors have length 1."""
        return self.errors(next_observations).mean(dim=1)

    def losses(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor:
        """The same error, [n]. Only the predictor learns from it."""
        return self.errors(next_observations).mean(dim=1)

    def errors(self, observations: Tensor) -> Tensor:
        """Squared differences between target and prediction, both scaled to length 1: [n, width]."""
        aim = F.normalize(self.target(observations), dim=1)
        return (F.normalize(self.predictor(observations), dim=1) - aim).square()
