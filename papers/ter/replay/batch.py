"""What a learner and a replay method of this paper pass each other: batches, and the memory they come from.

The methods themselves follow the protocol of `common/replay/protocol.py`, so that a learner never asks which one it
has: UER and PER are samplers of `common/replay/samplers.py`; EBU, DisCor and TER are in `ebu.py`, `discor.py` and
`topological.py`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor


@dataclass
class Batch:
    """B transitions as tensors on the learner's device."""

    frame: Tensor
    """What the network sees: float32 (B, channels, height, width) in [0, 1], or uint8 tile codes (B, rows, columns)."""
    action: Tensor
    """int64 (B,)"""
    reward: Tensor
    """float32 (B,)"""
    next_frame: Tensor
    """likewise"""
    absorbing: Tensor
    """float32 (B,): 1 where the value ends with this transition (terminal states; time-outs only if asked for)"""
    ids: np.ndarray | None = None
    """int32 (B,): the numbers of the states that `frame` shows, where the memory numbers its states."""
    next_ids: np.ndarray | None = None
    """likewise of `next_frame`"""


class Memory(Protocol):
    """What a method may ask of the stored transitions."""

    capacity: int

    def __getitem__(self, field: str) -> np.ndarray:
        """The field "action" or "reward" of all transitions, by slot."""

    def batch(self, indices: np.ndarray) -> Batch:
        """The transitions in the slots `indices`; asked twice for the same ones, they are drawn once."""
