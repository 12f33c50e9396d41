"""Regions visited: by hand, against sets of plain Python, and at the borders of regions and episodes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from papers.sibling_rivalry.agents.grid_oracle import grid_oracle_reward, regions_visited


def visited(path: list[tuple[float, float]], side: float = 2.0, length: int | None = None, **settings) -> int:
    """Of one episode."""
    lengths = np.array([len(path) - 1 if length is None else length])
    return int(regions_visited(np.array([path], np.float32), lengths, side, **settings)[0])


def by_sets(positions: np.ndarray, lengths: np.ndarray, side: float, offset: float) -> list[int]:
    counts = []
    for path, length in zip(positions.tolist(), lengths.tolist()):
        seen = set()
        for x, y in path[1 : length + 1]:
            seen.add((math.floor((x + offset) / side), math.floor((y + offset) / side)))
        counts.append(len(seen))
    return counts


def test_a_border_belongs_to_the_region_above_it():
    """Numbers that float32 holds exactly; also below zero, where rounding towards zero would join two regions."""
    assert visited([(0, 0), (1.25, 0), (1.5, 0)]) == 2
    assert visited([(0, 0), (1.5, 0), (1.75, 0)]) == 1
    assert visited([(0, 0), (-0.75, 0), (-0.25, 0)]) == 2
    assert visited([(0, 0), (0, -2.5), (0, -0.75)]) == 1


@given(
    st.integers(1, 5), st.integers(1, 12), st.sampled_from([0.3, 1.0, 2.0, 7.5]), st.sampled_from([0.0, 0.5, -1.25]),
    st.data(),
)  # fmt: skip
def test_agrees_with_sets(n, steps, side, offset, data):
    places = st.floats(-20, 20, width=32)
    positions = data.draw(arrays.arrays(np.float32, (n, steps + 1, 2), elements=places))
    lengths = data.draw(arrays.arrays(np.int64, n, elements=st.integers(0, steps)))
    found = regions_visited(positions, lengths, side, offset)
    assert found.dtype == np.int64 and found.tolist() == by_sets(positions, lengths, side, offset)
    assert (found <= lengths).all()


def test_no_episodes():
    found = regions_visited(np.zeros((0, 3, 2)), np.zeros(0, np.int64), 1.0)
    assert found.shape == (0,) and found.dtype == np.int64


@pytest.mark.parametrize("shape", [(3, 4, 3), (3, 4, 1), (4, 2), (3, 4, 2, 2)])
def test_positions_must_be_of_a_plane(shape):
    with pytest.raises(ValueError, match=r"positions must be \[n, T \+ 1, 2\]"):
        regions_visited(np.zeros(shape), np.ones(shape[0], np.int64), 1.0)


@pytest.mark.parametrize("side", [0.0, -2.0, math.nan])
def test_side_must_be_positive(side):
    with pytest.raises(ValueError, match="side, of a region, must be positive"):
        regions_visited(np.zeros((1, 2, 2)), np.array([1]), side)


def test_reward():
    reached, counts = np.array([True, False, True, False]), np.array([7, 25, 0, 0])
    reward = grid_oracle_reward(reached, counts)
    assert reward.dtype == np.float64
    np.testing.assert_allclose(reward, [1.07, 0.25, 1.0, 0.0])
    np.testing.assert_allclose(grid_oracle_reward(reached, counts, weight=0.5), [4.5, 12.5, 1.0, 0.0])
