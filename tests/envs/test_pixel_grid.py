"""The pixel grid against its rules played on lists, and its goals against every drawing there can be."""

import collections
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from envs.pixel_grid import AGENT, OFF, ON, STEPS_PER_LINE, TOGGLE, WRONG, PixelGrid, pixel_grid_env

UP, LEFT, RIGHT, DOWN = 3, 1, 7, 5
UP_LEFT, DOWN_LEFT, UP_RIGHT, DOWN_RIGHT = 0, 2, 6, 8
RNG = np.random.default_rng(0)
"""For steps, which have no noise."""
ACTIONS = st.lists(st.integers(0, 8), min_size=15, max_size=15)
"""Of one rollout."""


def state(size, row, column, on=()):
    """One state: the location, and (row, column) of the pixels that are on."""
    bits = np.zeros((size, size), np.uint8)
    for at in on:
        bits[at] = 1
    return np.append(bits.ravel(), [row, column]).astype(np.uint8)


def take(task, one, *actions):
    """The state after these actions."""
    for action in actions:
        one = task.step(one[None], np.array([action]), RNG)[0]
    return one


def plain_step(bits, row, column, action):
    """The twin of `PixelGrid.step`: changes a list of lists in place, returns the new location."""
    if action == 4:
        bits[row][column] = 1 - bits[row][column]
        return row, column
    return (min(max(row + action % 3 - 1, 0), len(bits) - 1), min(max(column + action // 3 - 1, 0), len(bits) - 1))


def plain_legal(size, row, column):
    """The actions that a location allows."""
    return [
        action for action in range(9) if row + action % 3 - 1 in range(size) and column + action // 3 - 1 in range(size)
    ]


# ---- steps -----------------------------------------------------------------------------------------------------------
def test_the_moves_of_a_king():
    task, middle = PixelGrid(5), state(5, 2, 2)
    assert {a: tuple(take(task, middle, a)[-2:] - np.array([2, 2])) for a in range(9)} == {
        UP_LEFT: (-1, -1), UP: (-1, 0), UP_RIGHT: (-1, 1),
        LEFT: (0, -1), TOGGLE: (0, 0), RIGHT: (0, 1),
        DOWN_LEFT: (1, -1), DOWN: (1, 0), DOWN_RIGHT: (1, 1),
    }  # fmt: skip


def test_the_largest_grid_fits_its_states():
    task = PixelGrid(256)
    assert take(task, state(256, 254, 0), DOWN, DOWN)[-2:].tolist() == [255, 0]
    assert take(task, state(256, 255, 255), TOGGLE)[:-2].nonzero()[0].tolist() == [256 * 256 - 1]


@settings(deadline=None, max_examples=60)
@given(st.integers(5, 9), st.lists(ACTIONS, min_size=1, max_size=6), st.integers(0, 99))
def test_steps_are_those_of_the_plain_twin(size, actions, seed):
    """And leave the states alone that they are given."""
    task, rng = PixelGrid(size), np.random.default_rng(seed)
    actions = np.array(actions)
    states = task.starts(len(actions), rng)
    states[:, :-2] = rng.integers(2, size=(len(actions), size * size))
    twins: list[Any] = [(one[:-2].reshape(size, size).tolist(), *one[-2:].tolist()) for one in states]
    for column in actions.T:
        before = states.copy()
        after = task.step(states, column, rng)
        assert np.array_equal(states, before) and after.dtype == np.uint8
        states = after
        for i, action in enumerate(column):
            bits, *place = twins[i]
            twins[i] = (bits, *plain_step(bits, place[0], place[1], int(action)))
            assert np.array_equal(states[i, :-2].reshape(size, size), bits)
            assert states[i, -2:].tolist() == list(twins[i][1:])


@pytest.mark.parametrize("size", [5, 6, 13])
def test_legal_actions_of_every_location(size):
    task = PixelGrid(size)
    places = [(row, column) for row in range(size) for column in range(size)]
    legal = task.legal(np.stack([state(size, *place) for place in places]))
    assert [np.flatnonzero(row).tolist() for row in legal] == [plain_legal(size, *place) for place in places]
    assert legal.dtype == bool
    inside, edges = (size - 2) ** 2, 4 * (size - 2)
    assert collections.Counter(legal.sum(axis=1).tolist()) == {9: inside, 6: edges, 4: 4}


def test_a_mask_that_is_written_to_does_not_change_the_task():
    task, corner = PixelGrid(5), state(5, 0, 0)[None]
    task.legal(corner)[:] = True
    assert task.legal(corner).sum() == 4


# ---- observations and distances --------------------------------------------------------------------------------------
def test_observation_and_achieved_goal():
    task = PixelGrid(5)
    states = np.stack([state(5, 1, 3, on=[(0, 2), (4, 0)]), state(5, 4, 0)])
    seen, achieved = task.observe(states), task.achieved(states)
    assert seen.shape == (2, *task.observation_shape) == (2, 2, 5, 5) and seen.dtype == np.float32
    assert achieved.shape == (2, *task.goal_shape) == (2, 1, 5, 5) and achieved.dtype == np.float32
    assert np.argwhere(seen).tolist() == [[0, 0, 0, 2], [0, 0, 4, 0], [0, 1, 1, 3], [1, 1, 4, 0]]
    assert np.argwhere(achieved).tolist() == [[0, 0, 0, 2], [0, 0, 4, 0]]
    assert set(np.unique(seen)) == {0, 1}


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_distance_is_the_number_of_pixels_that_differ(seed):
    task, rng = PixelGrid(5), np.random.default_rng(seed)
    a, b = rng.integers(2, size=(2, 3, 4, 1, 5, 5)).astype(np.float32)
    b[0, 0] = a[0, 0]
    distance = task.distance(a, b)
    pairs = [[(a[i, j].ravel().tolist(), b[i, j].ravel().tolist()) for j in range(4)] for i in range(3)]
    expected = [[sum(x != y for x, y in zip(*pair)) for pair in row] for row in pairs]
    assert distance.tolist() == expected and distance.dtype == np.float64
    assert task.distance(a[1, 2], b).shape == (3, 4) and task.distance(a[1, 2], b)[1, 2] == distance[1, 2]
    assert np.array_equal(task.success(a, b), distance == 0) and task.success(a, b)[0, 0]
    assert np.array_equal(task.distance(a.astype(np.uint8), b.astype(np.uint8)), distance)


# ---- starts and goals ------------------------------------------------------------------------------------------------
def test_starts_are_empty_and_anywhere():
    task = PixelGrid(7)
    starts = task.starts(20_000, np.random.default_rng(0))
    assert starts.shape == (20_000, 51) and starts.dtype == np.uint8 and not starts[:, :-2].any()
    count = np.bincount(starts[:, -2].astype(int) * 7 + starts[:, -1], minlength=49)
    assert len(count) == 49 and chisquare(count).pvalue > 1e-3


def every_drawing(size, strokes, longest):
    """Probability of each set of pixels, not empty: {frozenset of (row, column): probability}, by trying all walks."""
    found: dict[frozenset, float] = collections.defaultdict(float)

    def walk(left, row, column, action, line, pixels, probability):
        if left == 0:
            found[pixels] += probability
            return
        if line == 0:
            moves = [a for a in plain_legal(size, row, column) if a != 4]
            choices = [
                (a, length, probability / len(moves) / longest) for a in moves for length in range(1, longest + 1)
            ]
        else:
            choices = [(action, line, probability)]
        for action, line, p in choices:
            row_after, column_after = plain_step([[0] * size] * size, row, column, action)
            after = pixels ^ {(row_after, column_after)}
            walk(left - 1, row_after, column_after, action, line - 1, after, p)

    for row in range(size):
        for column in range(size):
            walk(strokes, row, column, None, 0, frozenset(), 1 / size**2)
    assert sum(found.values()) == pytest.approx(1)
    empty = found.pop(frozenset(), 0.0)
    return {pixels: p / (1 - empty) for pixels, p in found.items()}, empty


@pytest.mark.parametrize(
    ("max_steps", "strokes", "per_line", "longest"), [(6, 1, 10, 1), (12, 2, 2, 5), (23, 3, 4, 4), (23, 3, 10, 1)]
)
def test_goals_are_drawn_with_the_probability_of_their_walks(max_steps, strokes, per_line, longest, monkeypatch):
    """As published, so short episodes turn after every stroke; with other constants, lines have any of the lengths."""
    if per_line != STEPS_PER_LINE:
        monkeypatch.setattr("envs.pixel_grid.STEPS_PER_LINE", per_line)
    expected, empty = every_drawing(5, strokes, longest)
    assert (empty > 0.02) == (strokes == 2)  # of these walks, some switch off what they switched on
    n = 40_000
    goals = PixelGrid(5, max_steps).goals(n, np.random.default_rng(strokes))
    drawn = collections.Counter(frozenset(map(tuple, np.argwhere(goal[0]).tolist())) for goal in goals)
    assert drawn.keys() <= expected.keys()
    common = [pixels for pixels, p in expected.items() if n * p >= 5]
    counts = [drawn[pixels] for pixels in common]
    likely = [n * expected[pixels] for pixels in common]
    if (others := n - sum(likely)) > 1:
        counts.append(n - sum(counts))
        likely.append(others)
    assert chisquare(counts, np.array(likely) * n / sum(likely)).pvalue > 1e-3


def test_goals_of_the_papers_grid():
    """8 strokes leave 2, 4, 6 or 8 pixels. (The goal that the paper draws has 9.)"""
    goals = PixelGrid().goals(20_000, np.random.default_rng(0))
    assert goals.shape == (20_000, 1, 13, 13) and goals.dtype == np.float32 and set(np.unique(goals)) == {0, 1}
    pixels = goals.sum(axis=(1, 2, 3))
    share = {k: float((pixels == k).mean()) for k in np.unique(pixels).tolist()}
    assert share == pytest.approx({2: 0.07, 4: 0.17, 6: 0.255, 8: 0.505}, abs=0.012)
    assert pixels.mean() == pytest.approx(6.4, abs=0.03)
    assert goals.mean(axis=(0, 1)).min() > 0  # anywhere, corners too


def test_every_goal_can_be_reached_by_going_to_the_nearest_wrong_pixel():
    task, rng = PixelGrid(), np.random.default_rng(0)
    states, goals = task.starts(1000, rng), task.goals(1000, rng)
    steps = np.zeros(1000, int)
    for _ in range(task.max_steps):
        wrong = task.achieved(states) != goals
        busy = wrong.any(axis=(1, 2, 3))
        steps += busy
        actions = np.full(1000, UP)  # moves no pixel
        for i in np.flatnonzero(busy):
            ways = np.argwhere(wrong[i, 0]) - states[i, -2:]
            row, column = np.sign(ways[np.abs(ways).max(axis=1).argmin()])
            actions[i] = row + 1 + 3 * (column + 1)
        assert task.legal(states)[busy, actions[busy]].all()
        states = task.step(states, actions, rng)
    assert task.success(task.achieved(states), goals).all()
    assert steps.mean() == pytest.approx(17.5, abs=0.5) and steps.max() <= 32


# ---- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("arguments", "words"), [
    (dict(size=4), "size, the side of the grid, must be 5 to 256, not 4"),
    (dict(size=257), "must be 5 to 256, not 257"),
    (dict(max_steps=5), "max_steps must be at least 6, not 5"),
])  # fmt: skip
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        pixel_grid_env(**arguments)


# ---- pictures --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [5, 13, 60])
def test_picture_shows_pixels_goal_and_location(size):
    task = PixelGrid(size)
    goal = np.zeros((1, size, size), np.float32)
    goal[0, 0, 1] = goal[0, 2, 0] = 1
    picture = task.picture(state(size, 3, 1, on=[(0, 1), (1, 2)]), goal)
    side = picture.shape[0] // size
    assert picture.shape == (size * side, (2 * size + 1) * side, 3) and picture.dtype == np.uint8
    assert 390 <= picture.shape[0] <= (400 if size <= 50 else 480)
    left, gap, right = np.split(picture, [size * side, (size + 1) * side], axis=1)
    assert (gap == 255).all()

    def places(board, colour, offset):
        """The cells that have this colour so many pixels from their upper left corner."""
        return np.argwhere((board[offset::side, offset::side] == colour).all(axis=2)).tolist()

    assert places(left, ON, side // 2) == [[0, 1], [1, 2]] and places(right, ON, side // 2) == [[0, 1], [2, 0]]
    assert places(left, AGENT, side // 2) == [[3, 1]] and places(right, AGENT, side // 2) == []
    assert len(places(left, OFF, side // 2)) == size**2 - 3 and len(places(right, OFF, side // 2)) == size**2 - 2
    for board in (left, right):
        assert places(board, WRONG, 1) == [[1, 2], [2, 0]]


def test_picture_shows_the_location_on_a_pixel_that_is_on():
    task = PixelGrid(5)
    there = state(5, 2, 2, on=[(2, 2)])
    dark = task.picture(there, task.achieved(there[None])[0])[160:240, 160:240]  # its cell
    assert (dark[40, 40] == AGENT).all() and (dark[12, 12] == ON).all()


def test_a_goal_between_off_and_on_is_rejected():
    env = gymnasium.make("envs:PixelGrid-v0", size=5, max_steps=12)
    env.reset(options={"goal": np.ones((1, 5, 5), np.float32)})
    with pytest.raises(ValueError, match="goal"):
        env.reset(options={"goal": np.full((1, 5, 5), 0.5, np.float32)})
