"""The paper's statements about Tables 1 and 2 and Figures 3 and 4, as checks of tidy results; the list of claims."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from lab.judge.claims import Claim, planned_from
from lab.judge.comparisons import Judge, Runs, Score, last
from lab.judge.intervals import above, difference, margin_of, not_worse, number
from lab.judge.results import MissingData
from lab.judge.verdicts import NOBODY, Verdict, all_of, controlled, gated
from papers.bias_reduced_her.evidence import claims_appendix_a, claims_bitflip, claims_fetch
from papers.bias_reduced_her.evidence.claims_runs import (
    ARMS,
    LAST,
    NEAR_ZERO,
    OVER_TRAINING,
    ROOM,
    SOONER,
    TASKS,
    succeeds,
)
from papers.bias_reduced_her.evidence.labels import BOTH, NAMES, TABLE_2, TRAINING

LITTLE = 0.05
"""Decrease of the distance to the goal (side of the square: 1) up to which there is almost no improvement."""
RESAMPLED_FROM = 10
"""Runs from which the spread of runs is compared by resampling them; with fewer, such intervals are too short."""
NEAR_THE_BALL = (0.1, 0.2, 0.3)
"""Shares of the way from the ball to the black hole that are near the ball."""
ON_THE_FLOOR = ("Hand", "HandWall")
"""Tasks whose free ball starts where it rests; Robot's falls first, so nothing is known there of the goals near it."""
FILTER_PAIRS = (("her", "filtered-her"), ("her-ibs", "filtered-her-ibs"))


def fall(runs: Runs, method: str, env: str) -> np.ndarray:
    """Of the distance to the goal, between the first evaluation and the last ones (runs,)."""
    return runs.first("distance", method, env) - runs.last("distance", method, env, LAST)


def excess(runs: Runs, method: str, env: str) -> np.ndarray:
    """What a method expects of goals near a free ball, less what it gets (runs,)."""
    gaps = [runs.last(f"estimate {s}", method, env) - runs.last(f"realised {s}", method, env) for s in NEAR_THE_BALL]
    return np.mean(gaps, axis=0)


RATE, FALL = Score(last("success", LAST), show=number), Score(fall, show=number)
KL, BIAS, ESTIMATE = Score(last("kl")), Score(last("bias", LAST)), Score(last("q_estimate", LAST))


def order(pairs: Iterable[tuple[str, str | float]]) -> dict[str, tuple[str, str, str | float]]:
    """Comparisons x > y, by name; y may be 0."""
    return {f"{NAMES[x]} > {NAMES.get(str(y), y)}": (x, ">", y) for x, y in pairs}


# ---- Tables 1 and 2 --------------------------------------------------------------------------------------------------


def kl_order(runs: Runs, env: str) -> Verdict:
    """KL(q* || q): HER > HER-IBS > Filtered-HER > Filtered-HER-IBS. The divergences stand before the verdict."""
    verdict = all_of({name: runs.compare(*one, env, KL) for name, one in order(pairwise(NAMES)).items()})
    ours = " / ".join(number(float(KL.of(runs, method, env).mean())) for method in NAMES)
    verdict.effect = f"{ours}; {verdict.effect}"
    return verdict


def floor_goals(runs: Runs, method: str, env: str) -> np.ndarray:
    """Virtual goals on the floor (the lowest row of the grid) per environment step, over all of training, (runs,)."""
    rows = runs.rows(method, env)
    rows = rows[rows["metric"].str.startswith("virtual ")]
    if rows.empty:
        raise MissingData(f"no virtual goals of {method} on {env}")
    on_floor = rows["value"].where(rows["metric"].str.endswith(" 0"), 0.0)
    return on_floor.groupby(rows["seed"]).sum().to_numpy() * runs.last("virtual_per_step", method, env)


def fewer_on_the_floor(runs: Runs, env: str) -> Verdict:
    """The filter removes most of the virtual goals on the floor: their number falls to less than half."""
    parts = {}
    for pair in FILTER_PAIRS:
        sides = [(method, env) for method in pair]
        before, after = runs.common([floor_goals(runs, *side) for side in sides], sides)
        part = runs.decide(difference(before / 2, after, paired=True), above(), sides)
        part.effect, part.interval = f"{number(before.mean())} to {number(after.mean())} per step", ""
        parts[NAMES[pair[0]]] = part
    return all_of(parts)


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def stays(by: Score, limit: float) -> Judge:
    """Judge of "HER's score stays below a limit", which says nothing where no method succeeds."""
    return lambda runs, env: controlled(runs.compare("her", "<", limit, env, by), succeeds(runs, env))


