"""Networks of SAC and TD3: NumPy equals torch, twins are independent, a step changes what it should."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch.func import functional_call

from papers.ners.networks import Actor, Critics, descend, state_dicts


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 5), st.integers(0, 1000))
def test_numpy_and_torch_agree_on_one_state(n_states, hidden, n_outputs, seed):
    torch.manual_seed(seed)
    actor = Actor(n_states, tuple(hidden), n_outputs)
    state = 3 * torch.randn(n_states)
    found = actor.one(state.numpy())
    assert found.dtype == np.float32 and found.shape == (n_outputs,)
    np.testing.assert_allclose(found, actor(state[None])[0].detach().numpy(), rtol=1e-4, atol=1e-5)


def test_one_follows_the_weights():
    actor = Actor(2, (4,), 1)
    state = np.ones(2, np.float32)
    before = actor.one(state)
    with torch.no_grad():
        actor.layers[-1].bias.add_(0.5)  # type: ignore[operator]
    np.testing.assert_allclose(actor.one(state), before + 0.5, rtol=1e-5)


def plain(critics: Critics, k: int, state: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    """The k-th critic written out, [n]."""
    x = torch.cat([state, action], dim=1)
    parameters = list(critics.parameters())
    layers = list(zip(parameters[::2], parameters[1::2]))
    for i, (weight, bias) in enumerate(layers):
        x = x @ weight[k] + bias[k]
        x = x.relu() if i < len(layers) - 1 else x
    return x[:, 0]


def test_the_critics_are_two_plain_networks():
    torch.manual_seed(0)
    critics, state, action = Critics(3, 2, (8, 5)), torch.randn(6, 3), torch.randn(6, 2)
    values = critics(state, action)
    assert values.shape == (2, 6) and not torch.allclose(values[0], values[1])
    for k in range(2):
        torch.testing.assert_close(values[k], plain(critics, k, state, action))


def test_the_first_critic_alone_has_the_same_value_and_gradient():
    torch.manual_seed(1)
    critics, state = Critics(3, 2, (8, 5)), torch.randn(6, 3)
    gradients = []
    for value in (critics.first, lambda s, a: critics(s, a)[0]):
        action = torch.linspace(-1, 1, 12).reshape(6, 2).requires_grad_()
        y = value(state, action)
        assert y.shape == (6,)
        gradients.append((y.detach(), *torch.autograd.grad(y.square().sum(), [action, *critics.parameters()])))
    for ours, theirs in zip(*gradients):
        torch.testing.assert_close(ours, theirs)


def test_names_of_weights():
    actor, critics = Actor(2, (4,), 1), Critics(2, 1, (4,))
    found = state_dicts(actor=actor, critics=critics)
    assert len(found) == 4 + 4 and {name.split(".")[0] for name in found} == {"actor", "critics"}
    assert found["actor.layers.0.weight"] is not None and found["actor.layers.0.weight"].shape == (4, 2)
    own = {name.removeprefix("actor."): value for name, value in found.items() if name.startswith("actor.")}
    state = torch.randn(3, 2)
    torch.testing.assert_close(functional_call(Actor(2, (4,), 1), own, (state,)), actor(state))


@pytest.mark.parametrize("steps", [1, 3])
def test_descend_is_a_step_of_adam_on_these_parameters_only(steps):
    """Adam's first steps on a constant gradient are `lr` long, whatever the gradient's size."""
    ours, other = torch.nn.Parameter(torch.tensor([1.0, 2.0])), torch.nn.Parameter(torch.tensor([3.0, -1.0]))
    adam = torch.optim.Adam([ours], lr=0.1)
    for _ in range(steps):
        descend((torch.tensor([5.0, -0.5]) * ours * 2).sum() + (other * ours.detach()).sum(), [ours], adam)
    torch.testing.assert_close(ours.detach(), torch.tensor([1.0 - 0.1 * steps, 2.0 + 0.1 * steps]))
    assert ours.grad is not None and ours.grad.tolist() == [10.0, -1.0]  # renewed, not summed up
    assert other.grad is None and other.tolist() == [3.0, -1.0]
