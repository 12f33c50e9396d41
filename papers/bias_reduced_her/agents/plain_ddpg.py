"""DDPG with the networks of the original HER (Andrychowicz et al. 2017; openai/baselines, `her/actor_critic.py`)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from common.networks import mlp
from papers.bias_reduced_her.agents.ddpg import DDPG, Actor, Critic

HIDDEN = 256


def _layers(n_inputs: int, n_outputs: int) -> nn.Sequential:
    """Three hidden layers of 256, ReLU. Weights as Glorot & Bengio (2010) draw them, biases 0."""
    layers = mlp([n_inputs, HIDDEN, HIDDEN, HIDDEN, n_outputs])
    for parameter in layers.parameters():
        nn.init.xavier_uniform_(parameter) if parameter.dim() == 2 else nn.init.zeros_(parameter)
    return layers


class PlainActor(Actor):
    """`Actor` with 256 units: inputs [n, i] -> actions [n, a]."""

    def __init__(self, n_inputs: int, n_actions: int):
        nn.Module.__init__(self)
        self.layers = _layers(n_inputs, n_actions)


class PlainCritic(Critic):
    """Q of inputs [n, i] and actions [n, a]: [n]. Nothing is normalised, and the action is one of the inputs."""

    def __init__(self, n_inputs: int, n_actions: int):
        nn.Module.__init__(self)
        self.layers = _layers(n_inputs + n_actions, 1)  # type: ignore[assignment]

    def forward(self, inputs: Tensor, action: Tensor, learning: bool = False) -> Tensor:
        return self.layers(torch.cat([inputs, action], dim=1)).squeeze(1)  # type: ignore[operator]


class PlainDDPG(DDPG):
    """`DDPG` with these networks."""

    actor_kind, critic_kind = PlainActor, PlainCritic
