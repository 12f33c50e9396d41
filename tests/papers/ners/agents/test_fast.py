"""The updates as kernels against those of PyTorch, update by update."""

import io
import pickle
from typing import Any

import numpy as np
import pytest
import torch

from papers.ners.agents.fast_sac import FastSAC
from papers.ners.agents.fast_td3 import FastTD3
from papers.ners.agents.sac import SAC
from papers.ners.agents.td3 import TD3
from papers.ners.samplers.batch import Signals
from tests.papers.ners.conftest import N_ACTIONS, N_STATES, batch

TWINS = {
    "sac": (FastSAC, SAC, dict(lr=1e-3)),
    "sac, one layer": (FastSAC, SAC, dict(hidden=(24,), tau=0.2, gamma=0.9)),
    "td3": (FastTD3, TD3, dict(lr=1e-3)),
    "td3, three layers": (FastTD3, TD3, dict(hidden=(16, 8, 16), tau=0.2, gamma=0.9, target_noise=0.6, policy_delay=3)),
}  # fmt: skip
EACH = pytest.mark.parametrize("name", TWINS)
BOTH = pytest.mark.parametrize("kind", [FastSAC, FastTD3])


def both(name: str, seed: int = 0) -> tuple[Any, Any]:
    fast, plain, settings = TWINS[name]
    settings = dict(hidden=(32, 32), seed=seed) | settings
    return fast(N_STATES, N_ACTIONS, **settings), plain(N_STATES, N_ACTIONS, **settings)


def small(kind: Any, **settings) -> Any:
    return kind(N_STATES, N_ACTIONS, hidden=(8, 8), **settings)


def numbers(agent: Any) -> np.ndarray:
    """All that it has learnt, target networks and temperature included."""
    tensors = [*agent.actor_parameters, *agent.critic_parameters, *agent.averaged]
    tensors += [agent.log_alpha] if isinstance(agent, SAC) else []
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).numpy()


def difference(found: Signals, wanted: Signals) -> float:
    return max(abs(x - y).max() for x, y in zip(found, wanted, strict=True))


# --- the same numbers -------------------------------------------------------------------------------------------------
@EACH
def test_two_hundred_updates_are_those_of_pytorch(name):
    """Signals for the sampler and networks, in three runs of which most must agree: in each form, a ReLU whose input is
    a rounding error may go its own way."""
    farthest = []
    for seed in range(3):
        fast, plain = both(name, seed)
        np.testing.assert_array_equal(numbers(fast), numbers(plain))
        errors = []
        for i in range(200):
            b = batch(7 if i % 10 == 0 else 32, seed=1000 * seed + i)
            errors.append(difference(fast.update(b), plain.update(b)))
        farthest.append(max(*errors, abs(numbers(fast) - numbers(plain)).max()))
    assert np.median(farthest) < 1e-4, farthest


def test_deviations_beyond_their_bounds_do_not_learn():
    """`LOG_STD` clamps them, above and below, and then they have no gradient."""
    for raw in (2.5, -21.0):
        fast, plain = both("sac")
        for agent in (fast, plain):
            with torch.no_grad():
                agent.actor.layers[-1].bias[N_ACTIONS:] = raw
        for i in range(3):
            b = batch(32, seed=i)
            assert difference(fast.update(b), plain.update(b)) < 1e-3 * (1 + abs(plain.targets(b)).max())
            fast.noise.set_state(plain.noise.get_state())
        bias = fast.actor.layers[-1].bias[N_ACTIONS:]
        assert (bias == raw).all()
        np.testing.assert_allclose(numbers(fast), numbers(plain), atol=1e-4)


def test_critics_that_agree_share_the_gradient():
    """As PyTorch's `amin` has it. Their values are 1 + a and 1 - 3 a of an action near 0, which round to the same 1."""
    fast, plain = (kind(N_STATES, N_ACTIONS, hidden=(4,), lr=1e-12) for kind in (FastSAC, SAC))
    for agent in (fast, plain):
        first, _, last = agent.critics.members.layers
        with torch.no_grad():
            for parameter in agent.actor_parameters + agent.critic_parameters:
                parameter.zero_()
            agent.actor.layers[-1].bias[N_ACTIONS:] = -20.0
            first.weight[:, N_STATES, 0] = torch.tensor([1.0, -3.0])
            first.bias[:, 0, 0] = last.weight[:, 0, 0] = 1.0
        agent.update(batch())
    found, wanted = fast._work.grad_actor[-2 * N_ACTIONS :], plain.actor.layers[-1].bias.grad.numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
    assert found[0] == pytest.approx(batch().weight.mean().item(), rel=1e-5)  # -(1 - 3) / 2


