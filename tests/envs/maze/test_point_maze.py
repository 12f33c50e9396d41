"""The point mazes: their physics against cases by hand and a twin in exact fractions, their layouts against facts."""

import collections
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from envs.maze.physics import BACKOFF, NEAREST
from envs.maze.point_maze import (
    FREE,
    GOAL,
    GOAL_SQUARE,
    PICTURE,
    POINT,
    SOLID,
    START_SQUARE,
    WALL,
    PointMaze,
    corridor,
    point_maze,
    tree_maze,
    u_maze,
    u_maze_env,
)

PATH = [
    (0, 0), (1, 0), (2, 0), (2, 1), (3, 1), (4, 1), (5, 1), (5, 0), (6, 0), (6, 1), (7, 1), (7, 2), (6, 2), (6, 3),
    (7, 3), (7, 4), (7, 5), (7, 6), (7, 7), (7, 8), (8, 8), (8, 9), (9, 9),
]  # fmt: skip
"""From start to goal in the paper's maze."""
MAZES = {"paper": point_maze(), "u": u_maze(4), "corridor": corridor(3), "tree": tree_maze(6, 1)}


def maze(width, height, edges, start=(0, 0), goal=None, margin=0.1):
    """A maze from its passages ((x, y), (x, y))."""
    right, up = np.zeros((width - 1, height)), np.zeros((width, height - 1))
    for (x, y), (other_x, other_y) in edges:
        (right if y == other_y else up)[min(x, other_x), min(y, other_y)] = 1
    return PointMaze(right, up, start, goal or edges[-1][-1], margin)


HAIRPIN = maze(2, 2, [((0, 0), (1, 0)), ((1, 0), (1, 1)), ((1, 1), (0, 1))])
"""Four cells around one wall, from (-0.5, 0.5) to (0.5, 0.5)."""


def joined(task):
    """{cell: the cells it has passages to}, read off the walls that the maze draws."""
    walls = {frozenset(map(tuple, wall)) for wall in task.walls().tolist()}
    cells = set(map(tuple, task.cells.tolist()))
    found = {}
    for x, y in cells:
        corners = {(1, 0): ((0.5, -0.5), (0.5, 0.5)), (-1, 0): ((-0.5, -0.5), (-0.5, 0.5))}
        corners |= {(0, 1): ((-0.5, 0.5), (0.5, 0.5)), (0, -1): ((-0.5, -0.5), (0.5, -0.5))}
        found[x, y] = {
            (x + dx, y + dy)
            for (dx, dy), ends in corners.items()
            if frozenset((x + a, y + b) for a, b in ends) not in walls
        }
        assert found[x, y] <= cells  # no hole in the outer walls
    return found


def plain_cell(coordinate):
    """Index of the interval [i - 1/2, i + 1/2) that holds it, without rounding."""
    return math.floor(Fraction(coordinate) + Fraction(1, 2))


def plain_move(passages, position, displacement, backoff):
    """The twin of `PointMaze.move`, for one point: goes from line to line until its time is over, without rounding."""
    place, speed, time = [Fraction(v) for v in position], [Fraction(v) for v in displacement], Fraction(1)
    cell = [plain_cell(v) for v in position]
    while True:
        met = []
        for axis in (0, 1):
            sign = (speed[axis] > 0) - (speed[axis] < 0)
            line = cell[axis] + Fraction(sign, 2)
            until = (line - place[axis]) / speed[axis] if sign else Fraction(9)
            if until < time or (until == time and sign > 0):  # a line belongs to the cell to its right, or above it
                met.append((until, axis, sign, line))
        if not met:
            return tuple(float(at + time * v) for at, v in zip(place, speed))
        until, axis, sign, line = min(met)
        place = [at + until * v for at, v in zip(place, speed)]
        time -= until
        beyond = (cell[0] + sign, cell[1]) if axis == 0 else (cell[0], cell[1] + sign)
        if beyond in passages[tuple(cell)]:
            cell = list(beyond)
        else:
            place[axis] = line - sign * Fraction(max(BACKOFF * backoff[axis], NEAREST))
            speed[axis] = Fraction(0)


