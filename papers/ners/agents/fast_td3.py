"""The update of `td3.py` as a numba kernel, for the CPU: the same numbers in half the time, at 256 units.

`td3.py` is the form to read. Here the parameters of networks are flat vectors, of which the networks of `TD3` are
views: it acts, and shows what it has learnt, as `TD3` does.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from common.twins import Twin, flattened, flattened_members, moments
from papers.ners.agents import critic_kernels
from papers.ners.agents.critic_kernels import arrays_of, buffers, learn_values, smaller_values, values
from papers.ners.agents.td3 import TD3
from papers.ners.samplers.batch import Batch, Signals

kernel = njit_calling(k, critic_kernels, **k.OPTIONS)


@kernel
def clamped(x, most):
    """Within -most and most; not a number stays one."""
    return -most if x < -most else most if x > most else x


@kernel
def act(state, actor, sizes, outputs):
    """Actions [n, a] for states [n, s]: a view of `outputs`, which holds those of all layers, see `mlp_outputs`."""
    action = k.mlp_forward(state, actor, sizes, outputs)
    k.tanh(action)
    return action


@kernel
def update(batch, noise, sizes, online, target, moments, step, actor_step, learns, settings, work):
    """`TD3.update` number `step`, from 1 on; leaves the signals in `work`.

    noise: [n, a]. sizes: layers of actor and critics. online, target: actor [p], critics [2, p]. moments: Adam's of
    each. learns: whether the actor does, for the time `actor_step`. settings: lr, gamma, tau, noise in targets, bound.
    """
    state, _, reward, next_state, terminal, weight = batch
    (actor_sizes, critic_sizes), (actor, critics), (target_actor, target_critics) = sizes, online, target
    (actor_moments, critic_moments), (lr, gamma, tau, target_noise, noise_clip) = moments, settings
    n, n_states, n_actions = state.shape[0], state.shape[1], noise.shape[1]
    share, discount = k.ONE / np.float32(n), np.float32(gamma)
    size, bound = np.float32(target_noise), np.float32(noise_clip)

    # TD3.targets
    y = work.signals[2]
    action = act(next_state, target_actor, actor_sizes, work.actor_outputs)
    for row in range(n):
        for j in range(n_actions):
            action[row, j] = clamped(action[row, j] + clamped(size * noise[row, j], bound), k.ONE)
    smaller_values(next_state, action, target_critics, critic_sizes, work, y)
    for row in range(n):
        y[row] = reward[row] + discount * (k.ONE - terminal[row]) * y[row]

    # TD3.critic_loss
    learn_values(batch, critics, target_critics, critic_moments, critic_sizes, step, lr, tau, work)

    # TD3.actor_loss
    if learns:
        action = act(state, actor, actor_sizes, work.actor_outputs)
        k.columns(action, n_states, work.x)  # the states are there already
        k.mlp_forward(work.x, critics[0], critic_sizes, work.outputs[0])
        grad_q = values(work.grads[0], n, critic_sizes)
        for row in range(n):
            grad_q[row] = -share * weight[row]
        k.mlp_backward_inputs(critics[0], critic_sizes, work.outputs[0], work.grads[0], work.grad_x)
        grad_action = k.mlp_outputs(work.actor_grads, n, actor_sizes, len(actor_sizes) - 2)
        for row in range(n):
            for j in range(n_actions):
                grad_action[row, j] = work.grad_x[row, n_states + j]
        k.tanh_backward(grad_action, action)
        k.mlp_backward(state, actor, actor_sizes, work.actor_outputs, work.actor_grads, work.grad_actor)
        k.adam(actor, work.grad_actor, actor_moments[0], actor_moments[1], actor_step, lr)
    k.average(target_actor, actor, tau)


class FastTD3(Twin, TD3):
    """`TD3` for the CPU, with the same arguments."""

    kept: ClassVar = ("updates", "noise")

    def __init__(self, n_states: int, n_actions: int, **settings: Any):
        """ValueError for a device other than the CPU."""
        super().__init__(n_states, n_actions, **settings)
        self.lr = self.critic_adam.defaults["lr"]
        del self.actor_adam, self.critic_adam  # their moments are here:
        self._online = flattened(self.actor_parameters), flattened_members(self.critics.members)
        self._target = flattened([*self.target_actor.parameters()]), flattened_members(self.target.members)
        self._moments = moments(*self._online)
        self.vectors = *self._online, *self._target, *self._moments
        hidden = [len(bias) for bias in self.actor_parameters[1:-2:2]]
        self._sizes = (n_states, *hidden, n_actions), (n_states + n_actions, *hidden, 1)
        self._work = buffers(0, *self._sizes)

    def update(self, batch: Batch) -> Signals:
        """As `TD3.update`. ValueError for tensors whose shapes are not those of `Batch`."""
        (n_states, *_), (n_inputs, *_) = self._sizes
        arrays = arrays_of(batch, n_states, n_inputs - n_states)
        n = len(batch.weight)
        if len(self._work.log_density) != n:
            self._work = buffers(n, *self._sizes)
        noise = torch.randn(batch.action.shape, generator=self.noise).numpy()
        self.updates += 1
        actor_step, wait = divmod(self.updates, self.policy_delay)
        settings = self.lr, self.gamma, self.tau, self.target_noise, self.noise_clip
        update(
            arrays, noise, self._sizes, self._online, self._target, self._moments, self.updates, actor_step, wait == 0,
            settings, self._work,
        )  # fmt: skip
        return Signals(*self._work.signals.copy())
