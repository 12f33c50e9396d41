"""What Section 5.3 says about V-RACER, PPO and ACER (Figs. 4 and 5), and our own comparison of the two directions of
Rule 2's divergence, as checks; see claims_runs.py."""

from lab.claims import Claim, Verdict, combine
from lab.results import MissingData, Results
from papers.ref_er.evidence.claims_kl import (
    DECLINE,
    FACTOR,
    FAR,
    RISE,
    declines,
    follows_implied,
    held,
    larger,
    rises_more,
)
from papers.ref_er.evidence.claims_runs import DISPARITY, MARGIN, ORDERS, Runs, apart, no_worse, runs_of, similar, times
from papers.ref_er.evidence.claims_tasks import Judge, both, compared, majority, most

REFER = "vracer refer"
SLOW, FAST = "acer (lr 1e-05)", "acer (lr 0.0001)"
"""ACER with the policy's learning rate that the paper chose, and with ten times that."""
RATE = 10.0
"""Ratio of these rates; a larger one of the divergences is more than proportional."""
ALIKE = 3.0
"""Largest ratio of the divergences of V-RACER and PPO that counts as similar, on the figure's logarithmic axis."""
OTHERS = {"ddpg": "fig1", "naf": "fig3", "ppo": "fig4", "acer": "fig4"}
"""Learners that V-RACER is compared with -> experiment."""


def best_of_all(results: Results) -> Verdict:
    """V-RACER with ReF-ER ends above the best of all runs of DDPG, NAF, PPO and ACER, with any replay and learning
    rate, in most tasks that each of the four has been run on. Best: by mean score."""
    vracer, parts = runs_of(results, "fig4"), {}
    others = {learner: runs_of(results, experiment) for learner, experiment in OTHERS.items()}
    if {runs.scale for runs in others.values()} != {vracer.scale}:
        raise MissingData(f"fig1, fig3 and fig4 are not all at {vracer.scale}")
    for env in vracer.tasks:
        scores = {
            learner: {m: runs.score(m, env) for m, task in runs.groups if task == env and m.split()[0] == learner}
            for learner, runs in others.items()
        }
        if not all(scores.values()) or (REFER, env) not in vracer.groups:
            continue
        score, method = max(((s, m) for of in scores.values() for m, s in of.items()), key=lambda pair: pair[0].mean())
        parts[f"{env}, best {method}"] = vracer.exceeds(vracer.score(REFER, env), score, [REFER], env)
    if not parts:
        raise MissingData("no task with runs of V-RACER, DDPG, NAF, PPO and ACER")
    return majority(parts)


def acer_exceeds(runs: Runs, env: str) -> Verdict:
    """ACER's divergence at the higher rate ends orders of magnitude above those of V-RACER with ReF-ER and of PPO."""
    return combine({name: larger(FAST, name, times(ORDERS))(runs, env) for name in (REFER, "ppo")})


def spread(x: str, y: str) -> Judge:
    """Judge of "x's scores are more spread over the runs than y's"."""
    return lambda runs, env: runs.spread(x, y, env)


def more(metric: str, x: str, y: str) -> Judge:
    """Judge of "x's metric ends above y's"."""
    return lambda runs, env: runs.exceeds(runs.late(metric, x, env), runs.late(metric, y, env), (x, y), env)


REVERSE = "vracer refer (reverse KL)"
CURVES = "curves, no numbers"

