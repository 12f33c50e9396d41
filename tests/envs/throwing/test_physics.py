"""The kernels against a plain twin, and against what physics says."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from envs.throwing import physics as physics
from envs.throwing.physics import (
    BASE,
    DT,
    GRAVITY,
    GRIP,
    JOINT_SPEED,
    LINK,
    NO_WALL,
    WALL,
    WORKSPACE,
    fly,
    forward_kinematics,
    hand_step,
    inverse_kinematics,
    robot_step,
)
from tests.envs import plain_throwing

OPEN, CLOSED = -1.0, 1.0
places, speeds = st.floats(0, 1), st.floats(-4, 4)
times, angles = st.floats(0, 2), st.floats(-math.pi, math.pi)
walls = st.sampled_from([NO_WALL, WALL])


def hand_state(hand=(0.2, 0.2), ball=(0.3, 0.0), velocity=(0.0, 0.0), ball_velocity=(0.0, 0.0), closed=0.0):
    return np.array([*hand, *velocity, closed, *ball, *ball_velocity], float)


def robot_state(angle_1, angle_2, ball=(0.5, 0.0), ball_velocity=(0.0, 0.0)):
    effector = forward_kinematics(angle_1, angle_2, 0.0, 0.0)[:2]
    return np.array([angle_1, angle_2, *effector, 0, 0, 0, 0, 0, *ball, *ball_velocity], float)


def play(state, *actions, wall=NO_WALL):
    """State of the hand after the actions."""
    for action in actions:
        hand_step(state, np.array(action, float), *wall)
    return state


# --- against the twin -------------------------------------------------------------------------------------------------
def throw_somewhere(rng, state, gripper, ball):
    """Put the ball anywhere, or so near to the gripper that it may be gripped; let it fly, fall or lie."""
    kind = rng.integers(4)
    if kind == 0:
        state[ball : ball + 2] = state[gripper : gripper + 2] + rng.uniform(-GRIP, GRIP, 2)
        state[ball : ball + 2] = state[ball : ball + 2].clip(0, 1)
    else:
        state[ball : ball + 2] = rng.random(2) * [1, kind > 1]
    state[ball + 2 : ball + 4] = rng.uniform(-4, 4, 2) * (kind > 1)


@pytest.mark.parametrize("wall", [None, WALL])
def test_the_hand_moves_like_its_twin(wall):
    rng = np.random.default_rng(0)
    state = hand_state()
    carried = 0
    for step in range(3000):
        if step % 4 == 0:
            throw_somewhere(rng, state, 0, 5)
        action = rng.uniform(-1.3, 1.3, 3)
        expected = plain_throwing.hand_step(state.tolist(), action.tolist(), wall)
        hand_step(state, action, *(wall or NO_WALL))
        np.testing.assert_allclose(state, expected, atol=1e-8, err_msg=str(step))
        carried += state[4] == 1 and np.array_equal(state[0:4], state[5:9])
    assert 50 < carried < 1500


def test_the_robot_moves_like_its_twin():
    rng = np.random.default_rng(1)
    state = robot_state(0.3, 0.2)
    carried = 0
    for step in range(3000):
        if step % 4 == 0:
            throw_somewhere(rng, state, 2, 9)
        action = rng.uniform(-1.3, 1.3, 3)
        expected = plain_throwing.robot_step(state.tolist(), action.tolist())
        robot_step(state, action)
        np.testing.assert_allclose(state, expected, atol=1e-8, err_msg=str(step))
        carried += state[8] == 1 and np.array_equal(state[[2, 3, 6, 7]], state[9:13])
    assert 50 < carried < 1500


def test_the_twin_has_the_same_numbers():
    for name in ("DT", "GRAVITY", "GRIP", "HAND_SPEED", "JOINT_SPEED", "LINK"):
        assert getattr(physics, name) == getattr(plain_throwing, name)
    assert complex(*BASE) == plain_throwing.SHOULDER


# --- flight -----------------------------------------------------------------------------------------------------------
@given(x=places, y=places, vx=speeds, vy=speeds, first=times, second=times, wall=walls)
@settings(max_examples=300, deadline=None)
def test_two_flights_in_a_row_are_one(x, y, vx, vy, first, second, wall):
    halfway = fly(x, y, vx, vy, first, *wall)
    one, two = fly(x, y, vx, vy, first + second, *wall), fly(*halfway, second, *wall)
    # At the instant of a contact, or at the very top of the wall, rounding decides what happens.
    for moment in (first, first + second):
        before, after = (fly(x, y, vx, vy, max(moment + d, 0.0), *wall) for d in (-1e-7, 1e-7))
        assume(np.allclose(before, after, atol=1e-5))
    if vx and (until := (WALL[0] - x) / vx) > 0:
        assume(abs(y + vy * until - GRAVITY * until * until / 2 - WALL[1]) > 1e-6)
    np.testing.assert_allclose(one, two, atol=1e-6)


@given(vx=st.floats(-1, 1), vy=st.floats(-0.5, 1), dt=st.floats(0, 0.2))
@settings(deadline=None)
def test_a_free_ball_follows_its_parabola_and_keeps_its_energy(vx, vy, dt):
    x, y = 0.6, 0.4
    after = fly(x, y, vx, vy, dt, *NO_WALL)
    np.testing.assert_allclose(after, [x + vx * dt, y + vy * dt - dt**2, vx, vy - 2 * dt], atol=1e-12)  # gravity is 2
    energy = [0.5 * (ball[2] ** 2 + ball[3] ** 2) + 2 * ball[1] for ball in ((x, y, vx, vy), after)]
    assert energy[0] == pytest.approx(energy[1], abs=1e-12)


@given(x=places, y=places, vx=speeds, vy=speeds, dt=times, wall=walls)
@settings(max_examples=300, deadline=None)
def test_a_ball_stays_in_the_square_and_gains_no_energy(x, y, vx, vy, dt, wall):
    x_after, y_after, vx_after, vy_after = fly(x, y, vx, vy, dt, *wall)
    assert -1e-12 <= x_after <= 1 + 1e-12 and -1e-12 <= y_after <= 1 + 1e-12
    assert 0.5 * (vx_after**2 + vy_after**2) + 2 * y_after <= 0.5 * (vx**2 + vy**2) + 2 * y + 1e-9


def test_a_ball_rests_where_it_lands():
    # down from 0.25 with 0.5 m/s upwards: 0.25 + 0.5 t - t^2 = 0
    landing = (0.5 + math.sqrt(0.25 + 1)) / 2
    x = 0.1 + 0.6 * landing
    assert fly(0.1, 0.25, 0.6, 0.5, landing - 1e-6, *NO_WALL)[1] > 0
    for later in (1e-9, 0.1, 5.0):
        landed = fly(0.1, 0.25, 0.6, 0.5, landing + later, *NO_WALL)
        assert landed == (pytest.approx(x), 0, 0, 0)
        assert fly(*landed, 1.0, *NO_WALL) == landed
    assert fly(0.3, 0.0, 1.0, 0.0, DT, *NO_WALL) == (0.3, 0, 0, 0)  # it does not roll
    assert fly(0.3, 0.0, 1.0, 0.5, 0.1, *NO_WALL) == pytest.approx((0.4, 0.04, 1.0, 0.3))  # but can be thrown


def test_the_ceiling_takes_the_vertical_velocity():
    # up from 0.91 with 1 m/s: 0.91 + t - t^2 = 1 at t = 0.1
    assert fly(0.2, 0.91, 0.5, 1.0, 0.1 - 1e-9, *NO_WALL)[3] == pytest.approx(0.8)
    assert fly(0.2, 0.91, 0.5, 1.0, 0.1 + 1e-9, *NO_WALL)[3] == pytest.approx(0.0, abs=1e-7)
    assert fly(0.2, 0.91, 0.5, 1.0, 0.4, *NO_WALL) == pytest.approx((0.4, 1 - 0.3**2, 0.5, -0.6))


@pytest.mark.parametrize(("x", "vx", "side"), [(0.9, 0.5, 1.0), (0.1, -0.5, 0.0)])
def test_the_sides_take_the_horizontal_velocity(x, vx, side):
    assert fly(x, 0.5, vx, 0.4, 0.3, *NO_WALL) == pytest.approx((side, 0.5 + 0.4 * 0.3 - 0.3**2, 0.0, 0.4 - 0.6))
    assert fly(x, 0.5, vx, 0.4, 3.0, *NO_WALL) == (side, 0, 0, 0)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_wall_stops_what_comes_below_its_top(sign):
    # 0.1 s before the wall, rising with 1 m/s: 0.09 higher there
    start, vx = WALL[0] - sign * 0.08, sign * 0.8
    low, high = (fly(start, WALL[1] - 0.09 + d, vx, 1.0, 0.2, *WALL) for d in (-1e-6, 1e-6))
    assert low == pytest.approx((WALL[0], high[1], 0.0, high[3]), abs=1e-5)
    assert (low[0] - WALL[0]) * sign < 0  # on its own side
    assert high[0] == pytest.approx(WALL[0] + sign * 0.08) and high[2] == vx
    assert fly(*low, 2.0, *WALL)[0] == low[0]  # falls along the wall
    assert fly(start, WALL[1] - 0.2, vx, 1.0, 0.2, *NO_WALL)[0] == pytest.approx(WALL[0] + sign * 0.08)


@given(x=st.floats(0, 0.499), y=places, vx=speeds, vy=speeds, dt=times)
@settings(max_examples=200, deadline=None)
def test_whatever_rises_no_higher_than_the_wall_stays_before_it(x, y, vx, vy, dt):
    assume(y + max(vy, 0.0) ** 2 / 4 < WALL[1])
    assert fly(x, y, vx, vy, dt, *WALL)[0] <= WALL[0]
    assert fly(1 - x, y, -vx, vy, dt, *WALL)[0] >= WALL[0]


# --- gripping and letting go ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("before", "now", "away", "gripped"), [
    (OPEN, CLOSED, 0.0, True), (OPEN, CLOSED, 0.9 * GRIP, True), (OPEN, CLOSED, 1.1 * GRIP, False),
    (OPEN, OPEN, 0.0, False), (OPEN, 0.0, 0.0, False),
    (CLOSED, CLOSED, 0.9 * GRIP, False), (CLOSED, CLOSED, 1e-12, False), (CLOSED, OPEN, 0.0, False),
])  # fmt: skip
def test_a_gripper_gets_what_was_near_when_it_closes(before, now, away, gripped):
    state = play(hand_state(hand=(0.2, 0.0), ball=(0.2 - away, 0.0), closed=float(before > 0)), (0.5, 0.5, now))
    assert state[0:2] == pytest.approx([0.23, 0.03]) and state[4] == (now > 0)
    if gripped:
        assert state[5:9].tolist() == state[0:4].tolist() == pytest.approx([0.23, 0.03, 0.75, 0.75])
    else:
        assert state[5:9].tolist() == [0.2 - away, 0, 0, 0]


def test_a_ball_that_the_hand_only_reaches_in_this_step_is_gripped_when_the_hand_has_opened_again():
    state = play(hand_state(hand=(0.2, 0.0), ball=(0.27, 0.0)), (1, 0, CLOSED))
    assert state[0] == pytest.approx(0.26) and state[5:9].tolist() == [0.27, 0, 0, 0]
    for gripper in (CLOSED, CLOSED, OPEN):
        play(state, (0, 0, gripper))
        assert state[5:9].tolist() == [0.27, 0, 0, 0]
    play(state, (0, 1, CLOSED))
    assert state[6] == state[1] == pytest.approx(0.06)


def test_a_closed_hand_that_comes_to_the_very_place_of_a_ball_does_not_hold_it():
    x_high, y_low = WORKSPACE[1:3]
    state = hand_state(hand=(x_high, y_low), ball=(x_high, y_low), closed=1.0)
    play(state, (0, 0, OPEN), (-1, 0, OPEN))  # dropped in a corner
    assert state[5:9].tolist() == [x_high, 0, 0, 0]
    for _ in range(4):  # it comes back closed, and stays
        play(state, (1, 0, CLOSED))
        assert state[5:9].tolist() == [x_high, pytest.approx(0, abs=1e-8), 0, 0]
        assert state[6] != state[1]
    play(state, (-1, 1, CLOSED))
    assert state[0] < x_high and state[5:9].tolist() == [x_high, 0, 0, 0]
    play(state, (1, -1, OPEN), (0, 1, CLOSED))
    assert state[5:9].tolist() == state[0:4].tolist()
    # the same in the air, for a ball that rises to where the hand will be
    wanted = play(hand_state(hand=(0.2, 0.2)), (0.5, 0.5, CLOSED))[:2]
    x, y = wanted[0], 0.25
    landing = fly(x, y, 0.0, 0.0, DT, *NO_WALL)[1]
    state = hand_state(hand=(x, landing), ball=(x, y), closed=1.0)
    play(state, (0, 0, CLOSED))
    assert state[5] == state[0] and state[6] != state[1] == landing and state[6] == pytest.approx(landing, abs=1e-8)


def test_a_ball_just_let_go_on_the_floor_is_gripped_again():
    state = hand_state(hand=(0.2, 0.0), ball=(0.2, 0.0), closed=1.0)
    play(state, (0, 0, OPEN), (1, 0, CLOSED))
    assert state[5:9].tolist() == state[0:4].tolist()


def test_a_carried_ball_moves_with_the_hand_and_is_let_go_with_the_velocity_of_the_step_before():
    state = hand_state(hand=(0.1, 0.1), ball=(0.1, 0.1), closed=1.0)
    for action in ((0.2, 0.4, CLOSED), (-0.3, 0.5, CLOSED), (0.5, 0.8, CLOSED)):
        play(state, action)
        assert state[5:9].tolist() == state[0:4].tolist()
    assert state[7:9] == pytest.approx([0.75, 1.2])
    expected = fly(*state[5:9], DT, *NO_WALL)
    play(state, (-1, -1, OPEN))  # what the hand does now no longer matters
    assert state[5:9].tolist() == list(expected) and state[7:9] == pytest.approx([0.75, 1.2 - 0.08])


def test_the_hand_stops_at_the_edges_of_its_workspace_and_a_ball_let_go_there_falls_straight_down():
    x_low, x_high, y_low, y_high = WORKSPACE
    for x, y, wish in ((x_low, y_low, -1), (x_high, y_high, 1)):
        state = hand_state(hand=(0.2, 0.2), ball=(0.2, 0.2), closed=1.0)
        for _ in range(6):
            play(state, (wish, wish, CLOSED))
            assert x_low <= state[0] <= x_high and y_low <= state[1] <= y_high
        assert state[0:4].tolist() == [x, y, 0, 0]
        play(state, (wish, 0, OPEN))
        assert state[5] == x and state[7] == 0
        assert state[6] == pytest.approx(max(y - DT**2, 0))
    # it arrives with the mean velocity of a step that the edge cut short, and keeps the other component
    state = play(hand_state(hand=(x_high - 0.015, 0.2)), (1, 0.5, OPEN))
    assert state[2:4] == pytest.approx([0.015 / DT, 0.75])


# --- the arm ----------------------------------------------------------------------------------------------------------
def test_forward_kinematics_by_hand():
    x, y = BASE
    quarter = math.pi / 2
    assert forward_kinematics(0, 0, 2, 0) == pytest.approx((x + 0.25, y, 0, 0.5))
    assert forward_kinematics(0, 0, 0, 2) == pytest.approx((x + 0.25, y, 0, 0.25))  # only the second link turns
    assert forward_kinematics(quarter, 0, 0, 0) == pytest.approx((x, y + 0.25, 0, 0))
    assert forward_kinematics(quarter, -quarter, 2, 0) == pytest.approx((x + 0.125, y + 0.125, -0.25, 0.25))
    assert forward_kinematics(1.0, math.pi, 0, 0) == pytest.approx((x, y, 0, 0))  # folded


@given(angles, angles, st.floats(-JOINT_SPEED, JOINT_SPEED), st.floats(-JOINT_SPEED, JOINT_SPEED))
@settings(deadline=None)
def test_the_effectors_velocity_is_the_derivative_of_its_place(angle_1, angle_2, speed_1, speed_2):
    h = 1e-5
    ahead, behind = (
        np.array(forward_kinematics(angle_1 + s * h * speed_1, angle_2 + s * h * speed_2, 0, 0)[:2]) for s in (1, -1)
    )
    velocity = forward_kinematics(angle_1, angle_2, speed_1, speed_2)[2:]
    np.testing.assert_allclose((ahead - behind) / (2 * h), velocity, atol=1e-7)


@given(st.floats(0, 2 * LINK), angles)
@settings(deadline=None)
def test_inverse_kinematics(reach, direction):
    x, y = BASE[0] + reach * math.cos(direction), BASE[1] + reach * math.sin(direction)
    assert forward_kinematics(*inverse_kinematics(x, y), 0, 0)[:2] == pytest.approx((x, y), abs=1e-7)


def test_inverse_kinematics_goes_as_near_as_the_arm_can():
    x, y, _, _ = forward_kinematics(*inverse_kinematics(BASE[0] + 3.0, BASE[1] + 4.0), 0, 0)
    assert (x, y) == pytest.approx((BASE[0] + 0.6 * 2 * LINK, BASE[1] + 0.8 * 2 * LINK))
