"""The scores of `ners.py` as a numba kernel, for the CPU and transitions whose states are vectors: the same numbers.

`ners.py` is the form to read, and the one that learns. Here the parameters of its networks are flat vectors, of which
the networks are views, so that the kernel sees what they have learnt. The mean over the batch is taken before the last
layer of the global context, which is linear, and what it adds to the first layer of the score network is computed once
per batch: a tenth of the products are not needed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from common.twins import flattened
from papers.ners.ners import NERS, WIDTHS
from papers.ners.samplers.features import VectorTransitions

kernel = njit_calling(k, **k.OPTIONS)


class Work(NamedTuple):
    """Buffers for the scores of n transitions, float32."""

    features: np.ndarray
    """[n, features]"""
    outputs: np.ndarray
    """Of all layers of one of the networks, flat, see `mlp_outputs`."""
    first: np.ndarray
    """Of the score network's first layer, [n, o]."""
    mean: np.ndarray
    """Of the global context's last hidden layer over the batch, [h]."""
    scores: np.ndarray
    """[n]"""


@kernel
def gather(slots, state, action, reward, next_state, time, squashed, features):
    """Eq. (2): `NERS.features` of the transitions in `slots` [n], from the fields of a memory, [capacity, ...] each.

    time: theirs, [n]. squashed: TD errors and values [capacity, 2].
    """
    n_states, n_actions = state.shape[1], action.shape[1]
    after = n_states + n_actions
    for row in range(slots.size):
        slot = slots[row]
        for j in range(n_states):
            features[row, j] = state[slot, j]
        for j in range(n_actions):
            features[row, n_states + j] = action[slot, j]
        features[row, after] = reward[slot]
        for j in range(n_states):
            features[row, after + 1 + j] = next_state[slot, j]
        features[row, after + 1 + n_states] = time[row]
        features[row, after + 2 + n_states] = squashed[slot, 0]
        features[row, after + 3 + n_states] = squashed[slot, 1]


@kernel
def score(parameters, context_sizes, score_sizes, work):
    """`ScoreNetwork.forward` of work.features: fills work.scores.

    parameters: of the networks of local context, global context (empty where there is none) and score, [p] each. Sizes
    are those of their layers.
    """
    (local_context, global_context, scorer), x = parameters, work.features
    n, last, width = x.shape[0], len(context_sizes) - 2, context_sizes[-1]

    # the score network's first layer is weight [local, mean] + bias, Eq. (3), of which the mean's part is a constant
    weight, bias = k.mlp_layer(scorer, score_sizes, 0)
    constant = bias
    if global_context.size:
        k.mlp_forward(x, global_context, context_sizes[:-1], work.outputs)
        hidden, share = k.mlp_outputs(work.outputs, n, context_sizes, last - 1), k.ONE / np.float32(n)
        work.mean[:] = k.ZERO
        for row in range(n):
            for j in range(work.mean.size):  # not a number stays one
                work.mean[j] += k.ZERO if hidden[row, j] < k.ZERO else hidden[row, j]
        for j in range(work.mean.size):
            work.mean[j] *= share
        last_weight, last_bias = k.mlp_layer(global_context, context_sizes, last)
        mean = np.dot(last_weight, work.mean) + last_bias
        constant = np.dot(np.ascontiguousarray(weight[:, width:]), mean) + bias
    context = k.mlp_forward(x, local_context, context_sizes, work.outputs)
    k.linear_relu(context, np.ascontiguousarray(weight[:, :width]), constant, work.first)

    rest = scorer[bias.size * (score_sizes[0] + 1) :]
    outputs = k.mlp_forward(work.first, rest, score_sizes[1:], work.outputs)
    for row in range(n):
        work.scores[row] = k.ONE / (k.ONE + math.exp(-outputs[row, 0]))  # Eq. (4)


class FastNERS(NERS):
    """`NERS` for the CPU, with the same arguments."""

    transitions: VectorTransitions

    def __init__(self, *arguments: Any, **settings: Any):
        """ValueError for a device other than the CPU."""
        super().__init__(*arguments, **settings)
        if self.device != "cpu":
            raise ValueError(f"FastNERS works on the CPU only; for {self.device}, use NERS")
        self._flat: tuple[np.ndarray, ...] | None = None
        self._work: Work | None = None

    def judged(self, slots: np.ndarray) -> np.ndarray:
        context, scorer = WIDTHS[self.settings.widths]
        n_features = 3 if self.few else self.transitions.n_features + 2
        sizes = (n_features, *context), (context[-1] * (1 + self.settings.global_context), *scorer, 1)
        n = len(slots)
        if self._work is None or len(self._work.scores) != n:
            shapes = (n, n_features), n * max(sum(size[1:]) for size in sizes), (n, scorer[0]), context[-2], n
            self._work = Work(*(np.zeros(shape, np.float32) for shape in shapes))
        if self._flat is None:
            parts = self.network.local_context, self.network.global_context, self.network.score
            self._flat = tuple(flattened([*part.parameters()] if part else [torch.zeros(0)]) for part in parts)
        if self.few:
            self._work.features[:] = self.features(slots)
        else:
            m, time = self.transitions.memory, self.transitions.time(slots)
            gather(
                slots, m["state"], m["action"], m["reward"], m["next_state"], time, self.squashed, self._work.features
            )
            if self.settings.tanh_all:
                np.tanh(self._work.features, out=self._work.features)
        score(self._flat, *sizes, self._work)
        return self._work.scores.copy()

    def __getstate__(self) -> dict[str, Any]:
        for parameter in self.network.parameters():  # a view would be pickled with all that it is a view of
            parameter.data = parameter.data.clone()
        self._flat = None  # until the next scores
        return self.__dict__ | {"_work": None}
