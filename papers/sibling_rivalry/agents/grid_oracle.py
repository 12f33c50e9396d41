"""The Grid Oracle (App. E, after Savinov et al. 2019): a reward for every region that an episode visits.

It is an oracle because it knows the plane in which the agent moves. An agent that covers much ground finds the goal
sooner or later, but covering ground is not what the task asks for.
"""

from __future__ import annotations

import numpy as np

from papers.sibling_rivalry.agents.rewards import sparse_reward


def regions_visited(positions: np.ndarray, lengths: np.ndarray, side: float, offset: float = 0.5) -> np.ndarray:
    """Number of different regions that each episode visits: int64 [n].

    positions: float [n, T + 1, 2]; the first region counts only if the episode returns to it.
    lengths: int [n], steps of each episode; what follows them is ignored.
    side: of the square regions. offset: borders run through -offset; mazes of unit cells begin at -0.5.

    Raises ValueError for positions that are not in a plane, and for side <= 0.
    """
    if positions.ndim != 3 or positions.shape[2] != 2:
        raise ValueError(f"positions must be [n, T + 1, 2], of a plane, not {list(positions.shape)}")
    if not side > 0:
        raise ValueError(f"side, of a region, must be positive, not {side}")
    regions = np.floor((positions[:, 1:].astype(np.float64) + offset) / side).astype(np.int64)
    episodes, steps = np.nonzero(np.arange(regions.shape[1]) < lengths[:, None])
    visits = np.column_stack([episodes, regions[episodes, steps]])
    return np.bincount(np.unique(visits, axis=0)[:, 0], minlength=len(positions))


def grid_oracle_reward(reached: np.ndarray, visited: np.ndarray, weight: float = 0.01) -> np.ndarray:
    """Reward of an episode's last step, float64 [n]: 1 for success, and `weight` for every region visited."""
    return sparse_reward(reached) + weight * visited
