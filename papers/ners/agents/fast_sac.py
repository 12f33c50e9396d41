"""The update of `sac.py` as a numba kernel, for the CPU: the same numbers in half the time, at 256 units.

`sac.py` is the form to read. Here the parameters of networks are flat vectors, of which the networks of `SAC` are
views: it acts, and shows what it has learnt, as `SAC` does.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import torch

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from common.twins import Twin, flattened, flattened_members, moments
from papers.ners.agents import critic_kernels
from papers.ners.agents.critic_kernels import HALF, TWO, arrays_of, buffers, learn_values, smaller_values, values
from papers.ners.agents.sac import LOG_STD, SAC
from papers.ners.samplers.batch import Batch, Signals

kernel = njit_calling(k, critic_kernels, **k.OPTIONS)
LOW, HIGH = np.float32(LOG_STD[0]), np.float32(LOG_STD[1])
LOG_2, LOG_ROOT = np.float32(math.log(2.0)), np.float32(0.5 * math.log(2.0 * math.pi))


@kernel
def clamped(log_std):
    """Within LOG_STD; not a number stays one."""
    return LOW if log_std < LOW else HIGH if log_std > HIGH else log_std


@kernel
def draw(outputs, noise, action, log_density):
    """`SAC.policy`: fills actions [n, a] and log densities [n] from the actor's outputs [n, 2 a] and noise [n, a]."""
    n, n_actions = noise.shape
    for row in range(n):
        total = k.ZERO
        for j in range(n_actions):
            z, log_std = noise[row, j], clamped(outputs[row, n_actions + j])
            u = outputs[row, j] + math.exp(log_std) * z
            x = -TWO * u
            softplus = math.log1p(math.exp(-abs(x))) + (x if x > k.ZERO else k.ZERO)
            total += -HALF * z * z - log_std - LOG_ROOT - TWO * (LOG_2 - u - softplus)
            action[row, j] = math.tanh(u)
        log_density[row] = total


@kernel
def update(batch, noise, sizes, online, target, moments, step, lr, gamma, tau, target_entropy, work):
    """`SAC.update` number `step`, from 1 on; leaves the signals in `work`.

    noise: of the next states' actions and of the states' [2, n, a]. sizes: layers of actor and critics. online: actor
    [p], critics [2, p], temperature's logarithm [1]. target: critics. moments: Adam's of each online.
    """
    state, _, reward, next_state, terminal, weight = batch
    (actor_sizes, critic_sizes), (actor, critics, log_alpha) = sizes, online
    actor_moments, critic_moments, alpha_moments = moments
    n, n_states, n_actions = state.shape[0], state.shape[1], noise.shape[2]
    share, alpha, discount = k.ONE / np.float32(n), math.exp(log_alpha[0]), np.float32(gamma)

    # SAC.targets
    y = work.signals[2]
    outputs = k.mlp_forward(next_state, actor, actor_sizes, work.actor_outputs)
    draw(outputs, noise[0], work.action, work.log_density)
    smaller_values(next_state, work.action, target, critic_sizes, work, y)
    for row in range(n):
        value = y[row] - alpha * work.log_density[row]
        y[row] = reward[row] + discount * (k.ONE - terminal[row]) * value

    # SAC.critic_loss
    learn_values(batch, critics, target, critic_moments, critic_sizes, step, lr, tau, work)

    # SAC.actor_loss
    outputs = k.mlp_forward(state, actor, actor_sizes, work.actor_outputs)
    draw(outputs, noise[1], work.action, work.log_density)
    k.columns(work.action, n_states, work.x)  # the states are there already
    for c in range(2):
        k.mlp_forward(work.x, critics[c], critic_sizes, work.outputs[c])
    first, second = values(work.outputs[0], n, critic_sizes), values(work.outputs[1], n, critic_sizes)
    grad_first, grad_second = values(work.grads[0], n, critic_sizes), values(work.grads[1], n, critic_sizes)
    for row in range(n):
        gradient = -share * weight[row]  # goes to the smaller value; of two that are equal, each gets half
        if first[row] == second[row]:
            grad_first[row] = grad_second[row] = HALF * gradient
        elif first[row] < second[row]:
            grad_first[row], grad_second[row] = gradient, k.ZERO
        else:
            grad_first[row], grad_second[row] = k.ZERO, gradient
    grad_outputs = k.mlp_outputs(work.actor_grads, n, actor_sizes, len(actor_sizes) - 2)
    for c in range(2):
        k.mlp_backward_inputs(critics[c], critic_sizes, work.outputs[c], work.grads[c], work.grad_x)
        for row in range(n):
            for j in range(n_actions):
                before = k.ZERO if c == 0 else grad_outputs[row, j]
                grad_outputs[row, j] = before + work.grad_x[row, n_states + j]
    entropy_gap = k.ZERO
    for row in range(n):
        entropy_gap += work.log_density[row]
        of_density = share * weight[row] * alpha
        for j in range(n_actions):
            action, log_std = work.action[row, j], outputs[row, n_actions + j]
            # d a / d u = 1 - a^2, d log pi / d u = 2 a: through the tanh alone, as z does not depend on the outputs
            gradient = grad_outputs[row, j] * (k.ONE - action * action) + of_density * TWO * action
            grad_outputs[row, j] = gradient
            slope = gradient * noise[1, row, j] * math.exp(clamped(log_std)) - of_density
            grad_outputs[row, n_actions + j] = k.ZERO if log_std < LOW or log_std > HIGH else slope
    k.mlp_backward(state, actor, actor_sizes, work.actor_outputs, work.actor_grads, work.grad_actor)
    k.adam(actor, work.grad_actor, actor_moments[0], actor_moments[1], step, lr)

    # the temperature
    grad_alpha = np.full(1, -(share * entropy_gap + np.float32(target_entropy)), np.float32)
    k.adam(log_alpha, grad_alpha, alpha_moments[0], alpha_moments[1], step, lr)


class FastSAC(Twin, SAC):
    """`SAC` for the CPU, with the same arguments."""

    kept: ClassVar = ("updates", "noise")

    def __init__(self, n_states: int, n_actions: int, **settings: Any):
        """ValueError for a device other than the CPU."""
        super().__init__(n_states, n_actions, **settings)
        self.lr = self.critic_adam.defaults["lr"]
        del self.actor_adam, self.critic_adam, self.alpha_adam  # their moments are here:
        actor, temperature = flattened(self.actor_parameters), flattened([self.log_alpha])
        self._online = actor, flattened_members(self.critics.members), temperature
        self._target = flattened_members(self.target.members)
        self._moments = moments(*self._online)
        self.vectors = *self._online, self._target, *self._moments
        hidden = [len(bias) for bias in self.actor_parameters[1:-2:2]]
        self._sizes = (n_states, *hidden, 2 * n_actions), (n_states + n_actions, *hidden, 1)
        self._work = buffers(0, *self._sizes)

    def update(self, batch: Batch) -> Signals:
        """As `SAC.update`. ValueError for tensors whose shapes are not those of `Batch`."""
        (n_states, *_), (n_inputs, *_) = self._sizes
        arrays = arrays_of(batch, n_states, n_inputs - n_states)
        n = len(batch.weight)
        if len(self._work.log_density) != n:
            self._work = buffers(n, *self._sizes)
        noise = [torch.randn(batch.action.shape, generator=self.noise) for _ in range(2)]
        self.updates += 1
        update(
            arrays, torch.stack(noise).numpy(), self._sizes, self._online, self._target, self._moments, self.updates,
            self.lr, self.gamma, self.tau, self.target_entropy, self._work,
        )  # fmt: skip
        return Signals(*self._work.signals.copy())
