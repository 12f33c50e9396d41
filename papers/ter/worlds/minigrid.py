"""The seven MiniGrid tasks (App. D.2)."""

from collections.abc import Callable
from typing import Any

from envs.minigrid.tasks import MiniGridTask
from papers.ter.topological import PseudoTerminalRoots, terminal_roots
from papers.ter.worlds.tiles import TileWorld, observation


def make_env(config: Any, observation: str = "picture") -> MiniGridTask:
    """The task in the variant that the config asks for."""
    return MiniGridTask(
        config.env, config.n_actions, config.random_action_probability, config.pseudo_terminal, observation=observation
    )


class MiniGrid(TileWorld):
    """A MiniGrid task."""

    def make_env(self, training: bool = True) -> MiniGridTask:
        return make_env(self.config, observation(self.config))

    def return_range(self) -> tuple[float, float]:
        return -self.env.max_steps, self.env.max_steps

    def choose_roots(self) -> Callable:
        c = self.config
        return PseudoTerminalRoots(c.kappa, c.standardise_returns) if c.pseudo_terminal else terminal_roots
