"""ACER: its return estimates by their sums, trust region and duelling by what defines them, gradients by autograd."""

from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import softplus

from papers.ref_er.agents.acer import ACER, SegmentMemory, bias_correction, returns, trust_region
from papers.ref_er.memory.memory import CUT, TERMINATED, Episode
from tests.papers.ref_er.conftest import GAMMA, LENGTHS, N_ACTIONS, N_STATES, SCALE, filled

C = 1.5
SETTINGS = dict(hidden=(8, 8), lr=1e-3, critic_lr=2e-3, gamma=GAMMA, truncation=C, delta=0.05, polyak=0.25, seed=0)
SEGMENTS = 12


def memory_of(capacity: int = 40) -> SegmentMemory:
    return filled(kind=SegmentMemory, capacity=capacity)  # type: ignore[return-value]


def agent(**changes) -> ACER:
    """With outputs that differ from state to state, and a target policy that differs from the policy."""
    one = ACER(N_STATES, N_ACTIONS, **(SETTINGS | changes))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for network in (one.policy, one.value, one.advantage, one.policy_target):
            for parameter in network.parameters():
                parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
        one.raw_std_target += 0.2
    return one


def segments(memory: SegmentMemory, longest: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return memory.sample_segments(SEGMENTS, longest, np.random.default_rng(seed))


def tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array)


# --- drawing segments ------------------------------------------------------------------------------------------------
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 14), st.integers(1, 30))
def test_segments_are_stretches_of_single_episodes(seed, longest, n):
    memory = memory_of(12)
    while len(memory.forget()):
        pass
    for _ in range(2):  # the ring wraps round
        for length in (7, 12):
            states, actions = [np.zeros(N_STATES)] * (length + 1), [np.ones(N_ACTIONS)] * length
            memory.add(Episode(states, actions, actions, actions, [0.0] * length, [0.0] * (length + 1), True))
            memory.forget()
    slots, offsets = memory.sample_segments(n, longest, np.random.default_rng(seed))
    assert slots.dtype == offsets.dtype == np.int64 and len(offsets) == n + 1
    assert offsets[0] == 0 and offsets[-1] == len(slots)
    steps = memory.steps[slots]
    assert steps.min() >= 0
    for first, stop in pairwise(offsets):
        assert (np.diff(slots[first:stop]) % len(memory.rho) == 1).all() and (np.diff(steps[first:stop]) == 1).all()
        start = (slots[first] - steps[first]) % len(memory.rho)
        length = next(length for slot, length in memory._episodes if slot == start)
        assert stop - first == min(length, longest)


def test_episodes_and_starts_are_drawn_uniformly():
    memory, rng = memory_of(), np.random.default_rng(0)
    slots, offsets = memory.sample_segments(20_000, 5, rng)
    first = slots[offsets[:-1]]
    start = memory.steps[first]
    counts = np.unique(first - start, return_counts=True)[1]
    assert len(counts) == len(LENGTHS) and chisquare(counts).pvalue > 1e-3
    longest = start[np.isin(first - start, (first - start).max())]  # the last episode, 12 steps: 8 starts
    counts = np.bincount(longest)
    assert len(counts) == 8 and chisquare(counts).pvalue > 1e-3


def test_an_empty_memory_has_no_segments():
    with pytest.raises(ValueError, match="empty"):
        SegmentMemory(10, 1, 1, 5, GAMMA).sample_segments(1, 5, np.random.default_rng(0))


