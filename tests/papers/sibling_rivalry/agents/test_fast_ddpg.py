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


def both(plain: type[DDPG] = DDPG, **settings) -> tuple[FastDDPG, DDPG]:
    return FastDDPG(Plane(), **(SETTINGS | settings)), plain(Plane(), **(SETTINGS | settings))


def numbers(agent: DDPG) -> np.ndarray:
    """Parameters of all four networks."""
    return torch.cat([tensor.detach().flatten() for tensor in agent.parameters + agent.averaged]).numpy()


def farthest(fast: FastDDPG, plain: DDPG, updates: int, **settings) -> float:
    """The largest difference of losses, Q and parameters in so many updates."""
    errors = [abs(numbers(fast) - numbers(plain)).max()]
    for i in range(updates):
        b = batch(i, **settings)
        errors += [abs(one - other).item() for one, other in zip(fast.update(b), plain.update(b), strict=True)]
        if i % 3 == 2:
            fast.sync(), plain.sync()
        errors.append(abs(numbers(fast) - numbers(plain)).max())
    return max(errors)


@pytest.mark.parametrize("n", [1, 70, PART, 2 * PART + 88])
def test_updates_are_those_of_pytorch(n):
    """In one part, and in several of which the last is smaller. After many more updates, a ReLU whose input is a
    rounding error may go its own way."""
    assert farthest(*both(), updates=20, n=n) < 1e-4


class NoTerminal(DDPG):
    def targets(self, batch):
        return super().targets(batch._replace(terminal=torch.zeros_like(batch.terminal)))


class OnlineCritic(DDPG):
    """Climbs the critic that is learnt."""

    def actor_loss(self, batch):
        target, self.target_critic = self.target_critic, self.critic
        loss = super().actor_loss(batch)
        self.target_critic = target
        return loss


class NoPenalty(DDPG):
    def __init__(self, task, **settings):
        super().__init__(task, **settings | {"action_l2": 0.0})


class LateEpsilon(DDPG):
    """Adam as PyTorch has it."""

    def __init__(self, task, **settings):
        super().__init__(task, **settings)
        self.adam = torch.optim.Adam(self.parameters, lr=settings["lr"], eps=settings["adam_eps"])


@pytest.mark.parametrize("fault", [NoTerminal, OnlineCritic, NoPenalty, LateEpsilon])
def test_the_comparison_notices_a_fault(fault):
    assert farthest(*both(fault), updates=30) > 2e-3


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
    with pytest.raises(ValueError, match="for cuda there is DDPG"):
        FastDDPG(Plane(), **SETTINGS | {"device": "cuda"})
