"""The update of `ddpg.py` as numba kernels, for the CPU: the same numbers, without PyTorch's 250 calls per update.

`ddpg.py` is the form to read. Here all parameters lie in one flat vector: actor, critic, running statistics, in the
order of PyTorch; so do those of the targets. The networks of `DDPG` are views of them, and act and estimate as before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from common import mlp_kernels
from common.mlp_kernels import (
    ONE,
    OPTIONS,
    ZERO,
    adam,
    affine_relu,
    average,
    batch_norm_backward,
    clip_norm,
    fold_running,
    matrix,
    mlp_backward,
    mlp_forward,
    mlp_outputs,
    n_parameters,
    normalise_by_batch,
    normalise_by_running,
    relu_backward,
    tanh,
    tanh_backward,
)
from common.numba_cache import njit_calling
from papers.bias_reduced_her.ddpg import DDPG, HIDDEN, Batch

kernel = njit_calling(mlp_kernels, **OPTIONS)


class Work(NamedTuple):
    """Buffers of an update with n transitions, float32. Layers of the critic are counted from 0."""

    outputs: np.ndarray
    """Of the actor's layers, flat, see `mlp_kernels.mlp_outputs`."""
    grad_outputs: np.ndarray
    x: np.ndarray
    """The critic's inputs [n, i], normalised."""
    x_scale: np.ndarray
    """1 / deviation of the inputs [i]."""
    linear: np.ndarray
    """Output of a linear layer [n, HIDDEN], or the gradient for it."""
    normalised: np.ndarray
    """What gamma and beta of a layer get [3, n, HIDDEN], while the critic learns."""
    scale: np.ndarray
    """What a layer's normalisation multiplies with [3, HIDDEN]; gamma included where running statistics are used."""
    shift: np.ndarray
    """[HIDDEN]"""
    joined: np.ndarray
    """Output of layer 0 and the action [n, HIDDEN + a]."""
    hidden: np.ndarray
    """Outputs of layers 1 and 2 [2, n, HIDDEN]."""
    grad_joined: np.ndarray
    grad_hidden: np.ndarray
    q: np.ndarray
    y: np.ndarray
    td: np.ndarray
    grad_q: np.ndarray
    """[n] each."""


def buffers(n: int, n_inputs: int, n_actions: int) -> Work:
    """Buffers for batches of n transitions."""
    shapes = {
        "outputs": n * (3 * HIDDEN + n_actions), "x": (n, n_inputs), "x_scale": n_inputs, "linear": (n, HIDDEN),
        "normalised": (3, n, HIDDEN), "scale": (3, HIDDEN), "shift": HIDDEN, "joined": (n, HIDDEN + n_actions),
        "hidden": (2, n, HIDDEN), "q": n, "y": n, "td": n,
    }  # fmt: skip
    shapes |= {f"grad_{name}": shapes[name] for name in ("outputs", "joined", "hidden", "q")}
    return Work(**{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})


# --- the critic -------------------------------------------------------------------------------------------------------


@kernel
def critic_layers(critic, n_inputs, n_actions):
    """Views of the critic's parameters, or of their gradient, in its flat vector.

    Weights [HIDDEN, i] of three layers, gamma and beta [HIDDEN] of each, weight [HIDDEN] and bias [1] of the output.
    """
    second = HIDDEN * n_inputs
    third = second + HIDDEN * (HIDDEN + n_actions)
    norms = third + HIDDEN * HIDDEN
    weights = (
        matrix(critic, 0, HIDDEN, n_inputs),
        matrix(critic, second, HIDDEN, HIDDEN + n_actions),
        matrix(critic, third, HIDDEN, HIDDEN),
    )
    six = matrix(critic, norms, 6, HIDDEN)
    output = norms + 6 * HIDDEN
    weight, bias = critic[output : output + HIDDEN], critic[output + HIDDEN : output + HIDDEN + 1]
    return weights, (six[0], six[2], six[4]), (six[1], six[3], six[5]), weight, bias


@kernel
def running_statistics(statistics, n_inputs):
    """Views: mean and variance of the inputs [n_inputs], and of the layers [6, HIDDEN], in turn mean and variance."""
    layers = matrix(statistics, 2 * n_inputs, 6, HIDDEN)
    return statistics[:n_inputs], statistics[n_inputs : 2 * n_inputs], layers


