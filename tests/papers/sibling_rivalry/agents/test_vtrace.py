"""V-trace against sums written out, its on-policy case, and the policy whose values it finds."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.sibling_rivalry.agents import vtrace as module
from papers.sibling_rivalry.agents.vtrace import vtrace


def drawn(seed, n=4, steps=7):
    """Rewards, values, log ratios and lengths at random. What lies behind an end is none."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, steps + 1, n)
    lengths[0] = steps
    rewards, values, log_ratios = (rng.normal(size=(n, size)) for size in (steps, steps + 1, steps))
    behind = np.arange(steps) >= lengths[:, None]
    rewards[behind], log_ratios[behind], values[:, 1:][np.arange(1, steps + 1) > lengths[:, None]] = 1e9, 1e9, np.nan
    return rewards, values, log_ratios, lengths


def written_out(rewards, values, log_ratios, gamma, s, length):
    """v_s as the definition has it: a sum over t of products over i."""
    total = values[s]
    for t in range(s, length):
        c = np.prod([min(1.0, np.exp(log_ratios[i])) for i in range(s, t)])
        rho = min(1.0, np.exp(log_ratios[t]))
        total += gamma ** (t - s) * c * rho * (rewards[t] + gamma * values[t + 1] - values[t])
    return total


@given(seed=st.integers(0, 10**6), gamma=st.floats(0.0, 1.0))
def test_targets_are_the_sum_of_the_definition_and_advantages_look_one_step_ahead(seed, gamma):
    rewards, values, log_ratios, lengths = drawn(seed)
    targets, advantages = vtrace(rewards, values, log_ratios, lengths, gamma)
    for i, length in enumerate(lengths):
        v = [written_out(rewards[i], values[i], log_ratios[i], gamma, s, length) for s in range(length)]
        ahead = np.array([*v[1:], values[i, length]])
        rho = np.minimum(1.0, np.exp(log_ratios[i, :length]))
        np.testing.assert_allclose(targets[i, :length], v, atol=1e-9)
        expected = rho * (rewards[i, :length] + gamma * ahead - values[i, :length])
        np.testing.assert_allclose(advantages[i, :length], expected, atol=1e-9)
        assert not targets[i, length:].any() and not advantages[i, length:].any()


@pytest.mark.parametrize("rho_bar", [1.0, 10.0])
def test_its_fixed_point_is_the_value_of_the_policy_between(rho_bar, monkeypatch):
    """Two states, the action says which one comes next. All sequences of three actions of mu, weighed by how likely
    they are: where V is the value of the policy proportional to min(rho_bar mu, pi), targets are V on average. With a
    rho_bar above all ratios, that policy is pi."""
    monkeypatch.setattr(module, "RHO_BAR", rho_bar)
    pi, mu, gamma = np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([[0.7, 0.3], [0.3, 0.7]]), 0.8
    paid = np.array([[1.0, -2.0], [0.5, 3.0]])
    between = np.minimum(rho_bar * mu, pi)
    between /= between.sum(axis=1, keepdims=True)
    assert (rho_bar == 10.0) == np.allclose(between, pi)
    value = np.linalg.solve(np.eye(2) - gamma * between, (between * paid).sum(axis=1))
    for start in (0, 1):
        expected = 0.0
        for actions in itertools.product((0, 1), repeat=3):
            states = np.array([start, *actions])
            at = states[:-1], np.array(actions)
            ratios = np.log(pi[at] / mu[at])[None]
            targets, _ = vtrace(paid[at][None], value[states][None], ratios, np.array([3]), gamma)
            expected += mu[at].prod() * targets[0, 0]
        assert expected == pytest.approx(value[start], abs=1e-9)
