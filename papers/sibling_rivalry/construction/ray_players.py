"""Several players in processes of their own, by Ray: on the cluster that trains the run, or on this machine alone.

Ray is imported where it is used: everything else works without it.
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
"""Players that may die over one order before it is taken to be the order's fault."""


class _Actor:
    """What Ray runs: a player with one thread."""

    def __init__(self, make: Callable[[], Player]):
        one_thread()
        self.player = make()

    def play(self, order: Order) -> Played:
        return self.player.play(order)


def in_ray() -> bool:
    """Whether this process belongs to a Ray cluster, as the runs of LAUNCHER=ray do."""
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


def need_ray(count: int) -> None:
    """UserError where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise UserError(f"{count} actors need ray: .venv/bin/pip install --group cluster")


class RayPlayers:
    """`count` players that take turns: order number i goes to player i % count, and waits there for those before it.

    A player that dies is replaced, and what it had not yet handed over is played again by the new one: the same
    episodes, as an order names all that they depend on. An order is handed over once, and so learnt from once.

    The players ask Ray for no cores: a run of LAUNCHER=ray has itself asked for them (ray_actors in train_build.py),
    and they stay on its node. UserError when players die over the same order time and again.
    """

    def __init__(self, make: Callable[[], Player], count: int):
        self.ray, self.stops = _connected()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(self.ray.get_runtime_context().get_node_id(), soft=False)
        self.actor = self.ray.remote(_Actor).options(num_cpus=0, scheduling_strategy=here)
        self.make = make
        self.players: list[Any] = [self.actor.remote(make) for _ in range(count)]
        self.waiting: deque[tuple[Order, Any]] = deque()
        """Orders that are under way, and what Ray calls their results."""

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
        """A new player, which is sent all that the one before it had not yet handed over."""
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
    """Ray, and whether it was started here and must be stopped."""
    import ray

    if ray.is_initialized():
        return ray, False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # one of its own, whatever else runs on this machine
    ray.init("local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    return ray, True
