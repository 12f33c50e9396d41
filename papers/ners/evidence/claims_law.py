"""Checks of claims about what is drawn: the pictures of Fig. 1, the statistics of Table 3 and Fig. 5, the laws.

*The bonus for the new.* A transition that was never replayed has score 1. If all others had one score, the law would
have two levels, and its total variation from uniform would be P - c: P the probability that a draw is a transition's
first, c the share of stored transitions that were never drawn. In general P - c is a lower bound of it, so

    explained = (P - c) / total variation

says how much of the law the bonus accounts for. P is logged (`first_time`). So is c: the transitions drawn so far are
the first draws so far, and each step stores one (as long as the memory has not wrapped, which it never does here).
The share of first draws itself tells nothing: with m draws per step it is (1 - c) / m for every sampler.

Since c is less than 1 / m, the bonus alone is bounded by that, whatever the networks learn. Whether they learn anything
is seen in the law among transitions that were replayed (`tv_replayed`).
"""

from collections.abc import Callable

import numpy as np

from lab.results import MissingData, Results
from lab.verdicts import (
    Estimate,
    Rule,
    Verdict,
    above,
    all_of,
    below,
    decide,
    difference,
    judged,
    mean_of,
    most_of,
    number,
    same,
)
from papers.ners.evidence.claims_runs import PART, Runs, every_other, parts
from papers.ners.evidence.labels import READINGS, SAMPLERS
from papers.ners.evidence.paper_values import BASELINES, FIG5, STATISTICS, STEPS, TABLE3, scorer_updates
from papers.ners.evidence.pooled import replayed
from papers.ners.evidence.postures import posture

MOSTLY = 0.5
CLOSE = 0.25
"""Difference of two statistics of Table 3 that counts as none, as a share of the larger."""
FACTOR = 2.0
"""Ratio of a statistic of Table 3 to the paper's that counts as none."""
UNIFORM = 0.02
"""Total variation from uniform up to which a law hardly differs from RANDOM's."""
OF_LAWS = ("fig3", "table1", "table2")
TINY = 1e-12

# ---- Fig. 1 ----------------------------------------------------------------------------------------------------------


def share(runs: Runs, rule: str, kind: str, agent: str, env: str, label: str = "random") -> np.ndarray:
    """Share of the transitions drawn by a rule of Fig. 1 that show the pendulum in a posture, (runs,)."""
    angles = runs.curve(f"{rule}_angle", f"{agent} {label}", env)[1]
    return np.array([[posture(angle) == kind for angle in row] for row in angles]).mean(axis=1)


def mostly(results: Results, *, rule: str, kind: str, label: str = "random") -> Verdict:
    """More than half of a rule's draws are in the posture."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        estimate = mean_of(share(runs, rule, kind, agent, env, label))
        return decide(estimate, above(MOSTLY), steps=STEPS["fig1"], scale=runs.scale, show=number)

    return all_of(parts(results, ["fig1"], judge))


def mixed(results: Results) -> Verdict:
    """Horizontal rods are more frequent in uniform draws than in those by TD error and in those by Q."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        def than(rule: str) -> Verdict:
            shares = (share(runs, name, "horizontal", agent, env) for name in ("uniform", rule))
            return decide(difference(*shares, paired=True), above(), steps=STEPS["fig1"], scale=runs.scale)

        return all_of({"than by TD error": than("td"), "than by Q": than("q")})

    return all_of(parts(results, ["fig1"], judge))


# ---- Table 3 ---------------------------------------------------------------------------------------------------------


def statistic(runs: Runs, agent: str, env: str, name: str, x: str, y: str, rule: Callable[[float], Rule]) -> Verdict:
    """Two samplers differ in a statistic of Table 3 as the rule says, which is made from CLOSE of the larger one."""
    methods = f"{agent} {x}", f"{agent} {y}"

    def of(method: str, env: str) -> np.ndarray:
        return replayed(runs.rows(method, env))[:, STATISTICS.index(name)]

    margin = CLOSE * max(abs(float(of(method, env).mean())) for method in methods)
    return decide(runs.differ(*methods, env, of), rule(margin), steps=runs.steps(env, *methods), scale=runs.scale)


