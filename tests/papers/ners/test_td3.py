"""TD3 against a plain second implementation and by hand: noisy targets, weighted losses, delay, acting."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from papers.ners.batch import Batch
from papers.ners.td3 import TD3

N_STATES, N_ACTIONS = 3, 2


def agent(**changes) -> TD3:
    return TD3(N_STATES, N_ACTIONS, **(dict(hidden=(16, 8), seed=1) | changes))  # type: ignore[arg-type]


def batch(n: int = 5, seed: int = 0) -> Batch:
    g = torch.Generator().manual_seed(seed)
    return Batch(
        torch.randn(n, N_STATES, generator=g), 2 * torch.rand(n, N_ACTIONS, generator=g) - 1,
        torch.randn(n, generator=g), torch.randn(n, N_STATES, generator=g), (torch.arange(n) % 3 == 2).float(),
        0.2 + 0.8 * torch.rand(n, generator=g),
    )  # fmt: skip


def coming_noise(td3: TD3, n: int) -> Tensor:
    """The standard normal numbers that the agent is about to draw."""
    g = torch.Generator()
    g.set_state(td3.noise.get_state())
    return torch.randn((n, N_ACTIONS), generator=g)


def reference_critic(parameters: list[Tensor], k: int, state: Tensor, action: Tensor) -> Tensor:
    x = torch.cat([state, action], dim=1)
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i][k] + parameters[i + 1][k]
        x = x.relu() if i < len(parameters) - 2 else x
    return x.squeeze(1)


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


# --- losses -----------------------------------------------------------------------------------------------------------


def test_targets_by_hand():
    """y = r + gamma min of both at the target actor's noisy action, and r alone after a termination."""
    td3, b = agent(gamma=0.9, target_noise=0.4, noise_clip=0.3), batch(9)
    with torch.no_grad():
        for k, parameter in enumerate(td3.averaged):
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(k)))
    noise = coming_noise(td3, 9)
    y = td3.targets(b)
    assert not y.requires_grad
    for i in range(9):
        action = torch.tanh(td3.target_actor(b.next_state[i : i + 1]))[0].tolist()
        noisy = [min(max(a + min(max(0.4 * e, -0.3), 0.3), -1), 1) for a, e in zip(action, noise[i].tolist())]
        q = [
            reference_critic(list(td3.target.parameters()), k, b.next_state[i : i + 1], torch.tensor([noisy])).item()
            for k in range(2)
        ]
        wanted = b.reward[i].item() + (0.0 if b.terminal[i] else 0.9 * min(q))
        assert y[i].item() == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    assert (0.4 * noise.abs() > 0.3).any() and (0.4 * noise.abs() < 0.3).any()
    assert torch.equal(y[2::3], b.reward[2::3])


# --- an update --------------------------------------------------------------------------------------------------------


class Plain:
    """TD3's update written out: whole backward passes, plain Adams, one critic at a time."""

    def __init__(self, td3: TD3, lr: float):
        self.td3, self.count = copy.deepcopy(td3), 0
        self.critics, self.actor = list(self.td3.critics.parameters()), list(self.td3.actor.parameters())
        self.adams = [torch.optim.Adam(p, lr=lr) for p in (self.critics, self.actor)]

    def step(self, loss: Tensor, adam: torch.optim.Optimizer) -> None:
        for each in self.adams:
            each.zero_grad()
        loss.backward()
        adam.step()

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
    td3 = agent(lr=0.01, tau=0.1, gamma=0.9, policy_delay=delay)
    plain = Plain(td3, lr=0.01)
    for k in range(6):
        b, noise = batch(7, k), coming_noise(td3, 7)
        told = td3.update(b)
        y, (q1, q2) = plain.update(b, noise)
        for name in ("actor", "critics", "target", "target_actor"):
            for x, z in zip(getattr(td3, name).parameters(), getattr(plain.td3, name).parameters()):
                torch.testing.assert_close(x, z, rtol=1e-4, atol=1e-5)
        wanted = ((y - q1).abs() + (y - q2).abs()) / 2, ((y - q1) ** 2 + (y - q2) ** 2) / 2, y, (q1 + q2) / 2
        for x, z in zip(told, wanted):
            np.testing.assert_allclose(x, z.numpy(), rtol=1e-3, atol=1e-4)


def test_targets_start_equal():
    td3 = agent()
    assert all(torch.equal(slow, fast) for slow, fast in zip(td3.averaged, td3.online, strict=True))


# --- seeds, pickles, defaults -----------------------------------------------------------------------------------------


def test_one_seed_one_agent():
    state = torch.get_rng_state()
    one, two, other = agent(), agent(), agent(seed=2)
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's numbers are shifted
    for k in range(2):
        for each in (one, two, other):
            each.update(batch(seed=k))
    for name, value in one.weights().items():
        assert torch.equal(value, two.weights()[name]) and not torch.equal(value, other.weights()[name])


def test_defaults_are_the_papers():
    """But for the learning rate: the printed 5e-3 is replaced by 1e-3."""
    td3 = TD3(4, 3)
    assert (td3.gamma, td3.tau, td3.policy_delay) == (0.99, 5e-3, 2)
    assert (td3.action_noise, td3.target_noise, td3.noise_clip) == (0.1, 0.2, 0.5)
    assert [len(bias) for bias in list(td3.actor.parameters())[1::2]] == [256, 256, 3]
    assert [bias.shape[-1] for bias in td3.critic_parameters[1::2]] == [256, 256, 1]
    assert {adam.param_groups[0]["lr"] for adam in (td3.actor_adam, td3.critic_adam)} == {1e-3}
