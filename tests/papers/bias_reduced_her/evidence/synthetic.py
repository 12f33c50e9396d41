"""Made-up results in the grid of an experiment, for the tests of figures and claims."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from papers.bias_reduced_her.evidence.experiments import EXPERIMENTS
from papers.bias_reduced_her.worlds.measure import LINE
from tests.papers.judged import save

POINTS = 8
"""Evaluations per run; success and distance have their last values from the fourth on."""
STEP = 200
"""Episodes between two of them."""
START = 0.75
"""Distance to the goal in the first evaluation."""

Level = Callable[[str, str], float]
"""(method, env) -> a number."""


def write(
    root: Path,
    experiment: str,
    scale: str,
    success: Level,
    *,
    bias: Level = lambda method, env: 5.0,
    fall: Level = lambda method, env: 0.02,
    kl: Level = lambda method, env: 1.0,
    floor: Level = lambda method, env: 0.25,
    spread: Level = lambda method, env: 0.0,
    late: Level = lambda method, env: 1.0,
    seeds: int | None = None,
    keep: Callable[[str, str, int], bool] = lambda method, env, seed: True,
) -> None:
    """Write <root>/<scale>/<experiment>.csv; of "a+b" two of them.

    success: last success rate. bias: of the estimate. fall: of the distance to the goal. kl: divergence. floor: share
    of virtual goals in cell (2, 0); the others are in cell (7, 3). Seeds lie evenly around these means: up to `spread`
    away in success, and a hundredth in everything. late: factor on success from the half on. seeds: how many,
    else the grid's. keep: which runs were made.
    """
    for name in experiment.split("+"):
        rows: list[tuple] = []
        runs = dict.fromkeys((entry.method, entry.env, entry.seed) for entry in EXPERIMENTS[name](scale))
        if seeds is not None:
            runs = dict.fromkeys((method, env, seed) for method, env, _ in runs for seed in range(seeds))
        for run in runs:
            kind = run[:2]
            last = max(seed for *other, seed in runs if tuple(other) == kind)
            away = 2 * run[2] / last - 1 if last else 0.0  # from -1 to 1
            apart, factor = away * spread(*kind), 1 + 0.01 * away
            if not keep(*run):
                continue
            for i in range(POINTS):
                rise = min(i / 3, 1.0)
                rate = float(np.clip((success(*kind) * factor + apart) * rise, 0, 1))
                rate *= late(*kind) if i + 1 >= POINTS / 2 else 1.0
                value = -50 * (1 - rate)
                metrics = {
                    "success": rate,
                    "distance": START - fall(*kind) * factor * rise,
                    "return": value,
                    "q_estimate": value + bias(*kind) * factor,
                    "kl": kl(*kind) * factor,
                }
                if i == POINTS - 1:
                    share = floor(*kind) * factor
                    metrics |= {"virtual 2 0": share, "virtual 7 3": 1 - share, "virtual_per_step": 4.0}
                    metrics |= {"env_steps": 9_000.0 * POINTS, "success ground": rate, "success held": 0.5}
                    metrics |= {f"q_estimate {s}": value + bias(*kind) * factor for s in ("held", "ground")}
                    metrics |= {f"return {s}": value for s in ("held", "ground")}
                    metrics |= {f"estimate {s}": value + bias(*kind) * factor for s in LINE}
                    metrics |= {f"realised {s}": value for s in LINE}
                rows += [(name, scale, *run, STEP * (i + 1), *item, 0.1) for item in metrics.items()]
        save(root, rows)
