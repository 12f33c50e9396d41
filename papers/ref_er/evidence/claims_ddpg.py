"""What Sections 5.1 and 5.2 say about DDPG (Figs. 1 and 2) and NAF (Fig. 3), as checks; see claims_runs.py."""

from functools import partial

from lab.judge.claims import Claim
from lab.judge.comparisons import Runs
from lab.judge.intervals import MARGIN, Estimate, above, difference
from lab.judge.results import MissingData, Results
from lab.judge.verdicts import MIN_SEEDS, NOBODY, Verdict, all_of, judged, most_of
from papers.ref_er.evidence.before_learning import before
from papers.ref_er.evidence.claims_runs import (
    AWAY,
    DECLINE,
    DIVERGENCE,
    FACTOR,
    FAR,
    FAR_SAMPLES,
    FROM_IMPLIED,
    ORDERS,
    ROOM,
    ROUGHNESS,
    TEN,
    TRAINING,
    declines,
    missing,
    score,
)
from papers.ref_er.evidence.paper_values import ACTIONS, DDPG_ER_KL, FIG1, NOISE, STEPS

COMPLEX = ("Humanoid-v5", "Ant-v5")
"""Tasks with "complex dynamics", of which the paper names these two."""
BANG_BANG = ("HumanoidStandup-v5", "Swimmer-v5")
NAMED = (*COMPLEX, *BANG_BANG)
BOTH = "fig1+fig1-rules"
"""Tasks that the paper names, and the experiments that decide the claims about them: one set of runs."""
REST = tuple(env for env in ACTIONS if env not in NAMED)
NEAR_MAXIMUM = 0.1
"""The divergence is of its maximum's order of magnitude from this share of it on."""


# ---- Figure 1 --------------------------------------------------------------------------------------------------------


def fallen(runs: Runs, method: str, env: str) -> int:
    """Of how many runs the score is below that before learning by more than its size: negative in any case, and more
    than twice as far below 0 where it was negative at first."""
    start = before(method, env)
    return int((score(runs, method, env) < start - abs(start)).sum())


def falls(results: Results, method: str) -> Verdict:
    """Some run of `method` falls to large negative returns in some task, and none of DDPG with ReF-ER, of which the
    first half tells the two apart. That something can happen is refuted only where all tasks have been looked at."""
    runs, counts, seeds, steps = ROOM.runs(results, FIG1), {}, [], 0
    for env in TEN:
        try:
            counts[env] = fallen(runs, method, env), fallen(runs, "ddpg refer", env)
        except MissingData:
            continue
        seeds += [len(runs.seeds(name, env)) for name in (method, "ddpg refer")]
        steps = max(steps, runs.steps(env, method))
    if not counts:
        raise MissingData(f"no task with runs of {method} and ddpg refer")
    theirs, ours = (sum(column) for column in zip(*counts.values()))
    seen = "reproduced" if theirs else "not reproduced" if len(counts) == len(TEN) else "inconclusive"
    never = "not reproduced" if ours else "reproduced" if theirs else "inconclusive"  # where nothing falls, none does

    def verdict(status: str, name: str, n: int) -> Verdict:
        notes = dict.fromkeys(missing(runs, [(name, env)]) for env in counts)
        if min(seeds) < MIN_SEEDS:
            status, notes = "inconclusive", {f"fewer than {MIN_SEEDS} seeds": None}
        effect = f"{n} runs fall in {len(counts)} of {len(TEN)} tasks"
        return Verdict(status, effect, "", min(seeds), steps, runs.scale, ", ".join(filter(None, notes)))

    parts = {method: verdict(seen, method, theirs), "never with ReF-ER": verdict(never, "ddpg refer", ours)}
    return all_of(parts, decisive=[method])


def zero_gradients(results: Results) -> Verdict:
    """With Rule 1 alone, more samples are far in the task with the most components of the action than in the one with
    the fewest, at the end of training. (Where several have as many: the first.)"""
    runs, method = ROOM.runs(results, FIG1), "ddpg refer-1"
    tasks = [env for env in ACTIONS if (method, env) in runs.groups]
    high, low = max(tasks, key=ACTIONS.__getitem__, default=""), min(tasks, key=ACTIONS.__getitem__, default="")
    if not tasks or ACTIONS[high] == ACTIONS[low]:
        raise MissingData(f"no two tasks with different numbers of actions and runs of {method}")
    far = [FAR_SAMPLES.of(runs, method, env) for env in (high, low)]
    return all_of({f"{high} against {low}": runs.decide(difference(*far), above(), [(method, high)])})


