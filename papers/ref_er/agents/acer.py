"""ACER for continuous actions (Wang et al. 2017, their Algorithm 3), the off-policy method of the comparison (App. A).

V-RACER learns from single steps; ACER learns from segments of episodes and evaluates its networks at every step of
them. It has a network for the advantages of actions, whose mean under the policy is estimated with samples. Policy, V
and advantage are separate networks. "ACER, Sec. ..." below refers to Wang et al.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np
import torch
from numba import njit
from torch import nn

from papers.ref_er.agents.gaussian import (
    importance_weight,
    inverse_softplus,
    kl,
    kl_gradient,
    log_density_gradient,
    softplus,
    softplus_slope,
    truncated_normal,
)
from papers.ref_er.agents.networks import ADAM_EPSILON, MLP, Network, soft_update
from papers.ref_er.memory.episode import TERMINATED
from papers.ref_er.memory.memory import EpisodeMemory


class SegmentMemory(EpisodeMemory):
    """Episodes, from which segments of consecutive steps are drawn."""

    def sample_segments(self, n: int, longest: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw n episodes uniformly, with replacement, and from each at most `longest` steps.

        An episode of up to `longest` steps is taken whole; in a longer one every possible start is equally likely.
        Returns the slots int64 [m] of all steps, segment by segment, and the offsets int64 [n + 1] at which the
        segments begin; the last offset is m. ValueError when the memory is empty.
        """
        if not self._episodes:
            raise ValueError("cannot draw episodes from an empty memory")
        drawn = [self._episodes[k] for k in rng.integers(len(self._episodes), size=n)]
        firsts, lengths = (np.array(column, np.int64) for column in zip(*drawn))
        taken = np.minimum(lengths, longest)
        starts = firsts + rng.integers(lengths - taken + 1)
        offsets = np.concatenate([[0], np.cumsum(taken)])
        return (np.repeat(starts - offsets[:-1], taken) + np.arange(offsets[-1])) % len(self.rho), offsets


@njit(cache=True)
def returns(rewards, values, q, trace, after, offsets, gamma):
    """Qret and Qopc float32 [m] of segments, each from its last step to its first (ACER, Sec. 3.1).

    rewards, values, q: r, V and Q [m]; trace: the factors [m] on Retrace's corrections; after: value [n] of the state
    after each segment, 0 after a termination; offsets: [n + 1], see `SegmentMemory.sample_segments`.
    Qret = r + gamma (V + trace (Qret - Q)) of the next step; Qopc is the same without the factors.
    """
    retrace, uncut = np.empty(rewards.size, np.float32), np.empty(rewards.size, np.float32)
    for j in range(after.size):
        ret = opc = np.float64(after[j])
        for k in range(offsets[j + 1] - 1, offsets[j] - 1, -1):
            ret = rewards[k] + gamma * ret
            opc = rewards[k] + gamma * opc
            retrace[k], uncut[k] = ret, opc
            ret = trace[k] * (ret - q[k]) + values[k]
            opc = (opc - q[k]) + values[k]
    return retrace, uncut


def bias_correction(rho: np.ndarray, c: float) -> np.ndarray:
    """[1 - c / rho]_+ [n], what clipping importance weights at c loses (ACER, Sec. 3.2); 0 where rho <= c."""
    return np.maximum(0.0, 1.0 - c / rho)


def trust_region(g: np.ndarray, k: np.ndarray, delta: float) -> np.ndarray:
    """The z nearest to g with k . z <= delta, rows of [n, p] (ACER, Sec. 3.3).

    g: gradients to follow; k: gradients of the divergence from the target policy; both with respect to the policy's
    parameters at a state. Where k is 0 the policy equals the target and nothing is constrained.
    """
    excess = np.maximum(0.0, (k * g).sum(-1) - delta)
    return g - (excess / np.maximum((k * k).sum(-1), np.float32(1e-30)))[:, None] * k


