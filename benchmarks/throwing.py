"""Ball-throwing tasks: a step of the physics alone, and one through gymnasium's interface."""

from collections.abc import Callable

import gymnasium
import numpy as np
from numba import njit

from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved, per_call
from envs.throwing import MAX_STEPS
from envs.throwing_physics import NO_WALL, hand_step

KERNEL_LIMIT, STEP_LIMIT = 10.0, 50.0  # us: 100,000 and 20,000 steps per second
EPISODES, ROUNDS = 40, 11


def measure() -> list[Row]:
    """Both rows play the same episodes of Hand under a random policy."""
    env = gymnasium.make("envs:Hand-v0", disable_env_checker=True)
    actions = np.random.default_rng(0).uniform(-1, 1, (EPISODES, MAX_STEPS, 3)).astype(np.float32)
    starts = np.array([env.reset(seed=seed)[0]["observation"] for seed in range(EPISODES)], float)
    us = interleaved(
        {
            "kernel": per_call(lambda: _play(starts.copy(), actions), 25, EPISODES * MAX_STEPS),
            "gymnasium": _through_gymnasium(env, actions),
        },
        ROUNDS,
    )
    return [
        Row("Hand: physics of a step", us["kernel"], "us", limit=KERNEL_LIMIT, judged="ours"),
        Row("Hand: step through gymnasium", us["gymnasium"], "us", limit=STEP_LIMIT, judged="ours"),
    ]


@njit
def _play(states, actions):
    for i in range(len(states)):
        for action in actions[i]:
            hand_step(states[i], action, *NO_WALL)


def _through_gymnasium(env: gymnasium.Env, actions: np.ndarray) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step, resets not counted."""

    def task() -> float:
        seconds, steps = 0.0, 0
        for seed, episode in enumerate(actions):
            env.reset(seed=seed)
            begin = clock()
            for action in episode:
                steps += 1
                if env.step(action)[2]:
                    break
            seconds += clock() - begin
        return seconds / steps * 1e6

    return task
