"""Instructional weights: every equation by hand, by a double loop and by quadrature."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.run.errors import UserError
from papers.bias_reduced_her.instructional import (
    Grid,
    Instruction,
    Proposal,
    UniformGoals,
    divergence,
    kernel,
    target_distribution,
)
from tests.papers.bias_reduced_her.test_hindsight import Everywhere

BOX = np.array([0.65, 0.2]), np.array([0.95, 0.5])  # where the goals of the throwing tasks lie


EVERYWHERE = Everywhere()


# --- the grid --------------------------------------------------------------------------------------------------------
def test_cells_and_their_centres():
    grid = Grid((2, 3), low=(0, 0), high=(1, 3))
    assert grid.centres.tolist() == [[0.25, 0.5], [0.25, 1.5], [0.25, 2.5], [0.75, 0.5], [0.75, 1.5], [0.75, 2.5]]
    assert grid.cell(grid.centres).tolist() == list(range(6))


def test_goals_on_edges_and_outside():
    """An edge belongs to the cell above or right of it, the last edges to the last cells."""
    grid = Grid((2, 4))
    goals = {(0, 0): 0, (0.5, 0): 4, (0.49, 0.25): 1, (0, 0.75): 3, (1, 1): 7, (1, 0): 4, (0, 1): 3}
    goals |= {(-0.3, -5): 0, (1.2, 0.3): 5, (0.2, 7): 3, (-1e-9, 0.5): 2}
    assert grid.cell(np.array(list(goals))).tolist() == list(goals.values())


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-2, 3), st.floats(-2, 3)), min_size=1), st.integers(1, 7), st.integers(1, 7))
def test_a_goal_counts_for_the_cell_nearest_to_it(goals, columns, rows):
    grid = Grid((columns, rows), low=(-1, 0), high=(1, 2))
    goals = np.array(goals)
    found = grid.cell(goals)
    assert found.dtype == np.int64 and found.min() >= 0 and found.max() < columns * rows
    size = [2 / columns, 2 / rows]
    away = np.maximum(abs(goals - grid.centres[found]) - np.array(size) / 2, 0)
    outside = np.maximum(np.maximum([-1, 0] - goals, goals - [1, 2]), 0)
    np.testing.assert_allclose(away, outside, atol=1e-12)


@pytest.mark.parametrize(("arguments", "message"), [
    (dict(shape=(0, 20)), "at least one cell in each direction, not 0 x 20"),
    (dict(shape=(20, -1)), "at least one cell in each direction, not 20 x -1"),
    (dict(low=(0, 0), high=(1, 0)), "a grid needs an area"),
    (dict(low=(2, 0), high=(1, 1)), "a grid needs an area"),
])  # fmt: skip
def test_an_empty_grid_is_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        Grid(**arguments)


# --- target distribution ---------------------------------------------------------------------------------------------
def test_the_kernel_by_hand():
    a, b = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]])
    expected = [[1, math.exp(-25 / 4), math.exp(-1 / 4)], [math.exp(-2 / 4), math.exp(-13 / 4), math.exp(-1 / 4)]]
    np.testing.assert_allclose(kernel(a, b, variance=2.0), expected, rtol=1e-15)


@pytest.mark.parametrize("sigma", [2.0, 0.2, 0.05])
def test_the_score_of_uniform_goals_is_the_integral_of_the_kernel(sigma):
    """Eq. (4), by the midpoint rule on a fine grid of the box; near, in and far from it."""
    (low, high), n = BOX, 400
    box = Grid((n, n), tuple(low), tuple(high)).centres
    goals = np.array([[0.8, 0.3], [0.65, 0.2], [0.1, 0.0], [0.9, 0.9]])
    integral = kernel(goals, box, sigma**2).mean(axis=1)
    score = UniformGoals(*BOX).score(goals, sigma)
    np.testing.assert_allclose(score / score[0], integral / integral[0], rtol=1e-4, atol=1e-12)


def test_the_target_distribution_is_the_normalised_score():
    class Slope:
        def score(self, goals, sigma):
            return sigma * (goals[:, 0] + 2 * goals[:, 1])

    target = target_distribution(Grid((2, 1)), Slope(), 0.3)
    np.testing.assert_allclose(target, [1.25 / 3, 1.75 / 3])


def test_the_density_of_a_box():
    points = np.array([[0.65, 0.2], [0.95, 0.5], [0.8, 0.3], [0.64, 0.3], [0.8, 0.51], [0.0, 0.0]])
    assert UniformGoals(*BOX).density(points).tolist() == [1, 1, 1, 0, 0, 0]


def test_a_kernel_that_reaches_no_goal_is_refused():
    with pytest.raises(UserError, match="no virtual goal is near the task's goals: choose a larger sigma"):
        target_distribution(Grid((2, 2)), UniformGoals(np.array([0.45, 0.45]), np.array([0.55, 0.55])), 1e-6)


# --- proposal distribution -------------------------------------------------------------------------------------------
def test_the_proposal_counts_goals():
    proposal = Proposal(Grid((2, 2)))
    assert proposal.q.tolist() == [0, 0, 0, 0]
    proposal.add(np.array([[0.1, 0.1], [0.2, 0.9], [0.3, 0.6]]))
    assert proposal.q.tolist() == [1 / 3, 2 / 3, 0, 0]
    proposal.add(np.array([[0.5, 0.5], [0.5, 0.0], [1.0, 1.0], [-1.0, 2.0], [7.0, 0.4]], np.float32))
    assert proposal.counts.tolist() == [1, 3, 2, 2]
    assert proposal.q.tolist() == [1 / 8, 3 / 8, 2 / 8, 2 / 8]
    assert proposal.smoothed.tolist() == [2 / 12, 4 / 12, 3 / 12, 3 / 12]
    proposal.add(np.empty((0, 2)))
    assert proposal.counts.sum() == 8


def test_divergence_by_hand():
    p, q = np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.125, 0.5, 0.25, 0.125])
    assert divergence(p, q) == pytest.approx(0.5 * math.log(4) + 0.25 * math.log(0.5))
    assert divergence(q, q) == 0


# --- weights ---------------------------------------------------------------------------------------------------------
def instruction(counts, floor=0.002, goals=EVERYWHERE, shape=(2, 2), **settings) -> Instruction:
    proposal = Proposal(Grid(shape))
    proposal.counts[:] = counts
    return Instruction(proposal, goals, floor=floor, **settings)


def test_weights_by_hand():
    """q* is 1/4 everywhere, by symmetry; q is 0.2, 0.5, 0.3 and 0."""
    one = instruction([2, 5, 3, 0])
    goals = one.proposal.grid.centres[[0, 1, 2, 3, 0]]
    np.testing.assert_allclose(one.weights(goals), [0.05, 0.002, 0.002, 0.25, 0.05])
    one = instruction([2, 5, 3, 0], floor=0.1)
    np.testing.assert_allclose(one.weights(goals), [0.1, 0.1, 0.1, 0.25, 0.1])


def test_sigma_squared_falls_from_2_to_a_fifth_and_the_target_follows():
    one = instruction(0, goals=UniformGoals(*BOX), shape=(20, 20))
    assert one.variance == 2.0
    for n in range(1, 31):
        one.anneal()
        assert one.variance == pytest.approx(max(2 * 0.9**n, 0.2))
        if n in (1, 10, 30):
            expected = target_distribution(one.proposal.grid, one.goals, one.variance)
            np.testing.assert_array_equal(one.target, expected)
    assert one.variance == 0.2  # from the 22nd decay on


def test_other_goals_have_another_target_and_the_same_kernel():
    one = instruction(0, goals=UniformGoals(*BOX), shape=(20, 20))
    one.anneal()
    one.set_goals(EVERYWHERE)
    assert one.variance == pytest.approx(1.8)
    np.testing.assert_allclose(one.target, 1 / 400)
    one.anneal()
    np.testing.assert_allclose(one.target, 1 / 400)


@pytest.mark.parametrize(("settings", "message"), [
    (dict(variance=0.0, variance_end=0.0), r"must be positive and fall: 0 < 0.0 <= 0.0"),
    (dict(variance_end=-0.1), r"must be positive and fall"),
    (dict(variance=0.1), r"must be positive and fall: 0 < 0.2 <= 0.1"),
    (dict(variance=float("nan")), r"must be positive and fall"),
    (dict(variance_decay=0.0), r"decay of sigma\^2 must lie in \(0, 1\], not 0.0"),
    (dict(variance_decay=1.1), r"decay of sigma\^2 must lie in \(0, 1\], not 1.1"),
    (dict(floor=0.0), "smallest weight must be positive, not 0.0"),
    (dict(floor=-1.0), "smallest weight must be positive, not -1.0"),
])  # fmt: skip
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(UserError, match=message):
        instruction(0, **settings)
