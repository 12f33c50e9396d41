"""Networks of SAC and TD3: NumPy equals torch, twins are independent, a step changes what it should."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from papers.ners.agents.networks import Actor, Critics, descend
from tests.papers.ners.conftest import reference_critic


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


def test_the_critics_are_two_plain_networks():
    torch.manual_seed(0)
    critics, state, action = Critics(3, 2, (8, 5)), torch.randn(6, 3), torch.randn(6, 2)
    values = critics(state, action)
    assert values.shape == (2, 6) and not torch.allclose(values[0], values[1])
    for k in range(2):
        torch.testing.assert_close(values[k], reference_critic(list(critics.parameters()), k, state, action))


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
