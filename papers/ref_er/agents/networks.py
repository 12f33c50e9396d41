"""The interface of a network, the MLP with Softsign units that all of the paper's methods use, and Adam.

The learners work on a network's outputs: they compute them (`evaluate`), work out in which direction each should move,
and pass that back (`backward`), as Algorithms 3 and 4 do. On batches of 128 or 256 states PyTorch's own graph spends
about as much time around its matrix products as in them. On a CPU, forward, backward and Adam are therefore kernels on
one flat vector, of which the module's parameters are views. On a GPU they are PyTorch's. The recurrent network of Sec.
5.4 is in recurrent.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softsign

from common import mlp_kernels as k
from common.networks import mlp
from common.numba_cache import njit_calling

ADAM_EPSILON = 1.2e-7
"""Not in the paper; the authors' program has it."""


class Network(nn.Module):
    """The interface of a network, with PyTorch's graph; subclasses use kernels where `_by_kernels`.

    `sizes`: those of the inputs of a step, the hidden layers and the outputs.
    """

    sizes: tuple[int, ...]
    _flat: tuple[Tensor, Tensor] | None
    _graph: Tensor | None
    _rooms: list[Any]

    def act(self, x: np.ndarray) -> np.ndarray:
        """Outputs [..., outputs] for inputs [..., inputs], float32, where no gradient is needed."""
        with torch.no_grad():
            return self(torch.from_numpy(x).to(self.flat()[0])).cpu().numpy()

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """As `act` for a batch, which is kept for `backward`."""
        self._graph = self(torch.from_numpy(x).to(self.flat()[0]))
        return self._graph.detach().cpu().numpy()

    def backward(self, gradient: np.ndarray) -> None:
        """Set the parameters' gradients; `gradient` [batch, outputs] is that of a loss at the outputs last evaluated.

        They are overwritten in place: there is no need to zero them, and nothing must replace them.
        """
        self.flat()[1].zero_()
        self._graph.backward(torch.from_numpy(gradient).to(self._graph))  # type: ignore[union-attr]

    def input_gradient(self, x: np.ndarray) -> np.ndarray:
        """Gradient of the sum of all outputs with respect to the inputs x, float32."""
        inputs = torch.from_numpy(x).to(self.flat()[0]).requires_grad_()
        return torch.autograd.grad(self(inputs).sum(), inputs)[0].cpu().numpy()

    def flat(self) -> tuple[Tensor, Tensor]:
        """All parameters and their gradient, a vector [p] each; the module's own are views of them."""
        if self._flat is None:
            parameters = list(self.parameters())
            flat = torch.cat([parameter.detach().flatten() for parameter in parameters])
            self._flat = flat, torch.zeros_like(flat)
            counts = [parameter.numel() for parameter in parameters]
            for parameter, values, gradient in zip(parameters, *(vector.split(counts) for vector in self._flat)):
                parameter.data, parameter.grad = values.view_as(parameter), gradient.view_as(parameter)
        return self._flat

    def _by_kernels(self) -> bool:
        """Whether the kernels can be used: not on a GPU or in another precision."""
        flat, _ = self.flat()
        return flat.device.type == "cpu" and flat.dtype == torch.float32

    def _forget(self) -> None:
        """Drop the flat vector, the graph and the batch."""
        self._flat = self._graph = None
        self._batch = np.empty((0, 0), np.float32)
        self._rooms = [np.empty(0, np.float32)] * 3

    def _apply(self, fn, recurse=True):
        """Called by `to` and the like, which move parameters to other memory."""
        self._forget()
        for parameter in self.parameters():
            parameter.grad = None
        return super()._apply(fn, recurse)

    def __getstate__(self) -> dict:
        """Copies, pickled ones too, get their own vector."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_flat", "_graph", "_rooms")}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self._forget()


def first_hidden_(parameter: Tensor, fan_in: int, fan_out: int) -> None:
    """Fill from +-sqrt(6 / (fan_in + fan_out)), uniformly (Glorot and Bengio 2010), in place."""
    bound = math.sqrt(6.0 / (fan_in + fan_out))
    nn.init.uniform_(parameter, -bound, bound)


def first_last_(layer: nn.Linear) -> None:
    """Fill the weights of a last layer from +-0.1 / sqrt(fan_in), uniformly, its biases with 0, in place."""
    bound = 0.1 / math.sqrt(layer.in_features)
    nn.init.uniform_(layer.weight, -bound, bound)
    nn.init.zeros_(layer.bias)


class MLP(Network):
    """Linear layers of `sizes` [inputs, hidden ..., outputs] with Softsign between them (App. A).

    Hidden weights and biases are uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010, which the paper
    cites; its own formula lacks the root), the last layer's weights in +-0.1 / sqrt(fan_in), its biases 0: outputs
    start near zero. As a module it maps [..., inputs] to [..., outputs].

    residual: a hidden layer adds its input to its output if both have the same width, as in the authors' program; in
    PyTorch only.
    """

    def __init__(self, sizes: Sequence[int], residual: bool = False):
        super().__init__()
        self.sizes, self.residual = tuple(sizes), residual
        self.layers = mlp(sizes, nn.Softsign)
        *hidden, last = self._linear()
        for layer in hidden:
            first_hidden_(layer.weight, layer.in_features, layer.out_features)
            first_hidden_(layer.bias, layer.in_features, layer.out_features)
        first_last_(last)
        self._forget()

    def _linear(self) -> list[nn.Linear]:
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def forward(self, x: Tensor) -> Tensor:
        if not self.residual:
            return self.layers(x)
        first, *hidden, last = self._linear()
        x = softsign(first(x))
        for layer in hidden:
            out = softsign(layer(x))
            x = out + x if out.shape == x.shape else out
        return last(x)

    def act(self, x: np.ndarray) -> np.ndarray:
        if not self._by_kernels():
            return super().act(x)
        batch = np.ascontiguousarray(x, np.float32).reshape(-1, self.sizes[0])
        outputs = self._forward(batch, self._room(0, len(batch)))
        return outputs.reshape(*x.shape[:-1], self.sizes[-1])

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        if not self._by_kernels():
            return super().evaluate(x)
        self._batch = np.ascontiguousarray(x, np.float32)
        return self._forward(self._batch, self._room(1, len(x)))

    def backward(self, gradient: np.ndarray) -> None:
        if not self._by_kernels():
            return super().backward(gradient)
        n, (parameters, grad_parameters) = len(self._batch), self.flat()
        of_outputs = self._room(2, n)
        of_outputs[-gradient.size :] = gradient.ravel()
        k.mlp_backward(
            self._batch, parameters.numpy(), self.sizes, self._room(1, n), of_outputs, grad_parameters.numpy(),
            k.SOFTSIGN,
        )  # fmt: skip

    def input_gradient(self, x: np.ndarray) -> np.ndarray:
        if not self._by_kernels():
            return super().input_gradient(x)
        n, x = len(x), np.ascontiguousarray(x, np.float32)
        outputs, of_outputs, gradient = self._room(0, n), self._room(2, n), np.empty_like(x)
        self._forward(x, outputs)
        of_outputs[-n * self.sizes[-1] :] = 1.0
        k.mlp_backward_inputs(self.flat()[0].numpy(), self.sizes, outputs, of_outputs, gradient, k.SOFTSIGN)
        return gradient

    def _by_kernels(self) -> bool:
        """As above, and not for a residual network."""
        return super()._by_kernels() and not self.residual

    def _room(self, which: int, n: int) -> np.ndarray:
        """Room for the outputs of all layers, see `mlp_outputs`: 0 of `act`, 1 of `evaluate`, 2 for gradients."""
        size = n * sum(self.sizes[1:])
        if len(self._rooms[which]) < size:
            self._rooms[which] = np.empty(size, np.float32)
        return self._rooms[which][:size]

    def _forward(self, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """The network's outputs [n, outputs], a copy."""
        return k.mlp_forward(x, self.flat()[0].numpy(), self.sizes, outputs, k.SOFTSIGN).copy()


