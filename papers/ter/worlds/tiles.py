"""What MiniGrid and Sokoban share: levels made of tiles, whose codes the memory keeps."""

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import torch

from common.networks import NatureTrunk
from common.replay.storage import ring_bytes
from lab.run.runs import Streams
from papers.ter.agents.networks import CodeTrunk, Network
from papers.ter.replay import fast_graph, graph
from papers.ter.replay.memory import FIELDS, TileMemory
from papers.ter.replay.states import most_states, table_bytes
from papers.ter.topological import terminal_roots
from papers.ter.worlds.world import Moment, Policy, World

TRIES = 20
"""Draws of an evaluation level that is not known from training."""


def observation(config: Any) -> str:
    """What its environments show: pictures are drawn where somebody looks at them."""
    return "codes" if config.network == "codes" else "picture"


def tile_bytes(config: Any, grid_shape: tuple[int, int], track_returns: bool = False) -> int:
    """Memory [bytes] of the full replay: of the transitions, and of what stands beside them."""
    return ring_bytes(config.capacity, FIELDS) + beside(config, grid_shape, track_returns)


def beside(config: Any, grid_shape: tuple[int, int], track_returns: bool) -> int:
    """Memory [bytes] that the states, and TER's graph of them, may grow to. track_returns: as App. H needs it."""
    states = most_states(config.steps)
    table = table_bytes(states, math.prod(grid_shape))
    if config.method != "ter":
        return table
    if config.network == "codes":
        return table + fast_graph.graph_bytes(config.capacity, states, track_returns)
    return table + graph.graph_bytes(config.capacity, track_returns)


class TileWorld(World):
    """A state is the uint8 tile codes (rows, columns); the network sees these, or a picture of them."""

    def __init__(self, config: Any, streams: Streams):
        super().__init__(config, streams)
        known = streams.numpy("known levels")
        self.known = [2 * int(known.integers(2**31)) for _ in range(config.levels)]
        self.known_tiles = {self.first_tiles(seed) for seed in self.known}

    @abstractmethod
    def return_range(self) -> tuple[float, float]:
        """The returns that normalised returns of 0 and 1 stand for; the upper one is R_max."""

    def make_memory(self) -> TileMemory:
        pictures = self.env.observation_space.shape[0] if self.config.network == "nature" else None
        more = beside(self.config, self.env.grid_shape, self.choose_roots() is not terminal_roots)
        return TileMemory(self.env, self.config.capacity, pictures, self.config.device, more)

    def make_network(self, extra: bool = False) -> Network:
        if self.config.network == "codes":
            trunk: torch.nn.Module = CodeTrunk(len(self.env.tiles), self.env.grid_shape, self.config.widths)
        else:
            trunk = NatureTrunk(self.env.observation_space.shape)
        scale = self.return_range()[1] if self.config.scale_output else 1.0
        return Network(trunk, self.n_actions, scale, extra).to(self.config.device)

    def first(self, observation: np.ndarray, info: dict) -> Moment:
        return Moment(info["tiles"], observation)

    def following(self, moment: Moment, observation: np.ndarray, info: dict) -> Moment:
        return self.first(observation, info)

    def next_level(self) -> int:
        return self.known[self.levels.integers(len(self.known))] if self.known else super().next_level()

    def first_tiles(self, seed: int) -> bytes:
        """How a level begins."""
        env = self.make_env(training=False)
        tiles = env.reset(seed=seed)[1]["tiles"].tobytes()
        env.close()
        return tiles

    def new_level(self, rng: np.random.Generator) -> int:
        """None of the known levels by another seed, if `TRIES` draws find one; of some tasks there are too few
        layouts."""
        for _ in range(TRIES):
            seed = super().new_level(rng)
            if not self.known or self.first_tiles(seed) not in self.known_tiles:
                break
        return seed

    def play(self, policy: Policy, levels: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """As `World.play`; all games that still run are stepped at once."""
        games = self.env.side_by_side(levels)
        returns, successes = np.zeros(len(levels)), np.zeros(len(levels), dtype=bool)
        running = np.arange(len(levels))
        while len(running):
            rewards, ended, succeeded = games.step(running, policy(games.codes[running]))
            returns[running] += rewards
            successes[running] |= succeeded
            running = running[~ended]
        return returns, successes

    def judge(self, returns: np.ndarray, successes: np.ndarray) -> dict[str, float]:
        """``normalized_return`` maps `return_range` to 0..1."""
        low, high = self.return_range()
        normalized = (returns.mean() - low) / (high - low)
        return {"return": returns.mean(), "normalized_return": normalized, "success": successes.mean()}

    def judge_q(self, mean_q: float) -> dict[str, float]:
        """(mean Q - R_max) / R_max (Sec. 5.4)."""
        _, high = self.return_range()
        return {"q_overestimation": (mean_q - high) / high}
