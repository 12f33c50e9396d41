"""The paper's statements about Tables 1 and 2 and Figures 3 and 4, as checks of tidy results.

*Score.* A run's success rate, estimate and so on is the mean of its last LAST evaluations. A comparison is the
difference of mean scores over runs with its 95 % bootstrap interval.

*Margins.* "Near zero", "almost none" and "most" need sizes. They are the constants below, fixed before the runs.

*Gate.* Where neither side succeeds more often than LEARNED, a comparison of successes is inconclusive, whatever its
interval: at this budget there is nothing to compare.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from lab.claims import MIN_SEEDS, Claim, Verdict, combine, judge_difference, number
from lab.results import MissingData, Results, final, matrix
from lab.stats import bootstrap_interval
from papers.bias_reduced_her.evidence import claims_appendix_a, claims_bitflip
from papers.bias_reduced_her.evidence.figures import NAMES, TABLE_2, with_bias

TASKS = tuple(TABLE_2)
LAST = 5
"""Evaluations whose mean is a run's score."""
NEAR_ZERO = 0.05
"""Success rate up to which a method counts as failing."""
LITTLE = 0.05
"""Decrease of the distance to the goal (side of the square: 1) up to which there is almost no improvement."""
LEARNED = 0.05
"""Success rate below which there is nothing to compare; a random policy has less than 0.01."""
NOBODY = "nobody learns at this budget"
FILTER_PAIRS = (("her", "filtered-her"), ("her-ibs", "filtered-her-ibs"))


