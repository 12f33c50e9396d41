"""The construction task: time of a step of many episodes in lock-step, with and without pictures, and of a single one.

All rows play whole episodes in which all actions are equally likely.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved
from envs.voxel.vector import VoxelBuildVector

ARENAS = {"11 x 11 x 3": "VoxelBuild", "7 x 7 x 2": "VoxelBuildSmall"}
SIDE_BY_SIDE = 64  # 32 pairs of siblings
PIXELS = (24, 36)
LIMIT = 1 / 0.2  # us: 200,000 steps per second
REPEATS, ROUNDS = 4, 11


def measure() -> list[Row]:
    timed: dict[str, Callable[[], float]] = {}
    for arena, name in ARENAS.items():
        timed[f"{arena}, lock-step"] = _in_lock_step(name, None, REPEATS)
        timed[f"{arena}, pictures"] = _in_lock_step(name, PIXELS, 1)
        timed[f"{arena}, gymnasium"] = _through_gymnasium(name)
    us = interleaved(timed, ROUNDS)
    rows = []
    for arena in ARENAS:
        alone, lock_step, pictures = (us[f"{arena}, {way}"] for way in ("gymnasium", "lock-step", "pictures"))
        note = f"{1e6 / lock_step:,.0f} steps per second, with observation, achieved goal, reward and success"
        what = f"{arena}: step of an episode, {SIDE_BY_SIDE} in lock-step"
        rows.append(Row(what, lock_step, "us", alone, "one by one", LIMIT, judged="ours", note=note))
        note = f"{1e3 * (pictures - lock_step) / (PIXELS[0] * PIXELS[1]):.0f} ns per pixel"
        rows.append(Row(f"{arena}: the same with a picture of {PIXELS[0]} x {PIXELS[1]}", pictures, "us", note=note))
        rows.append(Row(f"{arena}: step through gymnasium", alone, "us"))
    return rows


def _actions(steps: int, n: int) -> np.ndarray:
    """int64 [steps, n]"""
    return np.random.default_rng(0).integers(21, size=(steps, n))


def _in_lock_step(name: str, picture: tuple[int, int] | None, repeats: int) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step of one episode, resets not counted."""
    how = {"picture": picture, "autoreset_mode": AutoresetMode.DISABLED}
    envs: VoxelBuildVector = gymnasium.make_vec(f"envs:{name}-v0", num_envs=SIDE_BY_SIDE, **how).unwrapped  # type: ignore[assignment]
    actions = _actions(envs.task.max_steps, SIDE_BY_SIDE)

    def timed() -> float:
        seconds, steps = 0.0, 0
        for seed in range(repeats):
            envs.reset(seed=seed)
            begin = clock()
            for action in actions:
                envs.step(action)
            seconds += clock() - begin
            steps += int(envs.elapsed.sum())
        return seconds / steps * 1e6

    return timed


def _through_gymnasium(name: str) -> Callable[[], float]:
    """The same for a single environment."""
    env = gymnasium.make(f"envs:{name}-v0", disable_env_checker=True)

    def timed() -> float:
        seconds, steps = 0.0, 0
        for seed in range(REPEATS):
            env.reset(seed=seed)
            begin = clock()
            for action in _actions(100, 1)[:, 0].tolist():
                steps += 1
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    break
            seconds += clock() - begin
        return seconds / steps * 1e6

    return timed
