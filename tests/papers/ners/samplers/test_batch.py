"""What an update says of its transitions, by hand."""

import numpy as np
import torch

from papers.ners.samplers.batch import signals_of


def test_signals_by_hand():
    """And they do not change with what they came from."""
    y = torch.tensor([1.0, -2.0, 0.5])
    q = torch.tensor([[0.0, -4.0, 0.5], [4.0, -1.0, 0.5]], requires_grad=True)  # errors 1, 2, 0 and -3, -1, 0
    found = signals_of(y, q)
    with torch.no_grad():
        q.fill_(7.0)
        y.fill_(7.0)
    np.testing.assert_allclose(found.td, [2.0, 1.5, 0.0])
    np.testing.assert_allclose(found.td2, [5.0, 2.5, 0.0])  # of the squares, not the square of the mean
    np.testing.assert_allclose(found.y, [1.0, -2.0, 0.5])
    np.testing.assert_allclose(found.q, [2.0, -2.5, 0.5])
    assert all(isinstance(row, np.ndarray) and row.dtype == np.float32 for row in found)
