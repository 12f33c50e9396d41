"""Rewards at the end of an episode. Others: sibling_rivalry.py, grid_oracle.py, dense_rewards.py."""

from __future__ import annotations

import numpy as np


def sparse_reward(reached: np.ndarray) -> np.ndarray:
    """r float64 [n]: 1 for episodes that reached their goal, else 0."""
    return reached.astype(np.float64)  # Eq. (1)


def naive_reward(to_goal: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """r~ float64 [n]: 1 for episodes that reached their goal, minus the distance to it [n] for the others."""
    return np.where(reached, 1.0, -to_goal)  # Eq. (2)