# ---- gymnasium -------------------------------------------------------------------------------------------------------
def test_success_is_a_distance_of_at_most_the_tolerance():
    task = point_maze()
    goal = np.float32([3, 4])
    achieved = np.float32([[3, 4.1499], [3, 4.1501], [3.1, 4.1], [3.11, 3.89], [6, 8]])
    assert task.distance(achieved, goal) == pytest.approx([0.1499, 0.1501, 0.02**0.5, 0.0242**0.5, 5], abs=1e-6)
    assert task.distance(achieved, goal).dtype == np.float64
    assert task.distance(achieved[:, None], achieved).shape == (5, 5)
    assert task.success(achieved, goal).tolist() == [True, False, True, False, False]


# ---- steps -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("position", "displacement", "expected"), [
    ((0.25, 0.125), (0.5, 0.25), (0.75, 0.375)),  # through the passage
    ((0, 0), (0, 0.8), (0, 0.498)),  # straight into the wall
    ((0, 1), (0, -0.8), (0, 0.502)),  # and from above
    ((0, 0), (-0.7, 0), (-0.497, 0)),
    ((1, 0), (0.7, 0), (1.497, 0)),
    ((0.1, 0.3), (0.2, 0.4), (0.3, 0.498)),  # glancing off: nothing along the wall is lost
    ((0.1, 0.3), (-0.2, 0.4), (-0.1, 0.498)),
    ((1.2, -0.3), (0.9, -0.9), (1.497, -0.498)),  # along the floor, then into the right wall
    ((1.3, -0.2), (0.9, -0.9), (1.497, -0.498)),  # along the right wall, then down to the floor
    ((0, -0.2), (0.95, 0.95), (0.95, 0.75)),  # right, then up: around the wall's end
    ((-0.2, 0), (0.95, 0.95), (0.75, 0.498)),  # up is met first
    ((0.2, 0.4), (0.9, 0.2), (1.1, 0.6)),
    ((-0.2, 0.4), (0.9, 0.2), (0.7, 0.498)),  # once it is stopped, a way that opens up changes nothing
    ((0.8, 0.9), (-0.8, -0.9), (0, 0.502)),  # left, then into the wall below
    ((0.9, 0.8), (-0.9, -0.8), (0, 0)),  # down, then left
    ((0, 0), (0.9, 0.9), (0.9, 0.9)),  # through the wall's very end: x comes first,
    ((1, 0), (-0.9, 0.9), (0.1, 0.498)),  # here into a cell that is closed above
    ((0, 0.25), (0, 0.25), (0, 0.498)),  # a wall that is only touched throws back, too
    ((-0.5, 0), (-0.3, 0.1), (-0.497, 0.1)),  # on a wall
    ((0.3, -0.4), (0, 0), (0.3, -0.4)),
    ((0, 0), (3, 0), (1.497, 0)),  # longer ways than actions go
])  # fmt: skip
def test_steps_by_hand(position, displacement, expected):
    """In HAIRPIN, with walls that throw back by 0.003 along x and 0.002 along y."""
    after = HAIRPIN.move(np.array([position]), np.array([displacement]), np.array([[0.3, 0.2]]))
    assert after[0] == pytest.approx(expected, abs=1e-12)
    passages = joined(HAIRPIN)
    assert after[0] == pytest.approx(plain_move(passages, position, displacement, (0.3, 0.2)), abs=1e-12)


def test_walls_throw_back_by_at_most_a_hundredth_and_at_least_a_little():
    for position, sign in ((0.0, 1), (1.0, -1)):
        ends = [
            HAIRPIN.move(np.array([[0.0, position]]), np.array([[0.0, 0.9 * sign]]), np.array([[0.0, b]]))[0, 1]
            for b in (0, 1e-9, 0.5, 1)
        ]
        assert sign * (0.5 - np.array(ends)) == pytest.approx([1e-9, 1e-9, 0.005, 0.01], abs=1e-12)


def test_a_coordinate_just_below_a_line_is_not_beyond_it():
    """0.5 - 2^-54 + 0.5 is 1 in floating point: rounding must not lift the point into the cell above."""
    below = np.nextafter(0.5, 0)
    after = HAIRPIN.move(np.array([[0.0, below], [0, below]]), np.array([[0.0, 0.9], [0, -0.1]]), np.full((2, 2), 0.5))
    assert after.tolist() == [[0, 0.495], [0, below - 0.1]]


PASSAGES = {name: joined(task) for name, task in MAZES.items()}
SIXTY_FOURTHS = st.integers(-32, 31).map(lambda k: k / 64)
WAY = st.integers(-160, 160).map(lambda k: k / 64)


