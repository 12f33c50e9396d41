"""The replay memory of the worlds made of tiles: it numbers states, and shows the network their codes or pictures."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from common.pixels import SymbolicPixels
from common.replay.storage import Fields, Ring, announce
from papers.ter.replay.batch import Batch
from papers.ter.replay.states import StateTable

FIELDS: Fields = {
    "state": ((), np.int32), "action": ((), np.uint8), "reward": ((), np.float32), "next_state": ((), np.int32),
    "absorbing": ((), np.bool_),
}  # fmt: skip
"""What the memory keeps of a transition: states by their numbers in a `StateTable`."""


class TileMemory:
    """The last ``capacity`` transitions of ``env``, whose states are tile codes uint8 (rows, columns).

        memory.begin(codes)
        slot = memory.add(action, reward, next_codes, absorbing)  # from there; and so on until the episode ends

    Args:
        pictures: side of the pictures that the network sees; None shows it the codes.
        beside: memory [bytes] that states and graph may grow to, to be announced with that of the transitions.
            MemoryError when the machine has too little.
    """

    def __init__(self, env: Any, capacity: int, pictures: int | None, device: str = "cpu", beside: int = 0):
        announce(capacity, FIELDS, beside)
        self.ring, self.capacity, self.device = Ring(capacity, FIELDS), capacity, device
        self.states, self.state = StateTable(env.grid_shape), -1  # where the episode is; -1: none is running
        self.pixels = SymbolicPixels(env.tiles, env.grid_shape, pictures, device) if pictures else None
        self._last: tuple[np.ndarray, Batch] | None = None

    def __getitem__(self, field: str) -> np.ndarray:
        """A field of all transitions by their slot, not a copy."""
        return self.ring[field]

    def draw(self, codes: np.ndarray) -> Tensor:
        """Codes (n, rows, columns) as the network sees them."""
        return self.pixels.draw(codes) if self.pixels else torch.from_numpy(codes).to(self.device)

    def begin(self, state: np.ndarray) -> None:
        """An episode begins in a state."""
        self.state = self.states.see(state)

    def add(self, action: int, reward: float, next_state: np.ndarray, absorbing: bool, ended: bool = False) -> int:
        """Store the transition from where the episode is to ``next_state``, where it goes on unless it has ``ended``;
        returns its slot. ValueError before the first ``begin``, and after an end."""
        if self.state < 0:
            raise ValueError("no episode is running: call begin() with its first state")
        before, after, self._last = self.state, self.states.see(next_state), None
        self.state = -1 if ended else after
        return self.ring.add(state=before, action=action, reward=reward, next_state=after, absorbing=absorbing)

    def batch(self, indices: np.ndarray) -> Batch:
        """The transitions in the slots ``indices``, on the learner's device. The last batch is kept: a method that
        looks at it before the learner does costs no second drawing."""
        if self._last is None or self._last[0] is not indices:
            stored = self.ring.get(indices)
            batch = Batch(
                self.draw(self.states[stored["state"]]),
                torch.from_numpy(stored["action"].astype(np.int64)).to(self.device),
                torch.from_numpy(stored["reward"]).to(self.device),
                self.draw(self.states[stored["next_state"]]),
                torch.from_numpy(stored["absorbing"].astype(np.float32)).to(self.device),
                stored["state"],
                stored["next_state"],
            )
            self._last = indices, batch
        return self._last[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}
