"""How `lab.watch` plays what this paper's scripts have trained on mazes, pixel grids and the construction task."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from envs.goal_task import GoalEnv, GoalTask
from envs.voxel_build import VoxelBuildEnv
from papers.sibling_rivalry import build, train, train_off_policy
from papers.sibling_rivalry.build_networks import BuildPolicy
from papers.sibling_rivalry.ddpg import Actor
from papers.sibling_rivalry.dqn import masked
from papers.sibling_rivalry.networks import input_shape, join, network
from papers.sibling_rivalry.policies import make_policy
from papers.sibling_rivalry.tasks import make_task

HEADLINE = ("PointMaze", "ppo-sr")
CONFIGS = (train.Config, train_off_policy.Config, build.Config)
Choose = Callable[[Tensor, Tensor, Tensor | None, np.random.Generator], np.ndarray]
"""Observations [1, ...], goals [1, ...], legal actions [1, A] or None -> actions [1, ...]."""


def player(config: Any, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    """The run's environment and act(observation, info, rng) -> action.

    As in evaluation: drawn from the policy with PPO and IMPALA, greedy with DDPG and DQN.
    """
    if isinstance(config, build.Config):
        return _builder(config, weights)
    task = make_task(config.env)
    acting, choose = _on_policy(task) if isinstance(config, train.Config) else _off_policy(task)
    acting.load_state_dict(weights)

    @torch.no_grad()
    def act(observation: dict[str, np.ndarray], info: dict[str, Any], rng: np.random.Generator) -> Any:
        seen, goal = (torch.from_numpy(observation[name][None]) for name in ("observation", "desired_goal"))
        legal = torch.from_numpy(info["legal"][None]) if "legal" in info else None
        return choose(seen, goal, legal, rng)[0]

    return GoalEnv(task), act


def _builder(config: build.Config, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    task = build.make_task(config)
    policy = BuildPolicy(task)
    policy.load_state_dict(weights)

    def act(observation: dict[str, np.ndarray], info: dict[str, Any], rng: np.random.Generator) -> Any:
        return policy.act(observation["observation"][None], observation["desired_goal"][None], rng)[0][0]

    return VoxelBuildEnv(task), act


def _on_policy(task: GoalTask) -> tuple[nn.Module, Choose]:
    policy = make_policy(task)
    return policy, policy.act


def _off_policy(task: GoalTask) -> tuple[nn.Module, Choose]:
    if task.action_range is not None:
        actor = Actor(task)
        return actor, lambda seen, goal, legal, rng: actor(seen, goal).numpy()
    q = network(input_shape(task), task.n_actions, pool="mean")
    return q, lambda seen, goal, legal, rng: masked(q(join(seen, goal)), legal).argmax(dim=1).numpy()
