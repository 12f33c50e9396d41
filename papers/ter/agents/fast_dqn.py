"""The learner of `dqn.py` on tile codes as numba kernels, for the CPU: the same numbers in a fraction of the time.

`dqn.py` is the form to read. Here an update is one call. Each distinct state of a batch goes through a network once,
and what the target network says of a state is kept until the next sync: hence batches must carry the states' numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from papers.ter.agents import code_kernels
from papers.ter.agents.code_kernels import MOST_CODES, Weights, Work, backward, buffers, forward, tabulate
from papers.ter.agents.dqn import DoubleDQN, Optimizer
from papers.ter.agents.networks import CodeTrunk, Network
from papers.ter.replay.batch import Batch

kernel = njit_calling(k, code_kernels, **k.OPTIONS)
AXES: dict[str, tuple[int, ...]] = {
    "trunk.first.weight": (1, 2, 3, 0), "trunk.second.weight": (2, 3, 1, 0), "trunk.hidden.weight": (0, 2, 1),
}  # fmt: skip
"""Order in which the kernels have the axes of PyTorch's weights; the hidden layer's are units, channels, places."""


# ---- networks --------------------------------------------------------------------------------------------------------


class FlatNetwork:
    """The weights of a `Network` on tile codes as one vector in the kernels' layout, starting from those of ``network``.

    ValueError for a network that the kernels are not made for.
    """

    def __init__(self, network: Network):
        trunk, state = network.trunk, network.state_dict()
        if not isinstance(trunk, CodeTrunk):
            raise ValueError("these kernels are for tile codes")
        if trunk.embedding.num_embeddings > MOST_CODES or min(trunk.grid_shape) < 2:
            raise ValueError(f"at most {MOST_CODES} codes and at least 2x2 cells")
        self.grid_shape, self.scale = trunk.grid_shape, np.float32(network.scale)
        self.shapes = {name: tuple(value.shape) for name, value in state.items()}
        self.sizes = (trunk.n_features,) * (1 + bool(network.extra)) + (network.head.out_features,)
        units, channels = trunk.n_features, trunk.second.out_channels
        self.split = self.shapes | {"trunk.hidden.weight": (units, channels, -1)}
        parts = [value.reshape(self.split[name]).numpy() for name, value in state.items()]
        turned = [part.transpose(AXES.get(name, range(part.ndim))) for name, part in zip(state, parts)]
        self.vector = np.concatenate([part.reshape(-1) for part in turned])

    def views(self, vector: np.ndarray) -> Weights:
        """Views of the parameters in ``vector``, or of a gradient like it; the table is a new one."""
        trunk = [shape for name, shape in self.shapes.items() if name.startswith("trunk")]
        (codes, planes), (channels, *_), _, (channels2, *_), _, hidden, _ = trunk
        shapes = [
            (codes, planes), (planes, 9 * channels), (channels,), (9 * channels, channels2), (channels2,), hidden,
            hidden[:1],
        ]  # fmt: skip
        *parts, head = np.split(vector, np.cumsum([int(np.prod(shape)) for shape in shapes]))
        table = np.zeros((codes + 1, 9 * channels), np.float32)
        return Weights(*(part.reshape(shape) for part, shape in zip(parts, shapes)), head, table)

    def state_dict(self) -> dict[str, Tensor]:
        """As that of the `Network`."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            split = np.empty(shape, np.float32).reshape(self.split[name])
            turned = split.transpose(AXES.get(name, range(split.ndim)))
            turned[:] = self.vector[start : start + split.size].reshape(turned.shape)
            found[name] = torch.from_numpy(split.reshape(shape))
            start += split.size
        return found


@kernel
def outputs(n, weights, sizes, scale, work):
    """Outputs [n, o] of the network for the n states in work.codes, a view of work.outputs."""
    return head(forward(n, weights, work), weights, sizes, scale, work)


@kernel
def head(features, weights, sizes, scale, work):
    """Outputs [n, o] for features [n, hidden], a view of work.outputs."""
    out = k.mlp_forward(features, weights.head, sizes, work.outputs)
    for row in range(out.shape[0]):
        for a in range(out.shape[1]):
            out[row, a] *= scale
    return out


# ---- states by their numbers -----------------------------------------------------------------------------------------


class States(NamedTuple):
    """What is known of states by their numbers, and the distinct states of a batch."""

    row: np.ndarray
    """int32 [numbers]: row of a state in the batch, if `number` says the same"""
    said: np.ndarray
    """[numbers, actions]: what the target network said of a state"""
    known: np.ndarray
    """bool [numbers]: since the last sync"""
    number: np.ndarray
    """int32 [2 B]: of the distinct states, by row"""
    rows: np.ndarray
    """int32 [2, B]: row of s and of s'"""