# --- return estimates ------------------------------------------------------------------------------------------------
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=6), st.floats(0, 1))
def test_returns_are_sums_of_discounted_errors(seed, lengths, gamma):
    """Q + sum of (gamma c)-products times r + gamma V' - Q, as Retrace is defined; Qopc has c = 1."""
    rng, offsets = np.random.default_rng(seed), np.concatenate([[0], np.cumsum(lengths)])
    rewards, values, q = rng.standard_normal((3, offsets[-1])).astype(np.float32)
    trace, after = rng.uniform(0, 1, offsets[-1]).astype(np.float32), rng.standard_normal(len(lengths))
    found = returns(rewards, values, q, trace, after.astype(np.float32), offsets, gamma)
    for factors, estimate in zip((trace, np.ones_like(trace)), found):
        assert estimate.dtype == np.float32
        for j, (first, stop) in enumerate(pairwise(offsets)):
            following = np.append(values[first + 1 : stop], after[j])
            errors = rewards[first:stop] + gamma * following - q[first:stop]
            for k in range(stop - first):
                weights = gamma ** np.arange(stop - first - k) * np.cumprod(np.append(1, factors[first + k + 1 : stop]))
                assert estimate[first + k] == pytest.approx(q[first + k] + weights @ errors[k:], rel=1e-4, abs=1e-4)


# --- trust region and bias correction --------------------------------------------------------------------------------
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0.0, 2.0))
def test_trust_region_is_the_nearest_gradient_that_is_allowed(seed, p, delta):
    """Optimality: allowed; moved only where g is not, then against k alone, and up to the limit."""
    rng = np.random.default_rng(seed)
    g, k = rng.standard_normal((2, 20, p))
    z = trust_region(g, k, delta)
    along = (k * z).sum(1)
    assert (along <= delta + 1e-9).all()
    allowed = (k * g).sum(1) <= delta
    np.testing.assert_array_equal(z[allowed], g[allowed])
    np.testing.assert_allclose(along[~allowed], delta, atol=1e-9)
    multiplier = ((g - z) * k).sum(1) / (k * k).sum(1)
    assert (multiplier >= -1e-12).all()
    np.testing.assert_allclose(g - z, multiplier[:, None] * k, atol=1e-9)
    other = g + rng.standard_normal(g.shape) * 0.5  # anything else that is allowed is no nearer
    other -= np.maximum(0, ((k * other).sum(1) - delta) / (k * k).sum(1))[:, None] * k * rng.uniform(1, 2, (20, 1))
    assert (np.linalg.norm(other - g, axis=1) >= np.linalg.norm(z - g, axis=1) - 1e-9).all()


def test_trust_region_at_the_target_policy():
    g = np.array([[3.0, -4.0]], np.float32)
    for delta in (0.0, 1.0):
        np.testing.assert_array_equal(trust_region(g, np.zeros_like(g), delta), g)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.5, 10.0))
def test_truncation_and_correction_together_have_no_bias(seed, c):
    """E_mu[min(c, rho) f] + E_pi[(1 - c/rho)_+ f] = E_pi[f], exact for finitely many actions."""
    rng = np.random.default_rng(seed)
    pi, mu = rng.dirichlet(np.full(6, 0.5), 2) * 0.97 + 0.005
    f, rho = rng.standard_normal(6), pi / mu
    correction = bias_correction(rho, c)
    assert (mu * np.minimum(c, rho)) @ f + (pi * correction) @ f == pytest.approx(pi @ f, abs=1e-9)
    assert not correction[rho <= c].any() and (correction[rho > c] > 0).all() and (correction < 1).all()


# --- stochastic duelling ---------------------------------------------------------------------------------------------
def test_the_advantage_has_no_mean_under_the_policy():
    """Over 1000 actions per state, and the five of the paper are without bias."""
    one, rng = agent(samples=1000), np.random.default_rng(0)
    memory = memory_of()
    slots = segments(memory)[0][:4]
    states, actions = memory.states[slots], memory.actions[slots]
    mean, std = one.policy.act(states), one.std
    own, centre = one._advantages(memory, slots, mean, std, rng)
    np.testing.assert_allclose(own, one.advantage.act(np.concatenate([states, actions], axis=1))[:, 0], rtol=1e-5)
    drawn = one.draw(mean[None].repeat(1000, 0), std, rng)
    inputs = np.concatenate([np.broadcast_to(states, (1000, *states.shape)), drawn], axis=2)
    values = one.advantage.act(inputs)[..., 0]
    error = values.std(axis=0) * np.sqrt(2 / 1000)
    assert (values.std(axis=0) > 0.005).all() and (abs(values.mean(axis=0) - centre) < 4 * error).all()
    one.samples = 5
    few = np.mean([one._advantages(memory, slots, mean, std, rng)[1] for _ in range(200)], axis=0)
    assert (abs(few - values.mean(axis=0)) < 4 * error).all()


