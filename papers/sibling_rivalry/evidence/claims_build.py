"""What Section 4 and Appendix F say about the construction task (Fig. 5), as checks.

Metrics are those of build.py, of the episodes played in training since the row before; a run's score is the mean over
its last LAST rows. The limits were written down before any run of either method was compared (README, "Registered
before the runs").

*Another world.* The world is our own, the arena of `quick` smaller than the paper's, and its runs shorter. Where
Sibling Rivalry does not get there in runs shorter than the paper's, that refutes nothing.

*Independent runs.* Goals and actions of the two methods are drawn in another order: runs are not paired by seed.
"""

from dataclasses import replace

import numpy as np

from lab import scores
from lab.claims import Claim
from lab.results import MissingData, Results
from lab.verdicts import (
    Rule,
    Verdict,
    above,
    all_of,
    below,
    controlled,
    decide,
    difference,
    gated,
    judged,
    mean_of,
    number,
)

SR, NAIVE = "impala-sr", "impala"
LAST = 5
"""Rows whose mean is a run's score."""
SOON = 5_000
"""Episodes after which the naive reward's agent places nothing any more; the paper says roughly 1,000."""
HARDLY = 0.05
"""Blocks placed per block of the goal that count as none."""
COMPLETED, SUCCEEDED = 0.5, 0.5
"""Median completion, which the paper's runs pass after 250,000 to 300,000 episodes, and success rate, of which they end
between 0.5 and 0.7."""
PAPER_EPISODES = 700_000
EMPTY = 0.0
"""Completion of an arena in which nothing is built."""


class Runs(scores.Runs):
    """The runs of the experiment, in its one arena."""

    def __init__(self, results: Results):
        super().__init__(results, "construction")
        [self.env] = self.envs

    def end(self, metric: str, method: str) -> np.ndarray:
        """(runs,)"""
        return self.last(metric, method, self.env, LAST)

    def reaches(self, metric: str, rule: Rule) -> Verdict:
        """What the rule says of Sibling Rivalry's runs; runs shorter than the paper's refute nothing."""
        steps = self.steps(self.env, SR)
        verdict = decide(mean_of(self.end(metric, SR)), rule, steps=steps, scale=self.scale, show=number)
        if verdict.status == "not reproduced" and steps < PAPER_EPISODES:
            short = f"runs shorter than the paper's {PAPER_EPISODES:,} episodes"
            return replace(verdict, status="inconclusive", p=None, note="; ".join(filter(None, [verdict.note, short])))
        return verdict


def naive(results: Results) -> Verdict:
    """After SOON episodes, the naive reward's agent places hardly any block, where Sibling Rivalry's does."""
    runs = Runs(results)
    steps, values = runs.curve("placed", NAIVE, runs.env)
    if not (steps > SOON).any():
        raise MissingData(f"no rows after {SOON:,} episodes")
    placed = values[:, steps > SOON].mean(axis=1)
    verdict = decide(mean_of(placed), below(HARDLY), steps=int(steps[-1]), scale=runs.scale, show=number)
    try:
        others = bool(runs.end("placed", SR).mean() > HARDLY)
    except MissingData:
        others = False
    return controlled(verdict, others)


def accurate(results: Results) -> Verdict:
    """Sibling Rivalry's median completion passes COMPLETED."""
    return Runs(results).reaches("completion median", above(COMPLETED))


def exact(results: Results) -> Verdict:
    """Its success rate passes SUCCEEDED."""
    return Runs(results).reaches("success", above(SUCCEEDED))


def better(results: Results) -> Verdict:
    """It builds more of the goal than the naive reward's agent, and more often all of it."""
    runs = Runs(results)

    def more(metric: str) -> Verdict:
        found = difference(runs.end(metric, SR), runs.end(metric, NAIVE), paired=False)
        verdict = decide(found, above(), steps=runs.steps(runs.env, SR, NAIVE), scale=runs.scale)
        learnt = {name: runs.learning(metric, name, runs.env, EMPTY) for name in (SR, NAIVE)}
        return gated(verdict, **learnt)

    return all_of(judged(["completion", "success"], more))


CLAIMS = [
    Claim(
        "fig5-naive", "fig5", f"Construction: with the naive reward, fewer than {HARDLY:.0%} of the goal's blocks are "
        f"placed after {SOON:,} episodes", "none within roughly 1,000", naive,
    ),
    Claim(
        "fig5-completion", "fig5", f"Construction: Sibling Rivalry's median completion passes {COMPLETED}",
        "0.9 or more in the end", accurate,
    ),
    Claim(
        "fig5-success", "fig5", f"Construction: Sibling Rivalry's success rate passes {SUCCEEDED}",
        "0.5 to 0.7 in the end", exact,
    ),
    Claim(
        "fig5-better", "fig5", "Construction: Sibling Rivalry builds more of its goals than the naive reward, and more "
        "often all of it", "text: avoids this local optimum", better,
    ),
]  # fmt: skip
