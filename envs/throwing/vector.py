"""Many episodes of a ball-throwing task in lock-step: what `gymnasium.make_vec("envs:Hand-v1", num_envs=16)` makes.

One compiled call advances all episodes, bit for bit as the environments of `throwing` would, one by one. The step after
an episode's end begins the next one, whatever its action, as gymnasium's own vector environments do by default
(AutoresetMode.NEXT_STEP). With `autoreset_mode=AutoresetMode.DISABLED` nothing resets by itself, which helps if you
play n episodes until all have ended:

    envs = gymnasium.make_vec("envs:Hand-v1", num_envs=3, autoreset_mode=AutoresetMode.DISABLED)
    seen, info = envs.reset(seed=[7, 8, 9])  # three episodes, each like the single environment's with that seed
    over = np.zeros(3, bool)
    while not over.all():
        seen, rewards, terminated, truncated, info = envs.step(actions)
        over = terminated | truncated

An episode that has ended then stays as it is, whatever its actions: each further step returns its last observation,
reward, flags and `is_success` again, until it is reset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numba import njit

from common.numba_cache import njit_calling
from envs.actions import finite_rows
from envs.reset_options import asked_goals, asked_truths, autoreset_mode_of, check_names, new_streams
from envs.throwing import physics
from envs.throwing.physics import hand_features, hand_step, robot_features, robot_step
from envs.throwing.tasks import GOAL_BOX, MAX_STEPS, TOLERANCE, Hand, HandWall, Robot, ThrowingTask


class ThrowingVector(VectorEnv):
    """Base of the three vector environments: `num_envs` = n episodes of `task`, each with its own random stream.

    Observation: a dict of `observation` [n, ...], `achieved_goal` [n, 2] and `desired_goal` [n, 2], float32; rewards
    [n], float64; `info["is_success"]` [n]. All arrays are the caller's own. A pickled copy continues bit for bit, even
    in the middle of episodes.

    `reset(seed=...)` takes a number (episode i gets seed + i), a list of n seeds, where None continues the episode's
    stream, or None for all. `reset(options=...)` takes `held` (a truth value, or n), `goal` ([2] or [n, 2]) and
    `reset_mask`: n truth values, which episodes are reset; the others stay as they are.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}
    kind: ClassVar[type[ThrowingTask]]
    advance: ClassVar[Callable[..., None]]
    write_features: ClassVar[Callable[..., None]]

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int = MAX_STEPS,
        goal_box: tuple[float, float, float, float] = GOAL_BOX,
        tolerance: float = TOLERANCE,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ):
        """Settings are those of the single task; autoreset_mode: NEXT_STEP or DISABLED, see the top of this file.
        ValueError for impossible ones."""
        self.metadata = self.metadata | {"autoreset_mode": autoreset_mode_of(autoreset_mode)}
        if num_envs < 1 or max_episode_steps < 1:
            raise ValueError(f"num_envs and max_episode_steps must be at least 1, not {num_envs}, {max_episode_steps}")
        self.task = task = self.kind(goal_box=goal_box, tolerance=tolerance)
        self.num_envs, self.max_episode_steps = num_envs, max_episode_steps
        self.goal_low, self.goal_high, self.compute_reward = task.goal_low, task.goal_high, task.compute_reward
        self.single_observation_space, self.single_action_space = task.observation_space, task.action_space
        self.observation_space = batch_space(task.observation_space, num_envs)
        self.action_space = batch_space(task.action_space, num_envs)
        self.states = np.zeros((num_envs, len(task.state)))
        self.goals = np.zeros((num_envs, 2), np.float32)
        self.elapsed, self.terminated = np.zeros(num_envs, np.int64), np.zeros(num_envs, bool)
        self.streams: list[np.random.Generator] = []
        """One per episode; none before the first reset."""

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None):
        n, options = self.num_envs, options or {}
        check_names(options, ("held", "goal", "reset_mask"))
        goals = asked_goals(options, (n, 2), (2,))
        held = asked_truths("held", options["held"], n) if "held" in options else [None] * n
        mask = asked_truths("reset_mask", options["reset_mask"], n) if "reset_mask" in options else [True] * n
        self.streams = new_streams(self.streams, seed, mask)  # nothing changes before this line, nothing fails after it
        self._begin(np.flatnonzero(mask).tolist(), held)
        if goals is not None:
            np.copyto(self.goals, goals, where=np.array(mask)[:, None])
        features = np.empty((n, len(self.task.low)), np.float32)
        for state, out in zip(self.states, features):
            self.write_features(state, out)
        return self._observed(features, features[:, -4:-2].copy()), self._info()

    def _begin(self, which: list[int], held: Sequence[bool | None]) -> None:
        """Begin the next episodes in the places `which`; held: for all n places."""
        for i in which:
            self.goals[i] = self.task.begin(self.states[i], self.streams[i], held[i])
        self.elapsed[which], self.terminated[which] = 0, False

    def step(self, actions):
        n = self.num_envs
        actions = finite_rows(actions, n, 3)
        if not self.streams:
            raise ResetNeeded("call reset() before the first step")
        ended: list[int] = []
        if self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP:
            ended = np.flatnonzero(self.terminated | (self.elapsed >= self.max_episode_steps)).tolist()
        features, achieved = np.empty((n, len(self.task.low)), np.float32), np.empty((n, 2), np.float32)
        rewards, truncated = np.empty(n), np.empty(n, bool)
        self.advance(
            self.states, actions, self.goals, self.elapsed, self.terminated, self.max_episode_steps,
            self.task.tolerance, self.task.wall, features, achieved, rewards, truncated,
        )  # fmt: skip
        if ended:
            self._begin(ended, [None] * n)
            for i in ended:
                self.write_features(self.states[i], features[i])
            achieved[ended], rewards[ended], truncated[ended] = features[ended, -4:-2], 0.0, False
        return self._observed(features, achieved), rewards, self.terminated.copy(), truncated, self._info()

    def _observed(self, features: np.ndarray, achieved: np.ndarray) -> dict[str, np.ndarray]:
        return {"observation": features, "achieved_goal": achieved, "desired_goal": self.goals.copy()}

    def _info(self) -> dict[str, np.ndarray]:
        """As in gymnasium's own vector environments: a value for each episode, and which episodes have one."""
        return {"is_success": self.terminated.copy(), "_is_success": np.ones(self.num_envs, bool)}


