"""Weights, error targets and temperature of DisCor, by hand on fake networks."""

import functools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from common.networks import NatureTrunk
from common.replay.protocol import Step
from papers.ter.agents.discor import DisCor
from papers.ter.agents.dqn import DoubleDQN
from papers.ter.agents.networks import Network
from papers.ter.replay.batch import Batch

SHAPE = (40, 40, 3)
GREEDY = torch.tensor([[1], [0], [2]])
"""Of the batch below."""


def network(extra: bool) -> Network:
    return Network(NatureTrunk(SHAPE), 3, extra=extra)


class OneBatch:
    """A memory that has nothing but the batch below."""

    capacity = 3

    def batch(self, indices: np.ndarray) -> Batch:
        return batch()


def discor(**settings) -> DisCor:
    agent = DoubleDQN(functools.partial(network, False), lr=3e-4, gamma=0.9, seed=0)
    settings = {"lr": 3e-4, "seed": 1} | settings
    return DisCor(OneBatch(), agent, np.random.default_rng(0), functools.partial(network, True), **settings)


def row(k: int):
    """A network that reads its outputs off row ``k`` of a frame."""
    return lambda frames: frames[:, 0, k, :3]


def frames(*rows: list) -> torch.Tensor:
    found = torch.zeros(len(rows[0]), 3, 40, 40)
    for k, values in enumerate(rows):
        found[:, 0, k, :3] = torch.tensor(values)
    return found


def batch() -> Batch:
    """Next frames hold Q in row 0, the error network's outputs in row 1 and those of its target network in row 2."""
    q = [[1.0, 5.0, 2.0], [9.0, 1.0, 1.0], [1.0, 1.0, 8.0]]
    error = [[3.0, 4.0, 30.0], [5.0, 60.0, 7.0], [9.0, 9.0, 90.0]]
    target = [[10.0, 20.0, 70.0], [40.0, 50.0, 0.0], [0.0, 0.0, 99.0]]
    return Batch(
        frame=torch.rand(3, 3, 40, 40, generator=torch.Generator().manual_seed(0)),
        action=torch.tensor([0, 2, 1]),
        reward=torch.zeros(3),
        next_frame=frames(q, error, target),
        absorbing=torch.tensor([0.0, 0.0, 1.0]),
    )


def faked(**settings) -> DisCor:
    ours = discor(**settings)
    ours.agent.q, ours.error, ours.target = row(0), row(1), row(2)
    return ours


def test_next_error_is_that_of_the_greedy_action_in_the_target_network():
    assert faked().next_error(batch(), GREEDY).tolist() == pytest.approx([0.9 * 20, 0.9 * 40, 0.0])


def test_the_released_code_takes_the_largest_error_of_the_online_network():
    assert faked(released=True).next_error(batch(), GREEDY).tolist() == pytest.approx([0.9 * 30, 0.9 * 60, 0.0])


def test_what_is_sampled():
    """Targets of double DQN, weights of DisCor, any transitions: with one look at the next states for both."""
    ours, asked = faked(tau=10.0), []
    ours.agent.q = lambda frames: asked.append(1) or frames[:, 0, 0, :3]
    ours.agent.target = row(2)
    for index in range(3):
        ours.add(index, Step(None, 0, 0.0, None, False, False))
    indices, weights, targets = ours.sample(3)
    p = torch.exp(torch.tensor([-1.8, -3.6, 0.0]))
    assert set(indices) <= {0, 1, 2} and len(asked) == 1
    assert weights.tolist() == pytest.approx((3 * p / p.sum()).tolist())
    assert targets.tolist() == pytest.approx([0.9 * 20, 0.9 * 40, 0.0])


def learn(ours, next_error, td) -> float:
    """An update with this `next_error`; returns the loss before it."""
    ours._next_error = next_error
    with torch.no_grad():
        loss, _ = ours.loss(batch(), next_error, td)
    ours.update(np.arange(3), {"td_error": td.numpy()})
    return loss.item()


def test_update_by_hand():
    """Towards |delta| + next error, for the action taken, with a Huber loss."""
    ours, data = discor(), batch()
    next_error, td = torch.tensor([1.0, 2.0, 0.0]), torch.tensor([-3.0, 0.5, 0.25])
    with torch.no_grad():
        before = ours.error(data.frame).gather(1, data.action[:, None]).squeeze(1)
    q_before = [p.clone() for p in ours.agent.q.parameters()]
    loss = learn(ours, next_error, td)
    assert loss == pytest.approx(F.smooth_l1_loss(before, torch.tensor([4.0, 2.5, 0.25])).item())
    ours.agent.huber_delta = 4.0
    with torch.no_grad():
        bent, _ = ours.loss(batch(), torch.tensor([1.0, 2.0, 9.0]), td)
        error = ours.error(data.frame).gather(1, data.action[:, None]).squeeze(1)
    assert bent == pytest.approx(F.huber_loss(error, torch.tensor([4.0, 2.5, 9.25]), delta=4.0).item())
    ours.agent.huber_delta = 1.0
    assert all(torch.equal(a, b) for a, b in zip(q_before, ours.agent.q.parameters()))
    for _ in range(150):
        learn(ours, next_error, td)
    with torch.no_grad():
        after = ours.error(data.frame).gather(1, data.action[:, None]).squeeze(1)
    assert after.tolist() == pytest.approx([4.0, 2.5, 0.25], abs=0.2)


def test_sync_copies_and_sets_the_temperature():
    """tau = mean predicted error since the last sync; without updates in between it stays."""
    ours, data, means = discor(tau=10.0), batch(), []
    ours.synced()
    assert ours.tau == 10.0
    with torch.no_grad():
        ours.error.head.bias += 5.0
    for _ in range(3):
        with torch.no_grad():
            means.append(ours.error(data.frame).gather(1, data.action[:, None]).mean().item())
        learn(ours, torch.full((3,), 50.0), torch.zeros(3))
    assert ours.tau == 10.0
    assert not torch.equal(ours.target.head.bias, ours.error.head.bias)
    with torch.no_grad():
        ours.error.head.bias += 100.0
    ours.synced()
    assert ours.tau == pytest.approx(sum(means) / 3, rel=1e-4)
    assert all(torch.equal(a, b) for a, b in zip(ours.error.parameters(), ours.target.parameters()))
    learn(ours, torch.zeros(3), torch.zeros(3))
    ours.synced()
    assert 90 < ours.tau < 110  # the old sum is forgotten


def test_a_negative_mean_error_does_not_turn_the_weights_round():
    ours = discor()
    with torch.no_grad():
        ours.error.head.bias -= 50.0
    learn(ours, torch.zeros(3), torch.zeros(3))
    ours.synced()
    assert ours.tau == DisCor.SMALLEST_TAU > 0
    weights = ours.weights(torch.tensor([0.0, 0.5, 30.0]))
    assert weights.tolist() == [3.0, 0.0, 0.0]


def test_the_target_network_starts_equal_and_is_not_trained():
    ours = discor()
    assert all(torch.equal(a, b) for a, b in zip(ours.error.parameters(), ours.target.parameters()))
    assert not any(p.requires_grad for p in ours.target.parameters())
