"""Identity of a run: its name, and whether a directory holds that run, made by today's code.

A name hashes only the settings that differ from their defaults, so a new setting orphans no run: earlier runs had its
default. A run is stale if a default or the code has changed since; its directory records both.
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
UNSET = "not set"


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
    """Fields of a dataclass as JSON values; a nested dataclass is flattened to "field.name"."""
    return _flat(json.loads(json_bytes(config)))


def defaults(config: Any) -> dict[str, Any]:
    """Defaults of the settings that have one; those of a nested dataclass are as the outer one creates it."""
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
    """Encode as JSON; dataclasses become objects, numpy and torch scalars numbers, paths and enums their text."""
    return (json.dumps(content, indent=1, default=_plain) + "\n").encode()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)  # type: ignore[arg-type]  # an instance
    return value.item() if hasattr(value, "item") else str(value)


@dataclass(frozen=True)
class State:
    """State of a run directory. stage: absent, begun, finished, or stale (begun or finished, but outdated)."""

    stage: str
    done: bool = False
    """It has a summary, so nothing is left to train."""
    reason: str = ""
    """Why it is stale."""
    other_config: bool = False
    """Stale because a setting differs, so it cannot be resumed."""


def state(directory: Path, config: Any, files: Files) -> State:
    """State of `config`'s run in `directory`, given its sources today. UserError if its config.json is damaged."""
    path, done = directory / "config.json", (directory / "done.json").exists()
    if not path.exists():
        return State("stale", True, "its config.json is missing", True) if done else State("absent")
    content = read_json(path)
    if other := difference(content["config"], config):
        return State("stale", done, other, True)
    if done or any((directory / name).exists() for name in CHECKPOINTS):  # else the old code has left nothing
        if other := outdated(content, files):
            return State("stale", done, other)
    return State("finished" if done else "begun", done)


def attempts(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Provenance of a run's first start, and of each later start that found a change."""
    return [content, *content.get("resumed", [])]


def outdated(content: dict[str, Any], files: Files) -> str:
    """Describe how the sources recorded in a config.json differ from `files`; "" if they do not."""
    for attempt in attempts(content):
        if "files" not in attempt:
            return "its sources are unknown"
        if other := changes(attempt["files"], files):
            return other
    return ""


def difference(stored: dict[str, Any], config: Any) -> str:
    """Describe the first setting in which a config read from config.json differs from `config`; "" if none does.

    A setting that is not stored is newer than the run, so the run had what is now its default.
    """
    now = settings(config)
    then = {name: value for name, value in defaults(config).items() if name in now} | _flat(stored)
    for name in [*now, *then]:
        old, new = then.get(name, UNSET), now.get(name, UNSET)
        if old != new and not (old != old and new != new):  # NaN is NaN
            return f"{name} was {old!r} and is now {new!r}"
    return ""


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file of a run directory. UserError if it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise UserError(f"cannot read {path} ({error}); delete {path.parent} to start again") from error