CLAIMS = [
    Claim(
        "fig4-ppo", "fig4", "V-RACER with ReF-ER ends above PPO in most tasks", "much higher returns",
        most("fig4", compared(REFER, "ppo")),
    ),
    Claim(
        "fig4-acer", "fig4", "And above ACER with either learning rate, in most tasks", CURVES,
        most("fig4", both(lr_1e_5=compared(REFER, SLOW), lr_1e_4=compared(REFER, FAST))),
    ),
    Claim(
        "fig4-best", "fig4", "And above the best of DDPG, NAF, PPO and ACER, with any replay, in most tasks",
        "many tasks", best_of_all,
    ),
    Claim(
        "fig4-er", "fig4", "V-RACER needs ReF-ER: with plain replay it ends below, in most tasks", "not drawn",
        most("fig4", compared(REFER, "vracer er")),
    ),
    Claim(
        "fig4-er-refer-1", "fig4", "Plain replay is no better than Rule 1 alone, in most tasks (Rule 1 at least as "
        f"good; margin {MARGIN:.0%})", "similar or worse",
        most("fig4", compared("vracer refer-1", "vracer er", no_worse)),
    ),
    Claim(
        "fig4-refer-1", "fig4", "Rule 1 alone is unreliable: its scores are more spread over the runs than ReF-ER's "
        "(as shares of the mean), in most tasks", "unreliable", most("fig4", spread("vracer refer-1", REFER)),
    ),
    Claim(
        "fig4-refer-1-below", "fig4", "And ends below ReF-ER in most tasks", CURVES,
        most("fig4", compared(REFER, "vracer refer-1")),
    ),
    Claim(
        "fig4-refer-1-zero", "fig4", "Rule 1 alone has more samples without gradient at the end than ReF-ER, in most "
        "tasks", "many", most("fig4", more("far", "vracer refer-1", REFER)),
    ),
    Claim(
        "fig4-refer-2", "fig4", f"Rule 2 alone is at least as good as ACER (lr 1e-5; margin {MARGIN:.0%}), in most "
        "tasks", "often matches or surpasses", most("fig4", compared("vracer refer-2", SLOW, no_worse)),
    ),
    Claim(
        "fig4-full", "fig4", "Both rules together end above Rule 2 alone in most tasks", CURVES,
        most("fig4", compared(REFER, "vracer refer-2")),
    ),
    Claim(
        "fig4-acer-ppo", "fig4", "ACER with lr 1e-4 ends below PPO in most tasks", "often outperformed",
        most("fig4", compared("ppo", FAST)),
    ),
    Claim(
        "fig4-acer-lr", "fig4", "ACER's learning rate matters much: its two scores differ by more than "
        f"{DISPARITY:.0%} of the larger, in most tasks", "a large disparity", most("fig4", compared(SLOW, FAST, apart)),
    ),
    Claim(
        "fig5-acer", "fig5", f"ACER's divergence falls by orders of magnitude (at least {ORDERS:g} times) from lr 1e-4 "
        "to 1e-5, in most tasks", "multiple orders", most("fig4", larger(FAST, SLOW, times(ORDERS))),
    ),
    Claim(
        "fig5-superlinear", "fig5", f"At least by more than in proportion ({RATE:g} times), in most tasks",
        "superlinear", most("fig4", larger(FAST, SLOW, times(RATE))),
    ),
    Claim(
        "fig5-acer-others", "fig5", f"With lr 1e-4 ACER's is orders of magnitude (at least {ORDERS:g} times) above "
        "those of V-RACER with ReF-ER and of PPO, in most tasks", "orders of magnitude more",
        most("fig4", acer_exceeds),
    ),
    Claim(
        "fig5-ppo", "fig5", f"V-RACER with ReF-ER ends with a divergence similar to PPO's (within a factor of "
        f"{ALIKE:g}), in most tasks", "similar values", most("fig4", larger(REFER, "ppo", similar(ALIKE))),
    ),
    Claim(
        "fig5-decline", "fig5", f"V-RACER: with ReF-ER the divergence falls smoothly, in most tasks: after a fifth of "
        f"training to at most {DECLINE:g} of what it was then, never rising by more than {RISE:.0%}", CURVES,
        most("fig4", declines(REFER)),
    ),
    Claim(
        "fig5-implied", "fig5", "Our prediction, from the share of far samples: it stays within a factor of "
        f"{FACTOR:g} of what D = 0.1 implies for a shift of all means, in most tasks", "-",
        most("fig4", follows_implied(REFER)),
    ),
    Claim(
        "fig5-far", "fig5", f"Not in the paper: ReF-ER holds the share of far samples at D = 0.1 (within {FAR:g} on "
        "average), in most tasks", "-", most("fig4", held(REFER)),
    ),
    Claim(
        "own-kl-std", "own-kl", "Not in the paper: the policy stays wider with Rule 2's KL(μ‖π) than with KL(π‖μ), at "
        "the end, in most tasks", "-", most("own-kl", more("std", REFER, REVERSE)),
    ),
    Claim(
        "own-kl-growth", "own-kl", "Not in the paper: KL(μ‖π) lets the policy's deviation rise further above its start "
        "than KL(π‖μ) ever does, in most tasks", "-", most("own-kl", rises_more(REFER, REVERSE)),
    ),
    Claim(
        "own-kl-return", "own-kl", f"Not in the paper: with KL(μ‖π) returns are at least as good (margin "
        f"{MARGIN:.0%}), in most tasks", "-", most("own-kl", compared(REFER, REVERSE, no_worse)),
    ),
]  # fmt: skip
