"""Environments that others made and our methods train on: a step under random actions, through our wrappers, beside the
same task in C++ (EnvPool), which also plays many at once. Resets count on both sides, as EnvPool makes them by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from benchmarks.fast_peers import Peers, Wanted, beside
from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved
from envs import fetch
from envs.atari import Atari
from papers.ners.agents import tasks as ners
from papers.ref_er.agents import tasks as ref_er

TASKS: dict[str, tuple[Callable[[], gymnasium.Env], str]] = {
    # name: ours, EnvPool's
    "Hopper": (lambda: ners.make_env("Hopper-v4"), "Hopper-v4"),
    "LunarLander": (lambda: ners.make_env("LunarLanderContinuous-v3"), "LunarLanderContinuous-v3"),
    "BipedalWalker": (lambda: ners.make_env("BipedalWalker-v3"), "BipedalWalker-v3"),
    "HalfCheetah": (lambda: ref_er.make_env("HalfCheetah-v5"), "HalfCheetah-v5"),
    "FetchPush": (lambda: fetch.make("FetchPush-v4"), "FetchPush-v4"),
    "Pong": (lambda: Atari("Pong"), "Pong-v5"),
}
UNLIKE = {
    "BipedalWalker": "ours makes a new world for every episode, so that an episode depends on its seed alone",
    "Pong": "ours keeps one frame per step, the peer stacks four",
}
MANY, STEPS, ROUNDS = 64, 400, 7


def measure() -> list[Row]:
    with Peers() as peers:
        return [row for task in TASKS for row in _measure(task, peers)]


def _measure(task: str, peers: Peers) -> list[Row]:
    make, theirs = TASKS[task]
    wanted: Wanted = {
        "EnvPool": ("envpool_steps", dict(env=theirs, n=1, steps=STEPS)),
        f"EnvPool, {MANY} at once": ("envpool_steps", dict(env=theirs, n=MANY, steps=10 * MANY)),
    }
    us = interleaved({"ours": steps(make()), **peers.tasks(wanted)}, ROUNDS)
    unlike = UNLIKE.get(task, "")
    many = "ours plays one" + (f"; {unlike}" if unlike else "")
    one, of_many = Row(f"{task}: step", us["ours"], "us"), Row(f"{task}: step, one of {MANY}", us["ours"], "us")
    return [
        *beside(one, us, [("EnvPool", unlike, "C++")]),
        *beside(of_many, us, [(f"EnvPool, {MANY} at once", many, "batching")]),
    ]


def steps(env: Any) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step under random actions, resets included."""
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(101)]

    def task() -> float:
        begin = clock()
        for i in range(STEPS):
            _, _, terminated, truncated, _ = env.step(actions[i % len(actions)])
            if terminated or truncated:
                env.reset()
        return (clock() - begin) / STEPS * 1e6

    return task
