"""The networks: what turns pictures or tile codes into features, a head on it, and a fast look at a single state."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common.networks import lecun_normal_
from papers.ter.agents.code_kernels import WIDTH, WIDTH2, Features, forward

PLANES, HIDDEN = 8, 128
"""Of the small network: planes that a tile code is embedded in, units of the hidden layer."""


class CodeTrunk(nn.Module):
    """A small trunk for the grid's tile codes: 8 planes, conv 3x3 16, conv 3x3 32 with stride 2, 128 units, ReLU.

    Maps uint8 codes [batch, rows, columns] to features [batch, 128]. Not in the paper, whose agents see pictures: it
    needs a third of the arithmetic, and none of it for drawing. Borders are padded with zeros.
    """

    def __init__(self, n_codes: int, grid_shape: tuple[int, int]):
        super().__init__()
        rows, columns = ((side + 1) // 2 for side in grid_shape)
        self.embedding = nn.Embedding(n_codes, PLANES)
        self.first = lecun_normal_(nn.Conv2d(PLANES, WIDTH, 3, padding=1), bias=0.1)
        self.second = lecun_normal_(nn.Conv2d(WIDTH, WIDTH2, 3, stride=2, padding=1), bias=0.1)
        self.hidden = lecun_normal_(nn.Linear(WIDTH2 * rows * columns, HIDDEN), bias=0.1)
        self.n_features = HIDDEN

    def forward(self, codes: Tensor) -> Tensor:
        return Features.apply(codes, *self.parameters()) if codes.device.type == "cpu" else self.literal(codes)

    def literal(self, codes: Tensor) -> Tensor:
        """The same in operations of PyTorch."""
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
    """Q of a single state of tile codes without PyTorch, whose calls cost many times the arithmetic. Reads the weights
    of ``network`` where they lie, so that it always knows them as they are."""

    def __init__(self, network: Network):
        self.network = network
        self._weights: list[np.ndarray] | None = None

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """uint8 (rows, columns) -> float32 (outputs,)."""
        if self._weights is None:
            self._weights = [p.detach().numpy() for p in self.network.parameters()]
        *trunk, weight, bias = self._weights
        return self.network.scale * (weight @ forward(codes[None], *trunk)[0][0] + bias)

    def __getstate__(self) -> dict:
        return {"network": self.network, "_weights": None}  # views would become copies