def test_drawn_actions_are_the_policys():
    one, rng = agent(), np.random.default_rng(0)
    mean, std = np.array([[1.0, -2.0]], np.float32).repeat(20_000, 0), np.array([0.5, 0.1], np.float32)
    drawn = one.draw(mean, std, rng)
    assert drawn.dtype == np.float32 and (abs(drawn - mean) <= 3.0001 * std).all()
    np.testing.assert_allclose(drawn.mean(axis=0), mean[0], atol=0.02)
    np.testing.assert_allclose(drawn.std(axis=0), std, rtol=0.03)


# --- the gradient step -----------------------------------------------------------------------------------------------
def reference(one: ACER, memory: SegmentMemory, slots: np.ndarray, offsets: np.ndarray, rng: np.random.Generator):
    """Wang et al.'s update, step by step and by automatic differentiation: networks and raw_std with gradients."""
    policy, value, advantage = (deepcopy(network) for network in (one.policy, one.value, one.advantage))
    raw_std = one.raw_std.detach().clone().requires_grad_()
    m = len(slots)
    states, actions = tensor(memory.states[slots]), tensor(memory.actions[slots])
    mean, std = policy(states), softplus(raw_std).expand(m, N_ACTIONS)
    pi, mu = Normal(mean, std), Normal(tensor(memory.means[slots]), tensor(memory.stds[slots]))
    numbers = (mean.detach().numpy(), std[0].detach().numpy())
    drawn = tensor(one.draw(numbers[0][None].repeat(one.samples, 0), numbers[1], rng))
    other = tensor(one.draw(*numbers, rng))

    def network(a: Tensor) -> Tensor:
        return advantage(torch.cat([states, a], dim=1))[:, 0]

    v = value(states)[:, 0]
    centre = sum(network(a) for a in drawn) / one.samples
    q, q_other = v + network(actions) - centre, v + network(other) - centre
    rho, rho_other = (
        (pi.log_prob(a) - mu.log_prob(a)).sum(1).clamp(-7, 7).exp().detach() for a in (actions, other)
    )  # fmt: skip
    retrace, uncut = torch.zeros(m), torch.zeros(m)
    for first, stop in pairwise(offsets):
        last = slots[stop - 1]
        behind = value(tensor(memory.states[[last + 1]]))[0, 0].detach()
        ret = opc = 0.0 * behind if memory.ends[last] == TERMINATED else behind
        for k in range(stop - 1, first - 1, -1):
            reward = float(memory.rewards[slots[k]]) * SCALE
            ret, opc = reward + GAMMA * ret, reward + GAMMA * opc
            retrace[k], uncut[k] = ret, opc
            ret = rho[k].clamp(max=1) ** (1 / N_ACTIONS) * (ret - q[k].detach()) + v[k].detach()
            opc = (opc - q[k].detach()) + v[k].detach()

    g_mean, g_std = torch.zeros(m, N_ACTIONS), torch.zeros(m, N_ACTIONS)
    mean_target, std_target = one.policy_target(states).detach(), softplus(one.raw_std_target).detach()
    constrained = 0
    for k in range(m):
        leaf = [x[k].detach().clone().requires_grad_() for x in (mean, std)]
        here = Normal(*leaf)
        objective = rho[k].clamp(max=C) * (uncut[k] - v[k].detach()) * here.log_prob(actions[k]).sum()
        correction = (1 - C / rho_other[k]).clamp(min=0) * (q_other[k] - v[k]).detach()
        objective = objective + correction * here.log_prob(other[k]).sum()
        g = torch.cat(torch.autograd.grad(objective, leaf))
        divergence = kl_divergence(Normal(mean_target[k], std_target), here).sum()
        direction = torch.cat(torch.autograd.grad(divergence, leaf))
        excess = max(0.0, float(direction @ g) - one.delta)
        constrained += excess > 0
        z = g - excess / float(direction @ direction) * direction
        g_mean[k], g_std[k] = z[:N_ACTIONS], z[N_ACTIONS:]
    ((mean * g_mean).sum() / -m + (std * g_std).sum() / -m).backward()
    error = retrace - q.detach()
    loss = error * q + error * rho.clamp(max=1) * v
    (loss.sum() / -m).backward()
    kinds = int((rho > C).sum()), int((rho_other > C).sum()), constrained
    return policy, raw_std, value, advantage, error.numpy(), rho.numpy(), kl_divergence(mu, pi).sum(1), kinds


