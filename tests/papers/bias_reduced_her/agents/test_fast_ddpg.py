"""The update as kernels against the one of PyTorch, update by update."""

import io

import numpy as np
import pytest
import torch

from papers.bias_reduced_her.agents.ddpg import DDPG, Batch
from papers.bias_reduced_her.agents.fast_ddpg import FastDDPG

INPUTS, A, TAU = 7, 3, 0.05


def batch(seed: int, n: int = 32) -> tuple[Batch, np.ndarray]:
    """Steps of costs 0 and 1, a fifth of them the last, and weights."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n, INPUTS))
    values = (
        inputs, rng.uniform(-1, 1, (n, A)), -1.0 * (rng.random(n) < 0.8), inputs + 0.1 * rng.normal(size=(n, INPUTS)),
        rng.random(n) < 0.2,
    )  # fmt: skip
    return Batch(*(np.asarray(value, np.float32) for value in values)), rng.uniform(0.1, 1, n).astype(np.float32)  # type: ignore[arg-type]


def both(seed: int = 0, plain: type[DDPG] = DDPG, **settings) -> tuple[FastDDPG, DDPG]:
    return FastDDPG(INPUTS, A, seed=seed, tau=TAU, **settings), plain(INPUTS, A, seed=seed, tau=TAU, **settings)


def step(fast: FastDDPG, plain: DDPG, seed: int, n: int = 32) -> float:
    """One update and averaging of both; the largest difference of their losses and TD errors."""
    b, weights = batch(seed, n)
    loss, td = fast.update(b, weights)
    plain_loss, plain_td = plain.update(b, weights)
    fast.average_targets(), plain.average_targets()
    return max(abs(loss - plain_loss), abs(td - plain_td).max())


def numbers(agent: DDPG) -> np.ndarray:
    """Parameters and running statistics of all four networks."""
    return torch.cat([tensor.detach().flatten() for tensor in agent.online + agent.averaged]).numpy()


def difference(fast: FastDDPG, plain: DDPG) -> float:
    return abs(numbers(fast) - numbers(plain)).max()


# --- the same numbers ------------------------------------------------------------------------------------------------
def test_two_hundred_updates_are_those_of_pytorch():
    """Five runs, of which most must agree: in each form, a ReLU whose input is a rounding error may go its own way.

    Where few inputs reach a unit, Adam makes a step of that. PyTorch differs from itself in float64 as often.
    """
    farthest, clipped = [], []
    for seed in range(5):
        fast, plain = both(seed, clip=1.5, action_penalty=0.5 * (seed % 2))
        assert difference(fast, plain) == 0
        errors = []
        for i in range(200):
            errors.append(step(fast, plain, seed=1000 * seed + i, n=16 if i % 10 == 0 else 32))
            clipped.append(np.linalg.norm(fast._work.grad_critic) > 1.49)
        farthest.append(max(*errors, difference(fast, plain)))
    assert np.median(farthest) < 1e-4, farthest
    assert 0.1 < np.mean(clipped) < 0.9


def test_the_actors_gradient_is_clipped_like_the_critics():
    """Above, it is hardly ever long enough."""
    fast, plain = both(clip=0.005)
    for i in range(10):
        step(fast, plain, seed=i)
        assert np.linalg.norm(fast._work.grad_actor) == pytest.approx(0.005, rel=1e-3)
    assert difference(fast, plain) < 1e-5


# --- the same agent ---------------------------------------------------------------------------------------------------
def test_what_was_learnt_is_what_the_networks_of_pytorch_show():
    """`act`, `value`, and weights that a plain agent loads, from a file not larger than its own would be."""
    fast, plain = both()
    for i in range(3):
        fast.update(*batch(i))
    sizes = []
    for agent in (plain, fast):
        file = io.BytesIO()
        torch.save(agent.actor.state_dict(), file)
        sizes.append(len(file.getvalue()))
    assert sizes[1] <= sizes[0]
    file.seek(0)
    plain.actor.load_state_dict(torch.load(file))
    plain.critic.load_state_dict(fast.critic.state_dict())
    inputs = batch(9, n=50)[0].inputs
    actions = fast.act(inputs)
    assert actions.dtype == np.float32
    np.testing.assert_allclose(actions, plain.act(inputs), atol=1e-6)
    np.testing.assert_allclose(actions, fast.actor(torch.from_numpy(inputs)).detach(), atol=1e-6)
    np.testing.assert_allclose(fast.value(inputs), plain.value(inputs), atol=1e-6)


def test_a_loss_that_is_not_a_number_is_seen():
    agent, (b, weights) = FastDDPG(INPUTS, A), batch(0)
    b.reward[3] = np.nan
    loss, td = agent.update(b, weights)
    assert np.isnan(loss) and np.isnan(td[3])


@pytest.mark.parametrize("wrong", [
    lambda b, w: (Batch(*(value[:1] for value in b)), w[:1]),
    lambda b, w: (b, w[:-1]),
    lambda b, w: (b._replace(action=b.action[:, :2]), w),
    lambda b, w: (b._replace(next_inputs=b.next_inputs[:-1]), w),
    lambda b, w: (b._replace(reward=b.reward[:, None]), w),
])  # fmt: skip
def test_batches_of_wrong_shapes_change_nothing(wrong):
    agent = FastDDPG(INPUTS, A)
    before = numbers(agent)
    with pytest.raises(ValueError, match=r"a batch needs the shapes .* at least 2"):
        agent.update(*wrong(*batch(0)))
    np.testing.assert_array_equal(numbers(agent), before)


def test_on_the_cpu_only():
    with pytest.raises(ValueError, match="for cuda, use DDPG"):
        FastDDPG(INPUTS, A, device="cuda")
