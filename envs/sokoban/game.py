"""Sokoban: push every box onto a target, on a new level each episode.

    import gymnasium
    env = gymnasium.make("envs:Sokoban-v0", shape=(7, 7), boxes=2)

Rules, rewards and levels are those of the package gym-sokoban 0.0.6. The agent sees one flat colour per cell, enlarged
to 84x84 pixels. ``info["tiles"]`` hands out the code of every cell, so that a replay memory can keep tens of bytes per
picture instead of 21,168 and draw the identical one later.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numba import njit

from envs.sokoban import levels as levels
from envs.sokoban.levels import BOX, BOX_ON_TARGET, FLOOR, PLAYER, PLAYER_ON_TARGET, TARGET
from envs.sokoban.sprites import sprites
from envs.window import Window

PIXELS = 84
"""Side of the observation."""
MAX_STEPS = 120
ACTIONS = ("push up", "push down", "push left", "push right", "move up", "move down", "move left", "move right")
"""A push without a box ahead is a move; a move never pushes. What is blocked changes nothing, but costs its step."""

STEP_REWARD = -0.1
BOX_REWARD = 1.0
"""For a box that comes onto a target; the opposite for one that leaves it."""
SOLVED_REWARD = 10.0
"""Added when all boxes are on targets."""

COLOURS = np.array(
    [
        [0, 0, 0],  # wall
        [243, 248, 238],  # floor
        [254, 126, 125],  # target
        [254, 95, 56],  # box on a target
        [142, 121, 56],  # box
        [160, 212, 56],  # player
        [219, 212, 56],  # player on a target
    ],
    dtype=np.uint8,
)
"""RGB of each code in the pictures that agents see."""

# Where up, down, left and right lead: (row, column).
_STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Sokoban(gymnasium.Env):
    """Levels of one size and number of boxes.

    Observation: uint8 ``(pixels, pixels, 3)``. ``info``: ``tiles``, the level's codes uint8 (rows, columns) as in
    `levels`; ``success``, whether all boxes are on targets; ``boxes_on_target``, how many are.

    ``terminated``: the level is solved. ``truncated``: it is not, after ``max_steps`` steps.

    ``reset(options={"level": ...})`` plays a given level, as text or codes. It may be of any number of boxes, but must
    have the environment's shape.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 8}

    def __init__(
        self,
        shape: tuple[int, int] = (7, 7),
        boxes: int = 2,
        max_steps: int = MAX_STEPS,
        walk: int | None = None,
        pixels: int = PIXELS,
        style: str = "sprites",
        render_mode: str | None = None,
    ):
        """shape: rows and columns, the ring of walls included, at most `pixels` of them. boxes: at least 1. walk: see
        `levels.generate`. pixels: side of the observation. style: of :meth:`render`, "sprites" or "tiny", the
        colours that agents see. ValueError for anything else, and at the first level if the room is too small for its
        boxes."""
        if not all(3 <= side <= pixels for side in shape) or boxes < 1 or max_steps < 1:
            raise ValueError(
                f"Sokoban needs 3 to {pixels} (pixels) rows and columns, a box and a step, not shape={tuple(shape)}, "
                f"boxes={boxes}, max_steps={max_steps}"
            )
        if walk is not None and walk < 1:
            raise ValueError(f"walk, the steps of the random walk, must be at least 1, not {walk}")
        if style not in ("sprites", "tiny"):
            raise ValueError(f"style must be 'sprites' or 'tiny', not {style!r}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']}, not {render_mode!r}")
        self.grid_shape = (int(shape[0]), int(shape[1]))
        self.boxes, self.max_steps, self.walk, self.style, self.render_mode = boxes, max_steps, walk, style, render_mode
        self.pixels, self.n_actions = pixels, len(ACTIONS)
        self.action_space = spaces.Discrete(self.n_actions)
        self.observation_space = spaces.Box(0, 255, (pixels, pixels, 3), np.uint8)
        # Pixel i shows cell floor(i * cells / pixels): nearest neighbour.
        rows, columns = self.grid_shape
        self._first = -(-np.arange(rows + 1) * pixels // rows)  # first row of pixels of each row of cells
        self._columns = np.arange(pixels) * columns // pixels
        self._codes: np.ndarray | None = None
        self._player = (0, 0)
        self._off = 0  # boxes that are not on a target
        self._steps = 0
        self._window = Window("Sokoban", self.metadata["render_fps"])

    @property
    def tiles(self) -> np.ndarray:
        """The picture of every code, uint8 ``(7, 1, 1, 3)``: a single pixel."""
        return COLOURS[:, None, None]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        options = options or {}
        if unknown := options.keys() - {"level"}:
            raise ValueError(f"unknown reset options {sorted(unknown)}: right is level")
        if "level" in options:
            codes = self._given(options["level"])
        else:
            codes = levels.generate(self.np_random, self.grid_shape, self.boxes, self.walk)
        self._codes, self._steps = codes, 0
        row, column = np.argwhere((codes == PLAYER) | (codes == PLAYER_ON_TARGET))[0]
        self._player = (int(row), int(column))
        self._off = int(np.count_nonzero(codes == BOX))
        self._n_boxes = self._off + int(np.count_nonzero(codes == BOX_ON_TARGET))
        if self.render_mode == "human":
            self.render()
        return self._observe(), self._info()

    def _given(self, level: str | np.ndarray) -> np.ndarray:
        codes = levels.parse(level) if isinstance(level, str) else np.array(level)
        levels.check(codes)
        if codes.shape != self.grid_shape:
            raise ValueError(f"the level has the shape {codes.shape}, the environment {self.grid_shape}")
        if not np.count_nonzero(codes == BOX):
            raise ValueError("the level is solved already")
        return codes

    def step(self, action):
        if self._codes is None:
            raise RuntimeError("call reset() before step()")
        if not 0 <= action < self.n_actions:
            raise ValueError(f"actions are 0 to {self.n_actions - 1}, not {action}")
        down, right = _STEPS[action % 4]
        moved, gained = _move(self._codes, *self._player, down, right, action < 4)
        if moved:
            self._player = (self._player[0] + down, self._player[1] + right)
        self._off -= gained
        self._steps += 1
        solved = self._off == 0
        reward = STEP_REWARD + BOX_REWARD * gained
        if solved:
            reward += SOLVED_REWARD
        if self.render_mode == "human":
            self.render()
        return self._observe(), reward, solved, not solved and self._steps >= self.max_steps, self._info()

    def _observe(self) -> np.ndarray:
        picture = np.empty((self.pixels, self.pixels, 3), np.uint8)
        _draw(self._codes, self._first, self._columns, COLOURS, picture)
        return picture

    def _info(self) -> dict[str, Any]:
        codes: Any = self._codes
        return {"tiles": codes.copy(), "success": self._off == 0, "boxes_on_target": self._n_boxes - self._off}

    def render(self):
        """The level at 16 pixels per cell, uint8 ``(16 * rows, 16 * columns, 3)``; in a window at twice that."""
        if self.render_mode is None or self._codes is None:
            return None
        tiles = sprites() if self.style == "sprites" else self.tiles.repeat(16, axis=1).repeat(16, axis=2)
        picture = tiles[self._codes].swapaxes(1, 2).reshape(*(16 * cells for cells in self.grid_shape), 3)
        if self.render_mode == "rgb_array":
            return picture
        self._window.show(picture.repeat(2, axis=0).repeat(2, axis=1))
        return None

    def close(self) -> None:
        self._window.close()


@njit(cache=True)
def _move(codes, row, column, down, right, push):
    """One action on `codes`, in place: whether the player moved, and boxes on targets gained, -1, 0 or 1."""
    ahead = codes[row + down, column + right]
    gained = 0
    if push and (ahead == BOX or ahead == BOX_ON_TARGET):
        beyond = codes[row + 2 * down, column + 2 * right]
        if beyond != FLOOR and beyond != TARGET:
            return False, 0
        codes[row + 2 * down, column + 2 * right] = BOX_ON_TARGET if beyond == TARGET else BOX
        gained = int(beyond == TARGET) - int(ahead == BOX_ON_TARGET)
        ahead = TARGET if ahead == BOX_ON_TARGET else FLOOR
    if ahead != FLOOR and ahead != TARGET:
        return False, 0
    codes[row, column] = TARGET if codes[row, column] == PLAYER_ON_TARGET else FLOOR
    codes[row + down, column + right] = PLAYER_ON_TARGET if ahead == TARGET else PLAYER
    return True, gained


@njit(cache=True)
def _draw(codes, first, columns, colours, out):
    """The picture (pixels, pixels, 3) of `codes`: its row first[r] is the first one of row r of cells, its column j
    shows column columns[j] of cells."""
    lines = out.reshape(len(out), -1)
    for row in range(len(codes)):
        line = lines[first[row]]
        for j in range(len(columns)):
            code = codes[row, columns[j]]
            for channel in range(3):
                line[3 * j + channel] = colours[code, channel]
        lines[first[row] + 1 : first[row + 1]] = line
