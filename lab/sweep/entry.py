"""One run of an experiment: what is trained, and what it is called in the results; and how a sweep hands it over."""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.run import provenance
from lab.run.identity import State, difference, outdated, run_name, state
from lab.run.sources import Files


@dataclass(frozen=True)
class Entry:
    """One run of an experiment. method, env, seed: labels in the results. target: "module:function" with the
    signature main(config, run_dir, *, tensorboard=, track=, progress=). config: its dataclass. shared: the committed
    run of another experiment with this config will do; not where the last bit or the clock counts."""

    method: str
    env: str
    seed: int
    target: str
    config: Any
    shared: bool = True

    @property
    def module(self) -> str:
        """The train script."""
        return self.target.split(":")[0]

    def run_dir(self, runs_root: Path) -> Path:
        """Named after the config alone, so that a config shared by two experiments is one run."""
        return Path(runs_root) / run_name(self.config)

    def state(self, runs_root: Path) -> State:
        """What its directory holds, against the sources that this process has first seen."""
        return state(self.run_dir(runs_root), self.config, self._files())

    def made_by_other_code(self, content: dict[str, Any]) -> str:
        """How the run that a config.json describes differs from what today's code would make; "": it does not."""
        return difference(content["config"], self.config) or outdated(content, self._files())

    def _files(self) -> Files:
        return provenance.take([self.module])[self.module]["files"]


@dataclass(frozen=True)
class Job:
    """An entry with what the sweep has seen of its sources, for the process that trains it."""

    entry: Entry
    code: provenance.Code
    tensorboard: bool = False

    def packed(self) -> bytes:
        """For `train`. The entry is a pickle in the pickle: unpickling its config imports the train script."""
        return pickle.dumps((self.entry.module, self.code, self.tensorboard, pickle.dumps(self.entry)))


def train(packed: bytes, run_dir: Path) -> None:
    """Do a job in this process. Raises UserError when other sources are loaded than the sweep has seen."""
    module, code, tensorboard, pickled = pickle.loads(packed)
    script = provenance.load(module)
    provenance.adopt(module, code)
    entry: Entry = pickle.loads(pickled)
    getattr(script, entry.target.split(":")[1])(entry.config, run_dir, tensorboard=tensorboard)
