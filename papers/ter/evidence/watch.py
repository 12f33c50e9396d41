"""How `lab.pages.watch` plays what this paper's scripts have trained on Sokoban and MiniGrid."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch

from common.networks import NatureTrunk
from envs.sokoban.game import Sokoban
from lab.run.errors import UserError
from papers.ter import train, train_sokoban
from papers.ter.agents.networks import CodeTrunk, Network
from papers.ter.worlds import minigrid, sokoban

HEADLINE = ("5x5-1", "ter")
CONFIGS = (train_sokoban.Config, train.Config)


def player(config: Any, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    """The run's environment and act(observation, info, rng) -> action.

    Greedy but for the share of random actions that the paper's evaluation has (App. C). UserError for runs on Atari.
    """
    env: Any = minigrid.make_env(config) if isinstance(config, train.Config) else _sokoban(config)
    codes = config.network == "codes"
    picture = env.observation_space.shape
    trunk = CodeTrunk(len(env.tiles), env.grid_shape, config.widths) if codes else NatureTrunk(picture)
    q = Network(trunk, int(env.action_space.n))
    q.load_state_dict(weights)

    def act(observation: np.ndarray, info: dict[str, Any], rng: np.random.Generator) -> int:
        if rng.random() < config.eval_noise:
            return int(rng.integers(env.action_space.n))
        if codes:
            return int(q(torch.from_numpy(info["tiles"])[None]).argmax())
        frame = torch.from_numpy(observation).permute(2, 0, 1).float() / 255
        return int(q(frame[None]).argmax())

    return env, act


def _sokoban(config: train_sokoban.Config) -> Sokoban:
    if config.env not in sokoban.TASKS:
        raise UserError(f"{config.env!r} is no task of Sokoban or MiniGrid; runs on others cannot be watched")
    return sokoban.make_env(config)
