"""How `lab.pages.watch` plays what this room's scripts have trained: mazes, pixel grids, ants, and construction."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch

from envs.goal_task import GoalEnv, GoalTask
from envs.voxel.build import VoxelBuildEnv
from lab.agents import part
from papers.sibling_rivalry import train, train_build, train_off_policy
from papers.sibling_rivalry.agents.ddpg import Actor
from papers.sibling_rivalry.agents.dqn import masked
from papers.sibling_rivalry.agents.hierarchy import Hierarchy
from papers.sibling_rivalry.agents.networks import input_shape, join, network
from papers.sibling_rivalry.agents.policies import make_policy
from papers.sibling_rivalry.agents.tasks import make_task
from papers.sibling_rivalry.construction.networks import BuildPolicy

HEADLINE = ("PointMaze", "ppo-sr")
CONFIGS = (train.Config, train_off_policy.Config, train_build.Config)


def player(config: Any, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    """The run's environment and act(observation, info, rng) -> action.

    As in evaluation: drawn from the policy with PPO and IMPALA, greedy with DDPG and DQN, and so is a low level.
    """
    if isinstance(config, train_build.Config):
        return _builder(config, weights)
    task = make_task(config.env)
    if isinstance(task, Hierarchy):
        return GoalEnv(task.world), _of_two_levels(config, task, weights)
    return GoalEnv(task), _of_one_level(config, task, weights)


def _of_one_level(config: Any, task: GoalTask, weights: dict[str, Any]) -> Callable[..., Any]:
    on_policy, continuous = isinstance(config, train.Config), task.action_range is not None
    acting: Any = make_policy(task) if on_policy else Actor(task) if continuous else None
    acting = acting or network(input_shape(task), task.n_actions, pool="mean")
    acting.load_state_dict(weights)

    def act(observation: dict[str, np.ndarray], info: dict[str, Any], rng: np.random.Generator) -> Any:
        seen, goal = (torch.from_numpy(observation[name][None]) for name in ("observation", "desired_goal"))
        legal = torch.from_numpy(info["legal"][None]) if "legal" in info else None
        if on_policy:
            return acting.act(seen, goal, legal, rng)[0]
        if continuous:
            return acting(seen, goal)[0].numpy()
        return masked(acting(join(seen, goal)), legal).argmax(dim=1)[0].numpy()

    return act


def _of_two_levels(config: Any, task: Hierarchy, weights: dict[str, Any]) -> Callable[..., Any]:
    """Steps of the world, one by one: a subgoal lasts for `interval` of them. Other than in evaluation, an episode ends
    as soon as the goal is touched, not at the end of a pursuit."""
    from envs.ant.ant_maze import CLOCK  # here: all other tasks do without MuJoCo

    decide, greedy = _of_one_level(config, task, part(weights, "high.")), not isinstance(config, train.Config)
    policy = make_policy(task.world)
    policy.load_state_dict(part(weights, "low."))
    subgoal = np.zeros((1, *task.goal_shape), np.float32)

    def act(observation: dict[str, np.ndarray], info: dict[str, Any], rng: np.random.Generator) -> Any:
        if round(float(observation["observation"][-1]) / CLOCK) % task.interval == 0:
            subgoal[0] = observation["achieved_goal"] + decide(observation, info, rng)
        seen = torch.from_numpy(observation["observation"][None])
        return policy.act(seen, torch.from_numpy(subgoal), None, None if greedy else rng)[0]

    return act


def _builder(config: train_build.Config, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    task = train_build.make_task(config)
    policy = BuildPolicy(task)
    policy.load_state_dict(weights)

    def act(observation: dict[str, np.ndarray], info: dict[str, Any], rng: np.random.Generator) -> Any:
        return policy.act(observation["observation"][None], observation["desired_goal"][None], rng)[0][0]

    return VoxelBuildEnv(task), act
