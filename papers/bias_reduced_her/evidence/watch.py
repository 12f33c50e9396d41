"""How `lab.pages.watch` plays what this paper's DDPG has learnt on goal environments."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from lab.agents import part
from papers.bias_reduced_her import train, train_fetch
from papers.bias_reduced_her.agents.scaling import Scaler
from papers.bias_reduced_her.worlds.tasks import make_env

HEADLINE = ("Hand", "filtered-her")
CONFIGS = (train.Config, train_fetch.Config)
NEAR = dict(distance=1.3, azimuth=165.0, elevation=-50.0, lookat=np.array([1.36, 0.75, 0.45]))
"""Where the camera of a Fetch task stands: near enough to see the object, and so that the hand hides neither it nor the
goal."""


def player(config: train.Config, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    """The run's environment and act(observation, info, rng) -> action: greedy, as in evaluation."""
    drawn = dict(render_mode="rgb_array", default_camera_config=NEAR) if config.env.startswith("Fetch") else {}
    env: Any = make_env(config.env, **drawn)  # the others always draw
    if drawn:  # without the cross that marks where the hand is told to go
        model = env.unwrapped.model
        model.geom_rgba[model.geom_bodyid == model.body("robot0:mocap").id] = 0
    sizes = [env.observation_space[name].shape[0] for name in ("observation", "desired_goal")]
    agent = train.AGENTS[config.networks](sum(sizes), env.action_space.shape[0])
    agent.actor.load_state_dict(part(weights, "actor."))
    scale = Scaler(sum(sizes))
    scale.load(weights)

    def act(observation: dict[str, np.ndarray], info: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
        inputs = np.concatenate([observation["observation"], observation["desired_goal"]], dtype=np.float32)
        return agent.act(scale(inputs[None]))[0]

    return env, act
