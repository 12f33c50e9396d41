"""The tasks that can be trained on: goal environments with continuous actions, several copies side by side."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from envs import fetch
from lab.run.errors import UserError

TASKS = {"Hand": "envs:Hand-v1", "HandWall": "envs:HandWall-v1", "Robot": "envs:Robot-v1"}
"""The paper's."""
FETCH = {name.removesuffix("-v4"): name for name in fetch.IDS}
"""Those that HER was published with, of gymnasium-robotics."""


def make_env(name: str, **settings: Any) -> gymnasium.Env:
    """The task called `name`. UserError unless it is a goal environment with continuous actions in [-1, 1]."""
    make = fetch.make if name.startswith("Fetch") else gymnasium.make
    try:
        env = make((TASKS | FETCH).get(name, name), disable_env_checker=True, **settings)
    except (gymnasium.error.Error, ModuleNotFoundError) as error:
        if getattr(error, "name", "") == "gymnasium_robotics":
            raise UserError(str(error)) from None
        right = ", ".join([*TASKS, *FETCH])
        raise UserError(f"unknown env {name!r} ({error}); choose from: {right} or an installed id") from None
    space, actions = env.observation_space, env.action_space
    names = {"observation", "achieved_goal", "desired_goal"}
    if not isinstance(space, gymnasium.spaces.Dict) or not names <= set(space.spaces):
        raise UserError(f"{name} is no goal environment: its observations need {', '.join(sorted(names))}")
    if not hasattr(env.unwrapped, "compute_reward"):
        raise UserError(f"{name} has no compute_reward(achieved, desired, info), which hindsight needs")
    if not isinstance(actions, gymnasium.spaces.Box) or not (np.all(actions.low == -1) and np.all(actions.high == 1)):
        raise UserError(f"{name} needs continuous actions in [-1, 1], not {actions}")
    return env


def make_worlds(name: str, n: int) -> VectorEnv:
    """n copies of the task to play episodes side by side: in lock-step where the task offers that, else one by one.

    Callers ignore what a copy does after the end of its episode, until they reset all copies.
    """
    env = make_env(name)
    if fetch.is_fetch(env):
        return fetch.FetchVector(env, n)
    spec: Any = copy.copy(env.spec)
    if spec.vector_entry_point is not None:
        return gymnasium.make_vec(spec, num_envs=n, autoreset_mode=AutoresetMode.DISABLED)
    spec.disable_env_checker = True
    # A step after the end of an episode must not be an error, as it is in the other mode.
    options = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    return gymnasium.make_vec(spec, num_envs=n, vectorization_mode="sync", vector_kwargs=options)
