"""Small, fast goal tasks for the tests: a plane, a line with illegal actions, a picture, and a hook with a trap."""

from __future__ import annotations

import numpy as np

from envs.goal_task import GoalTask


class Flat(GoalTask):
    """Observations and goals are vectors, as far apart as a ruler says."""

    low, high = -10.0, 10.0

    def observe(self, states: np.ndarray) -> np.ndarray:
        return self.achieved(states)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.linalg.norm(np.subtract(a, b, dtype=np.float64), axis=-1)

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        low, high = (np.full(self.goal_shape, value, np.float32) for value in (self.low, self.high))
        return low, high, low, high


class Plane(Flat):
    """A point of an open plane is pushed about. `noise`: deviation of what is added to a step."""

    observation_shape = goal_shape = (2,)
    n_actions, action_range, tolerance = 2, 0.5, 0.3

    def __init__(self, max_steps: int = 6, noise: float = 0.0):
        self.max_steps, self.noise = max_steps, noise

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(-0.2, 0.2, (n, 2))

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(-1, 1, (n, 2)).astype(np.float32)

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return states + actions + self.noise * rng.standard_normal(states.shape)

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return states.astype(np.float32)

    def picture(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return np.full((20, 30, 3), int(10 * abs(state[0]) + 20 * abs(goal[0])), np.uint8)


class Line(Flat):
    """Cells 0 to 6 in a row. Actions go left, stay, and go right; none may leave the line."""

    observation_shape = goal_shape = (1,)
    n_actions, action_range, tolerance, max_steps = 3, None, 0.0, 5
    low, high = 0.0, 6.0

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(7, size=(n, 1))

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(7, size=(n, 1)).astype(np.float32)

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip(states + actions[:, None] - 1, 0, 6)

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return states.astype(np.float32)

    def legal(self, states: np.ndarray) -> np.ndarray:
        return np.concatenate([states > 0, states >= 0, states < 6], axis=1)


class Picture(GoalTask):
    """Five by five pixels, of which action a switches on that in row a and column 1, once. The goal is two pixels."""

    observation_shape, goal_shape = (2, 5, 5), (1, 5, 5)
    n_actions, action_range, tolerance, max_steps = 5, None, 0.0, 4

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.zeros((n, 5), np.uint8)

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        states = np.zeros((n, 5), np.uint8)
        states[np.arange(n)[:, None], rng.random((n, 5)).argsort(axis=1)[:, :2]] = 1
        return self.achieved(states)

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        after = states.copy()
        after[np.arange(len(states)), actions] = 1
        return after

    def observe(self, states: np.ndarray) -> np.ndarray:
        return np.concatenate([self.achieved(states), np.ones((len(states), 1, 5, 5), np.float32)], axis=1)

    def achieved(self, states: np.ndarray) -> np.ndarray:
        pictures = np.zeros((len(states), 1, 5, 5), np.float32)
        pictures[:, 0, :, 1] = states
        return pictures

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.abs(np.subtract(a, b, dtype=np.float64)).sum(axis=(-3, -2, -1))

    def legal(self, states: np.ndarray) -> np.ndarray:
        return states == 0


class Hook(Flat):
    """A path in the plane, folded like a U: three to the right, one up, three back to the left.

    The goal is its end, 1 above its start. Nearest to the goal, but for the last of the way, is the start: a trap.
    """

    observation_shape = goal_shape = (2,)
    n_actions, action_range, tolerance, max_steps = 1, 0.95, 0.3, 12
    corners = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [0.0, 1.0]])
    along = np.array([0.0, 3.0, 4.0, 7.0])

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(0, 0.1, (n, 1))

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.corners[-1:].repeat(n, axis=0).astype(np.float32)

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip(states + actions, 0, self.along[-1])

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(states[:, 0], self.along, axis) for axis in self.corners.T], axis=1).astype(
            np.float32
        )
