"""The update of `ddpg.py` as a numba kernel, for the CPU: the same numbers, and a run in 20 minutes instead of 35.

`ddpg.py` is the form to read. Here a batch is processed in parts that fit into the processor's cache, and their
gradients are added up. The parameters of a network lie in one flat vector, in PyTorch's order; those of the networks of
`DDPG` are views of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from common.twins import Twin, checked, flattened, moments
from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.ddpg import DDPG, SQUASH, Batch
from papers.sibling_rivalry.agents.networks import HIDDEN

PART = 256
"""Transitions per part."""
kernel = njit_calling(k, **k.OPTIONS)


class Work(NamedTuple):
    """Buffers for parts of n transitions, float32."""

    actor_in: np.ndarray
    """[n * inputs]: observations and goals."""
    critic_in: np.ndarray
    """[n * (inputs + actions)]: observations, actions and goals."""
    grad_critic_in: np.ndarray
    """As critic_in."""
    y: np.ndarray
    """[n * actions]: targets, then actions."""
    outputs: np.ndarray
    """Of all layers of an actor, see `mlp_outputs`."""
    critic_outputs: np.ndarray
    grad_outputs: np.ndarray
    """As outputs or critic_outputs."""
    grad: np.ndarray
    """Gradient of a part, [p] of the larger network."""
    grad_actor: np.ndarray
    """Gradients of the batch."""
    grad_critic: np.ndarray


@kernel
def join(first, second, third, out):
    """out [m, i] = the columns of the three [m, ...] side by side."""
    a, b = first.shape[1], first.shape[1] + second.shape[1]
    for row in range(out.shape[0]):
        for j in range(a):
            out[row, j] = first[row, j]
        for j in range(second.shape[1]):
            out[row, a + j] = second[row, j]
        for j in range(third.shape[1]):
            out[row, b + j] = third[row, j]


@kernel
def act(inputs, actor, sizes, reach, outputs):
    """`ddpg.Actor`: the share of `reach` [m, a] that is taken along each dimension, a view of `outputs`."""
    share = k.mlp_forward(inputs, actor, sizes, outputs)
    for row in range(share.shape[0]):
        for j in range(share.shape[1]):
            share[row, j] = math.tanh(np.float32(SQUASH) * share[row, j])
    return share


@kernel
def update(batch, sizes, online, target, moments, step, lr, epsilon, gamma, action_l2, reach, work):
    """`ddpg.DDPG.update` number `step`, from 1 on; returns the critic's loss and the mean Q.

    sizes: layers of actor and critic. online, target: actor and critic. moments: Adam's, mean and square [2, p] of
    each. epsilon: Adam's, as PyTorch would have it in this step.
    """
    observations, actions, goals, rewards, next_observations, terminal = batch
    (actor_sizes, critic_sizes), (actor, critic), (target_actor, target_critic) = sizes, online, target
    n, d, n_actions = rewards.size, observations.shape[1], actions.shape[1]
    share, discount, reach = k.ONE / np.float32(n), np.float32(gamma), np.float32(reach)
    penalty = np.float32(2.0 * action_l2 / (n * n_actions))
    last = len(actor_sizes) - 2
    grad_actor, grad_critic = work.grad[: actor.size], work.grad[: critic.size]
    work.grad_actor[:] = k.ZERO
    work.grad_critic[:] = k.ZERO
    loss, q_sum = k.ZERO, k.ZERO
    for first in range(0, n, PART):
        end = min(first + PART, n)
        m = end - first
        here, g = observations[first:end], goals[first:end]
        x = k.matrix(work.actor_in, 0, m, actor_sizes[0])
        c = k.matrix(work.critic_in, 0, m, critic_sizes[0])

        # DDPG.targets
        join(next_observations[first:end], g, g[:, :0], x)
        chosen = act(x, target_actor, actor_sizes, reach, work.outputs)
        for row in range(m):
            for j in range(n_actions):
                chosen[row, j] *= reach
        join(next_observations[first:end], chosen, g, c)
        q = k.mlp_forward(c, target_critic, critic_sizes, work.critic_outputs)
        for row in range(m):
            at = first + row
            work.y[row] = rewards[at] + discount * (k.ONE - terminal[at]) * q[row, 0]

        # DDPG.critic_loss
        join(here, actions[first:end], g, c)
        q = k.mlp_forward(c, critic, critic_sizes, work.critic_outputs)
        grad_q = k.mlp_outputs(work.grad_outputs, m, critic_sizes, last)
        for row in range(m):
            td = work.y[row] - q[row, 0]
            loss += td * td
            q_sum += q[row, 0]
            grad_q[row, 0] = np.float32(-2.0) * share * td
        k.mlp_backward(c, critic, critic_sizes, work.critic_outputs, work.grad_outputs, grad_critic)
        add(work.grad_critic, grad_critic)

        # DDPG.actor_loss
        join(here, g, g[:, :0], x)
        chosen = act(x, actor, actor_sizes, reach, work.outputs)
        taken = k.matrix(work.y, 0, m, n_actions)
        for row in range(m):
            for j in range(n_actions):
                taken[row, j] = reach * chosen[row, j]
        join(here, taken, g, c)
        k.mlp_forward(c, target_critic, critic_sizes, work.critic_outputs)
        grad_q[:, 0] = -share
        grad_c = k.matrix(work.grad_critic_in, 0, m, critic_sizes[0])
        k.mlp_backward_inputs(target_critic, critic_sizes, work.critic_outputs, work.grad_outputs, grad_c)
        grad_out = k.mlp_outputs(work.grad_outputs, m, actor_sizes, last)
        for row in range(m):
            for j in range(n_actions):
                grad = grad_c[row, d + j] + penalty * taken[row, j]
                slope = k.ONE - chosen[row, j] * chosen[row, j]
                grad_out[row, j] = grad * reach * np.float32(SQUASH) * slope
        k.mlp_backward(x, actor, actor_sizes, work.outputs, work.grad_outputs, grad_actor)
        add(work.grad_actor, grad_actor)
    (actor_moments, critic_moments) = moments
    k.adam(actor, work.grad_actor, actor_moments[0], actor_moments[1], step, lr, epsilon)
    k.adam(critic, work.grad_critic, critic_moments[0], critic_moments[1], step, lr, epsilon)
    return share * loss, share * q_sum


@kernel
def add(total, part):
    """total [p] += part [p]."""
    for i in range(total.size):
        total[i] += part[i]


class FastDDPG(Twin, DDPG):
    """`DDPG` for the CPU, with the same arguments."""

    def __init__(self, task: GoalTask, **settings: Any):
        """ValueError for a device other than the CPU."""
        super().__init__(task, **settings)
        self.lr, self.adam_eps = settings["lr"], settings["adam_eps"]
        del self.adam  # its moments are here:
        self._online = flattened([*self.actor.parameters()]), flattened([*self.critic.parameters()])
        self._target = flattened([*self.target_actor.parameters()]), flattened([*self.target_critic.parameters()])
        self._moments = moments(*self._online)
        self.vectors = *self._online, *self._target, *self._moments
        inputs, a = self.actor.body[0].in_features, task.n_actions  # type: ignore[index]
        hidden = HIDDEN, HIDDEN, HIDDEN
        self._sizes = (inputs, *hidden, a), (inputs + a, *hidden, 1)
        layers = PART * (sum(hidden) + max(a, 1))
        lengths = [
            PART * inputs, PART * (inputs + a), PART * (inputs + a), PART * max(a, 1), layers, layers, layers,
            max(flat.size for flat in self._online), *(flat.size for flat in self._online),
        ]  # fmt: skip
        self._work = Work(*(np.zeros(length, np.float32) for length in lengths))

    def update(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """As `DDPG.update`. ValueError for tensors whose shapes are not those of `Batch`."""
        (inputs, *_, a), _ = self._sizes
        n, d = len(batch.rewards), batch.observations.shape[-1]
        shapes = [(n, d), (n, a), (n, inputs - d), (n,), (n, d), (n,)]
        arrays = checked([value.numpy() for value in batch[:6]], shapes)  # type: ignore[union-attr]
        self.updates += 1
        epsilon = self.adam_eps / math.sqrt(1.0 - 0.999**self.updates)  # see adam.py
        loss, q = update(
            tuple(arrays), self._sizes, self._online, self._target, self._moments, self.updates, self.lr, epsilon,
            self.gamma, self.action_l2, self.actor.reach, self._work,
        )  # fmt: skip
        return torch.tensor(loss), torch.tensor(q)

    def sync(self) -> None:
        """As `DDPG.sync`."""
        for target, online in zip(self._target, self._online):
            k.average(target, online, 1.0 - self.polyak)
