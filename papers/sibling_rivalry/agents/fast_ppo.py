"""A gradient step of `ppo.py` as a numba kernel, for the CPU: the same numbers, and an update in 0.7 of the time.

`ppo.py` is the form to read. This is for tasks whose observations are vectors and whose actions are continuous, without
curiosity. A mini-batch is processed in parts that fit into the processor's cache, and their gradients are added up. The
parameters of a network lie in one flat vector, in PyTorch's order; those of the networks of `PPO` are views of it.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from torch import Tensor

from common import mlp_kernels as k
from common.numba_cache import njit_calling
from common.twins import Twin, checked, flattened, moments
from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.networks import HIDDEN, input_shape, join
from papers.sibling_rivalry.agents.policies import EDGE, BetaPolicy
from papers.sibling_rivalry.agents.ppo import CLIP, PPO, VALUE_WEIGHT, Experience

PART = 256
"""Transitions per part."""
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
kernel = njit_calling(k, **k.OPTIONS)


class Work(NamedTuple):
    """Buffers for parts of PART transitions, float32."""

    outputs: np.ndarray
    """Of all layers of a network, see `mlp_outputs`."""
    grads: np.ndarray
    """Gradients for them."""
    entropy_slopes: np.ndarray
    """Derivatives of the sum of the entropies with respect to alpha and beta [PART, 2 a]."""
    part: np.ndarray
    """Gradient of a part, [p] of the larger network."""
    policy: np.ndarray
    """Gradients of the mini-batch."""
    critic: np.ndarray


def fits(task: GoalTask, curiosity: Any) -> bool:
    """Whether `FastPPO` is made for it."""
    return curiosity is None and task.action_range is not None and len(task.observation_shape) == 1


@kernel
def polygamma(x):
    """Logarithm of gamma, digamma and trigamma of x > 0, float64: Stirling's series from 8 on, recurrence below."""
    digamma, trigamma, product = 0.0, 0.0, 1.0
    while x < 8.0:
        digamma -= 1.0 / x
        trigamma += 1.0 / (x * x)
        product *= x
        x += 1.0
    r, log_x = 1.0 / x, math.log(x)
    s = r * r
    log_gamma = (x - 0.5) * log_x - x + HALF_LOG_2PI - math.log(product)
    log_gamma += r * (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s / 1680)))
    digamma += log_x - 0.5 * r - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s / 240)))
    trigamma += r + 0.5 * s + s * r * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s / 30)))
    return log_gamma, digamma, trigamma


@kernel
def evaluate(row, outputs, unit, slopes, entropy_slopes):
    """`BetaPolicy.evaluate` of a row of the body's outputs [n, 2 a]: log density, and the sum of the entropies.

    Leaves the derivatives of both with respect to alpha and beta in `slopes` and `entropy_slopes` [n, 2 a].
    """
    n_actions = unit.shape[1]
    log_prob = entropy = 0.0
    for j in range(n_actions):
        alpha, beta = shape(outputs[row, j]), shape(outputs[row, n_actions + j])
        log_u, log_rest = math.log(unit[row, j]), math.log1p(-unit[row, j])
        log_a, digamma_a, trigamma_a = polygamma(alpha)
        log_b, digamma_b, trigamma_b = polygamma(beta)
        log_total, digamma, trigamma = polygamma(alpha + beta)
        log_beta, rest = log_a + log_b - log_total, alpha + beta - 2.0
        log_prob += (alpha - 1.0) * log_u + (beta - 1.0) * log_rest - log_beta
        entropy += log_beta - (alpha - 1.0) * digamma_a - (beta - 1.0) * digamma_b + rest * digamma
        slopes[row, j] = log_u - digamma_a + digamma
        slopes[row, n_actions + j] = log_rest - digamma_b + digamma
        entropy_slopes[row, j] = rest * trigamma - (alpha - 1.0) * trigamma_a
        entropy_slopes[row, n_actions + j] = rest * trigamma - (beta - 1.0) * trigamma_b
    return log_prob, entropy


@kernel
def shape(output):
    """alpha or beta, float64: softplus + 1.05."""
    z = float(output)
    return (z if z > 0.0 else 0.0) + math.log1p(math.exp(-abs(z))) + 1.05


