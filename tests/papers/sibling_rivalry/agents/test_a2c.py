"""The actor-critic: its losses against the formulas, its step against Adam, what each network sees, and a bandit."""

import numpy as np
import pytest
import torch

from envs.circular_track import CircularTrack
from papers.sibling_rivalry.agents.a2c import A2C, Steps
from tests.papers.sibling_rivalry.fake_tasks import Plane


def agent(sees_anti_goal=True, seed=0, lr=1e-3, task=None):
    return A2C(task or CircularTrack(), sees_anti_goal=sees_anti_goal, lr=lr, seed=seed)


def batch(m=12, anti_goals=True, n_actions=1, seed=0):
    """Random steps."""
    torch.manual_seed(seed)
    pairs = torch.randn(3, m, 2)
    actions = (2 * torch.rand(m, n_actions) - 1) * 0.45
    return Steps(pairs[0], pairs[1], pairs[2] if anti_goals else None, actions, torch.randn(m))


def weights(found):
    return [parameter.detach().clone() for parameter in found.parameters]


# ---- losses ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sees_anti_goal", [False, True])
def test_losses_by_the_formulas(sees_anti_goal):
    """On two actions within +-0.5, so that their density must be that of the unit square."""
    found, steps = agent(sees_anti_goal, task=Plane()), batch(anti_goals=sees_anti_goal, n_actions=2)
    parts = [steps.observations, steps.goals]
    raw = torch.nn.functional.softplus(found.policy.body(torch.cat(parts, 1))) + 1.05
    log_prob = torch.distributions.Beta(raw[:, :2], raw[:, 2:]).log_prob(steps.actions + 0.5).sum(1)
    v = found.critic(torch.cat([*parts, steps.anti_goals] if sees_anti_goal else parts, 1))[:, 0]
    a = (steps.returns - v).detach()
    a = (a - a.mean()) / a.std()
    policy_loss, value_loss = found.losses(steps)
    torch.testing.assert_close(policy_loss, -(log_prob * a).mean(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(value_loss, ((steps.returns - v) ** 2).mean())


def test_neither_loss_reaches_the_other_network():
    found = agent()
    policy_loss, value_loss = found.losses(batch())
    for loss, other in ((policy_loss, found.critic), (value_loss, found.policy)):
        others = list(other.parameters())
        assert torch.autograd.grad(loss, others, allow_unused=True, retain_graph=True) == (None,) * len(others)


# ---- one step --------------------------------------------------------------------------------------------------------
def test_an_update_is_one_step_of_adam_on_both():
    found, twin, steps = agent(lr=2e-3), agent(lr=2e-3), batch()
    adam = torch.optim.Adam([*twin.policy.parameters(), *twin.critic.parameters()], lr=2e-3)
    for _ in range(2):
        reported = found.update(steps)
        policy_loss, value_loss = twin.losses(steps)
        adam.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        adam.step()
    torch.testing.assert_close(weights(found), weights(twin))
    assert reported == pytest.approx({"policy_loss": policy_loss.item(), "value_loss": value_loss.item()}, rel=1e-4)
    assert all(not torch.equal(a, b) for a, b in zip(weights(found), weights(agent())))


# ---- what the networks see -------------------------------------------------------------------------------------------
def test_the_critic_looks_at_the_anti_goal_and_the_policy_does_not():
    found, steps = agent(), batch()
    values, alpha = found.values(steps), found.policy.parameters_of(steps.observations, steps.goals)[0]
    for name in ("observations", "goals", "anti_goals"):
        moved = batch()
        setattr(moved, name, getattr(moved, name) + 1)
        assert not torch.isclose(found.values(moved), values).any()
        other = found.policy.parameters_of(moved.observations, moved.goals)[0]
        assert torch.equal(other, alpha) if name == "anti_goals" else not torch.isclose(other, alpha).any()


def test_actions_are_drawn_and_the_seed_decides_the_weights():
    points = np.zeros((500, 2), np.float32)
    assert len(np.unique(agent().act(points, points, None, np.random.default_rng(0)))) > 400
    assert all(torch.equal(a, b) for a, b in zip(weights(agent(seed=4)), weights(agent(seed=4))))
    assert not torch.equal(agent(seed=4).parameters[0], agent(seed=5).parameters[0])


# ---- it learns -------------------------------------------------------------------------------------------------------
def test_it_finds_the_better_actions_of_a_bandit():
    """Paid is what is near the goal's x, which is 0.6 or -0.6; the observation says nothing."""
    found, rng = agent(sees_anti_goal=False, lr=3e-3), np.random.default_rng(0)
    for _ in range(150):
        goals = rng.choice([-0.6, 0.6], size=(128, 2)).astype(np.float32)
        seen = np.zeros_like(goals)
        actions = found.act(seen, goals, None, rng)
        returns = -np.abs(actions - goals[:, :1])[:, 0]
        seen, goals, actions, returns = (torch.from_numpy(x) for x in (seen, goals, actions, returns))
        found.update(Steps(seen, goals, None, actions, returns))
    for side in (-1, 1):
        goals = np.full((500, 2), 0.6 * side, np.float32)
        assert found.act(np.zeros_like(goals), goals, None, rng).mean() == pytest.approx(0.6 * side, abs=0.1)