@pytest.mark.parametrize("longest", [1, 5, 12])
def test_gradients_are_those_of_the_algorithm(longest):
    one, memory = agent(), memory_of()
    slots, offsets = segments(memory, longest)
    ends = memory.ends[slots[offsets[1:] - 1]]
    assert longest != 5 or {TERMINATED, CUT, 0} == set(ends)
    policy, raw_std, value, advantage, error, rho, kl, kinds = reference(
        one, memory, slots, offsets, np.random.default_rng(7)
    )
    assert min(kinds) > 0 and max(kinds) < len(slots)  # truncated, corrected and constrained ones are among them
    found = one.update(memory, slots, offsets, np.random.default_rng(7), 0.5)
    np.testing.assert_allclose(found, error, rtol=1e-3, atol=1e-4)
    for ours, theirs in ((one.policy, policy), (one.value, value), (one.advantage, advantage)):
        for a, b in zip(ours.parameters(), theirs.parameters()):
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=2e-3, atol=2e-5)
    np.testing.assert_allclose(one.raw_std.grad.numpy(), raw_std.grad.numpy(), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(memory.rho[slots], rho, rtol=1e-4)
    np.testing.assert_allclose(memory.kl[slots], kl.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_a_step_moves_all_networks_and_the_target_a_little():
    one, memory = agent(), memory_of()
    parts = (one._trained, one._targets, list(one.value.parameters()), list(one.advantage.parameters()))
    before = [[p.detach().clone() for p in part] for part in parts]
    one.update(memory, *segments(memory), np.random.default_rng(0), 0.25)
    parts[3].pop()  # a constant added to all advantages changes no Q: the last bias need not move
    for part, old in zip(parts, before):
        assert not any(torch.equal(p, q) for p, q in zip(part, old))
    for target, old, trained in zip(one._targets, before[1], one._trained):
        torch.testing.assert_close(target.detach(), 0.75 * old + 0.25 * trained.detach())
    assert one.optimizer.param_groups[0]["lr"] == pytest.approx(1e-3 / 4)
    assert one.critic_optimizer.param_groups[0]["lr"] == pytest.approx(2e-3 / 4)


def test_no_correction_where_no_weight_is_above_c():
    """With a c that is never reached, the correction asks the advantage network nothing, and adds nothing."""
    one, memory = agent(truncation=1e6), memory_of()
    slots, _ = segments(memory)
    mean = one.policy.act(memory.states[slots])
    g = np.ones((len(slots), 2 * N_ACTIONS), np.float32)
    others = (memory, slots, np.zeros(len(slots), np.float32), mean, one.std)
    one._add_correction(g, *others, np.random.default_rng(0))
    assert (g == 1).all()
    one.truncation = C
    one._add_correction(g, *others, np.random.default_rng(0))
    assert 0 < (g != 1).any(axis=1).sum() < len(slots)


def test_values_of_repeated_batches_approach_the_rewards():
    """gamma = 0: Qret is the scaled reward, whatever the networks say, and Q learns it."""
    one, memory = agent(gamma=0.0, critic_lr=1e-2, lr=1e-6, truncation=5.0), memory_of()
    slots, offsets = segments(memory, longest=12)
    rng = np.random.default_rng(0)
    first = np.mean(one.update(memory, slots, offsets, rng, 1.0) ** 2)
    for _ in range(300):
        last = one.update(memory, slots, offsets, rng, 1.0)
    assert np.mean(last**2) < 0.3 * first
