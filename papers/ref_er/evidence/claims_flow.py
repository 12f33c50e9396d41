"""What Sec. 5.4 says about the flow-control task (Fig. 6), as checks; see claims_runs.py.

The paper gives no numbers; its four sentences are about orders. Returns hide what two of them are about, as an exit
costs as much as hundreds of actions: exits per action and squared actions are compared instead.
"""

from __future__ import annotations

from collections.abc import Callable

from lab.claims import Claim
from lab.results import Results
from lab.verdicts import MARGIN, Verdict, all_of, below, gated, judged, mean_of
from papers.ref_er.evidence.before_learning import before
from papers.ref_er.evidence.claims_runs import Measure, Runs, as_ratio, logs, times
from papers.ref_er.evidence.claims_vracer import SEGMENTS

VRACER, ACER, ER, REFER = "vracer refer", "acer (lr 1e-05)", "ddpg er", "ddpg refer"
HEAVY = 2.0
"""Ratio of squared actions from which one is large beside the other."""


def flow(judge: Callable[[Runs, str], Verdict]) -> Callable[[Results], Verdict]:
    """Check of the experiment's one task, which has a finer grid at full."""

    def check(results: Results) -> Verdict:
        runs = Runs.of(results, "fig6")
        return judge(runs, runs.envs[0])

    return check


def than_others(judge: Callable[[Runs, str, str], Verdict], *others: str) -> Callable[[Results], Verdict]:
    """Check that `judge` holds beside each of the other methods."""
    return flow(lambda runs, env: all_of(judged(others, lambda other: judge(runs, env, other))))


def logarithm(measure: Measure) -> Measure:
    return lambda method, env: logs(measure(method, env))


def over_training(metric: str, runs: Runs) -> Measure:
    """Mean of a metric over the whole of training."""
    return lambda method, env: runs.settled(metric, method, env, 0.0).mean(axis=1)


def little_progress(runs: Runs, env: str) -> Verdict:
    """ACER's score gains at most the house's margin, a fifth, of what the best other method gained."""
    sides = {method: runs.learns(method, env) for method in (VRACER, ER, REFER)}
    most = max(sides, key=lambda method: sides[method].gain)
    gained = runs.score(ACER, env) - before(ACER, env)
    verdict = runs.say(mean_of(gained - MARGIN * sides[most].gain), below(0.0), [ACER], env)
    return gated(verdict, **{most: sides[most]})


def heavier(runs: Runs, env: str, other: str) -> Verdict:
    """DDPG with plain replay ends with at least HEAVY times the other's squared actions."""
    effort = logarithm(runs.late("effort"))
    return runs.differ(effort, ER, other, env, times(HEAVY), show=as_ratio)


def sooner(runs: Runs, env: str, other: str) -> Verdict:
    """DDPG with ReF-ER has fewer exits per action than the other, over the whole of training."""
    return runs.differ(logarithm(over_training("exits", runs)), REFER, other, env, below(0.0), show=as_ratio)


def best(runs: Runs, env: str, other: str) -> Verdict:
    """V-RACER with ReF-ER ends above the other."""
    return runs.compare(VRACER, other, env)


LEFT_OPEN = "at quick with a coarse grid and 50,000 actions"
CLAIMS = [
    Claim(
        "fig6-acer", "fig6", f"Flow control: ACER makes little progress (at most {MARGIN:.0%} of what the best other "
        f"method gains; {LEFT_OPEN}; {SEGMENTS})", "a curve, no numbers", flow(little_progress),
    ),
    Claim(
        "fig6-effort", "fig6", f"Flow control: DDPG with plain replay pays for large actions (at the end at least "
        f"{HEAVY:g} times the squared actions of either method with ReF-ER; {LEFT_OPEN})", "large actuation costs",
        than_others(heavier, VRACER, REFER),
    ),
    Claim(
        "fig6-fastest", "fig6", "Flow control: DDPG with ReF-ER is the fastest to avoid the limits (fewer exits per "
        f"action over the whole of training than with each of the others; {LEFT_OPEN})", "fastest",
        than_others(sooner, VRACER, ACER, ER),
    ),
    Claim(
        "fig6-best", "fig6", f"Flow control: V-RACER with ReF-ER ends above each of the others ({LEFT_OPEN})",
        "best performance", than_others(best, ACER, ER, REFER),
    ),
]  # fmt: skip
