"""What holds for all samplers alike: numbers that are none are refused, any batch size is served, needs are told."""

import copy
import functools
import importlib
import pkgutil
import random

import numpy as np
import pytest
import torch
from torch import nn

from common.replay.not_in_the_papers.introspective import IER
from common.replay.not_in_the_papers.large_batch import LaBER
from common.replay.not_in_the_papers.reducible import ReLo
from common.replay.not_in_the_papers.reshuffled import RRC, RRM
from common.replay.protocol import SIGNALS, Sampler, Step, missing
from common.replay.rank_based import RankBasedSampler
from common.replay.samplers import PrioritizedSampler, StratifiedSampler, UniformSampler
from common.replay.storage import Ring
from papers.ners.ners import NERS
from papers.ners.samplers.ero import ERO
from papers.ners.samplers.fast_ners import FastNERS
from papers.ners.samplers.features import Clock, VectorTransitions
from papers.ners.samplers.samplers import PER, Random, RandomIID, Settings
from papers.ter.agents.discor import DisCor
from papers.ter.replay.batch import Batch
from papers.ter.replay.ebu import EBU
from papers.ter.replay.fast_graph import FastGraph
from papers.ter.replay.fast_sweep import FastTER
from papers.ter.replay.graph import TransitionGraph
from papers.ter.topological import TER

CAPACITY, STORED = 16, 10
HERE = {"Joined": "asks another sampler", "Behaviour": "belongs to an agent", "_Relabelled": "a name for a need",
        "Proportional": "has no update of its own"}  # fmt: skip
"""Samplers that cannot stand alone."""


class World:
    """Memory, agent and what is seen of transitions, in one: reward and values are 0."""

    capacity, gamma, n_features = CAPACITY, 0.9, 3
    encoder: nn.Module = nn.Identity()

    def __getitem__(self, field: str) -> np.ndarray:
        return np.zeros(CAPACITY, np.int64 if field == "action" else np.float64)

    def batch(self, slots: np.ndarray) -> Batch:
        return Batch(*[torch.zeros(len(slots))] * 5)

    def values(self, batch: Batch, *_) -> torch.Tensor:
        return torch.zeros(len(batch.reward), 2)

    next_q = next_target_q = values

    def greedy(self, batch: Batch) -> torch.Tensor:
        return torch.zeros(len(batch.reward), 1, dtype=torch.int64)

    def targets(self, batch: Batch, *_) -> torch.Tensor:
        return torch.zeros(len(batch.reward))

    def update(self, batch: Batch, *_) -> tuple[float, torch.Tensor]:
        return 0.0, torch.zeros(len(batch.reward))

    def full(self, slots: np.ndarray) -> tuple[torch.Tensor, ...]:
        return (torch.from_numpy(slots[:, None] / np.float32(CAPACITY)).expand(-1, 3).float(),)

    def reward_and_time(self, slots: np.ndarray) -> torch.Tensor:
        return self.full(slots)[0][:, :2]


def errors(slots: np.ndarray) -> np.ndarray:
    return np.sin(slots)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def per(**settings) -> PrioritizedSampler:
    return PrioritizedSampler(CAPACITY, rng(), beta_steps=100, **settings)


def ter(eta: float, prioritized: PrioritizedSampler | None, fast: bool = False) -> TER:
    kind, graph = (FastTER, FastGraph) if fast else (TER, TransitionGraph)
    return kind(graph(CAPACITY), random.Random(0), int, eta, prioritized)


def ners(**settings) -> NERS:
    return NERS(CAPACITY, rng(), Settings(**settings), 100, World(), seed=0)


def fast_ners() -> FastNERS:
    fields: dict = {name: ((2,), np.float32) for name in ("state", "action", "next_state")}
    memory = Ring(CAPACITY, fields | {"reward": ((), np.float32), "time": ((), np.int32)})
    seen = VectorTransitions(memory, Clock("share", 9, np.arange(CAPACITY)))
    return FastNERS(CAPACITY, rng(), Settings(), 100, seen, seed=0)


