"""The paper's ten MuJoCo tasks in the versions that gymnasium keeps, and how they differ from those of the paper; and
the flow-control task."""

from __future__ import annotations

from dataclasses import dataclass, field

import gymnasium
import numpy as np

from envs.mujoco_warnings import quiet_masses  # and envs registers the flow-control task
from lab.run.errors import UserError


@dataclass(frozen=True)
class Task:
    """Options that bring a task nearer to the paper's -v2, and what still differs from it."""

    options: dict = field(default_factory=dict)
    differs: str = "nothing but the simulator's version"


_ALIVE = "no reward for being alive in the last step of a fall"
TASKS: dict[str, Task] = {
    "HumanoidStandup-v5": Task(differs="348 observations instead of 376: without those that are always 0"),
    "Humanoid-v5": Task(differs=f"348 observations instead of 376: without those that are always 0; {_ALIVE}"),
    "Ant-v5": Task(differs=f"105 observations instead of 111: without contact forces on the world; {_ALIVE}"),
    "Walker2d-v5": Task({"xml_file": "walker2d.xml"}, f"the old model, with unequal friction of the feet; {_ALIVE}"),
    "HalfCheetah-v5": Task(),
    "Reacher-v5": Task(differs="10 observations instead of 11: without one that is always 0; distance after the step"),
    "Swimmer-v5": Task(),
    "Hopper-v5": Task(differs=_ALIVE),
    "InvertedPendulum-v5": Task(differs=_ALIVE),
    "InvertedDoublePendulum-v5": Task(
        differs=f"9 observations instead of 11: without those that are always 0; {_ALIVE}"
    ),
}
"""The tasks of Figs. 1 to 5, in the order of the authors' scripts."""


FLOW = {"WakeFlow-v0": 16, "WakeFlow32-v0": 32, "WakeFlow64-v0": 64}
"""The flow-control task of Fig. 6 (envs/wake/flow.py), and how many cells of its grid a diameter has."""


def make_env(name: str) -> gymnasium.Env:
    """The task `name`, one of TASKS or another id. UserError unless states and actions are vectors of real numbers."""
    options = TASKS[name].options if name in TASKS else {}
    try:
        with quiet_masses(name):
            env = gymnasium.make(name, disable_env_checker=True, **options)
    except (gymnasium.error.Error, ImportError) as error:
        raise UserError(
            f"unknown env {name!r} ({error}); choose from: {', '.join((*TASKS, *FLOW))} or an installed id"
        ) from None
    states, actions = env.observation_space, env.action_space
    if not isinstance(actions, gymnasium.spaces.Box) or len(actions.shape) != 1:
        raise UserError(f"{name} has the actions {actions}; these methods need continuous ones, a vector")
    if not isinstance(states, gymnasium.spaces.Box) or len(states.shape) != 1:
        raise UserError(f"{name} has the observations {states}; these methods need vectors")
    if not np.all(np.isfinite(actions.low)) or not np.all(np.isfinite(actions.high)):
        raise UserError(f"{name} has unbounded actions {actions}; their range is needed as their unit")
    if env.spec is None or env.spec.max_episode_steps is None:
        raise UserError(f"{name} has no time limit, and an episode enters the memory when it is over")
    return env


def to_env(action: np.ndarray, space: gymnasium.spaces.Box) -> np.ndarray:
    """A policy's action [d] in the units of the task: -1 and 1 become the bounds; nothing is clipped (App. B)."""
    return space.low + 0.5 * (space.high - space.low) * (action + 1.0)
