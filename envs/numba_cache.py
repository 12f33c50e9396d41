"""When kernels that call those of other files are compiled anew: as common/numba_cache.py, for environments, which
import nothing but environments."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from numba import njit


def njit_calling(*modules: ModuleType) -> Callable[[Callable], Any]:
    """As `njit(cache=True)`, for kernels that call those of other modules, or use their constants.

    Numba notices only a change of the file in which a kernel stands: it would go on with a copy of what the modules
    held when the kernel was compiled.
    """
    sources = hashlib.sha256(b"".join(Path(str(module.__file__)).read_bytes() for module in modules)).hexdigest()

    def decorate(function: Callable) -> Any:
        kernel: Any = njit(cache=True)(function)
        if kernel is not function:  # as with NUMBA_DISABLE_JIT=1
            index = kernel._cache._cache_file
            index._source_stamp = index._source_stamp, sources
        return kernel

    return decorate
