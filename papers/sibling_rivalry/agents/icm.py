"""The Intrinsic Curiosity Module (Pathak et al. 2017): a reward for what a learnt model does not predict.

Three networks learn together from every transition (s, a, s'):

    encoder         maps an observation to a vector of length 1;
    inverse model   predicts the action from the vectors of s and s', so that the encoder must keep what actions can
                    change and may drop what they cannot;
    forward model   predicts the vector of s' from the vector of s and the action.

The error of the forward model is the surprise. It is large where the agent has rarely been, and falls there with
training: the reward moves on to what is still new. None of the three sees goals. Without the fixed length, the encoder
could change the scale of the reward. Sibling Rivalry is compared with this module (App. F, "Intrinsic Curiosity
Module", which states no sizes; those of hidden layers, and the length, are from the authors' code).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common.networks import mlp
from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.networks import FEATURES, HIDDEN, PixelEncoder

ACTION_FEATURES = 8
"""Size of a discrete action's embedding."""


def encoder(shape: tuple[int, ...]) -> nn.Module:
    """Maps observations float32 [n, *shape] to [n, HIDDEN] (vectors) or [n, FEATURES] (pictures).

    As the policies without their output layer (App. F). Encoders of pictures keep the policies' LayerNorm.
    """
    return mlp([shape[0], HIDDEN, HIDDEN, HIDDEN]) if len(shape) == 1 else PixelEncoder(shape[0], pool="max")


class Icm(nn.Module):
    """Curiosity for tasks of any kind: vectors or pictures, continuous or discrete actions.

    Transitions are given as observations float32 [n, *observation_shape], actions float32 [n, a] in the task's units or
    int64 [n], and next observations.
    """

    def __init__(self, task: GoalTask, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        vectors, self.discrete = len(task.observation_shape) == 1, task.action_range is None
        width = HIDDEN if vectors else FEATURES
        self.encoder = encoder(task.observation_shape)
        self.action_encoder = nn.Embedding(task.n_actions, ACTION_FEATURES) if self.discrete else nn.Identity()
        seen = width + (ACTION_FEATURES if self.discrete else task.n_actions)
        self.inverse_model = mlp([2 * width, width, task.n_actions])
        self.forward_model = mlp([seen, width, width, width] if vectors else [seen, width, width])

    @torch.no_grad()
    def surprise(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor:
        """Mean squared error of the forward model, float32 [n]: at most 4 / width, as both vectors have length 1."""
        now, after = self.embed(observations), self.embed(next_observations)
        return (self.foretell(now, actions) - after).square().mean(dim=1)

    def losses(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor:
        """Error of the inverse model plus that of the forward model: [n]. All three networks learn from it.

        The inverse model's is the squared error of a continuous action, or the cross-entropy of a discrete one.
        """
        now, after = self.embed(observations), self.embed(next_observations)
        guess = self.inverse_model(torch.cat([now, after], dim=1))
        if self.discrete:
            inverse = F.cross_entropy(guess, actions, reduction="none")
        else:
            inverse = (guess - actions).square().mean(dim=1)
        # The target is detached: else the encoder could make everything predictable by making everything alike.
        return inverse + (self.foretell(now, actions) - after.detach()).square().mean(dim=1)

    def embed(self, observations: Tensor) -> Tensor:
        """Vectors of length 1, float32 [n, width]."""
        return F.normalize(self.encoder(observations), dim=1)

    def foretell(self, now: Tensor, actions: Tensor) -> Tensor:
        """The forward model's prediction of the next vectors, of length 1: [n, width]."""
        return F.normalize(self.forward_model(torch.cat([now, self.action_encoder(actions)], dim=1)), dim=1)
