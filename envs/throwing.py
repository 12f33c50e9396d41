"""Ball-throwing tasks with sparse rewards: Hand, HandWall and Robot.

    import gymnasium
    env = gymnasium.make("envs:Hand-v0")  # or HandWall-v0, Robot-v0

A gripper has to grab a ball and throw it into a black hole that lies outside its reach. The tasks are those of Manela
and Biess, "Bias-reduced hindsight experience replay with virtual goal prioritization" (2021), Appendix C, which gives
observations, actions, goals and rewards; every length, speed and time is our own (see README of that paper's room).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from envs.throwing_physics import (
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
    hand_step,
    robot_step,
)
from envs.throwing_view import View

GOAL_BOX = (0.65, 0.95, 0.2, 0.5)
"""Where black holes lie: x from, x to, y from, y to."""
TOLERANCE = 0.04
"""Success: the ball is nearer to the black hole than this."""
MAX_STEPS = 50
"""Steps per episode, with which the environments are registered."""
FASTEST = 4.0
"""No ball can be faster along x or y: bound of the observation space."""


class ThrowingTask(gymnasium.Env):
    """What the three tasks share. Subclasses say where the gripper and the ball start and how they move.

    Observation: a dict of `observation` (the whole state), `achieved_goal` (ball x, y) and `desired_goal` (black hole
    x, y), all float32. Reward: 0 when the ball is in the black hole, else -1. The episode terminates at success: the
    black hole swallows the ball. `info["is_success"]` says so.

    `reset(options=...)` takes `held` (does the gripper hold the ball? else one time in two) and `goal` (x, y).
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
        """`goal_box`: x from, x to, y from, y to. ValueError when the gripper could reach into it, or it is empty."""
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

    # --- what the tasks differ in -------------------------------------------------------------------------------------

    @classmethod
    def distance_to_workspace(cls, box: tuple[float, float, float, float]) -> float:
        """Distance between what the gripper can reach and `box` (x from, x to, y from, y to); 0 when they overlap."""
        raise NotImplementedError

    def place(self, held: bool) -> None:
        """Write a random initial state into `self.state`."""
        raise NotImplementedError

    def move(self, action: np.ndarray) -> None:
        """Advance `self.state` by one step."""
        raise NotImplementedError

    def features(self) -> np.ndarray:
        """The state as the learner sees it, float32."""
        return self.state.astype(np.float32)

    # --- gymnasium ----------------------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        options = options or {}
        if unknown := options.keys() - {"held", "goal"}:
            raise ValueError(f"unknown reset options {sorted(unknown)}: right are held and goal")
        held = self.np_random.random() < 0.5
        goal = self.np_random.uniform(self.goal_low, self.goal_high)
        self.place(bool(options.get("held", held)))
        self.goal = np.asarray(options.get("goal", goal), np.float32)
        if self.goal.shape != (2,) or not ((self.goal >= 0) & (self.goal <= 1)).all():
            raise ValueError(f"goal must be x, y within the unit square, not {options['goal']!r}")
        if self.render_mode == "human":
            self.render()
        return self._observe(), {"is_success": False}

    def step(self, action):
        self.move(np.asarray(action, np.float64))
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
        features = self.features()
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
    """A hand that moves freely in a box on the floor. Its state is that of `throwing_physics.hand_step`."""

    low = [0, 0, -HAND_SPEED, -HAND_SPEED, 0, 0, 0, -FASTEST, -FASTEST]
    high = [1, 1, HAND_SPEED, HAND_SPEED, 1, 1, 1, FASTEST, FASTEST]
    ball = slice(5, 7)

    @classmethod
    def distance_to_workspace(cls, box):
        x_low, x_high, y_low, y_high = WORKSPACE
        dx = max(box[0] - x_high, x_low - box[1], 0.0)
        dy = max(box[2] - y_high, y_low - box[3], 0.0)
        return math.hypot(dx, dy)

    def place(self, held):
        x_low, x_high, y_low, y_high = WORKSPACE
        state, rng = self.state, self.np_random
        state[:] = 0.0
        state[0:2] = rng.uniform(x_low, x_high), rng.uniform(y_low, y_high)
        on_ground = rng.uniform(x_low, x_high), 0.0
        state[4], state[5:7] = held, state[0:2] if held else on_ground

    def move(self, action):
        hand_step(self.state, action, *self.wall)


class HandWall(Hand):
    """`Hand` with a wall between the hand and the black holes, so high that no straight throw passes it."""

    wall = WALL


class Robot(ThrowingTask):
    """An arm with two joints. Its state is that of `throwing_physics.robot_step`.

    A learner sees the cosines and sines of the two angles in their place: 15 numbers.
    """

    low = [-1] * 4 + [0, 0, -JOINT_SPEED, -JOINT_SPEED, -FASTEST, -FASTEST, 0, 0, 0, -FASTEST, -FASTEST]
    high = [1] * 4 + [1, 1, JOINT_SPEED, JOINT_SPEED, FASTEST, FASTEST, 1, 1, 1, FASTEST, FASTEST]
    ball = slice(9, 11)
    falls_within = math.sqrt((2 * LINK) ** 2 - (2 * LINK - GRIP) ** 2)
    """From the shoulder's x, how far to either side the end-effector grabs a ball on the floor straight below it."""

    @classmethod
    def distance_to_workspace(cls, box):
        dx = max(box[0] - BASE[0], BASE[0] - box[1], 0.0)
        dy = max(box[2] - BASE[1], BASE[1] - box[3], 0.0)
        return max(math.hypot(dx, dy) - 2 * LINK, 0.0)

    def place(self, held):
        state, rng = self.state, self.np_random
        state[:] = 0.0
        state[0:2] = rng.uniform(-math.pi, math.pi, 2)
        state[2:4] = forward_kinematics(state[0], state[1], 0.0, 0.0)[:2]
        state[8], state[9:11] = held, state[2:4]
        while not held:  # anywhere in reach from where the ball falls to a place in reach
            ball = rng.uniform([-self.falls_within, -2 * LINK], [self.falls_within, 2 * LINK])
            if math.hypot(*ball) <= 2 * LINK:
                state[9:11] = BASE[0] + ball[0], BASE[1] + ball[1]
                break

    def move(self, action):
        robot_step(self.state, action)

    def features(self):
        state = self.state
        angles = np.cos(state[0]), np.cos(state[1]), np.sin(state[0]), np.sin(state[1])
        return np.concatenate([angles, state[2:]]).astype(np.float32)
