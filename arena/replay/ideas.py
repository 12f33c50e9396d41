"""The arena's replay ideas by name, each with one setting for all tasks: the default of its paper.

An idea's `make` joins it with an agent, given the agent's trainer. A pair is impossible if the idea needs something
that the agent does not provide; `refusal` says so in one line.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.replay.joined import Seen, td_errors
from arena.replay.refer_sac import Behaviour
from common.replay.not_in_the_papers.introspective import IER
from common.replay.not_in_the_papers.large_batch import LaBER
from common.replay.not_in_the_papers.reducible import ReLo
from common.replay.not_in_the_papers.reshuffled import RRC, RRM
from common.replay.protocol import Sampler, missing
from common.replay.rank_based import RankBasedSampler
from common.replay.samplers import PrioritizedSampler, StratifiedSampler, UniformSampler
from lab.run.runs import Streams
from papers.ners.ners import NERS
from papers.ners.samplers.ero import ERO
from papers.ners.samplers.samplers import Settings
from papers.ref_er.refer import ReFER
from papers.ter.agents.discor import DisCor
from papers.ter.replay.ebu import EBU
from papers.ter.replay.graph import RandomProjection, TransitionGraph
from papers.ter.topological import TER

CANDIDATES = 20_000
"""Transitions among which IER looks for pivots; only Hand's memory is larger."""
FAMILIES = ("order", "weight", "relabel", "forget")
NEEDED = {
    "targets": "a learner that accepts the targets of the sampler",
    "values": "a learner that says what states are worth, action by action",
    **dict.fromkeys(("ratio", "divergence"), "a policy whose actions have a density, as those stored had"),
    "goals": "a task with goals and its compute_reward",
}
"""Descriptions of the needs that some agent here does not meet."""


@dataclass(frozen=True)
class Joining:
    """What an idea's `make` gets.

    one: the agent's trainer (`joined.Learner`), complete except for its sampler. huber_delta: where its Huber loss
    bends; None for a squared loss. seen: what NERS and ERO read.
    """

    one: Any
    huber_delta: float | None
    seen: Seen

    @functools.cached_property
    def streams(self) -> Streams:
        return Streams(self.one.config.seed)

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        """Generator that draws batches."""
        return self.streams.numpy("replay")

    @property
    def annealed(self) -> dict[str, Any]:
        """Settings: beta of importance weights reaches 1 at the end of training; TD errors are not clipped."""
        return {"beta_steps": max(self.one.updates, 1), "clip": None}


@dataclass(frozen=True)
class Idea:
    """kind: its sampler. make: joins it. relabel: hindsight that relabels what is stored, by the hindsight room's name;
    "none" without."""

    family: str
    text: str
    kind: type[Sampler]
    make: Callable[[Joining], Sampler]
    relabel: str = "none"


def _uniform(j: Joining) -> Sampler:
    return UniformSampler(j.rng)


def _per(j: Joining) -> PrioritizedSampler:
    return PrioritizedSampler(j.one.capacity, j.rng, **j.annealed)  # alpha 0.6, beta 0.4: Schaul et al., Table 3


def _rank(j: Joining) -> Sampler:
    # alpha 0.7, beta 0.5: their Table 3, rank-based variant
    return RankBasedSampler(j.one.capacity, j.rng, 0.7, 0.5, beta_steps=max(j.one.updates, 1))


def _laber(j: Joining) -> Sampler:
    return LaBER(j.rng, functools.partial(td_errors, j.one), clip=j.huber_delta)


def _ier(j: Joining) -> Sampler:
    return IER(j.one.capacity, j.rng, functools.partial(td_errors, j.one), candidates=CANDIDATES)


def _ter(j: Joining) -> Sampler:
    # share of PER 0.1, 8 roots, 3 predecessors, 3 dimensions: App. B.5, as given for Sokoban
    phi = RandomProjection(3, j.one.state_size, j.streams.numpy("projection"))
    sweep = random.Random(j.streams.integer("sweep"))
    return TER(TransitionGraph(j.one.capacity), sweep, phi, 0.1, _per(j), 8, 3)


