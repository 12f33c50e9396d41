"""What is run for each figure, at each scale.

``smoke`` only proves that everything is wired. ``full`` is the paper's protocol: ten tasks, 10 million steps, 5 seeds.
``quick`` has 200,000 steps and 3 seeds, and everything that depends on the length of training is scaled with it: the
annealing reaches the same end (A times steps is 5), the memory holds 16,384 steps (the smallest power of two with room
for ten episodes of 1,000 steps), and beta, whose rate follows the size of the memory, starts at 0.3.
"""

from collections.abc import Callable, Iterable
from typing import Any

from common.lab.sweep import Entry
from papers.ref_er import train
from papers.ref_er.tasks import TASKS

HEADLINE = ("fig4", "fig5")

SEEDS = {"smoke": 1, "quick": 3, "full": 5}
SCHEDULES: dict[str, dict[str, Any]] = {
    "smoke": dict(steps=300, bins=2, capacity=1024, warmup=300, batch_size=32, beta=0.3, annealing=5 / 300),
    "quick": dict(steps=200_000, bins=20, capacity=2**14, warmup=2**14, beta=0.3, annealing=5 / 200_000),
    "full": dict(),
}
ENVS: dict[str, tuple[str, ...]] = {
    "smoke": ("Hopper-v5", "InvertedPendulum-v5"),
    "quick": ("HalfCheetah-v5", "Walker2d-v5", "Hopper-v5"),
    "full": tuple(TASKS),
}
SOME_ENVS = {**ENVS, "quick": ("HalfCheetah-v5",)}
"""For NAF, PPO and ACER, of which quick shows one task."""
REPLAYS = ("er", "per", "refer", "refer-1", "refer-2")


def entries(scale: str, env: str, method: Any, replays: Iterable[Any], suffix: str = "", **settings) -> list[Entry]:
    """A learner with several kinds of replay on one task with every seed; `suffix` names what `settings` change."""
    found = []
    for replay in replays:
        values: dict[str, Any] = SCHEDULES[scale] | settings
        if method == "ddpg" and replay in ("er", "per"):
            values["annealing"] = 0.0  # annealing makes them worse, Sec. 5.1
        for seed in range(SEEDS[scale]):
            config = train.Config(env, method, replay, seed, **values)
            found.append(Entry(f"{method} {replay}{suffix}", env, seed, f"{train.__name__}:main", config))
    return found


def fig1(scale: str) -> list[Entry]:
    """Figs. 1 and 2: DDPG."""
    return [entry for env in ENVS[scale] for entry in entries(scale, env, "ddpg", REPLAYS)]


def fig3(scale: str) -> list[Entry]:
    """NAF."""
    return [entry for env in SOME_ENVS[scale] for entry in entries(scale, env, "naf", REPLAYS)]


def fig4(scale: str) -> list[Entry]:
    """Figs. 4 and 5: V-RACER."""
    return [
        entry for env in ENVS[scale] for entry in entries(scale, env, "vracer", ("refer", "refer-1", "refer-2", "er"))
    ]


EXPERIMENTS: dict[str, Callable[[str], list[Entry]]] = {"fig1": fig1, "fig3": fig3, "fig4": fig4}
