"""How a run's divergence and share of far samples go over time: what the claims about Figures 2, 3 and 5 share.

Claims about a whole run look at the bins after a fifth of training (SETTLED), by when the controller of beta has had
time to act.
"""

import numpy as np

from lab.comparisons import TINY, Compare, Runs, Score
from lab.verdicts import number
from papers.ref_er.evidence.claims_runs import ROOM, TEN, late, settled
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


def divergences(runs: Runs, method: str, env: str) -> np.ndarray:
    """Settled, [runs, bins]."""
    return settled(runs, "kl", method, env)


def fall(runs: Runs, method: str, env: str) -> np.ndarray:
    kl = divergences(runs, method, env)
    return kl[:, -1] / np.maximum(kl[:, 0], TINY)


FALL = Score(fall, show=number)
"""Last divergence over the first."""
RISES = Score(lambda *run: largest_rise(divergences(*run)), show=number)
ROUGHNESS = Score(lambda *run: roughness(divergences(*run)))
FROM_IMPLIED = Score(
    lambda runs, *run: factor_from_implied(settled(runs, "kl", *run), settled(runs, "c_max", *run)), show=number
)
AWAY = Score(lambda runs, *run: np.abs(settled(runs, "far", *run) - TOLERANCE).mean(axis=1), show=number)
"""Mean distance of the share of far samples from D."""
FAR_SAMPLES, BETA, DEVIATION = (Score(late(metric)) for metric in ("far", "beta", "std"))
WIDEST = Score(lambda runs, *run: settled(runs, "std", *run, 0.0).max(axis=1))
"""Largest deviation of the policy over all of training."""


def declines(method: str, of: str) -> Compare:
    """Check that the divergence falls smoothly. That it falls follows from the annealing of c_max as long as the share
    of far samples is held; that it does so smoothly tells a controlled policy from one that is not."""
    parts = {"last / first": (method, "<", DECLINE, FALL), "largest rise": (method, "<", RISE, RISES)}
    return ROOM.most(parts, of=of, on=TEN, decisive=["largest rise"])
