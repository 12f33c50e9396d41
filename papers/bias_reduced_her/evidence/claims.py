"""The paper's statements about Tables 1 and 2 and Figures 3 and 4, as checks of tidy results; the list of claims."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from lab.claims import Claim
from lab.results import MissingData, Results
from lab.scores import Runs
from lab.verdicts import NOBODY, Verdict, above, all_of, controlled, decide, difference, mean_of, number
from papers.bias_reduced_her.evidence import claims_appendix_a, claims_bitflip
from papers.bias_reduced_her.evidence.claims_own import (
    filter_beats_thinning,
    filter_elsewhere,
    filter_with_penalty,
    helps_from_the_ground,
    ibs_helps_with_a_mixture,
    recovers,
    sharper_target,
    skipping_beats_drawing_again,
    too_high_by_hindsight,
    too_high_near_the_ball,
)
from papers.bias_reduced_her.evidence.claims_runs import (
    FILTER_PAIRS,
    LITTLE,
    NEAR_ZERO,
    RESAMPLED_FROM,
    TASKS,
    Training,
    every_task,
    sooner,
)
from papers.bias_reduced_her.evidence.labels import NAMES, TABLE_2, TRAINING

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
    """Filtered-HER over HER, on average over training."""
    return sooner(runs, env, "filtered-her", "her")


def ibs_helps_sooner(runs: Training, env: str) -> Verdict:
    """IBS over the plain filter, on average over training."""
    return sooner(runs, env, "filtered-her-ibs", "filtered-her")


def ibs_helps(runs: Training, env: str) -> Verdict:
    """IBS adds to the success of Filtered-HER."""
    return runs.greater("success", "filtered-her-ibs", "filtered-her", env)


def band_width(curves: np.ndarray) -> np.ndarray:
    """Mean over evaluations of the distance between the 33rd and the 67th percentile of runs; curves [..., runs, steps]
    -> [...]."""
    low, high = np.percentile(curves, [33, 67], axis=-2)
    return (high - low).mean(axis=-1)


def ibs_narrows(runs: Training, env: str) -> Verdict:
    """The 33-67 % band of success is narrower with IBS, on Filtered-HER."""
    pair = ("filtered-her", "filtered-her-ibs")
    plain, ibs = (runs.curve("success", method, env)[1] for method in pair)
    effect = number(float(band_width(plain) - band_width(ibs)), "+")
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
    draws = [[rng.integers(len(v), size=len(v)) for v in (x, y)] for _ in range(n)]
    of_x, of_y = (np.stack(drawn) for drawn in zip(*draws))  # [n, runs]
    low, high = np.percentile(band_width(x[of_x]) - band_width(y[of_y]), [2.5, 97.5])
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
        "fig3-sooner", "fig3", "Filtered-HER is more sample efficient: it succeeds more often than HER on average over "
        "training, in all three tasks", CURVES, every_task(filter_helps_sooner),
    ),
    Claim(
        "fig3-ibs-sooner", "fig3", "IBS is more sample efficient: with it, Filtered-HER succeeds more often on average "
        "over training, in all three tasks", CURVES, every_task(ibs_helps_sooner),
    ),
    Claim(
        "own-thinned", "fig3", "Filtered-HER succeeds more often, on average over training, than HER with as few "
        "virtual goals, in all three tasks", "-", every_task(filter_beats_thinning), kind="own",
    ),
    Claim(
        "own-ground", "own-estimates", "Of episodes that begin with a free ball, Filtered-HER solves more than HER, in "
        "all three tasks", "-", every_task(helps_from_the_ground), kind="own",
    ),
    Claim(
        "own-line", "own-estimates", "HER expects more than it gets of goals near a free ball, and more so than "
        "Filtered-HER, in all three tasks", "-", every_task(too_high_near_the_ball), kind="own",
    ),
    Claim(
        "own-hindsight", "fig4", "HER over-estimates the value of the first state more than an agent without "
        "hindsight, in all three tasks", "-", every_task(too_high_by_hindsight), kind="own",
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
        "own-grid", "own-grid", "On Hand, Filtered-HER-IBS succeeds more often over training with sigma = 0.2 on 10 x "
        "10 cells than with sigma^2 = 0.2 on 20 x 20", "-", sharper_target, kind="own",
        reads=f"own-grid+{TRAINING}",
    ),
    Claim(
        "own-her", "own-her", "On Hand, Filtered-HER succeeds more often than HER with uniform replay, and with "
        "bootstrapped virtual successes", "-", filter_elsewhere, kind="own",
    ),
    Claim(
        "own-penalty", "own-penalty", "With a penalty on actions, Filtered-HER succeeds more often than HER in all "
        "three tasks", "-", every_task(filter_with_penalty, "own-penalty"), kind="own",
    ),
    Claim(
        "own-redraw", "own-her", "On Hand, the filter that skips (Algorithm 2) succeeds more often over training than "
        "the one that draws again (Sec. 3.2.2)", "-", skipping_beats_drawing_again, kind="own",
        reads=f"own-her+{TRAINING}",
    ),
    Claim(
        "a1-ibs", "own-goals", "On Hand with goals from a mixture of Gaussians, IBS adds to Filtered-HER's success "
        "over training", "no experiment", ibs_helps_with_a_mixture, kind="own",
    ),
    Claim(
        "a2-recovers", "own-goals", "On Hand, Filtered-HER-IBS adapts to goals that move: it ends no worse than before "
        "they moved", "should still work fine", recovers,
    ),
    *claims_bitflip.CLAIMS,
    *claims_appendix_a.CLAIMS,
]  # fmt: skip
