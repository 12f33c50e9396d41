"""What Appendix L says of DreamerV2, as a check: TER equals it at convergence, in three of four tasks.

Ends are compared, each at the length of its own runs, and only where DreamerV2 has converged: it has learned, and the
last fifth of its training is not clearly above the fifth before. A curve that has not begun to rise is no end.
"""

from collections.abc import Callable

import numpy as np

from lab.claims import Claim
from lab.results import Results
from lab.scores import Runs
from lab.verdicts import Verdict, decide, difference, gated, judged, margin_of, mean_of, most_of, same
from papers.ter.evidence.budgets import SOKOBAN
from papers.ter.evidence.comparisons import LAST, METRIC, tasks
from papers.ter.evidence.experiments import RELEASED

DREAMER = "dreamer"


def converged(curves: np.ndarray) -> bool:
    """Whether runs, curves [runs, T], have stopped to improve: the interval of what their last fifth adds to the one
    before does not lie above 0. Of a single run nothing is known."""
    *_, before, last = (part.mean(axis=1) for part in np.array_split(curves, min(5, curves.shape[1]), axis=1))
    return len(curves) > 1 and mean_of(last - before).interval()[0] <= 0


def equal(ter: str, wanted: Callable[[str], bool] = lambda env: True) -> Callable[[Results], Verdict]:
    """Check that an arm of TER ends where DreamerV2 does, to within the margin, in most of the tasks `wanted`."""

    def check(results: Results) -> Verdict:
        runs = Runs.of(results, "fig-l14")

        def on(env: str) -> Verdict:
            ends = [runs.last(METRIC, method, env, LAST) for method in (ter, DREAMER)]
            steps = runs.steps(env, ter, DREAMER)
            learnt = {name: runs.learning(METRIC, name, env) for name in (ter, DREAMER)}
            if not learnt[DREAMER].learns or not converged(runs.curve(METRIC, DREAMER, env)[1]):
                seeds = min(map(len, ends))
                why = "DreamerV2 is still learning" if learnt[DREAMER].learns else "DreamerV2 has not learned"
                return Verdict("inconclusive", why, "", seeds, steps, runs.scale)
            rule = same(margin_of(*(side.gain for side in learnt.values())))
            return gated(
                decide(difference(*ends), rule, steps=steps, scale=runs.scale),
                TER=learnt[ter],
                DreamerV2=learnt[DREAMER],
            )

        return most_of(judged(filter(wanted, tasks("fig-l14", runs.scale)), on))

    return check


CLAIMS = [
    Claim(
        "fig-l14", "fig-l14", "TER ends where DreamerV2 does once that has converged, in most tasks (as printed: 3 "
        "predecessors)", "3 of 4 tasks", equal("ter"),
    ),
    Claim(
        "fig-l14-released", "fig-l14", "TER ends where DreamerV2 does once that has converged, in most tasks of "
        "MiniGrid (as released: 1)", "3 of 4 tasks", equal(f"ter{RELEASED}", lambda env: env not in SOKOBAN),
        scale="full",
    ),
]  # fmt: skip