@kernel
def critic_forward(inputs, action, critic, statistics, learning, work):
    """Q [n] into work.q, as `ddpg.Critic.forward`."""
    n_inputs, n_actions = inputs.shape[1], action.shape[1]
    weights, gammas, betas, weight, bias = critic_layers(critic, n_inputs, n_actions)
    mean, variance, running = running_statistics(statistics, n_inputs)
    if learning:
        normalise_by_batch(inputs, mean, variance, work.x_scale, work.x)
    else:
        normalise_by_running(inputs, mean, variance, work.x)
    work.joined[:, HIDDEN:] = action
    below = (work.x, work.joined, work.hidden[0])
    above = (work.joined, work.hidden[0], work.hidden[1])
    for i in range(3):
        np.dot(below[i], weights[i].T, work.linear)
        mean, variance, scale = running[2 * i], running[2 * i + 1], work.scale[i]
        if learning:
            normalise_by_batch(work.linear, mean, variance, scale, work.normalised[i])
            affine_relu(work.normalised[i], gammas[i], betas[i], above[i])
        else:
            fold_running(gammas[i], betas[i], mean, variance, scale, work.shift)
            affine_relu(work.linear, scale, work.shift, above[i])
    np.dot(work.hidden[1], weight, work.q)
    for row in range(work.q.size):
        work.q[row] += bias[0]


@kernel
def critic_gradient(critic, gradient, n_inputs, n_actions, work):
    """Gradient of the critic's parameters from work.grad_q [n], after `critic_forward` with `learning`."""
    weights, gammas, _, weight, _ = critic_layers(critic, n_inputs, n_actions)
    grad_weights, grad_gammas, grad_betas, grad_weight, grad_bias = critic_layers(gradient, n_inputs, n_actions)
    np.dot(work.hidden[1].T, work.grad_q, grad_weight)
    grad_bias[0] = ZERO
    for row in range(work.grad_q.size):
        grad_bias[0] += work.grad_q[row]
        for j in range(HIDDEN):
            work.grad_hidden[1, row, j] = work.grad_q[row] * weight[j]
    below = (work.x, work.joined, work.hidden[0])
    above = (work.joined, work.hidden[0], work.hidden[1])
    grad_above = (work.grad_joined, work.grad_hidden[0], work.grad_hidden[1])
    for i in range(2, -1, -1):
        relu_backward(grad_above[i], above[i])
        batch_norm_backward(
            grad_above[i], work.normalised[i], gammas[i], work.scale[i], grad_gammas[i], grad_betas[i], work.linear
        )
        np.dot(work.linear.T, below[i], grad_weights[i])
        if i > 0:
            np.dot(work.linear, weights[i], grad_above[i - 1])


@kernel
def action_gradient(critic, n_inputs, n_actions, work, grad_action):
    """Gradient [n, a] of the sum of work.grad_q * Q for the actions, after `critic_forward` without `learning`."""
    weights, _, _, weight, _ = critic_layers(critic, n_inputs, n_actions)
    for row in range(work.grad_q.size):
        for j in range(HIDDEN):
            work.grad_hidden[1, row, j] = work.grad_q[row] * weight[j]
    grad_above = (work.grad_joined, work.grad_hidden[0], work.grad_hidden[1])
    for i in range(2, 0, -1):
        relu_backward(grad_above[i], work.hidden[i - 1])
        for row in range(work.grad_q.size):
            for j in range(HIDDEN):
                work.linear[row, j] = grad_above[i][row, j] * work.scale[i, j]
        np.dot(work.linear, weights[i], grad_above[i - 1])
    grad_action[:] = work.grad_joined[:, HIDDEN:]


# --- the update -------------------------------------------------------------------------------------------------------


@kernel
def act(inputs, actor, sizes, work):
    """Actions [n, a] of inputs [n, i]: a view of work.outputs."""
    action = mlp_forward(inputs, actor, sizes, work.outputs)
    tanh(action)
    return action