@njit_calling(k, **k.OPTIONS)
def _adam(parameters, gradient, mean, square, step, lr, decay):
    if decay != 0.0:
        for i in range(parameters.size):
            gradient[i] += np.float32(decay) * parameters[i]
    k.adam(parameters, gradient, mean, square, step, lr, ADAM_EPSILON)


class Adam:
    """Adam (App. A) for a network and further parameters, whose gradients are in `grad`.

    weight_decay: L2 coefficient; the parameters times it are added to their gradients.
    """

    def __init__(self, network: Network, *others: nn.Parameter, weight_decay: float = 0.0):
        self.network, self.others, self.weight_decay, self.steps = network, others, weight_decay, 0
        self.moments = [(torch.zeros_like(values), torch.zeros_like(values)) for values, _ in self._vectors()]

    def _vectors(self) -> list[tuple[Tensor, Tensor]]:
        return [self.network.flat(), *((one.data, one.grad) for one in self.others)]  # type: ignore[list-item]

    def step(self, lr: float) -> None:
        """Update all parameters."""
        self.steps += 1
        for (values, gradient), (mean, square) in zip(self._vectors(), self.moments):
            if values.device.type == "cpu" and values.dtype == torch.float32:
                numbers = (vector.numpy() for vector in (values, gradient, mean, square))
                _adam(*numbers, self.steps, lr, self.weight_decay)
                continue
            gradient = gradient.add(values, alpha=self.weight_decay)
            mean.lerp_(gradient, 1 - 0.9)
            square.mul_(0.999).addcmul_(gradient, gradient, value=1 - 0.999)
            size = (square / (1 - 0.999**self.steps)).sqrt_().add_(ADAM_EPSILON)
            values.addcdiv_(mean, size, value=-lr / (1 - 0.9**self.steps))


@contextmanager
def subnormals_as_zero() -> Iterator[None]:
    """Treat numbers below 1.2e-38 as zero inside the block, in this thread.

    The weight decay of DDPG's critic (App. A) shrinks unused weights of a recurrent one until their gradients are that
    small, and a processor multiplies such numbers many times slower: a gradient step took 66 ms instead of 18.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@torch.no_grad()
def soft_update(targets: Sequence[Tensor], trained: Sequence[Tensor], rate: float) -> None:
    """target <- (1 - rate) target + rate trained, for lists of parameters."""
    torch._foreach_lerp_(list(targets), list(trained), rate)
