"""What Section 3.2.1 says about bit flipping with a useless action, as checks against exact values.

A run's bias is Q - Q* of that action in costs of a step, averaged over pairs of bits and goal. It is judged in both
readings of the action (envs/bitflip.py), at the end of training unless said otherwise.
"""

from collections.abc import Callable

import numpy as np

from lab import scores
from lab.claims import Claim
from lab.results import Results
from lab.verdicts import Rule, Verdict, above, all_of, decide, difference, mean_of, same
from papers.bias_reduced_her.evidence.labels import PLAIN, READINGS

TIMEOUT = "BitFlip-10-timeout"
LAST = 5
"""Evaluations whose mean is the end of training."""
MARGIN = 0.4
"""Largest bias that counts as none: half of 0.98^9 = 0.83, the least by which giving up, where it is useless, is worse
than the best flip. Fixed before Filtered-HER was run on this task."""
SELDOM = 0.05
"""Share of pairs up to which an agent does not give up."""
SOLVED, FAILED = 0.9, 0.1
"""Success rates of plain bit flipping from which it counts as solved, and up to which as not learned at all."""


class Runs(scores.Runs):
    """The runs of the experiment."""

    def __init__(self, results: Results):
        super().__init__(results, "bitflip")
        self.longest = int(self.frame["step"].max())

    def end(self, metric: str, method: str, env: str) -> np.ndarray:
        """(runs,)"""
        return self.last(metric, method, env, LAST)

    def judge(self, values: np.ndarray, rule: Rule, note: str = "") -> Verdict:
        """What `rule` says of the mean of `values` (runs,)."""
        return decide(mean_of(values), rule, steps=self.longest, scale=self.scale, note=note)

    def more(self, x: np.ndarray, y: np.ndarray) -> Verdict:
        """Whether x is above y (runs,), seed by seed: both methods see the same starts and begin with one network."""
        return decide(difference(x, y, paired=True), above(), steps=self.longest, scale=self.scale)


def every_reading(judge: Callable[[str], Verdict]) -> Verdict:
    return all_of({reading: judge(env) for env, reading in READINGS.items()})


def her_is_biased(results: Results) -> Verdict:
    """HER's mean bias is above MARGIN. The note has that of the flips, which shows what is due to slow learning."""
    runs = Runs(results)
    verdict = every_reading(lambda env: runs.judge(runs.end("quit_bias", "her", env), above(MARGIN)))
    flips = [f"{runs.end('flip_bias', 'her', env).mean():+.2g}" for env in READINGS]
    verdict.note += f". Bias of the flips: {' and '.join(flips)}"
    return verdict


def filtered_is_not(results: Results) -> Verdict:
    """Filtered-HER's mean bias is within MARGIN of 0 where HER's is above it; else there is no bias to remove."""
    runs = Runs(results)

    def judge(env: str) -> Verdict:
        verdict = runs.judge(runs.end("quit_bias", "filtered-her", env), same(MARGIN))
        if runs.judge(runs.end("quit_bias", "her", env), above(MARGIN)).status != "reproduced":
            verdict.status, verdict.p, verdict.note = "inconclusive", None, "HER is not biased: nothing to remove"
        return verdict

    return every_reading(judge)


def filter_lowers(results: Results) -> Verdict:
    """HER's bias is larger than Filtered-HER's."""
    runs = Runs(results)
    return every_reading(lambda env: runs.more(*(runs.end("quit_bias", m, env) for m in ("her", "filtered-her"))))


def near_the_goal(results: Results) -> Verdict:
    """As `filter_lowers`, where a single bit is wrong and on average over training."""
    runs = Runs(results)
    return every_reading(lambda env: runs.more(*(runs.area("quit_bias_near", m, env) for m in ("her", "filtered-her"))))


def gives_up(results: Results) -> Verdict:
    """Where giving up is useless, HER gives up in more than a share of SELDOM of the pairs."""
    runs = Runs(results)
    return runs.judge(runs.end("quits", "her", TIMEOUT), above(SELDOM), "share of pairs of bits and goal")


def plain(results: Results) -> Verdict:
    """Without the action, the agent flips its way to the goal with hindsight and not without it."""
    runs = Runs(results)
    return all_of(
        {
            "HER": runs.judge(runs.end("success", "her", PLAIN), above(SOLVED)),
            "no hindsight": runs.judge(runs.end("success", "none", PLAIN), same(FAILED)),
        }
    )


CLAIMS = [
    Claim(
        "bitflip-her", "bitflip", f"HER over-estimates the useless action (by more than {MARGIN} steps)",
        "biased upward, no number", her_is_biased,
    ),
    Claim(
        "bitflip-filtered", "bitflip", "Where HER over-estimates the useless action, Filtered-HER does not (within "
        f"{MARGIN} steps)", "bias removed", filtered_is_not,
    ),
    Claim("bitflip-filter", "bitflip", "The filter lowers the estimate of the useless action", "lower", filter_lowers),
    Claim(
        "own-bitflip-near", "bitflip", "Where a single bit is wrong, the filter lowers the estimate of the useless "
        "action (mean over training)", "-", near_the_goal, kind="own",
    ),
    Claim(
        "bitflip-gives-up", "bitflip", f"HER prefers the useless action (in more than {100 * SELDOM:g} % of states)",
        "may assume that it is desired", gives_up,
    ),
    Claim(
        "own-bitflip-plain", "bitflip", f"HER solves plain 10-bit flipping (success above {SOLVED}), and without "
        f"hindsight nothing is learned (below {FAILED})", "-", plain, kind="own",
    ),
]  # fmt: skip
