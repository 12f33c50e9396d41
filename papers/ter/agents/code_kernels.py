"""The small network on tile codes (`CodeTrunk` and `Network` of networks.py) as numba kernels: forward and backward.

What a layer sees repeats: of the 3x3 cells that an output of the first convolution depends on, and of the 5x5 that one
of the second does, a batch has few different ones, as most of a level is walls and floor. Each is computed once, and
its gradient is the sum over its places. Here the 3x3 cells are a *patch*, the 5x5 a *window*. A patch meets no planes,
only a table of what a code adds at each of its nine places.

Arrays are float32, channels last, and preallocated; all parameters of a network lie in one vector. Sizes are not
checked: callers are kernels and classes that have checked them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from common import mlp_kernels as k
from common.numba_cache import njit_calling

kernel = njit_calling(k, **k.OPTIONS)
CODE_BITS = 7
"""Of a code within a patch's key, which is one whole number of 63 bits."""
MOST_CODES = 2**CODE_BITS - 1
"""One more stands for what lies beyond the border."""
MIX = -7046029254386353131  # an odd number of 64 bits, 2^64 / golden ratio: scatters keys over a hash table


class Weights(NamedTuple):
    """Views of a network's vector of parameters, or of its gradient."""

    planes: np.ndarray
    """[codes, planes]"""
    first: np.ndarray
    """[planes, 9 * channels]: what a plane adds to an output, by its place in the output's patch"""
    first_bias: np.ndarray
    second: np.ndarray
    """[9 * channels, channels of the second]"""
    second_bias: np.ndarray
    hidden: np.ndarray
    """[hidden, places * channels of the second]"""
    hidden_bias: np.ndarray
    head: np.ndarray
    """Further layers, as those of `mlp_kernels`."""
    table: np.ndarray
    """[codes + 1, 9 * channels], planes times first and a row of zeros for the border; not in the vector."""


class Work(NamedTuple):
    """Buffers for up to n states of `rows` x `columns` cells and of `places` outputs of the second convolution."""

    codes: np.ndarray
    """uint8 [n, rows * columns]"""
    framed: np.ndarray
    """int64 [rows + 2, columns + 2]: one state in its frame"""
    triples: np.ndarray
    """int64, likewise: keys of three cells side by side"""
    patch_at: np.ndarray
    """int32, likewise: number of the patch around a cell; 0, the frame, which is none"""
    slots: np.ndarray
    """int32 [2, power of 2]: hash tables of patches and windows"""
    keys: np.ndarray
    """int64 [n * rows * columns + 1]: of the patches"""
    corners: np.ndarray
    """int32 [n * places + 1, 4]: patches that tell a window"""
    windows: np.ndarray
    """int32 [n * places, 9]: its patches"""
    window_at: np.ndarray
    """int32 [n, places]"""
    ends: np.ndarray
    """int32 [n, 2]: patches and windows of the states up to this one"""
    first: np.ndarray
    """[n * rows * columns + 1, channels]: outputs of the first convolution by patch"""
    inputs: np.ndarray
    """[n * places, 9 * channels]: of the second convolution by window; `backward` leaves their gradient there"""
    second: np.ndarray
    """[n * places, channels of the second]: its outputs"""
    flat: np.ndarray
    """[n, places * channels of the second]; likewise"""
    features: np.ndarray
    """[n, hidden]"""
    outputs: np.ndarray
    """Of all layers of the head, see `mlp_outputs`."""
    grad_first: np.ndarray
    grad_second: np.ndarray
    grad_features: np.ndarray
    grad_outputs: np.ndarray


def buffers(n: int, shape: tuple[int, int], weights: Weights, sizes: tuple[int, ...]) -> Work:
    """Buffers for up to n states of this shape, for a head of these sizes."""
    rows, columns = shape
    cells, places = n * rows * columns + 1, (rows + 1) // 2 * ((columns + 1) // 2)
    channels, channels2, hidden = len(weights.first_bias), len(weights.second_bias), len(weights.hidden_bias)
    slots = 2 ** (2 * cells).bit_length()
    framed = (rows + 2, columns + 2)
    first, second, features, outputs = (cells, channels), (n * places, channels2), (n, hidden), (n * sum(sizes[1:]),)
    widths = (
        first, (n * places, 9 * channels), second, (n, places * channels2), features, outputs,
        first, second, features, outputs,
    )  # fmt: skip
    return Work(
        np.zeros((n, rows * columns), np.uint8), np.full(framed, len(weights.planes), np.int64),
        np.zeros(framed, np.int64), np.zeros(framed, np.int32), np.zeros((2, slots), np.int32),
        np.zeros(cells, np.int64), np.zeros((n * places + 1, 4), np.int32), np.zeros((n * places, 9), np.int32),
        np.zeros((n, places), np.int32), np.zeros((n, 2), np.int32),
        *(np.zeros(width, np.float32) for width in widths),
    )  # fmt: skip


