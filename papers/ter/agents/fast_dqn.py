"""The learner of `dqn.py` on tile codes as numba kernels, for the CPU: the same numbers in a third of the time.

`dqn.py` is the form to read. Here an update is one call. Each distinct state of a batch goes through a network once,
and what the target network says of a state is kept until the next sync: batches must carry the numbers of their states.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from papers.ter.agents import code_kernels
from papers.ter.agents.code_kernels import MOST_CODES, Weights, backward, buffers, forward, tabulate
from papers.ter.agents.dqn import DoubleDQN, Optimizer
from papers.ter.agents.networks import CodeTrunk, Network
from papers.ter.replay.batch import Batch

kernel = njit_calling(k, code_kernels, **k.OPTIONS)
PART = 128
"""States at a time, where only outputs are asked for."""


# ---- networks --------------------------------------------------------------------------------------------------------


class FastNetwork:
    """A `Network` on tile codes without PyTorch, starting from the weights of ``network``; they lie in one vector.

    ValueError for a network that the kernels are not made for.
    """

    def __init__(self, network: Network):
        trunk = network.trunk
        if not isinstance(trunk, CodeTrunk) or trunk.embedding.num_embeddings > MOST_CODES:
            raise ValueError(f"the kernels are for a CodeTrunk with at most {MOST_CODES} codes")
        self.grid_shape, self.scale = trunk.grid_shape, np.float32(network.scale)
        outputs: int = network.head.out_features  # type: ignore[assignment]
        self.sizes = (trunk.n_features,) * (1 + bool(network.extra)) + (outputs,)
        self.shapes = {name: tuple(weight.shape) for name, weight in network.state_dict().items()}
        flat = torch.cat([weight.detach().flatten() for weight in network.parameters()]).numpy()
        self.vector = flat[self._order()]
        self._allocate()

    def __call__(self, frames: Tensor) -> Tensor:
        """uint8 (n, rows, columns) -> float32 (n, outputs)."""
        return torch.from_numpy(self.values(frames.numpy()))

    def values(self, frames: np.ndarray) -> np.ndarray:
        """The same of an array."""
        self.check(frames)
        parts = [frames[start : start + PART] for start in range(0, len(frames), PART)]
        found = [outputs_of(part, self.weights, self.sizes, self.scale, self.work).copy() for part in parts]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def check(self, frames: np.ndarray) -> None:
        """ValueError for what is no array of states. Kernels do not check it."""
        if frames.shape[1:] != self.grid_shape or frames.dtype != np.uint8:
            raise ValueError(f"states are uint8 {self.grid_shape}, not {frames.dtype} {frames.shape[1:]}")

    def state_dict(self) -> dict[str, Tensor]:
        """As that of the `Network`."""
        flat = np.empty_like(self.vector)
        flat[self._order()] = self.vector
        parts = torch.from_numpy(flat).split([math.prod(shape) for shape in self.shapes.values()])
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts)}

    def views(self, vector: np.ndarray) -> Weights:
        """Views of the weights in ``vector``, or of a gradient like it. The table is a new one."""
        (codes, planes), (channels, *_), _, (channels2, *_), _, hidden, _, *_ = self.shapes.values()
        shapes = [
            (codes, planes), (planes, 9 * channels), (channels,), (9 * channels, channels2), (channels2,), hidden,
            hidden[:1],
        ]  # fmt: skip
        *parts, head = np.split(vector, np.cumsum([math.prod(shape) for shape in shapes]))
        table = np.zeros((codes + 1, 9 * channels), np.float32)
        return Weights._make([*(part.reshape(shape) for part, shape in zip(parts, shapes)), head, table])

    def _order(self) -> np.ndarray:
        """Where PyTorch has the weights: `vector` is their vector there, taken in this order."""
        channels2, *_ = self.shapes["trunk.second.weight"]
        taken, places = 0, []
        for name, shape in self.shapes.items():
            place = np.arange(taken, taken + math.prod(shape)).reshape(shape)
            taken += place.size
            if name == "trunk.first.weight":
                place = place.transpose(1, 2, 3, 0)
            elif name == "trunk.second.weight":
                place = place.transpose(2, 3, 1, 0)
            elif name == "trunk.hidden.weight":  # inputs: the channels of a place, not the places of a channel
                place = place.reshape(len(place), channels2, -1).transpose(0, 2, 1)
            places.append(place.reshape(-1))
        return np.concatenate(places)

    def _allocate(self) -> None:
        """What is not pickled."""
        self.weights = self.views(self.vector)
        tabulate(self.weights)
        self.work = buffers(PART, self.grid_shape, self.weights, self.sizes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("weights", "work")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._allocate()


@kernel
def outputs_of(frames, weights, sizes, scale, work):
    """Outputs [n, o] of a network for frames uint8 [n, rows, columns], a view of work.outputs."""
    for b in range(len(frames)):
        put(frames, b, b, work)
    return outputs(len(frames), weights, sizes, scale, work)


@kernel
def put(frames, b, row, work):
    """Make a state of these the one in this row of work.codes."""
    columns = frames.shape[2]
    for i in range(frames.shape[1]):
        for j in range(columns):
            work.codes[row, i * columns + j] = frames[b, i, j]


@kernel
def outputs(n, weights, sizes, scale, work):
    """Outputs [n, o] for the n states in work.codes, a view of work.outputs."""
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

    said: np.ndarray
    """[numbers, actions]: what the target network said of a state"""
    known: np.ndarray
    """bool [numbers]: whether since the last sync"""
    row: np.ndarray
    """int32 [numbers]: row of a state in the batch, if `number` agrees"""
    number: np.ndarray
    """int32 [2 B]: of the state in a row"""
    rows: np.ndarray
    """int32 [2, B]: rows of s and of s'"""


