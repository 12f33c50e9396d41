"""One thread for arithmetic: networks this small gain nothing from more, and runs share the cores."""

import os

import threadpoolctl
import torch


def one_thread() -> None:
    """Limit PyTorch and the BLAS of NumPy and SciPy to one thread in this process.

    Libraries loaded later read the variable (numba loads SciPy's BLAS with the first kernel that multiplies matrices).
    BLAS threads wait for each other: beside other work on the same cores, a run took ten times as long.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, user_api="blas")
