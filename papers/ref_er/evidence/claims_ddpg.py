"""What Sections 5.1 and 5.2 say about DDPG (Figs. 1 and 2) and NAF (Fig. 3), as checks; see claims_runs.py."""

from collections.abc import Callable

import numpy as np

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
    rougher,
)
from papers.ref_er.evidence.claims_runs import MINOR, ORDERS, Runs, alike, runs_of, similar, times
from papers.ref_er.evidence.claims_tasks import both, compared, every, most
from papers.ref_er.evidence.paper_values import ACTIONS, DDPG_ER_KL, NOISE, STEPS

COMPLEX = ("Humanoid-v5", "Ant-v5")
"""Tasks with "complex dynamics", of which the paper names these two."""
BANG_BANG = ("HumanoidStandup-v5", "Swimmer-v5")
REST = tuple(env for env in ACTIONS if env not in (*COMPLEX, *BANG_BANG))
NEAR_MAXIMUM = 10.0
"""The divergence is of its maximum's order of magnitude from a tenth of it on."""


# ---- Figure 1 --------------------------------------------------------------------------------------------------------


def fallen(runs: Runs, method: str, env: str) -> int:
    """Of how many runs the score is below the first bin's mean return by more than that one's size: negative in any
    case, and more than twice as far below 0 where it was negative at first."""
    first = runs.first(method, env)
    return int((runs.score(method, env) < first - np.abs(first)).sum())


def falls(method: str, *, text: str) -> Callable[[Results], Verdict]:
    """Some run of `method` falls to large negative returns in some task, and none of DDPG with ReF-ER."""

    def check(results: Results) -> Verdict:
        runs, counts, seeds, steps = runs_of(results, "fig1"), {}, [], 0
        for env in runs.tasks:
            try:
                counts[env] = fallen(runs, method, env), fallen(runs, "ddpg refer", env)
            except MissingData:
                continue
            seeds += [len(runs.score(name, env)) for name in (method, "ddpg refer")]
            steps = max(steps, runs.steps(method, env))
        if not counts:
            raise MissingData(f"no task with runs of {method} and ddpg refer")
        theirs, ours = (sum(column) for column in zip(*counts.values()))
        env = next(iter(counts))
        parts = {}
        for name, n, right in ((text, theirs, theirs > 0), ("ReF-ER", ours, ours == 0)):
            status = "reproduced" if right else "not reproduced"
            parts[name] = runs.say(status, f"{n} runs fall in {len(counts)} tasks", min(seeds), [method], env)
            parts[name].steps = steps
        return combine(parts)

    return check


def zero_gradients(results: Results) -> Verdict:
    """With Rule 1 alone, more samples are far in the task with the most components of the action than in the one with
    the fewest, at the end of training. (Where several have as many: the first.)"""
    runs, method = runs_of(results, "fig1"), "ddpg refer-1"
    tasks = [env for env in ACTIONS if (method, env) in runs.groups]
    high, low = max(tasks, key=ACTIONS.__getitem__, default=""), min(tasks, key=ACTIONS.__getitem__, default="")
    if not tasks or ACTIONS[high] == ACTIONS[low]:
        raise MissingData(f"no two tasks with different numbers of actions and runs of {method}")
    verdict = runs.exceeds(runs.late("far", method, high), runs.late("far", method, low), [method], high)
    return combine({f"{high} against {low}": verdict})


# ---- Figure 2 --------------------------------------------------------------------------------------------------------


def near_maximum(runs: Runs, env: str) -> Verdict:
    """The divergence of DDPG with plain replay ends within NEAR_MAXIMUM of the largest that there is, 2 d / sigma^2,
    as the means lie in (-1, 1)^d."""
    kl = runs.late("kl", "ddpg er", env)
    return runs.ratio(kl, np.full_like(kl, 2.0 * ACTIONS[env] / NOISE**2), ["ddpg er"], env, times(1.0 / NEAR_MAXIMUM))


