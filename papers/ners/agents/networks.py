"""Networks of SAC and TD3: an actor that NumPy can evaluate on single states, and twin critics."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from common.networks import StackedLinear, StackedMLP, mlp


class Actor(nn.Module):
    """States [n, s] -> [n, outputs], with ReLU between layers."""

    def __init__(self, n_states: int, hidden: tuple[int, ...], n_outputs: int):
        super().__init__()
        self.layers = mlp([n_states, *hidden, n_outputs])

    def forward(self, state: Tensor) -> Tensor:
        return self.layers(state)

    def one(self, state: np.ndarray) -> np.ndarray:
        """Outputs for one state [s]; on a CPU in NumPy, in a quarter of the time."""
        parameters = list(self.layers.parameters())
        if parameters[0].is_cuda:
            with torch.no_grad():
                return self.layers(torch.from_numpy(state).to(parameters[0].device)).cpu().numpy()
        *hidden, (weight, bias) = zip(*[iter(p.detach().numpy() for p in parameters)] * 2)
        for w, b in hidden:
            state = np.maximum(w @ state + b, 0.0)
        return weight @ state + bias


class Critics(nn.Module):
    """Two independent values of states [n, s] and actions [n, a]: [2, n]."""

    def __init__(self, n_states: int, n_actions: int, hidden: tuple[int, ...]):
        super().__init__()
        self.members = StackedMLP(2, [n_states + n_actions, *hidden, 1])

    def forward(self, state: Tensor, action: Tensor) -> Tensor:
        return self.members(torch.cat([state, action], dim=1)).squeeze(2)

    def first(self, state: Tensor, action: Tensor) -> Tensor:
        """The first value alone, [n]."""
        x = torch.cat([state, action], dim=1)
        for layer in self.members.layers:
            x = torch.addmm(layer.bias[0], x, layer.weight[0]) if isinstance(layer, StackedLinear) else layer(x)
        return x.squeeze(1)


def state_dicts(**networks: nn.Module) -> dict[str, Tensor]:
    """Parameters of several networks by name, e.g. "actor.layers.0.weight"."""
    return {f"{name}.{key}": value for name, network in networks.items() for key, value in network.state_dict().items()}


def descend(loss: Tensor, parameters: list[nn.Parameter], adam: torch.optim.Optimizer) -> None:
    """One step of `adam` on `parameters`; no other gradients are computed."""
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
        parameter.grad = gradient
    adam.step()
