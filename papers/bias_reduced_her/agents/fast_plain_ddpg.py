"""The update of `plain_ddpg.py` as a numba kernel, for the CPU: what `fast_ddpg.py` is to `ddpg.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from papers.bias_reduced_her.agents import fast_ddpg
from papers.bias_reduced_her.agents.fast_ddpg import FastDDPG, act
from papers.bias_reduced_her.agents.plain_ddpg import HIDDEN, PlainDDPG

kernel = njit_calling(k, fast_ddpg, **k.OPTIONS)


class Work(NamedTuple):
    """Buffers of an update with n transitions, float32."""

    outputs: np.ndarray
    """Of the actor's layers, flat, see `mlp_outputs`; `grad_...`: the gradients."""
    grad_outputs: np.ndarray
    grad_actor: np.ndarray
    """Of the actor's parameters [p], as `grad_critic` of the critic's."""
    grad_critic: np.ndarray
    q_outputs: np.ndarray
    """Of the critic's layers."""
    grad_q_outputs: np.ndarray
    joined: np.ndarray
    """Inputs and action side by side [n, i + a]."""
    grad_joined: np.ndarray
    q: np.ndarray
    td: np.ndarray
    """[n] each: targets, later values, and TD errors."""


def buffers(n: int, n_inputs: int, n_actions: int) -> Work:
    """Buffers for batches of n transitions."""
    shapes = {
        "grad_actor": k.n_parameters((n_inputs, HIDDEN, HIDDEN, HIDDEN, n_actions)),
        "grad_critic": k.n_parameters((n_inputs + n_actions, HIDDEN, HIDDEN, HIDDEN, 1)),
        "outputs": n * (3 * HIDDEN + n_actions), "q_outputs": n * (3 * HIDDEN + 1), "joined": (n, n_inputs + n_actions),
        "q": n, "td": n,
    }  # fmt: skip
    shapes |= {f"grad_{name}": shapes[name] for name in ("outputs", "q_outputs", "joined")}
    return Work(**{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})


@kernel
def critic_forward(inputs, action, critic, sizes, work):
    """Q [n, 1], a view of work.q_outputs."""
    work.joined[:, : inputs.shape[1]] = inputs
    work.joined[:, inputs.shape[1] :] = action
    return k.mlp_forward(work.joined, critic, sizes, work.q_outputs)


@kernel
def update(batch, weights, sizes, online, target, moments, step, lr, gamma, clip, action_penalty, work):
    """`DDPG.update` number `step`, from 1 on; returns the critic's loss and leaves the TD errors in work.td.

    sizes: of the actor's layers. online, target: actor and critic. moments: Adam's, mean and square [2, p] of each.
    """
    inputs, action, reward, next_inputs, terminal = batch
    n, n_inputs, n_actions = inputs.shape[0], inputs.shape[1], action.shape[1]
    (actor, critic), (target_actor, target_critic), (actor_moments, critic_moments) = online, target, moments
    q_sizes = n_inputs + n_actions, sizes[1], sizes[2], sizes[3], 1
    share, discount, low = k.ONE / np.float32(n), np.float32(gamma), np.float32(-1.0 / (1.0 - gamma))
    grad_q = k.mlp_outputs(work.grad_q_outputs, n, q_sizes, len(q_sizes) - 2)

    # DDPG.targets
    next_action = act(next_inputs, target_actor, sizes, work.outputs)
    q = critic_forward(next_inputs, next_action, target_critic, q_sizes, work)
    for row in range(n):
        y = reward[row] + discount * (k.ONE - terminal[row]) * q[row, 0]
        if y < low:
            y = low
        if y > k.ZERO:
            y = k.ZERO
        work.q[row] = y

    # DDPG.critic_loss
    q = critic_forward(inputs, action, critic, q_sizes, work)
    for row in range(n):
        td = work.q[row] - q[row, 0]
        work.td[row] = td
        grad_q[row, 0] = np.float32(-2.0) * share * weights[row] * td
    loss = k.ZERO
    for row in range(n):  # a loop of its own: beside stores, the order of its sum depends on where the arrays lie
        loss += weights[row] * work.td[row] * work.td[row]
    k.mlp_backward(work.joined, critic, q_sizes, work.q_outputs, work.grad_q_outputs, work.grad_critic)
    k.clip_norm(work.grad_critic, clip)
    k.adam(critic, work.grad_critic, critic_moments[0], critic_moments[1], step, lr)

    # DDPG.actor_loss
    chosen = act(inputs, actor, sizes, work.outputs)
    critic_forward(inputs, chosen, critic, q_sizes, work)
    grad_q[:] = -share
    k.mlp_backward_inputs(critic, q_sizes, work.q_outputs, work.grad_q_outputs, work.grad_joined)
    grad_action = k.mlp_outputs(work.grad_outputs, n, sizes, len(sizes) - 2)
    penalty = np.float32(2.0 * action_penalty / (n * n_actions))
    for row in range(n):
        for j in range(n_actions):
            grad_action[row, j] = work.grad_joined[row, n_inputs + j] + penalty * chosen[row, j]
    k.tanh_backward(grad_action, chosen)
    k.mlp_backward(inputs, actor, sizes, work.outputs, work.grad_outputs, work.grad_actor)
    k.clip_norm(work.grad_actor, clip)
    k.adam(actor, work.grad_actor, actor_moments[0], actor_moments[1], step, lr)
    return share * loss


class FastPlainDDPG(FastDDPG, PlainDDPG):
    """`PlainDDPG` for the CPU, with the same arguments. A pickled copy continues identically."""

    hidden = HIDDEN
    kernel: Any = staticmethod(update)
    buffers: Any = staticmethod(buffers)
