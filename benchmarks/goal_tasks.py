"""Sibling Rivalry's goal tasks: time of a step of all rollouts of an update, and through gymnasium's interface.

All rows play episodes of 50 steps in which all legal actions are equally likely.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium
import numpy as np

from benchmarks.rows import Row
from benchmarks.timing import clock, interleaved, per_call
from envs.goal_task import GoalTask
from papers.sibling_rivalry.agents.rollouts import Rollouts, play
from papers.sibling_rivalry.agents.tasks import make_task

TASKS = {"point maze": ("PointMaze", "PointMaze-v0"), "13 x 13 pixel grid": ("PixelGrid-13", "PixelGrid-v0")}
BATCH = 80  # rollouts of an update
LIMIT = 1 / 0.3  # us: 300,000 steps of one rollout per second
REPEATS, EPISODES, ROUNDS = 4, 20, 11


def measure() -> list[Row]:
    timed: dict[str, Callable[[], float]] = {}
    for name, (task_name, env_id) in TASKS.items():
        task = make_task(task_name)
        rollouts = random_rollouts(task, np.random.default_rng(0))
        timed[f"{name}, kernel"] = _batched(task, rollouts, look=False)
        timed[f"{name}, all"] = _batched(task, rollouts, look=True)
        timed[f"{name}, gymnasium"] = _through_gymnasium(gymnasium.make(f"envs:{env_id}", disable_env_checker=True))
    us = interleaved(timed, ROUNDS)
    rows = []
    for name in TASKS:
        kernel, everything = us[f"{name}, kernel"], us[f"{name}, all"]
        note = f"{1e6 / kernel:,.0f} steps per second"
        rows.append(Row(f"{name}: step, one of {BATCH}", kernel, "us", limit=LIMIT, judged="ours", note=note))
        note = f"{1e6 / everything:,.0f} steps per second, with observation, achieved goal, success and legal actions"
        what = f"{name}: step and what is seen, one of {BATCH}"
        rows.append(Row(what, everything, "us", limit=LIMIT, judged="ours", note=note))
        rows.append(Row(f"{name}: step through gymnasium", us[f"{name}, gymnasium"], "us"))
    return rows


def random_actions(task: GoalTask, n: int, legal: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """n actions in the task's units, uniform among those that are `legal` [n, A]."""
    if task.action_range is not None:
        return rng.uniform(-task.action_range, task.action_range, (n, task.n_actions)).astype(np.float32)
    allowed = np.ones((n, task.n_actions), bool) if legal is None else legal
    return np.where(allowed, rng.random(allowed.shape), -1.0).argmax(axis=1)


def random_rollouts(task: GoalTask, rng: np.random.Generator) -> Rollouts:
    """BATCH rollouts of random actions."""

    def act(observations: np.ndarray, goals: np.ndarray, legal: np.ndarray | None) -> np.ndarray:
        return random_actions(task, len(observations), legal, rng)

    return play(task, act, task.starts(BATCH, rng), task.goals(BATCH, rng), rng)


def _batched(task: GoalTask, rollouts: Rollouts, look: bool) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step of one rollout, repeating all steps of `rollouts`.

    look: also compute everything that the next step needs from the new state.
    """
    rng, goals = np.random.default_rng(1), rollouts.goals
    steps = [(rollouts.states[:, t].copy(), rollouts.actions[:, t].copy()) for t in range(task.max_steps)]

    def again() -> None:
        for states, actions in steps:
            after = task.step(states, actions, rng)
            if look:
                task.observe(after)
                task.success(task.achieved(after), goals)
                task.legal(after)

    return per_call(again, REPEATS, len(steps) * len(goals))


def _through_gymnasium(env: gymnasium.Env) -> Callable[[], float]:
    """A task for `interleaved`: microseconds per step, without resets and the choice of actions."""
    task: GoalTask = env.unwrapped.task  # type: ignore[attr-defined]

    def action(info: dict, rng: np.random.Generator):
        legal = info.get("legal")
        chosen = random_actions(task, 1, None if legal is None else legal[None], rng)[0]
        return chosen if task.action_range is not None else int(chosen)

    def timed() -> float:
        rng, seconds, steps = np.random.default_rng(2), 0.0, 0
        for seed in range(EPISODES):
            info, over = env.reset(seed=seed)[1], False
            while not over:
                chosen = action(info, rng)
                begin = clock()
                _, _, terminated, truncated, info = env.step(chosen)
                seconds += clock() - begin
                over, steps = terminated or truncated, steps + 1
        return seconds / steps * 1e6

    return timed