def printed_level(runs: Runs, env: str) -> Verdict:
    """It ends within a factor of the level that the paper names, in runs as long as the paper's."""
    if runs.steps("ddpg er", env) < STEPS:
        raise MissingData(f"no runs of {STEPS:,} steps")
    kl = runs.late("kl", "ddpg er", env)
    return runs.ratio(kl, np.full_like(kl, DDPG_ER_KL[env]), ["ddpg er"], env, similar(FACTOR))


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def clearer_than_ddpg(results: Results) -> Verdict:
    """What ReF-ER gains over ReF-ER-2, as a share of the larger score, is more with NAF than with DDPG."""
    naf = runs_of(results, "fig3")
    ddpg = runs_of(results, "fig1")
    if naf.scale != ddpg.scale:
        raise MissingData(f"fig3 at {naf.scale}, but fig1 at {ddpg.scale}")

    def judge(runs: Runs, env: str) -> Verdict:
        return runs.exceeds(gain(naf, "naf", env), gain(ddpg, "ddpg", env), ["naf refer"], env)

    return most("fig3", judge)(results)


def gain(runs: Runs, learner: str, env: str) -> np.ndarray:
    """Score with ReF-ER less that with ReF-ER-2, as a share of the larger mean; seeds are paired, which is as good as
    any other way as their runs are independent, (runs,)."""
    full, part = runs.score(f"{learner} refer", env), runs.score(f"{learner} refer-2", env)
    n = min(len(full), len(part))
    return (full[:n] - part[:n]) / max(abs(float(full.mean())), abs(float(part.mean())))


CURVES = "curves, no numbers"

