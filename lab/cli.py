"""The command line that every train script has: its config as options, its docstrings as help."""

import dataclasses
import difflib
import functools
import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import tyro

from lab.errors import UserError, guard
from lab.identity import module_name, run_name
from lab.provenance import code
from lab.threads import one_thread


@dataclasses.dataclass(frozen=True)
class _RunOptions:
    run_dir: Path | None = None
    """Where the run is kept. None: runs/<paper>/<env>-<method>-s<seed>-<hash of the config>."""
    tensorboard: bool = False
    """Also write TensorBoard files into the run directory."""
    progress: bool = True
    """Show a progress bar."""


@guard
def cli(Config: type, main: Callable[..., dict[str, Any]], description: str) -> None:
    """Command line of a train script: every field of the dataclass `Config`, its docstring as help, and run options.

    Calls main(config, run_dir, tensorboard=, progress=) and prints the summary. One thread is used, or
    OMP_NUM_THREADS when that is set. Unknown options and values end in one line and exit code 2.
    """
    module = module_name(Config)
    code(module)  # looked at now: what is edited or committed from here on does not count
    if Config.__module__ != module:
        # `python -m papers.x.train` runs the script as __main__. Checkpoints would then name classes that a sweep,
        # which imports the script, does not find: go on with the imported twin.
        imported = importlib.import_module(module)
        Config, main = getattr(imported, Config.__qualname__), getattr(imported, main.__name__)
    command_type = dataclasses.make_dataclass("Command", [("config", Config), ("run", _RunOptions)])
    with tyro._errors.on_parse_error(functools.partial(_refuse, Config)):
        command: Any = tyro.cli(
            command_type,
            prog=f"python -m {module}",
            description=description,
            config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),
        )
    if "OMP_NUM_THREADS" not in os.environ:
        one_thread()
    config, options = command.config, command.run
    parts = module.split(".")
    paper = parts[1] if parts[0] == "papers" else parts[-1]
    run_dir = options.run_dir or Path("runs") / paper / run_name(config)
    print(f"run directory: {run_dir}", flush=True)
    summary = main(config, run_dir, tensorboard=options.tensorboard, progress=options.progress)
    for name, value in summary.items():
        print(f"{name}: {value}")


def _names(kind: Any) -> Iterator[str]:
    """Names of all options of a dataclass, with those of a dataclass in one of its fields."""
    types = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(types[field.name]):
            yield from _names(types[field.name])
        else:
            yield field.name


def _refuse(Config: type, event: Any) -> None:
    """Turn tyro's boxed messages into one line. Events unknown to us fall through to the box."""
    errors = tyro._errors
    if isinstance(event, errors.UnrecognizedArgs):
        token = event.tokens[0]
        options = [f"--{name.replace('_', '-')}" for kind in (Config, _RunOptions) for name in _names(kind)]
        close = difflib.get_close_matches(token.split("=")[0], options, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UserError(f"unknown option {token}; {hint}--help lists all")
    if isinstance(event, errors.InvalidChoice):
        name = event.argument.display_name()
        raise UserError(f"{name}: unknown value {event.value!r}; use one of {', '.join(event.choices)}")
    if isinstance(event, errors.BadValue):
        raise UserError(f"{event.argument.display_name()}: a value is missing; --help shows what it takes")
    if isinstance(event, errors.InstantiationFailure):
        argument = event.argument
        name = f"{argument.display_name()} takes {argument.lowered.metavar}: " if argument is not None else ""
        raise UserError(f"{name}{event.message}")
