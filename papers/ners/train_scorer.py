"""Why NERS scores all transitions alike: how its networks shrink the spread of their inputs, untrained and trained.

    .venv/bin/python -m papers.ners.train_scorer --seed 0 --rewards positive

No agent learns here. A random policy fills a memory with transitions of the sparse pendulum, TD errors and values are
drawn at random, and the networks make as many steps as in a run of the paper's length. Replay rewards are made up, too:
random signs, which is what differences of noisy evaluations look like, or always 1, which is what the released code
gives for an agent that learns.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch

from common.replay.storage import Ring
from lab.run.cli import cli
from lab.run.errors import UserError
from lab.run.runs import Run, Streams, execute
from lab.run.settings import Natural, at_least
from papers.ners.agents.tasks import make_env
from papers.ners.ners import NERS
from papers.ners.samplers.diagnostics import law_statistics, spreads
from papers.ners.samplers.features import Clock, VectorTransitions
from papers.ners.samplers.samplers import Settings
from papers.ners.train import replay_fields

BATCH = 128
"""Transitions scored as one set (Table B.1)."""


@dataclass(frozen=True)
class Config:
    """Every setting of a run."""

    env: str = "SparsePendulum"
    """Task whose transitions are scored."""
    method: Literal["ners"] = "ners"
    """Sampler."""
    seed: Natural = 0
    """Seed of all random streams of the run."""
    device: str = "cpu"
    """Where the networks live: cpu or cuda."""
    transitions: Annotated[int, at_least(2)] = 10_000
    """Transitions in the memory."""
    updates: tuple[int, ...] = (0, 500, 2_500)
    """Steps of the networks after which spreads are measured, ascending."""
    rewards: Literal["signs", "positive"] = "signs"
    """Replay rewards: 1 or -1 at random, or always 1."""
    sampling: Settings = field(default_factory=Settings)
    """Settings of the sampler."""

    def check(self) -> None:
        """Raise UserError unless `updates` can be counted up to."""
        if not self.updates or min(self.updates) < 0 or list(self.updates) != sorted(set(self.updates)):
            raise UserError(f"updates must be numbers from 0 on, each above the one before, not {self.updates}")


def filled(config: Config, streams: Streams) -> NERS:
    """The sampler of a memory filled by random actions, with TD errors and values about as large as rewards."""
    env = make_env(config.env)
    memory = Ring(config.transitions, replay_fields(env))
    rng, starts = streams.numpy("exploration"), streams.numpy("starts")
    spec, actions = env.spec, memory["action"].shape[1]
    assert spec is not None and spec.max_episode_steps is not None  # make_env has checked it
    clock = Clock(config.sampling.time, spec.max_episode_steps, np.arange(config.transitions))
    seen = VectorTransitions(memory, clock, config.device)
    n = config.transitions
    sampler = NERS(n, streams.numpy("replay"), config.sampling, n, seen, streams.integer("scorer"), config.device)
    state, time = env.reset(seed=int(starts.integers(2**31)))[0], 0
    for _ in range(n):
        action = np.float32(rng.uniform(-1.0, 1.0, actions))
        following, reward, terminated, truncated, _ = env.step(action)
        sampler.add(memory.add(state=state, action=action, reward=reward, next_state=following, terminal=terminated,
                               time=time))  # fmt: skip
        state, time = following, time + 1
        if terminated or truncated:
            state, time = env.reset(seed=int(starts.integers(2**31)))[0], 0
    signals = streams.numpy("signals").normal(size=(n, 2)).astype(np.float32)
    for start in range(0, n, BATCH):
        slots = np.arange(start, min(start + BATCH, n))
        sampler.update(slots, {"td_error": np.abs(signals[slots, 0]), "target": signals[slots, 1]})
    return sampler


@torch.no_grad()
def measured(sampler: NERS, features: torch.Tensor) -> dict[str, float]:
    """Spread after each layer as a share of the inputs', and the sampling law that these scores would give.

    layer_0 is the inputs, the others follow in order; spread_scores is the scores' own deviation, not a share.
    """
    *layers, scores = spreads(sampler.network, features)
    sigma = sampler.network(features).cpu().numpy().astype(np.float64)
    law = sigma**sampler.alpha
    found = law_statistics(law / law.sum(), sigma)
    return {f"layer_{k}": value / layers[0] for k, value in enumerate(layers)} | {
        "spread_scores": scores, "score": float(sigma.mean()), "tv_replayed": found["tv"],
    }  # fmt: skip


def shrink(run: Run, config: Config) -> dict:
    """Fill a memory, train the networks, log what `measured` finds; steps count updates of the networks."""
    last, streams = max(config.updates), Streams(config.seed)
    sampler = filled(config, streams)
    rng, found = streams.numpy("rewards"), {}
    looked = streams.numpy("looked at").choice(config.transitions, min(1_024, config.transitions), replace=False)
    features = sampler.features(looked).detach()
    for step in range(last + 1):
        if step in config.updates:
            found = measured(sampler, features)
            run.log(step, {name: float(f"{value:.6g}") for name, value in found.items()})
        size = min(config.sampling.train_size, config.transitions)
        reward = 1.0 if config.rewards == "positive" else float(rng.choice((-1.0, 1.0)))
        if step < last:
            sampler.reinforce(rng.choice(config.transitions, size, replace=False), reward)
        if step % 100 == 0 or step == last:
            run.tick(step, **{name: found[name] for name in ("tv_replayed",) if found})
    return run.finish({"steps": last, **found}, weights=sampler.network.state_dict())


def ready(config: Config) -> Config:
    """The config, if its task exists."""
    make_env(config.env).close()
    return config


def main(config: Config, run_dir: Path, **options: Any) -> dict:
    """Measure; returns the summary. A run takes under a minute; an interrupted one starts over. See
    `lab.run.runs.execute`."""
    return execute(config, run_dir, shrink, ready, total=lambda _: max(config.updates), **options)


if __name__ == "__main__":
    cli(Config, main, __doc__)