@kernel
def ask_target(ids, frames, target, sizes, scale, states, work):
    """Let the target network say what is not known of these states."""
    n = 0
    for b in range(len(ids)):
        if not states.known[ids[b]]:
            states.known[ids[b]], states.number[n] = True, ids[b]
            put(frames, b, n, work)
            n += 1
    if n:
        q = outputs(n, target, sizes, scale, work)
        for row in range(n):
            states.said[states.number[row]] = q[row]


@kernel
def gather(ids, frames, n, rows, states, work):
    """Give a row of work.codes, of which n are taken, to each of these states that has none, and fill `rows` [B].
    Returns how many are taken then."""
    for b in range(len(ids)):
        row = states.row[ids[b]]
        if row >= n or states.number[row] != ids[b]:
            row = n
            states.row[ids[b]], states.number[row] = row, ids[b]
            put(frames, b, row, work)
            n += 1
        rows[b] = row
    return n


# ---- the learner -----------------------------------------------------------------------------------------------------


@kernel
def update(batch, weights, y, own, gamma, bend, nets, gradient, adam, states, work):
    """`DoubleDQN.update`, or `DoubleDQN.learn` where the targets are the learner's `own`: then it fills y. Returns the
    loss and fills q.

    nets: weights of both networks, sizes of the head, scale. gradient, adam: vectors, and what belongs to them.
    """
    frames, action, reward, next_frames, absorbing, ids, next_ids, q = batch
    (online, target, sizes, scale), (grad_vector, gradient), (rows, next_rows) = nets, gradient, states.rows
    if own:
        ask_target(next_ids, next_frames, target, sizes, scale, states, work)
    n = gather(ids, frames, 0, rows, states, work)
    n_all = gather(next_ids, next_frames, n, next_rows, states, work) if own else n
    out = outputs(n_all, online, sizes, scale, work)
    if own:
        for b in range(len(y)):  # DoubleDQN.targets
            best, row = 0, next_rows[b]
            for a in range(1, out.shape[1]):
                if out[row, a] > out[row, best]:
                    best = a
            y[b] = reward[b] + gamma * (k.ONE - absorbing[b]) * states.said[next_ids[b], best]
        out = head(work.features[:n], online, sizes, scale, work)  # backward, the layers are of these rows only

    # DoubleDQN.loss
    grad_out = k.mlp_outputs(work.grad_outputs, n, sizes, len(sizes) - 2)
    grad_out[:] = k.ZERO
    loss, share, half = k.ZERO, k.ONE / np.float32(len(y)), np.float32(0.5)
    for b in range(len(y)):
        q[b] = out[rows[b], action[b]]
        error = q[b] - y[b]
        if abs(error) < bend:
            loss += weights[b] * half * error * error
        else:
            loss += weights[b] * bend * (abs(error) - half * bend)
            error = bend if error > bend else -bend if error < -bend else error  # not a number stays one
        grad_out[rows[b], action[b]] += share * weights[b] * error * scale
    k.mlp_backward(work.features[:n], online.head, sizes, work.outputs, work.grad_outputs, gradient.head)
    first_weight, _ = k.mlp_layer(online.head, sizes, 0)
    first_grad = k.mlp_outputs(work.grad_outputs, n, sizes, 0)
    k.linear_backward_inputs(first_grad, first_weight, work.grad_features[:n])
    backward(n, online, gradient, work)
    vector, mean, square, step, lr = adam
    k.adam(vector, grad_vector, mean, square, step, lr)
    tabulate(online)
    return share * loss


