"""The recurrent network of the flow-control task (Sec. 5.4): two layers of 32 LSTM cells, over windows of 16 steps.

No hidden state is stored. Both when acting and when replaying a step, the network starts from zeros up to 16 steps
earlier (not before the episode begins) and reads on to the step in question. Only there has it outputs, and only from
there do gradients flow back through the window. A network's input is therefore a window [W, 1 + inputs]: each step's
inputs follow a 1, or a 0 where the episode had not begun and the cells stay zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn

from papers.ref_er.agents.acer import SegmentMemory
from papers.ref_er.agents.networks import Network, first_hidden_, first_last_
from papers.ref_er.memory.memory import EpisodeMemory
from papers.ref_er.recurrent.lstm_kernels import lstm_backward, lstm_forward, lstm_input_gradient

GATES = (-1.0, 1.0, 0.0, -1.0)
"""Initial biases of input gate, forget gate, cell input and output gate. Not in the paper; those of the gates are from
the authors' program."""


class Fan(NamedTuple):
    """Windows whose last step has several inputs each: windows [B, W, 1 + inputs], last inputs [K, inputs], those of
    window b at b, b + B, b + 2 B, ..."""

    first: np.ndarray
    last: np.ndarray

    def windows(self) -> np.ndarray:
        """One for each last input, [K, W, 1 + inputs]."""
        found = np.tile(self.first, (len(self.last) // len(self.first), 1, 1))
        found[:, -1, 1:] = self.last
        return found


class LSTM(Network):
    """Layers of LSTM cells (Hochreiter and Schmidhuber 1997, with forget gates) and a linear one, built like an `MLP`.

    sizes: [inputs of a step, cells ..., outputs], the same number of cells in each layer. Weights of cells are uniform
    in +-sqrt(6 / (fan_in + fan_out)), for each gate by itself. As a module it maps windows [..., W, 1 + inputs] to
    [..., outputs]. ValueError for layers of unequal width.
    """

    def __init__(self, sizes: Sequence[int]):
        super().__init__()
        n_inputs, *hidden, n_outputs = self.sizes = tuple(sizes)
        if len(set(hidden)) != 1:
            raise ValueError(f"all layers need as many cells as the first, not {hidden}")
        width = hidden[0]
        self.cells = nn.ParameterList()
        for n in (n_inputs, *hidden[:-1]):
            by_input, by_state = nn.Parameter(torch.empty(4 * width, n)), nn.Parameter(torch.empty(4 * width, width))
            for weight in (by_input, by_state):
                first_hidden_(weight, n + width, width)
            self.cells.extend([by_input, by_state, nn.Parameter(torch.tensor(GATES).repeat_interleave(width))])
        self.last = nn.Linear(width, n_outputs)
        first_last_(self.last)
        self._forget()

    def forward(self, windows: Tensor) -> Tensor:
        """The form to read, also used on GPUs."""
        real, steps = windows[..., :1].unbind(-2), windows[..., 1:].unbind(-2)
        for layer in range(len(self.sizes) - 2):
            by_input, by_state, bias = self.cells[3 * layer : 3 * layer + 3]
            h = c = windows.new_zeros(*windows.shape[:-2], self.sizes[1])
            states = []
            for t, x in enumerate(steps):
                gates = (x @ by_input.T + h @ by_state.T + bias).chunk(4, dim=-1)
                i, f, o = (gates[n].sigmoid() for n in (0, 1, 3))
                c = real[t] * (f * c + i * gates[2].tanh())  # Sec. 5.4
                h = o * c.tanh()
                states.append(h)
            steps = tuple(states)
        return self.last(steps[-1])

    def act(self, x: np.ndarray) -> np.ndarray:
        if not self._by_kernels():
            return super().act(x)
        batch = np.ascontiguousarray(x, np.float32).reshape(-1, *x.shape[-2:])
        return self._forward(batch, 0).reshape(*x.shape[:-2], self.sizes[-1])

    def evaluate(self, x: np.ndarray | Fan) -> np.ndarray:
        if not self._by_kernels():
            return super().evaluate(x.windows() if isinstance(x, Fan) else x)
        return self._forward(x, 1)

    def backward(self, gradient: np.ndarray) -> None:
        if not self._by_kernels():
            return super().backward(gradient)
        parameters, grad_parameters = (vector.numpy() for vector in self.flat())
        of_outputs = np.ascontiguousarray(gradient, np.float32)
        lstm_backward(parameters, self.sizes, *self._rooms[1], of_outputs, grad_parameters)

    def input_gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient [B, inputs] with respect to the windows' last steps."""
        if not self._by_kernels():
            return super().input_gradient(x)[:, -1, 1:]
        self._forward(x, 0)
        gradient = np.empty((len(x), self.sizes[0]), np.float32)
        lstm_input_gradient(self.flat()[0].numpy(), self.sizes, *self._rooms[0], gradient)
        return gradient

    def _forward(self, windows: np.ndarray | Fan, which: int) -> np.ndarray:
        """The network's outputs; `_rooms[which]` keeps what a backward pass needs."""
        first, last = windows if isinstance(windows, Fan) else (windows, windows[:, -1, 1:])
        first, last = np.ascontiguousarray(first, np.float32), np.ascontiguousarray(last, np.float32)
        (n, length, _), (layers, width) = first.shape, (len(self.sizes) - 2, self.sizes[1])
        shape, sizes = (length - 1, n), (4 * width, width, width, width)
        if not self._rooms[which] or self._rooms[which][2].shape != shape or len(self._rooms[which][0]) != len(last):
            x, real = np.empty((*shape, self.sizes[0]), np.float32), np.empty(shape, np.float32)
            steps = tuple(np.empty((layers, *shape, size), np.float32) for size in sizes)
            lasts = tuple(np.empty((layers, len(last), size), np.float32) for size in sizes)
        else:
            _, x, real, steps, lasts = self._rooms[which]
        self._rooms[which] = last, x, real, steps, lasts
        outputs = np.empty((len(last), self.sizes[-1]), np.float32)
        lstm_forward(first, last, self.flat()[0].numpy(), self.sizes, x, real, steps, lasts, outputs)
        return outputs

    def _forget(self) -> None:
        super()._forget()
        self._rooms = [()] * 3


# ---- windows ---------------------------------------------------------------------------------------------------------


class _Windows(EpisodeMemory):
    """Gives networks windows of `length` steps."""

    def __init__(self, *sizes: Any, length: int):
        super().__init__(*sizes)
        self.length = length

    def inputs(self, slots: np.ndarray) -> np.ndarray:
        found = np.zeros((len(slots), self.length, 1 + self.states.shape[1]), np.float32)
        gather(slots, self.steps, self.states, found[..., 1:], found[..., 0])
        return found

    def pairs(self, slots: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """With the actions that were taken, except at the last step, which has that of `actions`."""
        n, d = self.states.shape[1], actions.shape[1]
        found = np.zeros((len(slots), self.length, 1 + n + d), np.float32)
        gather(slots, self.steps, self.states, found[..., 1 : 1 + n], found[..., 0])
        gather(slots, self.steps, self.actions, found[..., 1 + n :], found[..., 0])
        found[:, -1, 1 + n :] = actions
        return found

    def fan(self, slots: np.ndarray, actions: np.ndarray) -> Fan:  # type: ignore[override]
        windows = self.pairs(slots, actions[0])
        last = np.concatenate(
            [self.states[np.tile(slots, len(actions))], actions.reshape(-1, actions.shape[2])], axis=1
        )
        return Fan(windows, last)


class WindowMemory(_Windows):
    """An `EpisodeMemory` for recurrent networks."""


class WindowSegments(_Windows, SegmentMemory):
    """ACER's memory for recurrent networks."""


@njit(cache=True)
def gather(slots, steps, values, out, real):
    """Copy rows of `values` up to the one in each slot [n] into out [n, W, ...]; `real` [n, W] is 1 where there is one.

    A slot holds a step, or an episode's last state, which has no step number.
    """
    length, end = out.shape[1], len(steps)
    for i in range(slots.size):
        slot = slots[i]
        age = steps[slot] if steps[slot] >= 0 else steps[slot - 1] + 1
        for back in range(min(age + 1, length)):
            row = values[(slot - back) % end]
            real[i, length - 1 - back] = 1.0
            for j in range(row.size):
                out[i, length - 1 - back, j] = row[j]
