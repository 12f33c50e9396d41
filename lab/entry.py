"""One run of an experiment: what is trained, and what it is called in the results."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.runs import run_name


@dataclass(frozen=True)
class Entry:
    """One run of an experiment. method, env, seed: labels in the results. target: "module:function" with the
    signature main(config, run_dir, *, tensorboard=False, progress=False). config: its dataclass."""

    method: str
    env: str
    seed: int
    target: str
    config: Any

    def run_dir(self, runs_root: Path) -> Path:
        """Named after the config alone, so that a config shared by two experiments is one run."""
        return Path(runs_root) / run_name(self.config)