class ACER:
    """The learner.

    n_states, n_actions: components of a state and of an action; hidden: units of the hidden layers; lr: of the policy;
    critic_lr: of V and of the advantage; gamma: discount; truncation: c, which clips importance weights; delta: of the
    trust region; polyak: share of the new parameters in the target policy; samples: actions that centre the advantage;
    std: initial deviation of the policy; network: builds one from its layer sizes; seed: of the initial weights.
    """

    def __init__(
        self,
        n_states: int,
        n_actions: int,
        *,
        hidden: Sequence[int] = (128, 128),
        lr: float = 1e-5,
        critic_lr: float = 1e-4,
        gamma: float = 0.995,
        truncation: float = 5.0,
        delta: float = 1.0,
        polyak: float = 0.001,
        samples: int = 5,
        std: float = 0.2**0.5,
        network: Callable[[Sequence[int]], Network] = MLP,
        seed: int = 0,
        device: str = "cpu",
    ):
        self.n_actions, self.lr, self.critic_lr, self.gamma, self.device = n_actions, lr, critic_lr, gamma, device
        self.truncation, self.delta, self.polyak, self.samples = truncation, delta, polyak, samples
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.policy = network([n_states, *hidden, n_actions]).to(device)
            self.value = network([n_states, *hidden, 1]).to(device)
            self.advantage = network([n_states + n_actions, *hidden, 1]).to(device)
        self.raw_std = nn.Parameter(torch.full((n_actions,), inverse_softplus(std), device=device))
        self.policy_target, self.raw_std_target = deepcopy(self.policy), deepcopy(self.raw_std)
        self._trained = [*self.policy.parameters(), self.raw_std]
        self._targets = [*self.policy_target.parameters(), self.raw_std_target]
        critics = [*self.value.parameters(), *self.advantage.parameters()]
        self.optimizer = torch.optim.Adam(self._trained, lr, eps=ADAM_EPSILON, fused=True)
        self.critic_optimizer = torch.optim.Adam(critics, critic_lr, eps=ADAM_EPSILON, fused=True)

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of the policy [d], float32."""
        return softplus(self.raw_std.detach().cpu().numpy())

    def act(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean [d] and standard deviation [d] of the policy at a state; values are computed when it is replayed."""
        return self.policy.act(state), self.std, 0.0

    def update(
        self,
        memory: EpisodeMemory,
        slots: np.ndarray,
        offsets: np.ndarray,
        rng: np.random.Generator,
        lr_factor: float,
    ) -> np.ndarray:
        """One gradient step on the segments that begin at `offsets` [n + 1] of the steps `slots` [m].

        rng: draws actions from the policy; lr_factor: on the learning rates. All networks' gradients are taken before
        any of them changes. Returns the errors Qret - Q [m].
        """
        states, actions = memory.inputs(slots), memory.actions[slots]
        old_mean, old_std = memory.means[slots], memory.stds[slots]
        mean, std = self.policy.evaluate(states), self.std
        rho = importance_weight(actions, mean, std, old_mean, old_std)

        value, after = self._values(memory, slots, slots[offsets[1:] - 1])
        own, centre = self._advantages(memory, slots, mean, std, rng)
        q = value + own - centre  # stochastic duelling (ACER, their Sec. 5.1)
        trace = np.minimum(1.0, rho ** (1.0 / self.n_actions))  # the d-th root of rho, Sec. 4
        rewards = memory.rewards[slots] * np.float32(memory.reward_scale)
        retrace, uncut = returns(rewards, value, q, trace, after, offsets, self.gamma)

        g = np.concatenate(log_density_gradient(actions, mean, std), axis=1)
        g *= (np.minimum(rho, self.truncation) * (uncut - value))[:, None]
        self._add_correction(g, memory, slots, centre, mean, std, rng)
        target = self.policy_target.act(states), softplus(self.raw_std_target.detach().cpu().numpy())
        k = np.concatenate(kl_gradient(mean, std, *target), axis=1)
        self._step(trust_region(g, k, self.delta), retrace - q, rho, len(after), lr_factor)

        memory.store(slots, value, rho, kl(mean, std, old_mean, old_std))
        return retrace - q

    def _values(self, memory: EpisodeMemory, slots: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V [m] of the states, and V [n] after the segments whose last steps are `last`; 0 after a termination."""
        values = self.value.evaluate(memory.inputs(np.concatenate([slots, memory.after(last)])))[:, 0]
        return values[: len(slots)], values[len(slots) :] * (memory.ends[last] != TERMINATED)

    def _advantages(
        self, memory: EpisodeMemory, slots: np.ndarray, mean: np.ndarray, std: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The advantage [m] of the actions taken, and its mean [m] over `samples` actions of the policy."""
        drawn = self.draw(mean[None].repeat(self.samples, 0), std, rng)
        actions = np.concatenate([memory.actions[slots][None], drawn])
        found = self.advantage.evaluate(memory.fan(slots, actions)).reshape(-1, len(slots))
        return found[0], found[1:].mean(axis=0)

    def _add_correction(
        self, g: np.ndarray, memory: EpisodeMemory, slots: np.ndarray, centre: np.ndarray, mean: np.ndarray,
        std: np.ndarray, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        """Add the bias correction to g [m, 2 d]: one action of the policy per state, where its weight is above c.

        Its Q - V is the advantage minus its mean, so V is not needed.
        """
        actions = self.draw(mean, std, rng)
        rho = importance_weight(actions, mean, std, memory.means[slots], memory.stds[slots])
        weight = bias_correction(rho, self.truncation)
        rows = np.flatnonzero(weight)  # usually few; the others would add 0
        if len(rows):
            found = self.advantage.act(memory.pairs(slots[rows], actions[rows]))[:, 0]
            better = weight[rows] * (found - centre[rows])
            slopes = log_density_gradient(actions[rows], mean[rows], std)
            g[rows] += better[:, None] * np.concatenate(slopes, axis=1)

    def draw(self, mean: np.ndarray, std: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions [..., d] of the policy at states with these means [..., d], from truncated normals as in acting."""
        return mean + std * truncated_normal(rng, mean.size).astype(np.float32).reshape(mean.shape)

    def _step(self, ascent: np.ndarray, errors: np.ndarray, rho: np.ndarray, n: int, lr_factor: float) -> None:
        """Follow the gradients [m, 2 d] of the policy's mean and deviation, and the errors [m] of Q and V.

        n: states after segments, at which V was evaluated but is not trained.
        """
        m, d = len(errors), self.n_actions
        self.optimizer.param_groups[0]["lr"] = self.lr * lr_factor  # Eq. (13)
        self.critic_optimizer.param_groups[0]["lr"] = self.critic_lr * lr_factor
        slope = softplus_slope(self.raw_std.detach().cpu().numpy())
        self.raw_std.grad = torch.from_numpy((-ascent[:, d:].mean(axis=0) * slope).astype(np.float32)).to(self.device)
        self.policy.backward((ascent[:, :d] / -m).astype(np.float32))
        # Q is V + A - mean of A, and V learns from Q's error once more, weighted (ACER, their Sec. 5.1).
        value = np.concatenate([errors * (1.0 + np.minimum(1.0, rho)), np.zeros(n, np.float32)])
        self.value.backward((value / -m).astype(np.float32)[:, None])
        advantage = np.concatenate([errors, np.tile(errors / -self.samples, self.samples)])
        self.advantage.backward((advantage / -m).astype(np.float32)[:, None])
        self.optimizer.step()
        self.critic_optimizer.step()
        soft_update(self._targets, self._trained, self.polyak)

    def weights(self) -> dict[str, dict]:
        """All trained parameters."""
        policy = self.policy.state_dict() | {"raw_std": self.raw_std.detach()}
        return {"policy": policy, "value": self.value.state_dict(), "advantage": self.advantage.state_dict()}
