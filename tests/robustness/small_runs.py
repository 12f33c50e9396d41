"""Small runs of two papers, which can be made to wait between two checkpoints, where a test wants to meet them.

While there is a file `wait` beside the runs, a run that has written a checkpoint stops after its next row in
metrics.csv and makes a file `waiting` in its directory. That row is in no checkpoint yet.
"""

import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.run.runs import Run
from lab.sweep.entry import Entry
from lab.sweep.sweep import sweep as sweep_over
from papers.bias_reduced_her.evidence import experiments as bias_reduced_her
from papers.ter.evidence import experiments as ter

SMOKE: dict[str, list[Entry]] = {
    "bias_reduced_her": bias_reduced_her.runs(["Hand"], ["filtered-her-ibs"])("smoke"),
    "ter": ter.on(ter.EASY, ["ter"])("smoke"),
}
TARGETS = {entry.config: entry.target for entries in SMOKE.values() for entry in entries}
RUNS = {
    paper: Entry(entry.method, entry.env, entry.seed, f"{__name__}:train", entry.config)
    for paper, [entry] in SMOKE.items()
}


def train(config: Any, run_dir: Path, **_: bool) -> None:
    """The train script's own main, with a stop in Run.log; every training leaves a line in log.txt."""
    load, log = Run.load, Run.log

    def load_and_say(run: Run) -> dict[str, Any] | None:
        print("training begins", flush=True)
        return load(run)

    def log_and_wait(run: Run, step: int, values: dict[str, float]) -> None:
        log(run, step, values)
        while (run_dir.parent / "wait").exists() and (run_dir / "checkpoint.pkl").exists():
            (run_dir / "waiting").touch()
            time.sleep(0.02)

    Run.load, Run.log = load_and_say, log_and_wait  # type: ignore[assignment,method-assign]
    name, function = TARGETS[config].split(":")
    script = importlib.import_module(name)
    script.SAVE_EVERY = 1  # type: ignore[attr-defined]  # in so short a run, no other checkpoint would be due
    getattr(script, function)(config, run_dir)


def sweep(runs_root: Path, jobs: int, papers: Sequence[str]) -> None:
    """Train the runs of `papers`, `jobs` at a time, and end with the exit code of the sweep."""
    sys.exit(sweep_over({runs_root: [RUNS[paper] for paper in papers]}, jobs=jobs).exit_code)
