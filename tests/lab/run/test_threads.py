import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import threadpoolctl
import torch

from lab.run.threads import one_thread

LATER = """
import json
import threadpoolctl
from lab.run.threads import one_thread
def blas():
    found = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return {pool["filepath"]: pool["num_threads"] for pool in found}
one_thread()
before = blas()
import scipy.linalg
print(json.dumps([before, blas()]))
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="with one core there is one thread")
def test_a_library_that_is_loaded_later_has_one_thread_too():
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", LATER], cwd=root, env=kept, capture_output=True, text=True, check=True)
    before, after = json.loads(done.stdout)
    assert len(after) > len(before) and set(after.values()) == {1}


def test_one_thread_is_left_to_torch_and_to_numpy(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")  # is put back
    before = torch.get_num_threads()
    blas = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        torch.set_num_threads(2)
        try:
            one_thread()
            assert torch.get_num_threads() == 1
            pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
            assert pools and all(pool["num_threads"] == 1 for pool in pools)
        finally:
            torch.set_num_threads(before)
    after = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    assert after == blas  # other tests are not touched