@kernel
def gather(ids, frames, n, rows, states, work):
    """Give each state that has none yet a row of work.codes, of which n are taken; `rows` [B] says which. Returns the
    number of rows taken now."""
    for b in range(len(ids)):
        row = states.row[ids[b]]
        if row >= n or states.number[row] != ids[b]:
            row = n
            states.row[ids[b]], states.number[row] = row, ids[b]
            copy(frames, b, row, work)
            n += 1
        rows[b] = row
    return n


@kernel
def copy(frames, b, row, work):
    """Copy a state into work.codes."""
    columns = frames.shape[2]
    for i in range(frames.shape[1]):
        for j in range(columns):
            work.codes[row, i * columns + j] = frames[b, i, j]


@kernel
def ask_target(ids, frames, target, sizes, scale, states, work):
    """Let the target network say what is not known since the last sync of these states."""
    n = 0
    for b in range(len(ids)):
        if not states.known[ids[b]]:
            states.known[ids[b]], states.number[n] = True, ids[b]
            copy(frames, b, n, work)
            n += 1
    if n:
        q = outputs(n, target, sizes, scale, work)
        for row in range(n):
            states.said[states.number[row]] = q[row]


# ---- the learner -----------------------------------------------------------------------------------------------------


@kernel
def values(frames, online, sizes, scale, work):
    """Q [n, A] of frames uint8 [n, rows, columns]."""
    for b in range(len(frames)):
        copy(frames, b, b, work)
    return outputs(len(frames), online, sizes, scale, work)


@kernel
def update(batch, weights, y, own, gamma, bend, net, gradient, moments, step, lr, states, work):
    """`DoubleDQN.update` number `step`, from 1 on; where the targets are `own`, y is filled with them. Returns the loss
    and leaves Q(s, a) in q.

    net: weights of both networks, sizes of the head, scale.
    """
    frames, action, reward, next_frames, absorbing, ids, next_ids, q_taken = batch
    vector, online, target, sizes, scale = net
    grad_vector, gradient = gradient
    size, (rows, next_rows) = len(ids), states.rows
    if own:
        ask_target(next_ids, next_frames, target, sizes, scale, states, work)
    n = gather(ids, frames, 0, rows, states, work)
    n_all = gather(next_ids, next_frames, n, next_rows, states, work) if own else n
    q = outputs(n_all, online, sizes, scale, work)
    if own:
        # DoubleDQN.targets
        for b in range(size):
            best, here = 0, next_rows[b]
            for a in range(1, q.shape[1]):
                if q[here, a] > q[here, best]:
                    best = a
            y[b] = reward[b] + gamma * (k.ONE - absorbing[b]) * states.said[next_ids[b], best]
        q = head(work.features[:n], online, sizes, scale, work)  # the backward pass needs its layers of these rows

    # DoubleDQN.loss
    grad_q = k.mlp_outputs(work.grad_outputs, n, sizes, len(sizes) - 2)
    grad_q[:] = k.ZERO
    loss, share = k.ZERO, k.ONE / np.float32(size)
    for b in range(size):
        q_taken[b] = q[rows[b], action[b]]
        error = q_taken[b] - y[b]
        if abs(error) < bend:
            loss += weights[b] * np.float32(0.5) * error * error
        else:
            loss += weights[b] * bend * (abs(error) - np.float32(0.5) * bend)
            error = bend if error > bend else -bend if error < -bend else error
        grad_q[rows[b], action[b]] += weights[b] * share * scale * error
    k.mlp_backward(work.features[:n], online.head, sizes, work.outputs, work.grad_outputs, gradient.head)
    weight, _ = k.mlp_layer(online.head, sizes, 0)
    k.linear_backward_inputs(k.mlp_outputs(work.grad_outputs, n, sizes, 0), weight, work.grad_features[:n])
    backward(n, online, gradient, work)
    k.adam(vector, grad_vector, moments[0], moments[1], step, lr)
    tabulate(online)
    return share * loss


PART = 128
"""States at a time, where only their values are asked for."""


