"""Stable-Baselines3's DQN on Sokoban, with uniform replay and with TER: only the sampler differs.

    .venv/bin/python -m adapters.sokoban_sb3 --method ter --seed 60

Appends a line every 5,000 steps to `sokoban_sb3.csv`: settings, method, seed, step, and the share of 100 held-out
levels that the agent solves. The README of this folder says what was registered, and shows the results.
"""

import argparse
import random
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

from adapters.stable_baselines3 import SampledDQN
from common.replay.samplers import PrioritizedSampler
from papers.ter.replay.graph import RandomProjection, TransitionGraph
from papers.ter.topological import TER

STEPS, EVERY, LEVELS = 50_000, 5_000, range(10**6, 10**6 + 100)
CODES, CELLS = 7, 25
SETTINGS: dict[str, dict[str, int]] = {"defaults": {}, "often": {"train_freq": 1, "target_update_interval": 1_000}}


def planes(codes: np.ndarray) -> np.ndarray:
    """Codes uint8 [..., rows, columns] -> one plane of 0 and 1 for each of the 7 codes, float32 [..., 175]."""
    return np.eye(CODES, dtype=np.float32)[codes].reshape(*codes.shape[:-2], CODES * CELLS)


def make_env() -> gymnasium.Env:
    game = gymnasium.make("envs:Sokoban-v0", shape=(5, 5), boxes=1, observation="codes")
    return gymnasium.wrappers.TransformObservation(game, planes, gymnasium.spaces.Box(0, 1, (CODES * CELLS,)))


def make_agent(method: str, seed: int, settings: dict[str, int]) -> DQN:
    def ter(capacity: int) -> TER:
        rng = np.random.default_rng(seed)
        updates = STEPS // settings.get("train_freq", 4)
        prioritized = PrioritizedSampler(capacity, rng, beta_steps=updates, clip=1.0)  # as in TER's released code
        phi = RandomProjection(3, CODES * CELLS, rng)
        return TER(TransitionGraph(capacity), random.Random(seed), phi, 0.1, prioritized)

    if method == "dqn":
        return DQN("MlpPolicy", make_env(), seed=seed, device="cpu", **settings)  # type: ignore[arg-type]
    return SampledDQN("MlpPolicy", make_env(), make_sampler=ter, seed=seed, device="cpu", **settings)


def solved(agent: DQN, env: Any) -> float:
    """Share of `LEVELS` that the greedy policy solves. All running games are stepped at once."""
    games, running, successes = env.unwrapped.side_by_side(LEVELS), np.arange(len(LEVELS)), 0
    while len(running):
        with torch.no_grad():
            actions = agent.q_net(torch.from_numpy(planes(games.codes[running]))).argmax(dim=1).numpy()
        _, ended, success = games.step(running, actions)
        successes, running = successes + int(success.sum()), running[~ended]
    return successes / len(LEVELS)


class Curve(BaseCallback):
    """Appends lines to a file: `name`, step, success."""

    def __init__(self, name: str, file: Path):
        super().__init__()
        self.name, self.file, self.env = name, file, make_env()

    def _on_step(self) -> bool:
        if self.num_timesteps % EVERY == 0:
            with self.file.open("a") as lines:
                lines.write(f"{self.name},{self.num_timesteps},{solved(self.model, self.env):.2f}\n")  # type: ignore
        return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=("dqn", "ter"), required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--settings", choices=SETTINGS, default="defaults")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    curve = Curve(f"{args.settings},{args.method},{args.seed}", args.out)
    make_agent(args.method, args.seed, SETTINGS[args.settings]).learn(STEPS, callback=curve)
