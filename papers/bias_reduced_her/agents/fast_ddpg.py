"""The update of `ddpg.py` as numba kernels, for the CPU: the same numbers, without PyTorch's 250 calls per update.

`ddpg.py` is the form to read. Here the parameters of a network lie in one flat vector in the order of PyTorch, the
running statistics of a critic behind them. The networks of `DDPG` are views of these vectors, so that `value` and
`actor.state_dict()` are those of `DDPG`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from common.twins import Twin, checked, flattened, moments
from papers.bias_reduced_her.agents import critic_kernels
from papers.bias_reduced_her.agents.critic_kernels import action_gradient, buffers, critic_forward, critic_gradient
from papers.bias_reduced_her.agents.ddpg import DDPG, HIDDEN, Batch, _floats

kernel = njit_calling(k, critic_kernels, **k.OPTIONS)


@kernel
def act(inputs, actor, sizes, outputs):
    """Actions [n, a] of inputs [n, i]: a view of `outputs`, which holds those of all layers, see `mlp_outputs`."""
    action = k.mlp_forward(inputs, actor, sizes, outputs)
    k.tanh(action)
    return action


@kernel
def update(batch, weights, sizes, online, target, moments, step, lr, gamma, clip, action_penalty, work):
    """`ddpg.DDPG.update` number `step`, from 1 on; returns the critic's loss and leaves the TD errors in work.td.

    sizes: of the actor's layers. online, target: actor, and critic with its statistics. moments: Adam's, mean and
    square [2, p] of actor and critic.
    """
    inputs, action, reward, next_inputs, terminal = batch
    n, n_inputs, n_actions = inputs.shape[0], inputs.shape[1], action.shape[1]
    (actor, critic), (target_actor, target_critic), (actor_moments, critic_moments) = online, target, moments
    n_critic = work.grad_critic.size
    critic, statistics = critic[:n_critic], critic[n_critic:]
    share, discount, low = k.ONE / np.float32(n), np.float32(gamma), np.float32(-1.0 / (1.0 - gamma))

    # DDPG.targets
    next_action = act(next_inputs, target_actor, sizes, work.outputs)
    critic_forward(next_inputs, next_action, target_critic[:n_critic], target_critic[n_critic:], False, work)
    for row in range(n):
        y = reward[row] + discount * (k.ONE - terminal[row]) * work.q[row]
        if y < low:
            y = low
        if y > k.ZERO:
            y = k.ZERO
        work.y[row] = y

    # DDPG.critic_loss
    critic_forward(inputs, action, critic, statistics, True, work)
    loss = k.ZERO
    for row in range(n):
        td = work.y[row] - work.q[row]
        work.td[row] = td
        loss += weights[row] * td * td
        work.grad_q[row] = np.float32(-2.0) * share * weights[row] * td
    critic_gradient(critic, work.grad_critic, n_inputs, n_actions, work)
    k.clip_norm(work.grad_critic, clip)
    k.adam(critic, work.grad_critic, critic_moments[0], critic_moments[1], step, lr)

    # DDPG.actor_loss
    chosen = act(inputs, actor, sizes, work.outputs)
    critic_forward(inputs, chosen, critic, statistics, False, work)
    work.grad_q[:] = -share
    grad_action = k.mlp_outputs(work.grad_outputs, n, sizes, len(sizes) - 2)
    action_gradient(critic, n_inputs, n_actions, work, grad_action)
    penalty = np.float32(2.0 * action_penalty / (n * n_actions))
    for row in range(n):
        for j in range(n_actions):
            grad_action[row, j] += penalty * chosen[row, j]
    k.tanh_backward(grad_action, chosen)
    k.mlp_backward(inputs, actor, sizes, work.outputs, work.grad_outputs, work.grad_actor)
    k.clip_norm(work.grad_actor, clip)
    k.adam(actor, work.grad_actor, actor_moments[0], actor_moments[1], step, lr)
    return share * loss


class FastDDPG(Twin, DDPG):
    """`DDPG` for the CPU, with the same arguments."""

    hidden = HIDDEN
    """Units of a hidden layer."""
    kernel: Any = staticmethod(update)
    buffers: Any = staticmethod(buffers)

    def __init__(self, n_inputs: int, n_actions: int, **settings: Any):
        """ValueError for a device other than the CPU."""
        super().__init__(n_inputs, n_actions, **settings)
        self.lr = self.critic_adam.defaults["lr"]
        del self.actor_adam, self.critic_adam  # their moments are here:
        self._online = flattened(_floats(self.actor)), flattened(_floats(self.critic))
        self._target = flattened(_floats(self.target_actor)), flattened(_floats(self.target_critic))
        self._work: Any = self.buffers(0, n_inputs, n_actions)
        self._moments = moments(self._work.grad_actor, self._work.grad_critic)  # running statistics have none
        self.vectors = *self._online, *self._target, *self._moments
        self._sizes = n_inputs, self.hidden, self.hidden, self.hidden, n_actions

    def act(self, inputs: np.ndarray) -> np.ndarray:
        """Greedy actions float32 [n, a] for inputs float32 [n, i]. ValueError for another i."""
        outputs = np.empty(len(inputs) * sum(self._sizes[1:]), np.float32)
        return act(np.ascontiguousarray(inputs, np.float32), self._online[0], self._sizes, outputs).copy()

    def update(self, batch: Batch[np.ndarray], weights: np.ndarray) -> tuple[float, np.ndarray]:
        """As `DDPG.update`. ValueError for arrays of other shapes than `Batch` says, or fewer than two transitions."""
        n, (n_inputs, *_, n_actions) = len(weights), self._sizes
        shapes = [(n,), (n, n_inputs), (n, n_actions), (n,), (n, n_inputs), (n,)]
        weights, *arrays = checked([weights, *batch], shapes, least=2)
        if len(self._work.q) != n:
            self._work = self.buffers(n, n_inputs, n_actions)
        self.updates += 1
        loss = self.kernel(
            tuple(arrays), weights, self._sizes, self._online, self._target, self._moments, self.updates, self.lr,
            self.gamma, self.clip, self.action_penalty, self._work,
        )  # fmt: skip
        return float(loss), self._work.td.copy()

    def average_targets(self) -> None:
        """Move the target networks a share tau of the way to the online ones, running statistics included."""
        for target, online in zip(self._target, self._online):
            k.average(target, online, self.tau)