@kernel
def tabulate(weights):
    """Make the table anew, after a change of the weights."""
    np.dot(weights.planes, weights.first, weights.table[:-1])


@kernel
def find(n, work):
    """Number the patches and windows of n states in the order in which they appear; patches from 1 on."""
    mask = 1
    while mask < 2 * n * work.codes.shape[1]:
        mask *= 2
    work.slots[:, :mask] = 0
    mask -= 1
    n_patches, n_windows = 0, 0
    for b in range(n):
        n_patches = find_patches(work.codes[b], n_patches, mask, work)
        n_windows = find_windows(work.window_at[b], n_windows, mask, work)
        work.ends[b, 0], work.ends[b, 1] = n_patches, n_windows


@kernel
def find_patches(codes, n_patches, mask, work):
    """Those of a state with these codes; returns how many there are then."""
    framed, triples, patch_at, slots, keys = work.framed, work.triples, work.patch_at, work.slots[0], work.keys
    rows, columns = framed.shape[0] - 2, framed.shape[1] - 2
    for i in range(rows):
        for j in range(columns):
            framed[i + 1, j + 1] = codes[i * columns + j]
    for i in range(rows + 2):
        for j in range(1, columns + 1):
            left, centre, right = framed[i, j - 1], framed[i, j], framed[i, j + 1]
            triples[i, j] = left << 2 * CODE_BITS | centre << CODE_BITS | right
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            key = triples[i - 1, j] << 6 * CODE_BITS | triples[i, j] << 3 * CODE_BITS | triples[i + 1, j]
            slot = (key * MIX >> 32) & mask
            number = slots[slot]
            while number and keys[number] != key:
                slot = (slot + 1) & mask
                number = slots[slot]
            if not number:
                n_patches += 1
                number = n_patches
                slots[slot], keys[number] = number, key
            patch_at[i, j] = number
    return n_patches


