"""PPO's gradient step as a kernel against that of PyTorch, update by update."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import special

from papers.sibling_rivalry.agents import fast_ppo
from papers.sibling_rivalry.agents.fast_ppo import FastPPO, fits
from papers.sibling_rivalry.agents.ppo import PPO
from tests.papers.sibling_rivalry.agents.test_ppo import TASKS, experience

PLANE = TASKS["plane"]
SETTINGS: dict[str, Any] = dict(
    sees_anti_goal=True, lr=1e-3, lr_decay=0.9, adam_eps=1e-3, entropy=0.02, epochs=2, minibatches=3, seed=0
)
WORKERS = np.arange(40) // 15


def numbers(agent: PPO) -> np.ndarray:
    """All that it has learnt."""
    return torch.cat([p.detach().flatten() for p in agent.parameters]).numpy()


def learn(agent: PPO, i: int, n: int = 40) -> dict[str, float]:
    """An update, of 6 gradient steps with the settings above; then the step size may fall."""
    data = experience(n=n, seed=i, anti_goals=agent.critic[0].in_features > agent.policy.body[0].in_features)
    data.returns = data.returns / n
    found = agent.learn(data, np.arange(n) // 15, np.random.default_rng(i))
    if i % 3 == 2:
        agent.slow_down()
    return found


# --- the same numbers -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("changes", [{}, dict(sees_anti_goal=False, entropy=0.5), dict(adam_eps=1e-8, lr=3e-4)])
def test_two_hundred_steps_are_those_of_pytorch(changes):
    """Losses and networks."""
    fast, plain = FastPPO(PLANE, **(SETTINGS | changes)), PPO(PLANE, **(SETTINGS | changes))
    np.testing.assert_array_equal(numbers(fast), numbers(plain))
    before = numbers(plain)
    for i in range(34 if not changes else 9):
        found, expected = learn(fast, i), learn(plain, i)
        assert list(found) == list(expected)
        np.testing.assert_allclose([*found.values()], [*expected.values()], rtol=1e-3, atol=2e-5)
    np.testing.assert_allclose(numbers(fast), numbers(plain), atol=1e-4)
    assert abs(numbers(plain) - before).max() > 5e-3


def test_ratios_beyond_the_bounds_do_not_learn():
    """From old densities far from today's: of both signs of advantages, gradients as PyTorch's, in more than a part."""
    n = fast_ppo.PART + 90
    data = experience(n=n, anti_goals=True)
    old = torch.from_numpy(np.random.default_rng(0).normal(0.0, 1.0, n).astype(np.float32))
    weights = torch.full((n,), 1 / n)
    agents = FastPPO(PLANE, **SETTINGS), PPO(PLANE, **SETTINGS)
    sums = [agent.descend(data, old, weights, {"entropy": 1.0}) for agent in agents]
    np.testing.assert_allclose(
        [float(value) for value in sums[0].values()], [float(value) for value in sums[1].values()], rtol=1e-4
    )
    for mine, parameters in zip(agents[0]._work[-2:], (agents[1].policy, agents[1].critic)):
        theirs = torch.cat([p.grad.flatten() for p in parameters.parameters()]).numpy()
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-5 * abs(theirs).max())


@pytest.mark.parametrize("x", [1.05, 1.5, 2.0, 7.999, 8.0, 30.0, 1e4])
def test_polygamma_functions_are_scipys(x):
    expected = special.gammaln(x), special.digamma(x), special.polygamma(1, x)
    np.testing.assert_allclose(fast_ppo.polygamma(x), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("broken", ["advantages", "returns", "observations"])
def test_what_is_not_a_number_is_seen(broken):
    agent, data = FastPPO(PLANE, **SETTINGS), experience(anti_goals=True)
    getattr(data, broken)[3] = np.nan
    found = agent.learn(data, WORKERS, np.random.default_rng(0))
    assert not all(np.isfinite(value) for value in found.values())
    assert np.isnan(numbers(agent)).any()


# --- the same agent ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("updates", [0, 4])
def test_unpickled_it_continues_to_the_bit(updates):
    """Adam's moments and step, and the step size included."""
    agent = FastPPO(PLANE, **SETTINGS)
    for i in range(updates):
        learn(agent, i)
    copy = pickle.loads(pickle.dumps(agent))
    for i in range(10, 14):
        assert learn(agent, i) == learn(copy, i)
    np.testing.assert_array_equal(numbers(agent), numbers(copy))


# --- errors -----------------------------------------------------------------------------------------------------------
def test_wrong_batches_change_nothing():
    """Kernels check nothing: they would read and write foreign memory."""
    agent, data = FastPPO(PLANE, **SETTINGS), experience(anti_goals=True)
    before, whole = numbers(agent), torch.full((40,), 1 / 40)
    for wrong in (
        replace(data, anti_goals=None), replace(data, actions=data.actions[:, :1]),
        replace(data, advantages=data.advantages[:-1]), data[:0],
    ):  # fmt: skip
        with pytest.raises(ValueError, match="a batch needs the shapes"):
            agent.descend(wrong, whole[: len(wrong)], whole[: len(wrong)], {})
    with pytest.raises(ValueError, match="a batch needs the shapes"):
        agent.descend(data, whole, whole[:-1], {})
    np.testing.assert_array_equal(numbers(agent), before)
    assert agent.updates == 0


def test_what_it_is_not_made_for():
    assert [fits(task, None) for task in TASKS.values()] == [True, False, False] and not fits(PLANE, object())
    for task in (TASKS["line"], TASKS["picture"]):
        with pytest.raises(ValueError, match="for the rest there is PPO"):
            FastPPO(task, **SETTINGS)
    with pytest.raises(ValueError, match="for cuda, use PPO"):
        FastPPO(PLANE, **SETTINGS, device="cuda")
