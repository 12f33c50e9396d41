"""Appendix A on finitely many trajectories: Eqs. (5) to (10) by brute force, and where the printed ones need care."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from papers.sibling_rivalry.agents.sibling_distributions import (
    closer_probability,
    gradient_from_siblings,
    policy_gradient,
    pseudoreward,
    sibling_distributions,
)
from papers.sibling_rivalry.sibling_rivalry import rivalry

REWARDS = np.array([-2.0, -0.5, 1.0, -0.5, -3.0])


def softmax(theta):
    return np.exp(theta) / np.exp(theta).sum()


def scores_of(pi):
    """Gradients [n, n] of log softmax by its logits."""
    return np.eye(len(pi)) - pi


@st.composite
def policies(draw):
    """Probabilities and rewards of 2 to 6 trajectories; few different rewards, so that ties are frequent."""
    n = draw(st.integers(2, 6))
    theta = draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n))
    rewards = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    return softmax(np.array(theta)), np.array(rewards, float)


# ---- Eqs. (5) to (8) -------------------------------------------------------------------------------------------------
def test_by_hand():
    pi, rewards = np.array([0.5, 0.3, 0.2]), np.array([0.0, 2.0, 1.0])
    phi = closer_probability(pi, rewards)
    np.testing.assert_allclose(phi, [0.0, 0.7, 0.5])
    closer, farther = sibling_distributions(pi, phi)
    np.testing.assert_allclose(closer, [0.0, 0.21, 0.1])
    np.testing.assert_allclose(farther, [0.5, 0.09, 0.1])
    np.testing.assert_allclose(pseudoreward(phi), [-1.0, 0.4, 0.0])
    np.testing.assert_allclose(closer_probability(pi, rewards, ties=0.5), [0.25, 0.85, 0.6])


@given(policies(), st.sampled_from([0.0, 0.5]))
def test_against_all_pairs_of_siblings(policy, ties):
    pi, rewards = policy
    closer, farther = np.zeros(len(pi)), np.zeros(len(pi))
    for (i, p), (j, q) in itertools.product(enumerate(pi), repeat=2):
        wins = 1.0 if rewards[i] > rewards[j] else ties if rewards[i] == rewards[j] else 0.0
        closer[i] += p * q * wins
        farther[i] += p * q * (1.0 - wins)
    found = sibling_distributions(pi, closer_probability(pi, rewards, ties))
    np.testing.assert_allclose(found, [closer, farther], atol=1e-12)
    np.testing.assert_allclose(found[0] + found[1], pi)


@given(policies())
def test_as_printed_ties_are_counted_among_the_farther(policy):
    """They have more than half of the mass, and the mean pseudoreward is minus the probability of ties; with a half for
    ties, they have half of it, and the mean is 0."""
    pi, rewards = policy
    tie = sum(p * q for (r, p), (s, q) in itertools.product(zip(rewards, pi), repeat=2) if r == s)
    for ties, more in ((0.0, tie), (0.5, 0.0)):
        phi = closer_probability(pi, rewards, ties)
        found = *(part.sum() for part in sibling_distributions(pi, phi)), pi @ pseudoreward(phi)
        np.testing.assert_allclose(found, [(1 - more) / 2, (1 + more) / 2, -more], atol=1e-12)


def test_they_are_what_sibling_rivalry_sorts_rollouts_into():
    """Ends on a line at these distances from the goal, in 200,000 pairs. Of two ties, the second is the closer."""
    ends, pi = np.array([2.0, 0.5, -1.0, -0.5, 3.0]), softmax(np.array([0.3, -0.4, 0.2, 0.0, -0.3]))
    drawn = np.random.default_rng(0).choice(5, size=400_000, p=pi)
    goals = np.zeros((len(drawn), 1))
    result = rivalry(ends[drawn, None], goals, np.zeros(len(drawn), bool), lambda a, b: np.abs(a - b)[:, 0], 0.0)
    closer, farther = sibling_distributions(pi, closer_probability(pi, -np.abs(ends), ties=0.5))
    for rows, expected in ((result.closer, closer), (~result.closer, farther)):
        np.testing.assert_allclose(np.bincount(drawn[rows], minlength=5) / len(drawn), expected, atol=0.003)


# ---- Eqs. (9) and (10) -----------------------------------------------------------------------------------------------
@given(policies(), st.sampled_from([0.0, 0.5]))
def test_both_forms_of_the_gradient_are_one(policy, ties):
    pi, rewards = policy
    phi, scores = closer_probability(pi, rewards, ties), scores_of(pi)
    first = policy_gradient(scores, pi, phi)
    np.testing.assert_allclose(first, gradient_from_siblings(scores, *sibling_distributions(pi, phi)), atol=1e-12)


def gradient_of_expected_pseudoreward(theta, ties, frozen):
    """Of a softmax policy by its logits [n], by autograd. The sibling's is the same, but held fixed if `frozen`."""
    theta, rewards = torch.tensor(theta, requires_grad=True), torch.from_numpy(REWARDS)
    pi = torch.softmax(theta, 0)
    wins = (rewards[:, None] > rewards).double() + ties * (rewards[:, None] == rewards).double()
    phi = wins @ (pi.detach() if frozen else pi)
    return torch.autograd.grad(pi @ (2 * phi - 1), theta)[0].numpy()


THETA = np.array([0.2, -0.3, -1.0, 0.5, 0.1])


@pytest.mark.parametrize("ties", [0.0, 0.5])
def test_the_gradient_is_that_against_a_sibling_that_stays_as_it_is(ties):
    pi = softmax(THETA)
    found = policy_gradient(scores_of(pi), pi, closer_probability(pi, REWARDS, ties))
    np.testing.assert_allclose(found, gradient_of_expected_pseudoreward(THETA, ties, frozen=True), atol=1e-12)
    assert np.abs(found).max() > 0.1


def test_against_a_sibling_that_learns_too_there_is_nothing_to_gain():
    """E[psi] is 0 whatever the policy. As printed, all that there is to gain is to make ties less probable."""
    np.testing.assert_allclose(gradient_of_expected_pseudoreward(THETA, 0.5, frozen=False), 0.0, atol=1e-12)
    theta = torch.tensor(THETA, requires_grad=True)
    pi, same = torch.softmax(theta, 0), torch.from_numpy(REWARDS[:, None] == REWARDS).double()
    [fewer_ties] = torch.autograd.grad(-(pi @ same @ pi), theta)
    np.testing.assert_allclose(gradient_of_expected_pseudoreward(THETA, 0.0, frozen=False), fewer_ties, atol=1e-12)


def test_a_trajectory_with_a_positive_pseudoreward_may_be_worse_than_the_mean():
    pi, rewards = np.array([0.6, 0.3, 0.1]), np.array([0.0, 1.0, 100.0])
    assert pseudoreward(closer_probability(pi, rewards))[1] > 0
    more = pi + 0.01 * (np.eye(3)[1] - pi)  # of the second, at the cost of all
    assert more @ rewards < pi @ rewards
