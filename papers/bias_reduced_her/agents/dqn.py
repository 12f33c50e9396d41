"""Double deep Q-learning with goals as further inputs, for tasks with discrete actions (Algorithms 1 and 2 allow it).

Its hidden layers are those of the paper's actor (Appendix D). Double: the online network chooses the next action, its
target values it (van Hasselt et al. 2016), so that the maximum over noisy values adds little bias of its own.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from common.networks import mlp
from papers.bias_reduced_her.agents.ddpg import HIDDEN, Batch


class DQN:
    """Q-network, target network and optimiser. In a `Batch`, actions are int64 [n]."""

    def __init__(
        self,
        n_inputs: int,
        n_actions: int,
        *,
        lr: float = 1e-3,
        gamma: float = 0.98,
        tau: float = 0.05,
        clip: float = 3.0,
        seed: int = 0,
    ):
        """Arguments as in `ddpg.DDPG`."""
        self.n_actions, self.gamma, self.tau, self.clip = n_actions, gamma, tau, clip
        sizes = [n_inputs, HIDDEN, HIDDEN, HIDDEN, n_actions]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.q, self.target = mlp(sizes), mlp(sizes)
        self.target.load_state_dict(self.q.state_dict())
        self.parameters: list[Tensor] = list(self.q.parameters())
        self.averaged: list[Tensor] = list(self.target.parameters())
        self.adam = torch.optim.Adam(self.parameters, lr=lr, fused=True)

    def values(self, inputs: np.ndarray) -> np.ndarray:
        """Q of every action, float32 [n, actions], for inputs float32 [n, i]."""
        weights = [parameter.detach().numpy() for parameter in self.parameters]  # NumPy: see DDPG.act
        for i in range(0, len(weights), 2):
            inputs = np.maximum(inputs, 0.0) if i else inputs
            inputs = inputs @ weights[i].T + weights[i + 1]
        return inputs

    def explore(self, inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> int:
        """One action for inputs [i]: uniform with probability epsilon, else greedy."""
        if rng.random() < epsilon:
            return int(rng.integers(self.n_actions))
        return int(self.values(inputs[None]).argmax())

    @torch.no_grad()
    def targets(self, batch: Batch) -> Tensor:
        """y [n] = r + gamma Q'(s', argmax_a Q(s', a)), and r alone where it is terminal; clipped as in `ddpg.DDPG`."""
        best = self.q(batch.next_inputs).argmax(dim=1, keepdim=True)
        next_q = self.target(batch.next_inputs).gather(1, best).squeeze(1)
        y = batch.reward + self.gamma * (1.0 - batch.terminal) * next_q
        return y.clamp(-1.0 / (1.0 - self.gamma), 0.0)

    def loss(self, batch: Batch, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Weighted squared TD error, and the TD errors [n]."""
        td = self.targets(batch) - self.q(batch.inputs).gather(1, batch.action[:, None]).squeeze(1)
        return (weights * td.square()).mean(), td.detach()

    def update(self, batch: Batch, weights: Tensor) -> tuple[float, np.ndarray]:
        """One gradient step, and one step of the target network. Returns the loss and the TD errors [n]."""
        loss, td = self.loss(batch, weights)
        for parameter, gradient in zip(self.parameters, torch.autograd.grad(loss, self.parameters)):
            parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_(self.parameters, self.clip, foreach=True)
        self.adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.averaged, self.parameters, self.tau)
        return loss.item(), td.numpy()