@njit_calling(physics)
def _advance_hands(
    states, actions, goals, elapsed, terminated, limit, tolerance, wall, features, achieved, rewards, truncated
):
    """Advance the states [n, 9] of running episodes by one step, in place, and write the observations of all."""
    for i in range(len(states)):
        goes_on = not terminated[i] and elapsed[i] < limit
        if goes_on:
            hand_step(states[i], actions[i], wall[0], wall[1])
        hand_features(states[i], features[i])
        _judge(i, goes_on, goals, elapsed, terminated, limit, tolerance, features, achieved, rewards, truncated)


@njit_calling(physics)
def _advance_robots(
    states, actions, goals, elapsed, terminated, limit, tolerance, wall, features, achieved, rewards, truncated
):
    """The same for the states [n, 13] of robots, which have no wall."""
    for i in range(len(states)):
        goes_on = not terminated[i] and elapsed[i] < limit
        if goes_on:
            robot_step(states[i], actions[i])
        robot_features(states[i], features[i])
        _judge(i, goes_on, goals, elapsed, terminated, limit, tolerance, features, achieved, rewards, truncated)


@njit(cache=True)
def _judge(i, goes_on, goals, elapsed, terminated, limit, tolerance, features, achieved, rewards, truncated):
    """Write ball, reward and end of episode i, from its features: the same again if it had already ended."""
    achieved[i] = features[i, -4:-2]
    dx, dy = np.float64(achieved[i, 0]) - goals[i, 0], np.float64(achieved[i, 1]) - goals[i, 1]
    success = dx * dx + dy * dy < tolerance * tolerance
    rewards[i] = 0.0 if success else -1.0
    if goes_on:
        elapsed[i] += 1
        terminated[i] = success
    truncated[i] = elapsed[i] >= limit


class HandVector(ThrowingVector):
    """`throwing.Hand`, n times."""

    kind, advance, write_features = Hand, staticmethod(_advance_hands), staticmethod(hand_features)


class HandWallVector(HandVector):
    """`throwing.HandWall`, n times."""

    kind = HandWall


class RobotVector(ThrowingVector):
    """`throwing.Robot`, n times."""

    kind, advance, write_features = Robot, staticmethod(_advance_robots), staticmethod(robot_features)
