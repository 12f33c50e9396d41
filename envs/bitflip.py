"""Bit flipping: change one string of bits into another, one bit at a time; optionally with a useless way out.

    import gymnasium
    env = gymnasium.make("envs:BitFlip-v0", n=10, quit="timeout")

The task is that of Andrychowicz et al., "Hindsight experience replay" (2017), Sec. 3.1. Manela and Biess, "Bias-reduced
hindsight experience replay with virtual goal prioritization" (2021), Sec. 3.2.1, add an action that leaves the bits as
they are and ends the game, and call it useless. Whether it is depends on what ending the game means:

* ``quit="terminal"``: the game is over in the sense of a terminal state, after which nothing is paid. Giving up then
  costs exactly 1, while reaching a goal d flips away costs 1 + gamma + ... + gamma^(d - 2). Giving up is *optimal*
  wherever more than two bits are wrong, and as good as flipping where two are.
* ``quit="timeout"``: the game stops as it does when time is up, without a terminal state (``truncated``), so a learner
  still counts on the value of the unchanged state: Q*(s, quit, g) = -1 + gamma V*(s, g). That is a wasted step, worse
  than the best flip everywhere. In this reading, the action is useless.
"""

from __future__ import annotations

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from envs.actions import finite_numbers, whole_number
from envs.reset_options import check_names
from envs.window import Window

Quit = Literal["terminal", "timeout"]
"""What the additional action does to the game: see the top of this file."""
RIGHT, WRONG, QUIT = 0, 1, 2
"""Columns of `exact_q`: flipping a bit that is wrong, flipping one that is right, giving up."""
CELL = 24
"""Pixels per bit in a picture."""


