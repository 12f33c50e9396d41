"""The networks: what turns pictures or tile codes into features, a head on it, and a fast look at a single state."""

import numpy as np
import torch
import torch.nn.functional as F
from numba import njit
from torch import Tensor, nn

from common.networks import lecun_normal_

PLANES, WIDTHS, HIDDEN = 8, (16, 32), 128
"""Of the small network: planes that a tile code is embedded in, channels of the convolutions, the hidden layer."""


class CodeTrunk(nn.Module):
    """A small trunk for the grid's tile codes: 8 planes, conv 3x3 16, conv 3x3 32 with stride 2, 128 units, ReLU.

    Maps uint8 codes [batch, rows, columns] to features [batch, 128]. Not in the paper, whose agents see pictures: it
    needs a third of the arithmetic, and none of it for drawing. Borders are padded with zeros.
    """

    def __init__(self, n_codes: int, grid_shape: tuple[int, int]):
        super().__init__()
        rows, columns = ((side + 1) // 2 for side in grid_shape)
        self.embedding = nn.Embedding(n_codes, PLANES)
        self.first = lecun_normal_(nn.Conv2d(PLANES, WIDTHS[0], 3, padding=1), bias=0.1)
        self.second = lecun_normal_(nn.Conv2d(*WIDTHS, 3, stride=2, padding=1), bias=0.1)
        self.hidden = lecun_normal_(nn.Linear(WIDTHS[1] * rows * columns, HIDDEN), bias=0.1)
        self.n_features = HIDDEN

    def forward(self, codes: Tensor) -> Tensor:
        planes = self.embedding(codes.int()).permute(0, 3, 1, 2)
        return F.relu(self.hidden(F.relu(self.second(F.relu(self.first(planes)))).flatten(1)))


class Network(nn.Module):
    """A trunk and a linear head, whose output is multiplied by ``scale``: [batch, ...] -> [batch, outputs].

    The head starts with LeCun-normal weights divided by ``scale``: first outputs do not depend on it, only how fast
    they move. ``extra``: one more hidden layer between trunk and head, as wide as the trunk's features.
    """

    def __init__(self, trunk: nn.Module, n_outputs: int, scale: float = 1.0, extra: bool = False):
        super().__init__()
        width: int = trunk.n_features  # type: ignore[assignment]
        self.trunk, self.scale = trunk, scale
        self.extra = nn.Sequential(lecun_normal_(nn.Linear(width, width), bias=0.1), nn.ReLU()) if extra else None
        self.head = lecun_normal_(nn.Linear(width, n_outputs))
        with torch.no_grad():
            self.head.weight /= scale

    def forward(self, x: Tensor) -> Tensor:
        features = self.trunk(x)
        return self.scale * self.head(features if self.extra is None else self.extra(features))


class OneState:
    """Q of a single state of tile codes by one compiled kernel: through PyTorch its calls cost many times the
    arithmetic. Reads the weights of ``network`` where they lie, so that it always knows them as they are."""

    def __init__(self, network: Network):
        self.network = network
        self._weights: tuple[np.ndarray, ...] | None = None

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """uint8 (rows, columns) -> float32 (outputs,)."""
        if self._weights is None:
            self._weights = tuple(p.detach().numpy() for p in self.network.parameters())
        return self.network.scale * _q(codes, *self._weights)

    def __getstate__(self) -> dict:
        return {"network": self.network, "_weights": None}  # views would become copies


@njit(cache=True)
def _q(codes, planes, w1, b1, w2, b2, w3, b3, w4, b4):
    rows, columns = codes.shape
    x = np.zeros((planes.shape[1], rows, columns), np.float32)
    for i in range(rows):
        for j in range(columns):
            for plane in range(x.shape[0]):
                x[plane, i, j] = planes[codes[i, j], plane]
    x = _convolve(x, w1, b1, 1)
    x = _convolve(x, w2, b2, 2)
    features = np.dot(w3, x.reshape(x.size)) + b3
    return np.dot(w4, np.maximum(features, np.float32(0))) + b4


@njit(cache=True)
def _convolve(x, weight, bias, stride):
    """ReLU of a 3x3 convolution of x [in, rows, columns], padded with zeros: [out, rows / stride, columns / stride]."""
    channels, rows, columns = x.shape
    out_rows, out_columns = (rows + stride - 1) // stride, (columns + stride - 1) // stride
    patches = np.zeros((channels * 9, out_rows * out_columns), np.float32)
    for channel in range(channels):
        for di in range(3):
            for dj in range(3):
                line = patches[channel * 9 + di * 3 + dj]
                for i in range(out_rows):
                    source = i * stride + di - 1
                    if 0 <= source < rows:
                        for j in range(out_columns):
                            column = j * stride + dj - 1
                            if 0 <= column < columns:
                                line[i * out_columns + j] = x[channel, source, column]
    out = np.dot(weight.reshape(weight.shape[0], channels * 9), patches)
    for channel in range(out.shape[0]):
        for place in range(out.shape[1]):
            value = out[channel, place] + bias[channel]
            out[channel, place] = value if value > 0 else np.float32(0)
    return out.reshape(weight.shape[0], out_rows, out_columns)
