"""What Section 3 and Appendix A say about the circular track (Figs. 1 and 2), as checks.

Metrics are those of train_track.py: where the episodes ended that were played since the row before. "Early" is the
first quarter of these rows, "in the end" the last quarter; a run's score is the mean over them. When the limits below
were written down, nothing had been seen of the runs but the last row of one per method. The claim on the closer sibling
asks for the most frequent place, as the figure shows a histogram: no share is named in the paper, and that of a single
bin depends on its width.

Siblings are compared within their run. That the local optimum is over-represented among the closer ones, which the
paper offers as an explanation, is a prediction of ours for its first quarter.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from envs.circular_track import LOCAL_OPTIMUM
from lab.judge.claims import Claim
from lab.judge.comparisons import Compare, Runs, Score
from lab.judge.intervals import number
from lab.judge.verdicts import Verdict, controlled
from papers.sibling_rivalry.evidence.claims_runs import ROOM
from papers.sibling_rivalry.evidence.ends import histograms
from papers.sibling_rivalry.train_track import BINS, ENV

MOST = 0.5
"""Share of ends from which a place counts as where the policy goes: more than everywhere else together."""
FEW = 0.05
"""Share of ends up to which it counts as left alone; a place of this size is 0.06 of the track."""
BESIDE = 0.2
"""Share of near misses that must lie on either side of the goal for the ends to be split around it."""
LOCAL_OPTIMUM_BIN = int(LOCAL_OPTIMUM / (2 * np.pi) * BINS)

track = partial(ROOM.all, of="track", on=ENV)


def quarter(values: np.ndarray) -> int:
    """A quarter of the rows of values [runs, rows, ...]; at least one."""
    return max(1, values.shape[1] // 4)


def early(values: np.ndarray) -> np.ndarray:
    return values[:, : quarter(values)].mean(axis=1)


def end(values: np.ndarray) -> np.ndarray:
    return values[:, -quarter(values) :].mean(axis=1)


def share(when: Callable[[np.ndarray], np.ndarray], metric: str) -> Score:
    """A share of the episodes early or in the end."""
    return Score(lambda runs, method, env: when(runs.curve(metric, method, env)[1]), show=number)


def early_histogram(runs: Runs, method: str, role: str) -> np.ndarray:
    """Shares of ends in bins of the phase: (runs, BINS)."""
    return early(histograms(runs.frame, method, role)[1])


def lead(shares: np.ndarray, bin: int) -> np.ndarray:
    """By how much a bin of `shares` (runs, BINS) exceeds the highest other one, (runs,): above 0 at the peak."""
    return shares[:, bin] - np.delete(shares, bin, axis=1).max(axis=1)


def entropy(shares: np.ndarray) -> np.ndarray:
    """Of distributions (runs, BINS), in nats, (runs,)."""
    return -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=1)


TRAPPED, SUCCESS = share(end, "trapped"), share(end, "success")


def missed(runs: Runs, env: str) -> Verdict:
    """With the naive reward hardly any episode ends at the goal, where most do with another."""
    reached = any(SUCCESS.of(runs, method, env).mean() > MOST for method, _ in runs.groups)
    return controlled(runs.compare("naive", "<", FEW, env, SUCCESS), reached)


def solved(method: str) -> Compare:
    """Hardly any episode ends at the local optimum, and most at the goal."""
    parts = {"at the local optimum": (method, "<", FEW, TRAPPED), "at the goal": (method, ">", MOST, SUCCESS)}
    return track(parts, decisive=["at the goal"])


# ---- numbers of the siblings' ends, (runs,) --------------------------------------------------------------------------


def peak(runs: Runs, method: str, env: str) -> np.ndarray:
    """By how much the share of the closer ones that end early at the local optimum exceeds that at any other place."""
    return lead(early_histogram(runs, method, "closer "), LOCAL_OPTIMUM_BIN)


def spread(runs: Runs, method: str, env: str) -> np.ndarray:
    """Entropy of the farther ones' ends early, less that of the closer ones'."""
    return entropy(early_histogram(runs, method, "farther ")) - entropy(early_histogram(runs, method, "closer "))


def rarer(runs: Runs, method: str, env: str) -> np.ndarray:
    """Share of the farther ones' near misses, in the end, on the rarer side of the goal."""
    left, right = (end(runs.curve(f"farther {side}", method, env)[1]) for side in ("left", "right"))
    return np.minimum(left, right) / np.maximum(left + right, 1e-9)


def surplus(runs: Runs, method: str, env: str) -> np.ndarray:
    """Share of the closer ones that are at the local optimum early, less that of the farther ones."""
    closer, farther = (early(runs.curve(f"{role} trapped", method, env)[1]) for role in ("closer", "farther"))
    return closer - farther


def largest(runs: Runs, method: str, env: str) -> np.ndarray:
    """By how much this difference, bin by bin, is larger at the local optimum than elsewhere."""
    closer, farther = (early_histogram(runs, method, role) for role in ("closer ", "farther "))
    return lead(closer - farther, LOCAL_OPTIMUM_BIN)


CLAIMS = [
    Claim(
        "fig1-naive", "fig1", "Track: the distance to the goal as reward pins the ends at the local optimum (share "
        f"above {MOST}; at the goal below {FEW})", "peaked around it",
        track(
            {"at the local optimum": ("naive", ">", MOST, TRAPPED), "at the goal": missed},
            decisive=["at the local optimum"],
        ),
    ),
    Claim(
        "fig1-fixed", "fig1", f"Track: with the local optimum as anti-goal, the agent leaves it (share below {FEW}) "
        f"and learns to reach the goal (above {MOST})", "prevents it, reaches it quickly", solved("fixed"),
    ),
    Claim(
        "fig2-solved", "fig2", "Track: Sibling Rivalry does so, too, without being told where the local optimum is "
        "(same limits)", "picture only", solved("sr"),
    ),
    Claim(
        "fig2-closer", "fig2", "Track: in the first quarter of training the closer siblings end at the local optimum "
        f"more often than at any other place, in the last at the goal (share above {MOST})",
        "closely concentrated there",
        track(
            {
                "early, at the local optimum": ("sr", ">", 0.0, Score(peak, show=number)),
                "in the end, at the goal": ("sr", ">", MOST, share(end, "closer success")),
            },
            decisive=["early, at the local optimum"],  # tells them from the siblings of any policy that learns
        ),
    ),
    Claim(
        "fig2-farther", "fig2", "Track: the farther siblings' ends are spread more widely early, and split around the "
        f"goal later (share of near misses on the rarer side above {BESIDE})", "picture only",
        track({
            "early, entropy less the closer one's": ("sr", ">", 0.0, Score(spread)),
            "in the end, share of near misses on the rarer side of the goal":
                ("sr", ">", BESIDE, Score(rarer, show=number)),
        }),
    ),
    Claim(
        "fig2-over-represented", "fig2", "Track: early, the local optimum is over-represented among the closer "
        "siblings, and more so than any other place", "hypothesis (App. A)",
        track({
            "closer less farther there": ("sr", ">", 0.0, Score(surplus)),
            "that less the largest difference elsewhere": ("sr", ">", 0.0, Score(largest, show=number)),
        }), kind="own",
    ),
]  # fmt: skip
