"""What an update says of its transitions, by hand."""

import numpy as np
import torch

from papers.ners.samplers.batch import signals_of


def test_signals_by_hand():
    y = torch.tensor([1.0, -2.0, 0.5])
    q = torch.tensor([[0.0, -4.0, 0.5], [4.0, -1.0, 0.5]])  # errors 1, 2, 0 and -3, -1, 0
    found = signals_of(y, q)
    np.testing.assert_allclose(found.td, [2.0, 1.5, 0.0])
    np.testing.assert_allclose(found.td2, [5.0, 2.5, 0.0])  # of the squares, not the square of the mean
    np.testing.assert_allclose(found.y, [1.0, -2.0, 0.5])
    np.testing.assert_allclose(found.q, [2.0, -2.5, 0.5])
    assert all(isinstance(row, np.ndarray) and row.dtype == np.float32 for row in found)


def test_signals_do_not_need_gradients_and_do_not_change_with_what_they_came_from():
    y, q = torch.zeros(2), torch.ones(2, 2, requires_grad=True)
    found = signals_of(y, q)
    with torch.no_grad():
        q.fill_(7.0)
        y.fill_(7.0)
    np.testing.assert_array_equal(found.td, [1.0, 1.0])
    np.testing.assert_array_equal(found.y, [0.0, 0.0])
