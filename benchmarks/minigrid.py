"""MiniGrid tasks: what does the picture cost on top of minigrid's own game logic?"""

from collections.abc import Callable
from typing import Any

import numpy as np
from minigrid.wrappers import RGBImgObsWrapper

from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved, per_call
from envs.minigrid.tasks import TASKS, TILE, MiniGridTask

LIMIT = 30.0  # us per step on top of the game
STEPS, ROUNDS = 400, 11


def measure() -> list[Row]:
    return [row for task in TASKS for row in _measure(task)]


def _measure(task: str) -> list[Row]:
    """The same levels and actions three times: ours, the game alone, and the picture that minigrid itself draws."""
    ours = MiniGridTask(task)
    game = MiniGridTask(task).game  # makes no partial view, which nobody would read
    make_game, arguments, n_actions = TASKS[task]
    stock = RGBImgObsWrapper(make_game(**arguments), tile_size=TILE)
    steps = {"ours": ours, "game": game, "stock": stock}
    us = interleaved(
        {name: _steps(env, n_actions) for name, env in steps.items()}
        | {
            "picture": per_call(ours._observe, STEPS),
            "code": per_call(lambda: ours._encode(2, 2), STEPS),
            "copy": per_call(lambda: ours._info(False), STEPS),
        },
        ROUNDS,
    )
    note = (
        f"picture {us['picture']:.1f} us, codes of two cells {2 * us['code']:.1f}, copy of all codes {us['copy']:.1f}"
    )
    return [
        Row(f"{task}: step", us["ours"], "us", us["game"], "game alone", LIMIT, "ours - peer", note),
        Row(f"{task}: step", us["ours"], "us", us["stock"], "RGBImgObsWrapper"),
    ]


def _steps(env: Any, n_actions: int) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step under a random policy, resets not counted."""
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
