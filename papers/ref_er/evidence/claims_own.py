"""Our own experiments about what the comparison at `quick` leaves open, as checks; see claims_runs.py.

They were written down before any of these runs: own-memory asks whether the divergence of DDPG with plain replay is
small at quick because its memory is, own-annealing whether ReF-ER is behind because it is annealed while plain replay
is not, and whether PPO's divergence is small because its rate is, own-million how far the paper's own
settings come in a tenth of its steps. The paper's returns are in pictures only, so that no number of it stands beside.
The two claims about white noise are later: before their own runs, but after all others of own-annealing.
"""

from functools import partial

import numpy as np

from lab.judge.claims import Claim
from lab.judge.comparisons import Runs, Score
from papers.ref_er.evidence.before_learning import before
from papers.ref_er.evidence.claims_ddpg import NEAR_MAXIMUM, largest_divergence
from papers.ref_er.evidence.claims_runs import DIVERGENCE, LAST, ROOM, score, settled
from papers.ref_er.evidence.claims_sensitivity import largest_memory
from papers.ref_er.evidence.claims_vracer import ALIKE, OWN_KL, REFER
from papers.ref_er.evidence.paper_values import FIG4

MEMORY = ("Walker2d-v5", "HalfCheetah-v5")
"""The tasks of own-memory; the other experiments have that of OWN_KL."""


def late_rise(runs: Runs, method: str, env: str) -> np.ndarray:
    """Returns in the last fifth of training less those of the fifth before."""
    bins = settled(runs, "return", method, env, 1.0 - 2.0 * LAST)
    middle = bins.shape[1] // 2
    return bins[:, middle:].mean(axis=1) - bins[:, :middle].mean(axis=1)


def cut(runs: Runs, method: str, env: str) -> np.ndarray:
    """Scores count as no lower than the limit of `fallen`: of one run at -1e8 any interval of means would be too wide
    to say anything. It can only favour plain replay."""
    start = before(method, env)
    return np.maximum(score(runs, method, env), start - abs(start))


memory = partial(ROOM.all, of="own-memory", on=MEMORY, by=DIVERGENCE)
BOTH_LENGTHS = f"own-segments+{FIG4}"
annealing = partial(ROOM.all, of="own-annealing", on=OWN_KL)
million = partial(ROOM.all, of="own-million", on=OWN_KL)
segments = partial(ROOM.all, of=BOTH_LENGTHS, on=OWN_KL)
LARGEST = partial(largest_memory, usual="ddpg er")
CLAIMS = [
    Claim("own-memory-larger", "own-memory", "DDPG with plain replay diverges further from a larger memory (at quick "
          "of 262,144 steps instead of 16,384)", "-", memory(LARGEST, ">", "ddpg er"), kind="own"),
    Claim("own-memory-maximum", "own-memory", "DDPG: with the larger memory plain replay's divergence ends in the "
          "order of magnitude of its maximum 2d/σ² (above a tenth of it)", "50 of 300 in Walker2d, at 10 million steps",
          memory(LARGEST, ">", largest_divergence, margin=NEAR_MAXIMUM), kind="own"),
    Claim("own-annealing-ddpg", "own-annealing", "DDPG: with neither learning rate nor c_max annealed, ReF-ER ends "
          "above plain replay, which is not either", "-", annealing("ddpg refer (A 0)", ">", "ddpg er"), kind="own"),
    Claim("own-annealing-noise", "own-annealing", "DDPG: the same where plain replay explores with white noise, as "
          "ReF-ER does: ReF-ER without annealing ends above it", "-",
          annealing("ddpg refer (A 0)", ">", "ddpg er (white noise)"), kind="own"),
    Claim("own-annealing-correlated", "own-annealing", "DDPG: plain replay ends higher with noise that is correlated "
          "in time than with white noise", "found necessary, without numbers",
          annealing("ddpg er", ">", "ddpg er (white noise)"), kind="own"),
    Claim("own-annealing-ppo", "own-annealing", "V-RACER with ReF-ER ends with a divergence similar to that of PPO "
          f"with a constant learning rate (within a factor of {ALIKE:g})", "-",
          annealing(REFER, "==", "ppo (A 0)", by=DIVERGENCE, margin=ALIKE), kind="own"),
    Claim("own-million-er", "own-million", "V-RACER with the paper's settings: after a million steps (at full: ten), "
          "ReF-ER ends above plain replay", "a curve for ReF-ER, in a picture only",
          million(REFER, ">", "vracer er", by=Score(cut, gated=True)), kind="own"),
    Claim("own-million-rises", "own-million", "V-RACER with the paper's settings: with ReF-ER the return still rises "
          "at the end of a million steps (at full: ten), from the last fifth but one to the last", "a curve in Fig. 4, "
          "in a picture only", million(REFER, ">", 0.0, by=Score(late_rise, gated=True)), kind="own"),
    Claim("own-segments", "own-segments", "ACER (lr 1e-5) ends alike with the full protocol's segments of 200 steps "
          "and with 10 (within a fifth of what the better one gained)", "-",
          segments("acer (segments of 200)", "==", "acer (lr 1e-05)"),
          kind="own", reads=BOTH_LENGTHS, scales=("quick",)),  # at full its runs are quick's, the others are not
]  # fmt: skip