# ---- Figure 2 --------------------------------------------------------------------------------------------------------


def largest_divergence(runs: Runs, env: str) -> float:
    """The largest that there is, 2 d / sigma^2, as the means lie in (-1, 1)^d."""
    return 2.0 * ACTIONS[env] / NOISE**2


def printed_level(runs: Runs, env: str) -> float:
    """Of DDPG with plain replay, in runs as long as the paper's."""
    if runs.steps(env, "ddpg er") < STEPS:
        raise MissingData(f"no runs of {STEPS:,} steps")
    return DDPG_ER_KL[env]


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def clearer_than_ddpg(results: Results) -> Verdict:
    """What both rules gain over Rule 2 alone, as a share of what the better one gained over the score before learning,
    is more with NAF than with DDPG, in most tasks."""
    naf, ddpg = ROOM.runs(results, "fig3"), ROOM.runs(results, FIG1)

    def judge(env: str) -> Verdict:
        ours, theirs = gain(naf, "naf", env), gain(ddpg, "ddpg", env)
        if ours is None or theirs is None:
            return Verdict("inconclusive", NOBODY, scale=naf.scale)
        rule = above(size=MARGIN)  # of shares of a gain
        return naf.decide(less(ours, theirs), rule, [("naf refer", env), ("naf refer-2", env)])

    return most_of(judged(TEN, judge))


def gain(runs: Runs, learner: str, env: str) -> Estimate | None:
    """Score with ReF-ER less that with Rule 2 alone, as a share of the larger gain of the two over the score before
    learning; None where neither learns."""
    methods = [(f"{learner} refer", env), (f"{learner} refer-2", env)]
    sides = [runs.learns(*side) for side in methods]
    if not any(side.learns for side in sides):
        return None
    larger = max(side.gain for side in sides)
    return difference(*(score(runs, *side) / larger for side in methods))


def less(x: Estimate, y: Estimate) -> Estimate:
    """x - y of independent estimates. From two differences, Welch and Satterthwaite's freedom is that of all four
    groups."""
    a, b = x.error**2, y.error**2
    freedom = (a + b) ** 2 / (a**2 / x.freedom + b**2 / y.freedom) if a + b else 1.0
    return Estimate(x.value - y.value, (a + b) ** 0.5, freedom, min(x.seeds, y.seeds))


CURVES = "curves, no numbers"
SIZE = "a fifth of what the better one gained"
most, naf = (partial(ROOM.most, of=of, on=TEN) for of in (FIG1, "fig3"))
named = partial(ROOM.all, of=BOTH)

