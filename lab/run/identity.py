"""Which run is it? Its name, and whether what lies in a directory is that run, made by today's code.

A name hashes only the settings that differ from their defaults, so a new setting orphans no run: in what was trained
before, it had its default. That a default or the code has changed since is seen in the directory: its run is stale.
"""

import dataclasses
import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.run.errors import UserError
from lab.run.sources import Files, changes

CHECKPOINTS = ("checkpoint.pkl", "previous.pkl")
UNSET = "not there"


def run_name(config: Any) -> str:
    """Directory name of a run: env, method, seed and hash of its config."""
    name = f"{config.env}-{config.method}-s{config.seed}-{config_hash(config)}"
    return re.sub(r"[^\w.+-]+", "_", name)  # ids such as ALE/Pong-v5


def config_hash(config: Any) -> str:
    """Ten hex digits: blake2b of the name of the config's class and the settings that differ from their defaults."""
    usual = defaults(config)
    own = {name: value for name, value in settings(config).items() if name not in usual or usual[name] != value}
    text = json.dumps(own, sort_keys=True, separators=(",", ":"))
    name = f"{module_name(type(config))}.{type(config).__qualname__}"
    return hashlib.blake2b(f"{name} {text}".encode(), digest_size=5).hexdigest()


def module_name(cls: type) -> str:
    """The importable name of the module of `cls`, also when it was started with `python -m`."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if cls.__module__ == "__main__" and spec is not None else cls.__module__


def room_name(cls: type) -> str:
    """What a run of a config of this class belongs to: the folder above it with an evidence/, or else its module."""
    folders = Path(str(sys.modules[cls.__module__].__file__)).parents
    module = module_name(cls).rpartition(".")[2]
    return next((folder.name for folder in folders if (folder / "evidence").is_dir()), module)


def settings(config: Any) -> dict[str, Any]:
    """The fields of a dataclass as JSON has them; those of a dataclass in a field as "field.name"."""
    return _flat(json.loads(json_bytes(config)))


def defaults(config: Any) -> dict[str, Any]:
    """The defaults of those settings that have one. Of a dataclass in a field: what the outer one makes it by."""
    usual: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        if field.default is not dataclasses.MISSING:
            usual[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            usual[field.name] = field.default_factory()
    return _flat(json.loads(json_bytes(usual)))


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def json_bytes(content: Any) -> bytes:
    """JSON; dataclasses become objects, numpy and torch scalars numbers, paths and enums their text."""
    return (json.dumps(content, indent=1, default=_plain) + "\n").encode()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)  # type: ignore[arg-type]  # an instance
    return value.item() if hasattr(value, "item") else str(value)


@dataclass(frozen=True)
class State:
    """Of a run directory. stage: absent, begun, finished or stale, which is one of the last two, but not of today."""

    stage: str
    done: bool = False
    """It has a summary: nothing is left to train."""
    reason: str = ""
    """Why it is stale."""
    other_config: bool = False
    """Stale because a setting differs, so that it cannot be gone on with."""


def state(directory: Path, config: Any, files: Files) -> State:
    """What `directory` holds of the run of `config` when its sources are `files`. UserError: its file is damaged."""
    path, done = directory / "config.json", (directory / "done.json").exists()
    if not path.exists():
        return State("stale", True, "its config.json is missing", True) if done else State("absent")
    content = read_json(path)
    if other := difference(content["config"], config):
        return State("stale", done, other, True)
    if done or any((directory / name).exists() for name in CHECKPOINTS):  # else nothing of the old code is left
        if other := outdated(content, files):
            return State("stale", done, other)
    return State("finished" if done else "begun", done)


def attempts(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The provenance of a run's first start and of those after which something had changed."""
    return [content, *content.get("resumed", [])]


def outdated(content: dict[str, Any], files: Files) -> str:
    """How the sources of the run that a config.json describes differ from `files`, in words; "": they do not."""
    for attempt in attempts(content):
        if "files" not in attempt:
            return "its sources are unknown"
        if other := changes(attempt["files"], files):
            return other
    return ""


def difference(stored: dict[str, Any], config: Any) -> str:
    """The first setting in which a config as read from config.json differs from `config`, in words; "": none does.

    A setting that is not stored is younger than the run: then it had what is now its default.
    """
    now = settings(config)
    then = {name: value for name, value in defaults(config).items() if name in now} | _flat(stored)
    for name in [*now, *then]:
        old, new = then.get(name, UNSET), now.get(name, UNSET)
        if old != new and not (old != old and new != new):  # NaN is NaN
            return f"{name} was {old!r} and is now {new!r}"
    return ""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file of a run directory. UserError where it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise UserError(f"cannot read {path} ({error}); delete {path.parent} to start again") from error
