"""Data-efficient Rainbow (Hessel et al. 2018; the small networks and settings of van Hasselt et al. 2019).

Double Q-learning on distributions of the return (C51), with duelling and noisy networks, n-step returns and loss
weights. The samplers decide which transitions are replayed, and with which weights.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn
from torch.nn import functional as F

from common.replay.frames import Batch

Weights = list[tuple[Tensor, Tensor]]
"""Weight [n_out, n_in] and bias [n_out] of each of some layers."""


class NoisyLinear(nn.Module):
    """A linear layer whose weights have learned noise (Fortunato et al. 2018, factorised Gaussian noise).

    Weight (i, j) is mu_ij + sigma_ij f(e_i) f(e_j), with one Gaussian number e per input and per output and
    f(e) = sign(e) sqrt(|e|); biases likewise. sigma0: every sigma starts at sigma0 / sqrt(n_in). The noise is 0 until
    the first `resample`.
    """

    noise_in: Tensor
    noise_out: Tensor

    def __init__(self, n_in: int, n_out: int, sigma0: float):
        super().__init__()
        self.mu = nn.Linear(n_in, n_out)  # U(-1 / sqrt(n_in), 1 / sqrt(n_in)), as in Fortunato et al., Sec. 3.2
        self.sigma = nn.Linear(n_in, n_out)
        nn.init.constant_(self.sigma.weight, sigma0 * n_in**-0.5)
        nn.init.constant_(self.sigma.bias, sigma0 * n_in**-0.5)
        self.register_buffer("noise_in", torch.zeros(n_in), persistent=False)
        self.register_buffer("noise_out", torch.zeros(n_out), persistent=False)

    def resample(self, generator: torch.Generator) -> None:
        """Draw new noise."""
        for noise in (self.noise_in, self.noise_out):
            noise.normal_(generator=generator)
            noise.copy_(noise.sign() * noise.abs().sqrt())

    def weights(self, noisy: bool = True) -> tuple[Tensor, Tensor]:
        """Weight [n_out, n_in] and bias [n_out]; `noisy=False` leaves the noise out."""
        if not noisy:
            return self.mu.weight, self.mu.bias
        noise = torch.outer(self.noise_out, self.noise_in)
        weight = torch.addcmul(self.mu.weight, self.sigma.weight, noise)  # mu + sigma * noise
        return weight, torch.addcmul(self.mu.bias, self.sigma.bias, self.noise_out)


class Convolutions(nn.Module):
    """The convolutions of Table B.1: stacks uint8 [n, stack, 84, 84] -> [n, 576], ReLU after both.

    Strides equal kernel sizes, so each is a linear layer on patches, which takes a third of the time of `nn.Conv2d` on
    a CPU; initial weights have the same law.
    """

    n_features = 576
    size = 5  # of kernels and strides

    def __init__(self, stack: int):
        super().__init__()
        self.first = nn.Linear(stack * self.size**2, 32)
        self.second = nn.Linear(32 * self.size**2, 64)

    def forward(self, stacks: Tensor) -> Tensor:
        """stacks: or what `inputs` made of them."""
        x = F.relu(self.first(inputs(stacks) if stacks.dtype == torch.uint8 else stacks))
        return F.relu(self.second(patches(x, self.size))).flatten(1)


def inputs(stacks: Tensor) -> Tensor:
    """What the first convolution sees of stacks uint8 [n, stack, height, width], as float32 from 0 to 1 [n, rows,
    columns, n_in]."""
    pixels = stacks.permute(0, 2, 3, 1)
    if pixels.device.type != "cpu":
        return patches(pixels, Convolutions.size).float().div_(255)
    n, height, width, channels = pixels.shape
    rows, columns = height // Convolutions.size, width // Convolutions.size
    x = np.empty((n, rows, columns, Convolutions.size**2 * channels), np.float32)
    _fill_inputs(pixels.contiguous().numpy(), Convolutions.size, x)
    return torch.from_numpy(x)


@njit(cache=True, error_model="numpy")
def _fill_inputs(pixels, size, x):
    """The same numbers as `inputs` makes on a GPU, in a quarter of PyTorch's time on a CPU."""
    n, rows, columns, _ = x.shape
    run = size * pixels.shape[3]
    line = np.empty(columns * run, np.float32)
    for i in range(n):
        for row in range(rows):
            for k in range(size):
                codes = pixels[i, row * size + k].reshape(-1)
                for j in range(line.size):
                    line[j] = np.float32(codes[j]) / np.float32(255)
                for column in range(columns):
                    for j in range(run):
                        x[i, row, column, k * run + j] = line[column * run + j]


