"""Multilayer perceptrons as numba kernels: forward, backward, batch normalisation, Adam, averaging of targets.

At 64 units, an update in PyTorch is some 250 small calls that cost twenty times its arithmetic. Here it is a few matrix
products (`np.dot` with `out`, which is BLAS) with loops between them, all inside one kernel of the caller.

All arrays are float32 and preallocated by the caller; the kernels write into them and allocate nothing. The parameters
of a network are one flat vector [p], in the order of PyTorch's `parameters()`: a layer is a weight [out, in] and a bias
[out]. Gradients and Adam's moments are vectors of the same layout, so that clipping, Adam and averaging are one loop.

Sizes are not checked, and a wrong one reads or writes out of bounds: the calling kernels have checked them.

NaN stays NaN wherever it does in PyTorch (hence no full `fastmath`), so that a diverging run is noticed.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "arcp", "nsz"}, "forceinline": True}
"""Options of `njit`, also for kernels that call these. Sums may run in any order, which lets numba vectorise them.

A kernel must give the same digits in every process, whoever compiled it. Hence no "contract": whether a product and a
sum become one instruction would depend on where a kernel is inlined. And hence "forceinline": left to the compiler,
each caller brings its own copy of what it calls, optimised once more and so with sums in another order, and all callers
in a process use the copy that was loaded first, which is a different one in the process that compiled them.
"""

ZERO, ONE = np.float32(0.0), np.float32(1.0)  # a Python float would turn everything it meets into float64
EPSILON = np.float32(1e-5)  # of batch normalisation
MOMENTUM = np.float32(0.1)  # of its running statistics
NEW1, OLD2, NEW2 = np.float32(1 - 0.9), np.float32(0.999), np.float32(1 - 0.999)  # shares in Adam's moments
ADAM_EPSILON = np.float32(1e-8)
RELU, SOFTSIGN = 0, 1
"""Activations for the hidden layers of a plain network."""


# --- layers -----------------------------------------------------------------------------------------------------------


@njit(cache=True, **OPTIONS)
def matrix(buffer, start, rows, columns):
    """View a flat buffer, from `start` on, as [rows, columns]."""
    return buffer[start : start + rows * columns].reshape(rows, columns)


@njit(cache=True, **OPTIONS)
def columns(x, first, out):
    """Copy x [n, i] into the columns of out [n, ...] from `first` on."""
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
    """Like `linear`, but negative outputs become 0."""
    np.dot(x, weight.T, out)
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            value = out[row, j] + bias[j]
            out[row, j] = ZERO if value < ZERO else value


@njit(cache=True, **OPTIONS)
def linear_softsign(x, weight, bias, out):
    """Like `linear`, but an output h becomes h / (1 + |h|)."""
    np.dot(x, weight.T, out)
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            value = out[row, j] + bias[j]
            out[row, j] = value / (ONE + abs(value))


@njit(cache=True, **OPTIONS)
def linear_backward(grad_out, x, grad_weight, grad_bias):
    """Compute the gradients of the weight [o, i] and bias [o] of `linear` from that of its output [n, o]."""
    np.dot(grad_out.T, x, grad_weight)
    grad_bias[:] = ZERO
    for row in range(grad_out.shape[0]):
        for j in range(grad_out.shape[1]):
            grad_bias[j] += grad_out[row, j]


@njit(cache=True, **OPTIONS)
def linear_backward_inputs(grad_out, weight, grad_x):
    """Compute the gradient [n, i] of the input of `linear` from that of its output [n, o]."""
    np.dot(grad_out, weight, grad_x)


@njit(cache=True, **OPTIONS)
def relu_backward(grad, out):
    """Turn the gradient [n, o] of ReLU's outputs `out` into that of its inputs, in place."""
    for row in range(grad.shape[0]):
        for j in range(grad.shape[1]):
            if not out[row, j] > ZERO:
                grad[row, j] = ZERO


@njit(cache=True, **OPTIONS)
def softsign_backward(grad, out):
    """Turn the gradient [n, o] of Softsign's outputs `out` into that of its inputs, in place."""
    for row in range(grad.shape[0]):
        for j in range(grad.shape[1]):
            slope = ONE - abs(out[row, j])
            grad[row, j] *= slope * slope


@njit(cache=True, **OPTIONS)
def tanh(x):
    """Replace x [n, o] by tanh(x), in place."""
    for row in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[row, j] = math.tanh(x[row, j])


@njit(cache=True, **OPTIONS)
def tanh_backward(grad, out):
    """Turn the gradient [n, o] of tanh's outputs `out` into that of its inputs, in place."""
    for row in range(grad.shape[0]):
        for j in range(grad.shape[1]):
            grad[row, j] *= ONE - out[row, j] * out[row, j]


# --- plain networks: linear layers with ReLU or Softsign between them, like `common.networks.mlp` ---------------------


def n_parameters(sizes: tuple[int, ...]) -> int:
    """Number of parameters of a network with `sizes` (inputs, hidden ..., outputs)."""
    return sum(n_out * (n_in + 1) for n_in, n_out in pairwise(sizes))


