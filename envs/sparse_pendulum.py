"""The sparse pendulum: swing the rod up, hold it there, and be paid for nothing else.

    import gymnasium
    env = gymnasium.make("envs:SparsePendulum-v0")

The task is the "Pendulum*" of Oh et al., "Learning to sample with local and global contexts in experience replay
buffers" (2021), App. A.2: gymnasium's Pendulum-v1 with its cost replaced by a reward of 1 while the rod stays near the
top for long enough. The paper leaves two things open. Here, steps near the top count only *in a row*: if they only had
to add up, a random policy would often be paid. And actions lie in [-1, 1], one of the two ranges printed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control.pendulum import PendulumEnv, angle_normalize

from envs.actions import finite_numbers
from envs.reset_options import asked_number, check_names

NEAR = math.pi / 3
"""The rod counts as up within this many radians of upright, to either side."""
PATIENCE = 20
"""The first steps in a row near the top, which are not paid; every further one is."""
MAX_STEPS = 200
"""Steps per episode, set by the id's time limit. An episode can thus earn at most MAX_STEPS - PATIENCE = 180."""


class SparsePendulum(PendulumEnv):
    """Pendulum-v1 with a reward of 1 after more than `PATIENCE` steps in a row within `NEAR` of upright, else 0.

    Observation: cosine and sine of the angle and the angular velocity in radians per second, float32 [3]. It does not
    show how many steps in a row there have been, so the reward depends on more than observation and action.
    Action: float32 [1] in [-1, 1]; 1 is the largest torque, 2 N m. Start: any angle, velocity in [-1, 1]. Episodes
    never terminate; the time limit of the registered id truncates them.

    `reset(options=...)` takes Pendulum-v1's `x_init`, the largest angle of a start to either side, and `y_init`, its
    largest velocity.
    """

    def __init__(self, render_mode: str | None = None):
        super().__init__(render_mode=render_mode)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.steps_up = 0
        """Steps in a row, up to now, that ended near the top. The start itself does not count."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        check_names(options, ("x_init", "y_init"))
        for name, largest in (("x_init", math.pi), ("y_init", self.max_speed)):
            asked_number(name, options, 0.0, largest)
        self.steps_up = 0
        return super().reset(seed=seed, options=options)

    def step(self, action):
        finite_numbers(action, 1)  # a float32 action stays float32: the last digits depend on it
        observation, _, _, _, info = super().step(self.max_torque * np.asarray(action))  # clips; its cost is not used
        angle = angle_normalize(self.state[0])  # 0 is upright
        self.steps_up = self.steps_up + 1 if abs(angle) <= NEAR else 0
        return observation, float(self.steps_up > PATIENCE), False, False, info
