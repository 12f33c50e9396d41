"""Storage: a ring of transitions as a structure of arrays."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

Fields = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""What one transition consists of: name -> (shape, dtype), e.g. {"frame": ((7, 7, 3), "u1"), "action": ((), "i8")}."""


class Ring:
    """The last `capacity` transitions; the oldest one is overwritten.

    `fields` maps a name to (shape, dtype) of one transition's entry; the arrays are [capacity, *shape]. They are
    allocated at once, but the operating system hands out the memory only as they fill. Pickling keeps the filled part
    only; unpickling restores the capacity.
    """

    def __init__(self, capacity: int, fields: Fields):
        if capacity < 1:
            raise ValueError(f"a ring needs a capacity of at least 1, not {capacity}")
        self.capacity = int(capacity)
        self.fields = {name: (tuple(shape), np.dtype(dtype)) for name, (shape, dtype) in fields.items()}
        self.next_index = 0
        """The slot that the next `add` fills; when the ring is full, the slot whose transition it overwrites."""
        self._size = 0
        # zeros, not empty: both are lazy, and an unfilled slot has a defined content
        self._arrays = {name: np.zeros((self.capacity, *shape), dtype) for name, (shape, dtype) in self.fields.items()}

    def __len__(self) -> int:
        """Number of transitions stored."""
        return self._size

    @property
    def full(self) -> bool:
        return self._size == self.capacity

    def add(self, **values: Any) -> int:
        """Store one transition, every field by name; return its slot. TypeError for a missing or unknown field."""
        if values.keys() != self._arrays.keys():
            raise TypeError(f"add() takes the fields {sorted(self._arrays)}, not {sorted(values)}")
        index = self.next_index
        for name, array in self._arrays.items():
            array[index] = values[name]
        self.next_index = (index + 1) % self.capacity
        self._size = max(self._size, index + 1)
        return index

    def extend(self, **values: Any) -> np.ndarray:
        """Store n transitions in order, every field [n, *shape]; return their slots int64 [n].

        TypeError for a missing or unknown field, ValueError for more transitions than the ring holds or fields of
        different length; the ring is then unchanged.
        """
        if values.keys() != self._arrays.keys():
            raise TypeError(f"extend() takes the fields {sorted(self._arrays)}, not {sorted(values)}")
        lengths = {len(value) for value in values.values()}
        if len(lengths) != 1:
            raise ValueError(f"all fields must have the same length, not {sorted(lengths)}")
        n = lengths.pop()
        if n > self.capacity:
            raise ValueError(f"{n} transitions do not fit into a ring of {self.capacity}")
        indices = (self.next_index + np.arange(n)) % self.capacity
        for name, array in self._arrays.items():
            array[indices] = values[name]
        self._size = min(max(self._size, self.next_index + n), self.capacity)
        self.next_index = (self.next_index + n) % self.capacity
        return indices

    def __getitem__(self, field: str) -> np.ndarray:
        """The whole array [capacity, *shape] of a field, not a copy. Slots from `len(ring)` on are not filled."""
        return self._arrays[field]

    def get(self, indices: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of the transitions `indices` [n]: name -> [n, *shape]."""
        return {name: array.take(indices, axis=0) for name, array in self._arrays.items()}  # a third of array[indices]

    def __getstate__(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity,
            "fields": self.fields,
            "next_index": self.next_index,
            "arrays": {name: array[: self._size] for name, array in self._arrays.items()},
            "size": self._size,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["capacity"], state["fields"])  # type: ignore[misc]
        self.next_index, self._size = state["next_index"], state["size"]
        for name, array in self._arrays.items():
            array[: self._size] = state["arrays"][name]


def ring_bytes(capacity: int, fields: Fields) -> int:
    """Memory [bytes] of a full `Ring(capacity, fields)`."""
    return capacity * sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in fields.values())


def announce(capacity: int, fields: Fields, beside: int = 0) -> int:
    """Print and return the memory [bytes] of a full `Ring(capacity, fields)` and up to `beside` more bytes, such as
    those of a growing index.

    Call this before making the ring. MemoryError if the machine does not have that much memory available: the arrays
    fill lazily, so without this check the run would only die hours later.
    """
    needed, available = ring_bytes(capacity, fields) + beside, available_memory()
    more = f" + up to {beside:,} B beside them" if beside else ""
    print(f"replay: {capacity:,} transitions x {ring_bytes(1, fields):,} B{more} = {needed / 1e9:.2f} GB", flush=True)
    if needed > available:
        raise MemoryError(
            f"the replay memory needs {needed / 1e9:.2f} GB, but only {available / 1e9:.2f} GB are available: "
            "choose a smaller replay capacity"
        )
    return needed


def available_memory() -> int:
    """Memory [bytes] available to a new array: what the kernel calls available, or less in a limited container."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        available = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):  # macOS: the best known is the physical memory; Windows: nothing
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else sys.maxsize
    try:  # control group, version 2; `anon` rather than `memory.current`, which counts the file cache
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        usage = dict(line.split() for line in Path("/sys/fs/cgroup/memory.stat").read_text().splitlines())
        if limit != "max":
            available = min(available, int(limit) - int(usage["anon"]))
    except (OSError, KeyError):
        pass
    return max(available, 0)
