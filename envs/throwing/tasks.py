"""Ball-throwing tasks with sparse rewards: Hand, HandWall and Robot.

    import gymnasium
    env = gymnasium.make("envs:Hand-v1")  # or HandWall-v1, Robot-v1
    envs = gymnasium.make_vec("envs:Hand-v1", num_envs=16)  # many episodes in lock-step, see vector.py

A gripper has to grab a ball and throw it into a black hole that lies outside its reach. The tasks are those of Manela
and Biess, "Bias-reduced hindsight experience replay with virtual goal prioritization" (2021), Appendix C, which gives
observations, actions, goals and rewards; every length, speed and time is our own (see NOTEBOOK.md in that paper's
room).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from envs.actions import finite_numbers
from envs.reset_options import asked_goals, asked_truths, check_names
from envs.throwing.physics import (
    BASE,
    DT,
    GRIP,
    HAND_SPEED,
    JOINT_SPEED,
    LINK,
    NO_WALL,
    WALL,
    WORKSPACE,
    forward_kinematics,
    hand_features,
    hand_step,
    robot_features,
    robot_step,
)
from envs.throwing.view import View

GOAL_BOX = (0.65, 0.95, 0.2, 0.5)
"""Where black holes lie: x from, x to, y from, y to."""
TOLERANCE = 0.04
"""Success: the ball is nearer to the black hole than this."""
MAX_STEPS = 50
"""Steps per episode in the registered environments."""
FASTEST = 4.0
"""No ball can be faster along x or y: bound of the observation space."""


class ThrowingTask(gymnasium.Env):
    """Base of the three tasks. Subclasses say where the gripper and the ball start and how they move.

    Observation: a dict of `observation` (the whole state), `achieved_goal` (ball x, y) and `desired_goal` (black hole
    x, y), all float32. Reward: 0 when the ball is in the black hole, else -1. The episode terminates at success: the
    black hole swallows the ball. `info["is_success"]` says so.

    `reset(options=...)` takes `held` (does the gripper hold the ball? by default, one time in two) and `goal` (x, y).
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": round(1 / DT)}
    wall: tuple[float, float] = NO_WALL
    low: ClassVar[list[float]]
    high: ClassVar[list[float]]
    ball: ClassVar[slice]
    """Where the state holds the ball's position."""

    def __init__(
        self,
        render_mode: str | None = None,
        goal_box: tuple[float, float, float, float] = GOAL_BOX,
        tolerance: float = TOLERANCE,
    ):
        """`goal_box`: x from, x to, y from, y to. ValueError if the gripper could reach into it, or it is empty."""
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']}, not {render_mode!r}")
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance must lie in (0, 1), not {tolerance}")
        x_low, x_high, y_low, y_high = goal_box
        if not (0 <= x_low < x_high <= 1 and 0 <= y_low < y_high <= 1):
            raise ValueError(f"goal_box must be x from, x to, y from, y to within the unit square, not {goal_box}")
        if self.distance_to_workspace(goal_box) <= tolerance:
            raise ValueError(f"goal_box {goal_box} overlaps the workspace: its goals could be met without throwing")
        self.render_mode, self.goal_box, self.tolerance = render_mode, tuple(goal_box), float(tolerance)
        self.goal_low, self.goal_high = np.array([x_low, y_low]), np.array([x_high, y_high])
        square = spaces.Box(0.0, 1.0, (2,), np.float32)
        self.observation_space = spaces.Dict(
            observation=spaces.Box(np.array(self.low, np.float32), np.array(self.high, np.float32)),
            achieved_goal=square,
            desired_goal=square,
        )
        self.action_space = spaces.Box(-1.0, 1.0, (3,), np.float32)
        self.state = np.zeros(self.ball.stop + 2)
        self.goal = np.zeros(2, np.float32)
        self._view: View | None = None

    # --- how the tasks differ -----------------------------------------------------------------------------------------

    @classmethod
    def distance_to_workspace(cls, box: tuple[float, float, float, float]) -> float:
        """Distance between what the gripper can reach and `box` (x from, x to, y from, y to); 0 when they overlap."""
        raise NotImplementedError

    def place(self, state: np.ndarray, rng: np.random.Generator, held: bool) -> None:
        """Write a random initial state into `state`."""
        raise NotImplementedError

    def move(self, action: np.ndarray) -> None:
        """Advance `self.state` by one step."""
        raise NotImplementedError

    def write_features(self, out: np.ndarray) -> None:
        """Write the state as the learner sees it into `out`, float32."""
        raise NotImplementedError

    # --- gymnasium ----------------------------------------------------------------------------------------------------

    def begin(self, state: np.ndarray, rng: np.random.Generator, held: bool | None = None) -> tuple[float, float]:
        """Write a random initial state into `state`, with the ball `held` or, if None, one time in two; return a goal.

        Neither the goal nor the gripper's place depends on `held`.
        """
        even, x, y = rng.random(3).tolist()
        self.place(state, rng, even < 0.5 if held is None else held)
        x_low, x_high, y_low, y_high = self.goal_box
        return x_low + (x_high - x_low) * x, y_low + (y_high - y_low) * y

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        options = options or {}
        check_names(options, ("held", "goal"))
        wish = asked_goals(options, (2,))
        held = asked_truths("held", options["held"], None)[0] if "held" in options else None
        super().reset(seed=seed)
        goal = self.begin(self.state, self.np_random, held)
        self.goal = np.array(goal, np.float32) if wish is None else wish
        if self.render_mode == "human":
            self.render()
        return self._observe(), {"is_success": False}

    def step(self, action):
        self.move(finite_numbers(action, 3))
        observation = self._observe()
        reward = float(self.compute_reward(observation["achieved_goal"], self.goal))
        if self.render_mode == "human":
            self.render()
        return observation, reward, reward == 0.0, False, {"is_success": reward == 0.0}

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any = None) -> np.ndarray:
        """0 where the ball [..., 2] is nearer than the tolerance to the goal [..., 2], else -1: float64 [...]."""
        dx = np.subtract(achieved_goal[..., 0], desired_goal[..., 0], dtype=np.float64)
        dy = np.subtract(achieved_goal[..., 1], desired_goal[..., 1], dtype=np.float64)
        return (dx * dx + dy * dy < self.tolerance * self.tolerance) - 1.0

    def _observe(self) -> dict[str, np.ndarray]:
        features = np.empty(len(self.low), np.float32)
        self.write_features(features)
        return {"observation": features, "achieved_goal": features[-4:-2].copy(), "desired_goal": self.goal.copy()}

    def render(self):
        """Show the scene in a window ("human"), or return it as uint8 [height, width, 3] ("rgb_array")."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: gymnasium.make(..., render_mode='rgb_array')")
            return None
        if self._view is None:
            self._view = View(self, window=self.render_mode == "human")
        return self._view.draw()

    def close(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None


class Hand(ThrowingTask):
    """A hand that moves freely in a box on the floor. Its state is that of `physics.hand_step`."""

    low = [0, 0, -HAND_SPEED, -HAND_SPEED, 0, 0, 0, -FASTEST, -FASTEST]
    high = [1, 1, HAND_SPEED, HAND_SPEED, 1, 1, 1, FASTEST, FASTEST]
    ball = slice(5, 7)

    @classmethod
    def distance_to_workspace(cls, box):
        x_low, x_high, y_low, y_high = WORKSPACE
        dx = max(box[0] - x_high, x_low - box[1], 0.0)
        dy = max(box[2] - y_high, y_low - box[3], 0.0)
        return math.hypot(dx, dy)

    def place(self, state, rng, held):
        x_low, x_high, y_low, y_high = WORKSPACE
        x, y, ball_x = rng.random(3).tolist()
        x, y, ball_x = x_low + (x_high - x_low) * x, y_low + (y_high - y_low) * y, x_low + (x_high - x_low) * ball_x
        state[:] = (x, y, 0.0, 0.0, 1.0, x, y, 0.0, 0.0) if held else (x, y, 0.0, 0.0, 0.0, ball_x, 0.0, 0.0, 0.0)

    def move(self, action):
        hand_step(self.state, action, *self.wall)

    def write_features(self, out):
        hand_features(self.state, out)


class HandWall(Hand):
    """`Hand` with a wall between the hand and the black holes, so high that no straight throw passes it."""

    wall = WALL


class Robot(ThrowingTask):
    """An arm with two joints. Its state is that of `physics.robot_step`.

    A learner sees the cosines and sines of the two angles instead: 15 numbers.
    """

    low = [-1] * 4 + [0, 0, -JOINT_SPEED, -JOINT_SPEED, -FASTEST, -FASTEST, 0, 0, 0, -FASTEST, -FASTEST]
    high = [1] * 4 + [1, 1, JOINT_SPEED, JOINT_SPEED, FASTEST, FASTEST, 1, 1, 1, FASTEST, FASTEST]
    ball = slice(9, 11)
    falls_within = math.sqrt((2 * LINK) ** 2 - (2 * LINK - GRIP) ** 2)
    """How far to either side of the shoulder's x the end-effector can grab a ball on the floor straight below it."""

    @classmethod
    def distance_to_workspace(cls, box):
        dx = max(box[0] - BASE[0], BASE[0] - box[1], 0.0)
        dy = max(box[2] - BASE[1], BASE[1] - box[3], 0.0)
        return max(math.hypot(dx, dy) - 2 * LINK, 0.0)

    def place(self, state, rng, held):
        angle_1, angle_2 = (math.pi * (2.0 * share - 1.0) for share in rng.random(2).tolist())
        x, y, _, _ = forward_kinematics(angle_1, angle_2, 0.0, 0.0)
        ball_x, ball_y = x, y
        while not held:  # anywhere in reach from which the ball falls to a place in reach
            across, up = (2.0 * share - 1.0 for share in rng.random(2).tolist())
            across, up = self.falls_within * across, 2 * LINK * up
            if math.hypot(across, up) <= 2 * LINK:
                ball_x, ball_y = BASE[0] + across, BASE[1] + up
                break
        state[:] = angle_1, angle_2, x, y, 0.0, 0.0, 0.0, 0.0, held, ball_x, ball_y, 0.0, 0.0

    def move(self, action):
        robot_step(self.state, action)

    def write_features(self, out):
        robot_features(self.state, out)
