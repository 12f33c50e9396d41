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


def learner(extra: bool, seed: int, **settings) -> DoubleDQN:
    return DoubleDQN(functools.partial(network, extra), lr=3e-4, gamma=0.9, seed=seed, **settings)


def discor(huber_delta: float = 1.0, **settings) -> DisCor:
    errors = learner(True, 1, huber_delta=huber_delta)
    return DisCor(OneBatch(), learner(False, 0), errors, np.random.default_rng(0), **settings)


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
    ours.agent.q, ours.errors.q, ours.errors.target = row(0), row(1), row(2)
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


def learn(ours, next_error, td) -> None:
    """An update with this `next_error`."""
    for index in range(3):
        ours.add(index)
    ours._drawn, ours._next_error = np.arange(3), next_error
    ours.update(np.arange(3), {"td_error": td.numpy()})


def errors_of(ours) -> torch.Tensor:
    """Of the actions taken."""
    with torch.no_grad():
        return ours.errors.q(batch().frame).gather(1, batch().action[:, None]).squeeze(1)


@pytest.mark.parametrize("huber_delta", [1.0, 4.0])
def test_update_by_hand(huber_delta, monkeypatch):
    """Towards |delta| + next error, for the action taken, with a Huber loss that bends where the learner's does."""
    ours, losses = discor(huber_delta=huber_delta), []
    loss_of = ours.errors.loss
    monkeypatch.setattr(ours.errors, "loss", lambda *given: losses.append(loss_of(*given)) or losses[-1])
    next_error, td = torch.tensor([1.0, 2.0, 9.0]), torch.tensor([-3.0, 0.5, 0.25])
    before, q_before = errors_of(ours), [p.clone() for p in ours.agent.q.parameters()]
    learn(ours, next_error, td)
    wanted = torch.tensor([4.0, 2.5, 9.25])
    assert losses[0][0].item() == pytest.approx(F.huber_loss(before, wanted, delta=huber_delta).item())
    assert all(torch.equal(a, b) for a, b in zip(q_before, ours.agent.q.parameters()))
    for _ in range(200):
        learn(ours, next_error, td)
    assert errors_of(ours).tolist() == pytest.approx(wanted.tolist(), abs=0.2)


def test_sync_copies_and_sets_the_temperature():
    """tau = mean predicted error since the last sync; without updates in between it stays."""
    ours, means = discor(tau=10.0), []
    ours.synced()
    assert ours.tau == 10.0
    with torch.no_grad():
        ours.errors.q.head.bias += 5.0
    for _ in range(3):
        means.append(errors_of(ours).mean().item())
        learn(ours, torch.full((3,), 50.0), torch.zeros(3))
    assert ours.tau == 10.0
    assert not torch.equal(ours.errors.target.head.bias, ours.errors.q.head.bias)
    with torch.no_grad():
        ours.errors.q.head.bias += 100.0
    ours.synced()
    assert ours.tau == pytest.approx(sum(means) / 3, rel=1e-4)
    assert all(torch.equal(a, b) for a, b in zip(ours.errors.q.parameters(), ours.errors.target.parameters()))
    learn(ours, torch.zeros(3), torch.zeros(3))
    ours.synced()
    assert 90 < ours.tau < 110  # the old sum is forgotten


def test_a_negative_mean_error_does_not_turn_the_weights_round():
    ours = discor()
    with torch.no_grad():
        ours.errors.q.head.bias -= 50.0
    learn(ours, torch.zeros(3), torch.zeros(3))
    ours.synced()
    assert ours.tau == DisCor.SMALLEST_TAU > 0
    weights = ours.weights(torch.tensor([0.0, 0.5, 30.0]))
    assert weights.tolist() == [3.0, 0.0, 0.0]


def test_the_target_network_starts_equal_and_is_not_trained():
    ours = discor()
    assert all(torch.equal(a, b) for a, b in zip(ours.errors.q.parameters(), ours.errors.target.parameters()))
    assert not any(p.requires_grad for p in ours.errors.target.parameters())
