"""Atari games as agents have learnt them since DQN: every fourth frame, grey, 84 x 84 pixels, a life at a time.

    import gymnasium
    env = gymnasium.make("envs:Atari-v0", game="MsPacman")
    env = gymnasium.make("envs:Atari-v0", game="MsPacman", training=False)  # for evaluation: whole games

The steps from the emulator to the agent are those of the data-efficient Rainbow (van Hasselt et al., "When to use
parametric models in reinforcement learning?", 2019), on which "Learning to sample with local and global contexts in
experience replay buffers" (Oh et al., 2021) builds. gymnasium's own wrapper for Atari differs: it pools before it
resizes, resizes by area, and starts a new game after a lost life.

Each step returns one new frame. Agents see the last four of an episode; a memory need only keep each once.
"""

from __future__ import annotations

import difflib
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numba import njit

from envs.actions import whole_number
from envs.reset_options import check_names

try:
    import ale_py
    from ale_py import roms
except ImportError:  # reported when a game is asked for: everything else works without it
    ale_py = roms = None  # type: ignore[assignment]

SIZE = 84
"""Pixels per side of a frame."""
REPEAT = 4
"""Emulator frames per step. The emulator makes 60 of them per second."""
MAX_NOOPS = 29
"""A new game begins with up to this many emulator frames without an action. All other chance is the game's own, a
function of what was played before, even in earlier games, whose traces in memory a reset does not erase."""
MAX_FRAMES = 108_000
"""Emulator frames after which a game is cut off: half an hour."""
FRESH = 100_000
"""A game that begins after more emulator frames than this gets a new emulator: see `Atari.__getstate__`."""
NOOP, RESET = 0, 255
"""ALE's number for the action that does nothing, and our own for a new game in the record of what was played."""

RELEASE = "ale-py>=0.12.1"
"""The first release that ships the games."""
NOT_FOR_ONE = ("combat", "joust", "maze_craze", "warlords")
"""Games that ALE ships but cannot run with a single player."""
GAMES = {
    rom.title().replace("_", ""): rom
    for rom in sorted(roms.get_all_rom_ids() if roms else ())
    if rom not in NOT_FOR_ONE
}
"""The name of every game, such as MsPacman -> ALE's name for it, such as ms_pacman."""


