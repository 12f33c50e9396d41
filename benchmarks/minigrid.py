"""MiniGrid tasks: time of a step with its picture and with codes only, of many games in one call, and of a reset.

The peers are minigrid's own game, without any observation and with the picture that its wrapper draws; and for DoorKey
the same game in C++ (EnvPool) and in JAX (xminigrid, navix).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from minigrid.wrappers import RGBImgObsWrapper

from benchmarks.fast_peers import Peers, Wanted, beside
from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved, per_call
from envs.minigrid.tasks import TASKS, TILE, MiniGridTask

LIMITS = {"picture": 20.0, "codes": 2.0, "game": 0.5, "reset": 500.0}  # us
STEPS, RESETS, GAMES, ROUNDS = 400, 50, 100, 11
SHARED = "DoorKey"  # the task that all the others have
PEERS = {"EnvPool": "MiniGrid-DoorKey-6x6-v0", "xminigrid": "MiniGrid-DoorKey-6x6", "navix": "Navix-DoorKey-6x6-v0"}
MANY = f", {GAMES} games"
SEES = "sees 7 x 7 cells, not all; new levels included"
COMPILED = SEES + "; its loop over all steps is compiled, with the policy in it"


def measure() -> list[Row]:
    with Peers() as peers:
        wanted: Wanted = {
            f"{name}{what}": (f"{name.lower()}_steps", dict(env=env, n=n, steps=20 * GAMES))
            for name, env in PEERS.items()
            for what, n in (("", 1), (MANY, GAMES))
        }
        others = peers.tasks(wanted)
        return [row for task in TASKS for row in _measure(task, others if task == SHARED else {})]


def _measure(task: str, others: dict[str, Callable[[], float]]) -> list[Row]:
    """Measure ours, the game alone, and minigrid's own picture, all on the same levels and actions; and the others."""
    ours, codes = MiniGridTask(task), MiniGridTask(task, observation="codes")
    game = MiniGridTask(task).game  # without the partial view, which is not used
    make_game, arguments, n_actions = TASKS[task]
    stock = RGBImgObsWrapper(make_game(**arguments), tile_size=TILE)
    steps = {"picture": ours, "codes": codes, "game": game, "stock": stock}
    us = interleaved(
        {name: one_by_one(env, n_actions) for name, env in steps.items()}
        | {"games": side_by_side(codes)}
        | {f"reset {name}": _resets(env) for name, env in (("codes", codes), ("game", game))}
        | {"draw": per_call(ours._observe, STEPS)}
        | others,
        ROUNDS,
    )
    note = f"the picture {us['draw']:.1f} us"
    codes_row, games_row = (
        Row(f"{task}: step, codes", us["codes"], "us", us["game"], "game alone", LIMITS["codes"], "ours"),
        Row(f"{task}: step{MANY}", us["games"], "us", us["codes"], "one by one", LIMITS["game"], "ours"),
    )
    unlike = {name: SEES if name == "EnvPool" else COMPILED for name in PEERS}
    return [
        Row(f"{task}: step", us["picture"], "us", us["game"], "game alone", LIMITS["picture"], "ours", note),
        Row(f"{task}: step", us["picture"], "us", us["stock"], "minigrid's RGBImgObsWrapper"),
        *beside(codes_row, us, [(name, unlike[name], "compiled whole") for name in PEERS]),
        *beside(games_row, us, [(f"{name}{MANY}", unlike[name], "compiled whole") for name in PEERS]),
        Row(f"{task}: reset", us["reset codes"], "us", us["reset game"], "game alone", LIMITS["reset"], "ours"),
    ]


def one_by_one(env: Any, n_actions: int) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step under a random policy, without resets."""
    rng = np.random.default_rng(0)
    env.reset(seed=0)

    def task() -> float:
        resets = 0.0
        begin = clock()
        for action in rng.integers(n_actions, size=STEPS).tolist():
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                pause = clock()
                env.reset(seed=int(rng.integers(2**31)))
                resets += clock() - pause
        return (clock() - begin - resets) / STEPS * 1e6

    return task


def side_by_side(env: Any, n: int | None = None) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step of one of n (GAMES) games under a random policy."""
    rng, n = np.random.default_rng(0), n or GAMES

    def task() -> float:
        games, running, steps = env.side_by_side(range(n)), np.arange(n), 0
        begin = clock()
        while steps < 20 * n and len(running):
            steps += len(running)
            _, ended, _ = games.step(running, rng.integers(env.n_actions, size=len(running)))
            running = running[~ended]
        return (clock() - begin) / steps * 1e6

    return task


def _resets(env: Any) -> Callable[[], float]:
    seeds = iter(range(10**9))
    return per_call(lambda: env.reset(seed=next(seeds)), RESETS)
