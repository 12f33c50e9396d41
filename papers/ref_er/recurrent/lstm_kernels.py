"""Layers of LSTM cells and a linear one as numba kernels; recurrent.py has the form to read.

Windows of W steps may be read with several last inputs each, K in all: the steps before are then done once. Arrays are
float32. Of the T = W - 1 steps before the last, windows [B] and layers [L]: the inputs x [T, B, inputs], whether a step
is `real` [T, B], and `steps`: the activated gates [L, T, B, 4 H], the cells' content c [L, T, B, H], its tanh, and what
they give, h. `lasts` are the same four of the last step, [L, K, ...]. `sizes` are those of `LSTM`, parameters one flat
vector [p] in the order of the module's.
"""

from __future__ import annotations

import numpy as np

from common import mlp_kernels as k
from common.numba_cache import njit_calling

ZERO, HALF, ONE, LARGEST = (np.float32(x) for x in (0.0, 0.5, 1.0, 7.9053111))


@njit_calling(k, **k.OPTIONS)
def tanh(x):
    """By a quotient of polynomials that is off by at most 5e-7 (Eigen's): compiled, it runs over vectors."""
    x = -LARGEST if x < -LARGEST else x  # so that NaN stays NaN
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
def cells_forward(g, c_before, real, c, tanh_c, h):
    """One window's cells at one step, from what flows into their gates, g [4 H], which is activated in place."""
    width = h.size
    for j in range(2 * width):  # three loops without a branch, which run over vectors
        g[j] = HALF + HALF * tanh(HALF * g[j])
    for j in range(2 * width, 3 * width):
        g[j] = tanh(g[j])
    for j in range(3 * width, 4 * width):
        g[j] = HALF + HALF * tanh(HALF * g[j])
    for j in range(width):
        c[j] = real * (g[width + j] * c_before[j] + g[j] * g[2 * width + j])
        tanh_c[j] = tanh(c[j])
        h[j] = g[3 * width + j] * tanh_c[j]


@njit_calling(k, **k.OPTIONS)
def lstm_forward(windows, x_last, parameters, sizes, x, real, steps, lasts, outputs):
    """The network's `outputs` [K, outputs] for windows [B, W, 1 + inputs], whose last step has the inputs x_last
    [K, inputs], those of window b at b, b + B, ...; fills the arrays before `outputs`."""
    gates, c, tanh_c, h = steps
    last_gates, last_c, last_tanh_c, last_h = lasts
    length, n, n_inputs = x.shape
    width, layers, n_last = sizes[1], last_gates.shape[0], x_last.shape[0]
    for i in range(n):
        for t in range(length):
            real[t, i] = windows[i, t, 0]
            for j in range(n_inputs):
                x[t, i, j] = windows[i, t, 1 + j]
    by_state_now, nothing = np.zeros((n, 4 * width), np.float32), np.zeros((n, width), np.float32)
    for layer in range(layers):
        by_input, by_state, bias = layer_of(parameters, sizes, layer)
        if length > 0:
            below = x.reshape(length * n, n_inputs) if layer == 0 else h[layer - 1].reshape(length * n, width)
            k.linear(below, by_input, bias, gates[layer].reshape(length * n, 4 * width))
        for t in range(length):
            if t > 0:
                np.dot(h[layer, t - 1], by_state.T, by_state_now)
                gates[layer, t] += by_state_now
            before = c[layer, t - 1] if t > 0 else nothing
            for i in range(n):
                cells_forward(
                    gates[layer, t, i], before[i], real[t, i], c[layer, t, i], tanh_c[layer, t, i], h[layer, t, i]
                )
        k.linear(x_last if layer == 0 else last_h[layer - 1], by_input, bias, last_gates[layer])
        if length > 0:
            np.dot(h[layer, length - 1], by_state.T, by_state_now)
        before = c[layer, length - 1] if length > 0 else nothing
        for i in range(n_last):
            g = last_gates[layer, i]
            if length > 0:
                g += by_state_now[i % n]
            cells_forward(g, before[i % n], ONE, last_c[layer, i], last_tanh_c[layer, i], last_h[layer, i])
    weight, bias = last_of(parameters, sizes)
    k.linear(last_h[layers - 1], weight, bias, outputs)


