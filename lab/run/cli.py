"""The command line that every train script has: its config as options, its docstrings as help."""

import dataclasses
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.run.arguments import parse
from lab.run.errors import guard
from lab.run.identity import module_name, run_name
from lab.run.provenance import code
from lab.run.threads import one_thread


@dataclasses.dataclass(frozen=True)
class _RunOptions:
    run_dir: Path | None = None
    """Run directory. None: runs/<paper>/<env>-<method>-s<seed>-<hash of the config>."""
    tensorboard: bool = False
    """Also write TensorBoard files into the run directory."""
    progress: bool = True
    """Show a progress bar."""


@guard
def cli(Config: type, main: Callable[..., dict[str, Any]], description: str) -> None:
    """Run a train script's command line: the fields of the dataclass `Config`, documented by their docstrings, and run
    options.

    Calls main(config, run_dir, tensorboard=, progress=) and prints the summary. Uses one thread, or OMP_NUM_THREADS
    if that is set. An unknown option or value is one line on stderr and exit code 2.
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
    folders = Path(str(sys.modules[Config.__module__].__file__)).parents
    place = next((folder.name for folder in folders if (folder / "evidence").is_dir()), module.rpartition(".")[2])
    run_dir = options.run_dir or Path("runs") / place / run_name(config)
    print(f"run directory: {run_dir}", flush=True)
    summary = main(config, run_dir, tensorboard=options.tensorboard, progress=options.progress)
    for name, value in summary.items():
        print(f"{name}: {value}")
