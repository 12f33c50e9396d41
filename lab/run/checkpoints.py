"""Files that survive a crash: atomic writes, and checkpoints whose damage is detected.

A checkpoint file is  MAGIC | pickle | length of the pickle (8 bytes) | blake2b digest of the pickle (32 bytes).
The lengths and the digest come last so that a replay memory of several GB is streamed to disk, never copied in memory.
"""

import hashlib
import os
import pickle
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from lab.run.errors import UserError

MAGIC = b"run checkpoint 1\n"
DIGEST_BYTES = 32
FOOTER_BYTES = 8 + DIGEST_BYTES
CHUNK_BYTES = 1 << 22


class Damaged(Exception):
    """A checkpoint file is not what was written. The message says why."""


class _HashingWriter:
    """Pass pickle's output on to a file, and keep its length and digest."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.length = 0
        self.digest = hashlib.blake2b(digest_size=DIGEST_BYTES)

    def write(self, data: Any) -> int:
        self.digest.update(data)
        self.length += memoryview(data).nbytes  # pickle also passes PickleBuffers, which have no len()
        return self.file.write(data)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the file `path`: readers see the old content or the new, even after a crash. Raises OSError."""
    with _replacing(path) as file:
        file.write(data)


def save(directory: Path, payload: Any) -> None:
    """Write `payload` to directory/checkpoint.pkl; the checkpoint before it becomes previous.pkl.

    If writing fails (OSError: disk full, ...), both older files stay untouched.
    """
    newest = directory / "checkpoint.pkl"
    with _replacing(newest, directory / "previous.pkl") as file:
        file.write(MAGIC)
        writer = _HashingWriter(file)
        pickle.Pickler(writer, protocol=5).dump(payload)
        file.write(writer.length.to_bytes(8, "little") + writer.digest.digest())


def load(directory: Path) -> Any | None:
    """Return the newest good checkpoint in `directory`, or None if there is none.

    A damaged checkpoint.pkl is reported on stderr and replaced by previous.pkl. Raises UserError if all are damaged.
    """
    newest = directory / "checkpoint.pkl"
    damaged = []
    for path in (newest, directory / "previous.pkl"):
        try:
            payload = read(path)
        except FileNotFoundError:
            continue
        except Damaged as reason:
            damaged.append(f"{path.name} ({reason})")
            continue
        if damaged:
            print(f"warning: {directory}: {damaged[0]} is damaged; using {path.name}", file=sys.stderr)
            path.replace(newest)  # else the next save would rotate the damaged file over the good one
        return payload
    if damaged:
        files = " and ".join(damaged)
        raise UserError(f"{directory}: every checkpoint is damaged: {files}; delete the directory to start again")
    return None


def read(path: Path) -> Any:
    """Check and unpickle one checkpoint file. Raises Damaged, or UserError if other code or another user wrote it."""
    with path.open("rb") as file:
        if hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid != os.geteuid():
            raise UserError(
                f"{path} belongs to another user, and loading a checkpoint can execute any code; "
                f"if you trust them, resume a copy: cp -r {path.parent} COPY"
            )
        length = os.fstat(file.fileno()).st_size - len(MAGIC) - FOOTER_BYTES
        if length < 0:
            raise Damaged("truncated")
        if file.read(len(MAGIC)) != MAGIC:
            raise Damaged("not a checkpoint")
        digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        for start in range(0, length, CHUNK_BYTES):
            digest.update(file.read(min(CHUNK_BYTES, length - start)))
        footer = file.read(FOOTER_BYTES)
        if int.from_bytes(footer[:8], "little") != length:
            raise Damaged("truncated")
        if footer[8:] != digest.digest():
            raise Damaged("wrong digest")
        file.seek(len(MAGIC))
        try:
            return pickle.load(file)
        except (AttributeError, ImportError) as error:
            raise UserError(
                f"{path} was written by other code ({error}); go back to that commit or delete {path.parent}"
            ) from error


@contextmanager
def _replacing(path: Path, former: Path | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file (*.tmp) for writing; it replaces `path` once it is on the disk.

    former: where the old file is moved. An error leaves no temporary file and changes nothing.
    """
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            _to_disk(file)
        if former is not None:
            with suppress(FileNotFoundError):  # there was none
                path.replace(former)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
