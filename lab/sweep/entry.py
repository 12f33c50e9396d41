"""One run of an experiment: what is trained, its labels in the results, and how a sweep hands it to a process."""

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
    signature main(config, run_dir, *, tensorboard=, track=, progress=). config: its dataclass. shared: another
    experiment's committed run with this config may stand in; False where the last bit or the clock counts."""

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
        """State of its directory, compared with the sources as this process first read them."""
        return state(self.run_dir(runs_root), self.config, self._files())

    def made_by_other_code(self, content: dict[str, Any]) -> str:
        """Describe how the run in a config.json differs from what today's code would make; "" if it does not."""
        return difference(content["config"], self.config) or outdated(content, self._files())

    def _files(self) -> Files:
        return provenance.take([self.module])[self.module]["files"]


@dataclass(frozen=True)
class Job:
    """An entry and the sources that the sweep has read for it, to be sent to the process that trains it."""

    entry: Entry
    code: provenance.Code
    tensorboard: bool = False

    def packed(self) -> bytes:
        """Pack for `train`. The entry is a pickle within the pickle, as unpickling its config imports the script."""
        return pickle.dumps((self.entry.module, self.code, self.tensorboard, pickle.dumps(self.entry)))


def train(packed: bytes, run_dir: Path) -> None:
    """Do a job in this process. Raises UserError if the sources loaded are not those that the sweep has read."""
    module, code, tensorboard, pickled = pickle.loads(packed)
    script = provenance.load(module)
    provenance.adopt(module, code)
    entry: Entry = pickle.loads(pickled)
    getattr(script, entry.target.split(":")[1])(entry.config, run_dir, tensorboard=tensorboard)