@njit_calling(k, **k.OPTIONS)
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
def lstm_backward(parameters, sizes, x_last, x, real, steps, lasts, of_outputs, gradient):
    """Gradient [p] of the parameters from that of the outputs [K, outputs], after `lstm_forward`."""
    gates, c, tanh_c, h = steps
    last_gates, _, last_tanh_c, last_h = lasts
    length, n, n_inputs = x.shape
    width, layers, n_last = sizes[1], last_gates.shape[0], x_last.shape[0]
    weight, _ = last_of(parameters, sizes)
    of_weight, of_bias = last_of(gradient, sizes)
    k.linear_backward(of_outputs, last_h[layers - 1], of_weight, of_bias)
    of_h, of_last_h = np.zeros((length, n, width), np.float32), np.empty((n_last, width), np.float32)
    np.dot(of_outputs, weight, of_last_h)
    of_gates, of_last_gates = np.empty((length, n, 4 * width), np.float32), np.empty_like(last_gates[0])
    of_state, nothing = np.empty((n, width), np.float32), np.zeros((n, width), np.float32)
    for layer in range(layers - 1, -1, -1):
        by_input, by_state, _ = layer_of(parameters, sizes, layer)
        of_by_input, of_by_state, of_bias = layer_of(gradient, sizes, layer)
        of_last_c, of_c = np.zeros((n_last, width), np.float32), np.zeros((n, width), np.float32)
        of_last_sum = np.zeros((n, 4 * width), np.float32)  # of what the state before the last step does to its gates
        before = c[layer, length - 1] if length > 0 else nothing
        for i in range(n_last):
            cells_backward(
                last_gates[layer, i], before[i % n], last_tanh_c[layer, i], ONE, of_last_h[i], of_last_c[i],
                of_last_gates[i],
            )  # fmt: skip
            of_c[i % n] += of_last_c[i]
            of_last_sum[i % n] += of_last_gates[i]
        k.linear_backward(of_last_gates, x_last if layer == 0 else last_h[layer - 1], of_by_input, of_bias)
        of_by_state[:] = ZERO
        if length > 0:
            np.dot(of_last_sum, by_state, of_state)
            for t in range(length - 1, -1, -1):
                if t < length - 1:
                    np.dot(of_gates[t + 1], by_state, of_state)
                of_h[t] += of_state
                before = c[layer, t - 1] if t > 0 else nothing
                for i in range(n):
                    cells_backward(
                        gates[layer, t, i], before[i], tanh_c[layer, t, i], real[t, i], of_h[t, i], of_c[i],
                        of_gates[t, i],
                    )  # fmt: skip
            flat, states = of_gates.reshape(length * n, 4 * width), h[layer].reshape(length * n, width)
            below = x.reshape(length * n, n_inputs) if layer == 0 else h[layer - 1].reshape(length * n, width)
            more_by_input, more_bias = np.empty_like(of_by_input), np.empty_like(of_bias)
            k.linear_backward(flat, below, more_by_input, more_bias)
            of_by_input += more_by_input
            of_bias += more_bias
            np.dot(of_last_sum.T, h[layer, length - 1], of_by_state)
            if length > 1:
                of_by_state += np.dot(flat[n:].T, states[: (length - 1) * n])
            if layer > 0:
                np.dot(flat, by_input, of_h.reshape(length * n, width))
        if layer > 0:
            np.dot(of_last_gates, by_input, of_last_h)


@njit_calling(k, **k.OPTIONS)
def lstm_input_gradient(parameters, sizes, x_last, x, real, steps, lasts, gradient):
    """Gradient [K, inputs] of the sum of all outputs for the inputs of the last step, which no other step has seen."""
    c, (last_gates, _, last_tanh_c, _) = steps[1], lasts
    length, n, _ = x.shape
    width, layers, n_last = sizes[1], last_gates.shape[0], x_last.shape[0]
    weight, _ = last_of(parameters, sizes)
    of_h, of_gates = np.empty((n_last, width), np.float32), np.empty((n_last, 4 * width), np.float32)
    for j in range(width):
        of_h[:, j] = weight[:, j].sum()
    nothing = np.zeros((n, width), np.float32)
    for layer in range(layers - 1, -1, -1):
        by_input, _, _ = layer_of(parameters, sizes, layer)
        of_c = np.zeros((n_last, width), np.float32)
        before = c[layer, length - 1] if length > 0 else nothing
        for i in range(n_last):
            cells_backward(
                last_gates[layer, i], before[i % n], last_tanh_c[layer, i], ONE, of_h[i], of_c[i], of_gates[i]
            )
        np.dot(of_gates, by_input, of_h if layer > 0 else gradient)
