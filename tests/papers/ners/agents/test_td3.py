"""TD3 against a plain second implementation and by hand: noisy targets, weighted losses, delay, acting."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from papers.ners.agents.td3 import TD3
from papers.ners.samplers.batch import Batch
from tests.papers.ners.conftest import N_ACTIONS, N_STATES, PlainSteps, batch, coming_noise, reference_critic


def agent(**changes) -> TD3:
    return TD3(N_STATES, N_ACTIONS, **(dict(hidden=(16, 8), seed=1) | changes))  # type: ignore[arg-type]


# --- acting -----------------------------------------------------------------------------------------------------------
def test_acting_in_numpy_equals_torch():
    td3 = agent(action_noise=0.3)
    for k in range(5):
        state = torch.randn(N_STATES, generator=torch.Generator().manual_seed(k))
        plain = torch.tanh(td3.actor(state[None]))[0].detach().numpy()
        np.testing.assert_allclose(td3.act(state.numpy()), plain, rtol=1e-5, atol=1e-6)
        noise = np.random.default_rng(k).standard_normal(N_ACTIONS, np.float32)
        drawn = td3.act(state.numpy(), np.random.default_rng(k))
        np.testing.assert_allclose(drawn, np.clip(plain + 0.3 * noise, -1, 1), rtol=1e-5, atol=1e-6)
        assert drawn.dtype == np.float32


# --- an update --------------------------------------------------------------------------------------------------------
class Plain(PlainSteps):
    """TD3's update written out: whole backward passes, plain Adams, one critic at a time."""

    def __init__(self, td3: TD3, lr: float):
        self.td3, self.count = copy.deepcopy(td3), 0
        self.critics, self.actor = list(self.td3.critics.parameters()), list(self.td3.actor.parameters())
        self.adams = [torch.optim.Adam(p, lr=lr) for p in (self.critics, self.actor)]

    def update(self, b: Batch, noise: Tensor) -> tuple[Tensor, list[Tensor]]:
        td3, target = self.td3, list(self.td3.target.parameters())
        with torch.no_grad():
            clipped = torch.clip(td3.target_noise * noise, -td3.noise_clip, td3.noise_clip)
            action = torch.clip(td3.target_actor(b.next_state).tanh() + clipped, -1, 1)
            q = torch.minimum(*(reference_critic(target, k, b.next_state, action) for k in range(2)))
            y = b.reward + td3.gamma * (1 - b.terminal) * q
        q12 = [reference_critic(self.critics, k, b.state, b.action) for k in range(2)]
        self.step(sum((b.weight * (q - y) ** 2).mean() for q in q12), self.adams[0])  # type: ignore[arg-type]
        self.count += 1
        if self.count % td3.policy_delay == 0:
            q = reference_critic(self.critics, 0, b.state, td3.actor(b.state).tanh())
            self.step(-(b.weight * q).mean(), self.adams[1])
        with torch.no_grad():
            pairs = [*zip(target, self.critics), *zip(td3.target_actor.parameters(), self.actor)]
            for slow, fast in pairs:
                slow.copy_((1 - td3.tau) * slow + td3.tau * fast)
        return y, [q.detach() for q in q12]


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_updates_equal_a_plain_second_implementation(delay):
    td3 = agent(lr=0.01, tau=0.1, gamma=0.9, policy_delay=delay, target_noise=0.4, noise_clip=0.3)
    plain = Plain(td3, lr=0.01)
    for k in range(6):
        b, [noise] = batch(7, k), coming_noise(td3, (7, N_ACTIONS))
        told = td3.update(b)
        y, (q1, q2) = plain.update(b, noise)
        for name in ("actor", "critics", "target", "target_actor"):
            for x, z in zip(getattr(td3, name).parameters(), getattr(plain.td3, name).parameters()):
                torch.testing.assert_close(x, z, rtol=1e-4, atol=1e-5)
        plain.assert_told(told, y, q1, q2)


def test_targets_start_equal():
    td3 = agent()
    assert all(torch.equal(slow, fast) for slow, fast in zip(td3.averaged, td3.online, strict=True))
