"""The network that all of the paper's methods use: an MLP with Softsign units, made fast for small batches on a CPU.

The learners work on a network's outputs: they ask for them (`evaluate`), work out in which direction each should move,
and hand that back (`backward`), as Algorithms 3 and 4 do. On batches of 128 or 256 states PyTorch's own graph spends
about as much time around its matrix products as in them; on a CPU both directions are therefore written out in NumPy,
on the parameters' own memory. On a GPU they are PyTorch's. Another network, recurrent say, needs the same methods:
`act`, `evaluate`, `backward` and, as DDPG's critic, `input_gradient`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from common.networks import mlp


class MLP(nn.Module):
    """Linear layers of `sizes` [inputs, hidden ..., outputs] with Softsign between them (App. A).

    Hidden weights and biases are uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010, which the paper
    cites; its own formula lacks the root), the last layer's weights in +-0.1 / sqrt(fan_in), its biases 0: outputs are
    near zero at first. As a module it maps [..., inputs] to [..., outputs].
    """

    def __init__(self, sizes: Sequence[int]):
        super().__init__()
        self.layers = mlp(sizes, nn.Softsign)
        *hidden, last = (layer for layer in self.layers if isinstance(layer, nn.Linear))
        for layer in hidden:
            bound = math.sqrt(6.0 / (layer.in_features + layer.out_features))
            nn.init.uniform_(layer.weight, -bound, bound)
            nn.init.uniform_(layer.bias, -bound, bound)
        bound = 0.1 / math.sqrt(last.in_features)
        nn.init.uniform_(last.weight, -bound, bound)
        nn.init.zeros_(last.bias)
        self._graph: Tensor | None = None
        self._weights: list[np.ndarray] = []  # views, see _look
        self._biases: list[np.ndarray] = []
        self._weight_gradients: list[np.ndarray] = []
        self._bias_gradients: list[np.ndarray] = []
        self._passed: list[np.ndarray] = []

    @property
    def _device(self) -> torch.device:
        return next(self.parameters()).device

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)

    def act(self, x: np.ndarray) -> np.ndarray:
        """Outputs [..., outputs] for states [..., inputs], float32, where no gradient is needed."""
        if not self._look():
            with torch.no_grad():
                return self.layers(torch.from_numpy(x).to(self._device)).cpu().numpy()
        return self._run(x)[-1]

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """As `act` for a batch [batch, inputs], remembered for `backward`."""
        if not self._look():
            self._graph = self.layers(torch.from_numpy(x).to(self._device))
            return self._graph.detach().cpu().numpy()
        self._passed = [x, *self._run(x)]
        return self._passed[-1]

    def backward(self, gradient: np.ndarray) -> None:
        """Set the parameters' gradients; `gradient` [batch, outputs] is a loss's at the outputs last evaluated.

        They are overwritten where they lie: there is nothing to set to zero, and nothing must replace them.
        """
        if not self._look():
            self.zero_grad()
            self._graph.backward(torch.from_numpy(gradient).to(self._device))  # type: ignore[union-attr]
            return
        gradient = gradient.astype(np.float32, copy=False)
        for k in reversed(range(len(self._weights))):
            np.matmul(gradient.T, self._passed[k], out=self._weight_gradients[k])
            np.sum(gradient, axis=0, out=self._bias_gradients[k])
            if k:
                gradient = gradient @ self._weights[k]
                gradient *= _softsign_slope(self._passed[k])

    def input_gradient(self, x: np.ndarray) -> np.ndarray:
        """Gradient of the sum of all outputs with respect to the inputs x, [batch, inputs] float32."""
        if not self._look():
            inputs = torch.from_numpy(x).to(self._device).requires_grad_()
            return torch.autograd.grad(self.layers(inputs).sum(), inputs)[0].cpu().numpy()
        outputs = self._run(x)
        gradient = np.ones_like(outputs[-1])
        for k in reversed(range(1, len(self._weights))):
            gradient = gradient @ self._weights[k]
            gradient *= _softsign_slope(outputs[k - 1])
        return gradient @ self._weights[0]

    # ---- NumPy's view of the parameters: what the optimiser changes is seen at once ----------------------------------

    def _look(self) -> bool:
        """Have the views at hand; False where there are none to be had, on a GPU."""
        if self._weights:
            return True
        parameters = list(self.parameters())
        if parameters[0].is_cuda:
            return False
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
        views = [(parameter.detach().numpy(), parameter.grad.numpy()) for parameter in parameters]  # type: ignore[union-attr]
        self._weights, self._weight_gradients = (list(column) for column in zip(*views[0::2]))
        self._biases, self._bias_gradients = (list(column) for column in zip(*views[1::2]))
        return True

    def _run(self, x: np.ndarray) -> list[np.ndarray]:
        """Outputs of every layer, [..., units] each; the last one is linear."""
        outputs = []
        for k, (weight, bias) in enumerate(zip(self._weights, self._biases)):
            x = x @ weight.T
            x += bias
            if k < len(self._weights) - 1:
                size = np.abs(x)
                size += 1.0
                x /= size  # Softsign
            outputs.append(x)
        return outputs

    def _apply(self, fn, recurse=True):
        """Called by `to` and its like, which move parameters to other memory."""
        self._weights = []
        return super()._apply(fn, recurse)

    def __getstate__(self) -> dict:
        """Copies, pickled ones too, look at their own parameters."""
        views = ("_weights", "_biases", "_weight_gradients", "_bias_gradients", "_passed")
        return self.__dict__ | {name: [] for name in views} | {"_graph": None}


def _softsign_slope(y: np.ndarray) -> np.ndarray:
    """Derivative of Softsign where its value is y: (1 - |y|)^2."""
    slope = np.abs(y)
    np.subtract(1.0, slope, out=slope)
    slope *= slope
    return slope


@torch.no_grad()
def soft_update(targets: Sequence[Tensor], trained: Sequence[Tensor], rate: float) -> None:
    """target <- (1 - rate) target + rate trained, for lists of parameters."""
    torch._foreach_lerp_(list(targets), list(trained), rate)
