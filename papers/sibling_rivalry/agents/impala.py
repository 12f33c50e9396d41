"""The learner of the construction task (IMPALA): actor and critic learn from episodes of older policies."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from envs.voxel.build import VoxelBuild
from papers.sibling_rivalry.agents.vtrace import vtrace
from papers.sibling_rivalry.construction.networks import BuildPolicy, Cuboids
from papers.sibling_rivalry.construction.players import Played

VALUE_WEIGHT = 0.5


class Impala:
    """Policy, critic and optimiser, with V-trace for episodes that were played some updates ago.

    The policy sees observation and goal. With `sees_anti_goal`, the critic also sees the anti-goal.
    """

    def __init__(
        self, task: VoxelBuild, sees_anti_goal: bool, *, lr: float, entropy: float, gamma: float, seed: int, device: str
    ):
        torch.manual_seed(seed)
        self.task, self.entropy, self.gamma, self.device = task, entropy, gamma, device
        self.policy = BuildPolicy(task).to(device)
        self.critic = Cuboids(task, 1 + sees_anti_goal, 1).to(device)
        self.adam = torch.optim.Adam([*self.policy.parameters(), *self.critic.parameters()], lr=lr, fused=True)

    def learn(self, played: Played, rewards: np.ndarray, anti_goals: np.ndarray | None) -> dict[str, float]:
        """One gradient step on all steps of the episodes. rewards: [n, T]; anti_goals: [n, cells] where seen.

        Episodes that ran out of time are bootstrapped: the value of their last state is the critic's.
        """
        loss, parts = self.loss(played, rewards, anti_goals)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return parts

    def loss(
        self, played: Played, rewards: np.ndarray, anti_goals: np.ndarray | None
    ) -> tuple[Tensor, dict[str, float]]:
        """The loss; and by name its parts and the ratios pi / mu, cut at 1, averaged over the steps."""
        rollouts = played.rollouts
        n, steps = rollouts.actions.shape
        rows, times = np.nonzero(np.arange(steps + 1) <= rollouts.lengths[:, None])  # of all states, including the last
        acted = times < rollouts.lengths[rows]
        at = rows[acted], times[acted]  # the steps, in the order in which `acted` picks them from the states
        observations = self._tensor(self.task.observe(rollouts.states[rows, times]))
        goals = self._tensor(rollouts.goals[rows])
        seen = self.policy.see(observations)

        further = () if anti_goals is None else (self._tensor(anti_goals[rows]),)
        values = self.critic(observations, goals, *further, seen=seen).squeeze(1)
        chosen = torch.from_numpy(acted)
        log_probs = self.policy.log_probs(observations[chosen], goals[chosen], None if seen is None else seen[chosen])
        taken = log_probs.gather(1, self._tensor(rollouts.actions[at])[:, None]).squeeze(1)

        known, log_ratios = np.zeros((n, steps + 1)), np.zeros((n, steps))
        known[rows, times] = values.detach().cpu().numpy()
        known[rollouts.reached, rollouts.lengths[rollouts.reached]] = 0.0  # nothing comes after success
        log_ratios[at] = taken.detach().cpu().numpy() - played.log_probs[at]
        targets, advantages = vtrace(rewards, known, log_ratios, rollouts.lengths, self.gamma)

        policy_loss = -(self._tensor(advantages[at]) * taken).mean()
        value_loss = (self._tensor(targets[at]) - values[chosen]).square().mean()
        entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
        loss = policy_loss + VALUE_WEIGHT * value_loss - self.entropy * entropy
        parts = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
        rho = float(np.exp(np.minimum(log_ratios[at], 0.0)).mean())
        return loss, {name: float(part.detach()) for name, part in parts.items()} | {"rho": rho}

    def _tensor(self, array: np.ndarray) -> Tensor:
        """On the learner's device; all but int64 as float32."""
        return torch.from_numpy(array if array.dtype == np.int64 else array.astype(np.float32, copy=False)).to(
            self.device
        )
