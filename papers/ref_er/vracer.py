"""V-RACER: off-policy policy gradients from single steps, with Retrace's return estimates kept in memory (Sec. 2).

One network gives the value V and the mean m of a Gaussian policy; its standard deviation is a parameter of its own, the
same in all states. With an `advantage` (advantages.py) the network also describes how an action's value differs from V.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from papers.ref_er.advantages import Advantage
from papers.ref_er.gaussian import (
    importance_weight,
    inverse_softplus,
    kl,
    kl_gradient,
    log_density_gradient,
    softplus,
    softplus_slope,
)
from papers.ref_er.memory import CUT, EpisodeMemory
from papers.ref_er.networks import MLP
from papers.ref_er.refer import ReFER


class VRACER:
    """The learner. A gradient step takes a batch of steps from the memory, and leaves what it found there.

    n_states, n_actions: components of a state and of an action; hidden: units of the hidden layers; std: of the policy
    at first (the paper's Sigma = 0.2 I); seed: of the network's initial weights.
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        hidden: Sequence[int] = (128, 128),
        lr: float = 1e-4,
        std: float = 0.2**0.5,
        reverse_kl: bool = False,
        advantage: Advantage | None = None,
        seed: int = 0,
        device: str = "cpu",
    ):
        self.n_actions, self.lr, self.reverse_kl, self.advantage, self.device = (
            n_actions, lr, reverse_kl, advantage, device,
        )  # fmt: skip
        n_coefficients = advantage.n_outputs(n_actions) if advantage else 0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = MLP([n_states, *hidden, 1 + n_actions + n_coefficients]).to(device)
        if advantage:
            with torch.no_grad():
                *_, bias = self.network.parameters()
                bias[1 + n_actions :] = torch.tensor(advantage.initial_biases(n_actions))
        self.raw_std = nn.Parameter(torch.full((n_actions,), inverse_softplus(std), device=device))
        self.optimizer = torch.optim.Adam([*self.network.parameters(), self.raw_std], lr, eps=1.2e-7, fused=True)

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of the policy [d], float32."""
        return softplus(self.raw_std.detach().cpu().numpy())

    def act(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean [d] and standard deviation [d] of the policy, and V, for a state [n_states]."""
        outputs = self.network.act(state)
        return outputs[1 : 1 + self.n_actions], self.std, float(outputs[0])

    def update(
        self, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, refer: ReFER, lr_factor: float
    ) -> np.ndarray:
        """One gradient step (Algorithm 3) on the steps `slots` [B], whose gradients count `weights` [B] times.

        refer: its rules; lr_factor: of the learning rate. Returns the errors Qret - Q [B].
        """
        self._renew_cut_ends(memory, slots)
        actions, old_mean, old_std = memory.actions[slots], memory.means[slots], memory.stds[slots]
        outputs, std = self.network.evaluate(memory.states[slots]), self.std
        value, mean = outputs[:, 0], outputs[:, 1 : 1 + self.n_actions]
        rho = importance_weight(actions, mean, std, old_mean, old_std)  # Algorithm 3, line 4
        mask = refer.mask(rho)

        better = (rho * (memory.returns[slots] - value))[:, None]  # than this state's value, weighted
        g_mean, g_std = (better * g for g in log_density_gradient(actions, mean, std))  # Eq. (5)
        kl_mean, kl_std = kl_gradient(mean, std, old_mean, old_std, self.reverse_kl)
        std_ascent = weights[:, None] * refer.gradient(g_std, kl_std, mask)
        ascent = np.zeros_like(outputs)
        ascent[:, 1 : 1 + self.n_actions] = refer.gradient(g_mean, kl_mean, mask)
        advantage, slope = self._advantage(outputs, actions - mean, std)
        error = memory.returns[slots] - value - advantage  # V-RACER takes Q := V
        task = refer.beta * mask * error
        ascent[:, 0] = task * np.minimum(rho, 1.0)  # Eq. (9): Vtbc - V is min(1, rho) (Qret - Q)
        # Eq. (23) squares rho together with the error; one factor, cut at c_max, is what the authors' program has.
        ascent[:, 1 + self.n_actions :] = (task * np.minimum(rho, refer.c_max))[:, None] * slope  # Eq. (23)
        self._step(weights[:, None] * ascent, std_ascent, lr_factor)

        memory.store(slots, value, rho, kl(mean, std, old_mean, old_std))
        memory.advantages[slots] = advantage
        memory.correct(slots)  # Algorithm 3, line 5
        return error

    def _renew_cut_ends(self, memory: EpisodeMemory, slots: np.ndarray) -> None:
        """New values of last states, where a drawn step is the last one before the time limit."""
        last = slots[memory.ends[slots] == CUT]
        if len(last):
            memory.renew_end(last, self.network.act(memory.states[memory.after(last)])[:, 0])

    def _advantage(self, outputs: np.ndarray, offset: np.ndarray, std: np.ndarray) -> tuple[Any, np.ndarray]:
        """A(s, a) [B] of actions at `offset` [B, d] from the mean, and its slope [B, k] in the k coefficients."""
        if self.advantage is None:
            return 0.0, np.zeros((len(outputs), 0), np.float32)
        coefficients = torch.from_numpy(outputs[:, 1 + self.n_actions :]).requires_grad_()
        advantage = self.advantage(coefficients, torch.from_numpy(offset), torch.from_numpy(std))
        return advantage.detach().numpy(), torch.autograd.grad(advantage.sum(), coefficients)[0].numpy()

    def _step(self, ascent: np.ndarray, std_ascent: np.ndarray, lr_factor: float) -> None:
        """Follow the samples' gradients with respect to the outputs [B, outputs] and to the deviation [B, d]."""
        self.optimizer.param_groups[0]["lr"] = self.lr * lr_factor  # Eq. (13)
        slope = softplus_slope(self.raw_std.detach().cpu().numpy())
        self.raw_std.grad = torch.from_numpy(-std_ascent.mean(axis=0) * slope).to(self.device)
        self.network.backward(ascent / -len(ascent))
        self.optimizer.step()

    def weights(self) -> dict[str, torch.Tensor]:
        """All trained parameters."""
        return self.network.state_dict() | {"raw_std": self.raw_std.detach()}
