"""Symbolic pixels: keep a grid world's frame as tile codes, draw its exact picture when a batch is sampled.

A 40x40 colour frame takes 4800 bytes; the 9x9 codes behind it take 81. A million transitions (two frames each) then
take 0.16 GB instead of 9.6 GB, and the network still sees the environment's picture, pixel for pixel.
"""

import numpy as np
import torch
import torch.nn.functional as F
from numba import njit


class SymbolicPixels:
    """Draws batches of tile codes as network input, on the device where the network lives.

    Args:
        tiles: uint8 ``(codes, tile, tile, 3)``, the picture of every tile code.
        grid_shape: ``(rows, columns)`` of a frame in tiles.
        size: side of the square picture in pixels, reached by nearest neighbour: source = ``floor(i * source / size)``.
        device: where to draw.
    """

    def __init__(self, tiles: np.ndarray, grid_shape: tuple[int, int], size: int, device: str = "cpu"):
        tile = tiles.shape[1]
        rows, columns = (np.arange(size) * (cells * tile) // size for cells in grid_shape)
        self.size = size
        self.device = torch.device(device)
        self.per_tile = tile * tile
        # For every output pixel: the cell it lies in, and its place within that cell's tile.
        self.cell = ((rows // tile)[:, None] * grid_shape[1] + columns // tile).ravel()
        self.within = ((rows % tile)[:, None] * tile + columns % tile).ravel()
        # Divided once here, not once per pixel and batch; uint8 -> float32 -> /255 gives the same bits either way.
        self.colors = tiles.reshape(-1, 3).astype(np.float32) / np.float32(255)
        if self.device.type != "cpu":
            self._on_device = tuple(torch.from_numpy(a).to(device) for a in (self.cell, self.within, self.colors))

    def draw(self, codes: np.ndarray) -> torch.Tensor:
        """uint8 codes ``(batch, rows, columns)`` -> float32 ``(batch, 3, size, size)`` in [0, 1], channels last."""
        batch, flat = len(codes), codes.reshape(len(codes), -1)
        if self.device.type == "cpu":
            pixels = torch.empty(batch, self.size * self.size, 3)
            _draw(flat, self.cell, self.within, self.per_tile, self.colors, pixels.numpy())
        else:  # the codes travel to the device, not the pixels
            cell, within, colors = self._on_device
            pixels = _draw_tensors(torch.from_numpy(flat).to(self.device), cell, within, self.per_tile, colors)
        return pixels.view(batch, self.size, self.size, 3).permute(0, 3, 1, 2)


@njit(cache=True)
def _draw(codes, cell, within, per_tile, colors, out):
    for b in range(out.shape[0]):
        for p in range(out.shape[1]):
            color = np.int64(codes[b, cell[p]]) * per_tile + within[p]
            for channel in range(3):
                out[b, p, channel] = colors[color, channel]


def _draw_tensors(codes, cell, within, per_tile, colors):
    """Do what `_draw` does with tensor operations: (batch, cells) -> (batch, pixels, 3)."""
    return F.embedding(codes[:, cell].long() * per_tile + within, colors)