def extreme(results: Results, *, sampler: str, name: str, rule: Callable[[float], Rule], label: str = "") -> Verdict:
    """A sampler's statistic of Table 3 is beyond that of each other sampler. label: is added to all samplers'."""
    others = [f"{other}{label}" for other in ("ners", *BASELINES) if other != sampler]

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        return every_other(others, lambda other: statistic(runs, agent, env, name, f"{sampler}{label}", other, rule))

    return all_of(parts(results, ["table3"], judge))


def ners_spreads(results: Results, *, label: str = "") -> Verdict:
    """NERS replays a larger spread of both squared TD errors and Q than RANDOM and than ERO."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        def more(name: str, y: str) -> Verdict:
            return statistic(runs, agent, env, name, f"ners{label}", f"{y}{label}", lambda _: above())

        return all_of({
            f"{name} against {SAMPLERS[y]}": more(name, y)
            for name in ("sd TD²", "sd Q") for y in ("random", "ero")
        })  # fmt: skip

    return all_of(parts(results, ["table3"], judge))


def ero_draws_like_random(results: Results) -> Verdict:
    """ERO is where RANDOM is in all four statistics."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        return all_of({name: statistic(runs, agent, env, name, "ero", "random", same) for name in STATISTICS})

    return all_of(parts(results, ["table3"], judge))


def as_printed(results: Results, *, label: str) -> Verdict:
    """RANDOM's mean and deviation of squared TD errors are the paper's, to within a factor FACTOR."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        def of(name: str) -> Verdict:
            place, method = STATISTICS.index(name), f"{agent} random{label}"
            ratio = np.log(replayed(runs.rows(method, env))[:, place] / TABLE3["random"][place])
            steps = runs.steps(env, method)
            show = lambda value: f"x {number(float(np.exp(value)))}"  # noqa: E731
            return decide(mean_of(ratio), same(float(np.log(FACTOR))), steps=steps, scale=runs.scale, show=show)

        return all_of({name: of(name) for name in ("mean TD²", "sd TD²")})

    return all_of(parts(results, ["table3"], judge))


# ---- Fig. 5 ----------------------------------------------------------------------------------------------------------


def drawn(runs: Runs, agent: str, env: str, metric: str, x: str, y: str, early: bool = False) -> Verdict:
    """A metric of the draws is higher with sampler x than with y, late in training or early."""
    methods = f"{agent} {x}", f"{agent} {y}"
    part = runs.early if early else runs.late
    estimate = runs.differ(*methods, env, lambda method, env: part(metric, method, env))
    return decide(estimate, above(), steps=runs.steps(env, *methods), scale=runs.scale)


def of_fig5(agent: str, env: str) -> bool:
    """Whether it is one of Fig. 5's."""
    return agent == "sac" and env in FIG5


def of_sac_elsewhere(agent: str, env: str) -> bool:
    """Whether it is another task of SAC."""
    return agent == "sac" and env not in FIG5


def high_td_early(results: Results, *, wanted: Callable[[str, str], bool]) -> Verdict:
    """Early, NERS replays higher TD errors (mean logarithm) than RANDOM."""
    asked = dict(metric="log_td", x="ners", y="random", early=True)
    return most_of(parts(results, ["fig3", "table1"], drawn, wanted=wanted, **asked))


