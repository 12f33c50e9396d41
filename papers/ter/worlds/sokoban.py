"""The seven Sokoban tasks (App. D.3): every episode is a new level."""

from typing import Any

from envs.sokoban.game import BOX_REWARD, SOLVED_REWARD
from envs.sokoban.game import Sokoban as Game
from papers.ter.worlds.tiles import TileWorld, observation

TASKS = {
    # rows (as many columns, the ring of walls included) and boxes
    "5x5-1": (5, 1),
    "5x5-2": (5, 2),
    "6x6-1": (6, 1),
    "6x6-2": (6, 2),
    "6x6-3": (6, 3),
    "7x7-1": (7, 1),
    "7x7-2": (7, 2),
}


def make_env(config: Any, observation: str = "picture") -> Game:
    """Rooms of the config's task."""
    size, boxes = TASKS[config.env]
    return Game((size, size), boxes, pixels=config.pixels, observation=observation)


class Sokoban(TileWorld):
    """Rooms of one size and number of boxes."""

    def make_env(self, training: bool = True) -> Game:
        return make_env(self.config, observation(self.config))

    def return_range(self) -> tuple[float, float]:
        largest = SOLVED_REWARD + BOX_REWARD * self.env.boxes
        return -largest, largest