MAKERS = {
    "uniform": lambda: UniformSampler(rng()),
    "stratified": lambda: StratifiedSampler(rng()),
    "per": per,
    "per, stratified": lambda: per(stratified=True, clip=None),
    "per without epsilon": lambda: per(epsilon=0.0),
    "by rank": lambda: RankBasedSampler(CAPACITY, rng(), beta_steps=100),
    "rr-c": lambda: RRC(CAPACITY, rng()),
    "rr-m": lambda: RRM(CAPACITY, rng()),
    "rr-m without epsilon": lambda: RRM(CAPACITY, rng(), epsilon=0.0),
    "relo": lambda: ReLo(CAPACITY, rng(), huber_delta=1.0, beta_steps=100),
    "ier": lambda: IER(CAPACITY, rng(), errors, pivots=2),
    "laber": lambda: LaBER(rng(), errors),
    "ter": lambda: ter(0.5, per()),
    "ter, eta 0": lambda: ter(0.0, None),
    "ter, eta 0, with per": lambda: ter(0.0, per()),
    "fast ter": lambda: ter(0.5, per(), fast=True),
    "fast ter, eta 0": lambda: ter(0.0, None, fast=True),
    "ebu": lambda: EBU(World(), World(), rng()),
    "ebu + per": lambda: EBU(World(), World(), rng(), per_share=0.5, prioritized=per()),
    "discor": lambda: DisCor(World(), World(), World(), rng()),
    "ners": ners,
    "fast ners": fast_ners,
    "ners, few features": lambda: ners(features="few"),
    "ners, training returns": lambda: ners(replay_reward="training"),
    "ero": lambda: ERO(CAPACITY, rng(), Settings(ero_batch=4), World(), seed=0),
    "ners's per": lambda: PER(CAPACITY, rng(), 0.5, 0.4, 100),
    "ners's random": lambda: Random(rng()),
    "ners's random, independent": lambda: RandomIID(rng()),
}  # fmt: skip
READS = {
    "td_error": ["per", "per, stratified", "per without epsilon", "by rank", "rr-m", "rr-m without epsilon", "relo",
                 "ter", "ter, eta 0, with per", "fast ter", "ebu + per", "discor", "ners", "fast ners",
                 "ners, few features", "ners, training returns", "ero", "ners's per"],
    "target_td_error": ["relo"],
    "target": ["ners", "fast ners", "ners, training returns"],
}  # fmt: skip
"""Which samplers read a signal."""


def filled(name: str, stored: int = STORED) -> Sampler:
    """With steps 0 -> 1 -> 2 -> ..., the episodes three steps long."""
    sampler = MAKERS[name]()
    for k in range(stored):
        sampler.add(k, Step(k, 0, 0.5, k + 1, k % 3 == 2, False))
    return sampler


def signals(n: int, **changes) -> dict[str, np.ndarray]:
    return {name: np.linspace(-1.0, 2.0, n, dtype=np.float32) for name in SIGNALS} | changes


def future(sampler: Sampler) -> list:
    """What it is going to draw, from a copy."""
    sampler, drawn = copy.deepcopy(sampler), []
    for _ in range(4):
        chosen = sampler.sample(4)
        drawn.append((chosen.indices.tolist(), chosen.weights.tolist()))
        sampler.update(chosen.indices, signals(len(chosen.indices)))
    sampler.episode(1.0)
    sampler.evaluation(1.0)
    return [*drawn, sampler.metrics(), sampler.sample(4).indices.tolist()]


def everywhere(kind: type) -> set[type]:
    return {kind}.union(*map(everywhere, kind.__subclasses__()))


