"""Sokoban: time of a step with its picture and with codes only, including new levels; of many games; of making a level.

The original is gym-sokoban 0.0.6 with its picture of one pixel per cell, which NumPy enlarges to 84x84. If it cannot be
downloaded, its rows are left out. On 10 x 10 cells with four boxes, the others are the same game in C++ (EnvPool) and
in JAX (jumanji).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.fast_peers import Peers, beside
from benchmarks.gym_sokoban import (
    CONFIGURATIONS,
    Original,
    enlarged,
    original,
    seed_original,
    their_env,
    their_level,
)
from benchmarks.minigrid import GAMES, side_by_side
from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved, per_call
from envs.sokoban import levels as levels
from envs.sokoban.game import Sokoban

STEP_LIMIT = 20.0  # us: 50,000 steps per second
GAME_LIMIT = 0.5  # us
LEVEL_LIMIT = 1.0  # ms
STEPS, LEVELS, THEIR_LEVELS, ROUNDS = 1000, 200, 10, 7
HARDEST = ((7, 7), 2)  # of those whose speed has a target
LARGE = ((10, 10), 4)  # the size of the others' levels
FIXED = "no new levels: it always plays {} that it brings along"


def measure() -> list[Row]:
    peer = original()
    rows = [row for shape, boxes in CONFIGURATIONS for row in _steps(peer, shape, boxes)]
    with Peers() as peers:
        return [*rows, _levels(peer, *HARDEST), *_large(peers)]


def _large(peers: Peers) -> list[Row]:
    """Measure one game and many on the size that EnvPool and jumanji have; ours includes making the levels."""
    env = Sokoban(*LARGE, observation="codes")
    env.reset(seed=0)
    tasks = {"one": _play(env), "games": side_by_side(env)}
    makers = {"EnvPool": ("envpool_steps", {"env": "Sokoban-v0"}), "jumanji": ("jumanji_sokoban", {})}
    wanted = {
        f"{name}{what}": (maker, arguments | dict(n=n, steps=20 * GAMES))
        for name, (maker, arguments) in makers.items()
        for what, n in (("", 1), (f", {GAMES} games", GAMES))
    }
    us = interleaved(tasks | peers.tasks(wanted), ROUNDS)
    rows = []
    places = (("new levels included", "one", ""), (f"{GAMES} games, without levels", "games", f", {GAMES} games"))
    for what, name, end in places:
        row = Row(f"10x10-4: step, {what}", us[name], "us")
        others = [
            (f"EnvPool{end}", FIXED.format("the one level"), "levels"),
            (f"jumanji{end}", FIXED.format("the two levels") + "; its loop over all steps is compiled", "levels"),
        ]
        rows += beside(row, us, others)
    return rows


def _steps(peer: Original | None, shape: tuple[int, int], boxes: int) -> list[Row]:
    """Measure a random policy on new levels: ours with pictures, with codes and side by side, and the original."""
    env, codes = Sokoban(shape, boxes), Sokoban(shape, boxes, observation="codes")
    env.reset(seed=0)
    tasks = {
        "ours": _play(env),
        "codes": _play(codes),
        "games": side_by_side(codes),
        "picture": per_call(env._observe, STEPS),
        "level": _make(shape, boxes),
    }
    if peer is not None:
        tasks["original"] = _play_original(peer, shape, boxes)
    us = interleaved(tasks, ROUNDS)
    size = f"{shape[0]}x{shape[1]}-{boxes}"
    what = f"{size}: step, new levels included"
    note = f"{1e6 / us['ours']:,.0f} steps per second; picture {us['picture']:.1f} us, a level {us['level']:.0f} us"
    rows = [Row(what, us["ours"], "us", us["codes"], "codes alone", STEP_LIMIT, "ours", note)]
    if peer is not None:
        rows.append(Row(what, us["ours"], "us", us["original"], "gym-sokoban"))
    what = f"{size}: step, {GAMES} games, without levels"
    return [*rows, Row(what, us["games"], "us", us["codes"], "codes, one by one", GAME_LIMIT, "ours")]


def _levels(peer: Original | None, shape: tuple[int, int], boxes: int) -> Row:
    tasks = {"ours": _make(shape, boxes)}
    if peer is not None:
        tasks["original"] = _make_original(peer, shape, boxes)
    us = interleaved(tasks, ROUNDS)
    theirs = us["original"] / 1e3 if peer is not None else None
    note = f"{1e6 / us['ours']:,.0f} levels per second"
    name = "" if peer is None else "gym-sokoban"
    what = f"{shape[0]}x{shape[1]}-{boxes}: making a level"
    return Row(what, us["ours"] / 1e3, "ms", theirs, name, LEVEL_LIMIT, "ours", note)


def _play(env: Sokoban) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step."""
    rng = np.random.default_rng(0)
    env.reset(seed=0)

    def task() -> float:
        actions = rng.integers(env.n_actions, size=STEPS).tolist()
        begin = clock()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return (clock() - begin) / STEPS * 1e6

    return task


def _play_original(peer: Original, shape: tuple[int, int], boxes: int) -> Callable[[], float]:
    """Like `_play`, in the package's environment."""
    rng = np.random.default_rng(0)
    seed_original(0)

    def new_episode():
        env = their_env(peer, shape, boxes, *_original_level(peer, shape, boxes))
        enlarged(env.render("tiny_rgb_array"))
        return env

    env = new_episode()

    def task() -> float:
        nonlocal env
        actions = rng.integers(1, 9, size=STEPS).tolist()
        begin = clock()
        for action in actions:
            picture, _, done, _ = env.step(action, observation_mode="tiny_rgb_array")
            enlarged(picture)
            if done:
                env = new_episode()
        return (clock() - begin) / STEPS * 1e6

    return task


def _make(shape: tuple[int, int], boxes: int) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per level."""
    rng = np.random.default_rng(0)
    return per_call(lambda: levels.generate(rng, shape, boxes), LEVELS)


def _make_original(peer: Original, shape: tuple[int, int], boxes: int) -> Callable[[], float]:
    seed_original(0)
    return per_call(lambda: _original_level(peer, shape, boxes), THEIR_LEVELS)


def _original_level(peer: Original, shape: tuple[int, int], boxes: int) -> tuple[np.ndarray, np.ndarray]:
    """Fixed matrix and state matrix of the first attempt that succeeds."""
    while (made := their_level(peer, shape, boxes)) is None:
        pass
    return made[:2]
