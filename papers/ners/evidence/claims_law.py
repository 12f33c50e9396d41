"""Judges of what is drawn: the pictures of Fig. 1, the statistics of Table 3 and Fig. 5, and the sampling laws.

*The bonus for the new.* A transition that was never replayed has score 1. If all others had one score, the law would
have two levels, and its total variation from uniform would be P - c: P the probability that a draw is a transition's
first, c the share of stored transitions that were never drawn. In general P - c is a lower bound of it, so

    explained = (P - c) / total variation

says how much of the law the bonus accounts for. P is logged (`first_time`). So is c: the transitions drawn so far are
the first draws so far, and each step stores one (as long as the memory has not wrapped, which it never does here).
The share of first draws itself tells nothing: with m draws per step it is (1 - c) / m for every sampler.
"""

import math

import numpy as np

from lab.claims import Verdict, combine
from lab.results import MissingData
from papers.ners.evidence.claims_runs import PART, Judge, Rule, Runs, above, below
from papers.ners.evidence.pooled import replayed
from papers.ners.evidence.postures import posture

MOSTLY = 0.5
UNIFORM = 0.02
"""Total variation from uniform up to which a law hardly differs from RANDOM's."""
TINY = 1e-12


def share(runs: Runs, rule: str, kind: str, agent: str, env: str) -> np.ndarray:
    """Share of the transitions drawn by a rule of Fig. 1 that show the pendulum in a posture, (runs,)."""
    angles = runs.curve(f"{rule}_angle", f"{agent} random", env)[1]
    return np.array([[posture(angle) == kind for angle in row] for row in angles]).mean(axis=1)


def mostly(rule: str, kind: str) -> Judge:
    """More than half of a rule's draws are in the posture."""
    return lambda runs, agent, env: runs.level(share(runs, rule, kind, agent, env), MOSTLY, above, 0)


def more_often(rule: str, others: tuple[str, ...], kind: str) -> Judge:
    """A posture is more frequent in a rule's draws than in those of each of the others."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        first = share(runs, rule, kind, agent, env)
        names = {"td": "than by TD error", "q": "than by Q"}
        return combine({names[o]: runs.differ(first, share(runs, o, kind, agent, env), above, 0) for o in others})

    return judge


def statistic(k: int, x: str, y: str, rule: Rule) -> Judge:
    """Two samplers differ in the k-th statistic of Table 3 as the rule says."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        methods = [f"{agent} {sampler}" for sampler in (x, y)]
        values = [replayed(runs.rows(method, env))[:, k] for method in methods]
        return runs.differ(values[0], values[1], rule, max(runs.steps(method, env) for method in methods))

    return judge


def drawn(metric: str, x: str, y: str, *, early: bool = False, agents: tuple[str, ...] = ("sac",)) -> Judge:
    """A metric is higher with sampler x than with y, early or late in training; only for these agents."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        if agent not in agents:
            raise MissingData(f"not about {agent}")
        part = runs.early if early else runs.late
        methods = [f"{agent} {sampler}" for sampler in (x, y)]
        steps = max(runs.steps(method, env) for method in methods)
        first, second = (part(metric, method, env) for method in methods)
        return runs.differ(first, second, above, steps)

    return judge


def near_uniform(runs: Runs, agent: str, env: str) -> Verdict:
    """NERS's law ends within UNIFORM of the uniform one."""
    method = f"{agent} ners"
    return runs.level(runs.late("tv", method, env), UNIFORM, below, runs.steps(method, env))


def explained(first_time: np.ndarray, draws: np.ndarray, tv: np.ndarray, steps: np.ndarray) -> float:
    """Share of a run's late total variation that the bonus for the new accounts for.

    All [T], row by row, from the first row on: share of first draws and number of draws since the row before, total
    variation, and environment steps so far.
    """
    never = 1.0 - np.cumsum(first_time * draws) / steps  # at the end of each row's stretch
    between = np.convolve(np.concatenate([never[:1], never]), [0.5, 0.5], "valid")  # first_time is of the whole stretch
    late = slice(-max(1, len(steps) // PART), None)
    return float((first_time - between)[late].mean() / max(float(tv[late].mean()), TINY))


def bonus(runs: Runs, agent: str, env: str) -> Verdict:
    """Most of what NERS's law differs from uniform by is the bonus for transitions that were never replayed."""
    method = f"{agent} ners"
    rows = runs.rows(method, env)
    table = rows.pivot(index=["seed", "step"], columns="metric", values="value")
    if not {"first_time", "draws", "tv"} <= {*table}:
        raise MissingData(f"no statistics of the draws of {method} on {env}")
    found = []
    for _, run in table[table["tv"].notna()].groupby(level="seed"):
        steps = run.index.get_level_values("step").to_numpy(dtype=np.float64)
        first, draws = (run[name].fillna(0.0).to_numpy() for name in ("first_time", "draws"))
        found.append(explained(first, draws, run["tv"].to_numpy(), steps))
    assert all(map(math.isfinite, found))
    return runs.level(np.array(found), MOSTLY, above, runs.steps(method, env))
