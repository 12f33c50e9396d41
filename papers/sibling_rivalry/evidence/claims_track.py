"""What Section 3 and Appendix A say about the circular track (Figs. 1 and 2), as checks.

Metrics are those of track.py: where the episodes ended that were played since the row before. "Early" is the first
quarter of these rows, "in the end" the last quarter; a run's score is the mean over them. When the limits below were
written down, nothing had been seen of the runs but the last row of one per method.
"""

from collections.abc import Callable

import numpy as np

from envs.circular_track import GOAL, LOCAL_OPTIMUM
from lab.claims import MIN_SEEDS, Claim, Verdict, combine, judge_difference, number
from lab.results import Results, matrix
from lab.stats import bootstrap_interval
from papers.sibling_rivalry.evidence.ends import histograms
from papers.sibling_rivalry.track import BINS, ENV

MOST = 0.5
"""Share of ends from which a place counts as where the policy goes: more than everywhere else together."""
FEW = 0.05
"""Share of ends up to which it counts as left alone; a place of this size is 0.06 of the track."""
BESIDE = 0.2
"""Share of near misses that must lie on either side of the goal for the ends to be split around it."""
GOAL_BIN, LOCAL_OPTIMUM_BIN = (int(phase / (2 * np.pi) * BINS) for phase in (GOAL, LOCAL_OPTIMUM))


class Runs:
    """The runs of the experiment, at the best scale there is."""

    def __init__(self, results: Results):
        self.frame, self.scale = results.need("track")
        self.steps = int(self.frame["step"].max())

    def early(self, metric: str, method: str) -> np.ndarray:
        """(runs,)"""
        _, values = matrix(self.frame, metric, method, ENV)
        return values[:, : quarter(values)].mean(axis=1)

    def end(self, metric: str, method: str) -> np.ndarray:
        """(runs,)"""
        _, values = matrix(self.frame, metric, method, ENV)
        return values[:, -quarter(values) :].mean(axis=1)

    def histograms(self, method: str, role: str) -> tuple[np.ndarray, np.ndarray]:
        """Shares of ends in bins of the phase, early and in the end: (runs, BINS) each."""
        _, shares = histograms(self.frame, method, role)
        rows = quarter(shares)
        return shares[:, :rows].mean(axis=1), shares[:, -rows:].mean(axis=1)

    def judge(self, values: np.ndarray, limit: float, above: bool) -> Verdict:
        """Whether the mean of `values` (runs,) lies above (or, if not `above`, below) `limit`, by its interval."""
        low, high = bootstrap_interval(values)
        right, wrong = (low > limit, high < limit) if above else (high < limit, low > limit)
        status = "reproduced" if right else "not reproduced" if wrong else "inconclusive"
        if len(values) < MIN_SEEDS:
            status = "inconclusive"
        interval = f"[{number(low)}, {number(high)}]" if len(values) > 1 else ""
        return Verdict(status, number(float(values.mean())), interval, len(values), self.steps, self.scale)

    def greater(self, x: np.ndarray, y: np.ndarray) -> Verdict:
        """Whether the mean of `x` (runs,) is above that of `y`."""
        return judge_difference(x, y, steps=self.steps, scale=self.scale)


def quarter(values: np.ndarray) -> int:
    """A quarter of the rows of values [runs, rows, ...]; at least one."""
    return max(1, values.shape[1] // 4)


def lead(shares: np.ndarray, bin: int) -> np.ndarray:
    """By how much a bin of `shares` (runs, BINS) exceeds the highest other one, (runs,): above 0 at the peak."""
    return shares[:, bin] - np.delete(shares, bin, axis=1).max(axis=1)


def entropy(shares: np.ndarray) -> np.ndarray:
    """Of distributions (runs, BINS), in nats, (runs,)."""
    return -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=1)


def naive(results: Results) -> Verdict:
    """With Eq. (2), most episodes end at the local optimum, and hardly any at the goal."""
    runs = Runs(results)
    return combine(
        {
            "at the local optimum": runs.judge(runs.end("trapped", "naive"), MOST, above=True),
            "at the goal": runs.judge(runs.end("success", "naive"), FEW, above=False),
        }
    )


def solved(method: str) -> Callable[[Results], Verdict]:
    """With `method`, hardly any episode ends at the local optimum, and most at the goal."""

    def check(results: Results) -> Verdict:
        runs = Runs(results)
        return combine(
            {
                "at the local optimum": runs.judge(runs.end("trapped", method), FEW, above=False),
                "at the goal": runs.judge(runs.end("success", method), MOST, above=True),
            }
        )

    return check


def closer(results: Results) -> Verdict:
    """The closer siblings' ends have their peak at the local optimum early, and at the goal in the end."""
    runs = Runs(results)
    early, end = runs.histograms("sr", "closer ")
    return combine(
        {
            "early, share at the local optimum less the highest elsewhere": runs.judge(
                lead(early, LOCAL_OPTIMUM_BIN), 0.0, above=True
            ),
            "in the end, share at the goal less the highest elsewhere": runs.judge(
                lead(end, GOAL_BIN), 0.0, above=True
            ),
        }
    )


def farther(results: Results) -> Verdict:
    """The farther siblings' ends are more spread than the closer ones' early; in the end they lie around the goal."""
    runs = Runs(results)
    spread = [entropy(runs.histograms("sr", role)[0]) for role in ("farther ", "closer ")]
    left, right = (runs.end(f"farther {side}", "sr") for side in ("left", "right"))
    return combine(
        {
            "early, entropy less the closer one's": runs.greater(*spread),
            "in the end, share of near misses on the rarer side of the goal": runs.judge(
                np.minimum(left, right) / np.maximum(left + right, 1e-9), BESIDE, above=True
            ),
        }
    )


def over_represented(results: Results) -> Verdict:
    """Early, the closer siblings end at the local optimum more often than the farther ones; nowhere is the difference
    larger. That is where optimising the distance to the goal leads: see `naive`."""
    runs = Runs(results)
    difference = runs.histograms("sr", "closer ")[0] - runs.histograms("sr", "farther ")[0]
    return combine(
        {
            "closer less farther there": runs.greater(
                runs.early("closer trapped", "sr"), runs.early("farther trapped", "sr")
            ),
            "that less the largest difference elsewhere": runs.judge(
                lead(difference, LOCAL_OPTIMUM_BIN), 0.0, above=True
            ),
        }
    )


CLAIMS = [
    Claim(
        "fig1-naive", "fig1", "The distance to the goal as reward pins the ends at the local optimum (share above "
        f"{MOST}; at the goal below {FEW})", "peaked around it", naive,
    ),
    Claim(
        "fig1-fixed", "fig1", f"With the local optimum as anti-goal, the agent leaves it (share below {FEW}) and "
        f"learns to reach the goal (above {MOST})", "prevents it, reaches it quickly", solved("fixed"),
    ),
    Claim(
        "fig2-solved", "fig2", "Sibling Rivalry does so, too, without being told where the local optimum is (same "
        "limits)", "picture only", solved("sr"),
    ),
    Claim(
        "fig2-closer", "fig2", "The closer sibling's end is concentrated around the local optimum early and around the "
        "goal later", "closely concentrated there", closer,
    ),
    Claim(
        "fig2-farther", "fig2", "The farther sibling's ends are spread more widely early, and split around the goal "
        f"later (share of near misses on the rarer side above {BESIDE})", "picture only", farther,
    ),
    Claim(
        "fig2-over-represented", "fig2", "App. A: early, the local optimum is over-represented among the closer "
        "siblings, and more so than any other place", "hypothesis, no number", over_represented,
    ),
]  # fmt: skip
