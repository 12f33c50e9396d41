"""The arithmetic floor: how long an update would take if only its sums of products cost time."""

from collections.abc import Callable
from functools import partial

import numpy as np
import threadpoolctl
import torch
from torch import nn

from benchmarks.timing import clock


def layer_flops(network: nn.Module, frame_shape: tuple[int, int, int]) -> list[int]:
    """Floating-point operations of each convolution and linear layer for one frame (height, width, channels), forward;
    0 channels: tile codes.

    A product and its sum count as two operations; biases, activations and everything else as none.
    """
    flops: list[int] = []

    def count(layer: nn.Module, _inputs, output: torch.Tensor) -> None:
        flops.append(2 * layer.weight[0].numel() * output[0].numel())  # inputs of one output, times outputs

    hooks = [m.register_forward_hook(count) for m in network.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    height, width, channels = frame_shape
    frame = torch.zeros(1, channels, height, width) if channels else torch.zeros(1, height, width, dtype=torch.uint8)
    with torch.no_grad():
        network(frame)
    for hook in hooks:
        hook.remove()
    return flops


def update_flops(layers: list[int], batch: int, looks: int) -> int:
    """Operations of one temporal-difference update, given those of each layer for one frame.

    Forward for s costs 1, backward 2 (gradients of weights and of inputs, but not of the first layer's inputs). s' is
    evaluated ``looks`` times: double DQN chooses with one network and evaluates with another.
    """
    return batch * (3 * sum(layers) - layers[0] + looks * sum(layers))


def matmul_rate(side: int = 1024) -> Callable[[], float]:
    """A task for `interleaved`: operations per second of a dense float32 matrix product on this core, by PyTorch or by
    NumPy, whose library the kernels use: by the faster one."""
    a, b, out = (torch.rand(side, side) for _ in range(3))
    products = partial(torch.mm, a, b, out=out), partial(np.dot, a.numpy(), b.numpy(), out.numpy())

    def task() -> float:
        rates = []
        for product in products:
            begin = clock()
            for _ in range(4):
                product()
            rates.append(4 * 2 * side**3 / (clock() - begin))
        return max(rates)

    return task


def products() -> str:
    """What multiplies matrices in the kernels, and for which processor: OPENBLAS_CORETYPE can hold it to an older one,
    at half the speed."""
    found = [library for library in threadpoolctl.threadpool_info() if library["internal_api"] == "openblas"]
    return ", ".join(sorted({f"OpenBLAS {library['version']} for {library['architecture']}" for library in found}))
