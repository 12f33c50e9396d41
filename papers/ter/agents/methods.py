"""The five replay methods by name."""

import random
from collections.abc import Callable
from typing import Any

from common.replay.protocol import Sampler
from common.replay.samplers import PrioritizedSampler, UniformSampler
from lab.run.errors import UserError
from lab.run.runs import Streams
from papers.ter.agents.discor import DisCor
from papers.ter.agents.dqn import DoubleDQN, Optimizer
from papers.ter.agents.networks import Network
from papers.ter.agents.settings import METHODS
from papers.ter.replay.ebu import EBU
from papers.ter.replay.fast_graph import FastGraph
from papers.ter.replay.fast_sweep import FastTER
from papers.ter.replay.graph import RandomProjection, TransitionGraph
from papers.ter.replay.states import Vertices
from papers.ter.topological import TER, terminal_roots


def on_codes(c: Any) -> bool:
    """Whether states are known by their tile codes: then the learner, and the search of the graph, are kernels."""
    return getattr(c, "network", None) == "codes"


def make_sampler(
    c: Any,
    streams: Streams,
    memory: Any,
    agent: DoubleDQN,
    *,
    state_size: int,
    error_network: Callable[[], Network],
    optimizer: Optimizer = "adam",
    choose_roots: Callable = terminal_roots,
) -> Sampler:
    """The method that ``c.method`` names.

    state_size: values of what TER's vertices are made of. error_network: makes DisCor's. choose_roots: TER's roots.
    """
    rng = streams.numpy("replay")

    def prioritized() -> PrioritizedSampler:
        updates = (c.per_beta_steps or c.steps) // c.update_every * round(c.replay_ratio * c.update_every)
        return PrioritizedSampler(
            c.capacity, rng, c.per_alpha, c.per_beta, beta_steps=max(1, updates), clip=c.per_clip
        )  # fmt: skip

    match c.method:
        case "uer":
            return UniformSampler(rng)
        case "per":
            return prioritized()
        case "ebu":
            return EBU(
                memory, agent, streams.numpy("episodes"), beta=c.ebu_beta, double=c.ebu_double, timeouts=c.ebu_timeouts,
                timeout_is_done=c.timeout_is_done, drop_first=c.ebu_drop_first, per_share=c.ebu_per_share,
                prioritized=prioritized() if c.ebu_per_share else None,
            )  # fmt: skip
        case "discor":
            seed = streams.integer("error network")
            errors = type(agent)(error_network, c.lr, c.gamma, seed, optimizer, c.huber_delta)
            return DisCor(memory, agent, errors, rng, tau=c.discor_tau, released=c.discor_released)
        case "ter":
            phi = RandomProjection(c.projection_dim, state_size, streams.numpy("projection"))
            sweep, returns = random.Random(streams.integer("sweep")), choose_roots is not terminal_roots
            how = c.eta, prioritized(), c.roots, c.predecessors, choose_roots
            if not on_codes(c):
                return TER(TransitionGraph(c.capacity, returns), sweep, phi, *how)
            return FastTER(FastGraph(c.capacity, returns), sweep, Vertices(phi, memory.states), *how)
    raise UserError(f"unknown method {c.method!r}; choose from: {', '.join(METHODS)}")
