"""Ball throwing: time of a step of the physics alone, through gymnasium's interface, and of many in lock-step."""

from collections.abc import Callable

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numba import njit

from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved, per_call
from envs.throwing.physics import NO_WALL, hand_step
from envs.throwing.tasks import MAX_STEPS
from envs.throwing.vector import HandVector

KERNEL_LIMIT, STEP_LIMIT, LOCK_STEP_LIMIT = 10.0, 50.0, 1.0  # us: 100,000, 20,000 and 1,000,000 steps per second
EPISODES, ROUNDS = 40, 11
SIDE_BY_SIDE = 16


def measure() -> list[Row]:
    """Measure episodes of Hand under a random policy."""
    env = gymnasium.make("envs:Hand-v1", disable_env_checker=True)
    actions = np.random.default_rng(0).uniform(-1, 1, (EPISODES, MAX_STEPS, 3)).astype(np.float32)
    starts = np.array([env.reset(seed=seed)[0]["observation"] for seed in range(EPISODES)], float)
    us = interleaved(
        {
            "kernel": per_call(lambda: _play(starts.copy(), actions), 25, EPISODES * MAX_STEPS),
            "gymnasium": _through_gymnasium(env, actions),
            "lock-step": _in_lock_step(actions),
        },
        ROUNDS,
    )
    return [
        Row("Hand: physics of a step", us["kernel"], "us", limit=KERNEL_LIMIT, judged="ours"),
        Row("Hand: step through gymnasium", us["gymnasium"], "us", limit=STEP_LIMIT, judged="ours"),
        Row(
            f"Hand: step of an episode, {SIDE_BY_SIDE} in lock-step", us["lock-step"], "us", us["gymnasium"],
            "one by one", LOCK_STEP_LIMIT, judged="ours", note=f"{1e6 / us['lock-step']:,.0f} steps per second",
        ),
    ]  # fmt: skip


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


def _in_lock_step(actions: np.ndarray) -> Callable[[], float]:
    """The same for the first episodes side by side, each of which counts with the steps that it took."""
    envs = HandVector(SIDE_BY_SIDE, autoreset_mode=AutoresetMode.DISABLED)
    side_by_side = np.ascontiguousarray(actions[:SIDE_BY_SIDE].swapaxes(0, 1))

    def task() -> float:
        envs.reset(seed=0)
        begin = clock()
        for action in side_by_side:
            envs.step(action)
        return (clock() - begin) / envs.elapsed.sum() * 1e6

    return task