CLAIMS = [
    Claim(
        "fig1-refer", "fig1", "DDPG: ReF-ER ends above plain replay in most tasks", "greatly improved",
        most("fig1", compared("ddpg refer", "ddpg er")),
    ),
    Claim(
        "fig1-complex", "fig1", "And so it does in Humanoid and in Ant", "especially there",
        every("fig1", compared("ddpg refer", "ddpg er"), COMPLEX),
    ),
    Claim(
        "fig1-refer-per", "fig1", "ReF-ER ends above PER in most tasks", CURVES,
        most("fig1", compared("ddpg refer", "ddpg per")),
    ),
    Claim(
        "fig1-per", "fig1", "PER ends below plain replay in most tasks", "generally worse",
        most("fig1", compared("ddpg er", "ddpg per")),
    ),
    Claim(
        "fig1-refer-1", "fig1", "Rule 1 alone is poor: in most tasks it ends below both ReF-ER and Rule 2 alone",
        "not good",
        most(
            "fig1",
            both(
                below_ReF_ER=compared("ddpg refer", "ddpg refer-1"),
                below_Rule_2=compared("ddpg refer-2", "ddpg refer-1"),
            ),
        ),
    ),
    Claim(
        "fig1-refer-1-zero", "fig1", "Rule 1 alone leaves more samples without gradient where actions have more "
        "components", "especially in high dimensions", zero_gradients,
    ),
    Claim(
        "fig1-refer-2", "fig1", "Rule 2 alone is good: it ends above plain replay in most tasks", CURVES,
        most("fig1", compared("ddpg refer-2", "ddpg er")),
    ),
    Claim(
        "fig1-full", "fig1", "Both rules together end above Rule 2 alone in Humanoid and in Ant",
        "measurable improvement", every("fig1", compared("ddpg refer", "ddpg refer-2"), COMPLEX),
    ),
    Claim(
        "fig1-full-rest", "fig1", f"In most of the other tasks they differ little (by less than {MINOR:.0%})", CURVES,
        most("fig1", compared("ddpg refer", "ddpg refer-2", alike), REST),
    ),
    Claim(
        "fig1-bang-bang", "fig1", "Plain replay is faster than ReF-ER in Swimmer and HumanoidStandup (mean return over "
        "all of training)", "faster", every("fig1", compared("ddpg er", "ddpg refer", training=True), BANG_BANG),
    ),
    Claim(
        "fig1-falls", "fig1", "With plain replay runs can fall to large negative returns (below the first bin's by "
        "more than its size), with ReF-ER none does", "unstable, stabilised",
        falls("ddpg er", text="plain replay"),
    ),
    Claim(
        "fig1-untuned", "fig1", "The same for plain replay without weight decay and correlated noise",
        "large negative values", falls("ddpg er (untuned)", text="plain replay, untuned"),
    ),
    Claim(
        "fig2-decline", "fig2", f"DDPG: with ReF-ER the divergence falls smoothly, in most tasks: after a fifth of "
        f"training to at most {DECLINE:g} of what it was then, never rising by more than {RISE:.0%}",
        "smoothly decreases", most("fig1", declines("ddpg refer")),
    ),
    Claim(
        "fig2-implied", "fig2", "Our prediction, from the share of far samples: it stays within a factor of "
        f"{FACTOR:g} of what D = 0.1 implies for a shift of all means, in most tasks", "-",
        most("fig1", follows_implied("ddpg refer")),
    ),
    Claim(
        "fig2-far", "fig2", f"Not in the paper: ReF-ER holds the share of far samples at D = 0.1 (within {FAR:g} on "
        "average), in most tasks", "-", most("fig1", held("ddpg refer")),
    ),
    Claim(
        "fig2-er", "fig2", f"Plain replay's divergence ends orders of magnitude above (at least {ORDERS:g} times), in "
        "most tasks", "50 to 100 against ReF-ER's, below 1",
        most("fig1", larger("ddpg er", "ddpg refer", times(ORDERS))),
    ),
    Claim(
        "fig2-erratic", "fig2", "And it is more erratic from bin to bin than ReF-ER's, in most tasks", "oscillates",
        most("fig1", rougher("ddpg er", "ddpg refer")),
    ),
    Claim(
        "fig2-maximum", "fig2", "Plain replay's divergence ends in the order of magnitude of its maximum 2d/σ² (above "
        "a tenth of it), in most tasks", "in many tasks", most("fig1", near_maximum),
    ),
    Claim(
        "fig2-level", "fig2", f"Plain replay's divergence ends around 100 in Humanoid and 50 in Walker2d (within a "
        f"factor of {FACTOR:g}; runs as long as the paper's)", "100 and 50",
        every("fig1", printed_level, (*DDPG_ER_KL,)),
    ),
    Claim(
        "fig3-refer", "fig3", "NAF: ReF-ER ends above plain replay in most tasks", "benefits",
        most("fig3", compared("naf refer", "naf er")),
    ),
    Claim(
        "fig3-rules", "fig3", "NAF benefits from both rules: each alone ends above plain replay, in most tasks",
        "from both",
        most("fig3", both(Rule_1=compared("naf refer-1", "naf er"), Rule_2=compared("naf refer-2", "naf er"))),
    ),
    Claim(
        "fig3-full", "fig3", "Both rules together end above Rule 2 alone in most tasks", "distinctly improved",
        most("fig3", compared("naf refer", "naf refer-2")),
    ),
    Claim(
        "fig3-full-more", "fig3", "And the gain, as a share of the larger score, is larger than with DDPG, in most "
        "tasks", "more distinctly", clearer_than_ddpg,
    ),
    Claim(
        "fig3-per", "fig3", "PER ends below plain replay in most tasks", "often worsens",
        most("fig3", compared("naf er", "naf per")),
    ),
    Claim(
        "fig3-far", "fig3", f"Not in the paper: ReF-ER holds the share of far samples at D = 0.1 (within {FAR:g} on "
        "average), in most tasks", "-", most("fig3", held("naf refer")),
    ),
]  # fmt: skip
