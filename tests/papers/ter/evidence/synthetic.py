"""Made-up results in the grid of an experiment, for the tests of figures and claims."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from papers.ter.evidence.budgets import LARGEST_RETURN
from papers.ter.evidence.experiments import EXPERIMENTS
from tests.papers.judged import save

POINTS = 10
"""Evaluations per run."""
BEFORE = 0.1
"""Where every curve begins."""
MEAN_RISE = 0.5
"""Share of the way to its end that is the area below a curve."""

Level = Callable[[str, str], float]
"""(method, env) -> where the curve ends."""


def write(
    root: Path,
    experiment: str,
    scale: str,
    level: Level,
    *,
    noise: float = 0.01,
    shared: float = 0.0,
    success: Level | None = None,
    q: Level = lambda method, env: -0.5,
    seconds: Level = lambda method, env: 1e-3,
    tau: float = 0.5,
    ends: Level = lambda method, env: 0.2,
    keep: Callable[[str, str, int], bool] = lambda method, env, seed: True,
) -> None:
    """Write <root>/<scale>/<experiment>.csv: normalised returns that rise straight from BEFORE to `level`.

    noise: spread of the seeds' levels, of each method for itself; shared: spread that all methods of a seed share.
    success: level of the success rate, if not that of the return. q: of the over-estimation. seconds: per batch, for
    table-b1. tau: DisCor's at the end, as a share of the largest return. ends: of own-predecessors, share of a sweep's
    draws that end a task, and 1 less the share of states reached; of own-replayed, nearness and error. keep: which
    (method, env, seed) were run.
    """
    rng = np.random.default_rng(0)
    rows: list[tuple] = []
    luck = shared * rng.normal(size=40)
    for method, env, seed in dict.fromkeys((run.method, run.env, run.seed) for run in EXPERIMENTS[experiment](scale)):
        apart = luck[seed] + noise * rng.normal()
        if not keep(method, env, seed):
            continue

        def log(step: int, metric: str, value: float, run=(method, env, seed)) -> None:
            rows.append((experiment, scale, *run, step, metric, value, 0.1))

        if experiment == "own-predecessors":
            for copy in (1, 40):
                log(copy, "grounded", 1 - ends(method, env) + apart)
                log(copy, "distance", 20.0)
            if method != "uer":
                log(40, "terminal_share", ends(method, env) + apart)
                log(40, "transitions_per_sweep", 30.0)
            continue
        for i in range(POINTS if experiment != "table-b1" else 0):
            rise, step = i / (POINTS - 1), 10_000 * (i + 1)
            log(step, "normalized_return", BEFORE + (level(method, env) + apart - BEFORE) * rise)
            log(step, "return", BEFORE + (level(method, env) + apart - BEFORE) * rise)
            log(step, "success", BEFORE + ((success or level)(method, env) - BEFORE) * rise)
            log(step, "q_overestimation", -1 + (q(method, env) + 1) * min(1, 2 * rise) + apart)
            if experiment == "own-replayed" and i:
                log(step, "distance", 30 * (1 - ends(method, env)) + apart)
                log(step, "td_error", 10 * ends(method, env) + apart)
            if method == "discor":
                log(step, "tau", (tau * min(1, 2 * rise) + apart) * LARGEST_RETURN.get(env, 1.0))
        if experiment == "table-b1":
            for name, drawing in (("choose", 0.0), ("batch", 1e-2)):
                for statistic, factor in (("mean", 1.0), ("median", 0.9), ("min", 0.5), ("max", 30.0), ("p999", 20.0)):
                    time = factor * seconds(method, env) * np.exp(apart) + drawing
                    log(200_000, f"{name}_seconds_{statistic}", time)
    save(root, rows)
