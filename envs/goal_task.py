"""Goal-reaching tasks in two forms: functions of n states at once, and a gymnasium environment of one.

A :class:`GoalTask` remembers nothing between calls: a state is an array, and a step is a function of it. So all
rollouts of an update can be played in lock-step, and two that share a start simply begin with the same array.
:class:`GoalEnv` plays one episode of any such task through gymnasium's interface.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from envs.reset_options import asked_array, check_names, shown
from envs.window import Window


class GoalTask:
    """Base of all tasks. They handle n states at once, each a row of an array.

    Random numbers come from the generator passed to a function. Tasks with the same arguments are the same.
    """

    observation_shape: tuple[int, ...]
    """Shape of one observation: (d,), or (planes, height, width)."""
    goal_shape: tuple[int, ...]
    """Shape of one goal. Observations and goals have as many dimensions, and can be joined along the first."""
    n_actions: int
    """Continuous: numbers per action. Discrete: number of actions."""
    action_range: float | None
    """Continuous actions lie in [-action_range, action_range]; None: actions are discrete, 0 to n_actions - 1."""
    tolerance: float
    """delta: an episode succeeds when the distance to the goal is at most this."""
    max_steps: int
    """T: steps per episode."""
    interval: int = 1
    """Steps of the world per step: more than one if a step is a decision that others carry out."""

    def starts(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n start states [n, ...]."""
        raise NotImplementedError

    def goals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n goals float32 [n, *goal_shape]."""
        raise NotImplementedError

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the states [n, ...] after one step; `states` stays. Actions: float [n, n_actions] or int [n]."""
        raise NotImplementedError

    def observe(self, states: np.ndarray) -> np.ndarray:
        """What the learner sees: float32 [n, *observation_shape]."""
        raise NotImplementedError

    def achieved(self, states: np.ndarray) -> np.ndarray:
        """m(s), the goals that the states meet: float32 [n, *goal_shape]."""
        raise NotImplementedError

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """d(a, b) between goals [..., *goal_shape]: float64 [...]."""
        raise NotImplementedError

    def legal(self, states: np.ndarray) -> np.ndarray | None:
        """Which discrete actions may be taken, bool [n, n_actions]; None: all of them."""
        return None

    def picture(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Draw one state and its goal, uint8 [height, width, 3]."""
        raise NotImplementedError

    def success(self, achieved: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Whether goals are met, bool [...]."""
        return self.distance(achieved, goals) <= self.tolerance

    def contains(self, goal: np.ndarray) -> bool:
        """Whether a goal within `bounds` is one that some state meets."""
        return True

    def check(self, state: np.ndarray) -> None:
        """ValueError if no episode can begin with this state, finite numbers of the right shape and type."""
        low, high, _, _ = self.bounds()
        seen = self.observe(state[None])[0]
        for number, least, most in zip(seen.flat, low.flat, high.flat):
            if not least <= number <= most:
                raise ValueError(f"the state {shown(state.tolist())} has {number}, which must lie in [{least}, {most}]")

    def check_goal(self, goal: np.ndarray) -> None:
        """ValueError for a goal float32 [*goal_shape] that no state meets."""
        _, _, low, high = self.bounds()
        if not ((goal >= low) & (goal <= high)).all():
            raise ValueError(f"the goal {shown(goal.tolist())} lies outside {shown(spaces.Box(low, high))}")
        if not self.contains(goal):
            raise ValueError(f"no state meets the goal {shown(goal.tolist())}")

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Smallest and largest observation, smallest and largest goal, float32, for gymnasium's spaces."""
        raise NotImplementedError


class GoalEnv(gymnasium.Env):
    """One episode of a task at a time.

    Observation: a dict of `observation`, `achieved_goal` and `desired_goal`, float32. Reward: 1 for the step that
    reaches the goal, else 0. The episode terminates at success and is truncated after `task.max_steps` steps.
    `info["is_success"]` says whether the goal is reached; `info["legal"]` which actions are legal, if not all are.

    `reset(options=...)` takes `state` (of the task) and `goal`.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 10}

    def __init__(self, task: GoalTask, render_mode: str | None = None):
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode must be one of {self.metadata['render_modes']}, not {render_mode!r}")
        self.task, self.render_mode = task, render_mode
        low, high, goal_low, goal_high = task.bounds()
        goals = spaces.Box(goal_low, goal_high, dtype=np.float32)
        self.observation_space = spaces.Dict(
            observation=spaces.Box(low, high, dtype=np.float32), achieved_goal=goals, desired_goal=goals
        )
        reach = task.action_range
        self.action_space: spaces.Space = (
            spaces.Discrete(task.n_actions)
            if reach is None
            else spaces.Box(-np.float32(reach), np.float32(reach), (task.n_actions,), np.float32)
        )
        self.state: np.ndarray | None = None
        self.goal = np.zeros(task.goal_shape, np.float32)
        self.steps = 0
        self._window = Window(type(task).__name__, self.metadata["render_fps"])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        options = options or {}
        check_names(options, ("state", "goal"))
        asked = {}
        if "state" in options:
            like = self.task.starts(1, np.random.default_rng(0))[0]
            asked["state"] = asked_array("state", options["state"], (like.shape,), like.dtype)
            self.task.check(asked["state"])
        if "goal" in options:
            asked["goal"] = asked_array("goal", options["goal"], (self.task.goal_shape,), np.float32)
            self.task.check_goal(asked["goal"])
        super().reset(seed=seed)  # nothing changes before this line, nothing fails after it
        state, goal = self.task.starts(1, self.np_random)[0], self.task.goals(1, self.np_random)[0]
        self.state, self.goal = asked.get("state", state), asked.get("goal", goal)
        self.steps = 0
        if self.render_mode == "human":
            self.render()
        return self._observe(), self._info(False)

    def step(self, action):
        if self.state is None:
            raise RuntimeError("call reset() before step()")
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not an action of {self.action_space}")
        self.state = self.task.step(self.state[None], np.asarray(action)[None], self.np_random)[0]
        self.steps += 1
        observation = self._observe()
        success = bool(self.task.success(observation["achieved_goal"], self.goal))
        if self.render_mode == "human":
            self.render()
        truncated = not success and self.steps >= self.task.max_steps
        return observation, float(success), success, truncated, self._info(success)

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any = None) -> np.ndarray:
        """1 where a goal is met, else 0: float64 [...]."""
        return self.task.success(achieved_goal, desired_goal).astype(np.float64)

    def _observe(self) -> dict[str, np.ndarray]:
        states = self.state[None]  # type: ignore[index]
        return {
            "observation": self.task.observe(states)[0],
            "achieved_goal": self.task.achieved(states)[0],
            "desired_goal": self.goal.copy(),
        }

    def _info(self, success: bool) -> dict[str, Any]:
        legal = self.task.legal(self.state[None])  # type: ignore[index]
        return {"is_success": success} | ({} if legal is None else {"legal": legal[0]})

    def render(self):
        """Return the task's picture of the state ("rgb_array"), or show it in a window ("human")."""
        if self.render_mode is None or self.state is None:
            return None
        picture = self.task.picture(self.state, self.goal)
        if self.render_mode == "rgb_array":
            return picture
        self._window.show(picture)
        return None

    def close(self) -> None:
        self._window.close()
