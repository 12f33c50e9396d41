"""Where numba keeps compiled kernels, and when it compiles them anew."""

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
    """Set NUMBA_CACHE_DIR to a folder of this process and its children where numba could keep kernels nowhere else.

    Numba keeps them beside the code, else in the user's cache, and raises an error when it can write neither. In the
    folder they live as long as the process: every command compiles them again.
    """
    if "NUMBA_CACHE_DIR" in os.environ or _writable(Path(__file__).parent / "__pycache__"):
        return
    if not _writable(Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "numba"):
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="kernels-")
        atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)


def njit_calling(*modules: ModuleType, **options: Any) -> Callable[[Callable], Any]:
    """As `njit(cache=True, **options)`, for kernels that call those of other modules.

    Numba notices only a change of the file in which a kernel stands: it would go on with a copy of what the modules
    held when the kernel was compiled.
    """
    from numba import njit  # not above: when numba is imported, it looks where it may keep kernels

    sources = hashlib.sha256(b"".join(Path(str(module.__file__)).read_bytes() for module in modules)).hexdigest()

    def decorate(function: Callable) -> Any:
        kernel = njit(cache=True, **options)(function)
        if kernel is not function:  # as with NUMBA_DISABLE_JIT=1
            index = kernel._cache._cache_file
            index._source_stamp = index._source_stamp, sources
        return kernel

    return decorate


def _writable(folder: Path) -> bool:
    """Can files be made in `folder`? Found out as numba does it: by making one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
