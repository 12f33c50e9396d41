"""The arithmetic floor: how long an update would take if only its sums of products cost time."""

from collections.abc import Callable

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
    """A task for `interleaved`: operations per second of a dense float32 matrix product on this core."""
    a, b = torch.rand(side, side), torch.rand(side, side)
    out = torch.empty(side, side)

    def task() -> float:
        begin = clock()
        for _ in range(8):
            torch.mm(a, b, out=out)
        return 8 * 2 * side**3 / (clock() - begin)

    return task