@settings(deadline=None, max_examples=200)
@example("tree", 21, (0.0, 0.0), (2.5, 2.5), (0.0, 0.0))
@given(
    st.sampled_from(sorted(MAZES)), st.integers(0, 99), st.tuples(SIXTY_FOURTHS, SIXTY_FOURTHS), st.tuples(WAY, WAY),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
)  # fmt: skip
def test_moves_are_those_of_the_plain_twin(name, i, shift, way, backoff):
    """On a grid where sums are exact and corners are often met exactly."""
    task = MAZES[name]
    position = task.cells[i % len(task.cells)] + shift
    after = task.move(position[None], np.array([way]), np.array([backoff]))[0]
    assert after == pytest.approx(plain_move(PASSAGES[name], position.tolist(), way, backoff), abs=1e-12)


NUMBER = st.one_of(
    st.floats(-1, 1), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.5, -0.5, 0.95])
)


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(["paper", "u", "tree"]), st.integers(0, 99),
    st.tuples(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5)),
    st.lists(st.tuples(NUMBER, NUMBER, st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8),
)  # fmt: skip
@example("paper", 0, (0.0, float(np.nextafter(0.5, 0))), [(0.0, 5e-324, 0.0, 0.0), (0.0, 0.95, 0.0, 0.0)] * 4)
def test_no_point_leaves_the_maze_or_passes_a_wall(name, i, shift, walk):
    """Between the cells before and after lie as many passages as lines: the point has found them all."""
    task = MAZES[name]
    position = task.cells[i % len(task.cells)] + shift
    cell = tuple(map(plain_cell, position.tolist()))
    assume(cell in PASSAGES[name] and max(abs(position - task.cells[i % len(task.cells)])) <= 0.5)
    for *way, back_x, back_y in walk:
        position = task.move(position[None], np.array([way]), np.array([[back_x, back_y]]))[0]
        after = tuple(map(plain_cell, position.tolist()))
        assert after in PASSAGES[name]
        assert len(task.path(cell, after)) - 1 == abs(after[0] - cell[0]) + abs(after[1] - cell[1])
        cell = after


def test_actions_are_clipped_to_their_range():
    task, start = corridor(3), np.zeros((1, 2))
    for action, x in ((0.95, 0.95), (5.0, 0.95), (np.inf, 0.95), (0.5, 0.5)):
        assert task.step(start, np.array([[action, 0]]), np.random.default_rng(0))[0] == pytest.approx([x, 0])


def test_only_walls_are_random():
    task, rng = corridor(3), np.random.default_rng(0)
    start, ahead, aside = np.ones((1000, 2)) * (1, 0), np.ones((1000, 2)) * (0.7, 0), np.ones((1000, 2)) * (0.7, 0.7)
    assert (task.step(start, ahead, rng) == [1.7, 0]).all()
    x, y = task.step(start, aside, rng).T
    assert (x == 1.7).all() and 0.49 <= y.min() < 0.4901 and 0.4999 < y.max() < 0.5
    assert chisquare(np.histogram(y, 10, (0.49, 0.5))[0]).pvalue > 1e-3
    x, y = task.step(np.zeros((1000, 2)), -aside, rng).T
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.1  # two walls throw back independently
    first, second, other = (task.step(start, aside, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, second) and not np.array_equal(first, other)


# ---- layouts ---------------------------------------------------------------------------------------------------------
def test_the_papers_maze():
    task = point_maze()
    assert len(task.cells) == 100 and task.passages == 99  # connected, or it could not be made: a tree
    assert task.path((0, 0), (9, 9)) == PATH and task.path((9, 9), (0, 0)) == PATH[::-1]
    assert (task.start_cell, task.goal_cell, task.goal_margin) == ((0, 0), (9, 9), 0.175)
    assert task.extent == (-0.5, 9.5, -0.5, 9.5) and (task.max_steps, task.tolerance) == (50, 0.15)


def test_the_papers_maze_has_its_dead_ends_beside_the_goal():
    """The nearest, next to the goal's own neighbour, ends the top corridor: a walk of 16, wrong from the start."""
    task = point_maze()
    ends = {cell for cell, others in joined(task).items() if len(others) == 1}
    near = sorted((round(math.dist(cell, (9, 9)), 1), cell) for cell in ends)
    assert near[:5] == [(1.0, (9, 8)), (2.0, (7, 9)), (2.0, (9, 7)), (3.0, (9, 6)), (3.2, (6, 8))]
    trap = task.path((0, 0), (7, 9))
    assert len(trap) == 17 and set(trap) & set(PATH) == {(0, 0)}


def test_corridor_and_u():
    task = corridor(4)
    assert task.path((0, 0), (4, 0)) == [(x, 0) for x in range(5)] and task.passages == 4
    assert (task.goal_cell, task.goal_margin, task.extent) == ((4, 0), 0.1, (-0.5, 4.5, -0.5, 0.5))
    task = u_maze(2)
    assert task.path((0, 0), (0, 2)) == [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2)]
    assert len(task.cells) == 7 and task.passages == 6
    assert (task.goal_cell, task.goal_margin, task.extent) == ((0, 2), 0.1, (-0.5, 2.5, -0.5, 2.5))


