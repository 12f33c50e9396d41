"""Samplers by name over a real ring: streams, settings, the protocol, pickles."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from common.replay.storage import Ring
from lab.run.runs import Streams
from papers.ners.samplers.features import Clock, VectorTransitions
from papers.ners.samplers.methods import METHODS, make_sampler
from papers.ners.samplers.samplers import Settings

QUICK = dict(widths="code", scorer_lr=1e-3, train_size=16, ero_batch=8)
HORIZON = 10


def make(
    method: str, *, seed: int = 0, capacity: int = 32, draws: int = 50, epsilon: float = 0.0, **changes
) -> tuple[Any, Ring]:
    """A sampler and its memory."""
    fields: dict[str, tuple] = {
        "state": ((3,), np.float32), "action": ((2,), np.float32), "reward": ((), np.float32),
        "next_state": ((3,), np.float32), "time": ((), np.int32),
    }  # fmt: skip
    memory = Ring(capacity, fields)
    transitions = VectorTransitions(memory, Clock("share", HORIZON, np.arange(capacity)))
    settings: dict[str, Any] = QUICK | changes
    sampler = make_sampler(
        method, Settings(**settings), transitions, capacity=capacity, draws=draws, epsilon=epsilon,
        streams=Streams(seed), device="cpu",
    )  # fmt: skip
    return sampler, memory


def play(sampler: Any, memory: Ring, start: int, stop: int) -> Iterator[list]:
    """A run between two steps: what the sampler draws, and what it makes of it. Returns go up and down."""
    for step in range(start, stop):
        numbers = np.random.default_rng(step).normal(size=9)
        slot = memory.add(
            state=numbers[:3], action=np.tanh(numbers[3:5]), reward=numbers[5], next_state=numbers[6:],
            time=step % HORIZON,
        )  # fmt: skip
        sampler.add(slot)
        if step >= 10:
            slots, weights, _ = sampler.sample(8)
            td = np.abs(memory["state"][slots, 0] + 0.1 * step)
            sampler.update(slots, {"td_error": td, "target": memory["reward"][slots]})
            yield [slots.tolist(), weights.tolist(), sampler.scores().tolist(), sampler.probabilities().tolist()]
        if step % HORIZON == HORIZON - 1:
            sampler.episode(float(np.sin(step)))
        if step % 7 == 6:
            sampler.evaluation(float(np.cos(step)))
            yield [sampler.metrics()]


# --- by name ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_run(method):
    """And leaves the global generators alone."""
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    one, same, other = (list(play(*make(method, seed=seed), 0, 60)) for seed in (1, 1, 2))
    assert one == same
    assert [row[0] for row in one] != [row[0] for row in other]
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == np.random.get_state()[1].tolist()  # noqa: NPY002


# --- settings reach the samplers --------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["per", "ners"])
@pytest.mark.parametrize("beta, call, exponent", [(0.4, 0, 0.4), (0.4, 10, 0.7), (0.4, 20, 1.0), (0.8, 5, 0.85)])
def test_importance_weights_of_both(method, beta, call, exponent):
    """beta goes from its first value to 1 in as many draws as a run makes, here 20."""
    sampler, _ = make(method, beta=beta, draws=20, alpha=1.0)
    for slot in range(32):
        sampler.add(slot)
    sampler.update(np.arange(9), {"td_error": np.linspace(0.1, 0.5, 9), "target": np.ones(9)})  # the others stay at 1
    for _ in range(call):
        sampler.sample(1)
    slots, weights, _ = sampler.sample(64)
    p = sampler.probabilities()[slots]
    assert p.max() / p.min() > 1.5 and weights.max() == 1
    np.testing.assert_allclose(weights, (p / p.min()) ** -exponent, rtol=1e-5)


def test_epsilon_is_per_s_alone():
    for method, lowest in (("per", 0.125), ("ners", 0.0)):
        sampler, _ = make(method, epsilon=0.125)
        for slot in range(4):
            sampler.add(slot)
        with torch.no_grad():  # the lowest possible score
            if method == "ners":
                sampler.network.score[-1].bias.fill_(-1e4)
        sampler.update(np.array([2]), {"td_error": np.zeros(1), "target": np.zeros(1)})
        np.testing.assert_allclose(sampler.scores(), [1, 1, lowest, 1])


# --- any run ----------------------------------------------------------------------------------------------------------
@examples(deadline=None, max_examples=40)
@given(
    method=st.sampled_from(METHODS), capacity=st.integers(4, 12),
    calls=st.lists(st.sampled_from(["add", "learn", "episode", "evaluation"]), max_size=40), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_order_of_calls(method, capacity, calls, seed):
    """A law is one, weights have the largest 1, only what is stored is drawn; also in a ring that is overwritten."""
    sampler, memory = make(method, capacity=capacity, seed=seed, draws=10)
    rng = np.random.default_rng(seed)
    for call in ["add", *calls]:
        if call == "add":
            for _ in range(3):
                sampler.add(
                    memory.add(
                        state=rng.normal(size=3), action=rng.normal(size=2), reward=rng.normal(),
                        next_state=rng.normal(size=3), time=rng.integers(HORIZON),
                    )
                )  # fmt: skip
        elif call == "learn":
            slots, weights, _ = sampler.sample(4)
            assert slots.shape == weights.shape == (4,) and (slots.dtype, weights.dtype) == (np.int64, np.float32)
            assert slots.min() >= 0 and slots.max() < len(memory) and weights.max() == 1 and weights.min() > 0
            sampler.update(
                slots,
                {
                    "td_error": np.abs(rng.normal(size=4)).astype(np.float32),
                    "target": rng.normal(size=4).astype(np.float32),
                },
            )
        elif call == "episode":
            sampler.episode(rng.normal())
        else:
            sampler.evaluation(rng.normal())
        p = sampler.probabilities()
        assert p.dtype == np.float64 and len(p) == len(sampler.scores()) == len(memory)
        assert p.min() >= 0 and p.sum() == pytest.approx(1)
        assert np.isfinite(sampler.scores()).all() and sampler.scores().min() >= 0
