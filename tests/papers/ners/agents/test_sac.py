"""SAC against a plain second implementation and by hand: density, targets, weighted losses, temperature, acting."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from papers.ners.agents.sac import LOG_STD, SAC
from papers.ners.samplers.batch import Batch
from tests.papers.ners.conftest import N_ACTIONS, N_STATES, PlainSteps, batch, coming_noise, reference_critic


def agent(**changes) -> SAC:
    return SAC(N_STATES, N_ACTIONS, **(dict(hidden=(16, 8), seed=1) | changes))  # type: ignore[arg-type]


def policy_is(sac: SAC, mean: list[float], log_std: list[float]) -> None:
    """Let the policy be the same Gaussian in every state."""
    with torch.no_grad():
        for parameter in sac.actor.parameters():
            parameter.zero_()
        sac.actor.layers[-1].bias.copy_(torch.tensor([*mean, *log_std]))  # type: ignore[operator, union-attr]


def reference_policy(mean: Tensor, log_std: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """The squashed Gaussian as torch.distributions has it; the cache gives it back u, which tanh rounds away."""
    squash = TanhTransform(cache_size=1)
    std = log_std.clamp(*LOG_STD).exp()
    action = squash(mean + std * z)
    return action, TransformedDistribution(Normal(mean, std), [squash]).log_prob(action).sum(dim=1)


# --- the policy -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mean", [0.0, 0.7, 20.0, -20.0])
def test_the_log_density_and_its_gradient_are_those_of_a_transformed_distribution(mean):
    sac, state = agent(), torch.randn(4, N_STATES)
    with torch.no_grad():
        sac.actor.layers[-1].bias[0] += mean  # type: ignore[index, operator, union-attr]
    (z,) = coming_noise(sac, (4, 2))
    ours = sac.policy(state)
    theirs = reference_policy(*sac.actor(state).chunk(2, dim=1), z)
    for x, y in zip(ours, theirs):
        torch.testing.assert_close(x, y)
    gradients = [torch.autograd.grad((a.sum() + 2 * d.sum()), sac.actor_parameters) for a, d in (ours, theirs)]
    for x, y in zip(*gradients):
        assert torch.isfinite(x).all()
        torch.testing.assert_close(x, y)


def test_the_deviation_is_clamped():
    sac = agent()
    for raw, kept in ((9.0, 2.0), (-50.0, -20.0)):
        policy_is(sac, [0.1, 0.2], [raw, raw])
        (z,) = coming_noise(sac, (6, 2))
        action, log_density = sac.policy(torch.zeros(6, N_STATES))
        torch.testing.assert_close(action, torch.tanh(torch.tensor([0.1, 0.2]) + math.exp(kept) * z))
        assert torch.isfinite(log_density).all()
        acted = sac.act(np.zeros(N_STATES, np.float32), np.random.default_rng(3))
        noise = np.random.default_rng(3).standard_normal(2, np.float32)
        np.testing.assert_allclose(acted, np.tanh([0.1, 0.2] + np.exp(kept) * noise), rtol=1e-5)


# --- acting -----------------------------------------------------------------------------------------------------------
def test_acting_in_numpy_equals_torch():
    sac = agent()
    for k in range(5):
        state = torch.randn(N_STATES, generator=torch.Generator().manual_seed(k))
        mean, log_std = (x[0].detach().numpy() for x in sac.actor(state[None]).chunk(2, dim=1))
        np.testing.assert_allclose(sac.act(state.numpy()), np.tanh(mean), rtol=1e-5, atol=1e-6)  # the mean, no noise
        noise = np.random.default_rng(k).standard_normal(N_ACTIONS, np.float32)
        drawn = sac.act(state.numpy(), np.random.default_rng(k))
        np.testing.assert_allclose(drawn, np.tanh(mean + np.exp(log_std) * noise), rtol=1e-5, atol=1e-6)
        assert drawn.dtype == np.float32 and np.abs(drawn).max() <= 1


# --- an update --------------------------------------------------------------------------------------------------------
class Plain(PlainSteps):
    """SAC's update written out: whole backward passes, plain Adams, one critic at a time."""

    def __init__(self, sac: SAC, lr: float):
        self.sac = copy.deepcopy(sac)
        self.critics, self.actor = list(self.sac.critics.parameters()), list(self.sac.actor.parameters())
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.adams = [torch.optim.Adam(p, lr=lr) for p in (self.critics, self.actor, [self.log_alpha])]

    def update(self, b: Batch, noise: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        sac, target = self.sac, list(self.sac.target.parameters())
        with torch.no_grad():
            action, log_pi = reference_policy(*sac.actor(b.next_state).chunk(2, dim=1), noise[0])
            q = torch.minimum(*(reference_critic(target, k, b.next_state, action) for k in range(2)))
            y = b.reward + sac.gamma * (1 - b.terminal) * (q - self.log_alpha.exp() * log_pi)
        q12 = [reference_critic(self.critics, k, b.state, b.action) for k in range(2)]
        self.step(sum((b.weight * (q - y) ** 2).mean() for q in q12), self.adams[0])  # type: ignore[arg-type]
        action, log_pi = reference_policy(*sac.actor(b.state).chunk(2, dim=1), noise[1])
        q = torch.minimum(*(reference_critic(self.critics, k, b.state, action) for k in range(2)))
        self.step((b.weight * (self.log_alpha.exp().detach() * log_pi - q)).mean(), self.adams[1])
        self.step(-(self.log_alpha * (log_pi.detach() - N_ACTIONS)).mean(), self.adams[2])  # no weights
        with torch.no_grad():
            for slow, fast in zip(target, self.critics):
                slow.copy_((1 - sac.tau) * slow + sac.tau * fast)
        return y, [q.detach() for q in q12]


def test_updates_equal_a_plain_second_implementation():
    sac = agent(lr=0.01, tau=0.1, gamma=0.9)
    plain = Plain(sac, lr=0.01)
    for k in range(5):
        b = batch(7, k)
        noise = coming_noise(sac, (7, 2), (7, 2))
        told = sac.update(b)
        y, (q1, q2) = plain.update(b, noise)
        networks = (sac.actor, plain.sac.actor), (sac.critics, plain.sac.critics), (sac.target, plain.sac.target)
        for ours, theirs in networks:
            for x, z in zip(ours.parameters(), theirs.parameters()):
                torch.testing.assert_close(x, z, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(sac.log_alpha, plain.log_alpha[0], rtol=1e-4, atol=1e-5)
        plain.assert_told(told, y, q1, q2)


def test_targets_start_equal():
    sac = agent()
    assert all(torch.equal(slow, fast) for slow, fast in zip(sac.target.parameters(), sac.critics.parameters()))


# --- temperature ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("log_std", "grows"), [(-6.0, True), (-0.2, False)])
def test_the_temperature_goes_up_when_the_entropy_is_below_its_target_and_down_above(log_std, grows):
    """-|A| = -2. A deviation of exp(-6) has an entropy near -9, one of exp(-0.2) above 0. Adam's first step is lr."""
    sac = agent(lr=0.01)
    policy_is(sac, [0.0, 0.0], [log_std, log_std])
    assert sac.log_alpha.item() == 0.0 and sac.target_entropy == -2.0
    sac.update(batch(64))
    assert sac.log_alpha.item() == pytest.approx(0.01 if grows else -0.01, rel=1e-3)
