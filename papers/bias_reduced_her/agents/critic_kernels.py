"""The critic of `ddpg.py` as numba kernels: forward, and backward to its parameters or to the action.

Its parameters are a flat vector in the order of PyTorch, see `common/mlp_kernels.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from papers.bias_reduced_her.agents.ddpg import HIDDEN

kernel = njit_calling(k, **k.OPTIONS)


class Work(NamedTuple):
    """Buffers of an update with n transitions, float32. Layers of the critic are counted from 0."""

    outputs: np.ndarray
    """Of the actor's layers, flat, see `mlp_outputs`."""
    grad_outputs: np.ndarray
    grad_actor: np.ndarray
    """Of the actor's parameters [p], as `grad_critic` of the critic's."""
    grad_critic: np.ndarray
    x: np.ndarray
    """The critic's inputs [n, i], normalised."""
    x_scale: np.ndarray
    """1 / deviation of the inputs [i]."""
    linear: np.ndarray
    """Output of a linear layer [n, HIDDEN], or the gradient for it."""
    normalised: np.ndarray
    """Inputs of gamma and beta of each layer [3, n, HIDDEN], while the critic learns."""
    scale: np.ndarray
    """Factors of each layer's normalisation [3, HIDDEN]; times gamma where running statistics are used."""
    shift: np.ndarray
    """[HIDDEN]"""
    joined: np.ndarray
    """Output of layer 0 and the action [n, HIDDEN + a]."""
    hidden: np.ndarray
    """Outputs of layers 1 and 2 [2, n, HIDDEN]."""
    grad_joined: np.ndarray
    grad_hidden: np.ndarray
    q: np.ndarray
    y: np.ndarray
    td: np.ndarray
    grad_q: np.ndarray
    """[n] each."""


def buffers(n: int, n_inputs: int, n_actions: int) -> Work:
    """Buffers for batches of n transitions."""
    weights = HIDDEN * (n_inputs + HIDDEN + n_actions + HIDDEN)
    shapes = {
        "grad_actor": k.n_parameters((n_inputs, HIDDEN, HIDDEN, HIDDEN, n_actions)),
        "grad_critic": weights + 3 * 2 * HIDDEN + HIDDEN + 1,  # gammas, betas, output
        "outputs": n * (3 * HIDDEN + n_actions), "x": (n, n_inputs), "x_scale": n_inputs, "linear": (n, HIDDEN),
        "normalised": (3, n, HIDDEN), "scale": (3, HIDDEN), "shift": HIDDEN, "joined": (n, HIDDEN + n_actions),
        "hidden": (2, n, HIDDEN), "q": n, "y": n, "td": n,
    }  # fmt: skip
    shapes |= {f"grad_{name}": shapes[name] for name in ("outputs", "joined", "hidden", "q")}
    return Work(**{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})


@kernel
def critic_layers(critic, n_inputs, n_actions):
    """Views of the critic's parameters, or of their gradient, in its flat vector.

    Weights [HIDDEN, i] of three layers, gamma and beta [HIDDEN] of each, weight [HIDDEN] and bias [1] of the output.
    """
    second = HIDDEN * n_inputs
    third = second + HIDDEN * (HIDDEN + n_actions)
    norms = third + HIDDEN * HIDDEN
    weights = (
        k.matrix(critic, 0, HIDDEN, n_inputs),
        k.matrix(critic, second, HIDDEN, HIDDEN + n_actions),
        k.matrix(critic, third, HIDDEN, HIDDEN),
    )
    six = k.matrix(critic, norms, 6, HIDDEN)
    output = norms + 6 * HIDDEN
    weight, bias = critic[output : output + HIDDEN], critic[output + HIDDEN : output + HIDDEN + 1]
    return weights, (six[0], six[2], six[4]), (six[1], six[3], six[5]), weight, bias


