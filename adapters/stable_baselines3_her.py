"""Hindsight in Stable-Baselines3 with any sampler, prioritised replay too; and filtered hindsight.

    SampledSAC("MultiInputPolicy", env, make_sampler=per, replay_buffer_class=SampledHerReplayBuffer,
               replay_buffer_kwargs=dict(n_sampled_goal=4, keep="filtered"))

Virtual transitions are stored when their episode is over, as the paper has it: each has a slot, and a priority, of its
own. Stable-Baselines3 makes up a goal whenever it replays a transition, so that a priority could not belong to it.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import numpy as np

from adapters.stable_baselines3 import AGENTS, SampledReplayBuffer, each
from papers.bias_reduced_her.hindsight import Hindsight, Keep


class SampledHerReplayBuffer(SampledReplayBuffer):
    """A buffer for goal environments, as HerReplayBuffer with the strategy "future".

    n_sampled_goal: virtual transitions for each real one. keep: "all" of them, or "filtered": without those that
    mislead, because the goal was achieved before the action; "redrawn": as many goals that do not (`Hindsight`).
    success: the reward of a goal that is met. ends_at_success: meeting a virtual goal ends the task, as meeting the
    real one does; a `compute_terminated` of the environment says it better.
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
        learner: Any = None,
        n_steps: int = 1,
        **kwargs: Any,
    ):
        if learner is None:
            raise ValueError(f"SampledHerReplayBuffer asks its agent for rewards: {AGENTS}")
        if n_steps > 1:
            raise ValueError("virtual transitions have one step: leave n_steps=1 with SampledHerReplayBuffer")
        super().__init__(buffer_size, observation_space, action_space, device, 1, *args, learner=learner, **kwargs)
        self.n_envs, self.success, self.ends_at_success = n_envs, success, ends_at_success
        self.ended, self.age, self.returned = np.ones(n_envs, bool), np.zeros(n_envs, np.int64), np.zeros(n_envs)
        seed = None if learner.seed is None else [learner.seed, 1]
        self.hindsight = Hindsight(n_sampled_goal, self.reward, np.random.default_rng(seed), keep=keep)
        self.episodes: list[list[tuple]] = [[] for _ in range(n_envs)]
        """Of each environment that which runs: observation, next observation, action, whether the task ended, age."""

    def add(self, obs, next_obs, action, reward, done, infos) -> None:
        obs, next_obs = self._shaped(obs), self._shaped(next_obs)
        broken = self._follow(obs, next_obs, reward, done)
        for e, info in enumerate(infos):
            if broken[e]:
                self._relabel(e)  # what there was of the episode did happen
            at, to = (each(np.copy, each(operator.itemgetter(e), values)) for values in (obs, next_obs))
            cut = self.handle_timeout_termination and bool(info.get("TimeLimit.truncated", False))
            over = bool(done[e]) and not cut
            self._put(at, to, action[e], float(reward[e]), over, int(self.age[e]) - 1)
            self.episodes[e].append((at, to, action[e].copy(), over and float(reward[e]) != self.success, over))
            if done[e]:
                self._relabel(e)
            self._tell_return(e, bool(done[e]), info)

    def _put(self, obs: Any, next_obs: Any, action: Any, reward: float, over: bool, age: int) -> None:
        """Store a transition, real or virtual."""
        row = self._store(obs, next_obs, action, reward, over, False)
        self.ages[row] = age
        self.sampler.add(row)

    def _relabel(self, e: int) -> None:
        """The episode of environment e is over: store its virtual transitions."""
        episode, self.episodes[e] = self.episodes[e], []
        achieved = np.stack([episode[0][0]["achieved_goal"], *(to["achieved_goal"] for _, to, *_ in episode)])
        self._check(achieved[1:])
        steps, goals = self.hindsight(achieved)
        if not len(steps):
            return
        rewards = self.reward(achieved[steps + 1], goals) + self.success
        ends = self._ends(achieved[steps + 1], goals)
        for k, (step, goal) in enumerate(zip(steps, goals)):
            at, to, action, failed, over = episode[step]
            if ends is not None:
                over = bool(ends[k])
            elif self.ends_at_success:
                over = failed or rewards[k] == self.success
            self._put(at | {"desired_goal": goal}, to | {"desired_goal": goal}, action, rewards[k], over, int(step))

    def _check(self, achieved: np.ndarray) -> None:
        """ValueError where a goal that is met is not rewarded with `success`, by which others would be mistaken."""
        met = self.reward(achieved, achieved) + self.success
        if (self.hindsight.keep != "all" or self.ends_at_success) and (met != self.success).any():
            found = met[met != self.success][0]
            raise ValueError(
                f"compute_reward gives {found:g} for a goal that is met, not success={self.success:g}: "
                "set success in replay_buffer_kwargs"
            )

    def reward(self, achieved: np.ndarray, goals: np.ndarray, info: None = None) -> np.ndarray:
        """Rewards [n], less that of success: 0 means success to `Hindsight`."""
        return np.asarray(self._ask("compute_reward", achieved, goals), np.float64) - self.success

    def _ends(self, achieved: np.ndarray, goals: np.ndarray) -> np.ndarray | None:
        """Whether the task ends [n], where the environment says it."""
        if not self.learner.env.has_attr("compute_terminated"):
            return None
        return np.array([self._ask("compute_terminated", a, g, {}) for a, g in zip(achieved, goals)], bool)

    def _ask(self, method: str, achieved: np.ndarray, goals: np.ndarray, info: Any = None) -> Any:
        """A method of the environment, called as Stable-Baselines3's hindsight does."""
        info = [{} for _ in achieved] if info is None else info
        return self.learner.env.env_method(method, achieved, goals, info, indices=[0])[0]
