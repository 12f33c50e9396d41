"""NAF with the replay kinds of the paper: Q-learning with a Q that is quadratic in the action.

One network gives the value V, the best action m and the lower-triangular matrix L of
Q(s, a) = V(s) - 1/2 (a - m)' L L' (a - m). For ReF-ER the policy is the Gaussian N(m(s), noise^2 I).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np
import torch

from papers.ref_er.agents.gaussian import importance_weight, kl, kl_gradient, softplus, softplus_slope
from papers.ref_er.agents.networks import MLP, Adam, Network, soft_update
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.refer import ReFER


class NAF:
    """The learner. n_states, n_actions: components of a state and of an action; hidden: units of the hidden layers;
    noise: standard deviation of the exploration; polyak: share of the new parameters in the target network;
    network: builds one from its layer sizes; seed: of its initial weights. Its outputs are V, the entries of L row by
    row, and m."""

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        hidden: Sequence[int] = (128, 128),
        lr: float = 1e-4,
        noise: float = 0.2,
        polyak: float = 0.01,
        network: Callable[[Sequence[int]], Network] = MLP,
        seed: int = 0,
        device: str = "cpu",
    ):
        self.lr, self.polyak = lr, polyak
        self.rows, self.columns = np.tril_indices(n_actions)
        self.diagonal = self.rows == self.columns
        self.first_mean = 1 + len(self.rows)
        """Index of the first of the outputs m."""
        self.std = np.full(n_actions, noise, np.float32)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = network([n_states, *hidden, self.first_mean + n_actions]).to(device)
        self.target = deepcopy(self.network)
        self.optimizer = Adam(self.network)

    def act(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean [d] and deviation [d] of the exploring policy at a state, and V. The mean is unbounded."""
        outputs = self.network.act(state)
        return outputs[self.first_mean :], self.std, float(outputs[0])

    def q(self, outputs: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Q(s, a) [B] from the network's outputs, and its gradient with respect to them, [B, outputs]."""
        offset = actions - outputs[:, self.first_mean :]
        entries = outputs[:, 1 : self.first_mean]
        factor = np.zeros((len(offset), offset.shape[1], offset.shape[1]), np.float32)
        factor[:, self.rows, self.columns] = np.where(self.diagonal, softplus(entries), entries)
        projected = np.einsum("bij,bi->bj", factor, offset)  # L' u
        value = outputs[:, 0] - 0.5 * (projected * projected).sum(-1)  # Eq. (4), with Gu et al.'s factor 1/2
        gradient = np.empty_like(outputs)
        gradient[:, 0] = 1.0
        slope = np.where(self.diagonal, softplus_slope(entries), np.float32(1.0))
        gradient[:, 1 : self.first_mean] = -offset[:, self.rows] * projected[:, self.columns] * slope
        gradient[:, self.first_mean :] = np.einsum("bij,bj->bi", factor, projected)
        return value, gradient

    def update(
        self, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, refer: ReFER, lr_factor: float
    ) -> np.ndarray:
        """One gradient step on the steps `slots` [B], whose gradients are weighted by `weights` [B]; returns the TD
        errors [B]. Rule 1 drops a far sample's gradient; Rule 2 acts on the outputs m."""
        states, actions, old_mean, old_std, _ = memory.fetch(slots)
        outputs = self.network.evaluate(states)
        mean = outputs[:, self.first_mean :]
        rho = importance_weight(actions, mean, self.std, old_mean, old_std)
        memory.store(slots, outputs[:, 0], rho, kl(mean, self.std, old_mean, old_std))
        near = refer.mask(rho)
        q, gradient = self.q(outputs, actions)
        errors = self.targets(memory, slots) - q
        ascent = errors[:, None] * gradient  # Eq. (2): half the squared error decreases
        kl_mean, _ = kl_gradient(mean, self.std, old_mean, old_std)
        ascent[:, self.first_mean :] = refer.gradient(ascent[:, self.first_mean :], kl_mean, near)
        ascent[:, : self.first_mean] *= near[:, None]
        self.descend(ascent * (-weights / len(slots))[:, None], lr_factor)
        return errors

    def descend(self, gradient: np.ndarray, lr_factor: float) -> None:
        """Adam's step down a loss with this gradient with respect to the outputs, [B, outputs]; the target follows."""
        self.network.backward(gradient)
        self.optimizer.step(self.lr * lr_factor)  # Eq. (13)
        soft_update(self.target.flat()[:1], self.network.flat()[:1], self.polyak)

    def targets(self, memory: EpisodeMemory, slots: np.ndarray) -> np.ndarray:
        """TD targets [B] by the target network, whose V is its best Q; a time limit is not terminal."""
        value = self.target.act(memory.inputs(memory.after(slots)))[:, 0]
        return memory.td_targets(slots, value)

    def weights(self) -> dict[str, torch.Tensor]:
        """All trained parameters."""
        return self.network.state_dict()
