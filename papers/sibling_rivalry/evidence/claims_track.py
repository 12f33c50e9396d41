"""What Section 3 and Appendix A say about the circular track (Figs. 1 and 2), as checks.

Metrics are those of track.py: where the episodes ended that were played since the row before. "Early" is the first
quarter of these rows, "in the end" the last quarter; a run's score is the mean over them. When the limits below were
written down, nothing had been seen of the runs but the last row of one per method. The claim on the closer sibling was
made stricter afterwards, as a peak of a quarter of the ends is not concentrated: it has the limit of the naive reward.

Siblings are compared within their run. That the local optimum is over-represented among the closer ones, which the
paper offers as an explanation, is a prediction of ours for its first quarter.
"""

import numpy as np

from envs.circular_track import LOCAL_OPTIMUM
from lab import scores
from lab.claims import Claim
from lab.results import Results
from lab.verdicts import Rule, Verdict, above, all_of, below, controlled, decide, difference, mean_of, number
from papers.sibling_rivalry.evidence.ends import histograms
from papers.sibling_rivalry.track import BINS, ENV

MOST = 0.5
"""Share of ends from which a place counts as where the policy goes: more than everywhere else together."""
FEW = 0.05
"""Share of ends up to which it counts as left alone; a place of this size is 0.06 of the track."""
BESIDE = 0.2
"""Share of near misses that must lie on either side of the goal for the ends to be split around it."""
LOCAL_OPTIMUM_BIN = int(LOCAL_OPTIMUM / (2 * np.pi) * BINS)


class Runs(scores.Runs):
    """The runs of the experiment, their numbers early and in the end, and what these say."""

    def __init__(self, results: Results):
        super().__init__(results, "track")

    def early(self, metric: str, method: str) -> np.ndarray:
        """(runs,)"""
        values = self.curve(metric, method, ENV)[1]
        return values[:, : quarter(values)].mean(axis=1)

    def end(self, metric: str, method: str) -> np.ndarray:
        """(runs,)"""
        values = self.curve(metric, method, ENV)[1]
        return values[:, -quarter(values) :].mean(axis=1)

    def early_histogram(self, method: str, role: str) -> np.ndarray:
        """Shares of ends in bins of the phase: (runs, BINS)."""
        _, shares = histograms(self.frame, method, role)
        return shares[:, : quarter(shares)].mean(axis=1)

    def reached_by_any(self) -> bool:
        """Whether most episodes of some method end at the goal."""
        return any(self.end("success", method).mean() > MOST for method, _ in self.groups)

    def share(self, values: np.ndarray, rule: Rule) -> Verdict:
        """What the rule says of the mean of `values` (runs,)."""
        return decide(mean_of(values), rule, steps=self.steps(ENV), scale=self.scale, show=number)

    def greater(self, x: np.ndarray, y: np.ndarray) -> Verdict:
        """Whether `x` (runs,) is above `y` of the same runs."""
        return decide(difference(x, y, paired=True), above(), steps=self.steps(ENV), scale=self.scale)


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
    """With Eq. (2), most episodes end at the local optimum, and hardly any at the goal, which others reach."""
    runs = Runs(results)
    missed = controlled(runs.share(runs.end("success", "naive"), below(FEW)), runs.reached_by_any())
    parts = {"at the local optimum": runs.share(runs.end("trapped", "naive"), above(MOST)), "at the goal": missed}
    return all_of(parts, decisive=["at the local optimum"])


def fixed(results: Results) -> Verdict:
    """With an anti-goal set by hand, the trap is left and the goal reached."""
    return _solved(Runs(results), "fixed")


def siblings(results: Results) -> Verdict:
    """With Sibling Rivalry, too."""
    return _solved(Runs(results), "sr")


def _solved(runs: Runs, method: str) -> Verdict:
    """Hardly any episode ends at the local optimum, and most at the goal."""
    parts = {
        "at the local optimum": runs.share(runs.end("trapped", method), below(FEW)),
        "at the goal": runs.share(runs.end("success", method), above(MOST)),
    }
    return all_of(parts, decisive=["at the goal"])


def closer(results: Results) -> Verdict:
    """Most closer siblings end at the local optimum early, and at the goal in the end.

    The first is what tells them from the siblings of any policy that learns.
    """
    runs = Runs(results)
    parts = {
        "early, at the local optimum": runs.share(runs.early("closer trapped", "sr"), above(MOST)),
        "in the end, at the goal": runs.share(runs.end("closer success", "sr"), above(MOST)),
    }
    return all_of(parts, decisive=["early, at the local optimum"])


def farther(results: Results) -> Verdict:
    """The farther siblings' ends are more spread than the closer ones' early; in the end they lie around the goal."""
    runs = Runs(results)
    spread = [entropy(runs.early_histogram("sr", role)) for role in ("farther ", "closer ")]
    left, right = (runs.end(f"farther {side}", "sr") for side in ("left", "right"))
    rarer = np.minimum(left, right) / np.maximum(left + right, 1e-9)
    return all_of(
        {
            "early, entropy less the closer one's": runs.greater(*spread),
            "in the end, share of near misses on the rarer side of the goal": runs.share(rarer, above(BESIDE)),
        }
    )


def over_represented(results: Results) -> Verdict:
    """Early, the closer siblings end at the local optimum more often than the farther ones; nowhere is the difference
    larger. That is where optimising the distance to the goal leads: see `naive`."""
    runs = Runs(results)
    difference = runs.early_histogram("sr", "closer ") - runs.early_histogram("sr", "farther ")
    there = runs.greater(runs.early("closer trapped", "sr"), runs.early("farther trapped", "sr"))
    largest = runs.share(lead(difference, LOCAL_OPTIMUM_BIN), above())
    return all_of({"closer less farther there": there, "that less the largest difference elsewhere": largest})


CLAIMS = [
    Claim(
        "fig1-naive", "fig1", "Track: the distance to the goal as reward pins the ends at the local optimum (share "
        f"above {MOST}; at the goal below {FEW})", "peaked around it", naive,
    ),
    Claim(
        "fig1-fixed", "fig1", f"Track: with the local optimum as anti-goal, the agent leaves it (share below {FEW}) "
        f"and learns to reach the goal (above {MOST})", "prevents it, reaches it quickly", fixed,
    ),
    Claim(
        "fig2-solved", "fig2", "Track: Sibling Rivalry does so, too, without being told where the local optimum is "
        "(same limits)", "picture only", siblings,
    ),
    Claim(
        "fig2-closer", "fig2", "Track: the closer siblings' ends are concentrated at the local optimum in the first "
        f"quarter of training, and at the goal in the last (shares above {MOST})", "closely concentrated there", closer,
    ),
    Claim(
        "fig2-farther", "fig2", "Track: the farther siblings' ends are spread more widely early, and split around the "
        f"goal later (share of near misses on the rarer side above {BESIDE})", "picture only", farther,
    ),
    Claim(
        "fig2-over-represented", "fig2", "Track: early, the local optimum is over-represented among the closer "
        "siblings, and more so than any other place", "hypothesis (App. A)", over_represented, kind="own",
    ),
]  # fmt: skip