class FastDoubleDQN(DoubleDQN):
    """As `DoubleDQN`, with its arguments, for networks on tile codes on the CPU. Pickled, it continues identically.

    ValueError for another network or optimiser.
    """

    q: FastNetwork  # type: ignore[assignment]
    target: FastNetwork  # type: ignore[assignment]

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
            raise ValueError(f"the kernels have Adam; for {optimizer} there is DoubleDQN")
        torch.manual_seed(seed)
        self.q = FastNetwork(make_network())
        self.target = copy.deepcopy(self.q)
        self.lr, self.gamma, self.huber_delta = lr, gamma, huber_delta
        self._moments, self._steps = np.zeros((2, self.q.vector.size), np.float32), 0
        self._said, self._known = np.zeros((1024, self.q.sizes[-1]), np.float32), np.zeros(1024, np.bool_)
        self._allocate()

    def _allocate(self, batch_size: int = PART // 2) -> None:
        """What is not pickled."""
        gradient = np.zeros_like(self.q.vector)
        self._gradient = gradient, self.q.views(gradient)
        row, number = np.zeros(len(self._known), np.int32), np.zeros(2 * batch_size, np.int32)
        self._states = States(self._said, self._known, row, number, np.zeros((2, batch_size), np.int32))
        if len(self.q.work.codes) < 2 * batch_size:
            self.q.work = buffers(2 * batch_size, self.q.grid_shape, self.q.weights, self.q.sizes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_gradient", "_states")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._allocate()

    def _make_room(self, batch_size: int, *ids: np.ndarray) -> None:
        """For batches of this size and states of these numbers."""
        largest, room = max(int(numbers.max()) for numbers in ids), len(self._known)
        if largest >= room:
            self._known = np.append(self._known, np.zeros(2 * largest - room, np.bool_))
            self._said = np.append(self._said, np.zeros((2 * largest - room, self.q.sizes[-1]), np.float32), axis=0)
        if largest >= room or batch_size > self._states.rows.shape[1]:
            self._allocate(max(batch_size, self._states.rows.shape[1]))

    def sync(self) -> None:
        self.target.vector[:] = self.q.vector
        self.target.weights.table[:] = self.q.weights.table
        self._known[:] = False

    def act(self, frames: Tensor) -> np.ndarray:
        return self.q.values(frames.numpy()).argmax(axis=1)

    def next_target_q(self, batch: Batch) -> Tensor:
        assert batch.next_ids is not None, "states have numbers"
        net, frames, ids, step = self.target, batch.next_frame.numpy(), batch.next_ids, PART // 2
        net.check(frames)
        self._make_room(0, ids)
        for part in (slice(start, start + step) for start in range(0, len(ids), step)):
            ask_target(ids[part], frames[part], net.weights, net.sizes, net.scale, self._states, net.work)
        return torch.from_numpy(self._said[ids])

    def update(self, batch: Batch, y: Tensor, weights: Tensor) -> tuple[float, Tensor]:
        return self._step(batch, weights, y.numpy(), own=False)

    def learn(self, batch: Batch, weights: Tensor) -> tuple[float, Tensor, Tensor]:
        y = np.empty(len(batch.reward), np.float32)
        return *self._step(batch, weights, y, own=True), torch.from_numpy(y)

    def _step(self, batch: Batch, weights: Tensor, y: np.ndarray, own: bool) -> tuple[float, Tensor]:
        """See `update` above."""
        assert batch.ids is not None and batch.next_ids is not None, "states have numbers"
        net, q = self.q, np.empty_like(y)
        arrays = (
            batch.frame.numpy(), batch.action.numpy(), batch.reward.numpy(), batch.next_frame.numpy(),
            batch.absorbing.numpy(), batch.ids, batch.next_ids, q,
        )  # fmt: skip
        net.check(arrays[0])
        self._make_room(len(y), batch.ids, batch.next_ids)
        self._steps += 1
        loss = update(
            arrays, weights.numpy(), y, own, np.float32(self.gamma), np.float32(self.huber_delta),
            (net.weights, self.target.weights, net.sizes, net.scale), self._gradient,
            (net.vector, *self._moments, self._steps, self.lr), self._states, net.work,
        )  # fmt: skip
        return float(loss), torch.from_numpy(q)
