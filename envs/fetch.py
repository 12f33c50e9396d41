"""The Fetch tasks of gymnasium-robotics on today's MuJoCo, and many of their episodes side by side.

    from envs import fetch
    env = fetch.make("FetchPush-v4")       # the package's own environment
    envs = fetch.FetchVector(env, 16)      # 16 episodes of it in lock-step

A robot's gripper reaches a place (FetchReach), or brings an object to one (FetchPush, FetchPickAndPlace, FetchSlide).
Tasks, meshes and numbers are the package's (MIT licence, https://robotics.farama.org/envs/fetch), unchanged except for
one comparison (`prepare`).
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from envs.reset_options import new_streams

PACKAGE = "gymnasium-robotics==1.4.2"
IDS = ("FetchReach-v4", "FetchPush-v4", "FetchPickAndPlace-v4", "FetchSlide-v4")


def prepare() -> None:
    """Make the tasks of gymnasium-robotics known to gymnasium, and fit for MuJoCo 4. ModuleNotFoundError without it.

    From MuJoCo 3.12 on, `model.jnt_type[i]` is a NumPy integer. It equals a member of `mjtJoint` on its right, but is
    in no tuple of them. The package asserts just that of joints, in four places, and every task stops there. So from
    now on it sees plain numbers in place of `mjtJoint`'s members.
    """
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it warns about its hand tasks
            import gymnasium_robotics
    except ModuleNotFoundError as error:
        if error.name != "gymnasium_robotics":
            raise
        raise ModuleNotFoundError(f"the Fetch tasks need {PACKAGE}: pip install {PACKAGE}", name=error.name) from None
    from gymnasium_robotics.utils import mujoco_utils

    gymnasium.register_envs(gymnasium_robotics)
    if not isinstance(mujoco_utils.mujoco, _Mujoco):
        mujoco_utils.mujoco = _Mujoco(mujoco_utils.mujoco)


class _Mujoco:
    """The module `mujoco`, with plain numbers in `mjtJoint`."""

    def __init__(self, module: Any):
        self._module = module
        self.mjtJoint = SimpleNamespace(**{k: int(v) for k, v in module.mjtJoint.__members__.items()})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def make(name: str, **settings: Any) -> gymnasium.Env:
    """The task with this id. ModuleNotFoundError without gymnasium-robotics, gymnasium's error for an unknown id."""
    prepare()
    return gymnasium.make(name, **{"disable_env_checker": True} | settings)


def is_fetch(env: gymnasium.Env) -> bool:
    """Whether `env` is one of these tasks."""
    return type(env.unwrapped).__module__.startswith("gymnasium_robotics.envs.fetch.")


