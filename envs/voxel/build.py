"""Construction in a voxel world: walk over a small arena, turn, look, break and place blocks until the goal stands.

    import gymnasium
    env = gymnasium.make("envs:VoxelBuild-v0")  # 11 x 11 x 3 cells, 100 steps, 4806 goals
    env = gymnasium.make("envs:VoxelBuildSmall-v0")  # 7 x 7 x 2 cells, 40 steps, 432 goals
    env = gymnasium.make("envs:VoxelBuild-v0", picture=(80, 120))  # and what the agent sees
    envs = gymnasium.make_vec("envs:VoxelBuild-v0", num_envs=16)  # in lock-step, see vector.py

A surrogate for the construction task of Trott et al., "Keeping your distance: solving sparse reward tasks using
self-balancing shaped rewards" (2019), Sec. 4 and App. F, "3D construction in Minecraft", which was played in Minecraft
through Malmo and was not published. As on the pixel grid, the distance to the goal misleads a learner: almost any block
that a beginner places is wrong, and the first thing it learns is to place none.

The paper gives the arena of 11 x 11 x 3 cells, the start at its centre with 64 blocks of each of 3 materials, 21
actions, 100 steps, goals of one material that are a rectangle 1 or 2 blocks high and have at most 34 blocks, 4806 of
them, their distance (the number of cells that differ), success at 0, and as reward the change of that distance.

All else is ours:
 1. Goals are hollow rectangles with sides of 4 to 11: of the readings that were tried (hollow or filled, limits of the
    sides), the only one with exactly 4806 goals. Each of them is equally likely.
 2. Actions. The paper draws 17: moving in 4 directions, 4 turns, 5 pitches, 1 to break, 3 to place. Ours move by one
    cell or by two, which makes 21.
 3. Places are whole cells, headings 8; turns are by 45 and 90 degrees; pitches 30 degrees up, 0, and 30, 45 and 60
    down. In the paper these are continuous.
 4. The eye is 1.62 cells above the feet, as in Minecraft; a block 4 cells away along the ray can still be reached.
 5. The agent is two cells high, steps up onto one block, falls down from any height unhurt, and passes diagonally only
    where it has room beside its way. It starts facing north, looking level.
 6. It cannot leave the arena, nor place blocks outside; the arena is empty at the start. In the paper it is in one of
    several worlds, in which the agent may go where it likes and find other blocks.
 7. A broken block returns to the inventory.
 8. Besides the cuboid, the observation has the pose and what is aimed at, which Minecraft shows by a frame in the
    picture. The picture of 80 x 120 pixels is drawn on demand, by our own ray-casting.
 9. The reward has no 1 for success; an episode ends at success.
10. The small arena, 7 x 7 x 2 with goals of height 1 and sides of 3 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from envs.actions import whole_numbers
from envs.goal_task import GoalEnv, GoalTask
from envs.voxel.eye import look
from envs.voxel.goals import hollow_rectangles
from envs.voxel.kernels import BAG, MATERIALS, N_ACTIONS, PITCH, PITCHES, POSE, X, Y, Z, advance, describe

BLOCKS = 64
"""Blocks of each material at the start."""
LARGEST = (32, 8)
"""Largest size and height of an arena."""


class VoxelBuild(GoalTask):
    """An arena of `size` x `size` x `height` cells, and hollow rectangles to build in it.

    State: uint8 [cells + 8]: the cells, 0 air or 1 to 3 a material, then x, y, z, heading, pitch and three numbers of
    blocks left, as in `kernels`. Goal: float32 [cells], cell by cell as in a state. The distance is the number of cells
    that differ; success means none; where the agent is does not matter. There is no noise.

    Observation: float32, these one after the other (`parts` has their slices):
    `build` [cells], as in a goal; `marks` [cells], 1 for the cell that a block placed now would fill, 2 for the one
    that breaking now would clear, 3 for those that the agent is in; `pose`, one-hot x, y, z, heading and pitch, and
    what is left of each material, from 0 to 1.
    """

    n_actions = N_ACTIONS
    action_range = None
    tolerance = 0.0

    def __init__(
        self,
        size: int = 11,
        height: int = 3,
        sides: tuple[int, int] = (4, 11),
        heights: tuple[int, int] = (1, 2),
        most_blocks: int = 34,
        max_steps: int = 100,
    ):
        """sides, heights: of goals, from and to. ValueError for an arena that is impossible or has no goals."""
        if not (3 <= size <= LARGEST[0] and 1 <= height <= LARGEST[1]):
            raise ValueError(f"size must be 3 to {LARGEST[0]} and height 1 to {LARGEST[1]}, not {size} and {height}")
        if max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, not {max_steps}")
        if most_blocks > BLOCKS:
            raise ValueError(f"most_blocks must be at most {BLOCKS}, what the agent has, not {most_blocks}")
        self.size, self.height, self.max_steps = size, height, max_steps
        self.every_goal = hollow_rectangles(size, height, sides, heights, most_blocks)
        """uint8 [number, height, size, size]"""
        self.cells = cells = size * size * height
        pose = 2 * size + height + 1 + 8 + len(PITCHES) + MATERIALS
        self.parts = {"build": slice(0, cells), "marks": slice(cells, 2 * cells), "pose": slice(2 * cells, None)}
        self.observation_shape, self.goal_shape = (2 * cells + pose,), (cells,)

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """All the same: an empty arena, the agent at its centre."""
        states = np.zeros((n, self.cells + POSE), np.uint8)
        pose = states[:, self.cells :]
        pose[:, [X, Y]], pose[:, PITCH], pose[:, BAG:] = self.size // 2, PITCHES.tolist().index(0.0), BLOCKS
        return states

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.every_goal[rng.integers(len(self.every_goal), size=n)].reshape(n, -1).astype(np.float32)

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """An action that cannot be done changes nothing. ValueError for unknown actions and impossible poses."""
        actions, after = whole_numbers(actions, N_ACTIONS, len(states)), np.array(states)
        i = advance(after, actions, self.size, self.height)
        if i >= 0:
            raise ValueError(f"cannot take action {actions[i]} with the pose {states[i, self.cells :].tolist()}")
        return after

    def observe(self, states: np.ndarray) -> np.ndarray:
        seen = np.empty((len(states), *self.observation_shape), np.float32)
        describe(states, self.size, self.height, float(BLOCKS), seen)
        return seen

    def look(self, states: np.ndarray, rows: int, columns: int) -> np.ndarray:
        """What the agents see: uint8 [n, rows, columns, 3]."""
        pictures = np.empty((len(states), rows, columns, 3), np.uint8)
        look(states, self.size, self.height, pictures)
        return pictures

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return states[:, : self.cells].astype(np.float32)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.not_equal(a, b).sum(axis=-1, dtype=np.float64)

    def contains(self, goal: np.ndarray) -> bool:
        """Whether it is made of materials, of each no more than there is."""
        counts = [np.count_nonzero(goal == material) for material in range(MATERIALS + 1)]
        return bool(sum(counts) == self.cells and max(counts[1:]) <= BLOCKS)

    def check(self, state: np.ndarray) -> None:
        """ValueError if no episode can begin like this: an agent outside, within blocks or in the air."""
        cells, pose = state[: self.cells], state[self.cells :]
        limits = np.array([self.size, self.size, self.height + 1, 8, len(PITCHES), *[BLOCKS + 1] * MATERIALS])
        if not (pose < limits).all():
            raise ValueError(f"impossible pose {pose.tolist()}: its numbers must be below {limits.tolist()}")
        if cells.max() > MATERIALS:
            raise ValueError(f"cells are 0 to {MATERIALS}, not {cells.max()}")
        column = cells.reshape(self.height, self.size, self.size)[:, int(pose[Y]), int(pose[X])]
        z = int(pose[Z])
        if column[z : z + 2].any() or (z > 0 and column[z - 1] == 0):
            raise ValueError(
                f"the agent at {pose[[X, Y, Z]].tolist()} must have two free cells, and stand on something"
            )

    def check_goal(self, goal: np.ndarray) -> None:
        """ValueError for a goal that nobody can build."""
        if not self.contains(goal):
            right = f"a goal has {self.cells} cells, 0 to {MATERIALS}, and at most {BLOCKS} of each material"
            raise ValueError(f"{right}; in this one, {np.count_nonzero(goal)} cells are not 0")

    def reward(self, achieved: np.ndarray, desired: np.ndarray, info: Any) -> np.ndarray:
        """The paper's reward, App. F: d(m(s), g) - d(m(s'), g), float64 [...]. info: of one step, or one for each of n
        steps, as in Stable-Baselines3. ValueError if the builds before the steps are missing."""
        single = info is None or isinstance(info, Mapping)
        infos = [info] if single else list(info)
        if not all(one and "achieved_before" in one for one in infos):
            raise ValueError(
                'the reward of a step needs info["achieved_before"], the build before it; Stable-Baselines3\'s '
                "HerReplayBuffer keeps it with copy_info_dict=True"
            )
        before = infos[0]["achieved_before"] if single else np.array([one["achieved_before"] for one in infos])
        return self.distance(before, desired) - self.distance(achieved, desired)

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        high = np.ones(self.observation_shape, np.float32)
        high[: 2 * self.cells] = 3.0  # materials, and marks
        goal_high = np.full(self.goal_shape, MATERIALS, np.float32)
        return np.zeros_like(high), high, np.zeros_like(goal_high), goal_high

    def picture(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Draw the arena and what is wrong in it on the left; the goal, and what the agent sees, on the right."""
        from envs.voxel.view import draw  # needs pygame, which training does without

        return draw(self, state, goal)


