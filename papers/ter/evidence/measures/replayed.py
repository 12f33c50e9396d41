"""What each method replays over training: how wrong Q is there, and how far from the goal it is.

    .venv/bin/python -m papers.ter.evidence.measures.replayed --method ter --predecessors 1 --steps 200000

Trains as `train.py` does. At every evaluation, the batches since the last one are looked at: mean |TD error|, and mean
distance of the states that they start from. The distance is the smallest number of steps to a success along stored
transitions; states without such a path are left out, their share is logged.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from common.replay.protocol import Signals
from lab.run.cli import cli
from lab.run.runs import execute
from papers.ter import train
from papers.ter.replay.memory import TileMemory
from papers.ter.train import replay_bytes as replay_bytes


@dataclass(frozen=True)
class Config(train.Config):
    """The settings of train.py."""


def distances(memory: TileMemory) -> np.ndarray:
    """Steps from each state, by its number, to a success along stored transitions; infinite where there is no path."""
    before, after = (memory[name][: len(memory.ring)] for name in ("state", "next_state"))
    won = memory["absorbing"][: len(memory.ring)] & (memory["reward"][: len(memory.ring)] > 0)
    n = len(memory.states)
    backwards = csr_array((np.ones(len(before)), (after, before)), shape=(n, n))
    roots = np.unique(before[won])  # a step away from it
    if not len(roots):
        return np.full(n, np.inf)
    return 1 + dijkstra(backwards, unweighted=True, indices=roots, min_only=True)


class Trainer(train.Trainer):
    """A run that remembers its batches until the next evaluation."""

    def __init__(self, config: Config):
        super().__init__(config)
        self.starts: list[np.ndarray] = []  # numbers of the states that they start from
        self.errors: list[np.ndarray] = []

    def learn(self) -> float | None:
        tell = self.sampler.update

        def listen(indices: np.ndarray, signals: Signals) -> None:
            self.starts.append(self.memory["state"][indices])
            self.errors.append(np.abs(signals["td_error"]))
            tell(indices, signals)

        self.sampler.update = listen  # type: ignore[method-assign]
        try:
            return super().learn()
        finally:
            del self.sampler.update  # the method's own is in its class

    def evaluate(self) -> dict[str, float]:
        metrics = super().evaluate()
        if self.starts:
            steps = distances(self.memory)[np.concatenate(self.starts)]
            led = np.isfinite(steps)
            metrics |= {"td_error": float(np.concatenate(self.errors).mean()), "astray": float(1.0 - led.mean())}
            metrics |= {"distance": float(steps[led].mean())} if led.any() else {}
            self.starts, self.errors = [], []
        return metrics


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train in ``run_dir``, or go on there; returns the summary. See `lab.run.runs.execute`."""
    return execute(config, run_dir, train.train, Trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