def band_width(curves: np.ndarray) -> np.ndarray:
    """Mean over evaluations of the distance between the 33rd and the 67th percentile of runs; curves [..., runs, steps]
    -> [...]."""
    low, high = np.percentile(curves, [33, 67], axis=-2)
    return (high - low).mean(axis=-1)


def ibs_narrows(runs: Runs, env: str) -> Verdict:
    """The 33-67 % band of success is narrower with IBS, on Filtered-HER."""
    sides = [("filtered-her", env), ("filtered-her-ibs", env)]
    plain, ibs = (runs.curve("success", *side)[1] for side in sides)
    effect, seeds = number(float(band_width(plain) - band_width(ibs)), "+"), min(len(plain), len(ibs))
    few = f"a spread is judged from {RESAMPLED_FROM} runs on" if seeds < RESAMPLED_FROM else ""
    note = runs.room.note(runs, sides) or few
    verdict = Verdict("inconclusive", effect, "", seeds, runs.room.steps(runs, sides), runs.scale, note)
    if not few:
        low, high = resampled(plain, ibs)
        verdict.interval, verdict.status = f"[{number(low, '+')}, {number(high, '+')}]", above()(low, high)
    return gated(verdict, **runs.sides_learn(sides))


def resampled(x: np.ndarray, y: np.ndarray, n: int = 2_000) -> tuple[float, float]:
    """Percentile bootstrap interval of band_width(x) - band_width(y), runs resampled; x, y [runs, steps]."""
    rng = np.random.default_rng(0)
    draws = [[rng.integers(len(v), size=len(v)) for v in (x, y)] for _ in range(n)]
    of_x, of_y = (np.stack(drawn) for drawn in zip(*draws))  # [n, runs]
    low, high = np.percentile(band_width(x[of_x]) - band_width(y[of_y]), [2.5, 97.5])
    return float(low), float(high)


def gains_more(x: str, y: str, more: str, less: str, runs: Runs, _: str) -> Verdict:
    """x gains more over y in one task than in another; somebody must learn in both."""
    gains, silent = [], []
    for env in (more, less):
        sides = [(x, env), (y, env)]
        first, second = runs.common([RATE.of(runs, *side) for side in sides], sides)
        gains.append(first - second)
        silent += [] if any(runs.learns(*side).learns for side in sides) else [env]
    verdict = runs.decide(difference(*gains), above(), [(x, more), (x, less)])
    if not silent:
        return verdict
    said = f"{NOBODY} in {' and '.join(silent)}"
    return Verdict("inconclusive", said, "", verdict.seeds, verdict.steps, verdict.scale)


def gains(x: str, y: str, *tasks: tuple[str, str]) -> dict[str, Judge]:
    """Judges, by name, of the gains in pairs of tasks, the larger one first."""
    return {f"{more} > {less}": partial(gains_more, x, y, more, less) for more, less in tasks}


def recovers(runs: Runs, env: str) -> Verdict:
    """Filtered-HER-IBS succeeds as often at the end, long after the goals have moved, as before they did."""
    side = ("filtered-her-ibs (moving)", env)
    steps, curves = runs.curve("success", *side)
    half = int((steps < steps[-1] / 2).sum())  # the evaluation at the half comes after the goals have moved
    before, after = curves[:, max(half - LAST, 0) : half].mean(axis=1), curves[:, -LAST:].mean(axis=1)
    margin = margin_of(float(before.mean()), float(after.mean()))
    verdict = runs.decide(difference(after, before, paired=True), not_worse(margin), [side])
    return gated(verdict, **runs.sides_learn([side]))


# ---- Figure 4 --------------------------------------------------------------------------------------------------------


def higher_estimates(runs: Runs, env: str) -> Verdict:
    """The methods without a filter estimate higher values than those with one (the paper excepts Filtered-HER-IBS on
    Hand, which did so much better)."""
    pairs = FILTER_PAIRS[:1] if env == "Hand" else FILTER_PAIRS
    return all_of({name: runs.compare(*one, env, ESTIMATE) for name, one in order(pairs).items()})


# ---- the claims ------------------------------------------------------------------------------------------------------