def high_both_late(results: Results, *, wanted: Callable[[str, str], bool]) -> Verdict:
    """Late, NERS replays higher TD errors and higher Q. The TD errors decide: Q is higher with any better policy."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        metrics = {"log TD": "log_td", "Q": "q_mean"}
        found = {name: drawn(runs, agent, env, metric, "ners", "random") for name, metric in metrics.items()}
        return all_of(found, decisive=["log TD"])

    return most_of(parts(results, ["fig3", "table1"], judge, wanted=wanted))


def lesser(runs: Runs, agent: str, env: str, x: str) -> Verdict:
    """Late, x does not replay both higher TD errors and higher Q than RANDOM: the one of the two differences that is
    less, in units of its standard error, is below 0. (Were both 0, chance would find so in 5 of 100 cases.)"""
    methods = f"{agent} {x}", f"{agent} random"

    def differ(metric: str) -> Estimate:
        return runs.differ(*methods, env, lambda method, env: runs.late(metric, method, env))

    found = {"log TD": differ("log_td"), "Q": differ("q_mean")}
    name = min(found, key=lambda name: found[name].value / max(found[name].error, TINY))
    return decide(found[name], below(), steps=runs.steps(env, *methods), scale=runs.scale, note=name)


def others_do_not(results: Results) -> Verdict:
    """Late, neither PER nor ERO replays both higher TD errors and higher Q than RANDOM."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        return all_of({SAMPLERS[x]: lesser(runs, agent, env, x) for x in ("per", "ero")})

    return most_of(parts(results, ["fig3", "table1"], judge, wanted=of_fig5))


# ---- how far from uniform --------------------------------------------------------------------------------------------


def near(runs: Runs, agent: str, env: str, sampler: str = "ners") -> Verdict:
    """Among replayed transitions, the law of NERS, or of a reading of it, ends within UNIFORM of the uniform one."""
    method = f"{agent} {sampler}"
    estimate = mean_of(runs.late("tv_replayed", method, env))
    updates = int(runs.last("scorer_updates", method, env).mean())
    note = f"{updates} steps of NERS's networks, the paper's runs {scorer_updates(agent, env):,}"
    return decide(estimate, below(UNIFORM), steps=runs.steps(env, method), scale=runs.scale, note=note, show=number)


def near_uniform(results: Results) -> Verdict:
    """So it is for most agents and tasks."""
    return most_of(parts(results, OF_LAWS, near))


def near_uniform_by_every_reading(results: Results) -> Verdict:
    """So it is by every reading of the paper with a time step that is bounded."""
    bounded = [name for name in READINGS if name != "ners environment"]

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        return all_of(judged(bounded, lambda name: near(runs, agent, env, name)))

    return all_of(parts(results, ["own-law"], judge))


def explained(first_time: np.ndarray, draws: np.ndarray, tv: np.ndarray, steps: np.ndarray) -> float:
    """Share of a run's late total variation that the bonus for the new accounts for.

    All [T], row by row, from the first row on: share of first draws and number of draws since the row before, total
    variation, and environment steps so far.
    """
    never = 1.0 - np.cumsum(first_time * draws) / steps  # at the end of each row's stretch
    between = np.convolve(np.concatenate([never[:1], never]), [0.5, 0.5], "valid")  # first_time is of the whole stretch
    late = slice(-max(1, len(steps) // PART), None)
    return float((first_time - between)[late].mean() / max(float(tv[late].mean()), TINY))


def mostly_the_bonus(results: Results) -> Verdict:
    """Most of what NERS's law differs from uniform by is the bonus for transitions that were never replayed."""

    def judge(runs: Runs, agent: str, env: str) -> Verdict:
        method = f"{agent} ners"
        table = runs.rows(method, env).pivot(index=["seed", "step"], columns="metric", values="value")
        if not {"first_time", "draws", "tv"} <= {*table}:
            raise MissingData(f"no statistics of the draws of {method} on {env}")
        found = []
        for _, run in table[table["tv"].notna()].groupby(level="seed"):
            steps = run.index.get_level_values("step").to_numpy(dtype=np.float64)
            first, draws = (run[name].fillna(0.0).to_numpy() for name in ("first_time", "draws"))
            found.append(explained(first, draws, run["tv"].to_numpy(), steps))
        return decide(mean_of(found), above(MOSTLY), steps=runs.steps(env, method), scale=runs.scale, show=number)

    return most_of(parts(results, OF_LAWS, judge))


def per_further(results: Results) -> Verdict:
    """PER's law ends further from uniform than NERS's."""
    return most_of(parts(results, OF_LAWS, drawn, metric="tv", x="per", y="ners"))
