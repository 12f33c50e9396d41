"""Environments that agents with continuous actions must refuse, by what is said of each."""

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.pendulum import PendulumEnv
from gymnasium.spaces import Box, Dict


class Odd(PendulumEnv):
    """A pendulum with other spaces."""

    def __init__(self, observation_space=None, action_space=None):
        super().__init__()
        self.observation_space = observation_space or self.observation_space
        self.action_space = action_space or self.action_space


ODD = {
    "OddPixels-v0": dict(observation_space=Box(0, 255, (8, 8, 3), np.uint8)),
    "OddGoal-v0": dict(observation_space=Dict(goal=Box(-1, 1, (2,)))),
    "OddMatrix-v0": dict(action_space=Box(-1, 1, (2, 2))),
    "OddAbove-v0": dict(action_space=Box(np.array([-1, -1], "f4"), np.array([1, np.inf], "f4"))),
    "OddBelow-v0": dict(action_space=Box(np.array([-1, -np.inf], "f4"), np.array([1, 1], "f4"))),
}
for name, spaces in ODD.items():
    gymnasium.register(name, lambda **kwargs: Odd(**kwargs), max_episode_steps=9, kwargs=spaces)
gymnasium.register("OddEndless-v0", lambda: Odd())

UNFIT = [
    ("CartPole-v1", r"^CartPole-v1 has the actions Discrete\(2\); .* need continuous ones, a vector$"),
    ("OddMatrix-v0", "^OddMatrix-v0 has the actions .*; .* need continuous ones, a vector$"),
    ("OddPixels-v0", "^OddPixels-v0 has the observations .*; .* need vectors$"),
    ("OddGoal-v0", "^OddGoal-v0 has the observations .*; .* need vectors$"),
    ("OddAbove-v0", "^OddAbove-v0 has unbounded actions"),
    ("OddBelow-v0", "^OddBelow-v0 has unbounded actions"),
    ("OddEndless-v0", "^OddEndless-v0 has no time limit"),
    *((name, f"^unknown env '{name}' .*; choose from: .* or an installed id$")
      for name in ("Hoper-v4", "Hopper-v99", "no such", "nothing_here:Task-v0", "")),
]  # fmt: skip
"""Name -> the one line that is said, as a regular expression."""