@pytest.mark.parametrize(("length", "share"), [(4, 0.82), (10, 0.91), (20, 0.95)])
def test_most_of_a_u_is_farther_from_the_goal_than_the_point_under_the_wall(length, share):
    way = u_maze(length).path((0, 0), (0, 2))
    assert len(way) == 2 * length + 3
    farther = [math.dist(cell, (0, 2)) > math.dist((0, 0.5), (0, 2)) for cell in way]
    assert np.mean(farther) == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize("task", [point_maze(), corridor(20), u_maze(20), corridor(1), u_maze(1)])
def test_every_goal_can_be_reached_in_time_from_cell_to_cell(task):
    rng = np.random.default_rng(0)
    states, goals = task.starts(50, rng), task.goals(50, rng)
    way = task.path(task.start_cell, task.goal_cell)
    following = dict(itertools.pairwise(way))
    done = np.zeros(50, bool)
    for _ in range(task.max_steps):
        cells = map(tuple, np.rint(states).astype(int).tolist())
        aims = np.array([following.get(cell, goal) for cell, goal in zip(cells, goals)])
        states = np.where(done[:, None], states, task.step(states, aims - states, rng))
        done |= task.success(task.achieved(states), goals)
    assert done.all()


def test_tree_mazes_are_spanning_trees():
    seen = set()
    for seed in range(60):
        size = 2 + seed % 8
        task = tree_maze(size, seed)
        assert len(task.cells) == size * size and task.passages == size * size - 1
        assert (task.start_cell, task.goal_cell, task.goal_margin) == ((0, 0), (size - 1, size - 1), 0.175)
        if size == 9:
            seen.add(task.walls().tobytes())
            assert np.array_equal(task.walls(), tree_maze(size, seed).walls())
    assert len(seen) == 7


def test_tree_mazes_grow_with_the_probability_of_their_steps():
    """2 x 2 cells. In two of six orders, the far cell comes between the other two, and the last one has two neighbours.

    Then each of them is taken half of the time; else the far cell is the last to join, one or the other.
    """
    missing = collections.Counter()
    for seed in range(1200):
        passages = joined(tree_maze(2, seed))
        edges = [((0, 0), (1, 0)), ((0, 0), (0, 1)), ((1, 0), (1, 1)), ((0, 1), (1, 1))]
        missing[next(i for i, (a, b) in enumerate(edges) if b not in passages[a])] += 1
    assert chisquare([missing[i] for i in range(4)], [100, 100, 500, 500]).pvalue > 1e-3


def test_the_shortest_way_where_there_are_two():
    ring = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1), (0, 0)]
    task = maze(3, 3, list(itertools.pairwise(ring)), goal=(2, 2))
    assert task.path((1, 0), (0, 2)) == [(1, 0), (0, 0), (0, 1), (0, 2)]
    assert task.path((1, 0), (2, 2)) == [(1, 0), (2, 0), (2, 1), (2, 2)]
    assert task.path((2, 1), (2, 1)) == [(2, 1)] and task.passages == 8


def test_walls_of_a_maze_by_hand():
    walls = {frozenset(map(tuple, wall)) for wall in maze(2, 2, [((0, 0), (1, 0)), ((1, 0), (1, 1))]).walls().tolist()}
    ends = [
        ((-0.5, -0.5), (0.5, -0.5)), ((0.5, -0.5), (1.5, -0.5)), ((1.5, -0.5), (1.5, 0.5)), ((1.5, 0.5), (1.5, 1.5)),
        ((1.5, 1.5), (0.5, 1.5)), ((0.5, 1.5), (0.5, 0.5)), ((0.5, 0.5), (-0.5, 0.5)), ((-0.5, 0.5), (-0.5, -0.5)),
    ]  # fmt: skip
    assert walls == set(map(frozenset, ends))  # none around the solid cell
    assert point_maze().walls().shape == (2 * 10 * 11 - 99, 2, 2)


