"""The toy script with a fault for the tests to find: one of its random streams is not in its checkpoints."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.run.runs import Run, Streams
from tests.lab import toy_train


@dataclass(frozen=True)
class Config(toy_train.Config):
    """Settings of the toy."""


def main(config: Config, run_dir: Path, **how: bool) -> dict[str, Any]:
    """Train the toy; where it goes on, its noise begins anew. To be called in a process of its own."""
    usual = Run.load

    def load(run: Run) -> dict[str, Any] | None:
        state = usual(run)
        return state and state | {"noise": Streams(config.seed).torch("noise")}

    Run.load = load  # type: ignore[method-assign]
    return toy_train.main(config, run_dir, **how)
