"""The ant maze: time of a step of all episodes that a low level plays in lock-step, and through gymnasium's interface.

Actions are random. The peer is gymnasium's own ant, which also takes five simulator steps per action.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium
import numpy as np

from benchmarks.goal_tasks import random_actions
from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved
from envs.ant.ant_maze import AntMaze

LAYOUTS = {"half the maze, implicitfast": "small U", "the paper's maze, RK4": "U"}
ENVS = {"half the maze, implicitfast": "AntMazeSmall-v0", "the paper's maze, RK4": "AntMaze-v0"}
SIDE_BY_SIDE = 20  # the episodes of a turn
LIMIT = 100.0  # us: 10,000 steps of one episode per second, for the faster integrator
STEPS, ROUNDS = 40, 9


def measure() -> list[Row]:
    timed: dict[str, Callable[[], float]] = {}
    for name, layout in LAYOUTS.items():
        timed[f"{name}, lock-step"] = _in_lock_step(AntMaze(layout))
        timed[f"{name}, gymnasium"] = _through_gymnasium(f"envs:{ENVS[name]}")
    timed["peer"] = _through_gymnasium("Ant-v5")
    us = interleaved(timed, ROUNDS)
    rows = []
    for name in LAYOUTS:
        ours, alone, limit = us[f"{name}, lock-step"], us[f"{name}, gymnasium"], LIMIT if "fast" in name else None
        note = f"{1e6 / ours:,.0f} steps per second, with observation, achieved goal and success"
        what = f"{name}: step, one of {SIDE_BY_SIDE}"
        rows.append(Row(what, ours, "us", limit=limit, judged="ours", note=note))
        rows.append(Row(f"{name}: step through gymnasium", alone, "us", us["peer"], "Ant-v5, RK4"))
    return rows


def _in_lock_step(task: AntMaze) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step of one episode."""
    rng = np.random.default_rng(0)

    def timed() -> float:
        states, goals = task.starts(SIDE_BY_SIDE, rng), task.goals(SIDE_BY_SIDE, rng)
        actions = [random_actions(task, SIDE_BY_SIDE, None, rng) for _ in range(STEPS)]
        begin = clock()
        for chosen in actions:
            states = task.step(states, chosen, rng)
            task.observe(states)
            task.success(task.achieved(states), goals)
        return (clock() - begin) / (STEPS * SIDE_BY_SIDE) * 1e6

    return timed


def _through_gymnasium(name: str) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step, resets not counted."""
    env = gymnasium.make(name, disable_env_checker=True)

    def timed() -> float:
        seconds = 0.0
        env.action_space.seed(0)
        for seed in range(4):
            env.reset(seed=seed)
            for _ in range(STEPS):
                action = env.action_space.sample()
                begin = clock()
                over = any(env.step(action)[2:4])
                seconds += clock() - begin
                if over:
                    env.reset()
        return seconds / (4 * STEPS) * 1e6

    return timed
