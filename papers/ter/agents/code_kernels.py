"""`CodeTrunk` of networks.py as two numba kernels, forward and backward: through PyTorch its small convolutions take
half as long again.

A code's planes only ever meet the first convolution's weights, so that both make one table: what a code adds to each of
its nine neighbours. The first layer is then a sum of nine rows of it. The second is a matrix product of patches. All
arrays are float32, channels last; weights come and gradients leave as PyTorch has them.
"""

import numpy as np
import torch
from torch import Tensor

from common import mlp_kernels
from common.numba_cache import njit_calling

WIDTH, WIDTH2 = 16, 32
"""Channels of the two convolutions; known when the kernels are compiled, as the innermost loops run over them."""
ZERO = np.float32(0)
kernel = njit_calling(mlp_kernels, **mlp_kernels.OPTIONS)


@kernel
def _by_offset(weight):
    """A 3x3 convolution's weight [out, in, 3, 3] as [in, 9 out]: what an input adds to each output around it."""
    outputs, inputs = weight.shape[:2]
    turned = np.empty((inputs, 9 * outputs), np.float32)
    for o in range(outputs):
        for c in range(inputs):
            for k in range(9):
                turned[c, k * outputs + o] = weight[o, c, k // 3, k % 3]
    return turned


@kernel
def _as_matrix(weight):
    """A 3x3 convolution's weight [out, in, 3, 3] as [9 in, out], for patches."""
    outputs, inputs = weight.shape[:2]
    turned = np.empty((9 * inputs, outputs), np.float32)
    for o in range(outputs):
        for c in range(inputs):
            for k in range(9):
                turned[k * inputs + c, o] = weight[o, c, k // 3, k % 3]
    return turned


@kernel
def _framed(codes, border):
    """Codes [n, rows, columns] with a frame of `border` around each state, flat."""
    n, rows, columns = codes.shape
    framed = np.full((n, rows + 2, columns + 2), border, np.int64)
    for b in range(n):
        for i in range(rows):
            for j in range(columns):
                framed[b, i + 1, j + 1] = codes[b, i, j]
    return framed.reshape(framed.size)


@kernel
def forward(codes, planes, w1, b1, w2, b2, w3, b3):
    """Features [n, hidden] of codes uint8 [n, rows, columns], and what `backward` needs: the first layer's output in a
    frame of zeros, the second one's patches and its flat output."""
    n, rows, columns = codes.shape
    line = columns + 2  # cells of a row with its frame
    table = np.zeros((len(planes) + 1, 9 * WIDTH), np.float32)  # the last row: what the frame adds, nothing
    table[:-1] = np.dot(planes, _by_offset(w1))
    framed = _framed(codes, len(planes))
    first = np.zeros((len(framed), WIDTH), np.float32)
    for b in range(n):
        for i in range(rows):
            for j in range(columns):
                at = (b * (rows + 2) + i) * line + j  # upper left neighbour
                c0, c1, c2 = framed[at], framed[at + 1], framed[at + 2]
                c3, c4, c5 = framed[at + line], framed[at + line + 1], framed[at + line + 2]
                c6, c7, c8 = framed[at + 2 * line], framed[at + 2 * line + 1], framed[at + 2 * line + 2]
                for o in range(WIDTH):
                    above = table[c0, o] + table[c1, WIDTH + o] + table[c2, 2 * WIDTH + o]
                    beside = table[c3, 3 * WIDTH + o] + table[c4, 4 * WIDTH + o] + table[c5, 5 * WIDTH + o]
                    below = table[c6, 6 * WIDTH + o] + table[c7, 7 * WIDTH + o] + table[c8, 8 * WIDTH + o]
                    value = b1[o] + above + beside + below
                    first[at + line + 1, o] = ZERO if value < ZERO else value
    rows2, columns2 = (rows + 1) // 2, (columns + 1) // 2
    places = rows2 * columns2
    patches = np.empty((n * places, 9 * WIDTH), np.float32)
    for b in range(n):
        for place in range(places):
            corner = (b * (rows + 2) + 2 * (place // columns2)) * line + 2 * (place % columns2)
            at = b * places + place
            for k in range(9):
                for c in range(WIDTH):
                    patches[at, k * WIDTH + c] = first[corner + k // 3 * line + k % 3, c]
    second = np.dot(patches, _as_matrix(w2))
    flat = np.empty((n, WIDTH2 * places), np.float32)
    for b in range(n):
        for o in range(WIDTH2):
            for place in range(places):
                value = second[b * places + place, o] + b2[o]
                flat[b, o * places + place] = ZERO if value < ZERO else value
    features = np.dot(flat, w3.T)
    for b in range(n):
        for h in range(len(b3)):
            value = features[b, h] + b3[h]
            features[b, h] = ZERO if value < ZERO else value
    return features, first, patches, flat


@kernel
def backward(grad, codes, planes, w1, w2, w3, features, first, patches, flat):
    """Gradients of planes, w1, b1, w2, b2, w3, b3 from that of the features [n, hidden]."""
    n, rows, columns = codes.shape
    line, columns2, places = columns + 2, (columns + 1) // 2, flat.shape[1] // WIDTH2
    g3, db3 = np.empty_like(features), np.zeros(features.shape[1], np.float32)
    for b in range(n):
        for h in range(features.shape[1]):
            g3[b, h] = grad[b, h] if features[b, h] > ZERO else ZERO
            db3[h] += g3[b, h]
    dw3, dflat = np.dot(g3.T, flat), np.dot(g3, w3)
    g2, db2 = np.empty((n * places, WIDTH2), np.float32), np.zeros(WIDTH2, np.float32)
    for b in range(n):
        for o in range(WIDTH2):
            for place in range(places):
                value = dflat[b, o * places + place] if flat[b, o * places + place] > ZERO else ZERO
                g2[b * places + place, o] = value
                db2[o] += value
    turned2, dpatches = np.dot(patches.T, g2), np.dot(g2, _as_matrix(w2).T)
    g1, db1 = np.zeros_like(first), np.zeros(WIDTH, np.float32)
    for b in range(n):
        for place in range(places):
            corner = (b * (rows + 2) + 2 * (place // columns2)) * line + 2 * (place % columns2)
            at = b * places + place
            for k in range(9):
                for c in range(WIDTH):
                    g1[corner + k // 3 * line + k % 3, c] += dpatches[at, k * WIDTH + c]
    framed = _framed(codes, len(planes))
    dtable = np.zeros((len(planes) + 1, 9 * WIDTH), np.float32)
    for b in range(n):
        for i in range(rows):
            for j in range(columns):
                at = (b * (rows + 2) + i) * line + j
                here = at + line + 1
                for o in range(WIDTH):
                    g1[here, o] = g1[here, o] if first[here, o] > ZERO else ZERO
                    db1[o] += g1[here, o]
                for k in range(9):
                    code = framed[at + k // 3 * line + k % 3]
                    for o in range(WIDTH):
                        dtable[code, k * WIDTH + o] += g1[here, o]
    dplanes, turned1 = np.dot(dtable[:-1], _by_offset(w1).T), np.dot(planes.T, dtable[:-1])
    dw1, dw2 = np.empty_like(w1), np.empty_like(w2)
    for k in range(9):
        for o in range(WIDTH):
            for c in range(planes.shape[1]):
                dw1[o, c, k // 3, k % 3] = turned1[c, k * WIDTH + o]
        for o in range(WIDTH2):
            for c in range(WIDTH):
                dw2[o, c, k // 3, k % 3] = turned2[k * WIDTH + c, o]
    return dplanes, dw1, db1, dw2, db2, dw3, db3


class Features(torch.autograd.Function):
    """`forward` and `backward` as one node of PyTorch's graph: codes and the trunk's parameters -> features."""

    @staticmethod
    def forward(ctx, codes: Tensor, *parameters: Tensor) -> Tensor:
        arrays = codes.numpy(), *(parameter.detach().numpy() for parameter in parameters)
        features, *kept = forward(*arrays)
        codes_, planes, w1, _, w2, _, w3, _ = arrays
        ctx.kept = codes_, planes, w1, w2, w3, features, *kept
        return torch.from_numpy(features)

    @staticmethod
    def backward(ctx, grad: Tensor):  # type: ignore[override]
        return None, *map(torch.from_numpy, backward(grad.contiguous().numpy(), *ctx.kept))
