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

from adapters.cleanrl import ReplayBuffer
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
    random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002, Stable-Baselines3's buffer draws by it
    torch.manual_seed(args.seed)
    again = gym.vector.AutoresetMode.SAME_STEP  # the step that ends an episode begins the next one
    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make(args.env_id))], autoreset_mode=again
    )
    envs.single_action_space.seed(args.seed)
    n_obs, n_actions = int(np.prod(envs.single_observation_space.shape)), envs.single_action_space.n

    def network() -> nn.Sequential:
        return nn.Sequential(nn.Linear(n_obs, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, n_actions))

    q_network, target_network = network(), network()
    target_network.load_state_dict(q_network.state_dict())
    optimizer = torch.optim.Adam(q_network.parameters(), lr=args.learning_rate)

    def ter(capacity):
        rng, size = np.random.default_rng(args.seed), int(np.prod(envs.single_observation_space.shape))
        phi = RandomProjection(3, size, rng, decimals=1)  # states that are alike to a tenth share a vertex
        prioritized = PrioritizedSampler(capacity, rng, beta_steps=args.total_timesteps)
        return TER(TransitionGraph(capacity), random.Random(args.seed), phi, 0.5, prioritized)

    rb = ReplayBuffer(
        args.buffer_size,
        envs.single_observation_space,
        envs.single_action_space,
        "cpu",
        handle_timeout_termination=False,
        make_sampler=ter,
    )

    obs, _ = envs.reset(seed=args.seed)
    returns = []
    for global_step in range(args.total_timesteps):
        slope = global_step / (args.exploration_fraction * args.total_timesteps)
        if random.random() < max(args.end_e, args.start_e + slope * (args.end_e - args.start_e)):
            actions = np.array([envs.single_action_space.sample()])
        else:
            with torch.no_grad():
                actions = q_network(torch.as_tensor(obs, dtype=torch.float32)).argmax(dim=1).numpy()
        next_obs, rewards, terminations, truncations, infos = envs.step(actions)
        real_next_obs = next_obs.copy()
        if truncations[0]:
            real_next_obs[0] = infos["final_obs"][0]
        rb.add(obs, real_next_obs, actions, rewards, terminations, infos)
        if terminations[0] or truncations[0]:
            returns.append(float(infos["final_info"]["episode"]["r"][0]))
        obs = next_obs

        if global_step > args.learning_starts:
            if global_step % args.train_frequency == 0:
                data = rb.sample(args.batch_size)
                with torch.no_grad():
                    target_max = target_network(data.next_observations).max(dim=1).values
                    td_target = data.rewards.flatten() + args.gamma * target_max * (1 - data.dones.flatten())
                old_val = q_network(data.observations).gather(1, data.actions).squeeze()
                loss = (data.weights.flatten() * F.mse_loss(td_target, old_val, reduction="none")).mean()
                rb.sampler.update(rb.indices, {"td_error": (td_target - old_val).detach().cpu().numpy()})
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if global_step % args.target_network_frequency == 0:
                target_network.load_state_dict(q_network.state_dict())
    print(f"mean return of the last {len(returns[-20:])} of {len(returns)} episodes: {np.mean(returns[-20:]):.1f}")
