"""Compiled kernels that call those of another file."""

import os
import subprocess
import sys
from pathlib import Path

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


def test_kernels_with_sums_in_any_order_are_inlined_wherever_they_are_called():
    """Or the digits would depend on who has compiled them; see `common/mlp_kernels.py`."""
    files = [path for place in ("common", "envs", "papers", "arena") for path in (ROOT / place).rglob("*.py")]
    lines = [line for path in files for line in path.read_text().splitlines() if '"fastmath":' in line]
    assert lines and all('"forceinline": True' in line for line in lines)
