"""How `lab.pages.watch` plays what this paper's five learners have learnt."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch

from lab.run.errors import UserError
from papers.ref_er import train, train_acer, train_ppo
from papers.ref_er.agents.player import WhiteNoise
from papers.ref_er.agents.tasks import to_env
from papers.ref_er.memory.episode import seen

HEADLINE = ("Hopper-v5", "vracer-refer")
SCRIPTS: dict[type, Any] = {script.Config: script for script in (train, train_ppo, train_acer)}
CONFIGS = tuple(SCRIPTS)
NETWORKS = {"vracer": "network", "naf": "network", "ddpg": "actor", "ppo": "policy", "acer": "policy"}
"""Method -> its agent's network that acts."""


def player(config: Any, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    """The run's environment and act(observation, info, rng) -> action.

    Actions are drawn from the policy, whose returns the paper reports; those of DDPG and NAF, whose noise is there for
    exploration alone, are the policy's mean. UserError for weights that lack the units of states (App. B).
    """
    if "states" not in weights:
        raise UserError("weights.pt lacks the units of states: it comes from an older version; train the run again")
    trainer = SCRIPTS[type(config)].Trainer(config)  # knows which agent a config means
    agent, env, name = trainer.agent, trainer.player.env, NETWORKS[config.method]
    acting = dict(weights.get(name, weights))
    mean, inverse_std = (weights["states"][key].numpy() for key in ("mean", "inverse_std"))
    acting.pop("states", None)
    if "raw_std" in acting:
        with torch.no_grad():
            agent.raw_std.copy_(acting.pop("raw_std"))
    getattr(agent, name).load_state_dict(acting)
    explores = config.method in ("ddpg", "naf")

    env = Remembering(env)

    def act(observation: np.ndarray, info: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
        env.states.append((observation.astype(np.float32) - mean) * inverse_std)
        action, std, _ = agent.act(seen(env.states, trainer.player.window))
        return to_env(action if explores else action + WhiteNoise(rng)(std), env.action_space)  # type: ignore[arg-type]

    return env, act


class Remembering(gymnasium.Wrapper):
    """Keeps what was acted upon in an episode, for recurrent policies."""

    def __init__(self, env: gymnasium.Env):
        super().__init__(env)
        self.states: list[np.ndarray] = []

    def reset(self, **how: Any) -> tuple[Any, dict[str, Any]]:
        self.states = []
        return super().reset(**how)
