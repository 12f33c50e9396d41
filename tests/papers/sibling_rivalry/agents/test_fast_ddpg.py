"""The update as a kernel against the one of PyTorch, update by update."""

import numpy as np
import pytest
import torch

from papers.sibling_rivalry.agents.ddpg import DDPG, Batch
from papers.sibling_rivalry.agents.fast_ddpg import PART, FastDDPG
from tests.papers.sibling_rivalry.fake_tasks import Plane

SETTINGS = dict(
    lr=3e-3, adam_eps=1e-4, gamma=0.98, polyak=0.9, random_actions=0.2, noise=0.1, action_l2=1e3, seed=0
)  # fmt: skip
"""The penalty is so large that it matters to the small actions of a beginner."""


def batch(seed: int, n: int = 70) -> Batch:
    """Positions of different size, so that no two columns are alike; a fifth of the steps reach their goal."""
    g = torch.Generator().manual_seed(seed)
    observations, goals, following = (scale * torch.randn(n, 2, generator=g) for scale in (2.0, 5.0, 3.0))
    actions = torch.rand(n, 2, generator=g) - 0.5
    terminal = (torch.rand(n, generator=g) < 0.2).float()
    return Batch(observations, actions, goals, torch.randn(n, generator=g), following, terminal)


def both() -> tuple[FastDDPG, DDPG]:
    return FastDDPG(Plane(), **SETTINGS), DDPG(Plane(), **SETTINGS)


def numbers(agent: DDPG) -> np.ndarray:
    """Parameters of all four networks."""
    return torch.cat([tensor.detach().flatten() for tensor in agent.parameters + agent.averaged]).numpy()


@pytest.mark.parametrize("n", [1, 70, PART, 2 * PART + 88])
def test_updates_are_those_of_pytorch(n):
    """Losses, Q and parameters; in one part, and in several of which the last is smaller. After many more updates, a
    ReLU whose input is a rounding error may go its own way."""
    fast, plain = both()
    np.testing.assert_array_equal(numbers(fast), numbers(plain))
    for i in range(20):
        b = batch(i, n)
        torch.testing.assert_close(fast.update(b), plain.update(b), rtol=0, atol=1e-4)
        if i % 3 == 2:
            fast.sync(), plain.sync()
        np.testing.assert_allclose(numbers(fast), numbers(plain), rtol=0, atol=1e-4)


def test_weights_that_were_learnt_are_those_that_a_plain_agent_loads():
    fast, plain = both()
    for i in range(3):
        fast.update(batch(i))
    plain.actor.load_state_dict(fast.weights())
    seen, goals = (part.numpy() for part in batch(9)[:3:2])
    np.testing.assert_allclose(fast.act(seen, goals), plain.act(seen, goals), atol=1e-7)
    assert not np.allclose(numbers(fast), numbers(both()[1]))


def test_a_loss_that_is_not_a_number_is_seen():
    b = batch(0)
    b.rewards[3] = np.nan
    assert torch.isnan(FastDDPG(Plane(), **SETTINGS).update(b)[0])


@pytest.mark.parametrize("wrong", [
    lambda b: b._replace(actions=b.actions[:, :1]),
    lambda b: b._replace(next_observations=b.next_observations[:-1]),
    lambda b: b._replace(rewards=b.rewards[:, None]),
    lambda b: b._replace(goals=b.goals.repeat(1, 2)),
])  # fmt: skip
def test_batches_of_wrong_shapes_change_nothing(wrong):
    agent = FastDDPG(Plane(), **SETTINGS)
    before = numbers(agent)
    with pytest.raises(ValueError, match="a batch needs the shapes"):
        agent.update(wrong(batch(0)))
    np.testing.assert_array_equal(numbers(agent), before)


def test_on_the_cpu_only():
    with pytest.raises(ValueError, match="for cuda, use DDPG"):
        FastDDPG(Plane(), **SETTINGS | {"device": "cuda"})
