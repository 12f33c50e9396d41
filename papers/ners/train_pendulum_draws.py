"""Fig. 1: what SAC's memory holds after 30,000 steps on the pendulum, drawn by TD error, by Q, and uniformly.

    .venv/bin/python -m papers.ners.train_pendulum_draws --seed 0

The agent learns as in train.py, with RANDOM; its first 1,000 actions are random, as for Table 3. "By TD error" has two
readings: draws in proportion to it, and the transitions with the largest.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from lab.run.cli import cli
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Count, check
from papers.ners import train

RULES = ("td", "top_td", "q", "uniform")


@dataclass(frozen=True)
class Config:
    """Every setting of a run. Defaults are the paper's, with the place that states them."""

    env: Literal["Pendulum-v1"] = "Pendulum-v1"
    """Task, with its own rewards (Fig. 1)."""
    method: Literal["random"] = "random"
    """Sampler that SAC is trained with. Not in the paper."""
    seed: int = 0
    """Seed of all random streams of the run."""
    steps: Count = 30_000
    """Environment steps (Fig. 1)."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""
    draws: Count = 64
    """Transitions drawn by each rule (Sec. 1)."""
    timeout_terminal: bool = False
    """Store time-outs as terminations; see train.py."""


def priorities(td: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
    """Rule -> weight of each transition [n]: |TD|, Q minus the smallest Q, and 1. The paper does not specify more."""
    return {"td": np.abs(td), "q": q - q.min(), "uniform": np.ones(len(td))}


def largest(td: np.ndarray, n: int) -> np.ndarray:
    """The n transitions with the largest TD errors."""
    return np.argsort(-np.abs(td), kind="stable")[:n]


@torch.no_grad()
def values(trainer: train.Trainer) -> tuple[np.ndarray, np.ndarray]:
    """TD errors [n] and Q(s, a) [n] of all transitions in the memory, averaged over both critics."""
    batch = trainer.batch(np.arange(len(trainer.memory)), np.ones(len(trainer.memory), np.float32))
    q = trainer.agent.critics(batch.state, batch.action)
    return (trainer.agent.targets(batch) - q).mean(dim=0).cpu().numpy(), q.mean(dim=0).cpu().numpy()


def make_trainer(config: Config) -> train.Trainer:
    """SAC as in train.py."""
    training = train.Config(
        config.env, config.method, "sac", config.seed, config.steps, config.device,
        random_steps=min(1_000, config.steps // 2), timeout_terminal=config.timeout_terminal,
    )  # fmt: skip
    check(training)
    return train.Trainer(training)


def draw(config: Config, run: Run, trainer: train.Trainer) -> dict:
    """Train, draw `config.draws` transitions by each rule, log the k-th of each as step k; returns their mean angles.

    Logs for each rule: angle (radians, 0 upright, counter-clockwise positive), speed (radians per second), action
    ([-1, 1]), td and q.
    """
    while trainer.t < config.steps:
        if trainer.advance():
            run.tick(trainer.t, **{"return": trainer.total})
    td, q = values(trainer)
    rng = Streams(config.seed).numpy("draws")
    memory, size = trainer.memory, min(config.draws, len(trainer.memory))
    states = memory["state"][: len(memory)]
    found = {
        "angle": np.arctan2(states[:, 1], states[:, 0]), "speed": states[:, 2],
        "action": memory["action"][: len(memory), 0], "td": np.abs(td), "q": q,
    }  # fmt: skip
    drawn = {}
    for rule, weights in priorities(td, q).items():
        if size == len(td):  # all of them, including the one with the smallest Q, whose weight is 0
            drawn[rule] = rng.permutation(size)
        else:
            drawn[rule] = rng.choice(len(td), size, replace=False, p=weights / weights.sum())
    drawn["top_td"] = rng.permutation(largest(td, size))
    for k in range(size):
        run.log(k, {f"{r}_{n}": float(f"{v[drawn[r][k]]:.6g}") for r in RULES for n, v in found.items()})
    mean = {f"{rule}_angle": float(np.abs(found["angle"][drawn[rule]]).mean()) for rule in RULES}
    return run.finish({"steps": trainer.t, **mean}, weights=trainer.agent.weights())


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Train and draw; returns the summary. An interrupted run starts over. See `lab.run.runs.execute`."""
    return execute(config, run_dir, partial(draw, config), make_trainer, **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
