"""A tiny game with the interface of envs.atari.Atari: bright squares fall and must be caught."""

import gymnasium
import numpy as np

CELL = 28  # pixels; the screen has 3 x 3 cells


class PixelCatch(gymnasium.Env):
    """A square falls in one of three columns, two steps later it is on the ground; then the next one falls.

    A paddle on the ground moves left (0), stays (1) or moves right (2). A square that is caught pays 5, one that is
    missed ends the episode; otherwise it is cut after `limit` steps. In training a missed square pays -1.
    """

    observation_space = gymnasium.spaces.Box(0, 255, (3 * CELL, 3 * CELL), np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, *, training: bool = True, limit: int = 12):
        self.training, self.limit = training, limit

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.paddle = 0, 1
        self._drop()
        return self._frame(), {}

    def step(self, action):
        self.t += 1
        self.paddle = min(max(self.paddle + action - 1, 0), 2)
        self.row += 1
        reward, missed = 0.0, False
        if self.row == 2:
            missed = self.column != self.paddle
            reward = 5.0 if not missed else -1.0 * self.training
            if not missed:
                self._drop()
        return self._frame(), reward, missed, not missed and self.t >= self.limit, {}

    def _drop(self):
        # always a column that the paddle reaches in two steps
        self.row, self.column = 0, int(self.np_random.integers(3))

    def _frame(self):
        frame = np.zeros((3 * CELL, 3 * CELL), np.uint8)
        frame[-8:, self.paddle * CELL : (self.paddle + 1) * CELL] = 128
        frame[self.row * CELL : self.row * CELL + 20, self.column * CELL + 4 : self.column * CELL + 24] = 255
        return frame
