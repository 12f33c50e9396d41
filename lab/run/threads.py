"""One thread for arithmetic: the networks here are too small to gain from more, and runs share the cores."""

import os

import threadpoolctl
import torch


def one_thread() -> None:
    """Let PyTorch and BLAS, NumPy's and SciPy's, use one thread from now on, in this process.

    What is loaded later (numba loads SciPy's BLAS with the first kernel that multiplies matrices) reads the variable.
    Threads of BLAS wait for each other: beside other work on the same cores a run took ten times as long.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, user_api="blas")
