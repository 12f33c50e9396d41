"""Sokoban: push every box onto a target, on a new level each episode.

    import gymnasium
    env = gymnasium.make("envs:Sokoban-v0", shape=(7, 7), boxes=2)

Rules, rewards and levels are those of the package gym-sokoban 0.0.6. The agent sees one flat colour per cell, enlarged
to 84x84 pixels. ``info["tiles"]`` gives the code of every cell, so that a replay memory can keep tens of bytes per
picture instead of 21,168 and draw the identical one later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numba import njit

from envs.actions import whole_number
from envs.games import Games
from envs.reset_options import check_names
from envs.sokoban import levels as levels
from envs.sokoban.levels import BOX, BOX_ON_TARGET, FLOOR, PLAYER, PLAYER_ON_TARGET, TARGET
from envs.sokoban.sprites import sprites
from envs.window import Window

PIXELS = 84
"""Side of the observation."""
MAX_STEPS = 120
ACTIONS = ("push up", "push down", "push left", "push right", "move up", "move down", "move left", "move right")
"""A push without a box ahead is a move; a move never pushes. A blocked action changes nothing, but costs its step."""

STEP_REWARD = -0.1
BOX_REWARD = 1.0
"""For a box that gets onto a target; its negative for one that leaves it."""
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

CELL, OFF, STEPS, LIMIT, ROW = range(5)
"""What a step needs to know about a game besides its codes, a row of int64: the player's cell, the number of boxes not
on a target, steps so far and at most."""


class Sokoban(gymnasium.Env):
    """Levels of one size and number of boxes.

    Observation: uint8 ``(pixels, pixels, 3)``, or the codes. ``info``: ``tiles``, the level's codes uint8 (rows,
    columns) as in `levels`, the same array as the observation of "codes"; ``success``, whether all boxes are on
    targets; ``boxes_on_target``, how many are.

    ``terminated``: the level is solved. ``truncated``: it is not, after ``max_steps`` steps.

    ``reset(options={"level": ...})`` plays a given level, as text or codes. It may have any number of boxes, but must
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
        observation: str = "picture",
    ):
        """shape: rows and columns, the ring of walls included, at most `pixels` of them. boxes: at least 1. walk: see
        `levels.generate`. pixels: side of the picture. style: of :meth:`render`, "sprites" or "tiny", the colours that
        agents see. observation: "picture", or "codes", which draws no picture. ValueError for anything else, and at the
        first level if the room is too small for its boxes."""
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
        if observation not in ("picture", "codes"):
            raise ValueError(f"observation must be 'picture' or 'codes', not {observation!r}")
        self.grid_shape = (int(shape[0]), int(shape[1]))
        self.boxes, self.max_steps, self.walk, self.style, self.render_mode = boxes, max_steps, walk, style, render_mode
        self.pixels, self.n_actions, self.observation = pixels, len(ACTIONS), observation
        self.action_space = spaces.Discrete(self.n_actions)
        self.observation_space = (
            spaces.Box(0, PLAYER_ON_TARGET, self.grid_shape, np.uint8)
            if observation == "codes"
            else spaces.Box(0, 255, (pixels, pixels, 3), np.uint8)
        )
        # Pixel i shows cell floor(i * cells / pixels): nearest neighbour.
        rows, columns = self.grid_shape
        self._first = -(-np.arange(rows + 1) * pixels // rows)  # first row of pixels of each row of cells
        self._columns = np.arange(pixels) * columns // pixels
        self._codes: np.ndarray | None = None
        self._state, self._n_boxes = np.zeros(ROW, np.int64), 0
        self._window = Window("Sokoban", self.metadata["render_fps"])

    @property
    def tiles(self) -> np.ndarray:
        """The picture of every code, uint8 ``(7, 1, 1, 3)``: a single pixel."""
        return COLOURS[:, None, None]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        check_names(options, ("level",))
        codes = self._given(options["level"]) if options and "level" in options else None
        super().reset(seed=seed)
        if codes is None:
            codes = levels.generate(self.np_random, self.grid_shape, self.boxes, self.walk)
        self._codes, self._n_boxes = codes, _begin(codes, self._state, self.max_steps)
        return self._seen()

    def _given(self, level: str | np.ndarray) -> np.ndarray:
        codes = (
            levels.parse(level) if isinstance(level, str) else np.array(level, order="C")
        )  # the kernels walk along rows
        levels.check(codes)
        if codes.shape != self.grid_shape:
            raise ValueError(f"the level has the shape {codes.shape}, the environment {self.grid_shape}")
        if not np.count_nonzero(codes == BOX):
            raise ValueError("the level is solved already")
        return codes

    def step(self, action):
        if self._codes is None:
            raise RuntimeError("call reset() before step()")
        reward, solved, truncated = _step(self._codes, self._state, whole_number(action, self.n_actions))
        observation, info = self._seen()
        return observation, reward, solved, truncated, info

    def side_by_side(self, seeds: Sequence[int]) -> Games:
        """Start a game on the level of each seed; this environment's own episode is not affected."""
        codes = np.empty((len(seeds), *self.grid_shape), np.uint8)
        states = np.empty((len(seeds), ROW), np.int64)
        for level, state, seed in zip(codes, states, seeds):
            level[:] = levels.generate(seeding.np_random(int(seed))[0], self.grid_shape, self.boxes, self.walk)
            _begin(level, state, self.max_steps)
        return Games(codes, states, _step_all, self.n_actions)

    def _observe(self) -> np.ndarray:
        """The picture."""
        picture = np.empty((self.pixels, self.pixels, 3), np.uint8)
        _draw(self._codes, self._first, self._columns, COLOURS, picture)
        return picture

    def _seen(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Update the window, if there is one; return observation and info."""
        if self.render_mode == "human":
            self.render()
        codes: Any = self._codes
        tiles, off = codes.copy(), int(self._state[OFF])
        info = {"tiles": tiles, "success": off == 0, "boxes_on_target": self._n_boxes - off}
        return tiles if self.observation == "codes" else self._observe(), info

    def render(self):
        """Draw the level at 16 pixels per cell, uint8 ``(16 * rows, 16 * columns, 3)``; in a window at twice that."""
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
def _begin(codes, state, max_steps):
    """Write what `_step` needs to know about a level into `state`; return its number of boxes."""
    cells, boxes = codes.ravel(), 0
    state[OFF], state[STEPS], state[LIMIT] = 0, 0, max_steps
    for cell in range(len(cells)):
        if cells[cell] == PLAYER or cells[cell] == PLAYER_ON_TARGET:
            state[CELL] = cell
        state[OFF] += cells[cell] == BOX
        boxes += cells[cell] == BOX or cells[cell] == BOX_ON_TARGET
    return boxes


@njit(cache=True)
def _step(codes, state, action):
    """Carry out one action, in place; return reward, solved, truncated."""
    cells, columns, cell = codes.ravel(), codes.shape[1], state[CELL]
    step = (-columns, columns, -1, 1)[action % 4]
    ahead, gained = cells[cell + step], 0
    if action < 4 and (ahead == BOX or ahead == BOX_ON_TARGET):
        beyond = cells[cell + 2 * step]
        if beyond == FLOOR or beyond == TARGET:
            cells[cell + 2 * step] = BOX_ON_TARGET if beyond == TARGET else BOX
            gained = int(beyond == TARGET) - int(ahead == BOX_ON_TARGET)
            ahead = TARGET if ahead == BOX_ON_TARGET else FLOOR
    if ahead == FLOOR or ahead == TARGET:
        cells[cell] = TARGET if cells[cell] == PLAYER_ON_TARGET else FLOOR
        cells[cell + step] = PLAYER_ON_TARGET if ahead == TARGET else PLAYER
        state[CELL] = cell + step
    state[OFF] -= gained
    state[STEPS] += 1
    solved = state[OFF] == 0
    reward = STEP_REWARD + BOX_REWARD * gained
    if solved:
        reward += SOLVED_REWARD
    return reward, solved, state[STEPS] >= state[LIMIT] and not solved


@njit(cache=True)
def _step_all(codes, states, running, actions):
    """Carry out one action in each of the games with these numbers; return rewards, ended, success."""
    rewards = np.empty(len(running))
    ended, solved = np.empty(len(running), np.bool_), np.empty(len(running), np.bool_)
    for i in range(len(running)):
        at = running[i]
        rewards[i], solved[i], truncated = _step(codes[at], states[at], actions[i])
        ended[i] = solved[i] or truncated
    return rewards, ended, solved


@njit(cache=True)
def _draw(codes, first, columns, colours, out):
    """Draw the picture (pixels, pixels, 3) of `codes`: row r of cells begins in its row first[r]; its column j shows
    column columns[j] of cells."""
    lines = out.reshape(len(out), -1)
    for row in range(len(codes)):
        line = lines[first[row]]
        for j in range(len(columns)):
            code = codes[row, columns[j]]
            for channel in range(3):
                line[3 * j + channel] = colours[code, channel]
        lines[first[row] + 1 : first[row + 1]] = line