@njit(cache=True, **OPTIONS)
def mlp_layer(parameters, sizes, layer):
    """Views of a layer's weight [o, i] and bias [o] in the parameters [p] or their gradient; layers count from 0."""
    start = 0
    for i in range(layer):
        start += sizes[i + 1] * (sizes[i] + 1)
    end = start + sizes[layer + 1] * sizes[layer]
    return matrix(parameters, start, sizes[layer + 1], sizes[layer]), parameters[end : end + sizes[layer + 1]]


@njit(cache=True, **OPTIONS)
def mlp_outputs(outputs, n, sizes, layer):
    """View [n, o] of a layer's output, or of its gradient, in `outputs` [n * (all sizes but the inputs')]."""
    start = 0
    for i in range(layer):
        start += n * sizes[i + 1]
    return matrix(outputs, start, n, sizes[layer + 1])


@njit(cache=True, **OPTIONS)
def mlp_forward(x, parameters, sizes, outputs, units=RELU):
    """Apply the network to x [n, i]: fill all layers' `outputs` (see `mlp_outputs`) and return the last's [n, o]."""
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
    """Compute the gradient [p] of the parameters, after `mlp_forward` with the same x, parameters, outputs and units.

    `grad_outputs` has the layout of `outputs`. The caller fills its last layer with the gradient of the network's
    output; the others are filled here. If you need the gradient of x, pass the first layer's to
    `linear_backward_inputs`.
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
    """Like `mlp_backward`, but compute the gradient of the inputs, grad_x [n, i], and none of the parameters."""
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
    """out [n, o] = (x [n, o] - the batch's mean) / its standard deviation; `out` may be x.

    Also moves the running statistics [o] towards the batch's, and leaves 1 / deviation [o] in `scale` for
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
    """out [n, o] = (x [n, o] - the running mean) / the running standard deviation; `out` may be x."""
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
    """Fill `scale` and `shift` [o], which combine normalisation by running statistics with gamma x + beta."""
    for j in range(gamma.size):
        scale[j] = gamma[j] / math.sqrt(running_var[j] + EPSILON)
        shift[j] = beta[j] - running_mean[j] * scale[j]


@njit(cache=True, **OPTIONS)
def batch_norm_backward(grad, normalised, gamma, scale, grad_gamma, grad_beta, grad_x):
    """Backward of gamma * normalised + beta after `normalise_by_batch`.

    From grad [n, o], compute the gradients of gamma and beta [o], and grad_x [n, o] of what was normalised.
    `normalised` and `scale` come from `normalise_by_batch`; grad may have further columns.
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
    """Scale gradient [p] down to the L2 norm `largest` if it is longer, in place, as `clip_grad_norm_` does."""
    total = ZERO
    for i in range(gradient.size):
        total += gradient[i] * gradient[i]
    factor = np.float32(largest) / (math.sqrt(total) + np.float32(1e-6))
    if not factor >= ONE:
        for i in range(gradient.size):
            gradient[i] *= factor


@njit(cache=True, **OPTIONS)
def adam_corrections(step, lr):
    """Factors for Adam's mean and for the root of its square in step number `step`, as both moments started at 0."""
    return np.float32(lr / (1.0 - 0.9**step)), np.float32(1.0 / math.sqrt(1.0 - 0.999**step))


@njit(cache=True, **OPTIONS)
def adam(parameters, gradient, mean, square, step, lr, epsilon=ADAM_EPSILON):
    """Take step number `step` (from 1) of Adam: parameters [p] and the moments `mean` and `square` [p], in place.

    Like `torch.optim.Adam`: both moments are corrected for starting at 0, and epsilon stands outside the root.
    """
    (rate, root), epsilon = adam_corrections(step, lr), np.float32(epsilon)
    for i in range(parameters.size):
        mean[i] += NEW1 * (gradient[i] - mean[i])
        square[i] = OLD2 * square[i] + NEW2 * gradient[i] * gradient[i]
        parameters[i] -= rate * mean[i] / (math.sqrt(square[i]) * root + epsilon)


@njit(cache=True, **OPTIONS)
def adam_average(parameters, gradient, mean, square, step, lr, target, share):
    """Run `adam`, then `average` its result into target [p], in one pass through memory."""
    (rate, root), share = adam_corrections(step, lr), np.float32(share)
    for i in range(parameters.size):
        mean[i] += NEW1 * (gradient[i] - mean[i])
        square[i] = OLD2 * square[i] + NEW2 * gradient[i] * gradient[i]
        value = parameters[i] - rate * mean[i] / (math.sqrt(square[i]) * root + ADAM_EPSILON)
        parameters[i] = value
        target[i] += share * (value - target[i])


@njit(cache=True, **OPTIONS)
def average(target, online, share):
    """Move target [p] towards online [p] by a share in [0, 1]."""
    share = np.float32(share)
    for i in range(target.size):
        target[i] += share * (online[i] - target[i])
