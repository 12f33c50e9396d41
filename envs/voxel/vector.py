"""Many episodes of construction in lock-step: what `gymnasium.make_vec("envs:VoxelBuild-v0", num_envs=16)` makes.

Compiled calls advance and describe all episodes, bit for bit as the environments of `build` would, one by one. The step
after an episode's end begins the next one, whatever its action, as gymnasium's own vector environments do by default
(AutoresetMode.NEXT_STEP). With `autoreset_mode=AutoresetMode.DISABLED` nothing resets by itself, which helps if you
play n episodes until all have ended:

    envs = gymnasium.make_vec("envs:VoxelBuild-v0", num_envs=4, autoreset_mode=AutoresetMode.DISABLED)
    seen, info = envs.reset(seed=[7, 7, 8, 8])  # two pairs of siblings: the same seed, the same start and goal
    over = np.zeros(4, bool)
    while not over.all():
        seen, rewards, terminated, truncated, info = envs.step(actions)
        over = terminated | truncated

An episode that has ended then stays as it is, whatever its actions: each further step returns its last observation,
reward, flags and info again, until it is reset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from envs.actions import whole_numbers
from envs.reset_options import asked_array, asked_truths, autoreset_mode_of, check_names, new_streams
from envs.voxel.build import VoxelBuild, VoxelBuildEnv, small_voxel_build
from envs.voxel.kernels import N_ACTIONS


class VoxelBuildVector(VectorEnv):
    """`num_envs` = n episodes of one task, each with its own random stream.

    Observation: as the single environment's, [n, ...]; rewards [n], float64; `info["is_success"]` [n] and
    `info["achieved_before"]` [n, cells]. All arrays are the caller's own. A pickled copy continues bit for bit, even in
    the middle of episodes.

    `reset(seed=...)` takes a number (episode i gets seed + i), a list of n seeds, where None continues the episode's
    stream, or None for all. `reset(options=...)` takes `state` ([...] or [n, ...]), `goal` ([cells] or [n, cells]) and
    `reset_mask`: n truth values, which episodes are reset; the others stay as they are.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(
        self,
        num_envs: int = 1,
        picture: tuple[int, int] | None = None,
        max_steps: int = 100,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ):
        """picture: rows and columns of the observation's `picture`, None for none. autoreset_mode: NEXT_STEP or
        DISABLED, see the top of this file. ValueError for impossible settings."""
        self.metadata = self.metadata | {"autoreset_mode": autoreset_mode_of(autoreset_mode)}
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, not {num_envs}")
        self.task, self.pixels, self.num_envs = self._task(max_steps), picture, num_envs
        single = VoxelBuildEnv(self.task, picture=picture)
        self.single_observation_space, self.single_action_space = single.observation_space, single.action_space
        self.observation_space = batch_space(single.observation_space, num_envs)
        self.action_space = batch_space(single.action_space, num_envs)
        self.states = np.zeros((num_envs, *self.task.starts(1, np.random.default_rng(0)).shape[1:]), np.uint8)
        self.goals = np.zeros((num_envs, self.task.cells), np.float32)
        self.elapsed, self.terminated = np.zeros(num_envs, np.int64), np.zeros(num_envs, bool)
        self.before, self.rewards = np.zeros_like(self.goals), np.zeros(num_envs)
        """Builds before each episode's last step, and that step's reward."""
        self.streams: list[np.random.Generator] = []
        """One per episode; none before the first reset."""

    def _task(self, max_steps: int) -> VoxelBuild:
        return VoxelBuild(max_steps=max_steps)

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None):
        n, options = self.num_envs, options or {}
        check_names(options, ("state", "goal", "reset_mask"))
        states = self._asked("state", options, self.states, self.task.check)
        goals = self._asked("goal", options, self.goals, self.task.check_goal)
        mask = asked_truths("reset_mask", options["reset_mask"], n) if "reset_mask" in options else [True] * n
        self.streams = new_streams(self.streams, seed, mask)  # nothing changes before this line, nothing fails after it
        self._begin(np.flatnonzero(mask))
        for here, asked in ((self.states, states), (self.goals, goals)):
            if asked is not None:
                np.copyto(here, asked, where=np.array(mask)[:, None])
        return self._observed(self.task.achieved(self.states)), self._info()

    def _begin(self, which: np.ndarray) -> None:
        """Begin the next episodes in the places `which`, int64 [m]."""
        for i in which:
            self.states[i], self.goals[i] = (
                self.task.starts(1, self.streams[i])[0],
                self.task.goals(1, self.streams[i])[0],
            )
        self.elapsed[which], self.terminated[which] = 0, False

    def step(self, actions):
        actions = whole_numbers(actions, N_ACTIONS, self.num_envs)
        if not self.streams:
            raise ResetNeeded("call reset() before the first step")
        goes_on = ~self.terminated & (self.elapsed < self.task.max_steps)
        after = self.task.step(self.states, actions)
        if goes_on.all():
            self.before, self.states = self.task.achieved(self.states), after
        else:
            self.before[goes_on] = self.task.achieved(self.states[goes_on])
            self.states[goes_on] = after[goes_on]
        every, begins = np.ones(self.num_envs, bool), ~goes_on
        if autoreset := self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP and begins.any():
            self._begin(np.flatnonzero(begins))
        achieved = self.task.achieved(self.states)
        distances = self.task.distance(achieved, self.goals)
        gains = self.task.distance(self.before, self.goals) - distances
        self.rewards = np.where(goes_on, gains, self.rewards)
        self.elapsed += goes_on
        self.terminated |= goes_on & (distances <= self.task.tolerance)
        truncated = ~self.terminated & (self.elapsed >= self.task.max_steps)
        if autoreset:  # a fresh start is not the result of a step
            self.rewards[begins], self.before[begins], every[begins] = 0.0, 0.0, False
        info = self._info() | {"achieved_before": self.before.copy(), "_achieved_before": every}
        return self._observed(achieved), self.rewards.copy(), self.terminated.copy(), truncated, info

    def compute_distance(self, achieved_goal: np.ndarray, desired_goal: np.ndarray) -> np.ndarray:
        """Like the single environment's."""
        return self.task.distance(achieved_goal, desired_goal)

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any = None) -> np.ndarray:
        """Like the single environment's."""
        return self.task.reward(achieved_goal, desired_goal, info)

    def _asked(self, name: str, options: dict[str, Any], like: np.ndarray, check) -> np.ndarray | None:
        """Return the option `name` for n episodes, or for all alike, as an array like `like`; None without it.
        ValueError for what `check` refuses, or for another number of them."""
        if name not in options:
            return None
        asked = asked_array(name, options[name], (like.shape[1:], like.shape), like.dtype)
        for one in np.atleast_2d(asked):
            check(one)
        return asked

    def _observed(self, achieved: np.ndarray) -> dict[str, np.ndarray]:
        seen = {
            "observation": self.task.observe(self.states),
            "achieved_goal": achieved,
            "desired_goal": self.goals.copy(),
        }
        if self.pixels is not None:
            seen["picture"] = self.task.look(self.states, *self.pixels)
        return seen

    def _info(self) -> dict[str, np.ndarray]:
        """As in gymnasium's own vector environments: a value for each episode, and which episodes have one."""
        return {"is_success": self.terminated.copy(), "_is_success": np.ones(self.num_envs, bool)}


class SmallVoxelBuildVector(VoxelBuildVector):
    """The same in the small arena."""

    def __init__(
        self,
        num_envs: int = 1,
        picture: tuple[int, int] | None = None,
        max_steps: int = 40,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ):
        super().__init__(num_envs, picture, max_steps, autoreset_mode)

    def _task(self, max_steps: int) -> VoxelBuild:
        return small_voxel_build(max_steps)
