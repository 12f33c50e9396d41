"""What several tests of NERS use: batches, a critic written out."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from papers.ners.samplers.batch import Batch, Signals

N_STATES, N_ACTIONS = 3, 2
LAW = {"tv", "kl", "ess", "log_score_mean", "log_score_sd"}
DRAWN = {"age", "first_time", "td2_mean", "td2_sd", "q_mean", "q_sd", "log_td", "draws"} | {
    "tv_replayed", "log_score_sd_replayed"}  # fmt: skip
SCORES = {"score"}
OWN: dict[str, set[str]] = {"random": set(), "random-iid": set(), "per": set(), "ero": {"scorer_updates"}}
OWN["ners"] = {"scorer_updates", "replay_reward", "saturated"}
"""Metrics of a run by what they are about; the last ones sampler by sampler."""


def batch(n: int = 5, seed: int = 0) -> Batch:
    g = torch.Generator().manual_seed(seed)
    return Batch(
        torch.randn(n, N_STATES, generator=g), 2 * torch.rand(n, N_ACTIONS, generator=g) - 1,
        torch.randn(n, generator=g), torch.randn(n, N_STATES, generator=g), (torch.arange(n) % 3 == 2).float(),
        0.2 + 0.8 * torch.rand(n, generator=g),
    )  # fmt: skip


def reference_critic(parameters: list[Tensor], k: int, state: Tensor, action: Tensor) -> Tensor:
    """The k-th of the stacked critics, layer by layer."""
    x = torch.cat([state, action], dim=1)
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i][k] + parameters[i + 1][k]
        x = x.relu() if i < len(parameters) - 2 else x
    return x.squeeze(1)


def coming_noise(agent: Any, *shapes: tuple[int, ...]) -> list[Tensor]:
    """The standard normal numbers that an agent is about to draw."""
    g = torch.Generator()
    g.set_state(agent.noise.get_state())
    return [torch.randn(shape, generator=g) for shape in shapes]


class PlainSteps:
    """Whole backward passes, of which one optimiser takes its part."""

    adams: list[torch.optim.Adam]

    def step(self, loss: Tensor, adam: torch.optim.Optimizer) -> None:
        for each in self.adams:
            each.zero_grad()
        loss.backward()
        adam.step()

    @staticmethod
    def assert_told(told: Signals, y: Tensor, q1: Tensor, q2: Tensor) -> None:
        """What an update says of its transitions is what a target and two values make of it."""
        wanted = ((y - q1).abs() + (y - q2).abs()) / 2, ((y - q1) ** 2 + (y - q2) ** 2) / 2, y, (q1 + q2) / 2
        for x, z in zip(told, wanted):
            np.testing.assert_allclose(x, z.numpy(), rtol=1e-3, atol=1e-4)
