"""The curiosity module: its networks, losses by hand, where gradients go, and that surprise follows what is new."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.icm import Icm

N = 24
KINDS = ("plane", "pictures")


def task(kind: str) -> GoalTask:
    """Shapes are all that the module asks of a task."""
    fake = GoalTask()
    if kind == "plane":
        fake.observation_shape, fake.goal_shape, fake.n_actions, fake.action_range = (3,), (2,), 2, 0.95
    else:
        fake.observation_shape, fake.goal_shape, fake.n_actions, fake.action_range = (2, 6, 5), (1, 6, 5), 4, None
    return fake


def transitions(kind: str, seed: int = 0, n: int = N) -> tuple[Tensor, Tensor, Tensor]:
    """Observations, actions, next observations without any law."""
    g = torch.Generator().manual_seed(seed)
    fake = task(kind)
    before, after = (torch.randn(n, *fake.observation_shape, generator=g) for _ in range(2))
    if fake.action_range is None:
        return before, torch.randint(fake.n_actions, (n,), generator=g), after
    return before, fake.action_range * (2 * torch.rand(n, fake.n_actions, generator=g) - 1), after


def train(module: nn.Module, data: tuple[Tensor, Tensor, Tensor], steps: int) -> None:
    """Icm or Rnd."""
    adam = torch.optim.Adam([p for p in module.parameters() if p.requires_grad], lr=1e-3)
    g = torch.Generator().manual_seed(0)
    for _ in range(steps):
        rows = torch.randint(len(data[0]), (128,), generator=g)
        loss = module.losses(*(part[rows] for part in data)).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()


# --- networks --------------------------------------------------------------------------------------------------------
def layers(module: nn.Module) -> list[tuple[int, ...]]:
    """Inputs and outputs of the linear layers."""
    return [layer.weight.shape[::-1] for layer in module.modules() if isinstance(layer, nn.Linear)]


def test_sizes_are_those_of_the_authors_code():
    plane, pictures = (Icm(task(kind), seed=0) for kind in KINDS)
    assert layers(plane.encoder) == [(3, 128), (128, 128), (128, 128)] and layers(pictures.encoder) == []
    assert layers(plane.inverse_model) == [(256, 128), (128, 2)]
    assert layers(pictures.inverse_model) == [(128, 64), (64, 4)]
    assert layers(plane.forward_model) == [(128 + 2, 128), (128, 128), (128, 128)]
    assert layers(pictures.forward_model) == [(64 + 8, 64), (64, 64)]
    assert pictures.action_encoder.weight.shape == (4, 8)


def test_kinds_of_observations_and_of_actions_are_independent():
    """Neither decides about the other: vectors with discrete actions, and pictures with continuous ones."""
    for kind, other in (("plane", "pictures"), ("pictures", "plane")):
        mixed = task(kind)
        mixed.n_actions, mixed.action_range = task(other).n_actions, task(other).action_range
        icm = Icm(mixed, seed=0)
        before, _, after = transitions(kind)
        _, actions, _ = transitions(other)
        assert icm.surprise(before, actions, after).shape == (N,)
        assert icm.losses(before, actions, after).shape == (N,)


# --- surprise and loss by hand ---------------------------------------------------------------------------------------
def by_hand(icm: Icm, before: Tensor, actions: Tensor, after: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Surprise [n] and losses [n] in float64 NumPy; of the networks for pictures, the convolutions are PyTorch's."""

    def numbers(tensor):
        return tensor.detach().numpy().astype(np.float64)

    def perceptron(network, x):
        layers = [layer for layer in network if isinstance(layer, nn.Linear)]
        for k, layer in enumerate(layers):
            x = x @ numbers(layer.weight).T + numbers(layer.bias)
            x = np.maximum(x, 0) if k < len(layers) - 1 else x
        return x

    def unit(x):
        return x / np.sqrt((x * x).sum(axis=1, keepdims=True))

    def embed(x):
        return unit(perceptron(icm.encoder, numbers(x)) if x.ndim == 2 else numbers(icm.encoder(x)))

    now, target = embed(before), embed(after)
    guess = perceptron(icm.inverse_model, np.hstack([now, target]))
    if actions.dtype == torch.int64:
        inputs = numbers(icm.action_encoder.weight)[actions.numpy()]
        chances = np.exp(guess) / np.exp(guess).sum(axis=1, keepdims=True)
        inverse = -np.log(chances[np.arange(len(guess)), actions.numpy()])
    else:
        inputs = numbers(actions)  # in the task's units
        inverse = ((guess - inputs) ** 2).mean(axis=1)
    expected = unit(perceptron(icm.forward_model, np.hstack([now, inputs])))
    surprise = ((expected - target) ** 2).sum(axis=1) / expected.shape[1]
    return surprise, inverse + surprise


