"""Deep deterministic policy gradient with goals as further inputs (Sec. 2.2, 2.3 and Appendix D)."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from common.networks import mlp
from common.replay.storage import Fields

HIDDEN = 64

Array = TypeVar("Array", np.ndarray, Tensor)


class Batch(NamedTuple, Generic[Array]):
    """Transitions, float32: inputs [n, observation + goal] of both states, action [n, a], reward and terminal [n]."""

    inputs: Array
    action: Array
    reward: Array
    next_inputs: Array
    terminal: Array


def replay_fields(env: Any) -> Fields:
    """Fields of a stored transition of the goal environment `env`, as in a `Batch`."""
    observation, goal = (env.observation_space[name].shape[0] for name in ("observation", "desired_goal"))
    inputs, action, number = ((observation + goal,), np.float32), (env.action_space.shape, np.float32), ((), np.float32)
    return {"inputs": inputs, "action": action, "reward": number, "next_inputs": inputs, "terminal": number}


class Actor(nn.Module):
    """Three hidden layers of 64, ReLU, no normalisation; tanh at the output: inputs [n, i] -> actions [n, a]."""

    def __init__(self, n_inputs: int, n_actions: int):
        super().__init__()
        self.layers = mlp([n_inputs, HIDDEN, HIDDEN, HIDDEN, n_actions])

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.tanh(self.layers(inputs))

    def weights(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights [out, in] and biases [out] of the layers, which share the memory of the parameters (CPU only)."""
        values = [parameter.detach().numpy() for parameter in self.layers.parameters()]
        return list(zip(values[::2], values[1::2]))


class Critic(nn.Module):
    """Q of inputs [n, i] and actions [n, a]: [n]. Three hidden layers of 64, ReLU, the action joins after the first.

    The input and every hidden layer are batch-normalised: by the batch while the critic learns (`learning`), else by
    running averages, so that the value of a transition does not depend on its neighbours.

    Parameters that the next normalisation would cancel are left out: biases of the layers before one, scale and shift
    of the input's. Their true gradient is zero, so Adam would divide rounding errors by rounding errors and move them
    at random by its step size.
    """

    def __init__(self, n_inputs: int, n_actions: int):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(n, HIDDEN, bias=False) for n in (n_inputs, HIDDEN + n_actions, HIDDEN))
        hidden = (nn.BatchNorm1d(HIDDEN) for _ in self.layers)
        self.norms = nn.ModuleList([nn.BatchNorm1d(n_inputs, affine=False), *hidden])
        self.output = nn.Linear(HIDDEN, 1)

    def forward(self, inputs: Tensor, action: Tensor, learning: bool = False) -> Tensor:
        hidden = _normalise(self.norms[0], inputs, learning)
        for i, layer in enumerate(self.layers):
            hidden = torch.relu(_normalise(self.norms[i + 1], layer(hidden), learning))
            if i == 0:
                hidden = torch.cat([hidden, action], dim=1)
        return self.output(hidden).squeeze(1)


def _normalise(norm: Any, x: Tensor, learning: bool) -> Tensor:
    return F.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias, learning, norm.momentum)


