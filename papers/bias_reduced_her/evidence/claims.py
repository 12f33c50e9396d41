"""The paper's statements about Tables 1 and 2 and Figures 3 and 4, as checks of tidy results.

*Score.* A run's success rate, estimate and so on is the mean of its last LAST evaluations. All four methods see the
same starts and goals and begin with the same networks, seed by seed: comparisons on one task are paired.

*Sizes.* "Near zero", "almost none" and "most" need sizes. They are the constants below, fixed before the runs.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from lab.claims import Claim
from lab.results import MissingData, Results
from lab.scores import Runs
from lab.verdicts import (
    NOBODY,
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
from papers.bias_reduced_her.evidence import claims_appendix_a, claims_bitflip
from papers.bias_reduced_her.evidence.labels import NAMES, TABLE_2, with_bias

TASKS = tuple(TABLE_2)
LAST = 5
"""Evaluations whose mean is a run's score."""
NEAR_ZERO = 0.05
"""Success rate up to which a method counts as failing, and above which one has succeeded."""
LITTLE = 0.05
"""Decrease of the distance to the goal (side of the square: 1) up to which there is almost no improvement."""
RESAMPLED_FROM = 10
"""Runs from which the spread of runs is compared by resampling them; with fewer, such intervals are too short."""
FILTER_PAIRS = (("her", "filtered-her"), ("her-ibs", "filtered-her-ibs"))


