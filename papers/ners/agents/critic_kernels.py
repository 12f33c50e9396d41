"""Twin critics as numba kernels: values, and a step on their loss. What `fast_sac.py` and `fast_td3.py` share.

Parameters are vectors [2, p], one row per critic, see `common/mlp_kernels.py`; sizes are those of the layers of one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from common.twins import checked
from papers.ners.samplers.batch import Batch

kernel = njit_calling(k, **k.OPTIONS)
HALF, TWO = np.float32(0.5), np.float32(2.0)


class Work(NamedTuple):
    """Buffers of an update with n transitions, float32."""

    actor_outputs: np.ndarray
    """Of all layers of the actor, flat, see `mlp_outputs`."""
    actor_grads: np.ndarray
    """Gradients for them."""
    outputs: np.ndarray
    """Of all layers of both critics [2, ...]."""
    grads: np.ndarray
    x: np.ndarray
    """The critics' inputs: states and actions [n, s + a]."""
    grad_x: np.ndarray
    grad_actor: np.ndarray
    """Of the actor's parameters [p]."""
    grad_critics: np.ndarray
    """Of the critics' [2, p]."""
    action: np.ndarray
    """[n, a]"""
    log_density: np.ndarray
    """[n]"""
    signals: np.ndarray
    """The rows of `Signals`: mean sizes of TD errors, mean squares, targets y, mean values [4, n]."""


def buffers(n: int, actor_sizes: tuple[int, ...], critic_sizes: tuple[int, ...]) -> Work:
    """Buffers for batches of n transitions."""
    n_inputs, n_states = critic_sizes[0], actor_sizes[0]
    of_actor, of_critics, inputs = n * sum(actor_sizes[1:]), (2, n * sum(critic_sizes[1:])), (n, n_inputs)
    shapes = [
        of_actor, of_actor, of_critics, of_critics, inputs, inputs, k.n_parameters(actor_sizes),
        (2, k.n_parameters(critic_sizes)), (n, n_inputs - n_states), n, (4, n),
    ]  # fmt: skip
    return Work(*(np.zeros(shape, np.float32) for shape in shapes))


def arrays_of(batch: Batch, n_states: int, n_actions: int) -> tuple[np.ndarray, ...]:
    """The batch as arrays. ValueError for tensors whose shapes are not those of `Batch`."""
    n = len(batch.weight)
    shapes = [(n, n_states), (n, n_actions), (n,), (n, n_states), (n,), (n,)]
    return tuple(checked([value.numpy() for value in batch], shapes))


@kernel
def values(outputs, n, sizes):
    """View [n] of the values in `outputs` of a critic's layers, or of their gradient."""
    return k.mlp_outputs(outputs, n, sizes, len(sizes) - 2).reshape(-1)


@kernel
def smaller_values(state, action, critics, sizes, work, smaller):
    """Fills `smaller` [n] with the smaller value of both critics; where one is not a number, with that."""
    k.columns(state, 0, work.x)
    k.columns(action, state.shape[1], work.x)
    for c in range(2):
        q = k.mlp_forward(work.x, critics[c], sizes, work.outputs[0])
        for row in range(smaller.size):
            value = q[row, 0]
            if c == 0 or not (smaller[row] < value or smaller[row] != smaller[row]):
                smaller[row] = value


@kernel
def learn_values(batch, critics, target, moments, sizes, step, lr, tau, work):
    """Step number `step` of both critics on `critic_loss` for the targets in work.signals, whose other rows it fills.

    The target critics follow at once: nothing else of an update looks at them. moments: Adam's [2, 2 p].
    """
    state, action, _, _, _, weight = batch
    n = weight.size
    share = k.ONE / np.float32(n)
    td, td2, y, mean = work.signals[0], work.signals[1], work.signals[2], work.signals[3]
    td[:] = k.ZERO
    td2[:] = k.ZERO
    mean[:] = k.ZERO
    k.columns(state, 0, work.x)
    k.columns(action, state.shape[1], work.x)
    for c in range(2):
        outputs, grads = work.outputs[c], work.grads[c]
        k.mlp_forward(work.x, critics[c], sizes, outputs)
        q, grad_q = values(outputs, n, sizes), values(grads, n, sizes)
        for row in range(n):
            error = y[row] - q[row]
            grad_q[row] = -TWO * share * weight[row] * error
            td[row] += HALF * abs(error)
            td2[row] += HALF * error * error
            mean[row] += HALF * q[row]
        k.mlp_backward(work.x, critics[c], sizes, outputs, grads, work.grad_critics[c])
    k.adam_average(
        critics.reshape(-1), work.grad_critics.reshape(-1), moments[0], moments[1], step, lr, target.reshape(-1), tau
    )
