"""Targets, loss and updates of double DQN, by hand on fake networks."""

import copy

import pytest
import torch

from common.networks import NatureTrunk
from papers.ter.agents.dqn import DoubleDQN, make_optimizer
from papers.ter.agents.networks import Network
from papers.ter.replay.batch import Batch
from tests.papers.ter.agents.test_discor import frames, row

SHAPE = (40, 40, 3)


def agent(n_actions: int = 3, **settings) -> DoubleDQN:
    def make_network() -> Network:
        return Network(NatureTrunk(SHAPE), n_actions)

    return DoubleDQN(make_network, **({"lr": 3e-4, "gamma": 0.9, "seed": 0} | settings))


def batch() -> Batch:
    """Three transitions; the last one ends the task. Networks that are `row` read their outputs off the frames."""
    return Batch(
        frame=frames([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], [[0.0] * 3] * 3),
        action=torch.tensor([0, 2, 1]),
        reward=torch.tensor([-1.0, -1.0, 10.0]),
        next_frame=frames(
            [[1.0, 5.0, 2.0], [9.0, 1.0, 1.0], [1.0, 1.0, 8.0]], [[70.0, 3.0, 50.0], [-2.0, 9.0, 9.0], [4.0, 4.0, 4.0]]
        ),
        absorbing=torch.tensor([0.0, 0.0, 1.0]),
    )


def random_batch(size: int = 16) -> Batch:
    generator = torch.Generator().manual_seed(0)
    return Batch(
        torch.rand(size, 3, 40, 40, generator=generator), torch.randint(3, (size,), generator=generator),
        torch.randn(size, generator=generator), torch.rand(size, 3, 40, 40, generator=generator),
        torch.randint(2, (size,), generator=generator).float(),
    )  # fmt: skip


def test_targets_are_chosen_by_one_network_and_valued_by_the_other():
    ours = agent()
    ours.q, ours.target = row(0), row(1)
    # greedy by the first: actions 1, 0, 2; valued by the second: 3, -2, and nothing after the end
    assert ours.targets(batch()).tolist() == pytest.approx([-1 + 0.9 * 3, -1 + 0.9 * -2, 10.0])


def test_loss_by_hand():
    ours = agent()
    ours.q = row(0)
    y, weights = torch.tensor([1.5, 3.0, 8.0]), torch.tensor([1.0, 0.5, 2.0])
    loss, q = ours.loss(batch(), y, weights)
    assert q.tolist() == [1.0, 6.0, 8.0]  # Q of the actions taken
    # Huber with delta 1: 0.5 * 0.5^2 inside, |3| - 0.5 outside; the mean is over the batch, not over the weights
    assert loss.item() == pytest.approx((1.0 * 0.125 + 0.5 * 2.5 + 2.0 * 0.0) / 3)


def test_the_loss_bends_where_it_is_told_to():
    ours, errors = agent(huber_delta=4.0), torch.tensor([0.5, -3.0, 10.0])
    ours.q = row(0)
    loss, _ = ours.loss(batch(), torch.tensor([1.0, 6.0, 8.0]) + errors, torch.tensor([1.0, 2.0, 3.0]))
    # parabolas up to 4, then 4 (|10| - 2): a line with the parabola's slope
    assert loss.item() == pytest.approx((1.0 * 0.125 + 2.0 * 4.5 + 3.0 * 32.0) / 3)


def test_an_update_on_targets_of_its_own():
    """`learn` is `update` on `targets`."""
    one, other, data, weights = agent(), agent(), random_batch(), torch.linspace(0, 1, 16)
    loss, q, y = one.learn(data, weights)
    assert torch.equal(y, other.targets(data))
    other_loss, other_q = other.update(data, y, weights)
    assert loss == other_loss and torch.equal(q, other_q)
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.q.parameters()))


def test_greedy_actions():
    ours = agent()
    ours.q = row(0)
    actions = ours.act(batch().next_frame)
    assert actions.tolist() == [1, 0, 2]
    assert actions.dtype.kind == "i"


def test_both_networks_start_equal_and_sync_copies():
    ours, data = agent(), random_batch()
    assert all(torch.equal(a, b) for a, b in zip(ours.q.parameters(), ours.target.parameters()))
    assert not any(p.requires_grad for p in ours.target.parameters())
    before = copy.deepcopy(ours.target.state_dict())
    ours.update(data, ours.targets(data), torch.ones(16))
    assert all(torch.equal(before[name], tensor) for name, tensor in ours.target.state_dict().items())
    assert not all(torch.equal(a, b) for a, b in zip(ours.q.parameters(), ours.target.parameters()))
    ours.sync()
    assert all(torch.equal(a, b) for a, b in zip(ours.q.parameters(), ours.target.parameters()))


def test_weight_zero_teaches_nothing():
    """Only the transition that counts is learned."""
    ours, data = agent(lr=1e-3), random_batch()
    weights = torch.zeros(16)
    weights[3] = 16.0
    for _ in range(60):
        _, q = ours.update(data, data.reward + 5.0, weights)
    errors = (q - data.reward - 5.0).abs()
    assert errors[3] < 0.5
    ours = agent(lr=1e-3)
    before = [p.clone() for p in ours.q.parameters()]
    ours.update(data, data.reward + 5.0, torch.zeros(16))
    assert all(torch.equal(a, b) for a, b in zip(before, ours.q.parameters()))


def test_the_seed_gives_the_weights():
    one, same, other = agent(seed=1), agent(seed=1), agent(seed=2)
    assert all(torch.equal(a, b) for a, b in zip(one.q.parameters(), same.q.parameters()))
    assert not torch.equal(one.q.head.weight, other.q.head.weight)
    assert agent(n_actions=7).q.head.out_features == 7


def test_two_steps_of_rmsprop_by_hand():
    """v <- 0.95 v + 0.05 g^2 and w <- w - lr g / (sqrt(v) + 0.01)."""
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = make_optimizer("rmsprop", [weight], lr=0.1)
    w, v = [1.0, -2.0], [0.0, 0.0]
    for gradient in ([3.0, -0.001], [-1.0, 0.002]):
        weight.grad = torch.tensor(gradient)
        optimizer.step()
        v = [0.95 * old + 0.05 * g**2 for old, g in zip(v, gradient)]
        w = [old - 0.1 * g / (square**0.5 + 0.01) for old, g, square in zip(w, gradient, v)]
        assert weight.tolist() == pytest.approx(w, rel=1e-5)
