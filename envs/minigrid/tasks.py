"""Seven MiniGrid tasks seen from above as 40x40 pictures, with rewards that do not depend on the past.

Minigrid's own reward shrinks with the episode's length, which a fully observed state does not show. Here a step costs
1, success earns MAXSTEPS and a fatal ending (lava, or the wrong door) costs MAXSTEPS.

Minigrid makes the levels. Steps and pictures are ours, because its own cost many times as much: a level is a matrix of
*tile codes* (one byte per cell), a step is the kernel in `rules`, and a picture is one table lookup per pixel.
``info["tiles"]`` gives the codes, so that a replay memory can keep tens of bytes per frame instead of 4800 and draw the
identical picture later.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from minigrid.core.constants import COLOR_NAMES
from minigrid.core.grid import Grid
from minigrid.core.world_object import Door, Goal, Key, Lava, Wall
from minigrid.envs import CrossingEnv, DoorKeyEnv, RedBlueDoorEnv, UnlockEnv
from numba import njit

from envs.actions import whole_number
from envs.games import Games
from envs.minigrid import rules as rules
from envs.reset_options import check_names

TILE = 8
"""Pixels per side of a tile before the picture is resized."""
SIZE = 40
"""Pixels per side of the observation."""
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
RULES: dict[type, tuple[int, tuple[str, ...]]] = {
    # game: (its rule, and its names for the doors that the rule asks about)
    CrossingEnv: (rules.GOAL_ENDS, ()),
    DoorKeyEnv: (rules.GOAL_ENDS, ()),
    UnlockEnv: (rules.UNLOCK, ("door",)),
    RedBlueDoorEnv: (rules.RED_THEN_BLUE, ("red_door", "blue_door")),
}


def _doors():
    for color in COLOR_NAMES:
        for is_open, is_locked in ((True, False), (False, False), (False, True)):
            yield Door(color, is_open=is_open, is_locked=is_locked)


@cache
def tile_sheet() -> tuple[np.ndarray, dict[tuple[int, int, int] | None, int]]:
    """Every tile that can occur in the tasks, drawn once by minigrid itself.

    Returns:
        tiles: uint8 ``(codes, 8, 8, 3)``, the picture of each tile code, in the order of `rules`.
        code_of: the code of a minigrid object, as it encodes itself; None is the floor. With the agent standing on it
            in direction ``d``, it is ``d + 1`` higher.
    """
    pictures: list[np.ndarray] = []
    code_of: dict[tuple[int, int, int] | None, int] = {}
    for thing in (None, Wall(), Goal(), Lava(), *_doors(), *(Key(color) for color in COLOR_NAMES)):
        code_of[thing and thing.encode()] = len(pictures)
        agent_fits = thing is None or thing.can_overlap()
        for agent in range(5 if agent_fits else 1):
            # minigrid's tiles are floats, which its own full picture truncates to whole numbers
            tile = Grid.render_tile(thing, agent_dir=agent - 1 if agent else None, tile_size=TILE)
            pictures.append(tile.astype(np.uint8))
    return np.stack(pictures), code_of


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
    """One of :data:`TASKS`, seen from above.

    Args:
        task: a key of :data:`TASKS`.
        n_actions: how many of minigrid's actions (left, right, forward, pickup, drop, toggle, done) are offered;
            None takes the task's own number.
        random_action_probability: chance that a step carries out a uniformly drawn action instead of the given one.
        pseudo_terminal: the goal does not end the episode: entering it earns MAXSTEPS, leaving it costs MAXSTEPS,
            staying on it costs nothing. Lava still ends the episode. Only for tasks with a goal cell and crossings.
        observation: "picture", uint8 ``(40, 40, 3)``, or "codes", uint8 ``(rows, columns)``, which draws no picture.

    ``info["tiles"]``: the tile codes of the picture, the same array as the observation of "codes".
    ``info["success"]``: whether the goal was reached (the door opened) in this step.

    ``terminated`` is success or a fatal ending; ``truncated`` is the limit of MAXSTEPS (``max_steps``) steps. An
    episode that succeeds or dies on its very last step counts as terminated, not truncated.

    ``game`` is minigrid's own; it makes the levels, draws the random actions, and stays at the last level's start.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}

    def __init__(
        self,
        task: str,
        n_actions: int | None = None,
        random_action_probability: float = 0.0,
        pseudo_terminal: bool = False,
        render_mode: str | None = None,
        observation: str = "picture",
    ):
        if task not in TASKS:
            raise ValueError(f"unknown task {task!r}; choose from: {', '.join(TASKS)}")
        game, _, own_actions = TASKS[task]
        if pseudo_terminal and game is not CrossingEnv:
            raise ValueError(f"pseudo_terminal is defined for the crossing tasks only, not for {task}")
        if not 0.0 <= random_action_probability <= 1.0:
            raise ValueError(f"random_action_probability must lie in [0, 1], not {random_action_probability}")
        if n_actions is not None and not 3 <= n_actions <= 7:
            raise ValueError(f"n_actions must lie in 3..7, not {n_actions}")
        if observation not in ("picture", "codes"):
            raise ValueError(f"observation must be 'picture' or 'codes', not {observation!r}")
        self.task = task
        self.game = self._make_game()
        self.max_steps: int = self.game.max_steps
        self.random_action_probability = random_action_probability
        self.pseudo_terminal = pseudo_terminal
        self.render_mode = render_mode
        self.n_actions = n_actions or own_actions
        self.action_space = spaces.Discrete(self.n_actions)
        self.grid_shape = (self.game.height, self.game.width)
        self.observation = observation
        self.observation_space = (
            spaces.Box(0, rules.CODES - 1, self.grid_shape, np.uint8)
            if observation == "codes"
            else spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)
        )
        self._tiles, self._code_of = tile_sheet()
        self._rows, self._columns = (nearest_index(cells) for cells in self.grid_shape)
        self._codes: Any = None
        self._state = np.zeros(rules.ROW, np.int64)

    @property
    def tiles(self) -> np.ndarray:
        """The picture of every tile code, uint8 ``(codes, 8, 8, 3)``."""
        return self._tiles

    def reset(self, *, seed: int | None = None, options: dict | None = None):
        check_names(options, ())
        super().reset(seed=seed)
        self.game.reset(seed=seed)
        self._codes = np.empty(self.grid_shape, np.uint8)
        self._begin(self.game, self._codes, self._state)
        return self._seen(False)

    def step(self, action):
        if self._codes is None:
            raise RuntimeError("call reset() before step()")
        action = whole_number(action, self.n_actions)
        if self.random_action_probability and self.game.np_random.random() < self.random_action_probability:
            action = int(self.game.np_random.integers(self.n_actions))
        reward, terminated, truncated, success = rules.step(self._codes, self._state, action)
        observation, info = self._seen(success)
        return observation, reward, terminated, truncated, info

    def side_by_side(self, seeds: Sequence[int]) -> Games:
        """Start a game on the level of each seed; this environment's own episode is not affected."""
        game, generators = self._make_game(), []
        codes = np.empty((len(seeds), *self.grid_shape), np.uint8)
        states = np.empty((len(seeds), rules.ROW), np.int64)
        for one, state, seed in zip(codes, states, seeds):
            game.reset(seed=int(seed))
            self._begin(game, one, state)
            generators.append(game.np_random)
        return Games(codes, states, rules.step_all, self.n_actions, self.random_action_probability, generators)

    def render(self):
        """The picture before resizing: uint8 ``(8 * rows, 8 * columns, 3)``, enlarged four times."""
        if self.render_mode is None or self._codes is None:
            return None
        picture = self._tiles[self._codes].swapaxes(1, 2).reshape(*(TILE * n for n in self.grid_shape), 3)
        return picture.repeat(4, axis=0).repeat(4, axis=1)

    def _make_game(self) -> Any:
        game, arguments, _ = TASKS[self.task]
        made = game(**arguments)
        made.gen_obs = _no_partial_view
        return made

    def _begin(self, game: Any, codes: np.ndarray, state: np.ndarray) -> None:
        """Write the level that minigrid has made into the two arrays of a game, see `rules`."""
        things, (x, y), direction = game.grid.grid, game.agent_pos, game.agent_dir
        cells = codes.ravel()
        cells[:] = [self._code_of[thing and thing.encode()] for thing in things]
        cell = y * game.width + x
        cells[cell] += direction + 1
        rule, doors = RULES[type(game)]
        state[:] = 0
        state[: rules.DOOR_1] = cell, direction, rules.FLOOR, 0, self.max_steps, rule
        state[rules.DOOR_1 : rules.DOOR_1 + len(doors)] = [things.index(getattr(game, door)) for door in doors]
        if self.pseudo_terminal:
            state[rules.RULE] = rules.GOAL_STAYS

    def _observe(self) -> np.ndarray:
        """The picture."""
        out = np.empty((SIZE, SIZE, 3), np.uint8)
        _draw(self._codes, self._rows, self._columns, self._tiles, out)
        return out

    def _seen(self, success: bool) -> tuple[np.ndarray, dict]:
        """Observation and info."""
        tiles = self._codes.copy()
        return tiles if self.observation == "codes" else self._observe(), {"tiles": tiles, "success": success}


for _task in TASKS:
    gym.register(f"MiniGridPixels/{_task}-v0", entry_point="envs.minigrid.tasks:MiniGridTask", kwargs={"task": _task})
