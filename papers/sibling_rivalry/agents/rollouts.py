"""Playing rollouts in lock-step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from envs.goal_task import GoalTask

Act = Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]
"""Actions of k rollouts, from observations float32 [k, ...], goals [k, ...] and legal actions bool [k, A] or None."""

EVALUATIONS, SHOWN = 15, 20
"""Terminal states are logged for the first 15 evaluations (Fig. 3), and for 20 of their episodes."""


@dataclass
class Rollouts:
    """n episodes of at most T steps, padded with zeros."""

    states: np.ndarray
    """[n, T + 1, ...] states of the task; rollout i has lengths[i] + 1 of them."""
    actions: np.ndarray
    """float32 [n, T, a] in the task's units, or int64 [n, T]."""
    goals: np.ndarray
    """float32 [n, *goal_shape]"""
    ends: np.ndarray
    """float32 [n, *goal_shape]: m(s_T), what was achieved in the end."""
    lengths: np.ndarray
    """int64 [n]"""
    reached: np.ndarray
    """bool [n]: whether it ended in success."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def running(self) -> np.ndarray:
        """bool [n, T]: whether the episode has a step t."""
        return np.arange(self.actions.shape[1]) < self.lengths[:, None]


def play(task: GoalTask, act: Act, starts: np.ndarray, goals: np.ndarray, rng: np.random.Generator) -> Rollouts:
    """Play from every start [n, ...] to its goal [n, ...] until success or the last step."""
    n, steps = len(starts), task.max_steps
    shape, kind = ((n, steps), np.int64) if task.action_range is None else ((n, steps, task.n_actions), np.float32)
    states = np.zeros((n, steps + 1, *starts.shape[1:]), starts.dtype)
    actions = np.zeros(shape, kind)
    lengths, reached = np.zeros(n, np.int64), np.zeros(n, bool)
    now = states[:, 0] = starts
    active = np.arange(n)
    for t in range(steps):
        actions[active, t] = chosen = act(task.observe(now), goals[active], task.legal(now))
        now = task.step(now, chosen, rng)
        states[active, t + 1] = now
        lengths[active] = t + 1
        success = task.success(task.achieved(now), goals[active])
        if success.any():
            reached[active[success]] = True
            active, now = active[~success], now[~success]
            if not len(active):
                break
    ends = task.achieved(states[np.arange(n), lengths])
    return Rollouts(states, actions, goals, ends, lengths, reached)


def terminal_states(rollouts: Rollouts, evaluation: int) -> dict[str, float]:
    """Metrics ``end i x`` and ``end i y``: where the first episodes of an evaluation (0, 1, ...) ended.

    Only for two-dimensional goals and the first evaluations.
    """
    if rollouts.ends.shape[1:] != (2,) or evaluation >= EVALUATIONS:
        return {}
    shown = np.round(rollouts.ends[:SHOWN].astype(np.float64), 2)
    return {f"end {i} {axis}": float(value) for i, end in enumerate(shown) for axis, value in zip("xy", end)}
