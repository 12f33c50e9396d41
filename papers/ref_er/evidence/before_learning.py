"""Scores before learning: mean returns of the policies with which runs begin, on the tasks of Figs. 1 to 6.

    python -m papers.ref_er.evidence.before_learning    # measures them anew

A run's own first bin would not do: some methods have collapsed in it already. All policies begin with means near zero,
so that their score depends on the deviation and on the noise alone.
"""

from __future__ import annotations

import numpy as np

EPISODES_OF, SEEDS = 2**13, 3
"""Measured over whole episodes of at least so many steps, with so many seeds."""
SLOW = {"WakeFlow-v0": (1024, 1), "WakeFlow32-v0": (96, 1)}
"""The same of the flow-control task, whose episodes end after two or three actions and hardly differ."""
POLICIES = {"wide": ("vracer", "refer"), "narrow": ("ddpg", "refer"), "correlated": ("ddpg", "er")}
"""Kind of first policy -> a learner and a kind of replay that begin with it: deviation 0.45, 0.2, and 0.2 with
noise that is correlated in time."""

RETURNS: dict[str, dict[str, float]] = {
    "HumanoidStandup-v5": {"wide": 31190.0, "narrow": 29405.4, "correlated": 37133.8},
    "Humanoid-v5": {"wide": 126.7, "narrow": 146.8, "correlated": 134.2},
    "Ant-v5": {"wide": 61.9, "narrow": 854.2, "correlated": 391.8},
    "Walker2d-v5": {"wide": 5.3, "narrow": 17.2, "correlated": 2.2},
    "HalfCheetah-v5": {"wide": -214.7, "narrow": -43.3, "correlated": -60.9},
    "Reacher-v5": {"wide": -29.4, "narrow": -14.7, "correlated": -22.6},
    "Swimmer-v5": {"wide": -4.1, "narrow": 2.5, "correlated": -8.2},
    "Hopper-v5": {"wide": 21.9, "narrow": 38.7, "correlated": 18.1},
    "InvertedPendulum-v5": {"wide": 6.2, "narrow": 9.5, "correlated": 6.0},
    "InvertedDoublePendulum-v5": {"wide": 53.9, "narrow": 68.9, "correlated": 55.7},
    "WakeFlow-v0": {"wide": -100.72, "narrow": -100.16, "correlated": -100.22},
    "WakeFlow32-v0": {"wide": -100.57, "narrow": -100.13, "correlated": -100.14},
}
"""Task -> kind of first policy -> mean return of an episode."""


def kind_of(method: str) -> str:
    """The kind of first policy of a method, as experiments label it: "ddpg er", "ppo", "vracer refer (C 2)"."""
    if method.split()[0] not in ("ddpg", "naf"):
        return "wide"
    white = not method.startswith(("ddpg er", "ddpg per")) or method.endswith(("(untuned)", "(white noise)"))
    return "narrow" if white else "correlated"


def before(method: str, env: str) -> float:
    """The score of a method before it has learnt anything."""
    return RETURNS[env][kind_of(method)]


def measure(env: str, kind: str, steps: int = EPISODES_OF, seeds: int = SEEDS) -> np.ndarray:
    """Returns of all episodes of a kind of first policy."""
    from papers.ref_er.train import Config, Trainer

    returns = []
    for seed in range(seeds):
        trainer = Trainer(Config(env, *POLICIES[kind], seed, capacity=steps, warmup=steps))  # type: ignore[arg-type]
        while trainer.memory.n < steps:
            episode = trainer.play()
            returns += [float(np.sum(episode.rewards))] if episode else []
    return np.array(returns)


if __name__ == "__main__":
    for env in RETURNS:
        extent = SLOW.get(env, (EPISODES_OF, SEEDS))
        print(env, {kind: round(float(measure(env, kind, *extent).mean()), 2) for kind in POLICIES}, flush=True)
