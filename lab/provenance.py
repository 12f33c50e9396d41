"""Where numbers come from: code, packages and kind of machine. Never the machine's name or its user."""

import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import torch

PACKAGES = ("torch", "numpy", "scipy", "numba", "gymnasium", "mujoco", "minigrid", "ale-py", "box2d")
ROOT = Path(__file__).resolve().parents[1]


def provenance() -> dict[str, Any]:
    """commit, dirty (do .py files differ from it?), versions, threads, machine: all for a run's config.json."""
    commit, dirty = _git()
    return {
        "commit": commit,
        "dirty": dirty,
        "versions": _versions(),
        "threads": torch.get_num_threads(),
        "machine": {
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "platform": " ".join([platform.system(), platform.machine(), *platform.libc_ver()]).strip(),
        },
    }


def _git() -> tuple[str, bool | None]:
    """Commit of this checkout and whether Python files differ from it; ("unknown", None) outside git."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    try:
        if Path(git("rev-parse", "--show-toplevel").strip()).resolve() != ROOT:
            return "unknown", None  # an unpacked archive inside somebody else's repository
        return git("rev-parse", "HEAD").strip(), bool(git("status", "--porcelain", "--", "*.py").strip())
    except (OSError, subprocess.CalledProcessError):
        return "unknown", None


def _versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return versions


def _cpu_model() -> str:
    try:
        match = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        match = None
    return match.group(1) if match else platform.processor() or "unknown"
