"""Made-up results in the grid of an experiment, for the tests of figures and claims."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from tests.papers.judged import save

POINTS = 10
"""Evaluations per run."""
EPISODES = 200_000
"""Training episodes."""
RISE = 0.2
"""Share of the training from the first success to the last success rate."""
START = 9.0
"""Distance to the goal before training; from a third of the training on, it has its last value."""

Level = Callable[[str, str], float]
"""(method, env) -> a number."""


def write(
    root: Path,
    experiment: str,
    scale: str,
    success: Callable[[str, str], float | tuple[float, ...]],
    *,
    onset: Level = lambda method, env: 0.3,
    distance: Level = lambda method, env: 1.5,
    apart: Callable[[str, str, float], float] = lambda method, env, progress: 1.0,
    end: Callable[[str, str], tuple[float, float] | None] = lambda method, env: None,
    spread: Level = lambda method, env: 0.0,
    seeds: int | None = None,
    episodes: int = EPISODES,
    keep: Callable[[str, str, int], bool] = lambda method, env, seed: True,
) -> None:
    """Write <root>/<scale>/<experiment>.csv.

    success: last success rate of all runs, or of one after the other. onset: share of the training after which success
    begins. distance: the last one. apart: distance between siblings after a share of the training. end: where two of
    three episodes end, if that is known; the third ends at the start. Seeds lie evenly around these numbers: up to
    `spread` away in success, and a hundredth in everything. seeds: how many, else the grid's. keep: which runs there
    are.
    """
    runs = dict.fromkeys((entry.method, entry.env, entry.seed) for entry in EXPERIMENTS[experiment](scale))
    seeds = seeds or 1 + max(seed for _, _, seed in runs)
    runs = dict.fromkeys((method, env, seed) for method, env, _ in runs for seed in range(seeds))
    rows: list[tuple] = []
    for method, env, seed in filter(lambda run: keep(*run), runs):
        away = 2 * seed / (seeds - 1) - 1 if seeds > 1 else 0.0  # from -1 to 1
        factor, rate = 1 + 0.01 * away, success(method, env)
        rate = rate[seed] if isinstance(rate, tuple) else rate
        for i in range(POINTS):
            progress = (i + 1) / POINTS
            risen = np.clip((progress - onset(method, env)) / RISE, 0, 1)
            metrics = {
                "success": float(np.clip((rate * factor + away * spread(method, env)) * risen, 0, 1)),
                "distance": (START + (distance(method, env) - START) * min(3 * progress, 1.0)) * factor,
                "apart": apart(method, env, progress) * factor,
            }
            if place := end(method, env):
                for episode, (x, y) in enumerate([place, place, (0.0, 0.0)]):
                    metrics |= {f"end {episode} x": x, f"end {episode} y": y}
            step = episodes * (i + 1) // POINTS
            rows += [(experiment, scale, method, env, seed, step, *metric, 0.1) for metric in metrics.items()]
    save(root, rows)
