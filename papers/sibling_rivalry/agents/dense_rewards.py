"""Rewards of single steps for the construction task (App. F): the change of a distance in each step."""

from __future__ import annotations

import numpy as np

from papers.sibling_rivalry.sibling_rivalry import Distance


def naive_changes(
    achieved: np.ndarray, goals: np.ndarray, lengths: np.ndarray, reached: np.ndarray, distance: Distance
) -> np.ndarray:
    """r~ float64 [n, T]: by how much each step came closer to the goal, and 1 more for the one that reached it.

    achieved: [n, T + 1, ...] m(s) of all states; goals: [n, ...]. lengths: int [n]; reached: bool [n], whether the last
    step met the goal. 0 after an episode's end. Without discount, an episode is paid its total gain.
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
    """r' float64 [n, T]: `naive_changes`, less by how much the step came closer to the anti-goal [n, ...].

    This is the step's change of -d(s, g) + d(s, anti-goal). The paper's reward for an episode's end caps that sum at 0;
    single steps need no cap, or nothing that leads to the goal would be paid.
    """
    nobody = np.zeros_like(reached)
    nearer = naive_changes(achieved, anti_goals, lengths, nobody, distance)
    return naive_changes(achieved, goals, lengths, reached, distance) - nearer
