"""Hindsight in Stable-Baselines3, plain or filtered, with any sampler, such as prioritised replay.

    SampledSAC("MultiInputPolicy", env, make_sampler=per, replay_buffer_class=SampledHerReplayBuffer,
               replay_buffer_kwargs=dict(n_sampled_goal=4, keep="filtered"))

Virtual transitions are stored when their episode is over, as in the paper: each has its own slot and its own priority.
Stable-Baselines3 makes up a goal whenever it replays a transition, so no priority could belong to it.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import numpy as np

from adapters.stable_baselines3 import AGENTS, SampledReplayBuffer, each
from papers.bias_reduced_her.hindsight import Hindsight, Keep


class SampledHerReplayBuffer(SampledReplayBuffer):
    """A buffer for goal environments, like HerReplayBuffer with the strategy "future".

    buffer_size counts virtual transitions: for as many episodes as HerReplayBuffer keeps, multiply by
    1 + n_sampled_goal. n_sampled_goal: virtual transitions for each real one. keep: "all" of them; "filtered": without
    those that mislead because the goal was achieved before the action; "redrawn": as many, but only goals that do not
    (`Hindsight`). success: the reward for meeting a goal. ends_at_success: meeting a virtual goal ends the task, as
    meeting the real one does; if the environment has `compute_terminated`, that decides instead. copy_info_dict: pass
    the infos of the steps to `compute_reward`, as HerReplayBuffer does; works only with keep="all" and without
    ends_at_success.
    """

    gives: ClassVar = frozenset({"episode"})

    def __init__(
        self,
        buffer_size: int,
        observation_space: Any,
        action_space: Any,
        device: Any = "auto",
        n_envs: int = 1,
        *args: Any,
        n_sampled_goal: int = 4,
        keep: Keep = "all",
        success: float = 0.0,
        ends_at_success: bool = False,
        copy_info_dict: bool = False,
        goal_selection_strategy: Any = "future",
        learner: Any = None,
        **kwargs: Any,
    ):
        if learner is None:
            raise ValueError(f"SampledHerReplayBuffer asks its agent for rewards: {AGENTS}")
        if str(getattr(goal_selection_strategy, "name", goal_selection_strategy)).lower() != "future":
            raise ValueError(f"goals come from the future, not {goal_selection_strategy}: omit goal_selection_strategy")
        self.judging = keep != "all" or ends_at_success
        """Whether rewards must tell if a goal is met."""
        if self.judging and copy_info_dict:
            raise ValueError("rewards that need infos do not tell if goals are met: omit keep and ends_at_success")
        super().__init__(buffer_size, observation_space, action_space, device, 1, *args, learner=learner, **kwargs)
        self.n_envs, self.success, self.ends_at_success = n_envs, success, ends_at_success
        self.copy_info_dict = copy_info_dict
        self.ended, self.age, self.returned = np.ones(n_envs, bool), np.zeros(n_envs, np.int64), np.zeros(n_envs)
        seed = None if learner.seed is None else [learner.seed, 1]
        self.hindsight = Hindsight(n_sampled_goal, self.reward, np.random.default_rng(seed), keep=keep)
        self.episodes: list[list[tuple]] = [[] for _ in range(n_envs)]
        """Steps of each environment's running episode: observation, next observation, action, whether the task ended,
        info."""

    def check(self) -> None:
        super().check()
        if self.n_steps > 1:
            raise ValueError("virtual transitions have one step: leave n_steps=1 with SampledHerReplayBuffer")

    def cut(self) -> None:
        for e in range(self.n_envs):
            self._relabel(e)
        self.ended[:] = True
        self.sampler.cut()

    def add(self, obs, next_obs, action, reward, done, infos) -> None:
        obs, next_obs = self._shaped(obs), self._shaped(next_obs)
        broken = self._follow(obs, next_obs, reward, done)
        for e, info in enumerate(infos):
            if broken[e]:
                self._relabel(e)  # what the episode has so far did happen
            at, to = (each(np.copy, each(operator.itemgetter(e), values)) for values in (obs, next_obs))
            cut = self.handle_timeout_termination and bool(info.get("TimeLimit.truncated", False))
            over = bool(done[e]) and not cut
            self._put(at, to, action[e], float(reward[e]), over, int(self.age[e]) - 1)
            self.episodes[e].append((at, to, action[e].copy(), over, info if self.copy_info_dict else {}))
            if done[e]:
                self._relabel(e)
            self._tell_return(e, bool(done[e]), info)

    def _put(self, obs: Any, next_obs: Any, action: Any, reward: float, over: bool, age: int) -> None:
        """Store a transition, real or virtual."""
        row = self._store(obs, next_obs, action, reward, over, False)
        self.ages[row] = age
        self.sampler.add(row)

    def _relabel(self, e: int) -> None:
        """End the running episode of environment e, if there is one, and store its virtual transitions."""
        episode, self.episodes[e] = self.episodes[e], []
        if not episode:
            return
        achieved = np.stack([episode[0][0]["achieved_goal"], *(to["achieved_goal"] for _, to, *_ in episode)])
        if self.judging:
            self._check(achieved[1:])
        steps, goals = self.hindsight(achieved)
        if not len(steps):
            return
        rewards = self._ask("compute_reward", achieved[steps + 1], goals, [episode[step][-1] for step in steps])
        ends = self._ends(achieved[steps + 1], goals)
        for k, (step, goal) in enumerate(zip(steps, goals)):
            at, to, action, over, _ = episode[step]
            if ends is not None:
                over = bool(ends[k])
            elif self.ends_at_success:  # also where the task ended: its last goal is the one that it met there
                over = rewards[k] == self.success
            self._put(at | {"desired_goal": goal}, to | {"desired_goal": goal}, action, rewards[k], over, int(step))

    def _check(self, achieved: np.ndarray) -> None:
        """ValueError if meeting a goal does not earn `success`, by which met goals are recognised."""
        met = self.reward(achieved, achieved) + self.success
        if (met != self.success).any():
            found = met[met != self.success][0]
            raise ValueError(
                f"compute_reward gives {found:g} for meeting a goal, not success={self.success:g}: "
                "set success in replay_buffer_kwargs"
            )

    def reward(self, achieved: np.ndarray, goals: np.ndarray, info: None = None) -> np.ndarray:
        """Rewards [n] minus that of success: 0 means success to `Hindsight`."""
        return self._ask("compute_reward", achieved, goals, [{} for _ in achieved]) - self.success

    def _ends(self, achieved: np.ndarray, goals: np.ndarray) -> np.ndarray | None:
        """Whether the task ends, bool [n]; None if the environment does not say."""
        if not self.learner.env.has_attr("compute_terminated"):
            return None
        return np.array([self._ask("compute_terminated", a, g, {}) for a, g in zip(achieved, goals)], bool)

    def _ask(self, method: str, achieved: np.ndarray, goals: np.ndarray, info: Any) -> np.ndarray:
        """Call a method of the environment, as Stable-Baselines3's hindsight does."""
        return np.asarray(self.learner.env.env_method(method, achieved, goals, info, indices=[0])[0], np.float64)