def _ebu(j: Joining) -> Sampler:
    return EBU(j.one.memory, j.one.agent, j.streams.numpy("episodes"))


def _discor(j: Joining) -> Sampler:
    one, c = j.one, j.one.config
    make_network = functools.partial(one.world.make_network, extra=True)
    seed = j.streams.integer("error network")
    errors = type(one.agent)(make_network, c.lr, c.gamma, seed, huber_delta=c.huber_delta)
    return DisCor(one.memory, one.agent, errors, j.rng)


def _scored(j: Joining) -> Settings:
    return Settings(widths="code", features="full" if j.seen.memory is not None else "few")


def _ners(j: Joining) -> Sampler:
    updates = max(j.one.updates, 1)
    return NERS(j.one.capacity, j.rng, _scored(j), updates, j.seen, j.streams.integer("scorer"))


def _ero(j: Joining) -> Sampler:
    return ERO(j.one.capacity, j.rng, _scored(j), j.seen, j.streams.integer("scorer"))


def _refer(j: Joining) -> Sampler:
    c = j.one.config
    rules = ReFER(rate=min(0.1 * c.batch_size / c.capacity, 1.0))  # C = 4, D = 0.1: Sec. 3; the rate as at its sizes
    return Behaviour(c.capacity, j.rng, j.one.agent, rules)


class _Relabelled(UniformSampler):
    """Declares what a relabeller needs, whichever sampler is underneath."""

    needs = frozenset({"goals"})


IDEAS: dict[str, Idea] = {
    "uniform": Idea("order", "independent draws: what all others are compared with", UniformSampler, _uniform),
    "stratified": Idea("order", "one draw from each of n equal parts of the memory", StratifiedSampler,
                       lambda j: StratifiedSampler(j.rng)),
    "rr-c": Idea("order", "slots in random order, each once per epoch", RRC,
                 lambda j: RRC(j.one.capacity, j.rng, whole=True)),
    "ebu": Idea("order", "an episode at a time from its end, with targets carried back", EBU, _ebu),
    "ter": Idea("order", "a search backwards from terminal states", TER, _ter),
    "ier": Idea("order", "the steps before a surprising one", IER, _ier),
    "per": Idea("weight", "in proportion to the TD error", PrioritizedSampler, _per),
    "per-rank": Idea("weight", "by the rank of the TD error", RankBasedSampler, _rank),
    "rr-m": Idea("weight", "PER without what was drawn more often than it should", RRM,
                 lambda j: RRM(j.one.capacity, j.rng, clip=None)),
    "relo": Idea("weight", "in proportion to what can still be learnt", ReLo,
                 lambda j: ReLo(j.one.capacity, j.rng, huber_delta=j.huber_delta, **j.annealed)),
    "laber": Idea("weight", "from a large uniform batch, in proportion to today's TD errors", LaBER, _laber),
    "discor": Idea("weight", "losses weighted by how trustworthy their targets are", DisCor, _discor),
    "ners": Idea("weight", "by scores of networks that learn what replay was good for", NERS, _ners),
    "ero": Idea("weight", "from a subset that a network learns to choose", ERO, _ero),
    "refer": Idea("forget", "what the policy of today would hardly do is skipped (ReF-ER)", Behaviour, _refer),
    "her": Idea("relabel", "hindsight; uniform draws", _Relabelled, _uniform, "her"),
    "her-per": Idea("relabel", "hindsight; PER", _Relabelled, _per, "her"),
    "filtered-her": Idea("relabel", "hindsight without misleading goals; uniform draws", _Relabelled, _uniform,
                         "filtered-her"),
    "filtered-her-per": Idea("relabel", "hindsight without misleading goals; PER", _Relabelled, _per, "filtered-her"),
}  # fmt: skip


def refusal(name: str, env: str, agent: str, provided: frozenset[str]) -> str:
    """Say why the idea cannot be joined with the agent of task `env`, which gives `provided`; "" if it can."""
    lacking = missing(IDEAS[name].kind, provided)
    if not lacking:
        return ""
    what = "; ".join(dict.fromkeys(NEEDED.get(need, need) for need in lacking))
    return f"{name} cannot be joined with {env}: it needs {what}, which {agent} does not give"
