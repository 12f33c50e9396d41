"""The DQN's targets, losses and steps, by hand where that is possible."""

import copy

import numpy as np
import pytest
import torch

from papers.bias_reduced_her.agents.ddpg import Batch
from papers.bias_reduced_her.agents.dqn import DQN


def agent(n_inputs=3, n_actions=2, **settings):
    return DQN(n_inputs, n_actions, **settings)


def batch(n=4, n_inputs=3, n_actions=2, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return Batch(
        inputs=torch.randn(n, n_inputs, generator=rng),
        action=torch.randint(n_actions, (n,), generator=rng),
        reward=-torch.ones(n),
        next_inputs=torch.randn(n, n_inputs, generator=rng),
        terminal=torch.zeros(n),
    )


def with_values(dqn, q, target):
    """The agent, its networks replaced by tables: the input is the number of a state."""
    dqn.q, dqn.target = (lambda x, t=table: torch.tensor(t)[x[:, 0].long()] for table in (q, target))
    return dqn


def test_values_are_the_networks():
    dqn, inputs = agent(5, 4), np.random.default_rng(0).normal(size=(7, 2, 5)).astype(np.float32)
    values = dqn.values(inputs)
    assert values.shape == (7, 2, 4) and values.dtype == np.float32
    with torch.no_grad():
        np.testing.assert_allclose(values, dqn.q(torch.from_numpy(inputs)), atol=1e-6)
    assert [tuple(p.shape) for p in dqn.parameters[::2]] == [(64, 5), (64, 64), (64, 64), (4, 64)]


def test_values_follow_the_network_and_leave_the_inputs_alone():
    dqn, inputs = agent(), np.ones((1, 3), np.float32)
    before = dqn.values(inputs)
    dqn.update(batch(), torch.ones(4))
    assert not np.allclose(dqn.values(inputs), before) and (inputs == 1).all()


def test_targets_are_chosen_by_one_network_and_valued_by_the_other():
    dqn = with_values(agent(1, gamma=0.9), q=[[0.0, 0.0], [-1.0, -2.0]], target=[[0.0, 0.0], [-7.0, -3.0]])
    data = Batch(
        inputs=torch.zeros(2, 1), action=torch.zeros(2, dtype=torch.int64), reward=torch.tensor([-1.0, -1.0]),
        next_inputs=torch.ones(2, 1), terminal=torch.tensor([0.0, 1.0]),
    )  # fmt: skip
    np.testing.assert_allclose(dqn.targets(data), [-1 + 0.9 * -7, -1], rtol=1e-6)


def test_targets_are_clipped_to_what_is_possible():
    dqn = with_values(agent(1, gamma=0.9), q=[[0.0, 0.0], [0.0, 0.0]], target=[[5.0, 5.0], [-50.0, -50.0]])
    data = Batch(
        inputs=torch.zeros(2, 1), action=torch.zeros(2, dtype=torch.int64), reward=torch.tensor([-1.0, -1.0]),
        next_inputs=torch.tensor([[0.0], [1.0]]), terminal=torch.zeros(2),
    )  # fmt: skip
    np.testing.assert_allclose(dqn.targets(data), [0, -10], rtol=1e-6)


def test_loss_by_hand():
    dqn = with_values(agent(1, gamma=0.9), q=[[-1.0, -2.0], [-3.0, -4.0]], target=[[-1.0, -2.0], [-3.0, -4.0]])
    data = Batch(
        inputs=torch.tensor([[0.0], [1.0]]), action=torch.tensor([1, 0]), reward=torch.tensor([-1.0, 0.0]),
        next_inputs=torch.tensor([[1.0], [0.0]]), terminal=torch.tensor([0.0, 1.0]),
    )  # fmt: skip
    loss, td = dqn.loss(data, torch.tensor([1.0, 0.5]))
    np.testing.assert_allclose(td, [-1 + 0.9 * -3 + 2, 3], rtol=1e-6)
    assert loss.item() == pytest.approx((1.7**2 + 0.5 * 3**2) / 2)


def test_an_update_returns_loss_and_errors_from_before_it_and_moves_the_target_by_tau():
    dqn = agent(tau=0.1)
    twin, data, weights = copy.deepcopy(dqn), batch(), torch.tensor([1.0, 0.2, 0.7, 0.4])
    loss, td = dqn.update(data, weights)
    expected_loss, expected_td = twin.loss(data, weights)
    assert loss == pytest.approx(expected_loss.item())
    np.testing.assert_allclose(td, expected_td)
    for online, target, first in zip(dqn.parameters, dqn.averaged, twin.averaged):
        assert not torch.equal(online, first)
        torch.testing.assert_close(target, first + 0.1 * (online - first))


def test_gradients_are_clipped():
    dqn = agent(clip=1e-3)
    dqn.update(batch(), torch.ones(4))
    norm = torch.stack([parameter.grad.norm() for parameter in dqn.parameters]).norm()
    assert norm.item() == pytest.approx(1e-3, rel=1e-3)


def test_it_learns_the_values_of_a_known_game():
    """Two states, both actions cost 1; action 1 leads from state 0 to state 1, whose action 0 ends the game."""
    dqn = agent(1, gamma=0.5, lr=3e-3)
    data = Batch(
        inputs=torch.tensor([[0.0], [0.0], [1.0], [1.0]]), action=torch.tensor([0, 1, 0, 1]), reward=-torch.ones(4),
        next_inputs=torch.tensor([[0.0], [1.0], [1.0], [0.0]]), terminal=torch.tensor([0.0, 0.0, 1.0, 0.0]),
    )  # fmt: skip
    for _ in range(600):
        dqn.update(data, torch.ones(4))
    expected = [[-1.75, -1.5], [-1.0, -1.75]]
    np.testing.assert_allclose(dqn.values(np.array([[0.0], [1.0]], np.float32)), expected, atol=0.02)


def test_exploring():
    dqn, rng = agent(3, 4), np.random.default_rng(0)
    inputs = np.array([0.5, -1.0, 2.0], np.float32)
    best = int(dqn.values(inputs[None]).argmax())
    assert {dqn.explore(inputs, 0.0, rng) for _ in range(50)} == {best}
    counts = np.bincount([dqn.explore(inputs, 0.4, rng) for _ in range(4000)], minlength=4) / 4000
    expected = np.full(4, 0.1)
    expected[best] += 0.6
    np.testing.assert_allclose(counts, expected, atol=0.03)


def test_the_seed_decides_the_weights_and_nothing_else():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, two, other = agent(seed=1), agent(seed=1), agent(seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters, two.parameters))
    assert not torch.equal(one.parameters[0], other.parameters[0])
    assert all(torch.equal(a, b) for a, b in zip(one.parameters, one.averaged))
