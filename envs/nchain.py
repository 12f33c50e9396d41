"""NChain: a row of states with the only reward at its far end (TER, App. D.1)."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from envs.actions import whole_number
from envs.reset_options import check_names

FORWARD, BACKWARD = 0, 1
CELL = 32
"""Pixels per state in a rendered picture."""


class NChain(gym.Env):
    """States 0 .. n-1 in a row. An episode starts in state 0 and terminates in state n-1.

    Actions: 0 goes to the next state, 1 to the one before it (in state 0 it stays). The reward is 1 for entering the
    last state, else 0. Truncated after ``max_steps`` = 2 n^2 steps. Observation: the number of the state.

    Args:
        n: number of states, at least 2.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}

    def __init__(self, n: int = 20, render_mode: str | None = None):
        if n < 2:
            raise ValueError(f"a chain needs at least 2 states, not {n}")
        self.n = n
        self.max_steps = 2 * n * n
        self.render_mode = render_mode
        self.observation_space = spaces.Discrete(n)
        self.action_space = spaces.Discrete(2)
        self._state = self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        check_names(options, ())
        super().reset(seed=seed)
        self._state = self._steps = 0
        return self._state, {}

    def step(self, action):
        forward = whole_number(action, 2) == FORWARD
        self._state = self._state + 1 if forward else max(self._state - 1, 0)
        self._steps += 1
        terminated = self._state == self.n - 1
        truncated = self._steps >= self.max_steps and not terminated
        return self._state, float(terminated), terminated, truncated, {}

    def render(self):
        """Draw the chain as circles, the goal green, the agent orange: uint8 ``(32, 32 n, 3)``."""
        if self.render_mode is None:
            return None
        y, x = np.mgrid[:CELL, : CELL * self.n]
        distance = np.hypot(y - CELL / 2 + 0.5, x % CELL - CELL / 2 + 0.5)  # from the middle of the pixel's own cell
        picture = np.full((CELL, CELL * self.n, 3), 255, np.uint8)
        picture[distance < 0.45 * CELL] = (60, 60, 60)
        for state in range(self.n):
            color = (0, 158, 115) if state == self.n - 1 else (235, 235, 235)
            if state == self._state:
                color = (230, 159, 0)
            picture[(distance < 0.39 * CELL) & (x // CELL == state)] = color
        return picture


def optimal_q(n: int, gamma: float) -> np.ndarray:
    """Q* of the chain without a time limit, float64 ``(n, 2)``; the row of the terminal state is 0.

    Going forward with d steps left earns gamma^(d-1); going backward costs that step and one more to make up for it.
    """
    left = n - 1 - np.arange(n)  # steps to the goal
    q = np.stack([gamma ** (left - 1.0), gamma ** (left + 1.0)], axis=1)
    q[0, BACKWARD] = gamma * q[0, FORWARD]  # state 0 stays where it is
    q[-1] = 0.0
    return q


if "NChain-v0" not in gym.registry:
    gym.register("NChain-v0", entry_point="envs.nchain:NChain")