class Atari(gymnasium.Env):
    """One game, with the actions that have an effect in it and without "sticky" actions.

    Observation: uint8 [84, 84], the pixelwise maximum of the last two of a step's four emulator frames, each first made
    grey and resized; only the last one if the game stops earlier, and after a reset. Reward: the sum of the game's own
    over the four frames, not clipped. `info["lives"]`: lives left; some games always show 0.

    `terminated`: the game is over; or, with `training`, a life is lost and others are left (`info["life_lost"]`). Then
    the next `reset` continues the same game after one frame without an action. Any other `reset`, and any with a seed,
    starts a new game. `truncated`: the limit of `max_frames` is reached, and the step did not terminate.

    A pickled copy continues exactly like the original, even in the middle of a game.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 60 // REPEAT}

    def __init__(
        self, game: str, *, training: bool = True, max_frames: int = MAX_FRAMES, render_mode: str | None = None
    ):
        """game: a key of `GAMES`. max_frames: per game, at least 1. ValueError for anything else, or without a ROM."""
        if ale_py is None:
            raise ValueError(f'Atari games need ale-py, which is not installed: pip install "{RELEASE}"')
        if game not in GAMES:
            raise ValueError(f"unknown Atari game {game!r}; {_suggestion(game)}")
        if max_frames < 1:
            raise ValueError(f"max_frames must be at least 1, not {max_frames}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']}, not {render_mode!r}")
        self.game, self.training, self.max_frames, self.render_mode = game, training, max_frames, render_mode
        self._seed, self._played = 0, bytearray()
        self._load()
        self._actions = [action.value for action in self.ale.getMinimalActionSet()]
        self._lives, self._goes_on = 0, False
        self.observation_space = spaces.Box(0, 255, (SIZE, SIZE), np.uint8)
        self.action_space = spaces.Discrete(len(self._actions))

    def _load(self) -> None:
        """Load the game into a new emulator: ALE notices a seed or setting only when it loads a game."""
        try:
            rom = roms.get_rom_path(GAMES[self.game])
        except OSError:  # there is none, or it is damaged
            rom = None
        if rom is None:
            fix = f'pip install --force-reinstall "{RELEASE}"'
            raise ValueError(f"the installed ale-py has no intact ROM of {self.game}; install one: {fix}")
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # no banner
        self.ale = ale_py.ALEInterface()
        self.ale.setInt("random_seed", self._seed)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.setInt("max_num_frames_per_episode", self.max_frames)
        self.ale.setBool("display_screen", self.render_mode == "human")
        self.ale.loadROM(rom)
        height, width = self.ale.getScreenDims()
        self._played.clear()
        self._screens = np.empty((2, height, width), np.uint8)
        self._rows, self._columns = neighbours(height), neighbours(width)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        check_names(options, ())
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._goes_on = int(self.np_random.integers(2**31)), False
            self._load()
        if self._goes_on:
            self._act(NOOP)
        if not self._goes_on or self.ale.game_over():
            if len(self._played) > FRESH:
                self._load()
            self._act(RESET)
            for _ in range(self.np_random.integers(MAX_NOOPS + 1)):
                self._act(NOOP)
                if self.ale.game_over():
                    self._act(RESET)
        self._lives, self._goes_on = self.ale.lives(), False
        self.ale.getScreenGrayscale(self._screens[0])
        return self._frame(1), {"lives": self._lives, "life_lost": False}

    def step(self, action):
        action = whole_number(action, len(self._actions))
        reward, seen, stops = 0.0, 0, False
        for frame in range(REPEAT):
            reward += self._act(self._actions[action])
            stops = self.ale.game_over()  # or cut off
            if stops or frame >= REPEAT - 2:
                self.ale.getScreenGrayscale(self._screens[seen])
                seen += 1
            if stops:
                break
        game_over, lives = self.ale.game_over(with_truncation=False), self.ale.lives()
        # Only lives above 0: some games show none at first, and losing the last one ends the game.
        life_lost = self.training and not game_over and 0 < lives < self._lives
        self._lives, self._goes_on = lives, life_lost and not stops
        terminated = game_over or life_lost
        info = {"lives": lives, "life_lost": life_lost}
        return self._frame(seen), reward, terminated, stops and not terminated, info

    def _act(self, action: int) -> int:
        """Play one emulator frame, or start a new game with RESET; return the reward."""
        self._played.append(action)
        if action == RESET:
            self.ale.reset_game()
            return 0
        return self.ale.act(action)

    def _frame(self, seen: int) -> np.ndarray:
        """What the agent sees of the first `seen` screens kept: uint8 [84, 84]."""
        out = np.empty((SIZE, SIZE), np.uint8)
        _shrink(self._screens[:seen], self._rows, self._columns, out)
        return out

    def render(self):
        """The emulator's picture in colours, uint8 [height, width, 3]; ALE keeps a "human" window up to date itself."""
        return self.ale.getScreenRGB() if self.render_mode == "rgb_array" else None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the emulator: `__setstate__` replays what was played in it, frame by frame.

        ALE can save an emulator's state, but not all of it: in ale-py 0.12.1, Qbert continues differently from a saved
        state, and in the end writes outside its memory. Replaying 100,000 frames takes about 6 seconds.
        """
        return {name: value for name, value in self.__dict__.items() if name not in ("ale", "_screens")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._played = bytearray()  # leave the original's alone
        self._load()
        for action in state["_played"]:
            self._act(action)


def neighbours(pixels: int) -> np.ndarray:
    """Where the 84 pixels of a shrunken line lie on a line of `pixels`: int64 [2, 84].

    Row 0: the source pixel to the left. Row 1: how far beyond its centre, in 1 / 168 of a source pixel. Pixel i of 84
    has its centre at (i + 1/2) pixels / 84 - 1/2, a whole number of these units, so nothing is rounded.
    """
    position = (2 * np.arange(SIZE) + 1) * pixels - SIZE
    return np.stack(np.divmod(position, 2 * SIZE))


@njit(cache=True)
def _shrink(screens, rows, columns, out):
    """Write the maximum of the screens [n, height, width], each resized bilinearly, into out [84, 84].

    Whole numbers throughout: one unit is 1 / 168 in each direction, and only the result is rounded (halves up).
    """
    unit = 2 * SIZE
    line = np.empty(screens.shape[2], np.int32)
    for i in range(SIZE):
        row, down = rows[0, i], rows[1, i]
        for n in range(len(screens)):
            for x in range(len(line)):
                line[x] = (unit - down) * screens[n, row, x] + down * screens[n, row + 1, x]
            for j in range(SIZE):
                column, right = columns[0, j], columns[1, j]
                grey = ((unit - right) * line[column] + right * line[column + 1] + unit * unit // 2) // (unit * unit)
                out[i, j] = grey if n == 0 else max(grey, out[i, j])


def _suggestion(game: str) -> str:
    """Games whose names are close to an unknown one."""
    plain = {name.lower(): name for name in GAMES}
    close = difflib.get_close_matches(str(game).lower().replace("_", "").replace(" ", ""), plain)
    if close:
        return f"did you mean {' or '.join(plain[name] for name in close)}?"
    return "names are written like Pong and MsPacman; envs.atari.GAMES lists them all"
