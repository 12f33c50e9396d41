"""Scores as a kernel against those of PyTorch, update by update."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from common.replay.storage import Ring
from papers.ners.ners import NERS
from papers.ners.samplers.fast_ners import FastNERS
from papers.ners.samplers.features import Clock, VectorTransitions
from papers.ners.samplers.samplers import Settings

STORED, N_STATES, N_ACTIONS = 40, 3, 2
KINDS: dict[str, dict[str, Any]] = {
    "code": {}, "paper": dict(widths="paper"), "few": dict(features="few"), "alone": dict(global_context=False),
    "tanh": dict(tanh_all=True, time="episode"),
}  # fmt: skip
EACH = pytest.mark.parametrize("kind", KINDS)


def made(twin: type[NERS], device: str = "cpu", **settings: Any) -> NERS:
    """A sampler of a full memory of random transitions. Its weights are so large that scores differ: else each layer
    would make the differences of its inputs smaller (`diagnostics.spreads`)."""
    rng = np.random.default_rng(0)
    fields: dict[str, tuple] = {
        "state": ((N_STATES,), np.float32), "action": ((N_ACTIONS,), np.float32), "reward": ((), np.float32),
        "next_state": ((N_STATES,), np.float32), "time": ((), np.int32),
    }  # fmt: skip
    memory = Ring(STORED, fields)
    seen = VectorTransitions(memory, Clock(settings.get("time", "share"), 10, np.arange(STORED)))
    chosen = Settings(**(dict(widths="code", train_size=16, scorer_lr=1e-3) | settings))
    sampler = twin(STORED, np.random.default_rng(1), chosen, 100, seen, seed=3, device=device)
    for time in range(STORED):
        numbers = {name: rng.normal(size=shape) for name, (shape, _) in fields.items()}
        sampler.add(memory.add(**(numbers | {"time": time % 10})))
    with torch.no_grad():
        for name, parameter in sampler.network.named_parameters():
            parameter.mul_(2.4 if name.endswith("weight") else 1.0)
    return sampler


def replay(sampler: NERS, i: int) -> None:
    """Update i: 8 or 5 transitions, one of them twice; then, at every fourth, a step of the networks."""
    rng = np.random.default_rng(i)
    slots = rng.integers(STORED, size=5 if i % 3 == 0 else 8)
    slots[-1] = slots[0]
    td, target = np.abs(rng.normal(size=len(slots))), rng.normal(size=len(slots))
    sampler.update(slots, {"td_error": td.astype(np.float32), "target": target.astype(np.float32)})
    if i % 4 == 3:
        sampler.evaluation(float(rng.normal()))


@EACH
def test_two_hundred_updates_are_those_of_pytorch(kind):
    """Scores and networks."""
    quick, plain = made(FastNERS, **KINDS[kind]), made(NERS, **KINDS[kind])
    for i in range(60 if kind == "paper" else 200):
        replay(quick, i)
        replay(plain, i)
        np.testing.assert_allclose(quick.scores(), plain.scores(), rtol=1e-4, atol=1e-6)
    assert np.ptp(plain.scores()) > 0.02 and quick.updates == plain.updates > 9
    for one, other in zip(quick.network.parameters(), plain.network.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_changed_weights_are_seen():
    sampler = made(FastNERS)
    before = sampler.judged(np.arange(4))
    with torch.no_grad():
        sampler.network.score[-1].bias += 1.0
    logits = [np.log(p / (1 - p)) for p in (before, sampler.judged(np.arange(4)))]
    np.testing.assert_allclose(logits[1] - logits[0], 1.0, rtol=1e-5)


def test_what_is_not_a_number_is_seen():
    sampler = made(FastNERS)
    sampler.transitions.memory["reward"][2] = np.nan
    assert np.isnan(sampler.judged(np.arange(4))).all(), "by the mean"
    assert np.isfinite(sampler.judged(np.arange(3, 7))).all()


@EACH
def test_unpickled_it_continues_to_the_bit(kind):
    """From a file hardly larger than the plain one's; and so does the sampler that was pickled."""
    sampler, plain = made(FastNERS, **KINDS[kind]), made(NERS, **KINDS[kind])
    for i in range(8):
        replay(sampler, i)
        replay(plain, i)
    file = pickle.dumps(sampler)
    assert len(file) < 1.05 * len(pickle.dumps(plain))
    copy = pickle.loads(file)
    for i in range(8, 20):
        for each in (sampler, copy):
            replay(each, i)
        np.testing.assert_array_equal(sampler.scores(), copy.scores())


def test_on_the_cpu_only():
    with pytest.raises(ValueError, match="for meta, use NERS"):
        made(FastNERS, device="meta")