# ---- starts and goals ------------------------------------------------------------------------------------------------
def test_starts_keep_off_walls_only():
    """The start cell has walls to the left and below. Its upper right corner is the end of two walls."""
    task = point_maze()
    starts = task.starts(40_000, np.random.default_rng(0))
    assert starts.shape == (40_000, 2) and starts.dtype == np.float64
    assert -0.45 <= starts.min() < -0.449 and 0.499 < starts.max() < 0.5
    assert not (starts > 0.45).all(axis=1).any()
    count = np.histogram2d(*starts.T, bins=19, range=[(-0.45, 0.5)] * 2)[0].ravel()
    assert count[-1] == 0 and chisquare(count[:-1]).pvalue > 1e-3


def test_goals_keep_off_walls_only():
    """Walls to the right and above. Left and below are passages, but the cell below has a wall to the left."""
    task = point_maze()
    goals = task.goals(40_000, np.random.default_rng(0))
    assert goals.shape == (40_000, 2) and goals.dtype == np.float32
    assert 8.5 <= goals.min() < 8.501 and 9.324 < goals.max() <= 9.325
    corner = goals[(goals < 8.675).all(axis=1)]
    assert (corner[:, 0] <= corner[:, 1]).all()  # from the others, the wall between the cells below is met
    assert len(corner) / len(goals) == pytest.approx((0.175**2 / 2) / (0.825**2 - 0.175**2 / 2), rel=0.1)
    count = np.histogram2d(*goals.T, bins=10, range=[(8.675, 9.325)] * 2)[0].ravel()
    assert chisquare(count).pvalue > 1e-3


@pytest.mark.parametrize(
    ("task", "low", "high"), [(corridor(4), (3.5, -0.4), (4.4, 0.4)), (u_maze(3), (-0.4, 1.6), (0.5, 2.4))]
)
def test_goals_of_corridor_and_u(task, low, high):
    goals = task.goals(4000, np.random.default_rng(0))
    assert goals.min(axis=0) == pytest.approx(low, abs=5e-3) and goals.max(axis=0) == pytest.approx(high, abs=5e-3)


# ---- errors ----------------------------------------------------------------------------------------------------------
RIGHT, UP = np.ones((2, 2)), np.zeros((3, 1))


@pytest.mark.parametrize(("arguments", "words"), [
    ((RIGHT, UP, (0, 0), (2, 0), 0.1), r"not connected: no way leads from \(0, 0\) to \(0, 1\)"),
    ((RIGHT[:, :1], UP[:, :0], (3, 0), (2, 0), 0.1), r"the start cell \(3, 0\) lies outside"),
    ((RIGHT[:, :1], UP[:, :0], (0, 0), (2, -1), 0.1), r"the goal cell \(2, -1\) lies outside"),
    ((np.array([[1, 0]]), np.array([[1], [0]]), (0, 0), (1, 1), 0.1), r"the goal cell \(1, 1\) lies outside"),
    ((RIGHT[:, :1], UP[:, :0], (0, 0), (2, 0), 0.5), r"goal_margin must lie in \[0, 0.5\), not 0.5"),
    ((RIGHT[:, :1], UP[:, :0], (0, 0), (2, 0), -0.1), r"goal_margin must lie in"),
    ((RIGHT[:, :1], UP[:, :0], (0, 0), (2, 0), float("nan")), r"goal_margin must lie in"),
    ((RIGHT, UP.T, (0, 0), (2, 0), 0.1), r"\[width, height - 1\], not \(2, 2\) and \(1, 3\)"),
    ((RIGHT[0], UP, (0, 0), (2, 0), 0.1), r"not \(2,\) and \(3, 1\)"),
    ((np.ones((1000, 1)), np.ones((1001, 0)), (0, 0), (2, 0), 0.1), "at most 1000 cells along a side, not 1001"),
])  # fmt: skip
def test_what_makes_no_maze(arguments, words):
    with pytest.raises(ValueError, match=words):
        PointMaze(*arguments)


