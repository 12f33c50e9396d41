"""The Grid Oracle (App. E, after Savinov et al. 2019): be paid for the number of regions that an episode visits.

It is an oracle because it is told what the plane is that the agent moves in. Whoever covers much ground finds the goal
sooner or later, but covering ground is not what the task asks for.
"""

from __future__ import annotations

import numpy as np

from papers.sibling_rivalry.agents.rewards import sparse_reward


def regions_visited(positions: np.ndarray, lengths: np.ndarray, side: float, offset: float = 0.5) -> np.ndarray:
    """How many different regions each episode visits: int64 [n].

    positions: float [n, T + 1, 2], of which the first counts only if the episode returns to its region.
    lengths: int [n], steps of each episode; what lies behind them is ignored.
    side: of the square regions. offset: region borders run through -offset; 0.5 is where mazes of unit cells begin.

    Raises ValueError for positions that are not of a plane, and side <= 0.
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
    """What the last step of an episode is paid, float64 [n]: 1 for success, and `weight` for every region visited."""
    return sparse_reward(reached) + weight * visited
