"""One thread for arithmetic: the networks here are too small to gain from more, and runs share the cores."""

import threadpoolctl
import torch


def one_thread() -> None:
    """Let PyTorch and NumPy's BLAS use one thread from now on, in this process."""
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1, user_api="blas")
