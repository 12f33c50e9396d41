"""The learner: its losses by hand, what comes after an end, and that it learns what it is paid for."""

import numpy as np
import pytest
import torch

from envs.voxel.kernels import PLACE
from papers.sibling_rivalry.agents.impala import Impala
from papers.sibling_rivalry.agents.vtrace import vtrace
from papers.sibling_rivalry.construction.players import Order, Player
from papers.sibling_rivalry.construction.task import make_build

TASK = make_build("VoxelBuildSmall", size=4, height=1, sides=(3, 3), max_steps=6)


def learner(anti=False, **settings):
    return Impala(TASK, anti, **(dict(lr=1e-3, entropy=0.01, gamma=0.9, seed=0, device="cpu") | settings))


def played_by(agent, pairs=4, number=0):
    return Player(TASK, pairs, True, seed=0).play(Order(number, 0, agent.policy.weights()))


def values_of(agent, rollouts, anti_goals):
    """V of all states, float64 [n, T + 1], one episode at a time."""
    found = []
    for i, states in enumerate(rollouts.states):
        inputs = [torch.from_numpy(TASK.observe(states)), torch.from_numpy(rollouts.goals[[i] * len(states)])]
        if anti_goals is not None:
            inputs.append(torch.from_numpy(anti_goals[[i] * len(states)]))
        with torch.no_grad():
            found.append(agent.critic(*inputs).squeeze(1).numpy())
    return np.array(found, np.float64)


@pytest.mark.parametrize("anti", [False, True])
def test_losses_by_hand(anti, monkeypatch):
    """With episodes of any length, some of which have reached their goal, and a policy that has moved on."""
    agent, rng = learner(anti), np.random.default_rng(0)
    with monkeypatch.context() as patch:
        patch.setattr(TASK, "success", lambda achieved, goals: rng.random(len(goals)) < 0.15)
        played = played_by(agent)
    rollouts = played.rollouts
    assert rollouts.reached.any() and not rollouts.reached.all()
    with torch.no_grad():
        agent.policy.body.out.weight += 0.5 * torch.randn_like(agent.policy.body.out.weight)
    rewards, anti_goals = rng.normal(size=(8, 6)), rollouts.goals[::-1].copy() if anti else None
    loss, parts = agent.loss(played, rewards, anti_goals)

    values = values_of(agent, rollouts, anti_goals)
    values[rollouts.reached, rollouts.lengths[rollouts.reached]] = 0.0
    log_probs, entropies = np.zeros((8, 6)), np.zeros((8, 6))
    for i, length in enumerate(rollouts.lengths):
        inputs = torch.from_numpy(TASK.observe(rollouts.states[i])), torch.from_numpy(rollouts.goals[[i] * 7])
        with torch.no_grad():
            every = agent.policy.log_probs(*inputs, None).numpy().astype(np.float64)[:length]
        log_probs[i, :length] = every[np.arange(length), rollouts.actions[i, :length]]
        entropies[i, :length] = -(np.exp(every) * every).sum(axis=1)
    ratios = log_probs - played.log_probs
    assert np.abs(ratios).max() > 0.1
    targets, advantages = vtrace(rewards, values, ratios, rollouts.lengths, 0.9)
    run = rollouts.running
    expected = {
        "policy_loss": -(advantages * log_probs)[run].mean(),
        "value_loss": np.square(targets - values[:, :-1])[run].mean(),
        "entropy": entropies[run].mean(),
        "rho": np.minimum(1.0, np.exp(ratios))[run].mean(),
    }
    assert parts == pytest.approx(expected, rel=1e-4, abs=1e-5)
    total = expected["policy_loss"] + 0.5 * expected["value_loss"] - 0.01 * expected["entropy"]
    assert loss.item() == pytest.approx(total, rel=1e-4)


def test_targets_and_advantages_are_constants_to_the_gradient():
    agent = learner(entropy=0.0)
    played = played_by(agent)
    loss, _ = agent.loss(played, np.zeros((8, 6)), None)
    loss.backward()
    assert all(p.grad.abs().max() > 0 for p in [*agent.critic.parameters(), *agent.policy.parameters()])
    with torch.no_grad():
        agent.critic.out.weight.zero_()
        agent.critic.out.bias.zero_()
    agent.adam.zero_grad()
    agent.loss(played, np.zeros((8, 6)), None)[0].backward()  # V = 0 and nothing paid: advantages are 0
    assert not any(p.grad.any() for p in agent.policy.parameters())


def test_running_out_of_time_is_no_end():
    """The critic's value of the last state counts where time ran out, and nothing does where the goal is reached."""
    agent = learner(entropy=0.0, gamma=1.0)
    with torch.no_grad():
        agent.critic.out.weight.zero_()
        agent.critic.out.bias.fill_(3.0)
    played = played_by(agent, pairs=1)
    assert not played.rollouts.reached.any()
    assert agent.loss(played, np.zeros((2, 6)), None)[1]["value_loss"] == pytest.approx(0.0, abs=1e-6)
    played.rollouts.reached[:] = True
    assert agent.loss(played, np.zeros((2, 6)), None)[1]["value_loss"] == pytest.approx(9.0, rel=1e-3)


@pytest.mark.parametrize("sign", [1, -1])
def test_it_learns_what_it_is_paid_for_from_a_policy_of_four_updates_ago(sign):
    """Paid, or fined, for reaching for the goal's own material, it does so nearly always, or never; at first in every
    21st step."""
    agent, older, shares = learner(lr=3e-3), [], []
    for number in range(90):
        older.append(agent.policy.weights())
        played = Player(TASK, 8, False, seed=0).play(Order(number, 0, older[max(0, number - 4)]))
        materials = played.rollouts.goals.max(axis=1).astype(np.int64)
        right = played.rollouts.actions == PLACE + materials[:, None] - 1
        agent.learn(played, sign * right.astype(float), None)
        shares.append(right.mean())
    assert 0.02 < np.mean(shares[:5]) < 0.08
    last = np.mean(shares[-10:])
    assert last > 0.8 if sign == 1 else last < 0.01, last
