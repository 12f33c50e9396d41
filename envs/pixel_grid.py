"""The pixel grid: walk over a square bitmap and switch pixels on and off until it shows the goal bitmap.

    import gymnasium
    env = gymnasium.make("envs:PixelGrid-v0")  # 13 x 13 pixels, 50 steps
    env = gymnasium.make("envs:PixelGrid-v0", size=7, max_steps=25)

The task is that of Trott et al., "Keeping your distance: solving sparse reward tasks using self-balancing shaped
rewards" (2019), Sec. 4 and App. F, "2D bit flipping task". No step ever has to lead away from the goal, and yet the
distance to it misleads a learner: nearly all pixels of a goal are off, so almost any toggle of a beginner increases the
distance, and the first thing a beginner learns is never to toggle.
"""

from __future__ import annotations

import numpy as np

from envs.actions import whole_numbers
from envs.goal_task import GoalEnv, GoalTask

TOGGLE = 4
"""The action that switches the pixel at the location."""
SHIFTS = np.array([(action % 3 - 1, action // 3 - 1) for action in range(9)])
"""[9, 2]: rows and columns that each action moves by, like a chess king; none for TOGGLE."""
STEPS_PER_STROKE = 6
"""Steps in an episode for each toggle in the drawing of its goal."""
STEPS_PER_LINE = 10
"""The drawing of a goal turns after fewer toggles than an episode has tens of steps: after 1 to 4 in 50 steps, after
every one in 25."""
SMALLEST, LARGEST = 5, 256
"""Sizes: a small grid has no room for convolutions, and a location must fit into two bytes."""
OFF, ON, WRONG, AGENT = (235, 235, 235), (60, 60, 60), (213, 94, 0), (0, 114, 178)
"""Colours of a picture."""


class PixelGrid(GoalTask):
    """`size` x `size` pixels, all off at the start, and a location that is uniformly random.

    State: uint8 [size^2 + 2], the pixels row by row, then row and column of the location: compact, for replay memories.
    Observation: float32 [2, size, size], the pixels and the one-hot location. Goal: float32 [1, size, size] of zeros
    and ones. Their distance is the number of pixels that differ; success means none; the location does not matter.
    Action a moves by a % 3 - 1 rows and a // 3 - 1 columns, as far as the border allows; TOGGLE moves nowhere.
    """

    n_actions = 9
    action_range = None
    tolerance = 0.0

    def __init__(self, size: int = 13, max_steps: int = 50):
        """ValueError for an impossible size, or fewer steps than the drawing of a goal needs."""
        if not SMALLEST <= size <= LARGEST:
            raise ValueError(f"size, the side of the grid, must be {SMALLEST} to {LARGEST}, not {size}")
        if max_steps < STEPS_PER_STROKE:
            raise ValueError(f"max_steps must be at least {STEPS_PER_STROKE}, not {max_steps}: goals would be empty")
        self.size, self.max_steps = size, max_steps
        self.observation_shape, self.goal_shape = (2, size, size), (1, size, size)
        cells = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="ij"), axis=-1)
        targets = cells[:, :, None] + SHIFTS
        self._legal = ((targets >= 0) & (targets < size)).all(axis=-1)  # [size, size, 9]

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        states = np.zeros((n, self.size**2 + 2), np.uint8)
        states[:, -2:] = rng.integers(self.size, size=(n, 2))
        return states

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n drawings float32 [n, 1, size, size], none empty: such a goal would be met before the first step."""
        goals = self._drawings(n, rng)
        while len(empty := np.flatnonzero(~goals.any(axis=(1, 2, 3)))):
            goals[empty] = self._drawings(len(empty), rng)
        return goals

    def _drawings(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Drawings by n walkers that move, toggle, move, toggle, ... in lines: float32 [n, 1, size, size].

        Lines cross. At the border, a straight one toggles the same pixel on and off, and a diagonal one continues along
        it. So many drawings have fewer pixels than strokes, by an even number.
        """
        every = np.arange(n)
        drawings = np.zeros((n, *self.goal_shape), np.float32)
        location = rng.integers(self.size, size=(n, 2))
        shift, line = np.zeros((n, 2), np.int64), np.zeros(n, np.int64)  # line: strokes until the next turn
        for _ in range(self.max_steps // STEPS_PER_STROKE):
            turns = np.flatnonzero(line == 0)
            row, column = location[turns].T
            allowed = self._legal[row, column] & (np.arange(9) != TOGGLE)
            # the largest random number is equally likely to be at any of the allowed places
            shift[turns] = SHIFTS[np.where(allowed, rng.random(allowed.shape), -1.0).argmax(axis=1)]
            line[turns] = rng.integers(1, max(self.max_steps // STEPS_PER_LINE, 2), size=len(turns))
            location = np.clip(location + shift, 0, self.size - 1)
            row, column = location.T
            drawings[every, 0, row, column] = 1.0 - drawings[every, 0, row, column]
            line -= 1
        return drawings

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A move off the grid, which `legal` forbids, stops at the border. There is no noise: `rng` is not used."""
        actions, after = whole_numbers(actions, self.n_actions, len(states)), states.copy()
        location = np.clip(states[:, -2:] + SHIFTS[actions], 0, self.size - 1)
        after[:, -2:] = location
        toggled = np.flatnonzero(actions == TOGGLE)
        row, column = location[toggled].T
        after[toggled, row * self.size + column] ^= 1
        return after

    def observe(self, states: np.ndarray) -> np.ndarray:
        n = len(states)
        planes = np.zeros((n, *self.observation_shape), np.float32)
        planes[:, 0] = states[:, :-2].reshape(n, self.size, self.size)
        planes[np.arange(n), 1, states[:, -2], states[:, -1]] = 1.0
        return planes

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return states[:, :-2].reshape(len(states), *self.goal_shape).astype(np.float32)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.abs(np.subtract(a, b, dtype=np.float64)).sum(axis=(-3, -2, -1))

    def legal(self, states: np.ndarray) -> np.ndarray:
        """Moves that stay on the grid in both directions, and toggling: bool [n, 9]."""
        return self._legal[states[:, -2], states[:, -1]]

    def contains(self, goal: np.ndarray) -> bool:
        return bool(((goal == 0) | (goal == 1)).all())

    def check(self, state: np.ndarray) -> None:
        """Pixels are 0 or 1, and the location is one of them."""
        if state[:-2].max() > 1 or state[-2:].max() >= self.size:
            raise ValueError(
                f"a state is {self.size**2} pixels, 0 or 1, and a row and a column below {self.size}, not pixels of up "
                f"to {state[:-2].max()}, row {state[-2]} and column {state[-1]}"
            )

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        shapes = self.observation_shape, self.observation_shape, self.goal_shape, self.goal_shape
        low, high, goal_low, goal_high = (np.full(shape, i % 2, np.float32) for i, shape in enumerate(shapes))
        return low, high, goal_low, goal_high

    def picture(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Draw the pixels left, the goal right: ones dark, differences framed, a blue disc at the location.

        About 400 pixels high; a grid of more than 50 x 50 is drawn larger than that.
        """
        side = max(400 // self.size, 8)  # of a cell
        bits, wanted = state[:-2].reshape(self.size, self.size) > 0, goal[0] > 0
        left, right = (self._board(shown, bits != wanted, side) for shown in (bits, wanted))
        row, column = (side * int(at) for at in state[-2:])
        y, x = np.mgrid[:side, :side] - (side - 1) / 2
        left[row : row + side, column : column + side][y * y + x * x <= (0.3 * side) ** 2] = AGENT
        return np.concatenate([left, np.full((len(left), side, 3), 255, np.uint8), right], axis=1)

    def _board(self, bits: np.ndarray, framed: np.ndarray, side: int) -> np.ndarray:
        """bool [size, size] -> uint8 [size * side, size * side, 3]."""
        place = np.arange(self.size * side) % side  # within its cell
        line, inside = place == 0, (place > side // 8) & (place < side - side // 8)
        fill = np.where(bits[..., None], ON, OFF)
        frame = np.where(framed[..., None], WRONG, fill)
        fill, frame = (colours.repeat(side, axis=0).repeat(side, axis=1) for colours in (fill, frame))
        board = np.where((inside[:, None] & inside)[..., None], fill, frame).astype(np.uint8)
        board[line[:, None] | line] = 255
        return board


def pixel_grid_env(size: int = 13, max_steps: int = 50, render_mode: str | None = None) -> GoalEnv:
    """One episode at a time, as a gymnasium environment."""
    return GoalEnv(PixelGrid(size, max_steps), render_mode)