CLAIMS = [
    Claim("fig1-refer", "fig1", "DDPG: ReF-ER ends above plain replay in most tasks", "greatly improved",
          most("ddpg refer", ">", "ddpg er")),
    Claim("fig1-complex", "fig1", "DDPG: ReF-ER ends above plain replay in Humanoid and in Ant", "especially there",
          named("ddpg refer", ">", "ddpg er", on=COMPLEX), counted_with="fig1-refer", reads=BOTH, tasks=COMPLEX),
    Claim("fig1-refer-per", "fig1", "DDPG: ReF-ER ends above PER in most tasks", CURVES,
          most("ddpg refer", ">", "ddpg per")),
    Claim("fig1-per", "fig1", "DDPG: PER ends below plain replay in most tasks", "generally worse",
          most("ddpg er", ">", "ddpg per")),
    Claim("fig1-refer-1", "fig1", "DDPG: Rule 1 alone is poor, in most tasks it ends below both ReF-ER and Rule 2 "
          "alone", "not good",
          most({
              "below ReF ER": ("ddpg refer", ">", "ddpg refer-1"),
              "below Rule 2": ("ddpg refer-2", ">", "ddpg refer-1"),
          })),
    Claim("fig1-refer-1-zero", "fig1", "DDPG: Rule 1 alone leaves more samples without gradient in the task whose "
          "actions have the most components than in that with the fewest", "especially in high dimensions",
          zero_gradients),
    Claim("fig1-refer-2", "fig1", "DDPG: Rule 2 alone is good, it ends above plain replay in most tasks", CURVES,
          most("ddpg refer-2", ">", "ddpg er")),
    Claim("fig1-full", "fig1", "DDPG: both rules together end above Rule 2 alone in Humanoid and in Ant", "measurable "
          "improvement", named("ddpg refer", ">", "ddpg refer-2", on=COMPLEX), reads=BOTH, tasks=COMPLEX),
    Claim("fig1-full-rest", "fig1", "DDPG: in most tasks but Humanoid and Ant, both rules together and Rule 2 alone "
          f"end alike (within {SIZE})", CURVES, most("ddpg refer", "==", "ddpg refer-2", on=REST)),
    Claim("fig1-bang-bang", "fig1", "DDPG: plain replay is faster than ReF-ER in Swimmer and HumanoidStandup (mean "
          "return over all of training)", "faster", named("ddpg er", ">", "ddpg refer", on=BANG_BANG, by=TRAINING),
          reads=BOTH, tasks=NAMED),
    Claim("fig1-falls", "fig1", "DDPG: with plain replay runs can fall to large negative returns (further below the "
          "score before learning than its size), with ReF-ER none does", "unstable, stabilised",
          partial(falls, method="ddpg er")),
    Claim("fig1-untuned", "fig1", "DDPG: with plain replay, and without weight decay and correlated noise, runs can "
          "fall to large negative returns, with ReF-ER none does", "large negative values",
          partial(falls, method="ddpg er (untuned)")),
    Claim("fig2-decline", "fig2", "DDPG: with ReF-ER the divergence falls, in most tasks (from a fifth of training on, "
          f"a line through its logarithm, to at most {DECLINE:g} of what it was then)", "smoothly decreases",
          declines("ddpg refer", FIG1)),
    Claim("fig2-implied", "fig2", f"DDPG: with ReF-ER the divergence stays within a factor of {FACTOR:g} of what D = "
          "0.1 implies for a shift of all means, in most tasks (our prediction)", "-",
          most("ddpg refer", "<", FACTOR, by=FROM_IMPLIED), kind="own"),
    Claim("fig2-far", "fig2", f"DDPG: ReF-ER holds the share of far samples at D = 0.1 (within {FAR:g} on average), in "
          "most tasks", "-", most("ddpg refer", "<", FAR, by=AWAY), kind="own"),
    Claim("fig2-er", "fig2", f"DDPG: plain replay's divergence ends orders of magnitude (at least {ORDERS:g} times) "
          "above ReF-ER's, in most tasks", "50 to 100 against below 1",
          most("ddpg er", ">", "ddpg refer", by=DIVERGENCE, margin=ORDERS)),
    Claim("fig2-erratic", "fig2", "DDPG: plain replay's divergence is more erratic from bin to bin than ReF-ER's, in "
          "most tasks", "oscillates", most("ddpg er", ">", "ddpg refer", by=ROUGHNESS)),
    Claim("fig2-maximum", "fig2", "DDPG: plain replay's divergence ends in the order of magnitude of its maximum 2d/σ² "
          "(above a tenth of it), in most tasks", "in many tasks",
          most("ddpg er", ">", largest_divergence, by=DIVERGENCE, margin=NEAR_MAXIMUM)),
    Claim("fig2-level", "fig2", "DDPG: plain replay's divergence ends around 100 in Humanoid and 50 in Walker2d "
          f"(within a factor of {FACTOR:g}; runs as long as the paper's)", "100 and 50",
          ROOM.all("ddpg er", "==", printed_level, of="fig1", on=(*DDPG_ER_KL,), by=DIVERGENCE, margin=FACTOR),
          reads="fig1", tasks=(*DDPG_ER_KL,)),
    Claim("fig3-refer", "fig3", "NAF: ReF-ER ends above plain replay in most tasks", "benefits",
          naf("naf refer", ">", "naf er")),
    Claim("fig3-rules", "fig3", "NAF benefits from both rules: each alone ends above plain replay, in most tasks",
          "from both", naf({"Rule 1": ("naf refer-1", ">", "naf er"), "Rule 2": ("naf refer-2", ">", "naf er")})),
    Claim("fig3-full", "fig3", "NAF: both rules together end above Rule 2 alone in most tasks", "distinctly improved",
          naf("naf refer", ">", "naf refer-2")),
    Claim("fig3-full-more", "fig3", "What both rules gain over Rule 2 alone is a larger share of what is learnt with "
          "NAF than with DDPG, in most tasks", "more distinctly", clearer_than_ddpg, reads=f"{FIG1}+fig3"),
    Claim("fig3-per", "fig3", "NAF: PER ends below plain replay in most tasks", "often worsens",
          naf("naf er", ">", "naf per")),
    Claim("fig3-far", "fig3", f"NAF: ReF-ER holds the share of far samples at D = 0.1 (within {FAR:g} on average), in "
          "most tasks", "-", naf("naf refer", "<", FAR, by=AWAY), kind="own"),
]  # fmt: skip
