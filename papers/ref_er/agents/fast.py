"""The learners as they are run: `update` of VRACER, DDPG and NAF with all that is between their networks in one kernel.

Read those; this file computes the same numbers without NumPy's hundred small arrays per gradient step. Scalars are
float32, as a Python float would promote everything that it meets to float64.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from common import mlp_kernels
from common.numba_cache import njit_calling
from papers.ref_er.agents.ddpg import DDPG, action_slope
from papers.ref_er.agents.gaussian import LOG_RATIO_LIMIT
from papers.ref_er.agents.naf import NAF
from papers.ref_er.agents.vracer import VRACER
from papers.ref_er.memory.episode import TERMINATED
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.refer import ReFER

kernel = njit_calling(mlp_kernels, **mlp_kernels.OPTIONS)
ZERO, HALF, ONE, LIMIT = (np.float32(x) for x in (0.0, 0.5, 1.0, LOG_RATIO_LIMIT))


class Rules(NamedTuple):
    """The part of `ReFER` that kernels need."""

    beta: np.float32
    low: np.float32
    """Samples are near for low < rho < high."""
    high: np.float32
    clips: bool
    """Rule 1."""


class Steps(NamedTuple):
    """The steps of a batch in the memory's arrays [slots, ...]."""

    slots: np.ndarray
    actions: np.ndarray
    means: np.ndarray
    stds: np.ndarray
    rewards: np.ndarray
    ends: np.ndarray


def rules(refer: ReFER) -> Rules:
    return Rules(np.float32(refer.beta), np.float32(1.0 / refer.c_max), np.float32(refer.c_max), refer.rule1)


def drawn(memory: EpisodeMemory, slots: np.ndarray) -> Steps:
    return Steps(slots, memory.actions, memory.means, memory.stds, memory.rewards, memory.ends)


# ---- densities, divergence and rules of one sample -------------------------------------------------------------------


@kernel
def compare(action, mean, std, old_mean, old_std):
    """rho and KL(mu || pi) of one sample, as `importance_weight` and `kl`; all [d]."""
    log_rho, divergence = ZERO, ZERO
    for j in range(action.size):
        inverse = ONE / std[j]
        z, old_z = (action[j] - mean[j]) * inverse, (action[j] - old_mean[j]) / old_std[j]
        ratio, shift = old_std[j] * inverse, (mean[j] - old_mean[j]) * inverse
        log_ratio = math.log(ratio)
        log_rho += HALF * (old_z * old_z - z * z) + log_ratio
        divergence += HALF * (ratio * ratio - ONE + shift * shift) - log_ratio
    if log_rho > LIMIT:
        log_rho = LIMIT
    elif log_rho < -LIMIT:
        log_rho = -LIMIT
    return math.exp(log_rho), divergence


@kernel
def mask(rho, rules):
    """As `ReFER.mask`. It multiplies by 0 instead of skipping, so that NaN stays NaN."""
    return ZERO if rules.clips and not (rules.low < rho and rho < rules.high) else ONE


@kernel
def td_error(slot, steps, value_after, q, scale, gamma):
    """As `EpisodeMemory.td_targets`, minus Q."""
    goes_on = ZERO if steps.ends[slot] == TERMINATED else gamma
    return steps.rewards[slot] * scale + goes_on * value_after - q


# ---- V-RACER ---------------------------------------------------------------------------------------------------------


@kernel
def vracer_gradient(outputs, std, steps, q_ret, weights, rules, reverse, gradient, std_gradient, rho, kl):
    """Algorithm 3, lines 4 and 6-11 for outputs [B, 1 + d]: a loss's `gradient` [B, 1 + d] and `std_gradient` [d]."""
    n, d = weights.size, std.size
    penalty_weight = ONE - rules.beta
    std_gradient[:] = ZERO
    for i in range(n):
        slot = steps.slots[i]
        action, old_mean, old_std = steps.actions[slot], steps.means[slot], steps.stds[slot]
        value, mean = outputs[i, 0], outputs[i, 1:]
        rho[i], kl[i] = compare(action, mean, std, old_mean, old_std)
        share = -weights[i] / np.float32(n)
        task = rules.beta * mask(rho[i], rules)
        better = q_ret[i] - value
        gradient[i, 0] = share * task * (ONE if rho[i] > ONE else rho[i]) * better  # value_gradient
        for j in range(d):
            inverse = ONE / std[j]
            z, shift = (action[j] - mean[j]) * inverse, mean[j] - old_mean[j]
            weighted = rho[i] * better * inverse
            g_mean, g_std = weighted * z, weighted * (z * z - ONE)  # policy_gradient
            if reverse:  # penalty
                old = ONE / (old_std[j] * old_std[j])
                kl_mean, kl_std = shift * old, std[j] * old - inverse
            else:
                kl_mean = shift * inverse * inverse
                kl_std = inverse - (old_std[j] * old_std[j] + shift * shift) * inverse * inverse * inverse
            gradient[i, 1 + j] = share * (task * g_mean - penalty_weight * kl_mean)
            std_gradient[j] += share * (task * g_std - penalty_weight * kl_std)


class FastVRACER(VRACER):
    """VRACER, compiled."""

    def update(
        self, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, refer: ReFER, lr_factor: float
    ) -> np.ndarray:
        self.renew_cut_ends(memory, slots)
        q_ret, outputs = memory.returns[slots], self.network.evaluate(memory.inputs(slots))
        gradient, std_gradient = np.empty_like(outputs), np.empty(self.n_actions, np.float32)
        rho, kl = np.empty((2, len(slots)), np.float32)
        vracer_gradient(
            outputs, self.std, drawn(memory, slots), q_ret, weights, rules(refer), self.reverse_kl, gradient,
            std_gradient, rho, kl,
        )  # fmt: skip
        memory.store(slots, outputs[:, 0], rho, kl)
        memory.correct(slots)
        self.descend(gradient, std_gradient, lr_factor)
        return q_ret - outputs[:, 0]


