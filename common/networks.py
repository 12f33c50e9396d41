"""Networks that several papers use: plain and stacked multilayer perceptrons, the convolutions of the Nature paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


def lecun_normal_(layer: nn.Linear | nn.Conv2d, bias: float = 0.0) -> nn.Linear | nn.Conv2d:
    """Fill the weights from N(0, 1 / fan_in) and the biases with `bias`, in place; returns the layer.

    fan_in is the number of inputs of one output. LeCun et al. 1998, "Efficient BackProp", Sec. 4.6.
    """
    fan_in = layer.weight[0].numel()
    nn.init.normal_(layer.weight, std=fan_in**-0.5)
    if layer.bias is not None:
        nn.init.constant_(layer.bias, bias)
    return layer


def mlp(sizes: Sequence[int], activation: Callable[[], nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers of `sizes` [inputs, hidden ..., outputs] with `activation` between them, none after the last.

    Maps [..., inputs] to [..., outputs]; initialised like `nn.Linear`.
    """
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), activation()]
    return nn.Sequential(*layers[:-1])


class StackedLinear(nn.Module):
    """`members` independent linear layers as one batched matrix product: [members, batch, in] -> [members, batch, out].

    Every member is initialised like `nn.Linear`. `weight` is [members, in, out] (not transposed as in `nn.Linear`),
    `bias` is [members, 1, out].
    """

    def __init__(self, members: int, n_in: int, n_out: int):
        super().__init__()
        bound = n_in**-0.5
        self.weight = nn.Parameter(torch.empty(members, n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(members, 1, n_out).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x, self.weight)


class StackedMLP(nn.Module):
    """`members` independent networks `mlp(sizes, activation)`, e.g. twin critics, evaluated together.

    Maps [members, batch, in] to [members, batch, out]; an input [batch, in] goes to every member.
    """

    def __init__(self, members: int, sizes: Sequence[int], activation: type[nn.Module] = nn.ReLU):
        super().__init__()
        self.members = members
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise(sizes):
            layers += [StackedLinear(members, n_in, n_out), activation()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            x = x.expand(self.members, -1, -1)
        return self.layers(x)


class NatureTrunk(nn.Module):
    """Convolutions and hidden layer of the Nature DQN (Mnih et al. 2015, "Methods", model architecture).

    `frame_shape` is (height, width, channels) of an observation, both sides at least 36 pixels. Maps float frames
    [batch, channels, height, width], as scaled by the caller, to features [batch, hidden]. LeCun-normal weights,
    biases 0.1. Works in the memory format `channels_last`, which is faster on CPUs; an input in another format is
    converted.
    """

    def __init__(self, frame_shape: Sequence[int], hidden: int = 512):
        super().__init__()
        height, width, channels = frame_shape
        if min(height, width) < 36:
            raise ValueError(f"the convolutions need frames of at least 36 x 36 pixels, not {height} x {width}")
        self.convolutions = nn.Sequential(
            lecun_normal_(nn.Conv2d(channels, 32, kernel_size=8, stride=4), bias=0.1),
            nn.ReLU(),
            lecun_normal_(nn.Conv2d(32, 64, kernel_size=4, stride=2), bias=0.1),
            nn.ReLU(),
            lecun_normal_(nn.Conv2d(64, 64, kernel_size=3, stride=1), bias=0.1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.flat_size = 64 * _side(height) * _side(width)  # 64 for 40 x 40 frames, 3136 for 84 x 84
        self.hidden = nn.Sequential(lecun_normal_(nn.Linear(self.flat_size, hidden), bias=0.1), nn.ReLU())
        self.n_features = hidden
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # missing in the stubs

    def forward(self, frames: Tensor) -> Tensor:
        return self.hidden(self.convolutions(frames.contiguous(memory_format=torch.channels_last)))


class NatureConv(nn.Module):
    """`NatureTrunk` with a linear head: float frames [batch, channels, height, width] -> [batch, n_outputs].

    The head has LeCun-normal weights and biases 0.
    """

    def __init__(self, frame_shape: Sequence[int], n_outputs: int, hidden: int = 512):
        super().__init__()
        self.trunk = NatureTrunk(frame_shape, hidden)
        self.head = lecun_normal_(nn.Linear(hidden, n_outputs))

    def forward(self, frames: Tensor) -> Tensor:
        return self.head(self.trunk(frames))


def _side(pixels: int) -> int:
    """Side of the last feature map, from the side of the frame."""
    for kernel, stride in ((8, 4), (4, 2), (3, 1)):
        pixels = (pixels - kernel) // stride + 1
    return pixels
