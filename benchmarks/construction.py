"""Training on the small construction task: time of an update, of V-trace, and with players on Ray.

An update is 16 episodes of 40 steps and one gradient step. Rows with players on Ray are wall-clock time, as several
processes work; they are meaningful only if each has its own core.

V-trace is compared with torchrl's if that is installed; players on Ray are measured if Ray is.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from benchmarks.rows import Row
from benchmarks.timing import Stopwatch, clock, interleaved, per_call
from papers.sibling_rivalry.agents.vtrace import vtrace
from papers.sibling_rivalry.construction.players import Alone, Players
from papers.sibling_rivalry.construction.ray_players import RayPlayers
from papers.sibling_rivalry.train_build import Config, Trainer, make_player

CONFIG = Config(env="VoxelBuildSmall", lag=7)
LIMIT = 20 * 60 / 6_250 * 1e3  # ms: 100,000 episodes in 20 minutes of a core
UPDATES, ROUNDS, CALLS = 5, 5, 200
ACTORS = (1, 2, 4)


def measure() -> list[Row]:
    return [*alone(), *returns(), *on_ray()]


def started(players: Players) -> Trainer:
    """A trainer that has sent its orders to the players."""
    trainer = Trainer(CONFIG)
    for order in trainer.orders:
        players.submit(order)
    return trainer


def alone() -> list[Row]:
    """Measure one process that plays and learns."""
    players = Alone(make_player(CONFIG))
    trainer = started(players)

    def updates(count: int = UPDATES) -> float:
        begin = clock()
        for _ in range(count):
            trainer.update(players)
        return (clock() - begin) / count * 1e3

    ms = interleaved({"update": updates}, ROUNDS)["update"]
    with Stopwatch(players.player, "play") as played, Stopwatch(trainer.learner, "learn") as learnt:
        updates()
    steps = 2 * CONFIG.pairs * trainer.task.max_steps
    note = (
        f"{steps / ms * 1e3:,.0f} environment steps per second; ms per update: playing "
        f"{played.seconds / UPDATES * 1e3:.0f}, learning {learnt.seconds / UPDATES * 1e3:.0f}"
    )
    return [Row("impala-sr: update", ms, "ms", limit=LIMIT, judged="ours", note=note)]


def returns(module: str = "torchrl.objectives.value.functional") -> list[Row]:
    """Measure V-trace of a batch beside torchrl's, which must give the same numbers."""
    rng, shape = np.random.default_rng(0), (16, 40)
    rewards, values, log_ratios = rng.normal(size=shape), rng.normal(size=(16, 41)), 0.3 * rng.normal(size=shape)
    ours: Callable = partial(vtrace, rewards, values, log_ratios, np.full(16, 40), 0.99)
    what, tasks = "V-trace of 16 x 40 steps", {"ours": per_call(ours, CALLS)}
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        us = interleaved(tasks, ROUNDS)
        missing = "torchrl is not installed: .venv/bin/pip install --group adapters, for a comparison"
        return [Row(what, us["ours"], "us", note=missing)]
    theirs = partial(
        importlib.import_module(module).vtrace_advantage_estimate, 0.99, *_as_torchrl(rewards, values, log_ratios)
    )
    for one, other in zip(ours(), reversed(theirs())):
        np.testing.assert_allclose(one, other.squeeze(-1).numpy(), rtol=1e-4, atol=1e-5)  # its discounts are float32
    us = interleaved(tasks | {"theirs": per_call(theirs, CALLS)}, ROUNDS)
    return [Row(what, us["ours"], "us", us["theirs"], "torchrl", note="the same targets and advantages")]


def _as_torchrl(rewards: np.ndarray, values: np.ndarray, log_ratios: np.ndarray) -> list[torch.Tensor]:
    """log pi, log mu, V, V of the next state, rewards and ends [n, T, 1] of episodes that all run out of time."""
    arrays = log_ratios, np.zeros_like(log_ratios), values[:, :-1], values[:, 1:], rewards
    tensors = [torch.from_numpy(np.ascontiguousarray(array))[..., None] for array in arrays]
    return [*tensors, torch.zeros_like(tensors[0], dtype=torch.bool)]


def on_ray() -> list[Row]:
    """Measure the learner with players in other processes."""
    what = "impala-sr: update, {} players on Ray"
    if importlib.util.find_spec("ray") is None:
        return []
    rows, steps = [], 2 * CONFIG.pairs * make_player(CONFIG).task.max_steps
    for count in ACTORS:
        players = RayPlayers(partial(make_player, CONFIG), count)
        try:
            trainer = started(players)
            for _ in range(CONFIG.lag + 1):  # until every player has begun
                trainer.update(players)
            learning = Stopwatch(trainer.learner, "learn")
            with learning:
                begin = time.perf_counter()
                for _ in range(ROUNDS * UPDATES):
                    trainer.update(players)
                ms = (time.perf_counter() - begin) / (ROUNDS * UPDATES) * 1e3
        finally:
            players.close()
        busy = learning.seconds / (ROUNDS * UPDATES) * 1e3
        note = (
            f"wall clock, {steps / ms * 1e3:,.0f} environment steps per second; learning takes {busy:.0f} ms of "
            f"processor time; this machine has {os.cpu_count()} cores"
        )
        rows.append(Row(what.format(count), ms, "ms", note=note))
    return rows
