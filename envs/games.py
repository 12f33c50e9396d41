"""Games of one world side by side: an evaluation steps all that still run in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numba import njit


class Games:
    """`n` games that have begun, on the levels of `n` seeds: what `side_by_side` of MiniGrid and Sokoban returns.

    Each goes on exactly as an environment that was reset with its seed. It has no next episode.
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
        """step_all: the world's kernel, and `states` what it keeps of each game beside the codes. chance: that one of
        the `n_actions` is drawn, by the game's own generator, and carried out instead of what was asked for."""
        self.codes = codes
        """uint8 (n, rows, columns), the codes of each game's tiles as they are now: a view, which steps change."""
        self.n_actions = n_actions
        self._states, self._step_all, self._chance, self._generators = states, step_all, chance, generators

    def step(self, running: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One action, int64 (m,), in each of the games with the numbers `running`, int64 (m,), all of them different:
        rewards float64, whether the game has ended, terminated or truncated, and info["success"], both bool (m,)."""
        running, actions = np.asarray(running, np.int64), np.asarray(actions, np.int64)
        if running.shape != actions.shape:
            raise ValueError(f"{len(actions)} actions for {len(running)} games")
        for what, numbers, n in (("game", running, len(self.codes)), ("action", actions, self.n_actions)):
            if not _within(numbers, n):
                raise ValueError(f"{what}s are 0 to {n - 1}, not {numbers}")
        if self._chance:
            actions = actions.copy()
            for i, game in enumerate(running):
                if self._generators[game].random() < self._chance:
                    actions[i] = self._generators[game].integers(self.n_actions)
        return self._step_all(self.codes, self._states, running, actions)


@njit(cache=True)
def _within(numbers, n):
    """Are all of them 0 to n - 1? In NumPy this would cost as much as the games."""
    for number in numbers:
        if number < 0 or number >= n:
            return False
    return True
