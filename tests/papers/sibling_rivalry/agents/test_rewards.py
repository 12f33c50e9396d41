"""Sparse and naive rewards by hand."""

import numpy as np

from papers.sibling_rivalry.agents.rewards import naive_reward, sparse_reward

REACHED = np.array([True, False, False])


def test_naive_and_sparse_rewards_by_hand():
    """What is left of the distance within the tolerance costs nothing."""
    found = naive_reward(np.array([0.1, 0.2, 7.5]), REACHED)
    assert found.dtype == np.float64 and found.tolist() == [1.0, -0.2, -7.5]
    found = sparse_reward(REACHED)
    assert found.dtype == np.float64 and found.tolist() == [1.0, 0.0, 0.0]
