"""The command line that every train script has: its config as options, its docstrings as help."""

import dataclasses
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.run.arguments import parse
from lab.run.errors import guard
from lab.run.identity import module_name, room_name, run_name
from lab.run.provenance import code
from lab.run.threads import one_thread


@dataclasses.dataclass(frozen=True)
class _RunOptions:
    run_dir: Path | None = None
    """Run directory. None: runs/<paper>/<env>-<method>-s<seed>-<hash of the config>."""
    tensorboard: bool = False
    """Also write TensorBoard files into the run directory."""
    track: bool = False
    """Also log to Weights & Biases; offline with WANDB_MODE=offline."""
    progress: bool = True
    """Show a progress bar."""


@guard
def cli(Config: type, main: Callable[..., dict[str, Any]], description: str) -> None:
    """Run a train script's command line: the fields of the dataclass `Config`, documented by their docstrings, and run
    options.

    Calls main(config, run_dir, tensorboard=, track=, progress=) and prints the summary. Uses one thread, or
    OMP_NUM_THREADS if that is set. An unknown option or value is one line on stderr and exit code 2.
    """
    module = module_name(Config)
    code(module)  # recorded now: later edits and commits do not count
    if Config.__module__ != module:
        # `python -m papers.x.train` runs the script as __main__. Checkpoints would then name classes of __main__, which
        # a sweep cannot find because it imports the script: use the imported twin.
        imported = importlib.import_module(module)
        Config, main = getattr(imported, Config.__qualname__), getattr(imported, main.__name__)
    command_type = dataclasses.make_dataclass("Command", [("config", Config), ("run", _RunOptions)])
    command = parse(command_type, prog=f".venv/bin/python -m {module}", description=description)
    if "OMP_NUM_THREADS" not in os.environ:
        one_thread()
    config, options = command.config, command.run
    run_dir = options.run_dir or Path("runs") / room_name(Config) / run_name(config)
    print(f"run directory: {run_dir}", flush=True)
    shown = dict(tensorboard=options.tensorboard, track=options.track, progress=options.progress)
    summary = main(config, run_dir, **shown)
    for name, value in summary.items():
        print(f"{name}: {value}")
