"""The TER room's double DQN with any sampler, on environments made of tiles: MiniGrid, Sokoban and NChain."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from common.replay.protocol import Sampler, Step
from envs.nchain import NChain
from papers.ter import train
from papers.ter.worlds.minigrid import MiniGrid
from papers.ter.worlds.sokoban import Sokoban
from papers.ter.worlds.tiles import TileWorld
from papers.ter.worlds.world import World

TOLD = frozenset({"td_error", "q"})
"""Signals that the loop provides itself."""
PROVIDES = TOLD | {"step", "target", "target_td_error", "episode", "evaluation", "values", "errors", "targets"}

Join = Callable[[Any], Sampler]
"""Makes the sampler of a trainer that is otherwise complete."""


class TileTrainer(train.Trainer):
    """A run on MiniGrid or another environment of tiles."""

    def __init__(self, config: Any, join: Join, make_world: type[TileWorld] = MiniGrid):
        super().__init__(config, make_world)
        self.sampler = join(self)  # replaces the room's

    @property
    def capacity(self) -> int:
        return self.config.capacity

    @property
    def updates(self) -> int:
        """Batches in a whole run, at most."""
        c = self.config
        return (c.steps - c.warmup) // c.update_every * round(c.replay_ratio * c.update_every)

    @property
    def horizon(self) -> int:
        return self.world.env.max_steps

    @property
    def state_size(self) -> int:
        return self.here.seen.size

    def evaluate(self) -> dict[str, float]:
        metrics = super().evaluate()
        self.sampler.evaluation(metrics["return_known" if self.world.known else "return"])
        return metrics

    # --- what samplers ask --------------------------------------------------------------------------------------------

    def step_of(self, slot: int, last: bool) -> Step:
        raise NotImplementedError("the loop hands out its steps")

    def targets_of(self, slots: np.ndarray) -> np.ndarray:
        return self.agent.targets(self.memory.batch(slots)).cpu().numpy()

    def q_of(self, slots: np.ndarray) -> np.ndarray:
        return self._value(self.agent.q, slots)

    def target_q_of(self, slots: np.ndarray) -> np.ndarray:
        return self._value(self.agent.target, slots)

    @torch.no_grad()
    def _value(self, network: Any, slots: np.ndarray) -> np.ndarray:
        batch = self.memory.batch(slots)
        return network(batch.frame).gather(1, batch.action[:, None]).squeeze(1).cpu().numpy()


SokobanTrainer = functools.partial(TileTrainer, make_world=Sokoban)


# ---- NChain ----------------------------------------------------------------------------------------------------------


class TileChain(NChain):
    """NChain as a row of tiles: 1 where the agent is, 0 elsewhere. `info` has ``tiles``, which are the observation, and
    ``success``, true at the end of the chain."""

    tiles = np.zeros((2, 8, 8, 3), np.uint8)
    """Pictures of the tile codes; the network on codes uses only their number."""

    def __init__(self, n: int):
        super().__init__(n)
        self.grid_shape = (1, n)

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed, options=options)
        info = self._info(False)
        return info["tiles"], info

    def step(self, action):
        _, reward, terminated, truncated, _ = super().step(action)
        info = self._info(terminated)
        return info["tiles"], reward, terminated, truncated, info

    def _info(self, success: bool) -> dict[str, Any]:
        codes = np.zeros(self.grid_shape, np.uint8)
        codes[0, self._state] = 1
        return {"tiles": codes, "success": success}


class Chain(TileWorld):
    """NChain with `CHAIN` states. A return is 1 or 0: whether the goal was reached in time."""

    CHAIN = 20
    play = World.play  # a chain has no `side_by_side`

    def make_env(self, training: bool = True) -> TileChain:
        return TileChain(self.CHAIN)

    def return_range(self) -> tuple[float, float]:
        return 0.0, 1.0


ChainTrainer = functools.partial(TileTrainer, make_world=Chain)
