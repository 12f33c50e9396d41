"""Where numba keeps compiled kernels, and when it recompiles them."""

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def keep_kernels_somewhere() -> None:
    """Point NUMBA_CACHE_DIR at a temporary folder if numba can keep kernels nowhere else.

    Numba keeps them beside the code, else in the user's cache, and raises an error when it can write to neither. The
    folder serves this process and its children and is deleted at the end: every command compiles its kernels again.
    """
    if "NUMBA_CACHE_DIR" in os.environ or _writable(Path(__file__).parent / "__pycache__"):
        return
    if not _writable(Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "numba"):
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="kernels-")
        atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)


def njit_calling(*modules: ModuleType, **options: Any) -> Callable[[Callable], Any]:
    """Like `njit(cache=True, **options)`, for kernels that call those of other modules.

    Numba only notices changes to the file that holds a kernel. Without this, the kernel would go on using the other
    modules as they were when it was compiled.
    """
    from numba import njit  # not at the top: on import, numba looks for a place to keep kernels

    sources = hashlib.sha256(b"".join(Path(str(module.__file__)).read_bytes() for module in modules)).hexdigest()

    def decorate(function: Callable) -> Any:
        kernel = njit(cache=True, **options)(function)
        if kernel is not function:  # they are the same with NUMBA_DISABLE_JIT=1
            index = kernel._cache._cache_file
            index._source_stamp = index._source_stamp, sources
        return kernel

    return decorate


def _writable(folder: Path) -> bool:
    """Whether files can be created in `folder`; as numba does, find out by creating one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