@kernel
def update(
    batch, weights, sizes, n_actor, online, target, gradient, mean, square, step, lr, gamma, clip, action_penalty, work
):
    """`ddpg.DDPG.update` number `step`, from 1 on; returns the critic's loss and leaves the TD errors in work.td.

    sizes: of the actor's layers; n_actor: its parameters. online, target: actor, critic, statistics. gradient, mean,
    square: actor, critic; the last two are Adam's moments.
    """
    inputs, action, reward, next_inputs, terminal = batch
    n, n_inputs, n_actions = inputs.shape[0], inputs.shape[1], action.shape[1]
    n_both = gradient.size
    actor, critic, statistics = online[:n_actor], online[n_actor:n_both], online[n_both:]
    grad_actor, grad_critic = gradient[:n_actor], gradient[n_actor:]
    share, discount, low = ONE / np.float32(n), np.float32(gamma), np.float32(-1.0 / (1.0 - gamma))

    next_action = act(next_inputs, target[:n_actor], sizes, work)
    critic_forward(next_inputs, next_action, target[n_actor:n_both], target[n_both:], False, work)
    for row in range(n):
        y = reward[row] + discount * (ONE - terminal[row]) * work.q[row]
        if y < low:
            y = low
        if y > ZERO:
            y = ZERO
        work.y[row] = y

    critic_forward(inputs, action, critic, statistics, True, work)
    loss = ZERO
    for row in range(n):
        td = work.y[row] - work.q[row]
        work.td[row] = td
        loss += weights[row] * td * td
        work.grad_q[row] = np.float32(-2.0) * share * weights[row] * td
    critic_gradient(critic, grad_critic, n_inputs, n_actions, work)
    clip_norm(grad_critic, clip)
    adam(critic, grad_critic, mean[n_actor:], square[n_actor:], step, lr)

    chosen = act(inputs, actor, sizes, work)
    critic_forward(inputs, chosen, critic, statistics, False, work)
    work.grad_q[:] = -share
    grad_action = mlp_outputs(work.grad_outputs, n, sizes, len(sizes) - 2)
    action_gradient(critic, n_inputs, n_actions, work, grad_action)
    penalty = np.float32(2.0 * action_penalty / (n * n_actions))
    for row in range(n):
        for j in range(n_actions):
            grad_action[row, j] += penalty * chosen[row, j]
    tanh_backward(grad_action, chosen)
    mlp_backward(inputs, actor, sizes, work.outputs, work.grad_outputs, grad_actor)
    clip_norm(grad_actor, clip)
    adam(actor, grad_actor, mean[:n_actor], square[:n_actor], step, lr)
    return share * loss


class FastDDPG(DDPG):
    """As `DDPG` and with its arguments, on the CPU only; batches are NumPy arrays. Pickled, it continues identically."""

    def __init__(self, n_inputs: int, n_actions: int, **settings: Any):
        """ValueError for a device other than the CPU."""
        if settings.get("device", "cpu") != "cpu":
            raise ValueError(f"FastDDPG works on the CPU; for {settings['device']} there is DDPG")
        super().__init__(n_inputs, n_actions, **settings)
        self._arguments = n_inputs, n_actions, settings
        self._lr = self.critic_adam.defaults["lr"]
        del self.actor_adam, self.critic_adam  # their moments are here:
        self._sizes = n_inputs, HIDDEN, HIDDEN, HIDDEN, n_actions
        self._n_actor = n_parameters(self._sizes)
        n_both = sum(parameter.numel() for parameter in [*self.actor_parameters, *self.critic_parameters])
        self._gradient, self._mean, self._square = np.zeros((3, n_both), np.float32)
        self._updates = 0
        self._online, self._target = _flattened(self.online), _flattened(self.averaged)
        self._work = buffers(0, n_inputs, n_actions)

    def update(self, batch: Batch, weights: np.ndarray) -> tuple[float, np.ndarray]:  # type: ignore[override]
        """One step of critic and actor. The batch and its weights [n] are NumPy arrays, shapes as `Batch` says.

        Returns the critic's loss and the TD errors [n]. ValueError for other shapes, or fewer than two transitions.
        """
        n, (n_inputs, n_actions, _) = len(weights), self._arguments
        arrays = Batch(*(np.ascontiguousarray(value, np.float32) for value in batch))  # type: ignore[arg-type]
        weights = np.ascontiguousarray(weights, np.float32)
        # Kernels do not check array bounds.
        right = (n, n_inputs), (n, n_actions), (n,), (n, n_inputs), (n,)
        if n < 2 or weights.shape != (n,) or tuple(value.shape for value in arrays) != right:
            raise ValueError(f"a batch of {n} with these shapes: {', '.join(str(value.shape) for value in arrays)}")
        if len(self._work.q) != n:
            self._work = buffers(n, n_inputs, n_actions)
        self._updates += 1
        loss = update(
            arrays, weights, self._sizes, self._n_actor, self._online, self._target, self._gradient, self._mean,
            self._square, self._updates, self._lr, self.gamma, self.clip, self.action_penalty, self._work,
        )  # fmt: skip
        return float(loss), self._work.td.copy()

    def average_targets(self) -> None:
        """The target networks move a share tau towards the online ones, running statistics included."""
        average(self._target, self._online, self.tau)

    def __getstate__(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("_online", "_target", "_mean", "_square")}
        return {"arguments": self._arguments, "updates": self._updates, "numbers": numbers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        n_inputs, n_actions, settings = state["arguments"]
        self.__init__(n_inputs, n_actions, **settings)  # type: ignore[misc]
        self._updates = state["updates"]
        for name, values in state["numbers"].items():
            getattr(self, name)[:] = values  # in place: the networks are views


def _flattened(tensors: list[torch.Tensor]) -> np.ndarray:
    """All numbers of the tensors as one vector [p], of which the tensors are views from now on."""
    flat = torch.cat([tensor.detach().flatten() for tensor in tensors])
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors])):
        tensor.data = part.view_as(tensor)
    return flat.numpy()