class DDPG:
    """Networks, targets and optimisers. Actions lie in [-1, 1]."""

    actor_kind: type[Actor] = Actor
    critic_kind: type[Critic] = Critic

    def __init__(
        self,
        n_inputs: int,
        n_actions: int,
        *,
        lr: float = 1e-3,
        gamma: float = 0.98,
        tau: float = 0.05,
        clip: float = 3.0,
        action_penalty: float = 0.0,
        noise: float = 0.05,
        random_actions: float = 0.2,
        seed: int = 0,
        device: str = "cpu",
    ):
        """lr: Adam's step size of both networks. tau: share of the way that `average_targets` moves the target
        networks to the online ones. clip: largest norm of the gradient of each network. action_penalty: weight of the
        actions' mean square in the actor's loss. noise, random_actions: see `explore`. seed: of the initial weights."""
        self.action_penalty, self.noise, self.random_actions = action_penalty, noise, random_actions
        self.n_actions, self.gamma, self.tau, self.clip, self.device = n_actions, gamma, tau, clip, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.actor, self.critic = self.actor_kind(n_inputs, n_actions), self.critic_kind(n_inputs, n_actions)
            self.target_actor = self.actor_kind(n_inputs, n_actions)
            self.target_critic = self.critic_kind(n_inputs, n_actions)
        for online, target in ((self.actor, self.target_actor), (self.critic, self.target_critic)):
            target.load_state_dict(online.state_dict())
            online.to(device), target.to(device)
        self.actor_parameters, self.critic_parameters = list(self.actor.parameters()), list(self.critic.parameters())
        self.actor_adam = torch.optim.Adam(self.actor_parameters, lr=lr, fused=True)
        self.critic_adam = torch.optim.Adam(self.critic_parameters, lr=lr, fused=True)
        # Polyak averaging includes the running averages of the normalisation.
        self.online = _floats(self.actor) + _floats(self.critic)
        self.averaged = _floats(self.target_actor) + _floats(self.target_critic)

    # --- acting -------------------------------------------------------------------------------------------------------

    def act(self, inputs: np.ndarray) -> np.ndarray:
        """Greedy actions float32 [n, a] for inputs float32 [n, i]."""
        if self.device != "cpu":
            with torch.no_grad():
                return self.actor(torch.from_numpy(inputs).to(self.device)).cpu().numpy()
        *hidden, last = self.actor.weights()  # NumPy needs a third of the time for a single action
        for weight, bias in hidden:
            inputs = np.maximum(inputs @ weight.T + bias, 0.0)
        return np.tanh(inputs @ last[0].T + last[1])

    def explore(self, inputs: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
        """Actions float32 [n, a] for inputs [n, i]: each greedy with probability 1 - epsilon, greedy plus noise with
        0.8 epsilon, uniform with 0.2 epsilon, which is the share `random_actions` of all that explore (App. D.1)."""
        action, kind = self.act(inputs), rng.random((len(inputs), 1))
        spread = self.noise * 2.0  # a share of the action's range, from -1 to 1
        noisy = np.clip(action + rng.normal(0.0, spread, action.shape), -1.0, 1.0)
        uniform = rng.uniform(-1.0, 1.0, action.shape)
        kinds = [kind < self.random_actions * epsilon, kind < epsilon]
        return np.select(kinds, [uniform, noisy], action).astype(np.float32)

    @torch.no_grad()
    def value(self, inputs: np.ndarray) -> np.ndarray:
        """Q(s, pi(s)) float32 [n] for inputs [n, i]."""
        x = torch.from_numpy(inputs).to(self.device)
        return self.critic(x, self.actor(x)).cpu().numpy()

    # --- learning -----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def targets(self, batch: Batch[Tensor]) -> Tensor:
        """y [n] = r + gamma Q'(s', pi'(s')), and r alone where the goal has been reached (Sec. 2.2).

        Clipped to the values that are possible where a step costs 1 or nothing, as in Andrychowicz et al. 2017.
        """
        next_q = self.target_critic(batch.next_inputs, self.target_actor(batch.next_inputs))
        y = batch.reward + self.gamma * (1.0 - batch.terminal) * next_q
        return y.clamp(-1.0 / (1.0 - self.gamma), 0.0)

    def critic_loss(self, batch: Batch[Tensor], weights: Tensor) -> tuple[Tensor, Tensor]:
        """Weighted squared TD error, and the TD errors [n] (Sec. 2.2)."""
        td = self.targets(batch) - self.critic(batch.inputs, batch.action, learning=True)
        return (weights * td.square()).mean(), td.detach()

    def actor_loss(self, batch: Batch[Tensor]) -> Tensor:
        """Mean of -Q(s, pi(s)) (Sec. 2.2), and a penalty, not in the paper, that keeps tanh from saturating."""
        action = self.actor(batch.inputs)
        loss = -self.critic(batch.inputs, action).mean()
        return loss + self.action_penalty * action.square().mean() if self.action_penalty else loss

    def update(self, batch: Batch[np.ndarray], weights: np.ndarray) -> tuple[float, np.ndarray]:
        """One step of critic and actor on a batch and its weights [n]. Returns the critic's loss and the TD errors [n].

        The target networks do not move; see `average_targets`.
        """
        tensors = Batch(*(torch.from_numpy(value).to(self.device) for value in batch))
        loss, td = self.critic_loss(tensors, torch.from_numpy(weights).to(self.device))
        self._descend(loss, self.critic_parameters, self.critic_adam)
        self._descend(self.actor_loss(tensors), self.actor_parameters, self.actor_adam)
        return loss.item(), td.cpu().numpy()

    @torch.no_grad()
    def average_targets(self) -> None:
        """Move the target networks a share tau of the way to the online ones, running averages included."""
        torch._foreach_lerp_(self.averaged, self.online, self.tau)

    def weights(self) -> dict[str, Tensor]:
        """What a run saves: all numbers of actor and critic, as ``actor.<name>`` and ``critic.<name>``."""
        networks = {"actor": self.actor, "critic": self.critic}
        return {f"{name}.{key}": value for name, net in networks.items() for key, value in net.state_dict().items()}

    def _descend(self, loss: Tensor, parameters: list[nn.Parameter], adam: torch.optim.Adam) -> None:
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
            parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_(parameters, self.clip, foreach=True)
        adam.step()


def _floats(network: nn.Module) -> list[Tensor]:
    """Parameters and floating-point buffers."""
    buffers = [buffer for buffer in network.buffers() if buffer.is_floating_point()]
    return [*network.parameters(), *buffers]
