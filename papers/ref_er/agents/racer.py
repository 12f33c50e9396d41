"""RACER: V-RACER with a closed-form advantage (App. E), so that Q = V + A where V-RACER takes Q := V.

`RACER.update` is `VRACER.update` with three differences: the network also outputs the coefficients of A, the value and
Retrace use Q, and the coefficients are learnt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from papers.ref_er.agents.advantages import Advantage
from papers.ref_er.agents.gaussian import importance_weight, kl
from papers.ref_er.agents.vracer import VRACER, Array, penalty, policy_gradient, value_gradient
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.refer import ReFER


def advantage_gradient(rho: Array, q_ret: Array, q: Array, slope: Array, c_max: float) -> Array:
    """Minus the gradient [B, k] with respect to A's coefficients, where A has the `slope` [B, k], of

    loss = (rho.clamp(max=c_max) * 0.5 * (advantage + value - q_ret).square()).mean()  # Eq. (23)

    with constant rho and value. Eq. (23) squares rho together with the error; the authors' program has one factor,
    clipped at c_max.
    """
    return (np.minimum(rho, c_max) * (q_ret - q))[:, None] * slope  # Eq. (23)


class RACER(VRACER):
    """The learner: VRACER with an `advantage`. Its outputs are V, m and the advantage's coefficients."""

    def __init__(self, n_states: int, n_actions: int, *, advantage: Advantage, **settings: Any):
        super().__init__(n_states, n_actions, n_others=advantage.n_outputs(n_actions), **settings)
        self.advantage = advantage
        with torch.no_grad():
            *_, bias = self.network.parameters()
            bias[1 + n_actions :] = torch.tensor(advantage.initial_biases(n_actions))

    def update(self, memory: EpisodeMemory, slots: Array, weights: Array, refer: ReFER, lr_factor: float) -> Array:
        """As `VRACER.update`, with Q = V + A."""
        self.renew_cut_ends(memory, slots)
        states, actions, old_mean, old_std, q_ret = memory.fetch(slots)
        outputs, std = self.network.evaluate(states), self.std
        value, mean, coefficients = np.split(outputs, [1, 1 + self.n_actions], axis=1)
        value = value[:, 0]
        rho = importance_weight(actions, mean, std, old_mean, old_std)
        advantage, slope = self.advantage_of(coefficients, actions - mean, std)
        q = value + advantage
        memory.store(slots, value, rho, kl(mean, std, old_mean, old_std))
        memory.advantages[slots] = advantage
        memory.correct(slots)
        near = refer.mask(rho)
        g_value = value_gradient(rho, q_ret, q)
        g_mean, g_std = policy_gradient(actions, mean, std, rho, q_ret, value)
        g_coefficients = advantage_gradient(rho, q_ret, q, slope, refer.c_max)
        kl_mean, kl_std = penalty(mean, std, old_mean, old_std, self.reverse_kl)
        parts = refer.gradient(g_value[:, None], 0.0, near), refer.gradient(g_mean, kl_mean, near)
        ascent = np.concatenate([*parts, refer.gradient(g_coefficients, 0.0, near)], axis=1)
        self.follow(weights, ascent, refer.gradient(g_std, kl_std, near), lr_factor)
        return q_ret - q

    def advantage_of(self, coefficients: Array, offset: Array, std: Array) -> tuple[Array, Array]:
        """A(s, a) [B] of actions at `offset` [B, d] from the mean, and its slope [B, k] in the k coefficients."""
        variable = torch.from_numpy(coefficients).requires_grad_()
        advantage = self.advantage(variable, torch.from_numpy(offset), torch.from_numpy(std))
        return advantage.detach().numpy(), torch.autograd.grad(advantage.sum(), variable)[0].numpy()
