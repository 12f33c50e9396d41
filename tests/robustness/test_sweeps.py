"""Sweeps over small runs of two papers: killed, short of disk, then two at once, they end as if nothing was.

`make torture` kills runs of all papers, method by method.
"""

import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.processes import members, metrics, started, wait_until
from tests.robustness.small_runs import RUNS, SMOKE

ROOT = Path(__file__).parents[2]
PAPERS = list(RUNS)


def sweep(runs_root: Path, jobs: int = len(RUNS), around: tuple[str, ...] = ()) -> subprocess.Popen:
    """A sweep over all runs in a process group of its own. around: a command that runs it."""
    code = f"from pathlib import Path; from tests.robustness.small_runs import sweep; sweep(Path({str(runs_root)!r}), "
    return started(*around, sys.executable, "-c", f"{code}{jobs}, {PAPERS})", cwd=ROOT, PYTHONPATH=str(ROOT))


def ended(process: subprocess.Popen) -> str:
    """What a sweep says that exits by itself: with code 0, or 1 when another one still trains what it would."""
    _, error = process.communicate()
    assert process.returncode == (" busy elsewhere" in error), error
    return error


def all_waiting(runs_root: Path, around: tuple[str, ...] = (), seen: Path | None = None) -> subprocess.Popen:
    """A sweep of which every run waits between two checkpoints. seen: where `runs_root` is seen from here."""
    seen = seen or runs_root
    (seen / "wait").touch()
    process = sweep(runs_root, around=around)

    def wait() -> bool:
        for log in seen.glob("*/log.txt"):
            assert "rror" not in log.read_text(), log.read_text()
        return all((entry.run_dir(seen) / "waiting").exists() for entry in RUNS.values())

    try:
        wait_until(wait, process)
    except AssertionError:
        process.kill()
        raise
    return process


def assert_whole(runs_root: Path, paper: str, undisturbed: Path, begun: int) -> None:
    """The run is finished and has begun so often, no file is left of what was interrupted, and its numbers are those of
    the other folder."""
    directory = RUNS[paper].run_dir(runs_root)
    left = {path.name for path in directory.iterdir()} - {"log.txt", "waiting"}
    assert left == {"config.json", "done.json", "lock", "metrics.csv", "weights.pt"}
    assert metrics(directory) == metrics(RUNS[paper].run_dir(undisturbed))
    log = (directory / "log.txt").read_text()
    assert log.count("training begins") == begun, "no run is trained by two sweeps"


# ------------------------------------------------------------------------------------------------ kill -9, a full disk


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[tuple[Path, tuple[str, ...]] | None]:
    """A disk of its own at `place`, in a mount namespace: where it is seen from here, and a command that enters it.

    None where nobody may mount one.
    """
    mount = f'mount -t tmpfs -o size={megabytes}m tmpfs "$0" && echo mounted && exec sleep 10000'
    if shutil.which("unshare") is None:
        yield None
        return
    owner = subprocess.Popen(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, str(place)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert owner.stdout is not None
        inside = ("nsenter", f"--target={owner.pid}", "--user", "--mount", "--preserve-credentials", "--wd=.", "--")
        mounted = owner.stdout.readline() == "mounted\n"
        yield (Path(f"/proc/{owner.pid}/root{place}"), inside) if mounted else None
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


def kill(process: subprocess.Popen, runs: Path) -> None:
    """Kill a sweep's process, and nothing but that, while all its runs wait. runs: where they are seen from here."""
    assert len(members(process.pid)) > len(RUNS)  # the runs and their server belong to the group
    process.kill()
    process.communicate()
    wait_until(lambda: not members(process.pid))  # nobody trains on for a sweep that is gone
    for paper, entry in RUNS.items():
        directory = entry.run_dir(runs)
        assert (directory / "checkpoint.pkl").exists() and not (directory / "done.json").exists(), paper
        (directory / "waiting").unlink()


def fill_and_fail(process: subprocess.Popen, runs: Path) -> None:
    """Let the waiting runs go on while the disk they lie on is full: they fail, and lose nothing."""
    checkpoints = {entry: (entry.run_dir(runs) / "checkpoint.pkl").read_bytes() for entry in RUNS.values()}
    fill(runs / "filler")
    (runs / "wait").unlink()
    _, error = process.communicate()
    assert process.returncode == 1 and "Traceback" not in error, error
    assert f"{len(RUNS)} failed" in error and error.count("No space left on device") == len(RUNS), error
    for entry, before in checkpoints.items():
        assert (entry.run_dir(runs) / "checkpoint.pkl").read_bytes() == before
        assert not list(entry.run_dir(runs).glob("*.tmp"))
    (runs / "filler").unlink()


def two_at_once(place: Path, around: tuple[str, ...]) -> None:
    """Let two sweeps end the runs at the same time."""
    first, second = sweep(place, jobs=2, around=around), sweep(place, jobs=2, around=around)
    assert "failed" not in ended(first) + ended(second)


def disturbed(place: Path, copy: Path) -> int:
    """Train all runs by a sweep that is killed, one whose disk runs full, and two that may end them; copy them.
    Returns how often each run is to have begun."""
    place.mkdir()
    with small_disk(place, megabytes=200) as disk:
        seen, inside = disk or (place, ())
        kill(all_waiting(place, inside, seen), seen)
        if disk:
            fill_and_fail(all_waiting(place, inside, seen), seen)
        else:
            (seen / "wait").unlink()
        two_at_once(place, inside)
        shutil.copytree(seen, copy)
    return 3 if disk else 2


# ------------------------------------------------------------------------------------------------ and what comes of it


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for orphans in /proc")
def test_disturbed_sweeps_end_as_if_nothing_was(tmp_path):
    begun = disturbed(tmp_path / "place", tmp_path / "disturbed")
    for paper, [entry] in SMOKE.items():
        importlib.import_module(entry.module).main(entry.config, entry.run_dir(tmp_path / "undisturbed"))
        assert_whole(tmp_path / "disturbed", paper, tmp_path / "undisturbed", begun)
