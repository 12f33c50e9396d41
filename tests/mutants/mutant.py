"""A seeded fault: a patch that begins with the fault in a sentence and the tests that ought to catch it."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.errors import UserError

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Mutant:
    """name: of its file, which begins with the area. tests: as pytest calls them. files: those that it changes."""

    name: str
    fault: str
    tests: tuple[str, ...]
    files: tuple[str, ...]
    patch: Path


def read(patch: Path) -> Mutant:
    """A patch with what stands before it. UserError where something is missing there."""
    text = patch.read_text()
    head, _, diff = text.partition("\ndiff --git ")
    fault, *lines = head.splitlines()
    if not re.fullmatch(r"[A-Z][^|`]*\.", fault):
        raise UserError(f"{patch.name}: the first line is to be the fault in one sentence, not {fault!r}")
    if not lines or not all(re.fullmatch(r"test: \S+\.py::\w+", line) for line in lines):
        raise UserError(f"{patch.name}: after the first line come lines such as test: tests/lab/test_runs.py::test_x")
    files = re.findall(r"^\+\+\+ b/(\S+)$", diff, re.MULTILINE)
    if not files:
        raise UserError(f"{patch.name}: it changes nothing")
    return Mutant(patch.stem, fault, tuple(line.removeprefix("test: ") for line in lines), tuple(files), patch)


def read_all(folder: Path = FOLDER) -> list[Mutant]:
    """All patches of a folder, by name."""
    return [read(patch) for patch in sorted(folder.glob("*.patch"))]


def apply(mutant: Mutant, root: Path, *options: str) -> bool:
    """Apply the patch to the files below `root`, or ask with "--check" whether it could be; False where it cannot."""
    outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(root.parent)}  # in a checkout git would look for its files
    command = ["git", "apply", *options, str(mutant.patch.resolve())]
    return subprocess.run(command, cwd=root, env=outside, capture_output=True).returncode == 0
