"""The circular track: its shape, that the goal's distance misleads on it, episodes, and pictures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.circular_track import BLACK, GOAL, LOCAL_OPTIMUM, SIZE, CircularTrack, circular_track_env, position

RNG = np.random.default_rng(0)
"""For functions that draw nothing."""
TASK = CircularTrack()
THE_GOAL = TASK.goals(1, RNG)[0]
LAP = np.linspace(0, 2 * math.pi, 4001)


def to_goal(phases):
    """Distance to the goal, float64 [n], from phases [n]."""
    return TASK.distance(position(np.asarray(phases, float)), np.array([0.0, 1.0]))


# ---- the track -------------------------------------------------------------------------------------------------------
def test_points_by_hand():
    s = math.sqrt(0.5)
    points = position(np.array([0.0, math.pi / 4, GOAL, math.pi, 5 * math.pi / 4, LOCAL_OPTIMUM, 7 * math.pi / 4]))
    lower = -s + 1.4 * 0.5
    np.testing.assert_allclose(
        points, [(1, 0), (s, s), (0, 1), (-1, 0), (-s, lower), (0, 0.4), (s, lower)], atol=1e-15
    )  # fmt: skip
    assert position(np.zeros((3, 4))).shape == (3, 4, 2)


@given(st.floats(-20, 20))
def test_it_is_closed_and_symmetric(phase):
    x, y = position(np.array(phase))
    np.testing.assert_allclose(position(np.array(phase + 2 * math.pi)), (x, y), atol=1e-12)
    np.testing.assert_allclose(position(np.array(math.pi - phase)), (-x, y), atol=1e-12)


def test_it_has_no_gaps_and_does_not_cross_itself():
    points = position(LAP[:-1])
    lengths = np.linalg.norm(np.diff(position(LAP), axis=0), axis=1)
    assert 0 < lengths.min() and lengths.max() < 2 * LAP[1]
    apart = np.linalg.norm(points[::20, None] - points[None, ::20], axis=-1)
    steps = np.abs(np.arange(200)[:, None] - np.arange(200))
    assert apart[np.minimum(steps, 200 - steps) > 20].min() > 0.2  # farther than a tenth of a lap along the track


def test_the_distance_has_one_local_optimum_and_it_is_where_agents_start():
    d = to_goal(LAP)
    least = [LAP[i] for i in range(1, 4000) if d[i] < d[i - 1] and d[i] < d[i + 1]]
    np.testing.assert_allclose(least, [GOAL, LOCAL_OPTIMUM], atol=1e-12)
    np.testing.assert_allclose(to_goal([GOAL, LOCAL_OPTIMUM]), [0.0, 0.6], atol=1e-15)
    assert (TASK.starts(3, RNG) == LOCAL_OPTIMUM).all()


@pytest.mark.parametrize("direction", [-1, 1])
def test_either_way_to_the_goal_first_leads_away_from_it(direction):
    """It is pi radians away, and as near as at the start only 2.5 radians later."""
    way = to_goal(LOCAL_OPTIMUM + direction * np.linspace(0, math.pi, 1000))
    assert (np.diff(way[:300]) > 0).all() and way.max() > 1.4 and way[-1] < 1e-12
    first = np.flatnonzero(way < way[0])[0] * math.pi / 999
    assert 2.4 < first < 2.6


# ---- the task --------------------------------------------------------------------------------------------------------
def test_steps_go_along_the_track_and_distances_across_it():
    states = np.array([[0.1], [LOCAL_OPTIMUM], [6.0]])
    after = TASK.step(states, np.array([[-0.5], [0.25], [1.0]], np.float32), RNG)
    np.testing.assert_allclose(after, [[-0.4], [LOCAL_OPTIMUM + 0.25], [7.0]])
    assert after.dtype == np.float64 and states.tolist() == [[0.1], [LOCAL_OPTIMUM], [6.0]]
    a, b = np.array([[3.0, 0.0], [0.0, 0.4]], np.float32), np.array([0.0, 4.0], np.float32)
    np.testing.assert_allclose(TASK.distance(a, b), [5.0, 3.6], rtol=1e-7)
    assert TASK.distance(a, b).dtype == np.float64 and TASK.distance(a[0], b).shape == ()


@given(st.floats(-10, 10))
def test_success_is_within_a_fifth(phase):
    met = TASK.success(TASK.achieved(np.array([[phase]])), THE_GOAL)[0]
    along = 2 * math.asin(0.1)  # the upper half is a circle
    away = abs((phase - GOAL + math.pi) % (2 * math.pi) - math.pi)
    if abs(away - along) > 1e-6:
        assert met == (away < along)


@given(st.floats(-10, 10))
def test_all_places_lie_within_the_bounds(phase):
    low, high, goal_low, goal_high = TASK.bounds()
    x = TASK.observe(np.array([[phase]]))[0]
    assert (low <= x).all() and (x <= high).all()
    assert np.array_equal(low, goal_low) and np.array_equal(high, goal_high)


# ---- gymnasium -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("direction", [-1, 1])
def test_the_goal_can_be_reached_in_three_steps_and_ends_the_episode(direction):
    env = circular_track_env()
    env.reset(seed=0)
    action = np.array([direction], np.float32)
    assert env.step(action)[1:4] == (0.0, False, False) and env.step(action)[1:4] == (0.0, False, False)
    seen, *outcome, info = env.step(action)
    assert outcome == [1.0, True, False] and info == {"is_success": True}
    np.testing.assert_allclose(env.state, [LOCAL_OPTIMUM + 3 * direction])
    np.testing.assert_allclose(seen["observation"], (direction * math.sin(3), -math.cos(3)), atol=1e-6)


def test_an_episode_has_five_steps():
    env = circular_track_env()
    env.reset(seed=0)
    ends = [env.step(np.zeros(1, np.float32))[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]


# ---- pictures --------------------------------------------------------------------------------------------------------
def at(picture, x, y):
    """Colour of a picture at a point of the plane."""
    return tuple(picture[round(SIZE * (1.7 - y) / 2.6), round(SIZE * (x + 1.3) / 2.6)].astype(int))


def test_picture_shows_the_track_the_goal_the_local_optimum_and_the_agent():
    picture = TASK.picture(np.array([0.3]), THE_GOAL)
    assert picture.shape == (SIZE, SIZE, 3) and picture.dtype == np.uint8
    assert picture.flags.c_contiguous
    assert at(picture, 0, 0.4) == BLACK
    assert at(picture, *position(np.array(0.3))) == (0, 114, 178)
    assert at(picture, 0, 1.2 - 0.015) == (0, 158, 115)  # the rim of the goal's surroundings
    for phase in (0.0, 0.8, 2.5, math.pi, 4.0, 5.5):
        assert at(picture, *position(np.array(phase))) == (200, 200, 200)
    assert at(picture, 0, -0.5) == at(picture, 0, 0.7) == (255, 255, 255)


def test_picture_shows_where_the_agent_went():
    pictures = [TASK.picture(np.array([phase]), THE_GOAL) for phase in (0.3, 0.3 + 2 * math.pi, 2.0)]
    assert np.array_equal(pictures[0], pictures[1]) and not np.array_equal(pictures[0], pictures[2])
