"""Physics of the ball-throwing tasks: a ball under gravity in the unit square, a hand or a two-joint arm that moves it.

Lengths are in sides of the square, times in seconds, y points up, the floor is y = 0. A step of DT seconds is exact:
between two contacts the ball follows its parabola, and contacts are found by solving for their time, not by stepping.

State vectors (float64) hold everything there is to know, in the order of the paper's Tables 3 and 6:

- hand (9): hand x, y, vx, vy, closed (0 or 1), ball x, y, vx, vy
- robot (13): joint angles 1, 2 [rad], end-effector x, y, joint velocities 1, 2 [rad/s], end-effector vx, vy, closed,
  ball x, y, vx, vy

Angles are counted anticlockwise; that of the second joint is relative to the first link.

The grip. A gripper that was open at the end of the step before, is within GRIP of the ball when a step begins and
closes in this step holds the ball at the step's end: at its exact centre, with its velocity. It keeps the ball until it
opens; the ball then flies on with its last velocity, which is the gripper's in the step before. So a ball is held if,
and only if, the gripper is closed and both are at the same place to the last bit: the state needs no further number. A
gripper that was already closed grips nothing: it has to open first. Should it come to the exact place of a free ball,
as in a corner of the workspace where a ball was dropped, the ball gives way by ASIDE. A ball that was let go on the
floor is still at the place of the open gripper, and closing grips it again.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

DT = 0.04
"""Seconds per step."""
GRAVITY = 2.0
GRIP = 0.03
"""A closing gripper grabs a ball at most this far from its centre."""
ASIDE = 1e-9
"""How far up a free ball moves out of the way of a closed gripper at its exact place."""
HAND_SPEED = 1.5
"""Largest speed of the hand along x and along y."""
JOINT_SPEED = 6.0
"""Largest speed of a joint [rad/s]."""
WORKSPACE = (0.05, 0.35, 0.0, 0.35)
"""The hand stays in this box: x from, x to, y from, y to."""
BASE = (0.27, 0.25)
"""Shoulder of the arm. It is as high as the arm is long, so that the arm turns freely above the floor."""
LINK = 0.125
"""Length of each of the arm's two links."""
NO_WALL = (2.0, 0.0)
WALL = (0.5, 0.47)
"""Place x and top y of the wall, which is infinitely thin."""


EARLY = 1e-12
"""Seconds by which a contact with the wall comes early, so that no step ends exactly on the wall."""


@njit(cache=True)
def fly(x, y, vx, vy, dt, wall_x, wall_top):
    """A free ball after `dt` seconds: (x, y, vx, vy).

    It rests where it lands on the floor. The wall (a vertical line from the floor to `wall_top`) and the sides of the
    square take its horizontal velocity, the ceiling its vertical one.
    """
    while True:
        if y <= 0.0 and vy <= 0.0:
            return x, 0.0, 0.0, 0.0
        time = (vy + math.sqrt(vy * vy + 2.0 * GRAVITY * y)) / GRAVITY  # of the landing
        contact = 1
        if vy > 0.0 and vy * vy >= 2.0 * GRAVITY * (1.0 - y):
            ceiling = (vy - math.sqrt(vy * vy - 2.0 * GRAVITY * (1.0 - y))) / GRAVITY
            if ceiling < time:
                time, contact = ceiling, 2
        if vx != 0.0:
            side = ((1.0 if vx > 0.0 else 0.0) - x) / vx
            if side < time:
                time, contact = side, 3
            wall = (wall_x - x) / vx - EARLY
            if 0.0 < wall < time and y + vy * wall - 0.5 * GRAVITY * wall * wall < wall_top:
                time, contact = wall, 4
        if time > dt:
            return x + vx * dt, y + vy * dt - 0.5 * GRAVITY * dt * dt, vx, vy - GRAVITY * dt
        dt -= time
        before = x
        x += vx * time
        y += vy * time - 0.5 * GRAVITY * time * time
        vy -= GRAVITY * time
        if contact == 1:
            return x, 0.0, 0.0, 0.0
        if contact == 2:
            y, vy = 1.0, 0.0
        elif contact == 3:
            x, vx = (1.0 if vx > 0.0 else 0.0), 0.0
        else:  # on the side it came from
            x, vx = wall_x + math.copysign(1e-9, before - wall_x), 0.0


