"""Random network distillation: its networks, the error by hand, who learns, and that surprise follows what is new."""

import pickle

import numpy as np
import pytest
import torch
from torch import Tensor

from papers.sibling_rivalry.agents.rnd import Rnd
from tests.papers.runs import same
from tests.papers.sibling_rivalry.agents.test_icm import KINDS, N, layers, task, train

WIDTH = {"plane": 128, "pictures": 64}


def states(kind: str, seed: int = 0, n: int = N) -> Tensor:
    return torch.randn(n, *task(kind).observation_shape, generator=torch.Generator().manual_seed(seed))


def transition(kind: str, after: Tensor, seed: int = 9) -> tuple[Tensor, Tensor, Tensor]:
    """Any state and action that lead to `after`."""
    g = torch.Generator().manual_seed(seed)
    fake, n = task(kind), len(after)
    actions = torch.randint(4, (n,), generator=g) if fake.action_range is None else torch.rand(n, 2, generator=g)
    return torch.randn(after.shape, generator=g), actions, after


def test_for_vectors_the_target_is_wider_than_the_predictor():
    """As in the authors' code."""
    rnd = Rnd(task("plane"), seed=0)
    assert layers(rnd.target) == [(3, 256), (256, 256), (256, 128)]
    assert layers(rnd.predictor) == [(3, 128), (128, 128), (128, 128)]


@pytest.mark.parametrize("kind", KINDS)
def test_surprise_and_loss_by_hand(kind):
    """Both vectors made to have length 1, squared differences averaged over their numbers: float64 NumPy."""
    rnd, after = Rnd(task(kind), seed=1), states(kind)

    def unit(network):
        vectors = network(after).detach().numpy().astype(np.float64)
        return vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))

    expected = ((unit(rnd.target) - unit(rnd.predictor)) ** 2).sum(axis=1) / WIDTH[kind]
    found = rnd.surprise(*transition(kind, after))
    assert found.dtype == torch.float32 and found.shape == (N,) and not found.requires_grad
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    np.testing.assert_allclose(rnd.losses(*transition(kind, after)).detach(), expected, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_predictor_learns(kind):
    """Every parameter that an optimiser is given must depend on the loss: torch.autograd.grad refuses others."""
    rnd, after = Rnd(task(kind), seed=0), states(kind, n=200)
    learning = {name: p for name, p in rnd.named_parameters() if p.requires_grad}
    assert learning.keys() == {f"predictor.{name}" for name, _ in rnd.predictor.named_parameters()}
    gradients = torch.autograd.grad(rnd.losses(*transition(kind, after)).mean(), list(learning.values()))
    for name, gradient in zip(learning, gradients):
        assert gradient.isfinite().all() and gradient.abs().sum() > 0, name
    before = pickle.loads(pickle.dumps(rnd))
    train(rnd, transition(kind, after), steps=3)
    for name, stays in (("target", True), ("predictor", False)):
        assert same(*(getattr(one, name).state_dict() for one in (rnd, before))) == stays


@pytest.mark.parametrize("kind", KINDS)
def test_surprise_falls_where_one_has_been_and_stays_elsewhere(kind):
    rnd = Rnd(task(kind), seed=0)
    known = states(kind, n=256) * 0.3
    new = states(kind, seed=1, n=256) * 0.3 + 3
    at_first = rnd.surprise(*transition(kind, known)).mean()
    train(rnd, transition(kind, known), steps=200 if kind == "plane" else 60)
    still = rnd.surprise(*transition(kind, known)).mean()
    assert still < 0.05 * at_first
    assert rnd.surprise(*transition(kind, new)).mean() > 10 * still
