"""The paper's continuous tasks in the versions that gymnasium still has, and how these differ from the paper's."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
from Box2D import b2World
from gymnasium.wrappers import RescaleAction

from envs.mujoco_warnings import quiet_masses
from lab.run.errors import UserError

TASKS = {
    "SparsePendulum": "the paper's Pendulum*; whether its steps near upright must be consecutive is open there",
    "Pendulum-v1": "nothing: -v0 has the same dynamics",
    "LunarLanderContinuous-v3": "nothing that matters to training: -v2 had wider bounds declared",
    "BipedalWalker-v3": "every episode begins in a new world, so that it depends on its seed alone",
    "Hopper-v4": "a newer simulator",
    "Walker2d-v4": "a newer simulator",
    "Ant-v4": "27 observations instead of 111: without the 84 contact forces, which were always 0; a newer simulator",
}
"""Task -> how it differs from the paper's."""
IDS = {"SparsePendulum": "envs:SparsePendulum-v0"}


def make_env(name: str) -> gymnasium.Env:
    """The task `name`, one of TASKS or another id, with actions in [-1, 1].

    UserError unless its states and actions are vectors of real numbers and its episodes have a time limit.
    """
    try:
        with warnings.catch_warnings(), quiet_masses(name):
            # -v4 of the MuJoCo tasks has a successor, but is closest to -v3
            warnings.filterwarnings("ignore", ".*-v4 is out of date", DeprecationWarning)
            env = gymnasium.make(IDS.get(name, name), disable_env_checker=True)
    except (gymnasium.error.Error, ImportError) as error:
        raise UserError(f"unknown env {name!r} ({error}); choose from: {', '.join(TASKS)} or an installed id") from None
    states, actions = env.observation_space, env.action_space
    if not isinstance(actions, gymnasium.spaces.Box) or len(actions.shape) != 1:
        raise UserError(f"{name} has the actions {actions}; SAC and TD3 need continuous ones, a vector")
    if not isinstance(states, gymnasium.spaces.Box) or len(states.shape) != 1:
        raise UserError(f"{name} has the observations {states}; SAC and TD3 need vectors")
    if not np.all(np.isfinite(actions.low)) or not np.all(np.isfinite(actions.high)):
        raise UserError(f"{name} has unbounded actions {actions}; their range is needed as their unit")
    if env.spec is None or env.spec.max_episode_steps is None:
        raise UserError(f"{name} has no time limit, which is the unit of the time step that samplers see")
    if type(env.unwrapped).__name__ == "BipedalWalker":
        env = FreshWorld(env)
    return RescaleAction(env, np.float32(-1.0), np.float32(1.0))


class FreshWorld(gymnasium.Wrapper):
    """BipedalWalker that begins every episode in a new Box2D world, as LunarLander does.

    The original keeps one world, whose solver has memory: an episode then depends on those before it, not only on its
    seed, and an interrupted run would not resume exactly.
    """

    def reset(self, **options: Any):
        task: Any = self.unwrapped
        task._destroy()
        task.world = b2World()
        return self.env.reset(**options)