class BitFlip(gymnasium.Env):
    """Turn n bits into n others. Start and goal are uniformly random, but never equal.

    Observation: a dict of `observation` and `achieved_goal` (both the bits) and `desired_goal`, float32 (n,), 0 or 1.
    Action i < n flips bit i; with `quit`, action n leaves the bits alone and ends the game. Reward: 0 for a step that
    makes the bits equal to the goal, else -1. The episode terminates at success, and is truncated after `max_steps` = n
    steps. `info["is_success"]` says whether the goal is reached.

    A start that equals its goal is drawn again: such an episode would be over before its first action, and only in it
    could giving up be paid like success.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 4}

    def __init__(self, n: int = 10, quit: Quit | None = None, render_mode: str | None = None):
        """n: number of bits, at least 1. quit: None for the plain task. ValueError for anything else."""
        _check(n, quit)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']}, not {render_mode!r}")
        self.n, self.quit, self.render_mode = n, quit, render_mode
        self.max_steps = n
        bits = spaces.Box(0.0, 1.0, (n,), np.float32)
        self.observation_space = spaces.Dict(observation=bits, achieved_goal=bits, desired_goal=bits)
        self.action_space: spaces.Space = spaces.Discrete(n + (quit is not None))
        self.bits, self.goal = np.zeros(n, np.float32), np.ones(n, np.float32)
        self.steps = 0
        self._window = Window(type(self).__name__, self.metadata["render_fps"])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        check_names(options, ())
        super().reset(seed=seed)
        while True:
            self.bits, self.goal = self.np_random.integers(2, size=(2, self.n)).astype(np.float32)
            if (self.bits != self.goal).any():
                break
        self.steps = 0
        if self.render_mode == "human":
            self.render()
        return self._observe(), {"is_success": False}

    def step(self, action):
        action = whole_number(action, self.n + (self.quit is not None))
        gives_up = action == self.n
        if not gives_up:
            self.bits[action] = 1.0 - self.bits[action]
        self.steps += 1
        reward = float(self.compute_reward(self.bits, self.goal))
        success = reward == 0.0
        terminated = success or (gives_up and self.quit == "terminal")
        truncated = not terminated and (gives_up or self.steps >= self.max_steps)
        if self.render_mode == "human":
            self.render()
        return self._observe(), reward, terminated, truncated, {"is_success": success}

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any = None) -> np.ndarray:
        """0 where the bits [..., n] are those of the goal [..., n], else -1: float64 [...]."""
        return (np.asarray(achieved_goal) == desired_goal).all(axis=-1) - 1.0

    def _observe(self) -> dict[str, np.ndarray]:
        return {"observation": self.bits.copy(), "achieved_goal": self.bits.copy(), "desired_goal": self.goal.copy()}

    def render(self):
        """Draw bits above, goal below, ones dark, differences framed: uint8 [2 CELL, n CELL, 3], or in a window."""
        if self.render_mode is None:
            return None
        picture = np.full((2 * CELL, CELL * self.n, 3), 255, np.uint8)
        for row, bits in enumerate((self.bits, self.goal)):
            for i, bit in enumerate(bits):
                cell = picture[row * CELL + 1 : (row + 1) * CELL - 1, i * CELL + 1 : (i + 1) * CELL - 1]
                cell[:] = (60, 60, 60) if self.bits[i] == self.goal[i] else (213, 94, 0)
                cell[3:-3, 3:-3] = (60, 60, 60) if bit else (235, 235, 235)
        if self.render_mode == "rgb_array":
            return picture
        self._window.show(picture)
        return None

    def close(self) -> None:
        self._window.close()


class BitFlipBox(BitFlip):
    """`BitFlip` for agents with continuous actions: the largest of the numbers in [-1, 1] selects the action."""

    def __init__(self, n: int = 10, quit: Quit | None = None, render_mode: str | None = None):
        super().__init__(n, quit, render_mode)
        self.action_space = spaces.Box(-1.0, 1.0, (n + (quit is not None),), np.float32)

    def step(self, action):
        return super().step(int(np.argmax(finite_numbers(action, self.n + (self.quit is not None)))))


# ---- exact values ----------------------------------------------------------------------------------------------------


def exact_q(n: int, gamma: float, quit: Quit | None = None) -> np.ndarray:
    """Q* without a time limit by the number of wrong bits, float64 [n + 1, 3], columns RIGHT, WRONG and QUIT.

    NaN where there is no such action. By symmetry, nothing else about bits and goal matters. Row 0 is the goal itself,
    a terminal state where no action is taken: all NaN. Computed by value iteration from 0; the value of a state d flips
    away from the goal is exact from the d-th sweep on. ValueError for bad arguments.
    """
    _check(n, quit)
    if not 0 < gamma < 1:
        raise ValueError(f"gamma must lie in (0, 1), not {gamma}")
    q = np.full((n + 1, 3), np.nan)
    value = np.zeros(n + 1)  # of states d flips away
    for _ in range(n + 1):
        q[1:, RIGHT] = np.where(np.arange(n) == 0, 0.0, -1.0) + gamma * value[:-1]
        q[1:-1, WRONG] = -1.0 + gamma * value[2:]
        if quit is not None:
            q[1:, QUIT] = -1.0 + (gamma * value[1:] if quit == "timeout" else 0.0)
        value[1:] = np.nanmax(q[1:], axis=1)
    return q


def exact_values(bits: np.ndarray, goals: np.ndarray, gamma: float, quit: Quit | None = None) -> np.ndarray:
    """Q* of every action for `bits` [m, n] that differ from their `goals` [m, n]: float64 [m, actions]."""
    table = exact_q(bits.shape[1], gamma, quit)
    wrong = bits != goals
    distance = wrong.sum(axis=1)
    flips = np.where(wrong, table[distance, RIGHT, None], table[distance, WRONG, None])
    return flips if quit is None else np.column_stack([flips, table[distance, QUIT]])


def _check(n: int, quit: str | None) -> None:
    if n < 1:
        raise ValueError(f"n, the number of bits, must be at least 1, not {n}")
    if quit not in (None, "terminal", "timeout"):
        raise ValueError(f"quit must be None, 'terminal' or 'timeout', not {quit!r}")
