"""The replay memory of the worlds made of tiles: it keeps codes, and shows the network codes or pictures of them."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from common.pixels import SymbolicPixels
from common.replay.storage import Fields, Ring, announce
from papers.ter.replay.batch import Batch


def tile_fields(grid_shape: tuple[int, int]) -> Fields:
    """What the memory keeps of a transition between two states of tiles."""
    return {
        "tiles": (grid_shape, np.uint8), "action": ((), np.uint8), "reward": ((), np.float32),
        "next_tiles": (grid_shape, np.uint8), "absorbing": ((), np.bool_),
    }  # fmt: skip


class TileMemory:
    """The last ``capacity`` transitions of ``env``, whose states are tile codes uint8 (rows, columns).

    pictures: side of the pictures that the network sees; None shows it the codes. MemoryError when the machine has too
    little memory.
    """

    def __init__(self, env: Any, capacity: int, pictures: int | None, device: str = "cpu"):
        fields = tile_fields(env.grid_shape)
        announce(capacity, fields)
        self.ring, self.capacity, self.device = Ring(capacity, fields), capacity, device
        self.pixels = SymbolicPixels(env.tiles, env.grid_shape, pictures, device) if pictures else None
        self._last: tuple[np.ndarray, Batch] | None = None

    def __getitem__(self, field: str) -> np.ndarray:
        """A field of all transitions by their slot, not a copy."""
        return self.ring[field]

    def draw(self, states: np.ndarray) -> Tensor:
        """States (n, rows, columns) as the network sees them."""
        return self.pixels.draw(states) if self.pixels else torch.from_numpy(states).to(self.device)

    def begin(self, state: np.ndarray) -> None:
        """An episode begins in ``state``."""

    def add(
        self, state: np.ndarray, action: int, reward: float, next_state: np.ndarray, absorbing: bool, ended=False
    ) -> int:
        """Store a transition; returns its slot."""
        self._last = None
        return self.ring.add(tiles=state, action=action, reward=reward, next_tiles=next_state, absorbing=absorbing)

    def batch(self, indices: np.ndarray) -> Batch:
        """The transitions in the slots ``indices``, on the learner's device. The last batch is kept: a method that
        looks at it before the learner does costs no second drawing."""
        if self._last is None or self._last[0] is not indices:
            stored = self.ring.get(indices)
            batch = Batch(
                self.draw(stored["tiles"]),
                torch.from_numpy(stored["action"].astype(np.int64)).to(self.device),
                torch.from_numpy(stored["reward"]).to(self.device),
                self.draw(stored["next_tiles"]),
                torch.from_numpy(stored["absorbing"].astype(np.float32)).to(self.device),
                stored["next_tiles"],
            )
            self._last = indices, batch
        return self._last[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}
