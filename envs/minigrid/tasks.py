"""Seven MiniGrid tasks seen from above as 40x40 pictures, with rewards that do not depend on the past.

Minigrid's own reward shrinks with the episode's length, which a fully observed state does not show. Here a step costs
1, success earns MAXSTEPS and a fatal ending (lava, or the wrong door) costs MAXSTEPS.

The game logic is minigrid's. Drawing is ours, because minigrid's renderer costs many times the game step: every grid is
kept as a matrix of *tile codes* (one byte per cell), of which a step changes at most two, and a picture is one table
lookup per pixel. ``info["tiles"]`` hands the codes out, so that a replay memory can keep tens of bytes per frame
instead of 4800 and draw the identical picture later.
"""

from functools import cache

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from minigrid.core.constants import COLOR_NAMES, COLOR_TO_IDX, OBJECT_TO_IDX, STATE_TO_IDX
from minigrid.core.grid import Grid
from minigrid.core.world_object import Door, Goal, Key, Lava, Wall
from minigrid.envs import CrossingEnv, DoorKeyEnv, RedBlueDoorEnv, UnlockEnv
from numba import njit

TILE = 8
"""Pixels per side of a tile before the picture is resized."""
SIZE = 40
"""Pixels per side of the observation."""
FORWARD = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Step (x, y) of the agent for its four directions: right, down, left, up."""

TASKS: dict[str, tuple[type, dict, int]] = {
    # name: (game, its arguments, number of actions)
    # Crossings need left, right and forward only. The others keep minigrid's seven, its idle action "done" included.
    "DoorKey": (DoorKeyEnv, {"size": 6}, 7),
    "Unlock": (UnlockEnv, {}, 7),
    "RedBlueDoors": (RedBlueDoorEnv, {"size": 6}, 7),
    "SimpleCrossing-Easy": (CrossingEnv, {"size": 9, "num_crossings": 1, "obstacle_type": Wall}, 3),
    "SimpleCrossing-Hard": (CrossingEnv, {"size": 9, "num_crossings": 2, "obstacle_type": Wall}, 3),
    "LavaCrossing-Easy": (CrossingEnv, {"size": 9, "num_crossings": 1, "obstacle_type": Lava}, 3),
    "LavaCrossing-Hard": (CrossingEnv, {"size": 9, "num_crossings": 2, "obstacle_type": Lava}, 3),
}


def _doors():
    for color in COLOR_NAMES:
        for is_open, is_locked in ((True, False), (False, False), (False, True)):
            yield Door(color, is_open=is_open, is_locked=is_locked)


@cache
def tile_sheet() -> tuple[np.ndarray, np.ndarray]:
    """Every tile that can occur in the tasks, drawn once by minigrid itself.

    Returns:
        tiles: uint8 ``(codes, 8, 8, 3)``, the picture of each tile code.
        code_of: uint8 ``(types, colors, states, 5)``, the code of a minigrid object ``(type, color, state)`` with the
            agent absent (last index 0) or standing on it in direction ``d`` (last index ``d + 1``).
    """
    pictures: list[np.ndarray] = []
    code_of = np.zeros((len(OBJECT_TO_IDX), len(COLOR_TO_IDX), len(STATE_TO_IDX), 5), dtype=np.uint8)
    things = [None, Wall(), Goal(), Lava(), *_doors(), *(Key(color) for color in COLOR_NAMES)]
    for thing in things:
        agent_fits = thing is None or thing.can_overlap()
        for agent in range(5 if agent_fits else 1):
            code_of[(*_triple(thing), agent)] = len(pictures)
            # minigrid's tiles are floats, which its own full picture cuts to whole numbers
            tile = Grid.render_tile(thing, agent_dir=agent - 1 if agent else None, tile_size=TILE)
            pictures.append(tile.astype(np.uint8))
    return np.stack(pictures), code_of


def _triple(thing) -> tuple[int, int, int]:
    return (OBJECT_TO_IDX["empty"], 0, 0) if thing is None else thing.encode()


def nearest_index(cells: int, size: int = SIZE) -> np.ndarray:
    """Source pixel of each of ``size`` output pixels along a side of ``cells`` tiles: ``floor(i * source / size)``."""
    return np.arange(size) * (cells * TILE) // size


@njit(cache=True)
def _draw(codes, rows, columns, tiles, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            code = codes[rows[i] // TILE, columns[j] // TILE]
            for channel in range(3):
                out[i, j, channel] = tiles[code, rows[i] % TILE, columns[j] % TILE, channel]


def _no_partial_view():
    """Stands in for minigrid's ``gen_obs``: nobody reads the 7x7 partial view, and it is most of a step's cost."""


class MiniGridTask(gym.Env):
    """One of :data:`TASKS`, observed as a 40x40 picture from above.

    Args:
        task: a key of :data:`TASKS`.
        n_actions: how many of minigrid's actions (left, right, forward, pickup, drop, toggle, done) are offered;
            None takes the task's own number.
        random_action_probability: chance that a step carries out a uniformly drawn action instead of the given one.
        pseudo_terminal: the goal does not end the episode: entering it earns MAXSTEPS, leaving it costs MAXSTEPS,
            staying on it costs nothing. Lava still ends the episode. Only for tasks with a goal cell and crossings.

    Observation: uint8 ``(40, 40, 3)``. ``info["tiles"]``: uint8 ``(rows, columns)`` tile codes of that picture.
    ``info["success"]``: whether the goal was reached (the door opened) in this step.

    ``terminated`` is success or a fatal ending; ``truncated`` is the limit of MAXSTEPS (``max_steps``) steps. An
    episode that succeeds or dies on its very last step counts as terminated, not truncated.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}

    def __init__(
        self,
        task: str,
        n_actions: int | None = None,
        random_action_probability: float = 0.0,
        pseudo_terminal: bool = False,
        render_mode: str | None = None,
    ):
        if task not in TASKS:
            raise ValueError(f"unknown task {task!r}, expected one of {', '.join(TASKS)}")
        game, arguments, own_actions = TASKS[task]
        if pseudo_terminal and game is not CrossingEnv:
            raise ValueError(f"pseudo_terminal is defined for the crossing tasks only, not for {task}")
        if not 0.0 <= random_action_probability <= 1.0:
            raise ValueError(f"random_action_probability must lie in [0, 1], not {random_action_probability}")
        if n_actions is not None and not 3 <= n_actions <= 7:
            raise ValueError(f"n_actions must lie in 3..7, not {n_actions}")
        self.task = task
        self.game = game(**arguments)
        self.game.gen_obs = _no_partial_view
        self.max_steps: int = self.game.max_steps
        self.random_action_probability = random_action_probability
        self.pseudo_terminal = pseudo_terminal
        self.render_mode = render_mode
        self.n_actions = n_actions or own_actions
        self.action_space = spaces.Discrete(self.n_actions)
        self.observation_space = spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)
        self.grid_shape = (self.game.height, self.game.width)
        self._tiles, self._code_of = tile_sheet()
        self._rows, self._columns = (nearest_index(cells) for cells in self.grid_shape)
        self._codes = np.zeros(self.grid_shape, np.uint8)

    @property
    def tiles(self) -> np.ndarray:
        """The picture of every tile code, uint8 ``(codes, 8, 8, 3)``."""
        return self._tiles

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        super().reset(seed=seed)
        self.game.reset(seed=seed)
        for y in range(self.grid_shape[0]):
            for x in range(self.grid_shape[1]):
                self._encode(x, y)
        return self._observe(), self._info(False)

    def step(self, action):
        if not 0 <= action < self.n_actions:
            raise ValueError(f"action {action} is not one of the {self.n_actions} of {self.task}")
        game, chance = self.game, self.random_action_probability
        if chance and game.np_random.random() < chance:
            action = game.np_random.integers(self.n_actions)
        x, y = int(game.agent_pos[0]), int(game.agent_pos[1])
        dx, dy = FORWARD[game.agent_dir]
        was_on_goal = self.pseudo_terminal and self._on_goal()
        _, native_reward, terminated, truncated, _ = game.step(action)
        # No action reaches further than the agent's own cell and the one in front of it.
        self._encode(x, y)
        self._encode(x + dx, y + dy)

        success = native_reward > 0
        if self.pseudo_terminal:
            on_goal = self._on_goal()
            terminated = terminated and not on_goal  # what is left is lava
            success = on_goal and not was_on_goal
            reward = self._pseudo_terminal_reward(was_on_goal, on_goal, terminated)
        elif success:
            reward = float(self.max_steps)
        else:
            reward = float(-self.max_steps if terminated else -1)
        return self._observe(), reward, bool(terminated), bool(truncated and not terminated), self._info(success)

    def _pseudo_terminal_reward(self, was_on_goal: bool, on_goal: bool, died: bool) -> float:
        if on_goal:
            return 0.0 if was_on_goal else float(self.max_steps)
        return float(-self.max_steps if was_on_goal or died else -1)

    def render(self):
        """The picture before it is resized: ``(8 * rows, 8 * columns, 3)`` uint8, enlarged four times."""
        if self.render_mode is None:
            return None
        picture = self._tiles[self._codes].swapaxes(1, 2).reshape(*(TILE * n for n in self.grid_shape), 3)
        return picture.repeat(4, axis=0).repeat(4, axis=1)

    def _on_goal(self) -> bool:
        return tuple(self.game.agent_pos) == tuple(self.game.goal_position)

    def _encode(self, x: int, y: int) -> None:
        game = self.game
        here = x == game.agent_pos[0] and y == game.agent_pos[1]
        self._codes[y, x] = self._code_of[(*_triple(game.grid.get(x, y)), game.agent_dir + 1 if here else 0)]

    def _observe(self) -> np.ndarray:
        out = np.empty((SIZE, SIZE, 3), np.uint8)
        _draw(self._codes, self._rows, self._columns, self._tiles, out)
        return out

    def _info(self, success: bool) -> dict:
        return {"tiles": self._codes.copy(), "success": bool(success)}


for _task in TASKS:
    gym.register(f"MiniGridPixels/{_task}-v0", entry_point="envs.minigrid.tasks:MiniGridTask", kwargs={"task": _task})