class Training(Runs):
    """The runs of an experiment with the four methods."""

    def __init__(self, results: Results, experiment: str = "training"):
        super().__init__(results, experiment)
        self.frame = with_bias(self.frame)
        self.groups = {pair: rows for pair, rows in self.frame.groupby(["method", "env"])}

    def score(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean of the last evaluations of each run (runs,)."""
        return self.last(metric, method, env, 1 if metric == "kl" else LAST)

    def env_steps(self, env: str) -> int:
        """Environment steps of the longest run."""
        rows = self.frame[(self.frame["env"] == env) & (self.frame["metric"] == "env_steps")]
        return int(rows["value"].max())

    def compare(self, x: np.ndarray, y: np.ndarray, methods: tuple[str, str], env: str) -> Verdict:
        """Whether scores x (runs,) are above scores y of two methods on one task, seed by seed."""
        pair = difference(*self.pairs(x, y, methods, env), paired=True)
        return decide(pair, above(), steps=self.env_steps(env), scale=self.scale)

    def greater(self, metric: str, x: str, y: str, env: str) -> Verdict:
        """Whether x's score is above y's; of successes, where one of them learns."""
        verdict = self.compare(self.score(metric, x, env), self.score(metric, y, env), (x, y), env)
        return self.gate(verdict, x, y, env) if metric == "success" else verdict

    def gate(self, verdict: Verdict, x: str, y: str, env: str) -> Verdict:
        sides = {NAMES.get(m, m).replace(" ", "_"): self.learning("success", m, env, 0.0) for m in (x, y)}
        return gated(verdict, **sides)

    def succeeds(self, env: str) -> bool:
        """Whether any method's success rate gets above NEAR_ZERO in any evaluation, on average over its runs."""
        methods = [method for method, where in self.groups if where == env]
        return any(self.curve("success", m, env)[1].mean(axis=0).max() > NEAR_ZERO for m in methods)

    def at_most(self, values: np.ndarray, limit: float, env: str) -> Verdict:
        """Whether the mean of `values` (runs,) is at most `limit`."""
        return decide(mean_of(values), below(limit), steps=self.env_steps(env), scale=self.scale, show=number)


def every_task(judge: Callable[[Training, str], Verdict], experiment: str = "training") -> Callable[[Results], Verdict]:
    """Check that `judge` holds in each of the three tasks."""

    def check(results: Results) -> Verdict:
        runs = Training(results, experiment)
        return all_of(judged(TASKS, lambda env: judge(runs, env)))

    check.__qualname__, check.__module__ = judge.__qualname__, judge.__module__  # which RESULTS.md names
    return check


# ---- Tables 1 and 2 --------------------------------------------------------------------------------------------------


def kl_order(env: str) -> Callable[[Results], Verdict]:
    """KL(q* || q): HER > HER-IBS > Filtered-HER > Filtered-HER-IBS in one task."""

    def check(results: Results) -> Verdict:
        runs, order = Training(results), list(NAMES)
        verdict = all_of({f"{NAMES[x]} > {NAMES[y]}": runs.greater("kl", x, y, env) for x, y in pairwise(order)})
        ours = " / ".join(number(float(runs.score("kl", method, env).mean())) for method in order)
        verdict.effect = f"{ours}; {verdict.effect}"
        return verdict

    return check


def floor_goals(runs: Runs, method: str, env: str) -> np.ndarray:
    """Virtual goals on the floor (the lowest row of the grid) per environment step, over all of training, (runs,)."""
    rows = runs.rows(method, env)
    rows = rows[rows["metric"].str.startswith("virtual ")]
    if rows.empty:
        raise MissingData(f"no virtual goals of {method} on {env}")
    on_floor = rows["value"].where(rows["metric"].str.endswith(" 0"), 0.0)
    return on_floor.groupby(rows["seed"]).sum().to_numpy() * runs.last("virtual_per_step", method, env)


def fewer_on_the_floor(runs: Training, env: str) -> Verdict:
    """The filter removes most of the virtual goals on the floor: their number falls to less than half."""
    parts = {}
    for x, y in FILTER_PAIRS:
        before, after = floor_goals(runs, x, env), floor_goals(runs, y, env)
        verdict = runs.compare(before / 2, after, (x, y), env)
        verdict.effect, verdict.interval = f"{number(before.mean())} to {number(after.mean())} per step", ""
        parts[NAMES[x]] = verdict
    return all_of(parts)


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def fails(runs: Training, env: str) -> Verdict:
    """Vanilla HER's success rate stays near zero."""
    return controlled(runs.at_most(runs.score("success", "her", env), NEAR_ZERO, env), runs.succeeds(env))


def stays_away(runs: Training, env: str) -> Verdict:
    """Vanilla HER's distance to the goal hardly falls between the first evaluation and the last ones."""
    fall = runs.first("distance", "her", env) - runs.score("distance", "her", env)
    return controlled(runs.at_most(fall, LITTLE, env), runs.succeeds(env))


def filter_helps(runs: Training, env: str) -> Verdict:
    """Filtered-HER succeeds more often than HER at the end."""
    return runs.greater("success", "filtered-her", "her", env)


def filter_helps_sooner(runs: Training, env: str) -> Verdict:
    """Filtered-HER succeeds more often than HER on average over training (sample efficiency)."""
    x, y = "filtered-her", "her"
    verdict = runs.compare(runs.area("success", x, env), runs.area("success", y, env), (x, y), env)
    return runs.gate(verdict, x, y, env)


def ibs_helps(runs: Training, env: str) -> Verdict:
    """IBS adds to the success of Filtered-HER."""
    return runs.greater("success", "filtered-her-ibs", "filtered-her", env)


def band_width(curves: np.ndarray) -> float:
    """Mean over evaluations of the distance between the 33rd and the 67th percentile of runs; curves [runs, steps]."""
    low, high = np.percentile(curves, [33, 67], axis=0)
    return float((high - low).mean())


def ibs_narrows(runs: Training, env: str) -> Verdict:
    """The 33-67 % band of success is narrower with IBS, on Filtered-HER."""
    pair = ("filtered-her", "filtered-her-ibs")
    plain, ibs = (runs.curve("success", method, env)[1] for method in pair)
    effect = number(band_width(plain) - band_width(ibs), "+")
    seeds = min(len(plain), len(ibs))
    verdict = Verdict("inconclusive", effect, "", seeds, runs.env_steps(env), runs.scale)
    if seeds < RESAMPLED_FROM:
        verdict.note = f"a spread is judged from {RESAMPLED_FROM} runs on"
    else:
        low, high = resampled(plain, ibs)
        verdict.interval, verdict.status = f"[{number(low, '+')}, {number(high, '+')}]", above()(low, high)
    return runs.gate(verdict, *pair, env)


def resampled(x: np.ndarray, y: np.ndarray, n: int = 2_000) -> tuple[float, float]:
    """Percentile bootstrap interval of band_width(x) - band_width(y), runs resampled; x, y [runs, steps]."""
    rng = np.random.default_rng(0)
    draws = [tuple(v[rng.integers(len(v), size=len(v))] for v in (x, y)) for _ in range(n)]
    low, high = np.percentile([band_width(a) - band_width(b) for a, b in draws], [2.5, 97.5])
    return float(low), float(high)


def largest_gain(x: str, y: str, pairs: list[tuple[str, str]]) -> Callable[[Results], Verdict]:
    """Whether x gains more over y in the first than in the second task of every pair; somebody must learn in both."""

    def check(results: Results) -> Verdict:
        runs, parts = Training(results), {}

        def gain(env: str) -> np.ndarray:
            scores = runs.score("success", x, env), runs.score("success", y, env)
            first, second = runs.pairs(scores[0], scores[1], (x, y), env)
            return first - second

        for more, less in pairs:
            verdict = decide(difference(gain(more), gain(less)), above(), steps=runs.env_steps(more), scale=runs.scale)
            learnt = [any(runs.learning("success", m, env, 0.0).learns for m in (x, y)) for env in (more, less)]
            if not all(learnt):
                where = " and ".join(env for env, found in zip((more, less), learnt) if not found)
                verdict = Verdict("inconclusive", f"{NOBODY} in {where}", "", verdict.seeds, verdict.steps, runs.scale)
            parts[f"{more} > {less}"] = verdict
        return all_of(parts)

    return check


# ---- Figure 4 --------------------------------------------------------------------------------------------------------


def too_high(runs: Training, env: str) -> Verdict:
    """The methods without a filter over-estimate the value of the first state, and more so than those with one."""
    parts, decisive = {}, []
    for x, y in FILTER_PAIRS:
        bias = runs.score("bias", x, env)
        steps = runs.env_steps(env)
        parts[f"{NAMES[x]} > 0"] = decide(mean_of(bias), above(), steps=steps, scale=runs.scale)
        parts[f"{NAMES[x]} > {NAMES[y]}"] = runs.greater("bias", x, y, env)
        decisive.append(f"{NAMES[x]} > {NAMES[y]}")
    return all_of(parts, decisive=decisive)


def lower_bias(runs: Training, env: str) -> Verdict:
    """The filter lowers the bias, with and without IBS."""
    return all_of({f"{NAMES[x]} > {NAMES[y]}": runs.greater("bias", x, y, env) for x, y in FILTER_PAIRS})


def higher_estimates(runs: Training, env: str) -> Verdict:
    """The methods without a filter estimate higher values than those with one (the paper excepts Filtered-HER-IBS on
    Hand, which did so much better)."""
    pairs = [pair for pair in FILTER_PAIRS if (env, pair[1]) != ("Hand", "filtered-her-ibs")]
    return all_of({f"{NAMES[x]} > {NAMES[y]}": runs.greater("q_estimate", x, y, env) for x, y in pairs})


# ---- not in the paper ------------------------------------------------------------------------------------------------


def coarser_grid(results: Results) -> Verdict:
    """On Hand, IBS with a quarter of the cells against the paper's method on the grid of the other figures."""
    coarse, fine = Training(results, "own-grid"), Training(results)
    named = "filtered-her-ibs (10 x 10)"
    x, y = coarse.score("success", named, "Hand"), fine.score("success", "filtered-her-ibs", "Hand")
    verdict = decide(difference(x, y), above(), steps=coarse.env_steps("Hand"), scale=coarse.scale)
    sides = coarse.learning("success", named, "Hand", 0.0), fine.learning("success", "filtered-her-ibs", "Hand", 0.0)
    return gated(verdict, coarse=sides[0], fine=sides[1])


def filter_elsewhere(results: Results) -> Verdict:
    """On Hand, Filtered-HER against HER under two settings in which misleading transitions weigh more."""
    runs = Training(results, "own-her")
    return all_of(
        judged(
            ("uniform replay", "bootstrapped"),
            lambda name: runs.greater("success", f"filtered-her ({name})", f"her ({name})", "Hand"),
        )
    )


def filter_with_penalty(runs: Training, env: str) -> Verdict:
    """Filtered-HER against HER when large actions are penalised."""
    return runs.greater("success", "filtered-her (penalty 1)", "her (penalty 1)", env)


def _divergences(env: str) -> str:
    return " / ".join(f"{value:.2f}" for value in TABLE_2[env])


CURVES = "curves, no numbers"
CLAIMS = [
    *(
        Claim(
            f"table2-{env.lower()}", "table2", f"{env}: KL(q* || q) falls in the order HER, HER-IBS, Filtered-HER, "
            "Filtered-HER-IBS", _divergences(env), kl_order(env),
        )
        for env in TASKS
    ),
    Claim(
        "table1-floor", "table1", "The filter removes most virtual goals on the floor (their number falls to less than "
        "half)", "heat maps", every_task(fewer_on_the_floor),
    ),
    Claim(
        "fig3-her", "fig3", f"HER's success rate stays near zero (at most {NEAR_ZERO})", "nearly zero",
        every_task(fails),
    ),
    Claim(
        "fig3-distance", "fig3", f"HER hardly improves the distance to the goal (by at most {LITTLE})", CURVES,
        every_task(stays_away),
    ),
    Claim(
        "fig3-filter", "fig3", "Filtered-HER succeeds more often than HER in all three tasks", CURVES,
        every_task(filter_helps),
    ),
    Claim(
        "own-sooner", "fig3", "Filtered-HER succeeds more often than HER on average over training, in all three tasks "
        "(asked after these runs had been seen)", "-", every_task(filter_helps_sooner), kind="own",
    ),
    Claim(
        "fig3-ibs", "fig3", "IBS adds to the success rate of Filtered-HER in all three tasks", CURVES,
        every_task(ibs_helps),
    ),
    Claim(
        "fig3-band", "fig3", "IBS narrows the 33-67 % band of Filtered-HER's success", CURVES, every_task(ibs_narrows),
    ),
    Claim(
        "fig3-robot", "fig3", "The filter adds less in Robot than in Hand and HandWall", CURVES,
        largest_gain("filtered-her", "her", [("Hand", "Robot"), ("HandWall", "Robot")]),
    ),
    Claim(
        "fig3-wall", "fig3", "IBS adds most in HandWall", CURVES,
        largest_gain("filtered-her-ibs", "filtered-her", [("HandWall", "Hand"), ("HandWall", "Robot")]),
    ),
    Claim(
        "fig4-high", "fig4", "HER and HER-IBS over-estimate the value of the first state, more than with the filter",
        CURVES, every_task(too_high),
    ),
    Claim(
        "fig4-order", "fig4", "HER and HER-IBS estimate higher values than their filtered versions (but for "
        "Filtered-HER-IBS on Hand)", CURVES, every_task(higher_estimates),
    ),
    Claim(
        "fig4-filter", "fig4", "The filter lowers the bias of the estimate in every task", CURVES,
        every_task(lower_bias), counted_with="fig4-high",
    ),
    Claim(
        "own-grid", "own-grid", "Filtered-HER-IBS succeeds more often on Hand with a 10 x 10 than with a 20 x 20 grid",
        "-", coarser_grid, kind="own",
    ),
    Claim(
        "own-her", "own-her", "On Hand, Filtered-HER succeeds more often than HER with uniform replay, and with "
        "bootstrapped virtual successes", "-", filter_elsewhere, kind="own",
    ),
    Claim(
        "own-penalty", "own-penalty", "With a penalty on actions, Filtered-HER succeeds more often than HER in all "
        "three tasks", "-", every_task(filter_with_penalty, "own-penalty"), kind="own",
    ),
    *claims_bitflip.CLAIMS,
    *claims_appendix_a.CLAIMS,
]  # fmt: skip