def test_none_is_missing_here():
    for package in ("common.replay", "papers.ter", "papers.ners", "arena.replay"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if ".evidence" not in module.name:
                importlib.import_module(module.name)
    roots = ("common.", "papers.", "arena.")
    there = {kind.__name__ for kind in everywhere(Sampler) if kind.__module__.startswith(roots)} - {"Sampler"}
    assert there == {type(make()).__name__ for make in MAKERS.values()} | HERE.keys()


# ---- numbers that are none -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", MAKERS)
def test_a_signal_that_is_not_finite_is_refused_and_changes_nothing(name, value):
    sampler = filled(name)
    n = len(chosen := sampler.sample(4).indices)
    before = future(sampler)
    for signal in [signal for signal, readers in READS.items() if name in readers] or SIGNALS:
        wrong = signals(n)
        wrong[signal][n - 1] = value
        words = rf"^the signal '{signal}' must be finite: its entry {n - 1} is {value}$"
        with pytest.raises(ValueError, match=words):
            sampler.update(chosen, wrong)
        assert future(sampler) == before
    sampler.update(chosen, signals(n))
    assert all(np.isfinite(sampler.sample(4).weights).all() for _ in range(3))


@pytest.mark.parametrize("name", READS["td_error"])
def test_a_wrong_batch_is_refused_and_changes_nothing(name):
    sampler = filled(name)
    chosen = sampler.sample(4).indices
    before = future(sampler)
    for wrong, kinds in [(-1, (IndexError, ValueError)), (CAPACITY, (IndexError, ValueError)),
                         (STORED, (IndexError, ValueError)), (0.7, (TypeError, ValueError))]:  # fmt: skip
        with pytest.raises(kinds):
            sampler.update(np.array([*chosen[:3], wrong]), signals(4))
        assert future(sampler) == before
    for lacking in [signal for signal, readers in READS.items() if name in readers]:
        if missing(sampler, frozenset(SIGNALS) - {lacking} | sampler.needs - {lacking}):
            with pytest.raises(ValueError, match=rf"^update\(\) needs the signal '{lacking}'"):
                sampler.update(chosen, {key: values for key, values in signals(4).items() if key != lacking})
        with pytest.raises(ValueError, match="3 entries for 4 slots"):
            sampler.update(chosen, signals(4) | {lacking: np.ones(3)})
    assert future(sampler) == before
    if name != "discor":  # which learns from the batch that it drew
        sampler.update(np.empty(0, np.int64), signals(0))
        sampler.update([], {key: [] for key in SIGNALS})
        assert future(sampler) == before


@pytest.mark.parametrize("name", ["ners", "ners, training returns", "ero"])
def test_returns_may_be_negative_but_must_be_numbers(name):
    sampler = filled(name)
    sampler.update(chosen := sampler.sample(4).indices, signals(4))
    tell = sampler.evaluation if name == "ners" else sampler.episode
    tell(-5.0)
    sampler.update(sampler.sample(4).indices, signals(4))
    before = future(sampler)
    for value in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=rf"^the return of an (evaluation|episode) must be finite, not {value}$"):
            tell(value)
        assert future(sampler) == before
    tell(-7.0)
    assert sampler.metrics()["scorer_updates"] == 1.0
    assert np.isfinite(sampler.scores()).all() and len(chosen) == 4


@pytest.mark.parametrize("name", ["ier", "laber"])
def test_errors_that_are_not_finite_are_refused(name):
    sampler = filled(name)
    sampler.errors = lambda slots: np.where(slots < 9, np.nan, 1.0)
    with pytest.raises(ValueError, match=r"^the signal 'errors' must be finite"):
        sampler.sample(4)


@pytest.mark.parametrize("name", ["ier", "laber"])
def test_errors_are_one_number_per_slot(name):
    for wrong in (lambda slots: errors(slots)[:-1], lambda slots: errors(slots)[:, None], lambda slots: 1.0):
        sampler = filled(name)
        sampler.errors = wrong
        with pytest.raises(ValueError, match=r"^errors must return one number per slot, \[\d+\], not \["):
            sampler.sample(4)


