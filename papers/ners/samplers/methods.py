"""Makes a sampler from the name of its method."""

from __future__ import annotations

from typing import Any

from common.twins import fast
from lab.run.runs import Streams
from papers.ners.ners import NERS
from papers.ners.samplers.ero import ERO
from papers.ners.samplers.fast_ners import FastNERS
from papers.ners.samplers.features import VectorTransitions
from papers.ners.samplers.samplers import PER, Random, RandomIID, Settings, Transitions

FAST = {NERS: FastNERS}
"""Twin that scores in its place on a CPU, where states are vectors, see `common/twins.py`."""
METHODS = ("random", "random-iid", "per", "ero", "ners")


def make_sampler(
    method: str,
    settings: Settings,
    transitions: Transitions,
    *,
    capacity: int,
    draws: int,
    epsilon: float,
    streams: Streams,
    device: str,
) -> Any:
    """The sampler called `method`, one of METHODS.

    capacity: slots of the memory. draws: updates of the agent in a whole run. epsilon: added to PER's priorities.
    """
    rng = streams.numpy("replay")
    if method == "random":
        return Random(rng)
    if method == "random-iid":
        return RandomIID(rng)
    if method == "per":
        return PER(capacity, rng, settings.alpha, settings.beta, draws, epsilon)
    seed = streams.integer("scorer")
    if method == "ero":
        return ERO(capacity, rng, settings, transitions, seed, device)
    twins = FAST if isinstance(transitions, VectorTransitions) else {}
    return fast(NERS, twins, device)(capacity, rng, settings, draws, transitions, seed, device)