def check_picture(picture: tuple[int, int] | None) -> None:
    """ValueError unless it is rows and columns of a picture, or None."""
    if picture is not None and not (len(picture) == 2 and all(8 <= side <= 1024 for side in picture)):
        raise ValueError(f"picture must be rows and columns, each 8 to 1024, not {picture}")


class VoxelBuildEnv(GoalEnv):
    """One episode at a time: like any goal task but for the reward, and with a `picture` [rows, columns, 3] if wanted.

    The reward is how much nearer to the goal the step has brought the build: 1, 0 or -1, and 0 also if a block replaces
    air or air a block and both are wrong. `info["achieved_before"]` is the build before the step, from which
    `compute_reward` computes the reward for any other goal.
    """

    task: VoxelBuild

    def __init__(self, task: VoxelBuild, render_mode: str | None = None, picture: tuple[int, int] | None = None):
        check_picture(picture)
        super().__init__(task, render_mode)
        self.pixels = picture
        if picture is not None:
            seen: dict[str, Any] = dict(self.observation_space.spaces)  # type: ignore[attr-defined]
            self.observation_space = spaces.Dict(seen | {"picture": spaces.Box(0, 255, (*picture, 3), np.uint8)})

    def step(self, action):
        before = None if self.state is None else self.task.achieved(self.state[None])[0]
        seen, _, terminated, truncated, info = super().step(action)
        info["achieved_before"] = before
        reward = self.compute_reward(seen["achieved_goal"], self.goal, info)
        return seen, float(reward), terminated, truncated, info

    def compute_distance(self, achieved_goal: np.ndarray, desired_goal: np.ndarray) -> np.ndarray:
        """Cells that differ, float64 [...], of builds and goals [..., cells]."""
        return self.task.distance(achieved_goal, desired_goal)

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any = None) -> np.ndarray:
        """How much nearer builds [..., cells] are to goals than `info["achieved_before"]`: float64 [...]."""
        return self.task.reward(achieved_goal, desired_goal, info)

    def _observe(self) -> dict[str, np.ndarray]:
        seen = super()._observe()
        if self.pixels is not None:
            seen["picture"] = self.task.look(self.state[None], *self.pixels)[0]  # type: ignore[index]
        return seen


def small_voxel_build(max_steps: int = 40) -> VoxelBuild:
    """7 x 7 x 2 cells; rectangles of height 1 with sides of 3 to 5, at most 16 blocks."""
    return VoxelBuild(size=7, height=2, sides=(3, 5), heights=(1, 1), most_blocks=16, max_steps=max_steps)


def voxel_build_env(
    render_mode: str | None = None, picture: tuple[int, int] | None = None, max_steps: int = 100
) -> VoxelBuildEnv:
    """The paper's arena, one episode at a time."""
    return VoxelBuildEnv(VoxelBuild(max_steps=max_steps), render_mode, picture)


def small_voxel_build_env(
    render_mode: str | None = None, picture: tuple[int, int] | None = None, max_steps: int = 40
) -> VoxelBuildEnv:
    """`small_voxel_build`, one episode at a time."""
    return VoxelBuildEnv(small_voxel_build(max_steps), render_mode, picture)
