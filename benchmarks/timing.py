"""Fair clocks on a machine whose speed drifts: ours and the peer take turns, and medians are compared.

The clock is this process's processor time, so other programs on the machine do not count.
"""

import gc
import statistics
from collections.abc import Callable
from time import process_time as clock


def interleaved(tasks: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Median over the rounds of what each task returns; every round runs each task once, in this order.

    A first round is discarded, as caches are cold and kernels may still be compiled. The garbage collector ignores
    existing objects; otherwise each task would pay for the data structures of all the others.
    """
    gc.collect()
    gc.freeze()
    try:
        results: dict[str, list[float]] = {name: [] for name in tasks}
        for _ in range(rounds + 1):
            for name, task in tasks.items():
                results[name].append(task())
    finally:
        gc.unfreeze()
    return {name: statistics.median(values[1:]) for name, values in results.items()}


def per_call(function: Callable[[], object], calls: int, units: int = 1) -> Callable[[], float]:
    """A task for :func:`interleaved`: microseconds per call, or per unit if a call does several."""

    def task() -> float:
        begin = clock()
        for _ in range(calls):
            function()
        return (clock() - begin) / (calls * units) * 1e6

    return task


class Stopwatch:
    """Add up the ``seconds`` spent in a method of a live object, within a ``with`` statement."""

    def __init__(self, owner: object, method: str):
        self.owner, self.method = owner, method
        self.seconds = 0.0

    def __enter__(self) -> "Stopwatch":
        original = getattr(self.owner, self.method)

        def timed(*args, **kwargs):
            begin = clock()
            try:
                return original(*args, **kwargs)
            finally:
                self.seconds += clock() - begin

        setattr(self.owner, self.method, timed)  # on the instance, in front of the class's method
        return self

    def __exit__(self, *exception: object) -> None:
        delattr(self.owner, self.method)