@kernel
def step(seen, batch, online, moments, sizes, number, lr, epsilon, entropy_weight, work):
    """Step number `number` of Adam, from 1 on, on `PPO.loss`; returns the mean losses of policy and values, and the
    mean entropy.

    seen: inputs of policy and critic [m, ...]. batch: actions on the unit interval [m, a]; advantages, returns, log
    densities of old and weights, [m] each. online: parameters of policy and critic. moments, sizes: theirs.
    """
    unit, advantages, returns, old, weights = batch
    (policy, critic), (policy_sizes, critic_sizes) = online, sizes
    n_actions, last = unit.shape[1], len(policy_sizes) - 2
    policy_loss = value_loss = mean_entropy = 0.0
    work.policy[:] = k.ZERO
    work.critic[:] = k.ZERO
    for first in range(0, old.size, PART):
        rows = slice(first, min(first + PART, old.size))
        x, actions = seen[0][rows], unit[rows]
        n = x.shape[0]
        outputs = k.mlp_forward(x, policy, policy_sizes, work.outputs)
        slopes = k.mlp_outputs(work.grads, n, policy_sizes, last)
        for row in range(n):
            log_prob, entropy = evaluate(row, outputs, actions, slopes, work.entropy_slopes)
            i = first + row
            ratio, weight = math.exp(log_prob - old[i]), float(weights[i])
            free = ratio * advantages[i]
            bound = min(max(ratio, 1.0 - CLIP), 1.0 + CLIP) * advantages[i]
            clipped = free > bound  # not a number is not
            policy_loss -= weight * (bound if clipped else free)
            mean_entropy += weight * entropy / n_actions
            of_log_prob = 0.0 if clipped else -weight * free
            of_entropy = -entropy_weight * weight / n_actions
            for j in range(2 * n_actions):  # through softplus, whose derivative is a sigmoid
                slope = of_log_prob * slopes[row, j] + of_entropy * work.entropy_slopes[row, j]
                slopes[row, j] = slope / (1.0 + math.exp(-float(outputs[row, j])))
        k.mlp_backward(x, policy, policy_sizes, work.outputs, work.grads, work.part[: policy.size])
        for p in range(policy.size):
            work.policy[p] += work.part[p]

        x = seen[1][rows]
        values = k.mlp_forward(x, critic, critic_sizes, work.outputs)
        slopes = k.mlp_outputs(work.grads, n, critic_sizes, last)
        for row in range(n):
            error, weight = returns[first + row] - values[row, 0], weights[first + row]
            value_loss += weight * error * error
            slopes[row, 0] = np.float32(-2.0 * VALUE_WEIGHT) * weight * error
        k.mlp_backward(x, critic, critic_sizes, work.outputs, work.grads, work.part[: critic.size])
        for p in range(critic.size):
            work.critic[p] += work.part[p]
    k.adam(policy, work.policy, moments[0][0], moments[0][1], number, lr, epsilon)
    k.adam(critic, work.critic, moments[1][0], moments[1][1], number, lr, epsilon)
    return policy_loss, value_loss, mean_entropy


class FastPPO(Twin, PPO):
    """`PPO` for the CPU and what `fits`, with the same arguments."""

    policy: BetaPolicy
    kept: ClassVar = ("updates", "lr")

    def __init__(self, task: GoalTask, **settings: Any):
        """ValueError for a device other than the CPU, and for what does not fit."""
        if not fits(task, settings.get("curiosity")):
            raise ValueError("FastPPO takes vectors, continuous actions and no curiosity; for the rest there is PPO")
        super().__init__(task, **settings)
        self.lr, self.epsilon = (self.adam.param_groups[0][name] for name in ("lr", "own_eps"))
        del self.adam  # its moments are here:
        self._online = tuple(flattened([*network.parameters()]) for network in (self.policy, self.critic))
        self._moments = moments(*self._online)
        self.vectors = *self._online, *self._moments
        n_inputs = [input_shape(task, goals)[0] for goals in (1, 1 + settings["sees_anti_goal"])]
        hidden = (HIDDEN,) * 3
        self._sizes = (n_inputs[0], *hidden, 2 * task.n_actions), (n_inputs[1], *hidden, 1)
        of_layers = PART * max(sum(sizes[1:]) for sizes in self._sizes)
        of_networks = [online.size for online in self._online]
        buffers = of_layers, of_layers, (PART, 2 * task.n_actions), max(of_networks), *of_networks
        self._work = Work(*(np.zeros(shape, np.float32) for shape in buffers))

    def descend(self, batch: Experience, old_log_prob: Tensor, weights: Tensor, sums: dict[str, Any]) -> dict[str, Any]:
        """As `PPO.descend`. ValueError for tensors whose shapes do not fit."""
        n, n_actions, n_inputs = len(batch), self.policy.n_actions, [sizes[0] for sizes in self._sizes]
        goals = [batch.goals] + ([] if batch.anti_goals is None else [batch.anti_goals])
        unit = ((batch.actions / self.policy.reach + 1) / 2).clamp(EDGE, 1 - EDGE)
        tensors = join(batch.observations, batch.goals), join(batch.observations, *goals), unit
        numbers = [*tensors, batch.advantages, batch.returns, old_log_prob, weights]
        shapes = [(n, n_inputs[0]), (n, n_inputs[1]), (n, n_actions), *[(n,)] * 4]
        x, x_critic, *rest = checked([tensor.numpy() for tensor in numbers], shapes)
        self.updates += 1
        # the place of epsilon in adam.py, in the terms of `mlp_kernels.adam`
        epsilon = self.epsilon / math.sqrt(1.0 - 0.999**self.updates)
        means = step(
            (x, x_critic), tuple(rest), self._online, self._moments, self._sizes, self.updates, self.lr, epsilon,
            self.entropy, self._work,
        )  # fmt: skip
        return {name: sums.get(name, 0.0) + mean for name, mean in zip(("policy_loss", "value_loss", "entropy"), means)}

    def slow_down(self) -> None:
        self.lr *= self.lr_decay
