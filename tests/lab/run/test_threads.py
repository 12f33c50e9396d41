import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LATER = """
import json
import threadpoolctl
import torch
from lab.run.threads import one_thread
def blas():
    found = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return {pool["filepath"]: pool["num_threads"] for pool in found}
one_thread()
before = blas()
import scipy.linalg
print(json.dumps([before, blas(), torch.get_num_threads()]))
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="with one core there is one thread")
def test_one_thread_is_left_to_torch_and_numpy_and_to_what_is_loaded_later():
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", LATER], cwd=root, env=kept, capture_output=True, text=True, check=True)
    before, after, of_torch = json.loads(done.stdout)
    assert before and len(after) > len(before) and {of_torch, *before.values(), *after.values()} == {1}
