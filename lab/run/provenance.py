"""Where a run's numbers come from: its code, packages and kind of machine, never the machine's name or user.

The code is read once, before it is loaded; whatever is edited or committed later does not count. `take` reads it,
`adopt` hands what a sweep has read to a process that it starts, and `code` is what a run records.
"""

import importlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from lab.run.errors import UserError
from lab.run.sources import Files, changes, digest, newest, sources

PACKAGES = ("torch", "numpy", "scipy", "numba", "gymnasium", "mujoco", "minigrid", "ale-py", "box2d")
ROOT = Path(__file__).resolve().parents[2]
UNKNOWN = "unknown"

Code = dict[str, Any]
"""commit; dirty: whether the run's sources or the lab differ from it; sources: digest of `files`."""

_begin = time.time()
_taken: dict[str, Code] = {}  # of train scripts, by module
_loaded: dict[str, Files] = {}  # sources when this process, or the one that it was forked from, loaded the module
_adopted: Code | None = None


def take(modules: Iterable[str]) -> dict[str, Code]:
    """Return the code of train scripts as it was on disk when this process first asked for it."""
    modules = sorted(set(modules))
    new = [module for module in modules if module not in _taken]
    while new:
        files = {module: sources(module) for module in new}
        commit, changed = _git()
        if files != {module: sources(module) for module in new}:
            continue  # files are being edited: read again
        for module, own in files.items():
            dirty = None if changed is None else any(path in own or path.startswith("lab/") for path in changed)
            _taken[module] = {"commit": commit, "dirty": dirty, "sources": digest(own), "files": own}
        break
    return {module: _taken[module] for module in modules}


def code(module: str) -> Code:
    """Return what a run of the train script `module` records: the code that its sweep has read, else what is on disk.

    Without a sweep, the script is already loaded. If it was edited since, what was loaded is not known: the commit is
    then "unknown", and a line on stderr says why.
    """
    if _adopted is not None:
        return _adopted
    if module not in _taken:
        take([module])
        if newest(_taken[module]["files"]) > _begin:
            _taken[module] |= {"commit": UNKNOWN, "dirty": None}
            late = "were written while it was being loaded; its run belongs to no commit"
            print(f"warning: the sources of {module} {late}", file=sys.stderr)
    return _taken[module]


def load(module: str) -> ModuleType:
    """Import a train script and remember its sources; a file that changes meanwhile is remembered as ""."""
    if module not in _loaded:
        before = sources(module)
        importlib.import_module(module)
        after = sources(module)
        _loaded[module] = {path: code if after.get(path) == code else "" for path, code in before.items()}
    return sys.modules[module]


def adopt(module: str, seen: Code) -> None:
    """Make this process's run record the code that its sweep has read. UserError if other code was loaded."""
    global _adopted
    if other := changes(seen["files"], _loaded[module]):
        raise UserError(f"the sources have changed since the sweep began ({other}); rerun the command")
    _adopted = seen


def _git() -> tuple[str, set[str] | None]:
    """Commit of this checkout and the Python files that differ from it; ("unknown", None) outside git."""
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}  # `git status` must not keep others from committing

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, env=quiet, capture_output=True, text=True, check=True).stdout

    try:
        if Path(git("rev-parse", "--show-toplevel").strip()).resolve() != ROOT:
            return UNKNOWN, None  # an unpacked archive inside somebody else's repository
        commit = git("rev-parse", "HEAD").strip()
        lines = git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", "*.py").split("\0")
        return commit, {line[3:] for line in lines if line}
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN, None


def surroundings() -> dict[str, Any]:
    """Package versions, threads and kind of machine: what config.json holds besides the code."""
    import torch

    versions = {}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    cpu = platform.processor() or "unknown"
    with suppress(OSError):
        cpu = "".join(re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())[:1]) or cpu
    return {
        "versions": versions,
        "threads": torch.get_num_threads(),
        "machine": {
            "cpu": cpu,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "platform": " ".join([platform.system(), platform.machine(), *platform.libc_ver()]).strip(),
        },
    }
