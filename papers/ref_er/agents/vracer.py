"""V-RACER: off-policy policy gradients from single steps, with Retrace's return estimates kept in memory (Sec. 2).

One network gives the value V and the mean m of a Gaussian policy; its standard deviation is a parameter of its own, the
same in all states. `VRACER.update` is Algorithm 3; the gradients in it are the functions above it, each beside its
loss. They are per sample and with respect to the network's outputs, not to its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

from papers.ref_er.agents.gaussian import (
    importance_weight,
    inverse_softplus,
    kl,
    kl_gradient,
    log_density_gradient,
    softplus,
    softplus_slope,
)
from papers.ref_er.agents.networks import MLP, Adam, Network
from papers.ref_er.memory.episode import CUT
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.refer import ReFER

Array = np.ndarray


def policy_gradient(
    actions: Array, mean: Array, std: Array, rho: Array, q_ret: Array, value: Array
) -> tuple[Array, Array]:
    """Minus the per-sample gradients [B, d] with respect to the policy's mean and deviation of

    loss = -(rho * (q_ret - value.detach())).mean()  # Eq. (5)

    The importance weight rho depends on the policy: its gradient is rho times that of ln pi(a|s).
    """
    better = (rho * (q_ret - value))[:, None]
    g_mean, g_std = log_density_gradient(actions, mean, std)
    return better * g_mean, better * g_std  # Eq. (5)


def value_gradient(rho: Array, q_ret: Array, q: Array) -> Array:
    """Minus the per-sample gradient [B] with respect to the value of

    v_tbc = (value + rho.clamp(max=1) * (q_ret - q)).detach()  # Eq. (7)
    loss = 0.5 * (value - v_tbc).square().mean()  # Eq. (9)
    """
    return np.minimum(rho, 1.0) * (q_ret - q)  # Eq. (9): Vtbc - V


def penalty(mean: Array, std: Array, old_mean: Array, old_std: Array, reverse: bool = False) -> tuple[Array, Array]:
    """Per-sample gradients [B, d] with respect to the policy's mean and deviation of Rule 2's divergence

    loss = kl_divergence(Normal(old_mean, old_std), Normal(mean, std)).sum(-1).mean()  # Eq. (11)

    or, with `reverse`, of KL(pi || mu).
    """
    return kl_gradient(mean, std, old_mean, old_std, reverse)


class VRACER:
    """The learner. A gradient step reads a batch of steps from the memory and stores what it computed there.

    n_states, n_actions: components of a state and of an action; hidden: units of the hidden layers; std: initial
    deviation of the policy (the paper's Sigma = 0.2 I); network: builds one from its layer sizes, an `MLP` or an
    `LSTM`; seed: of the network's initial weights; n_others: further outputs of the network, after V and m.
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
        network: Callable[[Sequence[int]], Network] = MLP,
        seed: int = 0,
        device: str = "cpu",
        n_others: int = 0,
    ):
        self.n_actions, self.lr, self.reverse_kl, self.device = n_actions, lr, reverse_kl, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = network([n_states, *hidden, 1 + n_actions + n_others]).to(device)
        self.raw_std = nn.Parameter(torch.full((n_actions,), inverse_softplus(std), device=device))
        self.optimizer = Adam(self.network, self.raw_std)

    @property
    def std(self) -> Array:
        """Standard deviation of the policy [d], float32."""
        return softplus(self.raw_std.detach().cpu().numpy())

    def act(self, state: Array) -> tuple[Array, Array, float]:
        """Mean [d] and standard deviation [d] of the policy, and V, for a state [n_states]."""
        outputs = self.network.act(state)
        return outputs[1 : 1 + self.n_actions], self.std, float(outputs[0])

    def update(self, memory: EpisodeMemory, slots: Array, weights: Array, refer: ReFER, lr_factor: float) -> Array:
        """One gradient step (Algorithm 3) on the steps `slots` [B], whose gradients are weighted by `weights` [B].

        refer: the rules; lr_factor: on the learning rate. Returns the errors Qret - Q [B].
        """
        self.renew_cut_ends(memory, slots)
        # Algorithm 3, lines 1 and 12: all steps of the batch at once
        states, actions, old_mean, old_std, q_ret = memory.fetch(slots)  # Algorithm 3, line 2
        outputs, std = self.network.evaluate(states), self.std  # Algorithm 3, line 3
        value, mean = outputs[:, 0], outputs[:, 1:]
        rho = importance_weight(actions, mean, std, old_mean, old_std)  # Algorithm 3, line 4
        memory.store(slots, value, rho, kl(mean, std, old_mean, old_std))
        memory.correct(slots)  # Algorithm 3, line 5
        near = refer.mask(rho)  # Algorithm 3, lines 6 and 8-10: 0 for far samples, a factor on g
        g_value = value_gradient(rho, q_ret, value)  # Algorithm 3, line 7; Q := V
        g_mean, g_std = policy_gradient(actions, mean, std, rho, q_ret, value)
        kl_mean, kl_std = penalty(mean, std, old_mean, old_std, self.reverse_kl)
        ascent = np.empty_like(outputs)  # Algorithm 3, line 11, here and in the two lines of the policy
        ascent[:, :1] = refer.gradient(g_value[:, None], 0.0, near)
        ascent[:, 1:] = refer.gradient(g_mean, kl_mean, near)
        std_ascent = refer.gradient(g_std, kl_std, near)
        self.follow(weights, ascent, std_ascent, lr_factor)  # Algorithm 3, line 13
        return q_ret - value

    def renew_cut_ends(self, memory: EpisodeMemory, slots: Array) -> None:
        """Recompute the last state's value where a drawn step is the last one before the time limit."""
        last = slots[memory.ends[slots] == CUT]
        if len(last):
            memory.renew_end(last, self.network.act(memory.inputs(memory.after(last)))[:, 0])

    def follow(self, weights: Array, ascent: Array, std_ascent: Array, lr_factor: float) -> None:
        """Adam's step along the weighted mean of the samples' gradients of outputs [B, o] and deviation [B, d]."""
        ascent, std_ascent = weights[:, None] * ascent, weights[:, None] * std_ascent
        self.descend(ascent / -len(ascent), -std_ascent.mean(axis=0), lr_factor)

    def descend(self, gradient: Array, std_gradient: Array, lr_factor: float) -> None:
        """Adam's step down a loss with these gradients with respect to outputs [B, o] and deviation [d]."""
        slope = softplus_slope(self.raw_std.detach().cpu().numpy())
        self.raw_std.grad = torch.from_numpy((std_gradient * slope).astype(np.float32)).to(self.device)
        self.network.backward(gradient)
        self.optimizer.step(self.lr * lr_factor)  # Eq. (13)

    def weights(self) -> dict[str, torch.Tensor]:
        """All trained parameters."""
        return self.network.state_dict() | {"raw_std": self.raw_std.detach()}
