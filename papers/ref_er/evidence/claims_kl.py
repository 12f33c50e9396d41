"""How a run's divergence and share of far samples go over time: what the claims about Figures 2, 3 and 5 share.

Claims about a whole run look at the bins after a fifth of training (SETTLED), by when the controller of beta has had
time to act.
"""

import numpy as np

from lab.verdicts import Rule, Verdict, all_of
from papers.ref_er.evidence.claims_runs import TINY, Judge, Runs
from papers.ref_er.evidence.implied_kl import implied_kl
from papers.ref_er.evidence.paper_values import TOLERANCE

FAR = 0.02
"""Largest mean distance of the share of far samples from D that counts as held."""
FACTOR = 2.0
"""Largest ratio of two divergences that counts as agreement with a number."""
DECLINE = 0.5
"""Ratio of the last divergence to the first that counts as a decrease. The annealing implies 0.23."""
RISE = 0.1
"""Rise above the lowest divergence before, as a share of it, that still counts as smooth."""


def largest_rise(kl: np.ndarray) -> np.ndarray:
    """By what share of it divergences [runs, bins] ever exceed the lowest of the bins before, (runs,); 0: monotone."""
    lowest = np.maximum(np.minimum.accumulate(kl, axis=1), TINY)
    return (kl / lowest).max(axis=1) - 1.0


def roughness(kl: np.ndarray) -> np.ndarray:
    """Standard deviation of the changes of ln(divergence) from bin to bin, (runs,); 0 for a steady decay."""
    return np.diff(np.log(np.maximum(kl, TINY)), axis=1).std(axis=1)


def factor_from_implied(kl: np.ndarray, c_max: np.ndarray) -> np.ndarray:
    """Largest factor, up or down, between divergences and those that D implies, both [runs, bins], (runs,)."""
    unique, where = np.unique(c_max, return_inverse=True)
    implied = np.array([implied_kl(float(c), TOLERANCE) for c in unique])[where].reshape(c_max.shape)
    return np.exp(np.abs(np.log(np.maximum(kl, TINY) / implied)).max(axis=1))


def declines(method: str) -> Judge:
    """Judge of "the divergence falls smoothly". That it falls follows from the annealing of c_max as long as the share
    of far samples is held; that it does so smoothly tells a controlled policy from one that is not."""

    def judge(runs: Runs, env: str) -> Verdict:
        kl = runs.settled("kl", method, env)
        last = kl[:, -1] / np.maximum(kl[:, 0], TINY)
        parts = {
            "last / first": runs.at_most(last, DECLINE, method, env),
            "largest rise": runs.at_most(largest_rise(kl), RISE, method, env),
        }
        return all_of(parts, decisive=["largest rise"])

    return judge


def follows_implied(method: str) -> Judge:
    """Judge of "the divergence is what D implies, within FACTOR, in all bins"."""

    def judge(runs: Runs, env: str) -> Verdict:
        kl, c_max = (runs.settled(metric, method, env) for metric in ("kl", "c_max"))
        return runs.at_most(factor_from_implied(kl, c_max), FACTOR, method, env)

    return judge


def held(method: str) -> Judge:
    """Judge of "the share of far samples stays at D, within FAR on average"."""

    def judge(runs: Runs, env: str) -> Verdict:
        away = np.abs(runs.settled("far", method, env) - TOLERANCE).mean(axis=1)
        return runs.at_most(away, FAR, method, env)

    return judge


def rougher(x: str, y: str) -> Judge:
    """Judge of "x's divergence is more erratic than y's"."""
    return lambda runs, env: runs.differ(lambda method, env: roughness(runs.settled("kl", method, env)), x, y, env)


def larger(x: str, y: str, rule: Rule) -> Judge:
    """Judge of "x's divergence ends that many times as large as y's", see `times` and `similar`."""
    return lambda runs, env: runs.ratio(x, y, env, rule)


def rises_more(x: str, y: str) -> Judge:
    """Judge of "the largest deviation of x's policies, over all of training, is above that of y's"."""

    def judge(runs: Runs, env: str) -> Verdict:
        return runs.differ(lambda method, env: runs.settled("std", method, env, 0.0).max(axis=1), x, y, env)

    return judge


def more(metric: str, x: str, y: str) -> Judge:
    """Judge of "x's metric ends above y's"."""
    return lambda runs, env: runs.differ(runs.late(metric), x, y, env)
