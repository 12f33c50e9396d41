"""PPO: advantages by their definition, gradients against automatic differentiation, what an epoch visits."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import softplus

from papers.ref_er.agents.ppo import PPO, Rollout, clipped_weight, gae
from papers.ref_er.memory.memory import CUT, TERMINATED, Episode

N_STATES, N_ACTIONS, STEPS = 3, 2, 40
SETTINGS = dict(hidden=(8, 8), lr=1e-3, value_lr=2e-3, gamma=0.9, lam=0.8, epochs=2, batch_size=16, seed=0)


def agent(**changes) -> PPO:
    """With outputs that differ from state to state."""
    one = PPO(N_STATES, N_ACTIONS, **(SETTINGS | changes))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in [*one.policy.parameters(), *one.value.parameters()]:
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return one


def rollout(seed: int = 0) -> Rollout:
    """Three episodes and the beginning of a fourth, by a behaviour that is neither the agent's nor always the same."""
    rng, one = np.random.default_rng(seed), Rollout(STEPS, N_STATES, N_ACTIONS)
    for array in (one.states, one.following, one.actions, one.means, one.rewards):
        array[:] = 0.5 * rng.standard_normal(array.shape)
    one.stds[:] = rng.uniform(0.3, 0.6, one.stds.shape)
    one.ends[[9, 24, 25]] = TERMINATED, CUT, TERMINATED
    goes_on = np.flatnonzero(one.ends[:-1] == 0)
    one.following[goes_on] = one.states[goes_on + 1]
    one.n = STEPS
    return one


def tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array)


# --- advantages ------------------------------------------------------------------------------------------------------
def test_gae_by_hand():
    """Two steps up to an end, then one that goes on: gamma 0.5, lambda 0.5, so that each error counts 1/4 before."""
    rewards, values, following = (
        np.array(x, np.float32) for x in ([1.0, 2.0, 4.0], [1.0, 3.0, 2.0], [3.0, 0.0, 6.0])
    )  # fmt: skip
    found = gae(rewards, values, following, np.array([False, True, False]), 0.5, 0.5)
    np.testing.assert_allclose(found, [1.5 - 0.25, -1.0, 5.0])
    assert found.dtype == np.float32


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0, 1), st.floats(0, 1))
def test_gae_is_the_discounted_sum_of_the_episodes_errors(seed, n, gamma, lam):
    rng = np.random.default_rng(seed)
    rewards, values, following = rng.standard_normal((3, n)).astype(np.float32)
    over = rng.random(n) < 0.2
    errors = rewards + gamma * following - values
    expected = np.zeros(n)
    for k in range(n):
        for j in range(k, n):
            expected[k] += (gamma * lam) ** (j - k) * errors[j]
            if over[j]:
                break
    np.testing.assert_allclose(gae(rewards, values, following, over, gamma, lam), expected, rtol=1e-4, atol=1e-5)


def test_only_a_termination_has_no_value_behind_it():
    """With lambda = 1, advantage + value is the discounted sum of scaled rewards and the value behind the last one."""
    one, played = agent(lam=1.0), rollout()
    rewards = played.rewards / np.sqrt(np.mean(played.rewards.astype(np.float64) ** 2))
    behind = one.value.act(played.following)[:, 0]
    advantages, targets = one.estimate(played)
    for first, last, kept in ((0, 9, 0.0), (10, 24, 1.0), (25, 25, 0.0), (26, 39, 1.0)):
        for k in range(first, last + 1):
            steps = last + 1 - k
            expected = np.sum(0.9 ** np.arange(steps) * rewards[k : last + 1]) + kept * 0.9**steps * behind[last]
            assert targets[k] == pytest.approx(expected, rel=1e-4, abs=1e-5)
    np.testing.assert_allclose(targets - advantages, one.value.act(played.states)[:, 0], atol=1e-5)
    assert abs(behind).min() > 1e-3  # or the ends could not be told apart


# --- the rollout -----------------------------------------------------------------------------------------------------
def test_rollout_records_the_latest_step():
    one, episode = Rollout(3, N_STATES, N_ACTIONS), Episode(states=[np.zeros(N_STATES)])
    ends = []
    for k, (over, terminated) in enumerate([(False, False), (True, True), (True, False)], 1):
        assert one.n == k - 1 and not one.full
        episode.states.append(np.full(N_STATES, float(k)))
        episode.actions.append(np.full(N_ACTIONS, 10.0 * k))
        episode.means.append(np.full(N_ACTIONS, 100.0 * k))
        episode.stds.append(np.full(N_ACTIONS, 1000.0 * k))
        episode.rewards.append(-float(k))
        episode.terminated = terminated
        one.add(episode, over)
        ends.append(one.ends[k - 1])
    assert one.full and len(one) == 3 and ends == [0, TERMINATED, CUT]
    for array, column in (
        (one.states, [0, 1, 2]), (one.following, [1, 2, 3]), (one.actions, [10, 20, 30]),
        (one.means, [100, 200, 300]), (one.stds, [1000, 2000, 3000]),
    ):  # fmt: skip
        assert array.dtype == np.float32 and (array == np.array(column)[:, None]).all()
    assert one.rewards.tolist() == [-1, -2, -3]
    with pytest.raises(IndexError):
        one.add(episode, False)
    one.clear()
    assert one.n == 0 and not one.full


def test_rewards_have_the_size_one():
    one = rollout()
    scaled = one.scaled_rewards()
    assert np.mean(scaled**2) == pytest.approx(1.0, rel=1e-5) and scaled.dtype == np.float32
    np.testing.assert_allclose(scaled / one.rewards, (scaled / one.rewards)[0], rtol=1e-5)
    one.rewards[:] = 0.0
    assert not one.scaled_rewards().any()


