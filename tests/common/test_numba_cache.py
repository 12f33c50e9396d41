"""Compiled kernels that call those of another file."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from numba.core.dispatcher import Dispatcher

ROOT = Path(__file__).resolve().parents[2]
CALLER = """
import callee
from common.numba_cache import njit_calling

@njit_calling(callee)
def caller():
    return callee.number()

print(caller(), len(caller.stats.cache_hits))
"""


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    (tmp_path / "caller.py").write_text(CALLER)
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "PYTHONDONTWRITEBYTECODE": "1"}
    printed = []
    for number in (1, 1, 2):
        (tmp_path / "callee.py").write_text(f"from numba import njit\n\n@njit\ndef number():\n    return {number}\n")
        command = [sys.executable, "-m", "caller"]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        printed.append(done.stdout.split())
    assert printed == [["1", "0"], ["1", "1"], ["2", "0"]]


def test_every_kernel_that_calls_one_of_another_file_is_compiled_anew_with_it():
    careful, careless = [], []
    for path in (path for top in ("common", "envs", "papers") for path in (ROOT / top).rglob("*.py")):
        if re.search(r"^@(njit|kernel)", path.read_text(), re.MULTILINE):
            module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for name, kernel in vars(module).items():
                if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == module.__name__ and calls(kernel):
                    stamp = kernel._cache._cache_file._source_stamp  # njit_calling puts a digest behind numba's own
                    (careful if isinstance(stamp[-1], str) else careless).append(f"{module.__name__}.{name}")
    assert {"envs.throwing.vector._advance_hands", "papers.bias_reduced_her.agents.fast_ddpg.update"} <= set(careful)
    assert not careless, "use njit_calling"


def calls(kernel: Dispatcher) -> bool:
    """Whether a kernel calls others that stand in another file, by their names or as those of a module."""
    function = kernel.py_func
    for value in (function.__globals__.get(name) for name in function.__code__.co_names):
        if isinstance(value, Dispatcher) and value.py_func.__module__ != function.__module__:
            return True
        if isinstance(value, ModuleType) and value.__name__.startswith(("common.", "envs.", "papers.")):
            return True
    return False


def test_kernels_with_sums_in_any_order_are_inlined_wherever_they_are_called():
    """Or the digits would depend on who has compiled them; see `common/mlp_kernels.py`."""
    files = [path for place in ("common", "envs", "papers", "arena") for path in (ROOT / place).rglob("*.py")]
    lines = [line for path in files for line in path.read_text().splitlines() if '"fastmath":' in line]
    assert lines and all('"forceinline": True' in line for line in lines)