@pytest.mark.parametrize("name", MAKERS)
def test_a_slot_that_cannot_be_is_refused_and_changes_nothing(name):
    sampler = filled(name)
    n = len(chosen := sampler.sample(4).indices)
    sampler.update(chosen, signals(n))
    before = future(sampler)
    for wrong in (-1,) if isinstance(sampler, UniformSampler | DisCor) else (-1, CAPACITY):
        with pytest.raises((IndexError, ValueError)):
            sampler.add(wrong, Step(99, 0, 0.5, 100, False, False))
        assert future(sampler) == before


# ---- settings --------------------------------------------------------------------------------------------------------
def ter_of(**settings):
    return TER(TransitionGraph(4), random.Random(0), int, **settings)


NAN = float("nan")
WRONG = [
    *((per, setting, wrong) for setting in ("alpha", "beta0", "epsilon") for wrong in (-1.0, -0.1, NAN)),
    *((per, "clip", wrong) for wrong in (0.0, -1.0, NAN)),
    *((functools.partial(RRM, CAPACITY, rng()), setting, -0.1) for setting in ("alpha", "beta", "epsilon")),
    *((functools.partial(RRM, CAPACITY, rng()), "clip", wrong) for wrong in (0.0, -1.0)),
    *((functools.partial(ReLo, CAPACITY, rng(), beta_steps=9), "huber_delta", wrong) for wrong in (0.0, -1.0)),
    (functools.partial(ReLo, CAPACITY, rng(), beta_steps=9, huber_delta=None), "clip", 0.0),
    *((functools.partial(LaBER, rng(), errors), "clip", wrong) for wrong in (0.0, -1.0)),
    *((functools.partial(LaBER, rng(), errors), "factor", wrong) for wrong in (0, -1)),
    *((functools.partial(IER, CAPACITY, rng(), errors), "uniform", wrong) for wrong in (2.0, -1.0, NAN)),
    *((functools.partial(kind, rng=rng()), "capacity", 0) for kind in (RRC, RRM)),
    (functools.partial(IER, rng=rng(), errors=errors), "capacity", 0),
    *((kind, "capacity", wrong) for kind in (TransitionGraph, FastGraph) for wrong in (0, -1)),
    *((ter_of, setting, wrong) for setting in ("roots", "predecessors") for wrong in (0, -1)),
]


@pytest.mark.parametrize(("make", "setting", "wrong"), WRONG)
def test_settings_that_cannot_work_are_refused(make, setting, wrong):
    with pytest.raises(ValueError, match=setting) as error:
        make(**{setting: wrong})
    assert str(wrong) in str(error.value) and "\n" not in str(error.value)


# ---- batches of any size ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stored", [1, 3, STORED])
@pytest.mark.parametrize("name", MAKERS)
def test_a_batch_may_be_larger_than_what_is_stored(name, stored):
    """As with batches of 256 of which learning starts after 100 steps."""
    sampler = filled(name, stored)
    for n in (1, stored, stored + 1, 10 * stored, 256):
        chosen = sampler.sample(n)
        if chosen is None:
            assert name.startswith("ebu") and stored == 1, "no episode has ended"
            continue
        assert len(chosen.indices) == len(chosen.weights) == n
        assert chosen.indices.dtype == np.int64 and set(chosen.indices) <= set(range(stored))
        assert (chosen.weights > 0).all() and np.isfinite(chosen.weights).all()
        sampler.update(chosen.indices, signals(n))


@pytest.mark.parametrize("name", ["per without epsilon", "rr-m without epsilon"])
def test_where_few_have_a_priority_they_are_drawn_more_than_once(name):
    sampler = filled(name)
    sampler.update(np.arange(STORED), {"td_error": np.zeros(STORED)})
    assert set(sampler.sample(64).indices) <= set(range(STORED)), "none has: all are drawn alike"
    sampler.update([3, 5], {"td_error": [1.0, 1.0]})
    chosen = sampler.sample(6)
    assert len(chosen.indices) == 6 and set(chosen.indices) <= {3, 5} and (chosen.weights == 1).all()


