"""The ball-throwing tasks in plain Python, for comparison with the numba kernels: every contact is an event in a list.

States are those of `envs.throwing.physics`; a wall is (x, top) or None. The tests of the physics use its constants, so
these are written out here once more.
"""

import cmath
import math

import numpy as np

DT, GRAVITY, GRIP = 0.04, 2.0, 0.03
HAND_SPEED, JOINT_SPEED, LINK = 1.5, 6.0, 0.125
SHOULDER = 0.27 + 0.25j


def fly(ball, seconds, wall):
    """Ball (x, y, vx, vy) after `seconds` without a gripper."""
    x, y, vx, vy = ball
    if y == 0 and vy <= 0:
        return x, 0.0, 0.0, 0.0
    events = [(seconds, "end")]
    for height, name in ((0.0, "floor"), (1.0, "ceiling")):
        for t in np.roots([-GRAVITY / 2, vy, y - height]):
            speed = vy - GRAVITY * t.real
            through = speed < 0 if name == "floor" else speed > 0
            if abs(t.imag) < 1e-12 and t.real >= 0 and through:
                events.append((t.real, name))
    for place, name in ((0.0, "side"), (1.0, "side"), *([(wall[0], "wall")] if wall else [])):
        t = (place - x) / vx if vx else -1.0
        outwards = vx > 0 if place > 0.5 else vx < 0
        if name == "side" and outwards and t >= 0:
            events.append((t, name))
        if name == "wall" and t > 0 and y + vy * t - GRAVITY * t * t / 2 < wall[1]:
            events.append((t, name))
    t, name = min(events)
    x, y, vx, vy = x + vx * t, y + vy * t - GRAVITY * t * t / 2, vx, vy - GRAVITY * t
    if name == "end":
        return x, y, vx, vy
    if name == "floor":
        return x, 0.0, 0.0, 0.0
    if name == "ceiling":
        return fly((x, 1.0, vx, 0.0), seconds - t, wall)
    return fly((round(x, 9) if name == "side" else x, y, 0.0, vy), seconds - t, wall)


def ball_after(ball, before, after, was_closed, closed, wall):
    """The gripper's x, y `before` the step, its x, y, vx, vy `after` it, and whether it was closed then and is now."""
    away = math.dist(before, ball[:2])
    held = was_closed and away == 0
    if closed and (held or (not was_closed and away <= GRIP)):
        return tuple(after)
    x, y, *velocity = fly(ball, DT, wall)
    return x, y + 1e-9 if closed and [x, y] == list(after[:2]) else y, *velocity


def hand_step(state, action, wall=None):
    """State (9,) after a step, as a list."""
    after, velocity = [], []
    for place, wish, (low, high) in zip(state[0:2], action[0:2], ((0.05, 0.35), (0.0, 0.35))):
        wish = max(-1.0, min(1.0, wish))
        wanted = place + HAND_SPEED * DT * wish
        stopped = low if wanted < low else high if wanted > high else wanted
        after.append(stopped)
        velocity.append((stopped - place) / DT)
    hand = [*after, *velocity]
    closed = action[2] > 0
    return [*hand, float(closed), *ball_after(state[5:9], state[0:2], hand, state[4] == 1, closed, wall)]


def robot_step(state, action):
    """State (13,) after a step, as a list. The links are complex numbers, and so is the end-effector's velocity."""
    turn_1, turn_2 = (JOINT_SPEED * max(-1.0, min(1.0, wish)) for wish in action[0:2])
    link_1 = LINK * cmath.exp(1j * (state[0] + turn_1 * DT))
    link_2 = link_1 * cmath.exp(1j * (state[1] + turn_2 * DT))
    place = SHOULDER + link_1 + link_2
    velocity = 1j * (turn_1 * link_1 + (turn_1 + turn_2) * link_2)
    effector = [place.real, place.imag, velocity.real, velocity.imag]
    angles = [cmath.phase(link_1), cmath.phase(link_2 / link_1)]
    ball = ball_after(state[9:13], state[2:4], effector, state[8] == 1, action[2] > 0, None)
    return [*angles, *effector[:2], turn_1, turn_2, *effector[2:], float(action[2] > 0), *ball]
