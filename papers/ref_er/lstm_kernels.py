"""Layers of LSTM cells and a linear one as numba kernels; recurrent.py has the form to read.

Arrays are float32. Of all steps [W], windows [B] and layers [L]: the inputs x [W, B, inputs], whether a step is `real`
[W, B], the activated `gates` [L, W, B, 4 H], the cells' content c [L, W, B, H], its tanh, and what they give, h.
`sizes` are those of `LSTM`, parameters one flat vector [p] in the order of the module's.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from common import mlp_kernels as k
from common.numba_cache import njit_calling

ZERO, HALF, ONE, LARGEST = (np.float32(x) for x in (0.0, 0.5, 1.0, 7.9053111))


@njit(cache=True, **k.OPTIONS)
def tanh(x):
    """By a quotient of polynomials that is off by at most 5e-7 (Eigen's): compiled, it runs over vectors."""
    x = -LARGEST if x < -LARGEST else x  # so that not a number stays one
    x = LARGEST if x > LARGEST else x
    s = x * x
    p = np.float32(-2.76076847742355e-16) * s + np.float32(2.00018790482477e-13)
    p = p * s + np.float32(-8.60467152213735e-11)
    p = p * s + np.float32(5.12229709037114e-08)
    p = p * s + np.float32(1.48572235717979e-05)
    p = p * s + np.float32(6.37261928875436e-04)
    p = p * s + np.float32(4.89352455891786e-03)
    q = np.float32(1.19825839466702e-06) * s + np.float32(1.18534705686654e-04)
    q = q * s + np.float32(2.26843463243900e-03)
    q = q * s + np.float32(4.89352518554385e-03)
    return x * p / q


@njit_calling(k, **k.OPTIONS)
def layer_of(parameters, sizes, layer):
    """Views of a layer's weights [4 H, inputs] and [4 H, H] and of its bias [4 H]."""
    width, start = sizes[1], 0
    for i in range(layer):
        start += 4 * width * (sizes[i] + width + 1)
    by_input = k.matrix(parameters, start, 4 * width, sizes[layer])
    start += 4 * width * sizes[layer]
    by_state = k.matrix(parameters, start, 4 * width, width)
    start += 4 * width * width
    return by_input, by_state, parameters[start : start + 4 * width]


@njit_calling(k, **k.OPTIONS)
def last_of(parameters, sizes):
    """Views of weight [outputs, H] and bias [outputs] of the linear layer."""
    width, n = sizes[1], sizes[len(sizes) - 1]
    start = parameters.size - n * (width + 1)
    return k.matrix(parameters, start, n, width), parameters[parameters.size - n :]


@njit_calling(k, **k.OPTIONS)
def lstm_forward(windows, parameters, sizes, x, real, gates, c, tanh_c, h, outputs):
    """The network's `outputs` [B, outputs] for windows [B, W, 1 + inputs]; fills what stands before them."""
    length, n, n_inputs = x.shape
    width = sizes[1]
    for i in range(n):
        for t in range(length):
            real[t, i] = windows[i, t, 0]
            for j in range(n_inputs):
                x[t, i, j] = windows[i, t, 1 + j]
    by_state_now = np.empty((n, 4 * width), np.float32)
    for layer in range(gates.shape[0]):
        by_input, by_state, bias = layer_of(parameters, sizes, layer)
        below = x.reshape(length * n, n_inputs) if layer == 0 else h[layer - 1].reshape(length * n, width)
        k.linear(below, by_input, bias, gates[layer].reshape(length * n, 4 * width))
        for t in range(length):
            all_gates = gates[layer, t]
            if t > 0:
                np.dot(h[layer, t - 1], by_state.T, by_state_now)
            for i in range(n):
                g = all_gates[i]
                if t > 0:
                    for j in range(4 * width):
                        g[j] += by_state_now[i, j]
                for j in range(2 * width):
                    g[j] = HALF + HALF * tanh(HALF * g[j])
                for j in range(2 * width, 3 * width):
                    g[j] = tanh(g[j])
                for j in range(3 * width, 4 * width):
                    g[j] = HALF + HALF * tanh(HALF * g[j])
                for j in range(width):
                    kept = g[width + j] * c[layer, t - 1, i, j] if t > 0 else ZERO
                    content = real[t, i] * (kept + g[j] * g[2 * width + j])
                    c[layer, t, i, j] = content
                    tanh_c[layer, t, i, j] = tanh(content)
                    h[layer, t, i, j] = g[3 * width + j] * tanh_c[layer, t, i, j]
    weight, bias = last_of(parameters, sizes)
    k.linear(h[gates.shape[0] - 1, length - 1], weight, bias, outputs)


@njit(cache=True, **k.OPTIONS)
def cells_backward(g, c_before, tanh_c, real, of_h, of_c, of_g):
    """Of one window's cells at one step: from the gradients of what they give, of_h [H], and of their content, of_c
    [H], those before the activations, of_g [4 H]; of_c becomes that of the content before."""
    width = of_h.size
    for j in range(width):
        i, f, new, o = g[j], g[width + j], g[2 * width + j], g[3 * width + j]
        by_c = real * (of_c[j] + of_h[j] * o * (ONE - tanh_c[j] * tanh_c[j]))
        of_g[j] = by_c * new * i * (ONE - i)
        of_g[width + j] = by_c * c_before[j] * f * (ONE - f)
        of_g[2 * width + j] = by_c * i * (ONE - new * new)
        of_g[3 * width + j] = of_h[j] * tanh_c[j] * o * (ONE - o)
        of_c[j] = by_c * f


@njit_calling(k, **k.OPTIONS)
def lstm_backward(parameters, sizes, x, real, gates, c, tanh_c, h, of_outputs, gradient):
    """Gradient [p] of the parameters from that of the outputs [B, outputs], after `lstm_forward`."""
    length, n, n_inputs = x.shape
    width, layers = sizes[1], gates.shape[0]
    weight, _ = last_of(parameters, sizes)
    of_weight, of_bias = last_of(gradient, sizes)
    k.linear_backward(of_outputs, h[layers - 1, length - 1], of_weight, of_bias)
    of_h = np.zeros((length, n, width), np.float32)  # of what the layer gives, by the layer above
    np.dot(of_outputs, weight, of_h[length - 1])
    of_gates = np.empty((length, n, 4 * width), np.float32)
    of_state, nothing = np.empty((n, width), np.float32), np.zeros(width, np.float32)
    for layer in range(layers - 1, -1, -1):
        by_input, by_state, _ = layer_of(parameters, sizes, layer)
        of_by_input, of_by_state, of_bias = layer_of(gradient, sizes, layer)
        of_c = np.zeros((n, width), np.float32)
        for t in range(length - 1, -1, -1):
            if t < length - 1:
                np.dot(of_gates[t + 1], by_state, of_state)
                of_h[t] += of_state
            for i in range(n):
                before = c[layer, t - 1, i] if t > 0 else nothing
                cells_backward(
                    gates[layer, t, i], before, tanh_c[layer, t, i], real[t, i], of_h[t, i], of_c[i], of_gates[t, i]
                )
        flat = of_gates.reshape(length * n, 4 * width)
        below = x.reshape(length * n, n_inputs) if layer == 0 else h[layer - 1].reshape(length * n, width)
        k.linear_backward(flat, below, of_by_input, of_bias)
        of_by_state[:] = ZERO
        if length > 1:
            later, earlier = (length - 1) * n, h[layer].reshape(length * n, width)
            np.dot(flat[n:].T, earlier[:later], of_by_state)
        if layer > 0:
            np.dot(flat, by_input, of_h.reshape(length * n, width))


@njit_calling(k, **k.OPTIONS)
def lstm_input_gradient(parameters, sizes, x, real, gates, c, tanh_c, h, gradient):
    """Gradient [B, inputs] of the sum of all outputs for the inputs of the last step, which no other step has seen."""
    length, n, _ = x.shape
    width, t = sizes[1], length - 1
    weight, _ = last_of(parameters, sizes)
    of_h = np.empty((n, width), np.float32)
    for i in range(n):
        for j in range(width):
            of_h[i, j] = weight[:, j].sum()
    of_gates, nothing = np.empty((n, 4 * width), np.float32), np.zeros(width, np.float32)
    for layer in range(gates.shape[0] - 1, -1, -1):
        by_input, _, _ = layer_of(parameters, sizes, layer)
        of_c = np.zeros((n, width), np.float32)
        for i in range(n):
            before = c[layer, t - 1, i] if t > 0 else nothing
            cells_backward(gates[layer, t, i], before, tanh_c[layer, t, i], real[t, i], of_h[i], of_c[i], of_gates[i])
        if layer > 0:
            np.dot(of_gates, by_input, of_h)
        else:
            np.dot(of_gates, by_input, gradient)
