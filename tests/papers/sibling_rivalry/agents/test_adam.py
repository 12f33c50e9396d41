"""Adam's epsilon where the authors' code has it: steps by hand, and a pickle that goes on."""

import pickle

import numpy as np
import pytest
import torch

from papers.sibling_rivalry.agents.adam import Adam


def by_hand(gradients: list[float], lr: float, eps: float) -> list[float]:
    """A number's way from 0: Adam with epsilon added before the second moment is corrected."""
    x = m = v = 0.0
    way = []
    for t, g in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x -= lr * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + eps)
        way.append(x)
    return way


def walk(adam: Adam, parameter: torch.Tensor, gradients: list[float]) -> list[float]:
    way = []
    for g in gradients:
        parameter.grad = torch.tensor([g])
        adam.step()
        way.append(parameter.item())
    return way


@pytest.mark.parametrize("eps", [1e-3, 1e-8])
def test_steps_by_hand_and_a_pickle_takes_the_same(eps):
    """With gradients of the size of epsilon, of which PyTorch's own Adam makes far larger steps at first."""
    gradients = np.random.default_rng(0).normal(0.5e-3, 1e-3, 40).tolist()
    parameter = torch.zeros(1, requires_grad=True)
    adam = Adam([parameter], lr=0.01, eps=eps)
    expected = by_hand(gradients, 0.01, eps)
    assert walk(adam, parameter, gradients[:20]) == pytest.approx(expected[:20], rel=1e-4)
    adam, parameter = pickle.loads(pickle.dumps((adam, parameter)))
    assert walk(adam, parameter, gradients[20:]) == pytest.approx(expected[20:], rel=1e-4)
    plain = torch.zeros(1, requires_grad=True)
    theirs = walk(torch.optim.Adam([plain], lr=0.01, eps=eps), plain, gradients)
    assert (abs(theirs[0]) > 5 * abs(expected[0])) == (eps == 1e-3)