# ---- DDPG ------------------------------------------------------------------------------------------------------------


@kernel
def ddpg_gradients(
    mean, std, q, value_after, slope, steps, scale, gamma, weights, rules, linear, of_actor, of_critic, errors, rho, kl
):
    """Algorithm 4, lines 5, 6 and 8-14: the losses' gradients for the outputs of actor [B, d] and critic [B, 1]."""
    n, d = mean.shape
    penalty_weight = ONE - rules.beta
    for i in range(n):
        slot = steps.slots[i]
        rho[i], kl[i] = compare(steps.actions[slot], mean[i], std, steps.means[slot], steps.stds[slot])
        share, near = -weights[i] / np.float32(n), mask(rho[i], rules)
        errors[i] = td_error(slot, steps, value_after[i, 0], q[i, 0], scale, gamma)
        of_critic[i, 0] = share * near * errors[i]
        for j in range(d):
            kl_mean = (mean[i, j] - steps.means[slot, j]) / (std[j] * std[j])
            ascent = rules.beta * near * slope[i, j] - penalty_weight * kl_mean
            of_actor[i, j] = share * ascent * (ONE if linear else ONE - mean[i, j] * mean[i, j])


class FastDDPG(DDPG):
    """DDPG, compiled."""

    def update(
        self, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, refer: ReFER, lr_factor: float
    ) -> np.ndarray:
        after = memory.after(slots)
        mean = self.squash(self.actor.evaluate(memory.inputs(slots)))
        q = self.critic.evaluate(memory.pairs(slots, memory.actions[slots]))
        best = self.squash(self.actor_target.act(memory.inputs(after)))
        value_after = self.critic_target.act(memory.pairs(after, best))
        slope = action_slope(self.critic, memory.pairs(slots, mean), mean.shape[1])
        of_actor, of_critic = np.empty_like(mean), np.empty_like(q)
        errors, rho, kl = np.empty((3, len(slots)), np.float32)
        ddpg_gradients(
            mean, self.std, q, value_after, slope, drawn(memory, slots), np.float32(memory.reward_scale),
            np.float32(memory.gamma), weights, rules(refer), self.linear, of_actor, of_critic, errors, rho, kl,
        )  # fmt: skip
        memory.store(slots, memory.values[slots], rho, kl)
        self.descend(of_actor, of_critic, lr_factor)
        return errors


# ---- NAF -------------------------------------------------------------------------------------------------------------


@kernel
def naf_gradient(outputs, std, value_after, steps, scale, gamma, weights, rules, gradient, errors, rho, kl):
    """`NAF.update` for outputs [B, V, L row by row, m]: a loss's gradient with respect to them, [B, outputs]."""
    n, d = weights.size, std.size
    first_mean = outputs.shape[1] - d
    penalty_weight = ONE - rules.beta
    factor, projected = np.empty((d, d), np.float32), np.empty(d, np.float32)
    for i in range(n):
        slot = steps.slots[i]
        action, mean = steps.actions[slot], outputs[i, first_mean:]
        rho[i], kl[i] = compare(action, mean, std, steps.means[slot], steps.stds[slot])
        projected[:] = ZERO
        entry = 1
        for row in range(d):
            for column in range(row + 1):
                x = outputs[i, entry]
                if row == column:  # softplus
                    x = math.log1p(math.exp(-abs(x))) + (x if x > ZERO else ZERO)
                factor[row, column] = x
                projected[column] += x * (action[row] - mean[row])  # L' u
                entry += 1
        q = outputs[i, 0]
        for j in range(d):
            q -= HALF * projected[j] * projected[j]  # as `NAF.q`
        errors[i] = td_error(slot, steps, value_after[i, 0], q, scale, gamma)
        share, near = -weights[i] / np.float32(n), mask(rho[i], rules)
        error = share * near * errors[i]
        gradient[i, 0] = error
        entry = 1
        for row in range(d):
            by_mean = ZERO
            for column in range(row + 1):
                slope = ONE / (ONE + math.exp(-outputs[i, entry])) if row == column else ONE
                gradient[i, entry] = -error * (action[row] - mean[row]) * projected[column] * slope
                by_mean += factor[row, column] * projected[column]
                entry += 1
            kl_mean = (mean[row] - steps.means[slot, row]) / (std[row] * std[row])
            gradient[i, first_mean + row] = rules.beta * error * by_mean - share * penalty_weight * kl_mean


class FastNAF(NAF):
    """NAF, compiled."""

    def update(
        self, memory: EpisodeMemory, slots: np.ndarray, weights: np.ndarray, refer: ReFER, lr_factor: float
    ) -> np.ndarray:
        value_after = self.target.act(memory.inputs(memory.after(slots)))
        outputs = self.network.evaluate(memory.inputs(slots))
        gradient = np.empty_like(outputs)
        errors, rho, kl = np.empty((3, len(slots)), np.float32)
        naf_gradient(
            outputs, self.std, value_after, drawn(memory, slots), np.float32(memory.reward_scale),
            np.float32(memory.gamma), weights, rules(refer), gradient, errors, rho, kl,
        )  # fmt: skip
        memory.store(slots, outputs[:, 0], rho, kl)
        self.descend(gradient, lr_factor)
        return errors
