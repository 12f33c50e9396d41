"""What Section 3.2.1 says about bit flipping with a useless action, as checks against exact values.

A run's bias is Q - Q* of that action in costs of a step, averaged over pairs of bits and goal. It is judged in both
readings of the action (envs/bitflip.py), at the end of training unless said otherwise.
"""

from collections.abc import Callable

import numpy as np

from lab.claims import MIN_SEEDS, Claim, Verdict, combine, judge_difference, number
from lab.results import Results, final, matrix
from lab.stats import auc, bootstrap_interval
from papers.bias_reduced_her.evidence.figures_bitflip import PLAIN, READINGS

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


class Runs:
    """The runs of the experiment, at the best scale there is."""

    def __init__(self, results: Results):
        self.frame, self.scale = results.need("bitflip")
        self.steps = int(self.frame["step"].max())

    def end(self, metric: str, method: str, env: str) -> np.ndarray:
        """(runs,)"""
        return final(self.frame, metric, method, env, last=LAST)

    def judge(self, values: np.ndarray, status: Callable[[float, float], str], note: str = "") -> Verdict:
        """A verdict on the mean of `values` (runs,): `status` of its interval (low, high)."""
        low, high = bootstrap_interval(values)
        found = status(low, high) if len(values) >= MIN_SEEDS else "inconclusive"
        interval = f"[{number(low, '+')}, {number(high, '+')}]" if len(values) > 1 else ""
        return Verdict(found, number(float(values.mean()), "+"), interval, len(values), self.steps, self.scale, note)


def above(limit: float) -> Callable[[float, float], str]:
    """Status of "the mean is above `limit`"."""
    return lambda low, high: "reproduced" if low > limit else "not reproduced" if high < limit else "inconclusive"


def within(limit: float) -> Callable[[float, float], str]:
    """Status of "the mean lies within `limit` of 0"."""

    def status(low: float, high: float) -> str:
        if -limit < low and high < limit:
            return "reproduced"
        return "not reproduced" if low > limit or high < -limit else "inconclusive"

    return status


def _every_reading(judge: Callable[[str], Verdict]) -> Verdict:
    return combine({reading: judge(env) for env, reading in READINGS.items()})


def her_is_biased(results: Results) -> Verdict:
    """HER's mean bias is above MARGIN. The note has that of the flips, which shows what is due to slow learning."""
    runs = Runs(results)
    verdict = _every_reading(lambda env: runs.judge(runs.end("quit_bias", "her", env), above(MARGIN)))
    flips = [f"{runs.end('flip_bias', 'her', env).mean():+.2g}" for env in READINGS]
    verdict.note += f". Bias of the flips: {' and '.join(flips)}"
    return verdict


def filtered_is_not(results: Results) -> Verdict:
    """Filtered-HER's mean bias is within MARGIN of 0."""
    runs = Runs(results)
    return _every_reading(lambda env: runs.judge(runs.end("quit_bias", "filtered-her", env), within(MARGIN)))


def filter_lowers(results: Results) -> Verdict:
    """HER's bias is larger than Filtered-HER's."""
    runs = Runs(results)

    def judge(env: str) -> Verdict:
        her, filtered = (runs.end("quit_bias", method, env) for method in ("her", "filtered-her"))
        return judge_difference(her, filtered, steps=runs.steps, scale=runs.scale)

    return _every_reading(judge)


def near_the_goal(results: Results) -> Verdict:
    """As `filter_lowers`, where a single bit is wrong and on average over training."""
    runs = Runs(results)

    def judge(env: str) -> Verdict:
        her, filtered = (
            np.asarray(auc(*matrix(runs.frame, "quit_bias_near", method, env))) for method in ("her", "filtered-her")
        )
        return judge_difference(her, filtered, steps=runs.steps, scale=runs.scale)

    return _every_reading(judge)


def gives_up(results: Results) -> Verdict:
    """Where giving up is useless, HER gives up in more than a share of SELDOM of the pairs."""
    runs = Runs(results)
    return runs.judge(runs.end("quits", "her", TIMEOUT), above(SELDOM), "share of pairs of bits and goal")


def plain(results: Results) -> Verdict:
    """Without the action, the agent flips its way to the goal with hindsight and not without it."""
    runs = Runs(results)
    return combine(
        {
            "HER": runs.judge(runs.end("success", "her", PLAIN), above(SOLVED)),
            "no hindsight": runs.judge(runs.end("success", "none", PLAIN), within(FAILED)),
        }
    )


CLAIMS = [
    Claim(
        "bitflip-her", "bitflip", f"HER over-estimates the useless action (by more than {MARGIN} steps)",
        "biased upward, no number", her_is_biased,
    ),
    Claim(
        "bitflip-filtered", "bitflip", f"Filtered-HER does not (bias within {MARGIN} steps)", "bias removed",
        filtered_is_not,
    ),
    Claim("bitflip-filter", "bitflip", "The filter lowers the estimate of the useless action", "lower", filter_lowers),
    Claim(
        "bitflip-near", "bitflip", "Not in the paper: where a single bit is wrong, the filter lowers it (mean over "
        "training)", "-", near_the_goal,
    ),
    Claim(
        "bitflip-gives-up", "bitflip", f"HER prefers the useless action (in more than {100 * SELDOM:g} % of states)",
        "may assume that it is desired", gives_up,
    ),
    Claim(
        "bitflip-plain", "bitflip", f"Not in the paper: HER solves plain 10-bit flipping (success above {SOLVED}), and "
        f"without hindsight nothing is learned (below {FAILED})", "-", plain,
    ),
]  # fmt: skip
