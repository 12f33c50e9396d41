"""Order of the tests, threads, no waiting for the disk, nothing left on it, and limits of time: hangs only."""

import faulthandler
import gc
import os
import threading

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


test_over = threading.Event()


def pytest_configure(config):
    config.real_stderr = os.dup(2)  # while a test runs, pytest keeps what is written to 2


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """End the process, with the place where it is, when a test hangs."""
    global test_over
    test_over = threading.Event()
    watcher = threading.Thread(target=end_when_it_hangs, args=(test_over, item.config.real_stderr), daemon=True)
    watcher.start()
    try:
        return (yield)
    finally:
        test_over.set()
        watcher.join()


def pytest_enter_pdb():
    """Who debugs has time."""
    test_over.set()


def end_when_it_hangs(over, stderr, left=300.0, every=10.0):
    """After `left` seconds of a quiet machine. Where more processes run than there are cores, they go by more slowly.

    Python's own timer ends the process, since a kernel in an endless loop lets no thread of Python run.
    """
    while left > 0 and not over.is_set():
        slower = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        faulthandler.dump_traceback_later(left * slower, exit=True, file=stderr)
        over.wait(every)
        left -= every / slower
    over.wait()
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: a fifth of the time passes in waiting, for Ray, or until it is time to kill."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_modifyitems(items):
    """Begin with the one test of minutes: at the end, other workers would wait for it."""
    items.sort(key=lambda item: "test_disturbed_sweeps" not in item.nodeid)


def pytest_collection_finish():
    """Thousands of tests and the libraries that they import stay: the garbage collector need not walk over them."""
    gc.freeze()
