"""Rainbow's update as a kernel against that of PyTorch, update by update."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from common.replay.frames import Batch
from papers.ners.agents.fast_rainbow import FastRainbow
from papers.ners.agents.rainbow import Rainbow

N_ACTIONS = 3
SMALL: dict[str, Any] = dict(hidden=8, n_atoms=5, v_min=-2.0, v_max=2.0, sigma0=0.5, lr=1e-3)


def batch(n: int = 4, seed: int = 0) -> tuple[Batch, np.ndarray]:
    """And weights. Two of the discounts are 0, and some rewards lie beyond the atoms."""
    rng = np.random.default_rng(seed)
    states = torch.from_numpy(rng.integers(0, 256, (2, n, 84, 84, 4), dtype=np.uint8)).permute(0, 1, 4, 2, 3)
    action, reward = rng.integers(N_ACTIONS, size=n), 2 * rng.normal(size=n).astype(np.float32)
    discount = np.where(np.arange(n) % 3 == 2, 0.0, 0.8).astype(np.float32)
    numbers = [torch.from_numpy(array) for array in (action, reward, discount)]
    return Batch(states[0], *numbers, states[1]), rng.random(n).astype(np.float32)


def numbers(agent: Rainbow) -> np.ndarray:
    """All that it has learnt."""
    return torch.cat([p.detach().flatten() for net in (agent.online, agent.target) for p in net.parameters()]).numpy()


def played(agent: Rainbow, i: int) -> list[np.ndarray]:
    """What an update says, after an action that has drawn its noise."""
    transitions, weights = batch(3 if i % 10 == 0 else 2, seed=i)
    agent.act(transitions.state[0].numpy())
    told = agent.update(transitions, weights)
    if i % 20 == 19:
        agent.sync()
    return [*told]


# --- the same numbers -------------------------------------------------------------------------------------------------
def test_two_hundred_updates_are_those_of_pytorch():
    """Signals for the sampler and networks, in three runs of which most must agree: in each form, a ReLU whose input is
    a rounding error may go its own way. In the last two nearly all gradients are clipped."""
    farthest = []
    for seed, updates, max_gradient in ((0, 200, 10.0), (1, 20, 0.2), (2, 20, 0.2)):
        settings = SMALL | dict(seed=seed, max_gradient=max_gradient)
        fast, plain, before = (kind(N_ACTIONS, **settings) for kind in (FastRainbow, Rainbow, Rainbow))
        np.testing.assert_array_equal(numbers(fast), numbers(plain))
        errors = []
        for i in range(1000 * seed, 1000 * seed + updates):
            told = zip(played(fast, i), played(plain, i), strict=True)
            errors.append(max(abs(x - y).max() for x, y in told))
        farthest.append(max(*errors, abs(numbers(fast) - numbers(plain)).max()))
        assert abs(numbers(fast) - numbers(before)).max() > 0.01
    assert np.median(farthest) < 1e-3, farthest


def test_acting_and_values_are_those_of_pytorch():
    fast, plain = (kind(N_ACTIONS, **SMALL) for kind in (FastRainbow, Rainbow))
    for i in range(3):
        played(fast, i)
    plain.online.load_state_dict(fast.weights())
    stacks = batch(6)[0].state
    np.testing.assert_array_equal(fast.greedy(stacks.numpy()), plain.greedy(stacks.numpy()))
    plain.generator.set_state(fast.generator.get_state())
    assert [fast.act(stack.numpy()) for stack in stacks] == [plain.act(stack.numpy()) for stack in stacks]


def test_what_is_not_a_number_is_seen():
    """In the signals at once, and in all that follows."""
    for broken in ("reward", "weights"):
        agent = FastRainbow(N_ACTIONS, **SMALL)
        transitions, weights = batch()
        (weights if broken == "weights" else transitions.reward.numpy())[1] = np.nan
        told = agent.update(transitions, weights)[0]
        assert np.isnan(told).tolist() == [False, broken == "reward", False, False]
        assert np.isnan(agent.update(*batch())[0]).all()


# --- the same agent ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("updates", [0, 3])
def test_unpickled_it_continues_to_the_bit(updates):
    """Adam's moments and step, both networks and the noise of the last action included."""
    agent = FastRainbow(N_ACTIONS, **SMALL)
    for i in range(updates):
        played(agent, i)
    agent.act(batch()[0].state[0].numpy())
    copy = pickle.loads(pickle.dumps(agent))
    for i in range(10, 13):
        for one, other in zip(agent.update(*batch(seed=i)), copy.update(*batch(seed=i)), strict=True):
            np.testing.assert_array_equal(one, other)
        assert played(agent, 2 * i)[0].tolist() == played(copy, 2 * i)[0].tolist()
    np.testing.assert_array_equal(numbers(agent), numbers(copy))


def test_signals_are_the_callers_to_keep():
    agent = FastRainbow(N_ACTIONS, **SMALL)
    first = agent.update(*batch())
    kept = np.array(first)
    agent.update(*batch(seed=1))
    np.testing.assert_array_equal(first, kept)


# --- errors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("broken, message", [
    (dict(reward=torch.zeros(3)), "a batch needs the shapes"),
    (dict(next_state=torch.zeros(3, 4, 84, 84, dtype=torch.uint8)), "a batch needs the shapes"),
    (dict(state=torch.zeros(4, 3, 84, 84, dtype=torch.uint8)), "a batch needs the shapes"),
    ({name: torch.zeros(4, 4, 60, 84, dtype=torch.uint8) for name in ("state", "next_state")}, "do not fit the heads"),
    (dict(action=torch.tensor([0, 1, 3, 0])), "from 0 to 2"),
    (dict(action=torch.tensor([0, -1, 1, 0])), "from 0 to 2"),
    (dict(action=torch.zeros(4, 1, dtype=torch.int64)), "from 0 to 2"),
])  # fmt: skip
def test_wrong_batches_change_nothing(broken, message):
    """Kernels check nothing: they would read and write foreign memory."""
    agent, (transitions, weights) = FastRainbow(N_ACTIONS, **SMALL), batch()
    for name, value in broken.items():
        setattr(transitions, name, value)
    before, noise = numbers(agent), agent.generator.get_state()
    with pytest.raises(ValueError, match=message):
        agent.update(transitions, weights)
    np.testing.assert_array_equal(numbers(agent), before)
    assert agent.updates == 0 and torch.equal(agent.generator.get_state(), noise)


def test_on_the_cpu_only():
    with pytest.raises(ValueError, match="for cuda, use Rainbow"):
        FastRainbow(N_ACTIONS, device="cuda")
