"""Where numba keeps compiled kernels when neither the checkout nor the user's cache can be written."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path


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


def _writable(folder: Path) -> bool:
    """Can files be made in `folder`? Found out as numba does it: by making one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