@pytest.mark.parametrize(("maker", "arguments", "words"), [
    (corridor, (0,), "length must be 1 to 999, not 0"),
    (u_maze, (-1,), "length must be 1 to 999, not -1"),
    (u_maze, (1000,), "length must be 1 to 999, not 1000"),
    (tree_maze, (1, 0), "size must be 2 to 999, not 1"),
    (tree_maze, (3, -1), "non-negative"),
    (u_maze(3).path, ((0, 0), (1, 1)), r"the cell \(1, 1\) lies outside"),  # solid
    *((point_maze().move, [np.zeros(shape) for shape in shapes], r"must be \[n, 2\], not") for shapes in [
        ((3, 2), (2, 2), (3, 2)), ((3, 2), (3, 2), (3, 4)), ((2,), (2,), (2,)), ((3, 3),) * 3,
    ]),
])  # fmt: skip
def test_bad_arguments(maker, arguments, words):
    with pytest.raises(ValueError, match=words):
        maker(*arguments)


@pytest.mark.parametrize(("task", "position", "displacement", "backoff"), [
    *((point_maze(), position, (0, 0), (0, 0)) for position in [(9.5, 0), (0, 9.5), (1e300, 0), (np.nan, 0)]),
    (point_maze(), (0, np.nextafter(-0.5, -1)), (0, 0), (0, 0)),
    (point_maze(), (0, 0), (0, np.nan), (0, 0)),
    (point_maze(), (0, 0), (-np.inf, 0), (0, 0)),
    (point_maze(), (0, 0), (0, 0), (1.1, 0)),
    (point_maze(), (0, 0), (0, 0), (0, -0.1)),
    *((corridor(3), position, (0, 0), (0, 0)) for position in [(0, 1), (0, -1), (4, 0), (-1, 0)]),
    (u_maze(3), (1, 1), (0, 0), (0, 0)),  # solid
])  # fmt: skip
def test_impossible_moves(task, position, displacement, backoff):
    arrays = (np.array([(0.0, 0.0), one]) for one in (position, displacement, backoff))
    with pytest.raises(ValueError, match="cannot step from"):
        task.move(*arrays)


def test_goals_of_a_u_lie_in_its_cells():
    """Not between its arms."""
    env = u_maze_env(3)
    for goal in ((1, 1), (0.51, 1.2), (2, 1.49)):
        with pytest.raises(ValueError, match="no state meets the goal"):
            env.reset(options={"goal": goal})
    for goal in ((3, 1), (3.5, 2.5), (-0.5, 0.5), (1, 1.5)):
        assert env.reset(options={"goal": goal})[0]["desired_goal"] == pytest.approx(goal)


# ---- pictures --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("task", "shape"), [(u_maze(4), (3.4, 5.4)), (u_maze(1), (3.4, 2.4)), (corridor(9), (1.4, 10.4))]
)
def test_picture_shows_the_maze_the_point_and_the_goal(task, shape):
    end = np.array(task.goal_cell)
    picture = task.picture(np.array([0.75, 0.1]), np.float32(end + (0.1, 0.1)))
    scale = PICTURE / max(shape)
    assert picture.shape == (round(shape[0] * scale), round(shape[1] * scale), 3) and picture.dtype == np.uint8

    def colour(x, y):
        return tuple(picture[int((task.height - 0.3 - y) * scale), int((x + 0.7) * scale)].tolist())

    assert colour(0.75, 0.1) == POINT
    assert colour(0, 0.1) == START_SQUARE and colour(*(end + 0.1)) == GOAL_SQUARE
    assert colour(*(end + (0.1 - 0.13, 0.1))) == colour(*(end + (0.1, 0.1 + 0.13))) == GOAL  # the circle
    assert colour(1, -0.3) == FREE
    assert colour(-0.5, 0) == colour(0, -0.5) == colour(0, 0.5) == WALL
    assert colour(-0.65, 0) == SOLID
    if task.height == 3:
        assert colour(0, 1) == SOLID and colour(task.width - 1, 1) == FREE


def test_every_wall_is_drawn_and_no_passage():
    task = tree_maze(6, 3)
    picture = task.picture(np.array([0.0, 0.0]), np.float32([5, 5]))
    passages, scale = joined(task), 480 / 6.4
    for x, y in passages:
        for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            middle = picture[int((5.7 - y - 0.5 * dy) * scale), int((x + 0.5 * dx + 0.7) * scale)]
            assert (tuple(middle.tolist()) == WALL) == ((x + dx, y + dy) not in passages[x, y])
