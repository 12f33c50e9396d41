"""Random Network Distillation (Burda et al. 2018b): be paid for states that a pupil has not yet seen often.

A target network with random weights, which never learn, makes a vector of every state; a predictor learns to make the
same vector. It can only do so where it has been trained: its error is the surprise. Unlike ICM, it looks at nothing but
the state that a step leads to. The paper reports on it in a sentence; sizes are those of the authors' code.
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
    """Called as ICM is, with observations float32 [n, *observation_shape] and actions, of which only the next
    observations count."""

    def __init__(self, task: GoalTask, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        shape = task.observation_shape
        # For vectors, the target has more to it than the predictor can copy; the encoder of pictures has one size only.
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
        """Squared differences of target's and predictor's vectors, both made to have length 1: [n, width]."""
        aim = F.normalize(self.target(observations), dim=1)
        return (F.normalize(self.predictor(observations), dim=1) - aim).square()