@pytest.mark.parametrize("kind", KINDS)
def test_surprise_and_loss_by_hand(kind):
    icm, data = Icm(task(kind), seed=1), transitions(kind)
    train(icm, transitions(kind, seed=5), steps=5)  # away from initial weights
    surprise, loss = by_hand(icm, *data)
    found = icm.surprise(*data)
    assert found.dtype == torch.float32 and found.shape == (N,) and not found.requires_grad
    np.testing.assert_allclose(found, surprise, rtol=1e-3, atol=1e-8)
    np.testing.assert_allclose(icm.losses(*data).detach(), loss, rtol=1e-4)


# --- gradients -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_all_parameters_learn_from_the_loss(kind):
    """torch.autograd.grad refuses parameters that the loss does not depend on."""
    icm = Icm(task(kind), seed=0)
    parameters = dict(icm.named_parameters())
    assert all(parameter.requires_grad for parameter in parameters.values())
    gradients = torch.autograd.grad(icm.losses(*transitions(kind, n=200)).mean(), list(parameters.values()))
    for name, gradient in zip(parameters, gradients):
        assert gradient.isfinite().all() and gradient.abs().sum() > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_the_target_does_not_learn_but_the_present_vector_does(kind):
    """The encoder's gradient is that of an expression whose target is a constant."""
    icm, (before, actions, after) = Icm(task(kind), seed=0), transitions(kind)

    def gradient(loss: Tensor) -> Tensor:
        parts = torch.autograd.grad(loss, list(icm.encoder.parameters()), retain_graph=True)
        return torch.cat([part.flatten() for part in parts])

    now, target = (F.normalize(icm.encoder(x), dim=1) for x in (before, after))
    guess = icm.inverse_model(torch.cat([now, target], dim=1))
    inverse = F.cross_entropy(guess, actions) if actions.ndim == 1 else (guess - actions).square().mean()
    expected = F.normalize(icm.forward_model(torch.cat([now, icm.action_encoder(actions)], dim=1)), dim=1)
    right = gradient(inverse + (expected - target.detach()).square().mean())

    found = gradient(icm.losses(before, actions, after).mean())
    near = 1e-5 * found.abs().max()
    np.testing.assert_allclose(found, right, atol=near.item())
    # It would be another one if the target learnt, or if the present vector did not:
    assert (gradient((expected.detach() - target).square().mean()).abs() > 10 * near).any()
    assert (gradient((expected - target.detach()).square().mean()).abs() > 10 * near).any()


# --- learning --------------------------------------------------------------------------------------------------------
def walk(seed: int, corner: float, n: int = 1000) -> tuple[Tensor, Tensor, Tensor]:
    """Moves of a point in a unit square at `corner`, whose third coordinate is noise that no action changes."""
    g = torch.Generator().manual_seed(seed)
    before = torch.cat([corner + torch.rand(n, 2, generator=g), torch.rand(n, 1, generator=g)], dim=1)
    actions = 0.95 * (2 * torch.rand(n, 2, generator=g) - 1)
    after = torch.cat([before[:, :2] + actions, torch.rand(n, 1, generator=g)], dim=1)
    return before, actions, after


def test_surprise_falls_where_one_has_been_and_stays_elsewhere():
    """On transitions of the same kind as those trained with, but not the same ones; noise is not a lasting surprise."""
    icm = Icm(task("plane"), seed=0)
    known, new = walk(seed=1, corner=0.0), walk(seed=2, corner=6.0)
    at_first = icm.surprise(*known).mean()
    train(icm, walk(seed=0, corner=0.0), steps=200)
    assert icm.surprise(*known).mean() < 0.02 * at_first
    assert icm.surprise(*new).mean() > 20 * icm.surprise(*known).mean()
    train(icm, new, steps=200)
    assert icm.surprise(*new).mean() < 0.02 * at_first  # not new any more
