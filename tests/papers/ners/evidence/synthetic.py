"""Made-up results for the tests of figures and claims: numbers with which what the paper says holds, or does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from papers.ners.evidence.experiments import EXPERIMENTS
from papers.ners.evidence.paper_values import TABLE1, TABLE2
from tests.papers.judged import save

ROWS = 20
"""Evaluations and scores of a run; every fifth has statistics."""
M = 128
"""Draws per step."""
PENDULUM, LANDER, HOPPER, WALKER = "SparsePendulum", "LunarLanderContinuous-v3", "Hopper-v4", "Walker2d-v4"
STEPS = {"table2": 100_000, "table3": 10_000, "fig1": 63}
"""Of runs as long as the paper's; 500,000 elsewhere."""

Numbers = dict[str, Any]
"""Metric -> value, or a function of the share of training. "begin", "score": of the first and the last evaluations;
"never": share of the stored transitions that were not drawn yet. Of fig1: rule -> range of the angle's size."""


def run_rows(experiment: str, values: Numbers, away: float, steps: int) -> list[tuple[int, str, float]]:
    """(step, metric, value) of a run whose numbers lie `away`, in hundredths, from `values`."""
    at = lambda value, share: value(share) if callable(value) else value  # noqa: E731
    spread = lambda level: level + abs(level) * 0.01 * away  # noqa: E731
    if experiment == "own-why":
        found = {name: value for name, value in values.items() if name.startswith("layer_") or name == "tv_replayed"}
        return [(step, name, spread(value)) for step in (0, 500, 2500) for name, value in found.items()]
    if experiment == "fig1":
        rng = np.random.default_rng(0)
        return [
            (k, f"{rule}_{name}", float(value[k] if name != "td" else abs(value[k])))
            for rule, (low, high) in {"top_td": values["td"], **values}.items()
            for name, value in {
                "angle": rng.uniform(low, high, 64) * rng.choice([-1, 1], 64), "speed": rng.normal(0, 3, 64),
                "action": rng.uniform(-1, 1, 64), "td": rng.lognormal(0, 1, 64), "q": rng.normal(-100, 30, 64),
            }.items()
            for k in range(64)
        ]  # fmt: skip
    rows = []
    for k in range(ROWS):
        share = (k + 1) / ROWS
        step = steps * (k + 1) // ROWS
        begin, score = values["begin"], spread(values["score"])
        height = begin + (score - begin) * min(k / (ROWS // 2), 1.0)
        rows += [(step, "return", height), (step, "score", height)]
        if (k + 1) % 5:
            continue
        found = {name: at(value, share) for name, value in values.items() if name not in ("score", "begin", "never")}
        rows += [(step, name, spread(value)) for name, value in found.items()]
        rows += [(step, "draws", M * steps / (ROWS // 5)), (step, "first_time", (1 - values["never"]) / M)]
    return rows


def write(
    root: Path,
    experiment: str,
    numbers: Callable[[str, str], Numbers],
    scale: str = "full",
    *,
    seeds: int = 5,
    first: int = 0,
    steps: int | None = None,
    keep: Callable[[str, str, int], bool] = lambda method, env, seed: True,
) -> None:
    """Write <root>/<scale>/<experiment>.csv for the runs that are planned. numbers: of a method on a task. Seeds, from
    `first` on, lie evenly within one hundredth."""
    rows: list[tuple] = []
    for method, env in dict.fromkeys((entry.method, entry.env) for entry in EXPERIMENTS[experiment](scale)):
        for seed in filter(lambda seed: keep(method, env, seed), range(first, first + seeds)):
            away = 2 * (seed - first) / (seeds - 1) - 1 if seeds > 1 else 0.0
            found = run_rows(experiment, numbers(method, env), away, steps or STEPS.get(experiment, 500_000))
            rows += [(experiment, scale, method, env, seed, *row, 0.1) for row in found]
    save(root, rows)


BONUS = 2**0.5
NEVER = 1 / (BONUS * M + 2 - BONUS)
"""Share of never-drawn transitions in the long run where they are drawn BONUS times as often as each other one."""
LAW = dict(never=NEVER, tv=(1 - NEVER) / M - NEVER, tv_replayed=1e-4, ess=0.99, log_score_sd_replayed=0.001, age=5e4)
DRAWS = dict(td2_mean=60.0, td2_sd=500.0, q_mean=-120.0, q_sd=60.0, log_td=1.0, scorer_updates=75.0)


def scores(method: str, env: str, levels: dict[str, float]) -> Numbers:
    """begin and score of a method: levels are in units of RANDOM's size, from RANDOM; it begins one unit below that."""
    agent, _, sampler = method.partition(" ")
    theirs = {**TABLE1, **TABLE2}.get((agent, env), {"random": 1000.0})["random"]
    return dict(begin=theirs - abs(theirs), score=theirs + levels.get(sampler, 1.2) * abs(theirs))


def plain(method: str) -> str:
    """The sampler of a method, whatever becomes of time-outs and however the paper is read."""
    sampler = method.partition(" ")[2]
    return sampler if sampler in ("ners few", "ners no-global") else sampler.split()[0]


def right(experiment: str) -> Callable[[str, str], Numbers]:
    """Numbers with which all that the paper says of an experiment holds, and NERS is not where RANDOM and PER are."""
    levels = {"random": 0.0, "per": 0.05 if experiment == "table2" else -0.2, "ero": 0.01, "ners": 2.0, "ners*": 1.98}
    levels |= {"lr 0.005": -0.5, "random-iid": 0.01}
    special: dict[str, Numbers] = {
        "per": dict(td2_sd=1200.0, q_sd=50.0, log_td=2.0, q_mean=-138.0, tv=0.3),
        "ero": dict(td2_sd=510.0, q_sd=59.0, log_td=0.9, q_mean=-121.0, tv=0.01),
        "ners": dict(td2_sd=700.0, q_sd=65.0, log_td=1.5, q_mean=-104.0),
        "random": dict(tv=0.0, tv_replayed=0.0, ess=1.0, log_score_sd_replayed=0.0),
    }

    def numbers(method: str, env: str) -> Numbers:
        if experiment == "own-why":
            tv = 0.3 if "environment" in method else 1e-3
            return {f"layer_{k}": 10 ** (-3 * k / 8) for k in range(9)} | {"tv_replayed": tv}
        if experiment == "fig1":
            return {"td": (2.5, 3.1), "q": (0.0, 0.7), "uniform": (0.0, 3.1)}
        away = dict(tv=0.3) if method.endswith("ners environment") else {}
        return LAW | DRAWS | scores(method, env, levels) | special.get(plain(method), {}) | away

    return numbers


def wrong(experiment: str) -> Callable[[str, str], Numbers]:
    """Numbers with which nothing of it does, nor our own predictions."""
    levels = {"random": 1.0, "per": 0.5 if experiment == "table2" else 3.0, "ero": 0.2, "ners": -0.5, "ners*": 1.0}
    levels |= {"lr 0.005": 3.0, "random-iid": -0.5, "ners environment": -0.5}
    special: dict[str, Numbers] = {
        "per": dict(td2_sd=100.0, q_sd=150.0, log_td=2.0, q_mean=-100.0, tv=0.05),
        "ero": dict(td2_sd=1000.0, td2_mean=120.0, q_sd=100.0, log_td=1.5, q_mean=-60.0),
        "random": dict(td2_sd=5000.0, td2_mean=1000.0),
        "ners": dict(td2_sd=300.0, q_sd=30.0, log_td=0.5, q_mean=-300.0, tv=0.09, tv_replayed=0.1),
    }

    def numbers(method: str, env: str) -> Numbers:
        if experiment == "own-why":
            tv = 1e-3 if "environment" in method else 0.1
            return {f"layer_{k}": 10 ** (-k / 8) for k in range(9)} | {"tv_replayed": tv}
        if experiment == "fig1":
            return {"td": (1.0, 2.2), "q": (1.0, 2.2), "uniform": (0.0, 3.1)}
        return LAW | DRAWS | scores(method, env, levels) | special.get(plain(method), {})

    return numbers