def test_the_smaller_value_is_that_of_pytorch_where_one_is_not_a_number():
    fast, plain = both("td3")
    for agent in (fast, plain):
        with torch.no_grad():
            agent.target.members.layers[-1].bias[1] = np.nan
    b = batch(9)
    assert np.isnan(fast.update(b).y[:2]).all() and torch.isnan(plain.targets(b)[:2]).all()


@BOTH
def test_a_loss_that_is_not_a_number_is_seen(kind):
    agent, b = small(kind), batch(9)
    b.reward[3] = np.nan
    assert np.isnan(agent.update(b).td2[3])
    assert np.isnan(agent.update(batch(9)).td2).all()


# --- the same agent ---------------------------------------------------------------------------------------------------
@EACH
def test_what_was_learnt_is_what_the_networks_of_pytorch_show(name):
    """Acting, values, and weights that a plain agent loads, from a file hardly larger than its own would be."""
    fast, plain = both(name)
    for i in range(6):
        fast.update(batch(32, seed=i))
    files = []
    for agent in (plain, fast):
        torch.save(agent.weights(), file := io.BytesIO())
        files.append(file)
    assert len(files[1].getvalue()) <= 1.05 * len(files[0].getvalue())
    files[1].seek(0)
    loaded = torch.load(files[1])
    for part in ("actor", "critics"):
        own = {key.removeprefix(part + "."): value for key, value in loaded.items() if key.startswith(part)}
        getattr(plain, part).load_state_dict(own)
    state, action, *_ = batch(9, seed=99)
    torch.testing.assert_close(fast.critics(state, action), plain.critics(state, action))
    torch.testing.assert_close(fast.critics.first(state, action), plain.critics(state, action)[0])
    np.testing.assert_allclose(fast.act(state[0].numpy()), plain.act(state[0].numpy()), atol=1e-6)
    draws = [agent.act(state[0].numpy(), np.random.default_rng(0)) for agent in (fast, plain)]
    np.testing.assert_allclose(*draws, atol=1e-6)
    signals = fast.update(batch(9, seed=99))
    plain_q = plain.critics(state, action).detach().numpy()
    np.testing.assert_allclose(signals.q, plain_q.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(signals.td, abs(signals.y - plain_q).mean(axis=0), atol=1e-6)


@EACH
@pytest.mark.parametrize("updates", [0, 3])
def test_unpickled_it_continues_to_the_bit(name, updates):
    """Adam's moments and steps, TD3's turn and the noise included."""
    agent, _ = both(name)
    for i in range(updates):
        agent.update(batch(32, seed=i))
    before = pickle.dumps(agent)
    expected = [agent.update(batch(32, seed=i)) for i in range(10, 14)]
    twin = pickle.loads(before)
    for i, signals in zip(range(10, 14), expected):
        np.testing.assert_array_equal(twin.update(batch(32, seed=i)), signals)
    np.testing.assert_array_equal(numbers(twin), numbers(agent))
    np.testing.assert_array_equal(twin.act(np.ones(N_STATES, np.float32)), agent.act(np.ones(N_STATES, np.float32)))


def test_signals_are_the_callers_to_keep():
    agent = small(FastSAC)
    first = agent.update(batch(9))
    kept = np.array(first)
    agent.update(batch(9, seed=1))
    np.testing.assert_array_equal(first, kept)


# --- errors -----------------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("wrong", [
    lambda b: b._replace(state=b.state[:, :2]),
    lambda b: b._replace(action=b.action[:, :1]),
    lambda b: b._replace(next_state=b.next_state[:-1]),
    lambda b: b._replace(reward=b.reward[:, None]),
    lambda b: b._replace(weight=b.weight[:-1]),
    lambda b: b._make(value[:0] for value in b),
])  # fmt: skip
def test_batches_of_wrong_shapes_change_nothing(kind, wrong):
    """Kernels check nothing: they would read and write foreign memory."""
    agent = small(kind)
    before = numbers(agent)
    with pytest.raises(ValueError, match="a batch needs the shapes"):
        agent.update(wrong(batch()))
    np.testing.assert_array_equal(numbers(agent), before)
    assert agent.updates == 0


@BOTH
def test_on_the_cpu_only(kind):
    with pytest.raises(ValueError, match=f"for cuda, use {kind.__name__.removeprefix('Fast')}"):
        small(kind, device="cuda")
