"""Order of the tests, threads, no waiting for the disk, nothing left on it, and no limits of time for hypothesis."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# A test that is slow because the machine is busy is not a failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# As in a sweep, which has a process per core. Some tests fork, and a fork of a process with OpenMP's threads can hang.
for library in ("OMP", "MKL", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

# Ray's processes are polite (nice 15): beside the other tests they would hardly come to run, for minutes.
os.environ["RAY_worker_niceness"] = "0"

# Nobody cuts the power here. Tests of what reaches the disk, and when, put one of their own in its place.
os.fsync = lambda descriptor: None


@pytest.fixture(scope="session", autouse=True)
def logs_of_stable_baselines3(tmp_path_factory):
    """Every agent of theirs makes a directory for its logs, which else lies in /tmp for ever."""
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("sb3"))


def pytest_collection_modifyitems(items):
    """Begin with the one test of minutes: at the end, other workers would wait for it."""
    items.sort(key=lambda item: "test_disturbed_sweeps" not in item.nodeid)


def pytest_collection_finish():
    """Thousands of tests and the libraries that they import stay: the garbage collector need not walk over them."""
    gc.freeze()
