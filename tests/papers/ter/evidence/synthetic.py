"""Made-up results in the grid of an experiment, for the tests of figures and claims."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from lab.results import COLUMNS
from papers.ter.evidence.experiments import EXPERIMENTS

POINTS = 5
"""Evaluations per run."""

Level = Callable[[str, str], float]
"""(method, env) -> where the curve ends."""


def write(
    root: Path,
    experiment: str,
    scale: str,
    level: Level,
    *,
    noise: float = 0.01,
    seeds: int | None = None,
    q: Level = lambda method, env: -0.5,
    seconds: Level = lambda method, env: 1e-3,
    tau: float = 0.5,
    keep: Callable[[str, str, int], bool] = lambda method, env, seed: True,
) -> None:
    """Write <root>/<scale>/<experiment>.csv: curves that rise to `level`, seeds apart by `noise` (standard deviation).

    level: of normalised return and success. q: of the over-estimation. seconds: per batch, for table-b1. tau:
    DisCor's at the end. seeds: instead of the grid's. keep: which (method, env, seed) were run.
    """
    rng = np.random.default_rng(0)
    rows: list[tuple] = []
    runs = dict.fromkeys((entry.method, entry.env, entry.seed) for entry in EXPERIMENTS[experiment](scale))
    if seeds is not None:
        runs = dict.fromkeys((method, env, seed) for method, env, _ in runs for seed in range(seeds))
    for method, env, seed in runs:
        apart = noise * rng.normal()
        jitter = noise * rng.normal(size=POINTS)
        if not keep(method, env, seed):
            continue

        def log(step: int, metric: str, value: float, run=(method, env, seed)) -> None:
            rows.append((experiment, scale, *run, step, metric, value, 0.1))

        if experiment == "table-b1":
            for statistic, factor in (("mean", 1.0), ("median", 0.9), ("min", 0.5), ("max", 30.0)):
                log(200_000, f"batch_seconds_{statistic}", factor * seconds(method, env) * np.exp(apart))
            continue
        for i in range(POINTS):
            rise = (i + 1) / POINTS
            height = level(method, env) * rise + apart + jitter[i]
            if experiment == "fig2":
                log(20 * (i + 1), "return", height)
                log(20 * (i + 1), "value_error", 1 - height)
                continue
            log(20_000 * (i + 1), "normalized_return", height)
            if experiment == "fig-m15":
                log(20_000 * (i + 1), "return", height)
                continue
            log(20_000 * (i + 1), "success", float(np.clip(height, 0, 1)))
            log(20_000 * (i + 1), "q_overestimation", -1 + (q(method, env) + 1) * rise + apart)
            if method == "discor":
                log(20_000 * (i + 1), "tau", tau * rise + apart)
    path = root / scale / f"{experiment}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