# --- gradients -------------------------------------------------------------------------------------------------------
@settings(max_examples=100, deadline=None)
@given(st.floats(0.05, 20), st.floats(-5, 5), st.floats(0.05, 0.5))
def test_clipped_weight_is_the_slope_of_the_clipped_objective(rho, advantage, clip):
    log_rho = torch.tensor(np.log(rho), dtype=torch.float64, requires_grad=True)
    ratio = log_rho.exp()
    torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).backward()
    if min(abs(rho - 1 - clip), abs(rho - 1 + clip)) < 1e-9:  # a kink
        return
    found = clipped_weight(np.array([rho]), np.array([advantage]), clip)
    assert found[0] == pytest.approx(float(log_rho.grad), rel=1e-9, abs=1e-12)


def test_policy_gradient_is_that_of_the_clipped_objective():
    one, played = agent(), rollout()
    mean = one.policy.act(played.states)  # of a behaviour near the policy
    played.means[:] = mean + 0.15 * np.sign(played.means)
    played.actions[:] = mean + 0.5 * played.actions
    played.stds[:] = 0.95 * one.std
    rows = np.arange(5, 37)
    advantages = np.random.default_rng(3).standard_normal(len(rows)).astype(np.float32)
    policy, raw_std = deepcopy(one.policy), one.raw_std.detach().clone().requires_grad_()
    actions, states = tensor(played.actions[rows]), tensor(played.states[rows])
    behaviour = Normal(tensor(played.means[rows]), tensor(played.stds[rows]))
    log_ratio = Normal(policy(states), softplus(raw_std)).log_prob(actions) - behaviour.log_prob(actions)
    ratio, weights = log_ratio.sum(1).exp(), tensor(advantages)
    (-torch.minimum(ratio * weights, ratio.clamp(0.8, 1.2) * weights).mean()).backward()
    assert 3 < int(((ratio - 1).abs() < 0.2).sum()) < 29  # both kinds are there

    before = [p.detach().clone() for p in one.policy.parameters()]
    one.improve_policy(played, rows, advantages)
    for ours, theirs, old in zip(one.policy.parameters(), policy.parameters(), before):
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-3, atol=1e-5)
        assert not torch.equal(ours, old)
    np.testing.assert_allclose(one.raw_std.grad.numpy(), raw_std.grad.numpy(), rtol=1e-3, atol=1e-6)


def test_value_gradient_is_that_of_half_the_squared_error():
    one, played = agent(), rollout()
    value, targets = deepcopy(one.value), np.random.default_rng(3).standard_normal(STEPS).astype(np.float32)
    (0.5 * (value(tensor(played.states))[:, 0] - tensor(targets)).square().mean()).backward()
    one.improve_value(played.states, targets)
    for ours, theirs in zip(one.value.parameters(), value.parameters()):
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-3, atol=1e-6)


# --- learning from a rollout -----------------------------------------------------------------------------------------
def test_every_epoch_visits_every_step_once_with_its_own_targets(monkeypatch):
    one, played, visited, taught = agent(epochs=3, batch_size=16), rollout(), [], []
    expected, targets = one.estimate(played)
    monkeypatch.setattr(one, "improve_policy", lambda r, rows, a: visited.append((rows, a)))
    monkeypatch.setattr(one, "improve_value", lambda states, t: taught.append((states, t)))
    errors, _, steps = one.learn(played, np.random.default_rng(0), 0.5)
    assert steps == 9 and [len(rows) for rows, _ in visited] == [16, 16, 8] * 3
    np.testing.assert_array_equal(errors, expected)
    epochs = [np.concatenate([rows for rows, _ in visited[k : k + 3]]) for k in (0, 3, 6)]
    for order in epochs:
        assert sorted(order) == list(range(STEPS))
    assert (epochs[0] != epochs[1]).any() and (epochs[0] != np.arange(STEPS)).any()
    for (rows, advantages), (states, some) in zip(visited, taught):
        np.testing.assert_array_equal(advantages, expected[rows])
        np.testing.assert_array_equal(states, played.states[rows])
        np.testing.assert_array_equal(some, targets[rows])


def test_learning_rates_are_annealed_and_kl_is_that_after_learning():
    one, played = agent(lr=1e-2), rollout()
    _, divergence, _ = one.learn(played, np.random.default_rng(0), 0.25)
    assert one.optimizer.param_groups[0]["lr"] == pytest.approx(1e-2 / 4)
    assert one.value_optimizer.param_groups[0]["lr"] == pytest.approx(2e-3 / 4)
    with torch.no_grad():
        policy = Normal(one.policy(tensor(played.states)), softplus(one.raw_std))
    behaviour = Normal(tensor(played.means), tensor(played.stds))
    assert divergence == pytest.approx(float(kl_divergence(behaviour, policy).sum(1).mean()), rel=1e-4)


def test_actions_with_an_advantage_become_likelier_and_values_nearer():
    one, played = agent(lr=3e-3, value_lr=1e-2, epochs=30, lam=1.0, gamma=0.0), rollout()
    played.means[:], played.stds[:] = one.policy.act(played.states), one.std  # on-policy, as rollouts are
    played.rewards[:] = played.states[:, 0]
    advantages, targets = one.estimate(played)

    def log_density() -> np.ndarray:
        with torch.no_grad():
            policy = Normal(one.policy(tensor(played.states)), softplus(one.raw_std))
            return policy.log_prob(tensor(played.actions)).sum(1).numpy()

    before = log_density()
    one.learn(played, np.random.default_rng(0), 1.0)
    assert np.mean((log_density() - before) * advantages) > 0.02
    assert np.mean((one.value.act(played.states)[:, 0] - targets) ** 2) < 0.5 * np.mean(advantages**2)