def test_batches_larger_than_the_memory_follow_the_priorities():
    sampler = per(alpha=1.0, epsilon=0.0, clip=None)
    for k in range(3):
        sampler.add(k)
    sampler.update(np.arange(3), {"td_error": np.array([1.0, 2.0, 5.0])})
    drawn = np.bincount(sampler.sample(8_000).indices) / 8_000
    np.testing.assert_allclose(drawn, [1 / 8, 2 / 8, 5 / 8], atol=0.03)
    ranked = filled("by rank", 3)
    ranked.update(np.arange(3), {"td_error": np.array([1.0, 2.0, 5.0])})
    ranked.rerank_every = 1
    ranked.sample(1)
    law = np.array([3.0, 2.0, 1.0]) ** -0.5
    np.testing.assert_allclose(np.bincount(ranked.sample(8_000).indices) / 8_000, law / law.sum(), atol=0.03)


@pytest.mark.parametrize("name", MAKERS)
def test_a_batch_has_something_in_it(name):
    for n in (0, -1):
        with pytest.raises(ValueError, match=f"^a batch has at least 1 transition, not {n}$"):
            filled(name).sample(n)
    if not name.startswith("ebu"):  # it waits for an episode
        with pytest.raises(ValueError, match=r"^nothing to draw: no transition has been added yet$"):
            MAKERS[name]().sample(1)


def test_a_sweep_that_finds_nothing_waits_or_serves_fewer():
    sampler = ter(0.0, None)
    sampler.add(0, Step(0, 0, 0.0, 1, False, False))
    sampler.choose_roots = lambda *_: []
    assert sampler.sample(3) is None
    sampler.batch_queue.append(0)
    assert sampler.sample(3).indices.tolist() == [0]


# ---- needs -----------------------------------------------------------------------------------------------------------
NEEDS = {
    "uniform": "", "per": "td_error", "relo": "td_error target_td_error", "ier": "step errors", "laber": "errors",
    "ter": "step td_error", "ter, eta 0": "step", "ter, eta 0, with per": "step", "fast ter, eta 0": "step",
    "ebu": "step values targets", "ebu + per": "step values targets td_error", "discor": "td_error values targets",
    "ners": "td_error target evaluation", "ners, few features": "td_error evaluation",
    "ners, training returns": "td_error target episode", "ero": "td_error episode",
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDS)
def test_a_sampler_needs_what_its_settings_need(name):
    sampler = MAKERS[name]()
    assert sampler.needs == set(NEEDS[name].split())
    assert sampler.needs <= type(sampler).needs, "a class says what its samplers may need"
    lacking = missing(sampler, frozenset())
    assert lacking == sorted(NEEDS[name].split())


@pytest.mark.parametrize("name", MAKERS)
def test_what_it_does_not_need_it_does_not_miss(name):
    sampler = filled(name)
    for _ in range(3):
        n = len(chosen := sampler.sample(4).indices)
        sampler.update(chosen, {key: values for key, values in signals(n).items() if key in sampler.needs})


def test_shares_without_their_sampler_are_refused():
    with pytest.raises(ValueError, match=r"^an eta of 0.5 needs `prioritized`"):
        ter(0.5, None)
    with pytest.raises(ValueError, match=r"^eta must lie in \[0, 1\], not be 1.5$"):
        ter(1.5, per())
    with pytest.raises(ValueError, match=r"^a per_share of 0.5 needs `prioritized`"):
        EBU(World(), World(), rng(), per_share=0.5)
    with pytest.raises(ValueError, match=r"^per_share must lie in \[0, 1\), not be 1.0$"):
        EBU(World(), World(), rng(), per_share=1.0, prioritized=per())


def test_discor_learns_from_the_batch_that_it_drew():
    sampler = filled("discor")
    with pytest.raises(ValueError, match="the batch that sample"):
        sampler.update(np.arange(4), signals(4))
    first = sampler.sample(4).indices
    second = sampler.sample(4).indices
    with pytest.raises(ValueError, match="the batch that sample"):
        sampler.update(first, signals(4))
    sampler.update(second, signals(4))
