"""Twins: learners whose update is a CPU kernel, each beside its literal form in PyTorch or NumPy, the one to read.

A train script names the literal class. A table at its top says which twin runs instead:

    FAST = {SAC: FastSAC, TD3: FastTD3}
    agent = fast(SAC, FAST, device)(n_states, n_actions, device=device)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from common.networks import StackedLinear, StackedMLP

Learner = TypeVar("Learner")


def fast(literal: type[Learner], twins: Mapping[Any, Any], device: str = "cpu") -> type[Learner]:
    """Return the class to run: the twin of `literal` if `twins` has one and `device` is the CPU, else `literal`.

    Leave `device` out if the twins work with networks on any device.
    """
    return twins.get(literal, literal) if device == "cpu" else literal


class Twin:
    """Base of twins whose networks are views of flat vectors. It comes before the literal class, whose arguments the
    twin takes: `class FastSAC(Twin, SAC)`. A pickled copy continues identically.
    """

    vectors: Sequence[np.ndarray]
    """Everything that learning changes: parameters, targets, Adam's moments."""
    kept: ClassVar[tuple[str, ...]] = ("updates",)
    """Attributes that are pickled with them."""

    def __init__(self, *arguments: Any, **settings: Any):
        """ValueError for a device other than the CPU."""
        device = settings.get("device", "cpu")
        if device != "cpu":
            kinds = type(self).__mro__
            literal = kinds[kinds.index(Twin) + 1].__name__
            raise ValueError(f"{type(self).__name__} works on the CPU only; for {device}, use {literal}")
        super().__init__(*arguments, **settings)
        self._arguments = arguments, settings
        self.updates = 0
        """Number of Adam's steps."""

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in self.kept}
        return {"arguments": self._arguments, "kept": kept, "vectors": [*self.vectors]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arguments, settings = state["arguments"]
        type(self).__init__(self, *arguments, **settings)
        self.__dict__.update(state["kept"])
        for vector, values in zip(self.vectors, state["vectors"], strict=True):
            vector[:] = values  # in place: the networks are views


def flattened(tensors: Sequence[Tensor]) -> np.ndarray:
    """Return all numbers of the tensors as one vector [p] and turn the tensors into views of it."""
    flat = torch.cat([tensor.detach().flatten() for tensor in tensors])
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors])):
        tensor.data = part.view_as(tensor)
    return flat.numpy()


def flattened_members(stacked: StackedMLP) -> np.ndarray:
    """Return the stacked networks' parameters as one vector per member [members, p] and turn them into views of it.

    Each vector is in the order of `common.networks.mlp`: weights [out, in], where `StackedLinear` has [in, out].
    """
    layers = [layer for layer in stacked.layers if isinstance(layer, StackedLinear)]
    parts = [part for layer in layers for part in (layer.weight.detach().transpose(1, 2), layer.bias.detach())]
    flat = torch.cat([part.flatten(start_dim=1) for part in parts], dim=1)
    views = iter(flat.split([part[0].numel() for part in parts], dim=1))
    for layer in layers:
        layer.weight.data = next(views).unflatten(1, layer.weight.shape[:0:-1]).transpose(1, 2)
        layer.bias.data = next(views).unsqueeze(1)
    return flat.numpy()


def moments(*vectors: np.ndarray) -> tuple[np.ndarray, ...]:
    """Adam's moments for vectors of these sizes: mean and square [2, p] of each, zeros at the start."""
    return tuple(np.zeros((2, vector.size), np.float32) for vector in vectors)


def checked(values: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]], least: int = 1) -> list[np.ndarray]:
    """Return the arrays as kernels, which check nothing, need them: float32 and contiguous.

    ValueError unless they have these shapes. The first shape begins with the number of transitions, at least `least`.
    """
    found = [value.shape for value in values]
    if found != list(shapes) or shapes[0][0] < least:
        raise ValueError(f"a batch needs the shapes {list(shapes)} and a first axis of at least {least}, not {found}")
    return [np.ascontiguousarray(value, np.float32) for value in values]
