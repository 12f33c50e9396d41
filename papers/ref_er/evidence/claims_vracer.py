"""What Section 5.3 says about V-RACER, PPO and ACER (Figs. 4 and 5), and our own comparison of the two directions of
Rule 2's divergence, as checks; see claims_runs.py."""

from functools import partial

import numpy as np

from lab.judge.claims import Claim
from lab.judge.comparisons import Runs
from lab.judge.intervals import above, difference, margin_of
from lab.judge.results import MissingData, Results
from lab.judge.verdicts import Verdict, gated, judged, most_of
from papers.ref_er.evidence.claims_runs import (
    AWAY,
    DECLINE,
    DEVIATION,
    DISPARITY,
    DIVERGENCE,
    FACTOR,
    FAR,
    FAR_SAMPLES,
    FROM_IMPLIED,
    ORDERS,
    ROOM,
    SPREAD,
    TEN,
    WIDEST,
    declines,
    score,
)
from papers.ref_er.evidence.paper_values import FIG1, FIG4, START

REFER = "vracer refer"
SLOW, FAST = "acer (lr 1e-05)", "acer (lr 0.0001)"
"""ACER with the policy's learning rate that the paper chose, and with ten times that."""
RATE = 10.0
"""Ratio of these rates; a larger one of the divergences is more than proportional."""
ALIKE = 3.0
"""Largest ratio of the divergences of V-RACER and PPO that counts as similar, on the figure's logarithmic axis."""
OTHERS = {"ddpg": FIG1, "naf": "fig3", "ppo": FIG4, "acer": FIG4}
"""Learners that V-RACER is compared with -> experiment."""


def best_of_all(results: Results) -> Verdict:
    """V-RACER with ReF-ER ends above the best of all runs of DDPG, NAF, PPO and ACER, with any replay and learning
    rate, in most tasks that each of the four has been run on. Best: by mean score."""
    vracer = ROOM.runs(results, FIG4)
    others = {learner: ROOM.runs(results, experiment) for learner, experiment in OTHERS.items()}

    def judge(env: str) -> Verdict:
        scores: dict[str, tuple[Runs, np.ndarray]] = {}
        for learner, runs in others.items():
            methods = [method for method, task in runs.groups if task == env and method.split()[0] == learner]
            if not methods:
                raise MissingData(f"no runs of {learner} on {env}")
            scores |= {method: (runs, score(runs, method, env)) for method in methods}
        best = max(scores, key=lambda method: scores[method][1].mean())
        runs, theirs = scores[best]
        learnt = {REFER: vracer.learns(REFER, env), best: runs.learns(best, env)}
        rule = above(size=margin_of(*(side.gain for side in learnt.values())))
        verdict = vracer.decide(difference(score(vracer, REFER, env), theirs), rule, [(REFER, env)])
        verdict.note = "; ".join(filter(None, [f"best other: {best}", verdict.note]))
        return gated(verdict, **learnt)

    return most_of(judged(TEN, judge))


REVERSE = "vracer refer (reverse KL)"
OWN_KL = ("HalfCheetah-v5",)
"""The task of our own comparison."""
RISES = "rises above its start"
CURVES = "curves, no numbers"
SEGMENTS = "ACER learns from segments of 10 steps instead of 200"
most = partial(ROOM.most, of=FIG4, on=TEN)
own_kl = partial(ROOM.most, of="own-kl", on=OWN_KL)

