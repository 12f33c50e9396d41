"""Prioritised replay of Hopper's transitions: a batch is drawn and gathered, and its priorities are set. The peers have
memories of their own, in C++ (cpprb), Rust (rlox) and JAX (flashbax).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.fast_peers import Peers, beside
from benchmarks.rows import Row
from benchmarks.timing import interleaved, per_call
from common.replay.samplers import PrioritizedSampler
from common.replay.storage import Ring

CALLS, ROUNDS = 100, 15
MEMORIES = [(100_000, 32), (100_000, 256), (1_000_000, 32), (1_000_000, 256)]  # transitions, batch
OTHERS = {  # what is unlike, and by what it is ahead if it is
    "cpprb": ("draws with repeats", "C++"),
    "rlox": ("draws with repeats", "Rust"),
    "flashbax": ("draws with repeats; stores an observation once, not also as the next one", "one compiled call"),
}


def measure() -> list[Row]:
    return [row for size, batch in MEMORIES for row in _measure(size, batch)]


def _measure(size: int, batch: int) -> list[Row]:
    with Peers() as peers:
        others = peers.tasks({name: (f"{name}_per", dict(size=size, batch=batch, calls=CALLS)) for name in OTHERS})
        us = interleaved({"ours": memory(size, batch, CALLS)} | others, ROUNDS)
    row = Row(f"memory of {size:,}: draw {batch}, gather, set", us["ours"], "us")
    return beside(row, us, [(name, *words) for name, words in OTHERS.items()])


def memory(size: int, batch: int, calls: int) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per batch of prioritised replay."""
    rng = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"s": (11,), "a": (3,), "r": (), "next": (11,), "over": ()}
    ring = Ring(size, {name: (shape, "f4") for name, shape in shapes.items()})
    ring.extend(**{name: rng.standard_normal((size, *shape), np.float32) for name, shape in shapes.items()})
    sampler = PrioritizedSampler(size, rng, beta_steps=10**9)
    sampler.tree.set_many(np.arange(size), rng.uniform(0.05, 1.0, size))
    sampler.stored = size
    td = rng.uniform(0.05, 1.0, batch)

    def call() -> None:
        slots = sampler.sample(batch).indices
        ring.get(slots)
        sampler.update(slots, {"td_error": td})

    return per_call(call, calls)