def patches(x: Tensor, size: int) -> Tensor:
    """Squares of `size` x `size` pixels side by side: [n, h, w, c] -> [n, h // size, w // size, size * size * c].

    Left-over pixels at the right and at the bottom are dropped, as by a convolution without padding.
    """
    n, height, width, channels = x.shape
    rows, columns = height // size, width // size
    x = x[:, : rows * size, : columns * size].reshape(n, rows, size, columns, size, channels)
    return x.transpose(2, 3).reshape(n, rows, columns, -1)


class Network(nn.Module):
    """Convolutions, then one noisy head for the value and one for the advantages of the actions, per atom.

    Maps stacks uint8 [batch, stack, 84, 84], or the `inputs` made of them, to logits [batch, actions, atoms].
    """

    def __init__(self, n_actions: int, n_atoms: int, *, stack: int, hidden: int, sigma0: float):
        super().__init__()
        self.n_actions, self.n_atoms = n_actions, n_atoms
        self.convolutions = Convolutions(stack)
        n_features = self.convolutions.n_features
        self.value_hidden = NoisyLinear(n_features, hidden, sigma0)
        self.value = NoisyLinear(hidden, n_atoms, sigma0)
        self.advantage_hidden = NoisyLinear(n_features, hidden, sigma0)
        self.advantage = NoisyLinear(hidden, n_actions * n_atoms, sigma0)

    def resample(self, generator: torch.Generator) -> None:
        """Draw new noise in all layers."""
        for layer in (self.value_hidden, self.value, self.advantage_hidden, self.advantage):
            layer.resample(generator)

    def weights(self, noisy: bool = True) -> Weights:
        """Of the noisy layers, with the noise of the last `resample` or without noise."""
        return [
            layer.weights(noisy) for layer in (self.value_hidden, self.value, self.advantage_hidden, self.advantage)
        ]

    def forward(self, stacks: Tensor, weights: Weights | None = None) -> Tensor:
        """weights: as `weights` gives them; None: with noise."""
        value_hidden, value_out, advantage_hidden, advantage_out = weights or self.weights()
        x = self.convolutions(stacks)
        value = F.linear(F.relu(F.linear(x, *value_hidden)), *value_out).unsqueeze(1)
        advantage = F.linear(F.relu(F.linear(x, *advantage_hidden)), *advantage_out)
        advantage = advantage.view(-1, self.n_actions, self.n_atoms)
        return value + advantage - advantage.mean(dim=1, keepdim=True)


def project(probabilities: Tensor, atoms: Tensor, support: Tensor) -> Tensor:
    """Project distributions [n, m] on moved atoms [n, m] back onto the evenly spaced `support` [m]: [n, m].

    An atom between two points of the support is split between them, the nearer one gets more; beyond the ends it goes
    to the end (Bellemare et al. 2017, Algorithm 1). The share of point j is a triangle around it, 1 - distance /
    spacing, but not below 0: an atom that lies on a point needs no special case.
    """
    first, last, points = support[0], support[-1], torch.arange(len(support), device=support.device)
    place = (atoms.clamp(first, last) - first) / (last - first) * points[-1]  # 0 to m - 1; both ends are exact
    shares = (1 - (place.unsqueeze(2) - points).abs()).clamp(min=0)  # [n, moved atom, point]
    return torch.bmm(probabilities.unsqueeze(1), shares).squeeze(1)


