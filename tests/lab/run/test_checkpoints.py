"""Files that survive a crash, damage and each other's writers."""

import multiprocessing
import os
import stat
from pathlib import Path

import numpy as np
import pytest
import torch

from lab.run import checkpoints
from lab.run.errors import UserError
from lab.run.runs import Run
from tests.lab.toy_train import Config

processes = multiprocessing.get_context("fork")
SIZE = 60_000


def test_every_flipped_bit_is_noticed(tmp_path):
    checkpoints.save(tmp_path, {"weights": np.arange(8)})
    path = tmp_path / "checkpoint.pkl"
    good = path.read_bytes()
    for bit in range(0, 8 * len(good), 13):
        content = bytearray(good)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        with pytest.raises(checkpoints.Damaged):
            checkpoints.read(path)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_another_users_checkpoint_executes_nothing_until_it_is_copied(tmp_path, monkeypatch):
    checkpoints.save(tmp_path, {"weights": 1})
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    monkeypatch.setattr(checkpoints.pickle, "load", lambda file: pytest.fail("was loaded"))
    with pytest.raises(UserError, match=r"another user.*cp -r"):
        checkpoints.load(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "checkpoint.pkl"]


def test_large_arrays_and_shared_references_come_back(tmp_path):
    network = torch.nn.Linear(2, 2)
    frames = np.random.default_rng(0).integers(0, 255, (300, 4000), dtype=np.uint8)
    checkpoints.save(tmp_path, {"network": network, "again": network, "bias": network.bias, "frames": frames})
    state = checkpoints.load(tmp_path)
    assert state["network"] is state["again"] and state["network"].bias is state["bias"]
    assert np.array_equal(state["frames"], frames)


def hammer(directory: Path, letter: int) -> None:
    for _ in range(20):
        checkpoints.write_atomically(directory / "table.csv", bytes([letter]) * SIZE)
        checkpoints.save(directory, bytes([letter]) * SIZE)


def test_writers_of_one_file_do_not_hurt_each_other(tmp_path):
    writers = [processes.Process(target=hammer, args=(tmp_path, letter)) for letter in b"abc"]
    for writer in writers:
        writer.start()
    reads = 0
    while any(writer.is_alive() for writer in writers):
        if (tmp_path / "table.csv").exists():
            content = (tmp_path / "table.csv").read_bytes()
            assert len(content) == SIZE and len(set(content)) == 1, "half of one and half of another"
            reads += 1
    assert [writer.exitcode for writer in writers] == [0, 0, 0] and reads > 0
    assert len(set(checkpoints.load(tmp_path))) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "checkpoint.pkl", "previous.pkl"}


def test_a_file_is_for_those_whom_the_umask_lets_in(tmp_path):
    before = os.umask(0o027)
    try:
        checkpoints.write_atomically(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("culprit", ["fsync", "replace"])
def test_after_an_error_nothing_is_left(tmp_path, monkeypatch, culprit):
    checkpoints.write_atomically(tmp_path / "file", b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, culprit, fail)
    with pytest.raises(OSError):
        checkpoints.write_atomically(tmp_path / "file", b"new")
    with pytest.raises(OSError):
        checkpoints.save(tmp_path, "new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


def test_what_gets_a_name_is_on_the_disk_before_and_the_name_after(tmp_path, monkeypatch):
    """A power cut cannot be made here; that the system is asked in the right order can be seen."""
    asked: list[tuple[str, str]] = []
    fsync, replace = os.fsync, os.replace

    def noting_fsync(descriptor: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{descriptor}")).name
        asked.append(("on the disk", "temporary" if name.endswith(".tmp") else name))
        fsync(descriptor)

    def noting_replace(source, target) -> None:
        source, target = Path(source).name, Path(target).name
        asked.append(("temporary" if source.endswith(".tmp") else source, target))
        replace(tmp_path / source, tmp_path / target)

    with Run.open(Config(), tmp_path) as run:
        run.load()
        run.log(1, {"loss": 1.0})
        run.save({})
        monkeypatch.setattr(os, "fsync", noting_fsync)
        monkeypatch.setattr(os, "replace", noting_replace)
        run.save({})
        directory = ("on the disk", tmp_path.name)
        assert asked == [
            ("on the disk", "metrics.csv"), ("on the disk", "temporary"), ("checkpoint.pkl", "previous.pkl"),
            ("temporary", "checkpoint.pkl"), directory,
        ]  # fmt: skip
        asked.clear()
        run.finish({})
        assert asked == [
            ("on the disk", "metrics.csv"), ("on the disk", "temporary"), ("temporary", "done.json"), directory
        ]  # fmt: skip
