"""DQN in one file, in the style of CleanRL: everything is in the order in which it happens. Replay is TER's.

    .venv/bin/python -m adapters.cleanrl_dqn_ter --total-timesteps 20000

`cleanrl_dqn.py` is the same script with uniform replay; README.md shows the difference.
"""

import random
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
import tyro
from torch import nn

from common.replay.protocol import Step
from common.replay.samplers import PrioritizedSampler
from papers.ter.replay.graph import RandomProjection, TransitionGraph
from papers.ter.topological import TER


@dataclass
class Args:
    """The settings of a run."""

    env_id: str = "CartPole-v1"
    seed: int = 1
    total_timesteps: int = 20_000
    learning_rate: float = 1e-3
    buffer_size: int = 10_000
    gamma: float = 0.99
    target_network_frequency: int = 500
    batch_size: int = 64
    start_e: float = 1.0
    end_e: float = 0.05
    exploration_fraction: float = 0.4
    learning_starts: int = 1_000
    train_frequency: int = 2


if __name__ == "__main__":
    args = tyro.cli(Args)
    rng = np.random.default_rng(args.seed)
    torch.manual_seed(args.seed)
    env = gym.make(args.env_id)
    n_obs, n_actions = env.observation_space.shape[0], env.action_space.n  # type: ignore[index, attr-defined]

    def network() -> nn.Sequential:
        return nn.Sequential(nn.Linear(n_obs, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, n_actions))

    q_network, target_network = network(), network()
    target_network.load_state_dict(q_network.state_dict())
    optimizer = torch.optim.Adam(q_network.parameters(), lr=args.learning_rate)

    observations, next_observations = np.zeros((2, args.buffer_size, n_obs), np.float32)
    actions, rewards = np.zeros(args.buffer_size, np.int64), np.zeros(args.buffer_size, np.float32)
    dones = np.zeros(args.buffer_size, np.float32)
    phi = RandomProjection(3, n_obs, rng, decimals=1)  # states that are alike to a tenth share a vertex
    prioritized = PrioritizedSampler(args.buffer_size, rng, beta_steps=args.total_timesteps)
    sampler = TER(TransitionGraph(args.buffer_size), random.Random(args.seed), phi, 0.5, prioritized)

    obs, _ = env.reset(seed=args.seed)
    episodic_return, returns = 0.0, []
    for global_step in range(args.total_timesteps):
        slope = global_step / (args.exploration_fraction * args.total_timesteps)
        epsilon = max(args.end_e, args.start_e + slope * (args.end_e - args.start_e))
        if rng.random() < epsilon:
            action = int(rng.integers(n_actions))
        else:
            with torch.no_grad():
                action = int(q_network(torch.as_tensor(obs, dtype=torch.float32)).argmax())
        next_obs, reward, terminated, truncated, _ = env.step(action)
        slot = global_step % args.buffer_size
        observations[slot], actions[slot], rewards[slot] = obs, action, reward
        next_observations[slot], dones[slot] = next_obs, terminated
        sampler.add(slot, Step(obs, action, float(reward), next_obs, terminated, truncated))
        episodic_return, obs = episodic_return + float(reward), next_obs
        if terminated or truncated:
            returns.append(episodic_return)
            obs, _ = env.reset()
            episodic_return = 0.0

        if global_step >= args.learning_starts and global_step % args.train_frequency == 0:
            batch, weights, _ = sampler.sample(args.batch_size)
            with torch.no_grad():
                target_max = target_network(torch.from_numpy(next_observations[batch])).max(dim=1).values.numpy()
            td_target = torch.from_numpy(rewards[batch] + args.gamma * target_max * (1 - dones[batch]))
            old_val = q_network(torch.from_numpy(observations[batch]))[range(args.batch_size), actions[batch]]
            loss = (torch.from_numpy(weights) * F.mse_loss(td_target, old_val, reduction="none")).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sampler.update(batch, {"td_error": (td_target - old_val.detach()).numpy()})
        if global_step % args.target_network_frequency == 0:
            target_network.load_state_dict(q_network.state_dict())
    print(f"mean return of the last {len(returns[-20:])} of {len(returns)} episodes: {np.mean(returns[-20:]):.1f}")
