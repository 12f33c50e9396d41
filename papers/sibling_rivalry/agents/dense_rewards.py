"""Rewards of every single step, for the construction task (App. F): what a step has changed in a distance."""

from __future__ import annotations

import numpy as np

from papers.sibling_rivalry.sibling_rivalry import Distance


def naive_changes(
    achieved: np.ndarray, goals: np.ndarray, lengths: np.ndarray, reached: np.ndarray, distance: Distance
) -> np.ndarray:
    """r~ float64 [n, T]: by how much each step has come nearer to the goal, and 1 for the one that reaches it.

    achieved: [n, T + 1, ...] m(s) of all states; goals: [n, ...]. lengths: int [n]; reached: bool [n], whether the last
    step met the goal. 0 behind an episode's end. Without discount, an episode is paid what it has gained in all.
    """
    changes = -np.diff(distance(achieved, goals[:, None]), axis=1)
    changes[np.arange(changes.shape[1]) >= lengths[:, None]] = 0.0
    changes[reached, lengths[reached] - 1] += 1.0
    return changes


def sibling_changes(
    achieved: np.ndarray,
    goals: np.ndarray,
    anti_goals: np.ndarray,
    lengths: np.ndarray,
    reached: np.ndarray,
    distance: Distance,
) -> np.ndarray:
    """r' float64 [n, T]: as `naive_changes`, less what the step has come nearer to the anti-goal [n, ...].

    It is the step's change of -d(s, g) + d(s, anti-goal), which the paper's reward of an episode's end never lets rise
    above 0. Of single steps it must: else nothing that leads to the goal would be paid.
    """
    nobody = np.zeros_like(reached)
    nearer = naive_changes(achieved, anti_goals, lengths, nobody, distance)
    return naive_changes(achieved, goals, lengths, reached, distance) - nearer
