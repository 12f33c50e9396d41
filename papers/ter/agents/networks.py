"""The networks: what turns pictures or tile codes into features, and a head on it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common.networks import lecun_normal_

PLANES = 8
"""That a tile code is embedded in."""


class CodeTrunk(nn.Module):
    """A small trunk for the grid's tile codes: 8 planes, conv 3x3 16, conv 3x3 32 with stride 2, 128 units, ReLU.

    Maps uint8 codes [batch, rows, columns] to features [batch, 128]. Not in the paper, whose agents see pictures: it
    needs a third of the arithmetic, and none of it for drawing. Borders are padded with zeros. `code_kernels.py` has
    the same as kernels.

    widths: of the two convolutions and of the hidden layer, if others are wanted.
    """

    def __init__(self, n_codes: int, grid_shape: tuple[int, int], widths: tuple[int, int, int] = (16, 32, 128)):
        super().__init__()
        first, second, hidden = widths
        rows, columns = ((side + 1) // 2 for side in grid_shape)
        self.grid_shape = grid_shape
        self.embedding = nn.Embedding(n_codes, PLANES)
        self.first = lecun_normal_(nn.Conv2d(PLANES, first, 3, padding=1), bias=0.1)
        self.second = lecun_normal_(nn.Conv2d(first, second, 3, stride=2, padding=1), bias=0.1)
        self.hidden = lecun_normal_(nn.Linear(second * rows * columns, hidden), bias=0.1)
        self.n_features = hidden

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