class FetchVector(VectorEnv):
    """`num_envs` = n episodes of one task, each with its own random stream: bit for bit those of the task itself.

    They share one model, nothing is looked up by name or computed twice, and observations are computed for all at once:
    a step costs 1.07 times its physics, the package's own 1.5 times.

    Observation: a dict of `observation` [n, 10 or 25], `achieved_goal` and `desired_goal` [n, 3], float64; rewards [n]:
    0 within 5 cm of the goal, else -1; `info["is_success"]` [n]. Episodes never terminate, and all are truncated at the
    same step; a further step is an error (ResetNeeded).

    `reset(seed=...)` takes a number (episode i gets seed + i), a list of n seeds, where None continues the episode's
    stream, or None for all.
    """

    metadata = {"autoreset_mode": AutoresetMode.DISABLED, "render_modes": []}

    def __init__(self, env: gymnasium.Env, num_envs: int = 1):
        """env: the task, from `make`. It plays the episodes in turn; do not use it meanwhile. ValueError for n < 1."""
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, not {num_envs}")
        import mujoco

        self.task = task = cast(Any, env.unwrapped)
        self.num_envs = num_envs
        self.max_episode_steps = getattr(env.spec, "max_episode_steps", None) or np.inf
        self.single_observation_space, self.single_action_space = env.observation_space, env.action_space
        self.observation_space = batch_space(env.observation_space, num_envs)
        self.action_space = batch_space(env.action_space, num_envs)
        self.compute_reward = task.compute_reward
        self.datas = [mujoco.MjData(task.model) for _ in range(num_envs)]
        self.goals = np.zeros((num_envs, 3))
        self.streams: list[np.random.Generator] = []
        """One for each episode, none before the first reset."""
        self.elapsed: float = np.inf
        model = task.model
        self._sites = [model.site(name).id for name in ("robot0:grip", "object0")[: 1 + task.has_object]]
        fingers = [n for n in task._model_names.joint_names if n.startswith("robot")][-2:]
        self._fingers = [int(model.joint(name).qposadr[0]) for name in fingers]
        self._finger_speeds = [int(model.joint(name).dofadr[0]) for name in fingers]
        self._hand = int(model.eq_obj2id[0])  # the body that is welded to the one that actions move
        self._driven = model.jnt_qposadr[model.actuator_trnid[:, 0]]  # the fingers, where actions open and close them

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None):
        if options:
            raise ValueError(f"reset has no options here, not {sorted(options)}")
        self.streams = new_streams(self.streams, seed, [True] * self.num_envs)
        for i, stream in enumerate(self.streams):
            self.task.data, self.task._np_random = self.datas[i], stream
            while not self.task._reset_sim():
                pass
            self.goals[i] = self.task._sample_goal()
        self.elapsed = 0
        seen = self._observed()
        return seen, self._info(seen)

    def step(self, actions):
        actions = np.asarray(actions)
        if actions.shape != self.action_space.shape:
            raise ValueError(f"actions must have shape {self.action_space.shape}, not {actions.shape}")
        if self.elapsed >= self.max_episode_steps or not self.streams:
            raise ResetNeeded("call reset() before the first step, and after the last one of an episode")
        actions = np.clip(actions, self.task.action_space.low, self.task.action_space.high)
        self._move(actions)
        self.elapsed += 1
        seen = self._observed()
        rewards = self.compute_reward(seen["achieved_goal"], self.goals, None)
        over = np.full(self.num_envs, self.elapsed >= self.max_episode_steps)
        return seen, rewards, np.zeros(self.num_envs, bool), over, self._info(seen)

    def _move(self, actions: np.ndarray) -> None:
        """As the task's `_set_action`, `_mujoco_step` and `_step_callback`, for actions [n, 4] that are clipped."""
        import mujoco

        task, model = self.task, self.task.model
        offsets = actions[:, :3] * 0.05  # before it becomes float64: the package multiplies the action as it comes
        for data, offset, action in zip(self.datas, offsets, actions):
            data.mocap_pos[0] = data.xpos[self._hand] + offset
            data.mocap_quat[0] = data.xquat[self._hand] + (1.0, 0.0, 1.0, 0.0)
            if len(self._driven):
                data.ctrl[:] = data.qpos[self._driven] + (0.0 if task.block_gripper else float(action[3]))
            mujoco.mj_step(model, data, nstep=task.n_substeps)
            if task.block_gripper:
                data.qpos[self._fingers] = 0.0
                # Of `mj_forward`, what places and observed speeds need. The next step begins with all of it.
                mujoco.mj_kinematics(model, data)
                mujoco.mj_comPos(model, data)

    def _observed(self) -> dict[str, np.ndarray]:
        """Do what the task's `_get_obs` does, for all episodes."""
        import mujoco

        model, n, sites = self.task.model, self.num_envs, len(self._sites)
        places, turns = np.empty((sites, n, 3)), np.empty((sites, n, 3, 3))
        speeds, spins = np.empty((sites, n, 3)), np.empty((sites, n, 3))
        fingers, finger_speeds = np.empty((n, 2)), np.empty((n, 2))
        jacp, jacr = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        for i, data in enumerate(self.datas):
            at, turned, moves = data.site_xpos, data.site_xmat, data.qvel
            for j, site in enumerate(self._sites):
                mujoco.mj_jacSite(model, data, jacp, jacr, site)
                places[j, i], turns[j, i] = at[site], turned[site].reshape(3, 3)
                speeds[j, i], spins[j, i] = jacp @ moves, jacr @ moves
            fingers[i], finger_speeds[i] = data.qpos[self._fingers], moves[self._finger_speeds]
        dt = self.task.dt
        speeds, spins, finger_speeds = speeds * dt, spins * dt, finger_speeds * dt
        parts = [places[0]]
        if sites > 1:
            from gymnasium_robotics.utils.rotations import mat2euler

            angles = mat2euler(turns[1])
            parts += [places[1], places[1] - places[0], fingers, angles, speeds[1] - speeds[0], spins[1]]
        else:
            parts += [fingers]
        observation = np.concatenate([*parts, speeds[0], finger_speeds], axis=1)
        return {"observation": observation, "achieved_goal": places[-1].copy(), "desired_goal": self.goals.copy()}

    def _info(self, seen: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """As in gymnasium's own vector environments: a value for each episode, and which episodes have one."""
        success = self.task._is_success(seen["achieved_goal"], self.goals)
        return {"is_success": success, "_is_success": np.ones(self.num_envs, bool)}