class FastDoubleDQN(DoubleDQN):
    """As `DoubleDQN`, with its arguments, for networks on tile codes on the CPU. Pickled, it continues identically.

    ValueError for another network or optimiser.
    """

    def __init__(
        self,
        make_network: Callable[[], Network],
        lr: float,
        gamma: float,
        seed: int,
        optimizer: Optimizer = "adam",
        huber_delta: float = 1.0,
    ):
        if optimizer != "adam":
            raise ValueError(f"FastDoubleDQN has Adam; for {optimizer} there is DoubleDQN")
        torch.manual_seed(seed)
        self.network = FlatNetwork(make_network())
        self.lr, self.gamma, self.huber_delta = lr, gamma, huber_delta
        self._target = np.empty_like(self.network.vector)
        self._moments, self._steps = np.zeros((2, self._target.size), np.float32), 0
        self._said, self._known = np.zeros((1024, self.network.sizes[-1]), np.float32), np.zeros(1024, np.bool_)
        self._allocate()
        self.sync()

    def _allocate(self) -> None:
        """Make what does not outlive a pickle: views and buffers."""
        network = self.network
        self._vectors = network.vector, self._target, np.zeros_like(network.vector)
        self._weights = tuple(network.views(vector) for vector in self._vectors)
        online, target, _ = self._weights
        tabulate(online)
        tabulate(target)
        self._work = buffers(PART, network.grid_shape, online, network.sizes)
        self._states = self._numbered(PART // 2)

    def _numbered(self, size: int) -> States:
        """For batches of ``size``."""
        row = np.zeros(len(self._known), np.int32)
        return States(row, self._said, self._known, np.zeros(2 * size, np.int32), np.zeros((2, size), np.int32))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ALLOCATED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._allocate()

    def state_dict(self) -> dict[str, Tensor]:
        return self.network.state_dict()

    def sync(self) -> None:
        online, target, _ = self._weights
        self._target[:] = self.network.vector
        target.table[:] = online.table
        self._known[:] = False

    def act(self, frames: Tensor) -> np.ndarray:
        return self._values(frames).argmax(axis=1)

    def next_q(self, batch: Batch) -> Tensor:
        return torch.from_numpy(self._values(batch.next_frame))

    def _values(self, frames: Tensor) -> np.ndarray:
        """Q of frames (n, rows, columns) by the Q-network, float32 (n, A)."""
        network, given = self.network, frames.numpy()
        parts = [given[start : start + PART] for start in range(0, len(given), PART)]
        found = [values(part, self._weights[0], network.sizes, network.scale, self._work).copy() for part in parts]
        return np.concatenate(found) if len(found) > 1 else found[0]

    def next_target_q(self, batch: Batch) -> Tensor:
        network, frames, ids = self.network, batch.next_frame.numpy(), batch.next_ids
        self._make_room(ids)
        for start in range(0, len(ids), PART // 2):
            part = slice(start, start + PART // 2)
            ask_target(
                ids[part], frames[part], self._weights[1], network.sizes, network.scale, self._states, self._work
            )  # fmt: skip
        return torch.from_numpy(self._said[ids])

    def update(self, batch: Batch, y: Tensor, weights: Tensor) -> tuple[float, Tensor]:
        return self._step(batch, weights, y.numpy(), own=False)

    def learn(self, batch: Batch, weights: Tensor) -> tuple[float, Tensor, Tensor]:
        y = np.empty(len(batch.reward), np.float32)
        return *self._step(batch, weights, y, own=True), torch.from_numpy(y)

    def _step(self, batch: Batch, weights: Tensor, y: np.ndarray, own: bool) -> tuple[float, Tensor]:
        self._make_room(batch.ids, batch.next_ids)
        network, q = self.network, np.empty_like(y)
        arrays = (
            batch.frame.numpy(), batch.action.numpy(), batch.reward.numpy(), batch.next_frame.numpy(),
            batch.absorbing.numpy(), batch.ids, batch.next_ids, q,
        )  # fmt: skip
        (vector, _, grad_vector), (online, target, gradient) = self._vectors, self._weights
        self._steps += 1
        loss = update(
            arrays, weights.numpy(), y, own, np.float32(self.gamma), np.float32(self.huber_delta),
            (vector, online, target, network.sizes, network.scale), (grad_vector, gradient), self._moments, self._steps,
            self.lr, self._states, self._work,
        )  # fmt: skip
        return float(loss), torch.from_numpy(q)

    def _make_room(self, *ids: np.ndarray) -> None:
        """For states of these numbers, and for batches of this size."""
        largest, size = max(int(each.max()) for each in ids), len(ids[0])
        if largest >= len(self._known):
            more = 2 * largest - len(self._known)
            self._known = np.append(self._known, np.zeros(more, np.bool_))
            self._said = np.concatenate([self._said, np.zeros((more, self._said.shape[1]), np.float32)])
            self._states = self._numbered(len(self._states.rows[0]))
        if len(ids) == 2 and size > len(self._states.rows[0]):
            self._states = self._numbered(size)
            self._work = buffers(2 * size, self.network.grid_shape, self._weights[0], self.network.sizes)


ALLOCATED = "_vectors", "_weights", "_work", "_states"
"""What `FastDoubleDQN` makes anew after a pickle."""
