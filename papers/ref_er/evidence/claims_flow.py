"""What Sec. 5.4 says about the flow-control task (Fig. 6), as checks; see claims_runs.py.

The paper gives no numbers; its four sentences are about orders. Returns hide what two of them are about, as an exit
costs as much as hundreds of actions: exits per action and squared actions are compared instead.

Returns differ clearly where nobody has learnt the task yet, so it has a gate of its own: nothing is decided until some
method has halved its exits per action.
"""

from collections.abc import Callable
from typing import Any

from lab.judge.claims import Claim
from lab.judge.comparisons import Runs, Score
from lab.judge.intervals import MARGIN, below, mean_of
from lab.judge.results import Results
from lab.judge.verdicts import NOBODY, Verdict, gated
from papers.ref_er.evidence.before_learning import before
from papers.ref_er.evidence.claims_runs import ROOM, bins, late, mean, score
from papers.ref_er.evidence.claims_vracer import SEGMENTS
from papers.ref_er.evidence.experiments import FLOW_TASK

VRACER, ACER, ER, REFER = "vracer refer", "acer (lr 1e-05)", "ddpg er", "ddpg refer"
HALF = 0.5
"""Share of its first exits per action that a method must come down to."""
HEAVY = 2.0
"""Ratio of squared actions from which one is large beside the other."""
EFFORT = Score(late("effort"), ratio=True)
EXITS = Score(bins("exits", mean, after=0.0), ratio=True)
"""Over the whole of training."""


def little_progress(runs: Runs, env: str) -> Verdict:
    """ACER's score gains at most the house's margin, a fifth, of what the best other method gained."""
    sides = {method: runs.learns(method, env) for method in (VRACER, ER, REFER)}
    most = max(sides, key=lambda method: sides[method].gain)
    gained = score(runs, ACER, env) - before(ACER, env)
    verdict = runs.decide(mean_of(gained - MARGIN * sides[most].gain), below(0.0), [(ACER, env)])
    return gated(verdict, **{most: sides[most]})


def flow(*what: Any, **how: Any) -> Callable[[Results], Verdict]:
    """A check of the flow task, inconclusive where no method has halved its exits per action."""
    check = ROOM.all(*what, of="fig6", on=FLOW_TASK, **how)

    def gate(results: Results) -> Verdict:
        verdict, runs = check(results), ROOM.runs(results, "fig6")
        exits = [runs.curve("exits", method, env)[1].mean(axis=0) for method, env in runs.groups]
        best = min(curve[-1] / curve[0] for curve in exits)
        if best <= HALF:
            return verdict
        note = f"no method has halved its exits per action: the best has {best:.0%} of those at first"
        return Verdict("inconclusive", NOBODY, "", verdict.seeds, verdict.steps, verdict.scale, note)

    return gate


LEFT_OPEN = "at quick with a coarse grid and 50,000 actions"
CLAIMS = [
    Claim("fig6-acer", "fig6", f"Flow control: ACER makes little progress (at most {MARGIN:.0%} of what the best other "
          f"method gains; {LEFT_OPEN})", "a curve, no numbers", flow(little_progress), surrogate=SEGMENTS),
    Claim("fig6-effort", "fig6", "Flow control: DDPG with plain replay pays for large actions (at the end at least "
          f"{HEAVY:g} times the squared actions of either method with ReF-ER; {LEFT_OPEN})", "large actuation costs",
          flow({other: (ER, ">", other) for other in (VRACER, REFER)}, by=EFFORT, margin=HEAVY)),
    Claim("fig6-fastest", "fig6", "Flow control: DDPG with ReF-ER is the fastest to avoid the limits (fewer exits per "
          f"action over the whole of training than with each of the others; {LEFT_OPEN})", "fastest",
          flow({other: (REFER, "<", other) for other in (VRACER, ACER, ER)}, by=EXITS), surrogate=SEGMENTS),
    Claim("fig6-best", "fig6", f"Flow control: V-RACER with ReF-ER ends above each of the others ({LEFT_OPEN})", "best "
          "performance", flow({other: (VRACER, ">", other) for other in (ACER, ER, REFER)}), surrogate=SEGMENTS),
]  # fmt: skip
