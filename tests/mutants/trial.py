"""Trying faults: copies of the checkout, and what pytest says in one with a fault in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from lab.run.errors import UserError
from lab.run.sources import sources
from lab.sweep.launchers import ONE_THREAD
from tests.mutants.mutant import Mutant, faulty
from tests.processes import fresh

PYTEST = ["--rootdir=.", "-q", "--tb=no", "-rf", "-p", "no:cacheprovider"]
FAILED = 1  # pytest's exit code; others say that tests could not be run
RUN = """
import importlib, sys, pytest
code = pytest.main(sys.argv[2:])
if code == 1:  # by tests that failed, not because the code with its fault cannot even be imported
    try:
        for module in sys.argv[1].split():
            importlib.import_module(module)
    except Exception:
        code = 3
sys.exit(code)
"""


class Outcome(NamedTuple):
    """caught_by: the test that failed, as pytest calls it; "": none did. trouble: why there was nothing to catch."""

    caught_by: str = ""
    trouble: str = ""


def copy_of(root: Path, target: Path) -> None:
    """Copy what git tracks, or would track, of the checkout `root`, as it is now. UserError outside git."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"{root} is no git checkout, so that nobody knows which files belong to it")
    for name in filter(None, done.stdout.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


def with_kernels(root: Path) -> set[str]:
    """The files of which compiled kernels are made: those with kernels in them, and all that these import.

    Numba looks for changes in the file of a kernel alone. A fault in one of these files is therefore tried with a
    cache of its own, empty at first.
    """
    files = [path.relative_to(root) for top in ("common", "envs", "papers") for path in (root / top).rglob("*.py")]
    kernels = [path for path in files if "numba" in (root / path).read_text()]
    found = {path.as_posix() for path in kernels}
    return found.union(*(sources(".".join(path.with_suffix("").parts)) for path in kernels))


def without_faults(tests: Collection[str], copy: Path, jobs: int) -> None:
    """Run the tests in a copy as it is. UserError when they do not all pass; kernels are compiled ever after."""
    workers = ["-n", str(jobs)] if jobs > 1 else []
    done = _pytest([], [*workers, *sorted(tests)], copy)
    if done.returncode:
        failed = _failed(done.stdout) or done.stdout.strip().splitlines()[-1:] or done.stderr.strip().splitlines()[-1:]
        raise UserError(f"without any fault, tests fail: {', '.join(failed)}")


def tried(mutants: Sequence[Mutant], copies: Sequence[Path], kernels: Collection[str]) -> Iterator[Outcome]:
    """What becomes of each fault, in their order; as many are tried at a time as there are copies."""
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def one(mutant: Mutant) -> Outcome:
        copy = free.get()
        try:
            return outcome(mutant, copy, kernels)
        finally:
            free.put(copy)

    pool = ThreadPoolExecutor(len(copies))
    try:
        yield from pool.map(one, mutants)
    finally:
        pool.shutdown(cancel_futures=True)


def outcome(mutant: Mutant, copy: Path, kernels: Collection[str]) -> Outcome:
    """Put a fault into a copy, run its tests until one fails, and take it out again."""
    try:
        texts = faulty(mutant, copy)
    except ValueError as error:
        return Outcome(trouble=str(error))
    with _kept(copy, mutant.files) as kept:
        for path in kept:  # bytecode is known by size and second: here another one
            path.write_text(texts[path.relative_to(copy).as_posix()])
            os.utime(path, ns=(path.stat().st_atime_ns, kept[path].st_mtime_ns + 10 * 10**9))
        modules = [file.removesuffix(".py").replace("/", ".") for file in mutant.files]
        with tempfile.TemporaryDirectory(prefix="kernels-") as empty:
            own = {"NUMBA_CACHE_DIR": empty} if set(mutant.files) & set(kernels) else {}
            done = _pytest(modules, ["-x", *mutant.tests], copy, PYTHONDONTWRITEBYTECODE="1", **own)
    failed = _failed(done.stdout)
    if done.returncode == FAILED and failed:
        return Outcome(caught_by=failed[0])
    return Outcome() if done.returncode == 0 else Outcome(trouble=f"its tests could not be run ({done.returncode})")


@contextmanager
def _kept(copy: Path, names: Collection[str]) -> Iterator[dict[Path, os.stat_result]]:
    """Files as they were, afterwards, their times included: what was compiled of them is then right again."""
    before = {path: (path.read_bytes(), path.stat()) for path in (copy / name for name in names)}
    try:
        yield {path: stat for path, (_, stat) in before.items()}
    finally:
        for path, (content, stat) in before.items():
            path.write_bytes(content)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _pytest(modules: list[str], arguments: list[str], copy: Path, **environment: str) -> subprocess.CompletedProcess:
    env = {name: value for name, value in fresh().items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-c", RUN, " ".join(modules), *PYTEST, *arguments]
    env |= ONE_THREAD | {"PYTHONPATH": str(copy)} | environment
    return subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True)


def _failed(output: str) -> list[str]:
    """Tests that failed, without their parameters, from what pytest says in the end."""
    return list(dict.fromkeys(re.findall(r"^FAILED ([^\s\[]+)", output, re.MULTILINE)))
