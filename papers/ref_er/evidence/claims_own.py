"""Our own experiments about what the comparison at `quick` leaves open, as checks; see claims_runs.py.

They were written down before any of these runs: own-memory asks whether the divergence of DDPG with plain replay is
small at quick because its memory is, own-annealing whether ReF-ER is behind because it is annealed while plain replay
is not, and whether PPO's divergence is small because its rate is, own-million how far the paper's own
settings come in a tenth of its steps. The paper's returns are in pictures only, so that no number of it stands beside.
The two claims about white noise are later: before their own runs, but after all others of own-annealing.
"""

import numpy as np

from lab.claims import Claim
from lab.verdicts import Verdict, above, difference, gated
from papers.ref_er.evidence.before_learning import before
from papers.ref_er.evidence.claims_ddpg import NEAR_MAXIMUM
from papers.ref_er.evidence.claims_kl import larger
from papers.ref_er.evidence.claims_runs import LAST, Runs, compared, every, similar, times
from papers.ref_er.evidence.claims_sensitivity import largest_memory
from papers.ref_er.evidence.claims_vracer import ALIKE, OWN_KL, REFER
from papers.ref_er.evidence.paper_values import ACTIONS, NOISE

MEMORY = ("Walker2d-v5", "HalfCheetah-v5")
"""The tasks of own-memory; the other experiments have that of OWN_KL."""


def near_maximum(runs: Runs, env: str) -> Verdict:
    """As fig2-maximum, with the larger memory."""
    method = largest_memory(runs, env, "ddpg er")
    rule = times(1.0 / NEAR_MAXIMUM)
    return runs.level(runs.late("kl")(method, env), 2.0 * ACTIONS[env] / NOISE**2, method, env, rule)


def larger_memory(runs: Runs, env: str) -> Verdict:
    """The larger memory ends with more divergence than the usual one."""
    return runs.ratio(largest_memory(runs, env, "ddpg er"), "ddpg er", env, above())


def still_rises(runs: Runs, env: str) -> Verdict:
    """V-RACER's returns with ReF-ER in the last fifth of training are above those of the fifth before."""
    bins = runs.settled("return", REFER, env, 1.0 - 2.0 * LAST)
    middle = bins.shape[1] // 2
    estimate = difference(bins[:, middle:].mean(axis=1), bins[:, :middle].mean(axis=1), paired=True)
    return gated(runs.say(estimate, above(), [REFER], env), **{REFER: runs.learns(REFER, env)})


def above_er(runs: Runs, env: str) -> Verdict:
    """V-RACER ends higher with ReF-ER than with plain replay. Scores count as no lower than the limit of `fallen`:
    of one run at -1e8 any interval of means would be too wide to say anything. It can only favour plain replay."""

    def score(method: str, env: str) -> np.ndarray:
        start = before(method, env)
        return np.maximum(runs.score(method, env), start - abs(start))

    sides = {method: runs.learns(method, env) for method in (REFER, "vracer er")}
    return gated(runs.differ(score, REFER, "vracer er", env), **sides)


CLAIMS = [
    Claim(
        "own-memory-larger", "own-memory", "DDPG with plain replay diverges further from a larger memory (at quick of "
        "262,144 steps instead of 16,384)", "-", every("own-memory", larger_memory, MEMORY), kind="own",
    ),
    Claim(
        "own-memory-maximum", "own-memory", "DDPG: with the larger memory plain replay's divergence ends in the order "
        "of magnitude of its maximum 2d/σ² (above a tenth of it)", "50 of 300 in Walker2d, at 10 million steps",
        every("own-memory", near_maximum, MEMORY), kind="own",
    ),
    Claim(
        "own-annealing-ddpg", "own-annealing", "DDPG: with neither learning rate nor c_max annealed, ReF-ER ends "
        "above plain replay, which is not either", "-",
        every("own-annealing", compared("ddpg refer (A 0)", "ddpg er"), OWN_KL), kind="own",
    ),
    Claim(
        "own-annealing-noise", "own-annealing", "DDPG: the same where plain replay explores with white noise, as "
        "ReF-ER does: ReF-ER without annealing ends above it", "-",
        every("own-annealing", compared("ddpg refer (A 0)", "ddpg er (white noise)"), OWN_KL), kind="own",
    ),
    Claim(
        "own-annealing-correlated", "own-annealing", "DDPG: plain replay ends higher with noise that is correlated in "
        "time than with white noise", "found necessary, without numbers",
        every("own-annealing", compared("ddpg er", "ddpg er (white noise)"), OWN_KL), kind="own",
    ),
    Claim(
        "own-annealing-ppo", "own-annealing", "V-RACER with ReF-ER ends with a divergence similar to that of PPO with "
        f"a constant learning rate (within a factor of {ALIKE:g})", "-",
        every("own-annealing", larger(REFER, "ppo (A 0)", similar(ALIKE)), OWN_KL), kind="own",
    ),
    Claim(
        "own-million-er", "own-million", "V-RACER with the paper's settings: after a million steps (at full: ten), "
        "ReF-ER ends above plain replay", "a curve for ReF-ER, in a picture only",
        every("own-million", above_er, OWN_KL), kind="own",
    ),
    Claim(
        "own-million-rises", "own-million", "V-RACER with the paper's settings: with ReF-ER the return still rises at "
        "the end of a million steps (at full: ten), from the last fifth but one to the last", "a curve in Fig. 4, in a "
        "picture only", every("own-million", still_rises, OWN_KL), kind="own",
    ),
]  # fmt: skip
