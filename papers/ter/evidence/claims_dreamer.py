"""What Appendix L says of DreamerV2, as a check: TER equals it at convergence, in three of four tasks.

Ends are compared, each at the length of its own runs, and only where DreamerV2 has converged: it has learned, and the
last fifth of its training is not clearly above the fifth before. A curve that has not begun to rise is no end.
"""

from dataclasses import replace

import numpy as np

from lab.judge.claims import Claim
from lab.judge.comparisons import Judge, Runs, Score, last
from lab.judge.intervals import mean_of
from lab.judge.verdicts import Verdict
from papers.ter.evidence.budgets import TASKS
from papers.ter.evidence.comparisons import LAST, METRIC, ROOM
from papers.ter.evidence.experiments import RELEASED

DREAMER = "dreamer"
ENDS = replace(
    ROOM, score=Score(last(METRIC, LAST), gated=True), paired=lambda x, y: False, until=lambda experiment, scale: {},
    label=lambda method: "DreamerV2" if method == DREAMER else "TER",
)  # fmt: skip


def converged(curves: np.ndarray) -> bool:
    """Whether runs, curves [runs, T], have stopped to improve: the interval of what their last fifth adds to the one
    before does not lie above 0. Of a single run nothing is known."""
    *_, before, last = (part.mean(axis=1) for part in np.array_split(curves, min(5, curves.shape[1]), axis=1))
    return len(curves) > 1 and mean_of(last - before).interval()[0] <= 0


def equal(ter: str) -> Judge:
    """Judge of whether an arm of TER ends where DreamerV2 does, to within the margin."""

    def judge(runs: Runs, env: str) -> Verdict:
        seeds, learnt = min(len(runs.seeds(method, env)) for method in (ter, DREAMER)), runs.learns(DREAMER, env).learns
        if not learnt or not converged(runs.curve(METRIC, DREAMER, env)[1]):
            why = "DreamerV2 is still learning" if learnt else "DreamerV2 has not learned"
            return Verdict("inconclusive", why, "", seeds, runs.steps(env, ter, DREAMER), runs.scale)
        return runs.compare(ter, "==", DREAMER, env)

    return judge


CLAIMS = [
    Claim("fig-l14", "fig-l14", "TER ends where DreamerV2 does once that has converged, in most tasks (as printed: 3 "
          "predecessors)", "3 of 4 tasks", ENDS.most(equal("ter"), of="fig-l14")),
    Claim("fig-l14-released", "fig-l14", "TER ends where DreamerV2 does once that has converged, in most tasks of "
          "MiniGrid (as released: 1)", "3 of 4 tasks", ENDS.most(equal(f"ter{RELEASED}"), of="fig-l14", on=TASKS),
          scale="full"),
]  # fmt: skip
