"""Sweeps over a small run of every paper: killed, short of disk, or two at once, they end as if nothing was."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.robustness.small_runs import RUNS

ROOT = Path(__file__).parents[2]
PAPERS = list(RUNS)
SECONDS = 120.0  # a limit for what takes a few seconds on an idle machine


def sweep(runs_root: Path, jobs: int = len(RUNS), around: tuple[str, ...] = ()) -> subprocess.Popen:
    """A sweep over all runs in a process group of its own. around: a command that runs it."""
    code = f"from pathlib import Path; from tests.robustness.small_runs import sweep; sweep(Path({str(runs_root)!r}), "
    return subprocess.Popen(
        [*around, sys.executable, "-c", f"{code}{jobs}, {PAPERS})"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen) -> str:
    """What a sweep says that exits by itself: with code 0, or 1 when another one still trains what it would."""
    _, error = process.communicate(timeout=SECONDS)
    assert process.returncode == (" busy elsewhere" in error), error
    return error


def wait_until(condition) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def members(group: int) -> list[str]:
    """Names of the living processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = path.read_text().rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[2]) == group and rest.split()[0] != "Z":
            found.append(name)
    return found


def waiting(runs_root: Path) -> list[str]:
    return [paper for paper, entry in RUNS.items() if (entry.run_dir(runs_root) / "waiting").exists()]


def started(runs_root: Path, around: tuple[str, ...] = (), seen: Path | None = None) -> subprocess.Popen:
    """A sweep of which every run waits between two checkpoints. seen: where `runs_root` is seen from here."""
    seen = seen or runs_root
    (seen / "wait").touch()
    for paper in waiting(seen):
        (RUNS[paper].run_dir(seen) / "waiting").unlink()
    process = sweep(runs_root, around=around)
    try:
        wait_until(lambda: process.poll() is not None or len(waiting(seen)) == len(RUNS))
    except AssertionError:
        process.kill()
        pytest.fail(f"only {waiting(seen)} have come to a checkpoint: {process.communicate()}")
    assert process.poll() is None, process.communicate()
    return process


def metrics(runs_root: Path, paper: str) -> list[list[str]]:
    """Rows of a run's metrics.csv without the hours."""
    lines = (RUNS[paper].run_dir(runs_root) / "metrics.csv").read_text().splitlines()
    return [line.split(",")[:3] for line in lines]


def assert_whole(runs_root: Path, paper: str, undisturbed: Path) -> None:
    """The run is finished, no file is left of what was interrupted, and its numbers are those of the other folder."""
    directory = RUNS[paper].run_dir(runs_root)
    left = {path.name for path in directory.iterdir()} - {"log.txt", "waiting"}
    assert left == {"config.json", "done.json", "lock", "metrics.csv", "weights.pt"}
    assert metrics(runs_root, paper) == metrics(undisturbed, paper)


# ------------------------------------------------------------------------------------------------ two sweeps, kill -9


def by_two_sweeps(runs_root: Path) -> None:
    """Train every run once from its start to its end, though by two sweeps at a time."""
    runs_root.mkdir()
    first, second = sweep(runs_root, jobs=2), sweep(runs_root, jobs=2)
    said = ended(first) + ended(second)
    assert "failed" not in said
    for paper in PAPERS:
        log = (RUNS[paper].run_dir(runs_root) / "log.txt").read_text()
        assert log.count("training begins") == 1 and "Traceback" not in log, "no run is trained twice"
        rows = [(step, name) for step, name, _ in metrics(runs_root, paper)]
        assert len(rows) == len(set(rows)) > 1


def killed(runs_root: Path) -> None:
    """Train all runs, started again after their sweep's process was killed."""
    runs_root.mkdir()
    process = started(runs_root)
    assert len(members(process.pid)) > len(RUNS)  # the runs and their server belong to the group
    process.kill()
    process.communicate()
    wait_until(lambda: not members(process.pid))  # nobody trains on for a sweep that is gone
    for paper, entry in RUNS.items():
        names = {path.name for path in entry.run_dir(runs_root).iterdir()}
        assert "checkpoint.pkl" in names and "done.json" not in names, paper

    (runs_root / "wait").unlink()
    assert f"runs: {len(RUNS)} finished" in ended(sweep(runs_root, jobs=2))


# ------------------------------------------------------------------------------------------------ a full disk


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """A disk of its own at `place`, in a mount namespace: where it is seen from here, and a command that enters it."""
    mount = f'mount -t tmpfs -o size={megabytes}m tmpfs "$0" && echo mounted && exec sleep 10000'
    try:
        owner = subprocess.Popen(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, str(place)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("needs unshare")
    try:
        assert owner.stdout is not None
        if owner.stdout.readline() != "mounted\n":
            pytest.skip("nobody may mount a tmpfs here")
        inside = ("nsenter", f"--target={owner.pid}", "--user", "--mount", "--preserve-credentials", "--wd=.", "--")
        yield Path(f"/proc/{owner.pid}/root{place}"), inside
    finally:
        owner.kill()
        owner.communicate()


def fill(path: Path) -> None:
    """Write until the disk is full."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def crowded(place: Path, copy: Path) -> None:
    """Train all runs on a small disk at `place` that is full for a while, and copy it."""
    place.mkdir()
    with small_disk(place, megabytes=200) as (seen, inside):
        process = started(place, inside, seen)
        checkpoints = {entry: (entry.run_dir(seen) / "checkpoint.pkl").read_bytes() for entry in RUNS.values()}
        fill(seen / "filler")
        (seen / "wait").unlink()
        _, error = process.communicate(timeout=SECONDS)
        assert process.returncode == 1 and "Traceback" not in error, error
        assert f"{len(RUNS)} failed" in error and error.count("No space left on device") == len(RUNS), error
        for entry, before in checkpoints.items():
            assert (entry.run_dir(seen) / "checkpoint.pkl").read_bytes() == before
            assert not list(entry.run_dir(seen).glob("*.tmp"))

        (seen / "filler").unlink()
        ended(sweep(place, jobs=2, around=inside))
        shutil.copytree(seen, copy)


# ------------------------------------------------------------------------------------------------ and what comes of it


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for orphans in /proc")
def test_disturbed_sweeps_of_every_paper_end_as_if_nothing_was(tmp_path):
    """In one test, so that the undisturbed runs are trained once."""
    by_two_sweeps(tmp_path / "undisturbed")
    killed(tmp_path / "killed")
    for paper in PAPERS:
        assert_whole(tmp_path / "killed", paper, tmp_path / "undisturbed")
    crowded(tmp_path / "disk", tmp_path / "crowded")  # skips where nobody may mount
    for paper in PAPERS:
        assert_whole(tmp_path / "crowded", paper, tmp_path / "undisturbed")
