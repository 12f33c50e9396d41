"""How `lab.watch` plays what this paper's scripts have trained on mazes and pixel grids."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from envs.goal_task import GoalEnv, GoalTask
from papers.sibling_rivalry import train, train_off_policy
from papers.sibling_rivalry.ddpg import Actor
from papers.sibling_rivalry.dqn import masked
from papers.sibling_rivalry.networks import input_shape, join, network
from papers.sibling_rivalry.policies import make_policy
from papers.sibling_rivalry.tasks import make_task

HEADLINE = ("PointMaze", "ppo-sr")
CONFIGS = (train.Config, train_off_policy.Config)
Choose = Callable[[Tensor, Tensor, Tensor | None, np.random.Generator], np.ndarray]
"""Observations [1, ...], goals [1, ...], legal actions [1, A] or None -> actions [1, ...]."""


def player(config: Any, weights: dict[str, Any]) -> tuple[gymnasium.Env, Callable[..., Any]]:
    """The run's environment and act(observation, info, rng) -> action.

    As in evaluation: drawn from the policy with PPO, greedy with DDPG and DQN.
    """
    task = make_task(config.env)
    acting, choose = _on_policy(task) if isinstance(config, train.Config) else _off_policy(task)
    acting.load_state_dict(weights)

    @torch.no_grad()
    def act(observation: dict[str, np.ndarray], info: dict[str, Any], rng: np.random.Generator) -> Any:
        seen, goal = (torch.from_numpy(observation[name][None]) for name in ("observation", "desired_goal"))
        legal = torch.from_numpy(info["legal"][None]) if "legal" in info else None
        return choose(seen, goal, legal, rng)[0]

    return GoalEnv(task), act


def _on_policy(task: GoalTask) -> tuple[nn.Module, Choose]:
    policy = make_policy(task)
    return policy, policy.act


def _off_policy(task: GoalTask) -> tuple[nn.Module, Choose]:
    if task.action_range is not None:
        actor = Actor(task)
        return actor, lambda seen, goal, legal, rng: actor(seen, goal).numpy()
    q = network(input_shape(task), task.n_actions, pool="mean")
    return q, lambda seen, goal, legal, rng: masked(q(join(seen, goal)), legal).argmax(dim=1).numpy()
