"""Games of one world side by side: an evaluation steps all that are still running in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from envs.actions import whole_numbers


class Games:
    """`n` games that have begun, on the levels of `n` seeds: what `side_by_side` of MiniGrid and Sokoban returns.

    Each continues exactly like an environment that was reset with its seed. There is no next episode.
    """

    def __init__(
        self,
        codes: np.ndarray,
        states: np.ndarray,
        step_all: Callable,
        n_actions: int,
        chance: float = 0.0,
        generators: Sequence[np.random.Generator] = (),
    ):
        """step_all: the world's kernel; states: what it keeps of each game besides the codes. chance: probability that
        the game's own generator draws one of the `n_actions`, which is then carried out instead of the given one."""
        self.codes = codes
        """uint8 (n, rows, columns), the current codes of each game's tiles: a view, which steps change."""
        self.n_actions = n_actions
        self._states, self._step_all, self._chance, self._generators = states, step_all, chance, generators

    def step(self, running: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take one action, int64 (m,), in each of the games with the numbers `running`, int64 (m,), all different.
        Return the rewards, float64 (m,), whether each game has ended, and its info["success"], both bool (m,)."""
        running = whole_numbers(running, len(self.codes), len(running), "games")
        actions = whole_numbers(actions, self.n_actions, len(running))
        if self._chance:
            actions = actions.copy()
            for i, game in enumerate(running):
                if self._generators[game].random() < self._chance:
                    actions[i] = self._generators[game].integers(self.n_actions)
        return self._step_all(self.codes, self._states, running, actions)
