"""The circular track: a path around a crescent, on which the distance to the goal misleads from the start.

    import gymnasium
    env = gymnasium.make("envs:CircularTrack-v0")

The task is that of Trott et al., "Keeping your distance: solving sparse reward tasks using self-balancing shaped
rewards" (2019), Figs. 1 and 2. The track is a circle whose lower half is folded up towards the goal at its top. An
agent starts in the middle of the fold: near the goal as the crow flies, and half a lap away from it along the track.
Whichever way it sets out, the distance first grows. The paper prints neither the track's formula nor sizes; the
constants here are our own, chosen to match its picture.
"""

from __future__ import annotations

import math

import numpy as np

from envs.actions import finite_rows
from envs.goal_task import GoalEnv, GoalTask

FOLD = 1.4
"""How far the lower half is folded up. With 1, the bottom of the circle comes up to its centre; with 2, to the goal."""
GOAL = math.pi / 2
"""Phase of the goal: the top, at (0, 1)."""
LOCAL_OPTIMUM = 3 * math.pi / 2
"""Phase where the distance to the goal is least, outside the goal's surroundings: (0, 0.4). Agents start there."""

SIZE, FINER = 400, 4
"""Width and height of a picture in pixels, and how many times finer it is drawn before edges are smoothed."""
LEFT, BOTTOM, SIDE = -1.3, -0.9, 2.6
"""The part of the plane that a picture shows."""
WHITE, GREY, BLACK, GREEN, BLUE = (255, 255, 255), (200, 200, 200), (0, 0, 0), (0, 158, 115), (0, 114, 178)


def position(phase: np.ndarray) -> np.ndarray:
    """x and y, float64 [..., 2], of the points of the track at these phases [...] in radians."""
    sine = np.sin(phase)
    return np.stack([np.cos(phase), sine + FOLD * np.maximum(0.0, -sine) ** 2], axis=-1)


class CircularTrack(GoalTask):
    """Move along the track, by at most a radian per step and for 5 steps; the goal is half a lap, pi radians, away.

    State: the phase, float64 [1]; it continues beyond 2 pi and below 0. Observation and goal: x and y, float32 [2].
    Start and goal are always the same. There is no noise.
    """

    observation_shape = (2,)
    goal_shape = (2,)
    n_actions = 1
    action_range = 1.0
    tolerance = 0.2
    max_steps = 5

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.full((n, 1), LOCAL_OPTIMUM)

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.achieved(np.full((n, 1), GOAL))

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return states + finite_rows(actions, len(states), 1)

    def observe(self, states: np.ndarray) -> np.ndarray:
        return position(states[:, 0]).astype(np.float32)

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return self.observe(states)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.linalg.norm(np.subtract(a, b, dtype=np.float64), axis=-1)

    def check(self, state: np.ndarray) -> None:
        """Every phase is a valid state."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        low, high = np.array([-1.0, -0.2], np.float32), np.array([1.0, 1.0], np.float32)
        return low, high, low, high

    def picture(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Grey: the track. Green: where the goal counts as met. Black cross: the local optimum. Blue: the agent."""
        import pygame  # not needed for training

        scale = SIZE * FINER / SIDE

        def pixel(point: np.ndarray) -> tuple[float, float]:
            return (float(point[0]) - LEFT) * scale, (BOTTOM + SIDE - float(point[1])) * scale  # y points down

        canvas = pygame.Surface((SIZE * FINER, SIZE * FINER), depth=32)  # needs no display
        canvas.fill(WHITE)
        for point in position(np.linspace(0, 2 * math.pi, 1000)):
            pygame.draw.circle(canvas, GREY, pixel(point), 0.03 * scale)
        pygame.draw.circle(canvas, GREEN, pixel(goal), self.tolerance * scale, round(0.03 * scale))
        x, y = position(np.array(LOCAL_OPTIMUM))
        for rise in (-0.08, 0.08):
            ends = np.array([(x - 0.08, y - rise), (x + 0.08, y + rise)])
            pygame.draw.line(canvas, BLACK, pixel(ends[0]), pixel(ends[1]), round(0.04 * scale))
        pygame.draw.circle(canvas, BLUE, pixel(position(state[0])), 0.06 * scale)
        small = pygame.transform.smoothscale(canvas, (SIZE, SIZE))
        return np.ascontiguousarray(pygame.surfarray.array3d(small).swapaxes(0, 1))


def circular_track_env(render_mode: str | None = None) -> GoalEnv:
    """One episode at a time, as a gymnasium environment."""
    return GoalEnv(CircularTrack(), render_mode)
