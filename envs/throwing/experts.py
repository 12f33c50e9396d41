"""Scripted policies that solve the ball-throwing tasks: the proof that they can be solved within their limits.

Both open the gripper if need be, grab the ball, carry it to where a swing begins, swing for one step and let go. They
read the same observation as a learner, keep no state of their own, and know the physics.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from common.numba_cache import njit_calling
from envs.throwing import physics
from envs.throwing.physics import (
    BASE,
    DT,
    GRAVITY,
    GRIP,
    HAND_SPEED,
    JOINT_SPEED,
    LINK,
    NO_WALL,
    WORKSPACE,
    fly,
    forward_kinematics,
    inverse_kinematics,
)

OPEN, CLOSE = -1.0, 1.0
LONGEST_FLIGHT = 38
"""Limit of the steps that a throw spends in the air."""


def swing(start: np.ndarray, goal: np.ndarray, wall: tuple[float, float] = NO_WALL) -> np.ndarray | None:
    """Velocity (2,) of a hand that swings from `start` (2,) for one step and lets go, so that the ball meets `goal`.

    The slowest throw that the hand's speed and the wall allow; None if there is none.
    """
    best = None
    for steps in range(1, LONGEST_FLIGHT):
        flight = steps * DT
        fall = 0.5 * GRAVITY * flight**2
        velocity = (goal - start + np.array([0.0, fall])) / (flight + DT)  # the ball moves in the swing's step, too
        ball = start + velocity * DT
        x, y, _, _ = fly(ball[0], ball[1], velocity[0], velocity[1], flight, wall[0], wall[1])
        possible = abs(velocity).max() <= HAND_SPEED and math.hypot(x - goal[0], y - goal[1]) < 1e-6
        if possible and (best is None or abs(velocity).max() < abs(best).max()):
            best = velocity
    return best


class HandExpert:
    """Policy for Hand, and for HandWall with `wall` = WALL. Call it with an observation (9,) and a goal (2,)."""

    start = np.array([(WORKSPACE[0] + WORKSPACE[1]) / 2, (WORKSPACE[2] + WORKSPACE[3]) / 2])
    """Where a swing begins."""

    def __init__(self, wall: tuple[float, float] = NO_WALL):
        self.wall = wall

    def __call__(self, observation: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Action (3,) in [-1, 1]."""
        hand, hand_velocity, ball = (np.asarray(observation[i : i + 2], float) for i in (0, 2, 5))
        closed = observation[4] > 0
        if not (closed and np.allclose(hand, ball, atol=1e-6)):
            near = math.dist(hand, ball) <= GRIP
            if ball[1] > 0.0 and not near:
                return np.array([0.0, 0.0, OPEN])  # it flies
            return np.append(_velocity(ball - hand), OPEN if closed or not near else CLOSE)
        velocity = swing(self.start, np.asarray(goal, float), self.wall)
        if velocity is None:
            return np.array([0.0, 0.0, CLOSE])
        if np.allclose(hand, self.start + velocity * DT, atol=1e-5) and np.allclose(hand_velocity, velocity, atol=1e-3):
            return np.array([0.0, 0.0, OPEN])
        if np.allclose(hand, self.start, atol=1e-5):
            return np.append(velocity / HAND_SPEED, CLOSE)
        return np.append(_velocity(self.start - hand), CLOSE)


def _velocity(way: np.ndarray) -> np.ndarray:
    """Action that covers `way` (2,) in a step, or as much of it as a step can."""
    return np.clip(way / (DT * HAND_SPEED), -1.0, 1.0)


class RobotExpert:
    """Policy for Robot. Call it with an observation (15,) and a goal (2,).

    Of `n` random swings, whose throws are computed beforehand, it chooses the shortest that meets the goal.
    """

    def __init__(self, n: int = 20_000, tolerance: float = 0.015, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.tolerance = tolerance
        self.angles = rng.uniform(-math.pi, math.pi, (n, 2))  # where the swings begin
        self.speeds = rng.uniform(-JOINT_SPEED, JOINT_SPEED, (n, 2))
        self.released = _wrapped(self.angles + self.speeds * DT)
        self.throws = _throws(self.released, self.speeds, LONGEST_FLIGHT)

    def __call__(self, observation: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Action (3,) in [-1, 1]."""
        angles = np.arctan2(observation[2:4], observation[0:2])
        hand, speeds, ball = observation[4:6], observation[6:8], observation[11:13]
        closed = observation[10] > 0
        if not (closed and np.allclose(hand, ball, atol=1e-6)):
            near = math.dist(hand, ball) <= GRIP
            if not near and ball[0] > BASE[0] + 2 * LINK:
                return np.array([0.0, 0.0, OPEN])  # it flies to the target
            return self._turn(angles, inverse_kinematics(*ball), OPEN if closed or not near else CLOSE)
        # The same choice at every step: it does not depend on where the arm is.
        i = _first_hit(self.throws, float(goal[0]), float(goal[1]), self.tolerance)
        if self._at(angles, self.released[i]) and np.allclose(speeds, self.speeds[i], atol=1e-2):
            return np.array([0.0, 0.0, OPEN])
        if self._at(angles, self.angles[i]):
            return np.append(self.speeds[i] / JOINT_SPEED, CLOSE)
        return self._turn(angles, self.angles[i], CLOSE)

    def _turn(self, angles: np.ndarray, wanted: np.ndarray, gripper: float) -> np.ndarray:
        return np.append(np.clip(_wrapped(wanted - angles) / (DT * JOINT_SPEED), -1.0, 1.0), gripper)

    def _at(self, angles: np.ndarray, wanted: np.ndarray) -> bool:
        return bool(np.allclose(_wrapped(wanted - angles), 0.0, atol=1e-4))


def _wrapped(angles: np.ndarray) -> np.ndarray:
    return (angles + math.pi) % (2 * math.pi) - math.pi


@njit_calling(physics)
def _throws(released, speeds, steps):
    """Where balls fly when the arm lets go at joint angles `released` [n, 2] and speeds [n, 2]: [steps, n, 2]."""
    places = np.empty((steps, len(released), 2))
    for i in range(len(released)):
        x, y, vx, vy = forward_kinematics(released[i, 0], released[i, 1], speeds[i, 0], speeds[i, 1])
        for step in range(steps):
            x, y, vx, vy = fly(x, y, vx, vy, DT, *NO_WALL)
            places[step, i] = x, y
    return places


@njit(cache=True)
def _first_hit(throws, x, y, tolerance):
    """Which of the throws [steps, n, 2] is the first to come nearer to (x, y) than `tolerance`; 0 if none does."""
    for step in range(throws.shape[0]):
        for i in range(throws.shape[1]):
            dx, dy = throws[step, i, 0] - x, throws[step, i, 1] - y
            if dx * dx + dy * dy < tolerance * tolerance:
                return i
    return 0