@kernel
def running_statistics(statistics, n_inputs):
    """Views: mean and variance of the inputs [n_inputs], and of the layers [6, HIDDEN], in turn mean and variance."""
    layers = k.matrix(statistics, 2 * n_inputs, 6, HIDDEN)
    return statistics[:n_inputs], statistics[n_inputs : 2 * n_inputs], layers


@kernel
def critic_forward(inputs, action, critic, statistics, learning, work):
    """Q [n] into work.q, as `ddpg.Critic.forward`."""
    n_inputs, n_actions = inputs.shape[1], action.shape[1]
    weights, gammas, betas, weight, bias = critic_layers(critic, n_inputs, n_actions)
    mean, variance, running = running_statistics(statistics, n_inputs)
    if learning:
        k.normalise_by_batch(inputs, mean, variance, work.x_scale, work.x)
    else:
        k.normalise_by_running(inputs, mean, variance, work.x)
    work.joined[:, HIDDEN:] = action
    below = (work.x, work.joined, work.hidden[0])
    above = (work.joined, work.hidden[0], work.hidden[1])
    for i in range(3):
        np.dot(below[i], weights[i].T, work.linear)
        mean, variance, scale = running[2 * i], running[2 * i + 1], work.scale[i]
        if learning:
            k.normalise_by_batch(work.linear, mean, variance, scale, work.normalised[i])
            k.affine_relu(work.normalised[i], gammas[i], betas[i], above[i])
        else:
            k.fold_running(gammas[i], betas[i], mean, variance, scale, work.shift)
            k.affine_relu(work.linear, scale, work.shift, above[i])
    np.dot(work.hidden[1], weight, work.q)
    for row in range(work.q.size):
        work.q[row] += bias[0]


@kernel
def critic_gradient(critic, gradient, n_inputs, n_actions, work):
    """Gradient of the critic's parameters from work.grad_q [n], after `critic_forward` with `learning`."""
    weights, gammas, _, weight, _ = critic_layers(critic, n_inputs, n_actions)
    grad_weights, grad_gammas, grad_betas, grad_weight, grad_bias = critic_layers(gradient, n_inputs, n_actions)
    np.dot(work.hidden[1].T, work.grad_q, grad_weight)
    grad_bias[0] = k.ZERO
    for row in range(work.grad_q.size):
        grad_bias[0] += work.grad_q[row]
        for j in range(HIDDEN):
            work.grad_hidden[1, row, j] = work.grad_q[row] * weight[j]
    below = (work.x, work.joined, work.hidden[0])
    above = (work.joined, work.hidden[0], work.hidden[1])
    grad_above = (work.grad_joined, work.grad_hidden[0], work.grad_hidden[1])
    for i in range(2, -1, -1):
        k.relu_backward(grad_above[i], above[i])
        k.batch_norm_backward(
            grad_above[i], work.normalised[i], gammas[i], work.scale[i], grad_gammas[i], grad_betas[i], work.linear
        )
        np.dot(work.linear.T, below[i], grad_weights[i])
        if i > 0:
            np.dot(work.linear, weights[i], grad_above[i - 1])


@kernel
def action_gradient(critic, n_inputs, n_actions, work, grad_action):
    """Gradient [n, a] of the sum of work.grad_q * Q for the actions, after `critic_forward` without `learning`."""
    weights, _, _, weight, _ = critic_layers(critic, n_inputs, n_actions)
    for row in range(work.grad_q.size):
        for j in range(HIDDEN):
            work.grad_hidden[1, row, j] = work.grad_q[row] * weight[j]
    grad_above = (work.grad_joined, work.grad_hidden[0], work.grad_hidden[1])
    for i in range(2, 0, -1):
        k.relu_backward(grad_above[i], work.hidden[i - 1])
        for row in range(work.grad_q.size):
            for j in range(HIDDEN):
                work.linear[row, j] = grad_above[i][row, j] * work.scale[i, j]
        np.dot(work.linear, weights[i], grad_above[i - 1])
    grad_action[:] = work.grad_joined[:, HIDDEN:]