CLAIMS = [
    Claim("fig4-ppo", "fig4", "V-RACER with ReF-ER ends above PPO in most tasks", "much higher returns",
          most(REFER, ">", "ppo")),
    Claim("fig4-acer", "fig4", "V-RACER with ReF-ER ends above ACER with either learning rate, in most tasks",
          CURVES, most({"lr 1e 5": (REFER, ">", SLOW), "lr 1e 4": (REFER, ">", FAST)}), surrogate=SEGMENTS),
    Claim("fig4-best", "fig4", "V-RACER with ReF-ER ends above the best of DDPG, NAF, PPO and ACER, with any replay, "
          "in most tasks", "many tasks", best_of_all, reads=f"{FIG1}+fig3+{FIG4}", surrogate=SEGMENTS),
    Claim("fig4-er", "fig4", "V-RACER needs ReF-ER: with plain replay it ends below, in most tasks", "not drawn",
          most(REFER, ">", "vracer er")),
    Claim("fig4-er-refer-1", "fig4", "V-RACER: plain replay is no better than Rule 1 alone, in most tasks", "similar "
          "or worse", most("vracer refer-1", ">=", "vracer er")),
    Claim("fig4-refer-1", "fig4", "V-RACER: Rule 1 alone is unreliable, its scores vary more from run to run than "
          "ReF-ER's (as shares of the mean), in most tasks", "unreliable",
          most("vracer refer-1", ">", REFER, by=SPREAD)),
    Claim("fig4-refer-1-below", "fig4", "V-RACER: Rule 1 alone ends below ReF-ER in most tasks", CURVES,
          most(REFER, ">", "vracer refer-1")),
    Claim("fig4-refer-1-zero", "fig4", "V-RACER: Rule 1 alone has more samples without gradient at the end than "
          "ReF-ER, in most tasks", "many", most("vracer refer-1", ">", REFER, by=FAR_SAMPLES)),
    Claim("fig4-refer-2", "fig4", "V-RACER: Rule 2 alone is at least as good as ACER (lr 1e-5), in most tasks",
          "often matches or surpasses", most("vracer refer-2", ">=", SLOW), surrogate=SEGMENTS),
    Claim("fig4-full", "fig4", "V-RACER: both rules together end above Rule 2 alone in most tasks", CURVES,
          most(REFER, ">", "vracer refer-2")),
    Claim("fig4-acer-ppo", "fig4", "ACER with lr 1e-4 ends below PPO in most tasks", "often outperformed",
          most("ppo", ">", FAST), surrogate=SEGMENTS),
    Claim("fig4-acer-lr", "fig4", "ACER's learning rate matters much: its two scores differ by more than "
          f"{DISPARITY:.0%} of what the better one gained, in most tasks", "a large disparity",
          most(SLOW, "!=", FAST, share=DISPARITY), surrogate=SEGMENTS),
    Claim("fig5-acer", "fig5", f"ACER's divergence falls by orders of magnitude (at least {ORDERS:g} times) from lr "
          "1e-4 to 1e-5, in most tasks", "multiple orders",
          most(FAST, ">", SLOW, by=DIVERGENCE, margin=ORDERS), surrogate=SEGMENTS),
    Claim("fig5-superlinear", "fig5", f"ACER's divergence falls by more than in proportion ({RATE:g} times) from lr "
          "1e-4 to 1e-5, in most tasks", "superlinear", most(FAST, ">", SLOW, by=DIVERGENCE, margin=RATE),
          counted_with="fig5-acer", surrogate=SEGMENTS),
    Claim("fig5-acer-others", "fig5", f"With lr 1e-4 ACER's divergence is orders of magnitude (at least {ORDERS:g} "
          "times) above those of V-RACER with ReF-ER and of PPO, in most tasks", "orders of magnitude more",
          most({"V RACER": (FAST, ">", REFER), "PPO": (FAST, ">", "ppo")}, by=DIVERGENCE, margin=ORDERS),
          surrogate=SEGMENTS),
    Claim("fig5-ppo", "fig5", "V-RACER with ReF-ER ends with a divergence similar to PPO's (within a factor of "
          f"{ALIKE:g}), in most tasks", "similar values", most(REFER, "==", "ppo", by=DIVERGENCE, margin=ALIKE)),
    Claim("fig5-decline", "fig5", "V-RACER: with ReF-ER the divergence falls, in most tasks (from a fifth of training "
          f"on, a line through its logarithm, to at most {DECLINE:g} of what it was then)", CURVES,
          declines(REFER, FIG4)),
    Claim("fig5-implied", "fig5", f"V-RACER: with ReF-ER the divergence stays within a factor of {FACTOR:g} of what D "
          "= 0.1 implies for a shift of all means, in most tasks (our prediction)", "-",
          most(REFER, "<", FACTOR, by=FROM_IMPLIED), kind="own"),
    Claim("fig5-far", "fig5", f"V-RACER: ReF-ER holds the share of far samples at D = 0.1 (within {FAR:g} on average), "
          "in most tasks", "-", most(REFER, "<", FAR, by=AWAY), kind="own"),
    Claim("own-kl-std", "own-kl", "V-RACER's policy ends wider with Rule 2's KL(μ‖π) than with KL(π‖μ)", "-",
          own_kl(REFER, ">", REVERSE, by=DEVIATION), kind="own"),
    Claim("own-kl-growth", "own-kl", "KL(μ‖π) lets the deviation of V-RACER's policy rise further above its start than "
          "KL(π‖μ) ever does", "-",
          own_kl({RISES: (REFER, ">", START), "further": (REFER, ">", REVERSE)}, by=WIDEST, decisive=[RISES]),
          kind="own"),
    Claim("own-kl-return", "own-kl", "V-RACER's returns with KL(μ‖π) are at least as good as with KL(π‖μ)", "-",
          own_kl(REFER, ">=", REVERSE), kind="own"),
]  # fmt: skip