class Runs:
    """The runs of an experiment at the scale they were found at."""

    def __init__(self, results: Results, experiment: str = "training"):
        frame, self.scale = results.need(experiment)
        self.frame = with_bias(frame)

    def score(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean of the last evaluations of each run (runs,)."""
        return final(self.frame, metric, method, env, last=1 if metric == "kl" else LAST)

    def steps(self, env: str) -> int:
        """Environment steps of the longest run."""
        rows = self.frame[(self.frame["env"] == env) & (self.frame["metric"] == "env_steps")]
        return int(rows["value"].max())

    def greater(self, metric: str, x: str, y: str, env: str, *, gated: bool = False) -> Verdict:
        """Whether x's score is above y's; `gated`: only where one of them succeeds at all."""
        first, second = self.score(metric, x, env), self.score(metric, y, env)
        verdict = judge_difference(first, second, steps=self.steps(env), scale=self.scale)
        if gated and max(self.score("success", method, env).mean() for method in (x, y)) < LEARNED:
            verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
        return verdict

    def at_most(self, values: np.ndarray, limit: float, env: str) -> Verdict:
        """Whether the mean of `values` (runs,) is at most `limit`: by its interval, reproduced, not, or undecided."""
        low, high = bootstrap_interval(values)
        status = "reproduced" if high <= limit else "not reproduced" if low > limit else "inconclusive"
        if len(values) < MIN_SEEDS:
            status = "inconclusive"
        interval = f"[{number(low)}, {number(high)}]" if len(values) > 1 else ""
        return Verdict(status, number(float(values.mean())), interval, len(values), self.steps(env), self.scale)


# ---- Tables 1 and 2 --------------------------------------------------------------------------------------------------


def kl_order(env: str) -> Callable[[Results], Verdict]:
    """KL(q* || q): HER > HER-IBS > Filtered-HER > Filtered-HER-IBS in one task."""

    def check(results: Results) -> Verdict:
        runs, order = Runs(results), list(NAMES)
        parts = {f"{NAMES[x]} > {NAMES[y]}": runs.greater("kl", x, y, env) for x, y in pairwise(order)}
        verdict = combine(parts)
        ours = " / ".join(number(float(runs.score("kl", method, env).mean())) for method in order)
        verdict.effect = f"{ours}; {verdict.effect}"
        return verdict

    return check


def floor_share(runs: Runs, method: str, env: str) -> np.ndarray:
    """Share of each run's virtual goals that lie in the lowest row of the grid, (runs,)."""
    frame = runs.frame
    frame = frame[(frame["method"] == method) & (frame["env"] == env) & frame["metric"].str.startswith("virtual ")]
    if frame.empty:
        raise MissingData(f"no virtual goals of {method} on {env}")
    on_floor = frame["value"].where(frame["metric"].str.endswith(" 0"), 0.0)
    return on_floor.groupby(frame["seed"]).sum().to_numpy()


def floor(results: Results) -> Verdict:
    """Filtering removes most of the virtual goals on the floor: their share falls by more than half."""
    runs, parts = Runs(results), {}
    for env in TASKS:
        for x, y in FILTER_PAIRS:
            before, after = floor_share(runs, x, env), floor_share(runs, y, env)
            verdict = judge_difference(before / 2, after, steps=runs.steps(env), scale=runs.scale)
            verdict.effect, verdict.interval = f"{number(before.mean())} to {number(after.mean())}", ""
            parts[f"{env}, {NAMES[x]}"] = verdict
    return combine(parts)


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def fails(results: Results) -> Verdict:
    """Vanilla HER's success rate stays near zero in every task."""
    runs = Runs(results)
    return combine({env: runs.at_most(runs.score("success", "her", env), NEAR_ZERO, env) for env in TASKS})


def stays_away(results: Results) -> Verdict:
    """Vanilla HER's distance to the goal hardly falls between the first evaluation and the last ones."""
    runs, parts = Runs(results), {}
    for env in TASKS:
        _, curves = matrix(runs.frame, "distance", "her", env)
        parts[env] = runs.at_most(curves[:, 0] - runs.score("distance", "her", env), LITTLE, env)
    return combine(parts)


def filter_helps(results: Results) -> Verdict:
    """Filtered-HER succeeds more often than HER in every task."""
    runs = Runs(results)
    return combine({env: runs.greater("success", "filtered-her", "her", env, gated=True) for env in TASKS})


def ibs_helps(results: Results) -> Verdict:
    """IBS adds to the success of Filtered-HER in every task."""
    runs = Runs(results)
    pairs = {env: runs.greater("success", "filtered-her-ibs", "filtered-her", env, gated=True) for env in TASKS}
    return combine(pairs)


def band_width(curves: np.ndarray, axis: int = 0) -> np.ndarray:
    """Mean over evaluations of the distance between the 33rd and the 67th percentile of runs; curves [runs, steps]."""
    low, high = np.percentile(curves, [33, 67], axis=axis)
    return (high - low).mean(axis=-1)


def ibs_narrows(results: Results) -> Verdict:
    """The 33-67 % band of success is narrower with IBS, on Filtered-HER, in every task."""
    runs, parts = Runs(results), {}
    for env in TASKS:
        (_, plain), (_, ibs) = (matrix(runs.frame, "success", m, env) for m in ("filtered-her", "filtered-her-ibs"))
        seeds = min(len(plain), len(ibs))
        effect = float(band_width(plain) - band_width(ibs))
        verdict = Verdict("inconclusive", number(effect, "+"), "", seeds, runs.steps(env), runs.scale)
        if seeds >= MIN_SEEDS:
            low, high = _resampled(plain, ibs)
            verdict.interval = f"[{number(low, '+')}, {number(high, '+')}]"
            verdict.status = "reproduced" if low > 0 else "not reproduced" if high < 0 else "inconclusive"
        if max(runs.score("success", m, env).mean() for m in ("filtered-her", "filtered-her-ibs")) < LEARNED:
            verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
        parts[env] = verdict
    return combine(parts)


def _resampled(x: np.ndarray, y: np.ndarray, n: int = 2_000) -> tuple[float, float]:
    """Percentile bootstrap interval of band_width(x) - band_width(y), runs resampled."""
    rng = np.random.default_rng(0)
    differences = [
        band_width(x[rng.integers(len(x), size=len(x))]) - band_width(y[rng.integers(len(y), size=len(y))])
        for _ in range(n)
    ]
    low, high = np.percentile(differences, [2.5, 97.5])
    return float(low), float(high)


def gain(runs: Runs, x: str, y: str, env: str) -> np.ndarray:
    """Success of x less that of y, run by run, (runs,)."""
    first, second = runs.score("success", x, env), runs.score("success", y, env)
    n = min(len(first), len(second))
    return first[:n] - second[:n]


def _largest_gain(results: Results, x: str, y: str, pairs: list[tuple[str, str]]) -> Verdict:
    """Whether the gain of x over y is larger in the first than in the second task of every pair."""
    runs, parts = Runs(results), {}
    for more, less in pairs:
        verdict = judge_difference(
            gain(runs, x, y, more), gain(runs, x, y, less), steps=runs.steps(more), scale=runs.scale
        )
        if max(runs.score("success", x, env).mean() for env in (more, less)) < LEARNED:
            verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
        parts[f"{more} > {less}"] = verdict
    return combine(parts)


def robot_needs_it_less(results: Results) -> Verdict:
    """What the filter adds to the success rate is less in Robot than in Hand and HandWall."""
    return _largest_gain(results, "filtered-her", "her", [("Hand", "Robot"), ("HandWall", "Robot")])


def wall_needs_ibs(results: Results) -> Verdict:
    """What IBS adds to the success rate of Filtered-HER is most in HandWall."""
    return _largest_gain(results, "filtered-her-ibs", "filtered-her", [("HandWall", "Hand"), ("HandWall", "Robot")])


# ---- Figure 4 --------------------------------------------------------------------------------------------------------


def too_high(results: Results) -> Verdict:
    """The methods without a filter over-estimate the value of the first state in every task."""
    runs, parts = Runs(results), {}
    for env in TASKS:
        for method in ("her", "her-ibs"):
            bias = runs.score("bias", method, env)
            parts[f"{env}, {NAMES[method]}"] = judge_difference(
                bias, np.zeros_like(bias), steps=runs.steps(env), scale=runs.scale
            )
    return combine(parts)


def higher_estimates(results: Results) -> Verdict:
    """The methods without a filter estimate higher values than those with one (the paper excepts Filtered-HER-IBS on
    Hand, which did so much better)."""
    runs = Runs(results)
    return combine(
        {
            f"{env}, {NAMES[x]} > {NAMES[y]}": runs.greater("q_estimate", x, y, env)
            for env in TASKS
            for x, y in FILTER_PAIRS
            if (env, y) != ("Hand", "filtered-her-ibs")
        }
    )


def lower_bias(results: Results) -> Verdict:
    """The filter lowers the bias, with and without IBS, in every task."""
    runs = Runs(results)
    return combine(
        {f"{env}, {NAMES[x]} > {NAMES[y]}": runs.greater("bias", x, y, env) for env in TASKS for x, y in FILTER_PAIRS}
    )


# ---- not in the paper ------------------------------------------------------------------------------------------------


def coarser_grid(results: Results) -> Verdict:
    """On Hand, IBS with a quarter of the cells against the paper's method on the grid of the other figures."""
    coarse, fine = Runs(results, "own-grid"), Runs(results)
    x = coarse.score("success", "filtered-her-ibs (10 x 10)", "Hand")
    y = fine.score("success", "filtered-her-ibs", "Hand")
    if coarse.scale != fine.scale:
        raise MissingData(f"own-grid at the scale of training ({fine.scale})")
    verdict = judge_difference(x, y, steps=coarse.steps("Hand"), scale=coarse.scale)
    if max(x.mean(), y.mean()) < LEARNED:
        verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
    return verdict


def filter_elsewhere(results: Results) -> Verdict:
    """On Hand, Filtered-HER against HER under two settings in which misleading transitions weigh more."""
    runs = Runs(results, "own-her")
    parts = {}
    for name in ("uniform replay", "bootstrapped"):
        parts[name] = runs.greater("success", f"filtered-her ({name})", f"her ({name})", "Hand", gated=True)
    return combine(parts)


def filter_with_penalty(results: Results) -> Verdict:
    """Filtered-HER against HER when large actions are penalised, in every task."""
    runs = Runs(results, "own-penalty")
    parts = {}
    for env in TASKS:
        try:
            parts[env] = runs.greater("success", "filtered-her (penalty 1)", "her (penalty 1)", env, gated=True)
        except MissingData:
            parts[env] = Verdict("not run")
    return combine(parts)


def _divergences(env: str) -> str:
    her, her_ibs, filtered, filtered_ibs = TABLE_2[env]
    return f"{her:.2f} / {her_ibs:.2f} / {filtered:.2f} / {filtered_ibs:.2f}"


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
        "table1-floor", "table1", "The filter removes most virtual goals on the floor (their share falls by more than "
        "half)", "heat maps", floor,
    ),
    Claim(
        "fig3-her", "fig3", f"HER's success rate stays near zero (at most {NEAR_ZERO})", "nearly zero", fails,
    ),
    Claim(
        "fig3-distance", "fig3", f"HER hardly improves the distance to the goal (by at most {LITTLE})", CURVES,
        stays_away,
    ),
    Claim("fig3-filter", "fig3", "Filtered-HER succeeds more often than HER in all three tasks", CURVES, filter_helps),
    Claim("fig3-ibs", "fig3", "IBS adds to the success rate of Filtered-HER in all three tasks", CURVES, ibs_helps),
    Claim("fig3-band", "fig3", "IBS narrows the 33-67 % band of Filtered-HER's success", CURVES, ibs_narrows),
    Claim(
        "fig3-robot", "fig3", "The filter adds less in Robot than in Hand and HandWall", CURVES, robot_needs_it_less,
    ),
    Claim("fig3-wall", "fig3", "IBS adds most in HandWall", CURVES, wall_needs_ibs),
    Claim("fig4-high", "fig4", "HER and HER-IBS over-estimate the value of the first state", CURVES, too_high),
    Claim(
        "fig4-order", "fig4", "HER and HER-IBS estimate higher values than their filtered versions (but for "
        "Filtered-HER-IBS on Hand)", CURVES, higher_estimates,
    ),
    Claim("fig4-filter", "fig4", "The filter lowers the bias of the estimate in every task", CURVES, lower_bias),
    Claim(
        "own-grid", "own-grid", "Not in the paper: Filtered-HER-IBS succeeds more often on Hand with a 10 x 10 than "
        "with a 20 x 20 grid", "-", coarser_grid,
    ),
    Claim(
        "own-her", "own-her", "Not in the paper: on Hand, Filtered-HER succeeds more often than HER with uniform "
        "replay, and with bootstrapped virtual successes", "-", filter_elsewhere,
    ),
    Claim(
        "own-penalty", "own-penalty", "Not in the paper: with a penalty on actions, Filtered-HER succeeds more often "
        "than HER in all three tasks", "-", filter_with_penalty,
    ),
    *claims_bitflip.CLAIMS,
    *claims_appendix_a.CLAIMS,
]  # fmt: skip
