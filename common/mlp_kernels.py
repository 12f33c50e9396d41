"""Multilayer perceptrons as numba kernels: forward, backward, batch normalisation, Adam, averaging of targets.

At 64 units an update through PyTorch is some 250 small calls that cost twenty times its arithmetic. Here it is a few
matrix products (`np.dot` with `out`, which is BLAS) and loops between them, called from one kernel of the caller.

All arrays are float32 and preallocated by the caller; the kernels write into them and allocate nothing. The parameters
of a network are one flat vector [p], in the order of PyTorch's `parameters()`: a layer is a weight [out, in] and a bias
[out]. Gradients and Adam's moments are vectors of the same layout, so that clipping, Adam and averaging are one loop.

Sizes are not checked, and a wrong one reads or writes foreign memory: callers are kernels, which have checked them.

Not a number stays one wherever PyTorch would keep it (hence no full `fastmath`): a run that diverges shall be noticed.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "arcp", "nsz"}, "forceinline": True}
"""Of `njit`, for kernels that call these, too: sums in any order, which is what vectorises them.

A kernel must give the same digits in every process, whoever compiled it. So there is no "contract": whether a product
and a sum become one instruction would depend on where a kernel is inlined. And each is inlined wherever it is called:
left to the compiler, a caller brings a copy of its own of what it calls, optimised once more and so with other sums,
and all callers in a process use the copy that was loaded first: another one in the process that has compiled them.
"""

ZERO, ONE = np.float32(0.0), np.float32(1.0)  # a Python float would turn everything that it meets into float64
EPSILON = np.float32(1e-5)  # of batch normalisation
MOMENTUM = np.float32(0.1)  # of its running statistics
NEW1, OLD2, NEW2 = np.float32(1 - 0.9), np.float32(0.999), np.float32(1 - 0.999)  # shares in Adam's moments
ADAM_EPSILON = np.float32(1e-8)
RELU, SOFTSIGN = 0, 1
"""Units of the hidden layers of a plain network."""


# --- layers -----------------------------------------------------------------------------------------------------------


@njit(cache=True, **OPTIONS)
def matrix(buffer, start, rows, columns):
    """The view [rows, columns] of a flat buffer from `start` on."""
    return buffer[start : start + rows * columns].reshape(rows, columns)


@njit(cache=True, **OPTIONS)
def columns(x, first, out):
    """x [n, i] becomes the columns of out [n, ...] from `first` on."""
    for row in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[row, first + j] = x[row, j]


@njit(cache=True, **OPTIONS)
def linear(x, weight, bias, out):
    """out [n, o] = x [n, i] weight^T + bias, for weight [o, i] and bias [o]."""
    np.dot(x, weight.T, out)
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[row, j] += bias[j]


@njit(cache=True, **OPTIONS)
def linear_relu(x, weight, bias, out):
    """As `linear`, and negative outputs become 0."""
    np.dot(x, weight.T, out)
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            value = out[row, j] + bias[j]
            out[row, j] = ZERO if value < ZERO else value


@njit(cache=True, **OPTIONS)
def linear_softsign(x, weight, bias, out):
    """As `linear`, and an output h becomes h / (1 + |h|)."""
    np.dot(x, weight.T, out)
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            value = out[row, j] + bias[j]
            out[row, j] = value / (ONE + abs(value))


@njit(cache=True, **OPTIONS)
def linear_backward(grad_out, x, grad_weight, grad_bias):
    """Gradients of `linear` for its weight [o, i] and bias [o], from those of its output [n, o]."""
    np.dot(grad_out.T, x, grad_weight)
    grad_bias[:] = ZERO
    for row in range(grad_out.shape[0]):
        for j in range(grad_out.shape[1]):
            grad_bias[j] += grad_out[row, j]


@njit(cache=True, **OPTIONS)
def linear_backward_inputs(grad_out, weight, grad_x):
    """Gradient [n, i] of `linear` for its input, from that of its output [n, o]."""
    np.dot(grad_out, weight, grad_x)


@njit(cache=True, **OPTIONS)
def relu_backward(grad, out):
    """The gradient [n, o] for the outputs `out` of ReLU becomes that for its inputs, in place."""
    for row in range(grad.shape[0]):
        for j in range(grad.shape[1]):
            if not out[row, j] > ZERO:
                grad[row, j] = ZERO


@njit(cache=True, **OPTIONS)
def softsign_backward(grad, out):
    """The gradient [n, o] for the outputs `out` of Softsign becomes that for its inputs, in place."""
    for row in range(grad.shape[0]):
        for j in range(grad.shape[1]):
            slope = ONE - abs(out[row, j])
            grad[row, j] *= slope * slope


@njit(cache=True, **OPTIONS)
def tanh(x):
    """x [n, o] becomes tanh(x), in place."""
    for row in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[row, j] = math.tanh(x[row, j])


@njit(cache=True, **OPTIONS)
def tanh_backward(grad, out):
    """The gradient [n, o] for the outputs `out` of tanh becomes that for its inputs, in place."""
    for row in range(grad.shape[0]):
        for j in range(grad.shape[1]):
            grad[row, j] *= ONE - out[row, j] * out[row, j]


# --- plain networks: linear layers with ReLU or Softsign between them, as `common.networks.mlp` -----------------------


def n_parameters(sizes: tuple[int, ...]) -> int:
    """Parameters of a network of `sizes` (inputs, hidden ..., outputs)."""
    return sum(n_out * (n_in + 1) for n_in, n_out in pairwise(sizes))


@njit(cache=True, **OPTIONS)
def mlp_layer(parameters, sizes, layer):
    """Views of weight [o, i] and bias [o] of a layer, counted from 0, in parameters [p] or in their gradient."""
    start = 0
    for i in range(layer):
        start += sizes[i + 1] * (sizes[i] + 1)
    end = start + sizes[layer + 1] * sizes[layer]
    return matrix(parameters, start, sizes[layer + 1], sizes[layer]), parameters[end : end + sizes[layer + 1]]


@njit(cache=True, **OPTIONS)
def mlp_outputs(outputs, n, sizes, layer):
    """View [n, o] of what a layer gave, in `outputs` [n * (all sizes but the inputs')], or of its gradient."""
    start = 0
    for i in range(layer):
        start += n * sizes[i + 1]
    return matrix(outputs, start, n, sizes[layer + 1])


@njit(cache=True, **OPTIONS)
def mlp_forward(x, parameters, sizes, outputs, units=RELU):
    """The network for x [n, i]: fills `outputs` of all layers (see `mlp_outputs`) and returns the last one's [n, o]."""
    n, last = x.shape[0], len(sizes) - 2
    for layer in range(last):
        weight, bias = mlp_layer(parameters, sizes, layer)
        out = mlp_outputs(outputs, n, sizes, layer)
        if units == SOFTSIGN:
            linear_softsign(x, weight, bias, out)
        else:
            linear_relu(x, weight, bias, out)
        x = out
    weight, bias = mlp_layer(parameters, sizes, last)
    out = mlp_outputs(outputs, n, sizes, last)
    linear(x, weight, bias, out)
    return out


@njit(cache=True, **OPTIONS)
def units_backward(grad, out, units):
    """`relu_backward` or `softsign_backward`."""
    if units == SOFTSIGN:
        softsign_backward(grad, out)
    else:
        relu_backward(grad, out)


@njit(cache=True, **OPTIONS)
def mlp_backward(x, parameters, sizes, outputs, grad_outputs, gradient, units=RELU):
    """Gradient [p] of the parameters, after `mlp_forward` of the same x, parameters, outputs and units.

    `grad_outputs` has the layout of `outputs`; the caller has filled its last layer with the gradient of the network's
    output. The other layers are filled here. The gradient for x, where wanted, is `linear_backward_inputs` of the
    first layer's.
    """
    n, last = x.shape[0], len(sizes) - 2
    for layer in range(last, 0, -1):
        weight, _ = mlp_layer(parameters, sizes, layer)
        grad_weight, grad_bias = mlp_layer(gradient, sizes, layer)
        grad_out = mlp_outputs(grad_outputs, n, sizes, layer)
        below, grad_below = mlp_outputs(outputs, n, sizes, layer - 1), mlp_outputs(grad_outputs, n, sizes, layer - 1)
        linear_backward(grad_out, below, grad_weight, grad_bias)
        linear_backward_inputs(grad_out, weight, grad_below)
        units_backward(grad_below, below, units)
    grad_weight, grad_bias = mlp_layer(gradient, sizes, 0)
    linear_backward(mlp_outputs(grad_outputs, n, sizes, 0), x, grad_weight, grad_bias)


@njit(cache=True, **OPTIONS)
def mlp_backward_inputs(parameters, sizes, outputs, grad_outputs, grad_x, units=RELU):
    """The gradient grad_x [n, i] for the inputs and none for the parameters; else as `mlp_backward`."""
    n = grad_x.shape[0]
    for layer in range(len(sizes) - 2, 0, -1):
        weight, _ = mlp_layer(parameters, sizes, layer)
        grad_below = mlp_outputs(grad_outputs, n, sizes, layer - 1)
        linear_backward_inputs(mlp_outputs(grad_outputs, n, sizes, layer), weight, grad_below)
        units_backward(grad_below, mlp_outputs(outputs, n, sizes, layer - 1), units)
    weight, _ = mlp_layer(parameters, sizes, 0)
    linear_backward_inputs(mlp_outputs(grad_outputs, n, sizes, 0), weight, grad_x)


# --- batch normalisation ----------------------------------------------------------------------------------------------


@njit(cache=True, **OPTIONS)
def normalise_by_batch(x, running_mean, running_var, scale, out):
    """out [n, o] = x [n, o] less the batch's mean, divided by its deviation; `out` may be x.

    Moves the running statistics [o] towards the batch's, and leaves 1 / deviation [o] in `scale` for
    `batch_norm_backward`.
    """
    n, width = x.shape
    share = ONE / np.float32(n)
    for j in range(width):
        scale[j] = ZERO
    for row in range(n):
        for j in range(width):
            scale[j] += x[row, j]
    for j in range(width):
        running_mean[j] += MOMENTUM * (scale[j] * share - running_mean[j])
        scale[j] *= share
    for row in range(n):
        for j in range(width):
            out[row, j] = x[row, j] - scale[j]
    for j in range(width):
        scale[j] = ZERO
    for row in range(n):
        for j in range(width):
            scale[j] += out[row, j] * out[row, j]
    unbiased = ONE / np.float32(n - 1)
    for j in range(width):
        running_var[j] += MOMENTUM * (scale[j] * unbiased - running_var[j])
        scale[j] = ONE / math.sqrt(scale[j] * share + EPSILON)
    for row in range(n):
        for j in range(width):
            out[row, j] *= scale[j]


@njit(cache=True, **OPTIONS)
def normalise_by_running(x, running_mean, running_var, out):
    """out [n, o] = x [n, o] less the running mean, divided by the running deviation; `out` may be x."""
    for j in range(x.shape[1]):
        scale = ONE / math.sqrt(running_var[j] + EPSILON)
        for row in range(x.shape[0]):
            out[row, j] = (x[row, j] - running_mean[j]) * scale


@njit(cache=True, **OPTIONS)
def affine_relu(x, gamma, beta, out):
    """out [n, o] = relu(gamma [o] x [n, o] + beta [o]); further columns of `out` are left alone."""
    for row in range(x.shape[0]):
        for j in range(x.shape[1]):
            value = gamma[j] * x[row, j] + beta[j]
            out[row, j] = ZERO if value < ZERO else value


@njit(cache=True, **OPTIONS)
def fold_running(gamma, beta, running_mean, running_var, scale, shift):
    """Scale and shift [o] that are, together, normalisation by running statistics and gamma x + beta."""
    for j in range(gamma.size):
        scale[j] = gamma[j] / math.sqrt(running_var[j] + EPSILON)
        shift[j] = beta[j] - running_mean[j] * scale[j]


@njit(cache=True, **OPTIONS)
def batch_norm_backward(grad, normalised, gamma, scale, grad_gamma, grad_beta, grad_x):
    """Backward of gamma * normalised + beta after `normalise_by_batch`.

    From grad [n, o]: the gradients of gamma and beta [o], and grad_x [n, o] for what was normalised. `normalised` and
    `scale` are what `normalise_by_batch` left; grad may have further columns.
    """
    n, width = normalised.shape
    grad_gamma[:] = ZERO
    grad_beta[:] = ZERO
    for row in range(n):
        for j in range(width):
            grad_beta[j] += grad[row, j]
            grad_gamma[j] += grad[row, j] * normalised[row, j]
    share = ONE / np.float32(n)
    for row in range(n):
        for j in range(width):
            mean = share * (grad_beta[j] + normalised[row, j] * grad_gamma[j])
            grad_x[row, j] = gamma[j] * scale[j] * (grad[row, j] - mean)


# --- flat vectors -----------------------------------------------------------------------------------------------------


@njit(cache=True, **OPTIONS)
def clip_norm(gradient, largest):
    """Shorten gradient [p] in place to the L2 norm `largest` where it is longer, as `clip_grad_norm_` does."""
    total = ZERO
    for i in range(gradient.size):
        total += gradient[i] * gradient[i]
    factor = np.float32(largest) / (math.sqrt(total) + np.float32(1e-6))
    if not factor >= ONE:
        for i in range(gradient.size):
            gradient[i] *= factor


@njit(cache=True, **OPTIONS)
def adam_corrections(step, lr):
    """Factors on Adam's mean and on the root of its square in step number `step`: both moments started at 0."""
    return np.float32(lr / (1.0 - 0.9**step)), np.float32(1.0 / math.sqrt(1.0 - 0.999**step))


@njit(cache=True, **OPTIONS)
def adam(parameters, gradient, mean, square, step, lr, epsilon=ADAM_EPSILON):
    """Adam's step number `step`, from 1 on, of parameters [p] and the moments `mean` and `square` [p], in place.

    As `torch.optim.Adam`: both moments are corrected for starting at 0, and epsilon stands outside the root.
    """
    (rate, root), epsilon = adam_corrections(step, lr), np.float32(epsilon)
    for i in range(parameters.size):
        mean[i] += NEW1 * (gradient[i] - mean[i])
        square[i] = OLD2 * square[i] + NEW2 * gradient[i] * gradient[i]
        parameters[i] -= rate * mean[i] / (math.sqrt(square[i]) * root + epsilon)


@njit(cache=True, **OPTIONS)
def adam_average(parameters, gradient, mean, square, step, lr, target, share):
    """`adam`, and then `average` of its result into target [p], in one walk through memory."""
    (rate, root), share = adam_corrections(step, lr), np.float32(share)
    for i in range(parameters.size):
        mean[i] += NEW1 * (gradient[i] - mean[i])
        square[i] = OLD2 * square[i] + NEW2 * gradient[i] * gradient[i]
        value = parameters[i] - rate * mean[i] / (math.sqrt(square[i]) * root + ADAM_EPSILON)
        parameters[i] = value
        target[i] += share * (value - target[i])


@njit(cache=True, **OPTIONS)
def average(target, online, share):
    """target [p] moves towards online [p] by a share in [0, 1]."""
    share = np.float32(share)
    for i in range(target.size):
        target[i] += share * (online[i] - target[i])
