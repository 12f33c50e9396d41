import threadpoolctl
import torch

from lab.threads import one_thread


def test_one_thread_is_left_to_torch_and_to_numpy():
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
