"""Every distinct state by a whole number: the memory and the graph then keep four bytes of a state, not its tiles."""

from array import array
from typing import Any

import numpy as np
from numba import njit

from common.replay.storage import available_memory
from papers.ter.replay.graph import RandomProjection

FEWEST = 1024
"""States that a table has room for at first."""


@njit(cache=True)
def _hash(codes):
    h = np.uint64(0xCBF29CE484222325)  # FNV-1a
    for code in codes:
        h = (h ^ np.uint64(code)) * np.uint64(0x100000001B3)
    return h ^ (h >> np.uint64(32))


@njit(cache=True)
def _see(codes, frames, count, slots):
    """The number of the state `codes`; where it is `count`, the state is new and now stands in `frames`."""
    if codes.size != frames.shape[1]:
        raise ValueError("a state has as many codes as the others in its table")
    last = np.uint64(slots.size - 1)
    at = _hash(codes) & last
    while slots[at] >= 0:
        frame = frames[slots[at]]
        same = True
        for i in range(codes.size):
            if frame[i] != codes[i]:
                same = False
                break
        if same:
            return np.int64(slots[at])
        at = (at + np.uint64(1)) & last
    frames[count] = codes
    slots[at] = count
    return count


@njit(cache=True)
def _fill(frames, count, slots):
    last = np.uint64(slots.size - 1)
    for state in range(count):
        at = _hash(frames[state]) & last
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & last
        slots[at] = state


class StateTable:
    """The distinct states seen so far, numbered 0, 1, 2, ... in the order of their appearance; none is ever forgotten.

    A hash finds a state and its codes are then compared, so that no two states ever share a number.

    Args:
        shape: of a state, whose codes are uint8.
    """

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.count = shape, 0
        self._allocate(np.empty((0, int(np.prod(shape))), np.uint8))

    def _allocate(self, frames: np.ndarray) -> None:
        """Room for more than these states."""
        room = max(FEWEST, 1 << len(frames).bit_length())
        self._frames = np.empty((room, frames.shape[1]), np.uint8)
        self._frames[: len(frames)] = frames
        self._slots = np.full(2 * room, -1, np.int32)
        _fill(self._frames, len(frames), self._slots)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, states: Any) -> np.ndarray:
        """The codes of states uint8 (..., *shape), a copy where ``states`` is an array of numbers."""
        frames = self._frames[: self.count]
        if isinstance(states, np.ndarray):
            return frames.take(states, axis=0).reshape(*states.shape, *self.shape)
        return frames[states].reshape(self.shape)

    def see(self, codes: np.ndarray) -> int:
        """The number of a state, which is a new one where the state is. MemoryError where the table cannot grow."""
        state = _see(np.ascontiguousarray(codes, np.uint8).reshape(-1), self._frames, self.count, self._slots)
        if state == self.count:
            self.count += 1
            if self.count == len(self._frames):
                self._grow()
        return state

    def _grow(self) -> None:
        needed = table_bytes(self.count, self._frames.shape[1])
        if needed > available_memory():
            raise MemoryError(
                f"{self.count:,} distinct states have been seen, and to hold more takes up to {needed / 1e9:.2f} GB, "
                "which is not available: train on fewer levels, for fewer steps, or with fewer runs at a time"
            )
        self._allocate(self._frames)

    def __getstate__(self) -> dict[str, Any]:
        return {"shape": self.shape, "frames": self._frames[: self.count]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.shape, self.count = state["shape"], len(state["frames"])
        self._allocate(state["frames"])


def table_bytes(states: int, cells: int) -> int:
    """Memory [bytes] of a table of so many states at its largest: while it grows, their codes exist twice."""
    return states * (2 * cells + 24)


def most_states(steps: int) -> int:
    """States that a run may meet: one with every step, and one with every episode of, on average, four steps."""
    return steps + steps // 4


class Vertices:
    """phi of `RandomProjection` for the states of a table: taken once for each, and then known by its number.

    A state is given by its number or, at the price of looking it up, by its codes.

    States with one projection share a vertex, as in `RandomProjection`; vertices are numbered 0, 1, 2, ...
    """

    def __init__(self, projection: RandomProjection, states: StateTable):
        self.projection, self.states = projection, states
        self._keys = StateTable((8 * len(projection.matrix),))  # projections, as bytes of float64
        self._vertex = array("i")  # by state

    def __call__(self, state: int | np.ndarray) -> int:
        state = self.states.see(state) if isinstance(state, np.ndarray) else state
        while state >= len(self._vertex):
            key = bytearray(self.projection(self.states[len(self._vertex)]))
            self._vertex.append(self._keys.see(np.frombuffer(key, np.uint8)))
        return self._vertex[state]