@njit(cache=True)
def _ball_after(was_closed, closed, distance, hx, hy, hvx, hvy, x, y, vx, vy, wall_x, wall_top):
    """The ball after a step: (x, y, vx, vy), by the rule of the grip above. `distance`: to the gripper beforehand."""
    in_hand = distance == 0.0 if was_closed else distance <= GRIP
    if closed and in_hand:
        return hx, hy, hvx, hvy
    x, y, vx, vy = fly(x, y, vx, vy, DT, wall_x, wall_top)
    if closed and x == hx and y == hy:  # it would count as held from the next step on
        y += ASIDE
    return x, y, vx, vy


@njit(cache=True)
def hand_step(state, action, wall_x, wall_top):
    """Advance a hand's `state` (9,) by one step, in place.

    `action` (3,) in [-1, 1]: velocities in units of HAND_SPEED, and the gripper, closed above 0. The hand stops at the
    edges of its workspace.
    """
    x_low, x_high, y_low, y_high = WORKSPACE
    hx, hy = state[0], state[1]
    distance = math.hypot(hx - state[5], hy - state[6])
    state[0] = min(max(hx + HAND_SPEED * min(max(action[0], -1.0), 1.0) * DT, x_low), x_high)
    state[1] = min(max(hy + HAND_SPEED * min(max(action[1], -1.0), 1.0) * DT, y_low), y_high)
    state[2], state[3] = (state[0] - hx) / DT, (state[1] - hy) / DT
    was_closed, closed = state[4] > 0.0, action[2] > 0.0
    state[4] = 1.0 if closed else 0.0
    state[5], state[6], state[7], state[8] = _ball_after(
        was_closed, closed, distance, state[0], state[1], state[2], state[3], state[5], state[6], state[7],
        state[8], wall_x, wall_top,
    )  # fmt: skip


@njit(cache=True)
def forward_kinematics(angle_1, angle_2, speed_1, speed_2):
    """End-effector x, y, vx, vy of the arm."""
    cos_1, sin_1 = math.cos(angle_1), math.sin(angle_1)
    cos_12, sin_12 = math.cos(angle_1 + angle_2), math.sin(angle_1 + angle_2)
    speed_12 = speed_1 + speed_2
    return (
        BASE[0] + LINK * (cos_1 + cos_12),
        BASE[1] + LINK * (sin_1 + sin_12),
        -LINK * (sin_1 * speed_1 + sin_12 * speed_12),
        LINK * (cos_1 * speed_1 + cos_12 * speed_12),
    )


@njit(cache=True)
def _wrapped(angle):
    return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))


@njit(cache=True)
def robot_step(state, action):
    """Advance a robot's `state` (13,) by one step, in place.

    `action` (3,) in [-1, 1]: joint velocities in units of JOINT_SPEED, and the gripper, closed above 0. Angles are kept
    in [-pi, pi).
    """
    distance = math.hypot(state[2] - state[9], state[3] - state[10])
    state[4] = JOINT_SPEED * min(max(action[0], -1.0), 1.0)
    state[5] = JOINT_SPEED * min(max(action[1], -1.0), 1.0)
    state[0] = _wrapped(state[0] + state[4] * DT)
    state[1] = _wrapped(state[1] + state[5] * DT)
    state[2], state[3], state[6], state[7] = forward_kinematics(state[0], state[1], state[4], state[5])
    was_closed, closed = state[8] > 0.0, action[2] > 0.0
    state[8] = 1.0 if closed else 0.0
    state[9], state[10], state[11], state[12] = _ball_after(
        was_closed, closed, distance, state[2], state[3], state[6], state[7], state[9], state[10], state[11],
        state[12], NO_WALL[0], NO_WALL[1],
    )  # fmt: skip


@njit(cache=True)
def hand_features(state, out):
    """Write what a learner sees of a hand's `state` (9,) to `out` (9,), float32: the state itself."""
    for i in range(9):
        out[i] = state[i]


@njit(cache=True)
def robot_features(state, out):
    """Write what a learner sees of a robot's `state` (13,) to `out` (15,), float32.

    It is the state, with cosine 1, cosine 2, sine 1, sine 2 in place of the two angles.
    """
    out[0], out[1] = math.cos(state[0]), math.cos(state[1])
    out[2], out[3] = math.sin(state[0]), math.sin(state[1])
    for i in range(2, 13):
        out[i + 2] = state[i]


def inverse_kinematics(x: float, y: float) -> np.ndarray:
    """Joint angles (2,) that bring the end-effector to (x, y), elbow to the left; the nearest point if out of reach."""
    dx, dy = x - BASE[0], y - BASE[1]
    reach = min(math.hypot(dx, dy), 2 * LINK)
    bend = 2 * math.acos(reach / (2 * LINK))
    return np.array([math.atan2(dy, dx) - bend / 2, bend])
