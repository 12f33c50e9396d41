"""Several players in separate processes with Ray: on the cluster that trains the run, or on this machine.

Ray is imported only where it is used; everything else works without it.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from lab.run.errors import UserError
from lab.run.threads import one_thread
from papers.sibling_rivalry.construction.players import Order, Played, Player

TRIES = 3
"""Players that may die on one order before the run fails."""


class _Actor:
    """What Ray runs: a player with one thread."""

    def __init__(self, make: Callable[[], Player]):
        one_thread()
        self.player = make()

    def play(self, order: Order) -> Played:
        return self.player.play(order)


def in_ray() -> bool:
    """Whether this process belongs to a Ray cluster, as with LAUNCHER=ray."""
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


def need_ray(count: int) -> None:
    """UserError if Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise UserError(f"{count} actors need ray: .venv/bin/pip install --group cluster")


class RayPlayers:
    """`count` players that take turns: order number i goes to player i % count, and queues there.

    A player that dies is replaced, and the new one plays again what was not yet delivered: the same episodes, as an
    order contains all that they depend on. An order is delivered once, and so learnt from once.

    The players request no cores from Ray: with LAUNCHER=ray the run has requested them (ray_actors in train_build.py),
    and they stay on its node. UserError if players keep dying on the same order.
    """

    def __init__(self, make: Callable[[], Player], count: int):
        self.ray, self.stops = _connected()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(self.ray.get_runtime_context().get_node_id(), soft=False)
        self.actor = self.ray.remote(_Actor).options(num_cpus=0, scheduling_strategy=here)
        self.make = make
        self.players: list[Any] = [self.actor.remote(make) for _ in range(count)]
        self.waiting: deque[tuple[Order, Any]] = deque()
        """Pending orders and Ray's references to their results."""

    def submit(self, order: Order) -> None:
        self.waiting.append((order, self._sent(order)))

    def _sent(self, order: Order) -> Any:
        return self.players[order.number % len(self.players)].play.remote(order)

    def next(self) -> Played:
        for _ in range(TRIES):
            order, result = self.waiting[0]
            try:
                played = self.ray.get(result)
            except self.ray.exceptions.RayActorError:
                self._replace(order.number % len(self.players))
            else:
                self.waiting.popleft()
                return played
        raise UserError(f"{TRIES} players of Ray died one after the other over order {order.number}; see Ray's logs")

    def _replace(self, place: int) -> None:
        """Start a new player and send it all that the dead one had not delivered."""
        self.players[place] = self.actor.remote(self.make)
        lost = [order.number % len(self.players) == place for order, _ in self.waiting]
        self.waiting = deque(
            (order, self._sent(order) if again else result) for again, (order, result) in zip(lost, self.waiting)
        )

    def close(self) -> None:
        for player in self.players:
            self.ray.kill(player)
        self.players, self.waiting = [], deque()
        if self.stops:
            self.ray.shutdown()


def _connected() -> tuple[Any, bool]:
    """Ray, and whether it was started here and must be stopped again."""
    import ray

    if ray.is_initialized():
        return ray, False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # a separate one, whatever else runs on this machine
    ray.init("local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    return ray, True