class Rainbow:
    """The agent. seed: for networks and noise.

    lr, adam_epsilon: Adam's. max_gradient: bound on the gradient's L2 norm. n_atoms, v_min, v_max: the support, in
    units of the discounted return.
    """

    def __init__(
        self,
        n_actions: int,
        *,
        stack: int = 4,
        hidden: int = 256,
        sigma0: float = 0.1,
        n_atoms: int = 51,
        v_min: float = -10.0,
        v_max: float = 10.0,
        lr: float = 1e-4,
        adam_epsilon: float = 1.5e-4,
        max_gradient: float = 10.0,
        seed: int = 0,
        device: str = "cpu",
    ):
        self.device, self.max_gradient = device, max_gradient
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            settings: dict = dict(stack=stack, hidden=hidden, sigma0=sigma0)
            self.online = Network(n_actions, n_atoms, **settings).to(device)
            self.target = Network(n_actions, n_atoms, **settings).to(device).requires_grad_(False)
        self.generator = torch.Generator(device).manual_seed(seed)
        self.support = torch.linspace(v_min, v_max, n_atoms, device=device)
        # Table B.1 prints Adam's epsilon as 1.5e4, which would learn nothing; van Hasselt et al. use 1.5e-4
        self.adam = torch.optim.Adam(self.online.parameters(), lr=lr, eps=adam_epsilon, fused=True)
        self.sync()

    def sync(self) -> None:
        """Copy the online network into the target network."""
        self.target.load_state_dict(self.online.state_dict())

    # --- acting -------------------------------------------------------------------------------------------------------

    def q(self, logits: Tensor) -> Tensor:
        """Expected returns [n, actions] of logits [n, actions, atoms]."""
        return torch.softmax(logits, dim=2) @ self.support

    @torch.no_grad()
    def act(self, stack: np.ndarray) -> int:
        """Explore: the network's best action under new noise, for a stack uint8 [stack, 84, 84].

        The next `update` uses the same noise.
        """
        self.online.resample(self.generator)
        return int(self.q(self.online(torch.from_numpy(stack).to(self.device).unsqueeze(0))).argmax())

    @torch.no_grad()
    def greedy(self, stacks: np.ndarray) -> np.ndarray:
        """Best actions int64 [n] without noise, for stacks [n, stack, 84, 84]."""
        logits = self.online(torch.from_numpy(stacks).to(self.device), self.online.weights(noisy=False))
        return self.q(logits).argmax(dim=1).cpu().numpy()

    # --- learning -----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def targets(self, batch: Batch, weights: Weights | None = None) -> Tensor:
        """Target distributions [n, atoms] for the batch's Q(s, a). weights: noisy ones of the online network.

        The online network chooses the next action, the target network gives the distribution of its return; reward and
        discount then move the atoms.
        """
        following = inputs(batch.next_state)
        best = self.q(self.online(following, weights)).argmax(dim=1)
        self.target.resample(self.generator)
        logits = self.target(following)[torch.arange(len(best)), best]
        atoms = batch.reward.unsqueeze(1) + batch.discount.unsqueeze(1) * self.support
        return project(torch.softmax(logits, dim=1), atoms, self.support)

    def update(self, batch: Batch, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One gradient step on the cross entropies times `weights` [n], averaged over the batch (Algorithm 1, line 8).

        Returns, all float32 [n] and from before the step: cross entropies, which stand in for sizes of TD errors;
        Q(s, a); and the expectations of the targets.
        """
        noisy = self.online.weights()  # once for both states
        target = self.targets(batch, noisy)
        logits = self.online(batch.state, noisy)[torch.arange(len(target)), batch.action]
        log_probabilities = torch.log_softmax(logits, dim=1)
        cross_entropy = -(target * log_probabilities).sum(dim=1)
        self.adam.zero_grad()
        (torch.from_numpy(weights).to(self.device) * cross_entropy).mean().backward()
        gradients = [p.grad for p in self.online.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        if not norm + 1e-6 <= self.max_gradient:  # else all of them would be multiplied by 1
            nn.utils.clip_grads_with_norm_(self.online.parameters(), self.max_gradient, norm)
        self.adam.step()
        with torch.no_grad():
            q = log_probabilities.exp() @ self.support
            td, q, value = torch.stack([cross_entropy, q, target @ self.support]).cpu().numpy()
        return td, q, value

    def weights(self) -> dict[str, Tensor]:
        """Parameters of the online network by name."""
        return self.online.state_dict()