def both(
    name: str, figure: str, text: str, *what: Any, value: str = "curves, no numbers", success: bool = True,
    on: str | tuple[str, ...] = TASKS, counted_with: str = "", **how: Any,
) -> Iterator[Claim]:  # fmt: skip
    """A claim, for each reading of a virtual success. success: whether it is about that, and decided only where some
    method has any. how: see lab.judge.comparisons.Compare."""
    own = name.startswith("own-")
    for reading, (suffix, gate, other) in ARMS.items():
        yield Claim(
            f"{name}{suffix}", figure, f"{text} (virtual successes {reading})", "-" if own else value,
            (gate if success else other).all(*what, of=BOTH, on=on, **how), "own" if own else "paper",
            counted_with and f"{counted_with}{suffix}",
        )  # fmt: skip


hand = partial(ROOM.all, on="Hand")
HEADLINE = [f"{name}{suffix}" for name in ("fig3-filter", "fig3-sooner", "fig3-ibs", "fig3-ibs-sooner")
            for suffix, *_ in ARMS.values()]  # fmt: skip
"""The abstract: both the filter and the choice of virtual goals bring "vast improvement in the final success rate and
sample efficiency"."""
SUMMARY = {
    "At `full` ({fig3-filter.steps:,} steps, {fig3-filter.seeds} seeds) the filter raises final success on Hand "
    "({fig3-filter.parts[Hand].effect}), on Robot ({fig3-filter.parts[Robot].effect}) not clearly once corrected; no "
    "method learns HandWall.":
        {"partly": ["fig3-filter", "fig3-sooner"]},
    "IBS adds to that on Hand ({fig3-ibs.parts[Hand].effect}); on Robot it does not speed up learning.":
        {"partly": ["fig3-ibs", "fig3-ibs-sooner"]},
    "HER ends near zero only with bootstrapped virtual successes ({fig3-her-bootstrapped.parts[Hand].effect} on Hand, "
    "{fig3-her-bootstrapped.parts[Robot].effect} on Robot); there the filter adds "
    "{fig3-filter-bootstrapped.parts[Hand].effect} and {fig3-filter-bootstrapped.parts[Robot].effect}; IBS is open.":
        {"not reproduced": ["fig3-her"], "partly": ["fig3-her-bootstrapped"],
         "reproduced": ["fig3-filter-bootstrapped"], "inconclusive": ["fig3-ibs-bootstrapped"]},
}  # fmt: skip
"""The claims in three sentences, each with the verdicts that it rests on."""
CLAIMS = planned_from([
    *(
        claim
        for env in TASKS
        for claim in both(
            f"table2-{env.lower()}", "table2", f"{env}: KL(q* || q) falls in the order HER, HER-IBS, Filtered-HER, "
            "Filtered-HER-IBS", kl_order, value=" / ".join(f"{kl:.2f}" for kl in TABLE_2[env]), success=False, on=env,
        )
    ),
    *both(
        "table1-floor", "table1", "The filter removes most virtual goals on the floor (their number falls to less than "
        "half)", fewer_on_the_floor, value="heat maps", success=False,
    ),
    *both(
        "fig3-her", "fig3", f"HER's success rate stays near zero (at most {NEAR_ZERO})", stays(RATE, NEAR_ZERO),
        value="nearly zero", success=False,
    ),
    *both(
        "fig3-distance", "fig3", f"After its first evaluation HER hardly improves the distance to the "
        f"goal (by at most {LITTLE})",
        stays(FALL, LITTLE), success=False,
    ),
    *both(
        "fig3-filter", "fig3", "Filtered-HER succeeds more often than HER in all three tasks",
        "filtered-her", ">", "her",
    ),
    *both(
        "fig3-sooner", "fig3", "Filtered-HER succeeds more often than HER over all of training, in all three tasks",
        "filtered-her", ">", "her", by=SOONER,
    ),
    *both(
        "fig3-ibs-sooner", "fig3", "IBS makes Filtered-HER succeed more often over all of training, in all three tasks",
        "filtered-her-ibs", ">", "filtered-her", by=SOONER,
    ),
    *both(
        "own-thinned", "fig3", "Filtered-HER succeeds more often, on average over training, than HER with as few "
        "virtual goals, in all three tasks", "filtered-her", ">", "her-thinned", by=SOONER,
    ),
    *both(
        "own-ground", "own-estimates", "Of episodes that begin with a free ball, Filtered-HER solves more than HER, in "
        "all three tasks", "filtered-her", ">", "her", by=Score(last("success ground"), gated=True),
    ),
    *both(
        "own-line", "own-estimates", "HER expects more than it gets of goals near a free ball, and more so than "
        "Filtered-HER, on Hand and HandWall (on Robot the line begins in the air)",
        order([("her", 0), ("her", "filtered-her")]), success=False, on=ON_THE_FLOOR, by=Score(excess),
        decisive=["HER > Filtered-HER"],
    ),
    *both(
        "own-hindsight", "fig4", "HER over-estimates the value of the first state more than an agent without "
        "hindsight, in all three tasks", "her", ">", "none", success=False, by=BIAS,
    ),
    *both(
        "fig3-ibs", "fig3", "IBS adds to the success rate of Filtered-HER in all three tasks",
        "filtered-her-ibs", ">", "filtered-her",
    ),
    *both("fig3-band", "fig3", "IBS narrows the 33-67 % band of Filtered-HER's success", ibs_narrows),
    *both(
        "fig3-robot", "fig3", "The filter adds less in Robot than in Hand and HandWall",
        gains("filtered-her", "her", ("Hand", "Robot"), ("HandWall", "Robot")), on="Robot",
    ),
    *both(
        "fig3-wall", "fig3", "IBS adds most in HandWall",
        gains("filtered-her-ibs", "filtered-her", ("HandWall", "Hand"), ("HandWall", "Robot")), on="HandWall",
    ),
    *both(
        "fig4-high", "fig4", "HER and HER-IBS over-estimate the value of the first state, more than with the filter",
        order((x, y) for x, other in FILTER_PAIRS for y in (0, other)), success=False, by=BIAS,
        decisive=list(order(FILTER_PAIRS)),
    ),
    *both(
        "fig4-order", "fig4", "HER and HER-IBS estimate higher values than their filtered versions (but for "
        "Filtered-HER-IBS on Hand)", higher_estimates, success=False,
    ),
    *both(
        "fig4-filter", "fig4", "The filter lowers the bias of the estimate in every task", order(FILTER_PAIRS),
        success=False, by=BIAS, counted_with="fig4-high",
    ),
    Claim(
        "own-grid", "own-grid", "On Hand, Filtered-HER-IBS succeeds more often over training with sigma = 0.2 on 10 x "
        "10 cells than with sigma^2 = 0.2 on 20 x 20", "-",
        hand(
            "filtered-her-ibs", ">", "filtered-her-ibs (20 x 20, sigma^2)", of=f"own-grid+{TRAINING}", by=OVER_TRAINING
        ), "own", reads=f"own-grid+{TRAINING}",
    ),
    Claim(
        "own-her", "own-her", "On Hand, Filtered-HER succeeds more often than HER with uniform replay, and with "
        "bootstrapped virtual successes", "-",
        hand(
            {name: (f"filtered-her ({name})", ">", f"her ({name})") for name in ("uniform replay", "bootstrapped")},
            of="own-her",
        ), "own",
    ),
    Claim(
        "own-penalty", "own-penalty", "With a penalty on actions, Filtered-HER succeeds more often than HER in all "
        "three tasks", "-",
        ROOM.all("filtered-her (penalty 1)", ">", "her (penalty 1)", of="own-penalty", on=TASKS), "own",
    ),
    Claim(
        "own-redraw", "own-her", "On Hand, the filter that skips (Algorithm 2) succeeds more often over training than "
        "the one that draws again (Sec. 3.2.2)", "-",
        hand("filtered-her", ">", "filtered-her (drawn again)", of=f"own-her+{TRAINING}", by=OVER_TRAINING), "own",
        reads=f"own-her+{TRAINING}",
    ),
    Claim(
        "a1-ibs", "own-goals", "On Hand with goals from a mixture of Gaussians, IBS adds to Filtered-HER's success "
        "over training", "no experiment",
        hand("filtered-her-ibs (mixture)", ">", "filtered-her (mixture)", of="own-goals", by=SOONER), "own",
    ),
    Claim(
        "a2-recovers", "own-goals", "On Hand, Filtered-HER-IBS adapts to goals that move: it ends no worse than before "
        "they moved", "should still work fine", hand(recovers, of="own-goals"),
    ),
    *claims_bitflip.CLAIMS,
    *claims_appendix_a.CLAIMS,
    *claims_fetch.CLAIMS,
], headline=HEADLINE, full=["fig3-band-bootstrapped"])  # fmt: skip
