"""How `lab.pages.watch` plays what this paper's SAC and TD3 have learnt."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from lab.agents import part
from papers.ners import train
from papers.ners.agents.sac import SAC
from papers.ners.agents.tasks import make_env
from papers.ners.agents.td3 import TD3

HEADLINE = ("SparsePendulum", "sac-ners")
CONFIGS = (train.Config,)


def player(config: train.Config, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    """The run's environment and act(observation, info, rng) -> action: the policy without noise, as in evaluation."""
    env: Any = make_env(config.env)
    learner = SAC if config.agent == "sac" else TD3
    agent = learner(env.observation_space.shape[0], env.action_space.shape[0])
    agent.actor.load_state_dict(part(weights, "actor."))

    def act(observation: np.ndarray, info: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
        return agent.act(np.asarray(observation, np.float32))

    return env, act