@kernel
def find_windows(window_at, n_windows, mask, work):
    """Those of the state whose patches have been found last; returns how many there are then."""
    patch_at, slots, corners, windows = work.patch_at, work.slots[1], work.corners, work.windows
    rows, columns = patch_at.shape[0] - 2, patch_at.shape[1] - 2
    place = 0
    for i in range(0, rows, 2):
        for j in range(0, columns, 2):
            # Those of its patches that lie within the grid and farthest out cover a window, the border included.
            top, bottom, left, right = max(i, 1), min(i + 2, rows), max(j, 1), min(j + 2, columns)
            here = corners[n_windows]  # the next one's, if it is new
            here[0], here[1] = patch_at[top, left], patch_at[top, right]
            here[2], here[3] = patch_at[bottom, left], patch_at[bottom, right]
            key = ((np.int64(here[0]) << 16 ^ here[1]) << 16 ^ here[2]) << 16 ^ here[3]
            slot = (key * MIX >> 32) & mask
            number = slots[slot]  # counted from 1, as 0 is none
            while number and not same(corners[number - 1], here):
                slot = (slot + 1) & mask
                number = slots[slot]
            if not number:
                for at in range(9):
                    windows[n_windows, at] = patch_at[i + at // 3, j + at % 3]
                n_windows += 1
                number = n_windows
                slots[slot] = number
            window_at[place] = number - 1
            place += 1
    return n_windows


@kernel
def same(one, other):
    """Whether two windows have the same corners."""
    return one[0] == other[0] and one[1] == other[1] and one[2] == other[2] and one[3] == other[3]


@kernel
def code(key, at):
    """At place 0..8 of a patch."""
    return key >> (8 - at) * CODE_BITS & MOST_CODES


@kernel
def forward(n, weights, work):
    """Features [n, hidden] of the n states in work.codes, a view of work.features."""
    find(n, work)
    n_patches, n_windows = work.ends[n - 1, 0], work.ends[n - 1, 1]
    table, bias, first, channels = weights.table, weights.first_bias, work.first, len(weights.first_bias)
    for p in range(1, n_patches + 1):
        key = work.keys[p]
        row0, row1, row2 = table[code(key, 0)], table[code(key, 1)], table[code(key, 2)]
        row3, row4, row5 = table[code(key, 3)], table[code(key, 4)], table[code(key, 5)]
        row6, row7, row8 = table[code(key, 6)], table[code(key, 7)], table[code(key, 8)]
        for o in range(channels):
            above = row0[o] + row1[channels + o] + row2[2 * channels + o]
            beside = row3[3 * channels + o] + row4[4 * channels + o] + row5[5 * channels + o]
            below = row6[6 * channels + o] + row7[7 * channels + o] + row8[8 * channels + o]
            value = bias[o] + above + beside + below
            first[p, o] = k.ZERO if value < k.ZERO else value
    inputs, second = work.inputs[:n_windows], work.second[:n_windows]
    for w in range(n_windows):
        for at in range(9):
            p = work.windows[w, at]
            for o in range(channels):
                inputs[w, at * channels + o] = first[p, o]
    np.dot(inputs, weights.second, second)
    bias, channels2 = weights.second_bias, len(weights.second_bias)
    for w in range(n_windows):
        for o in range(channels2):
            value = second[w, o] + bias[o]
            second[w, o] = k.ZERO if value < k.ZERO else value
    flat = work.flat[:n]
    for b in range(n):
        for place in range(work.window_at.shape[1]):
            w = work.window_at[b, place]
            for o in range(channels2):
                flat[b, place * channels2 + o] = second[w, o]
    features = work.features[:n]
    k.linear_relu(flat, weights.hidden, weights.hidden_bias, features)
    return features


@kernel
def backward(n, weights, gradient, work):
    """Gradient of all but the head from that of the features in work.grad_features, for the first n of the states
    that `forward` had; once after it."""
    n_patches, n_windows = work.ends[n - 1, 0], work.ends[n - 1, 1]
    grad_features, flat, inputs = work.grad_features[:n], work.flat[:n], work.inputs[:n_windows]
    k.relu_backward(grad_features, work.features[:n])
    k.linear_backward(grad_features, flat, gradient.hidden, gradient.hidden_bias)
    k.linear_backward_inputs(grad_features, weights.hidden, flat)

    second, grad_second, channels2 = work.second[:n_windows], work.grad_second[:n_windows], len(weights.second_bias)
    grad_second[:] = k.ZERO
    for b in range(n):
        for place in range(work.window_at.shape[1]):
            w = work.window_at[b, place]
            for o in range(channels2):
                grad_second[w, o] += flat[b, place * channels2 + o]
    k.relu_backward(grad_second, second)
    gradient.second_bias[:] = k.ZERO
    for w in range(n_windows):
        for o in range(channels2):
            gradient.second_bias[o] += grad_second[w, o]
    np.dot(inputs.T, grad_second, gradient.second)
    np.dot(grad_second, weights.second.T, inputs)

    first, grad_first, channels = work.first, work.grad_first, len(weights.first_bias)
    grad_first[: n_patches + 1] = k.ZERO
    for w in range(n_windows):
        for at in range(9):
            p = work.windows[w, at]
            for o in range(channels):
                grad_first[p, o] += inputs[w, at * channels + o]
    gradient.table[:] = k.ZERO
    gradient.first_bias[:] = k.ZERO
    for p in range(1, n_patches + 1):
        key = work.keys[p]
        for o in range(channels):
            grad_first[p, o] = grad_first[p, o] if first[p, o] > k.ZERO else k.ZERO
            gradient.first_bias[o] += grad_first[p, o]
        for at in range(9):
            row = code(key, at)
            for o in range(channels):
                gradient.table[row, at * channels + o] += grad_first[p, o]
    np.dot(gradient.table[:-1], weights.first.T, gradient.planes)
    np.dot(weights.planes.T, gradient.table[:-1], gradient.first)
