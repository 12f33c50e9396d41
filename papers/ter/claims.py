"""The paper's statements about Figs. 3 to 6, Table B.1 and Figs. F.8 to K.13, as checks of tidy results.

*Effect.* The statements are about sample efficiency, so a run's score is the area under its curve of normalised return:
the mean height between the first and the last evaluation. A comparison is the difference of mean scores over seeds with
its 95 % bootstrap interval.

*Margin.* "No effect" and "at least as good" need a size that is still called nothing. It is MARGIN of normalised return
for all of them, and FACTOR for times; both were fixed before the comparisons were run.

*Gate.* A comparison in which neither side succeeds clearly more often than a policy that acts at random is
inconclusive, whatever its interval: at this budget there is nothing to compare.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from common.lab.claims import MIN_SEEDS, Claim, Verdict, combine, number
from common.lab.results import MissingData, Results, final, matrix
from common.lab.stats import auc, difference_interval
from envs.minigrid_tasks import TASKS
from papers.ter import claims_nchain
from papers.ter.experiments import EXPERIMENTS
from papers.ter.figures import label

BASELINES = ("uer", "per", "ebu", "discor")
METHODS = (*BASELINES, "ter")
MARGIN = 0.1
"""Largest difference of normalised return (its range is 1) that counts as none."""
FACTOR = 2.0
"""Largest ratio of mean batch times that counts as similar; the paper's own differ by up to 1.5."""
LEARNED = 0.1
"""Success rate above that of the random policy from which a method counts as learning."""
LAST = 3
"""Evaluations whose mean is the end of a curve."""
NOBODY = "nobody learns at this budget"
RANDOM_SUCCESS = {  # share of 2000 episodes that end in success under uniformly random actions
    "DoorKey": 0.049,
    "Unlock": 0.043,
    "RedBlueDoors": 0.104,
    "SimpleCrossing-Easy": 0.194,
    "SimpleCrossing-Hard": 0.165,
    "LavaCrossing-Easy": 0.012,
    "LavaCrossing-Hard": 0.002,
}

# ---- rules: what the interval (low, high) of mean(x) - mean(y) says --------------------------------------------------

Rule = Callable[[float, float, float], str]
"""(low, high, margin) -> status."""


def better(low: float, high: float, margin: float) -> str:
    """x > y."""
    return "reproduced" if low > 0 else "not reproduced" if high < 0 else "inconclusive"


def no_worse(low: float, high: float, margin: float) -> str:
    """x is at least as good as y: worse by less than the margin at most, and not clearly worse at all."""
    return "not reproduced" if high < 0 else "reproduced" if low > -margin else "inconclusive"


def same(low: float, high: float, margin: float) -> str:
    """x and y differ by less than the margin, in either direction."""
    if -margin < low and high < margin:
        return "reproduced"
    return "not reproduced" if low > margin or high < -margin else "inconclusive"


def signed(value: float) -> str:
    return number(value, "+")


def judge(
    x: np.ndarray, y: np.ndarray, rule: Rule, steps: int, scale: str, margin: float = MARGIN,
    show: Callable[[float], str] = signed,
) -> Verdict:  # fmt: skip
    """Apply a rule to scores of two independent sets of seeds; inconclusive below MIN_SEEDS of either."""
    seeds = min(len(x), len(y))
    low, high = difference_interval(x, y)
    interval = f"[{show(low)}, {show(high)}]" if seeds > 1 else ""
    few = seeds < MIN_SEEDS
    status = "inconclusive" if few else rule(low, high, margin)
    note = f"fewer than {MIN_SEEDS} seeds" if few else ""
    return Verdict(status, show(float(x.mean() - y.mean())), interval, seeds, steps, scale, note)


# ---- one comparison; all raise MissingData ---------------------------------------------------------------------------

Side = tuple[str, str]
"""(method, env) as labelled in the results."""


def score(frame: pd.DataFrame, side: Side, metric: str = "normalized_return") -> np.ndarray:
    """Area under the curve of each seed, (seeds,)."""
    return np.asarray(auc(*matrix(frame, metric, *side)))


def learns(frame: pd.DataFrame, side: Side) -> bool:
    """Whether the method ends clearly above the random policy's success rate."""
    task = side[1].partition(" (")[0]
    return final(frame, "success", *side, last=LAST).mean() > RANDOM_SUCCESS[task] + LEARNED


def last_step(frame: pd.DataFrame, *envs: str) -> int:
    return int(frame.loc[frame["env"].isin(envs), "step"].max())


def compare(frame: pd.DataFrame, scale: str, x: Side, y: Side, rule: Rule, metric: str) -> Verdict:
    """Two methods in one world, or one method in two worlds."""
    verdict = judge(score(frame, x, metric), score(frame, y, metric), rule, last_step(frame, x[1], y[1]), scale)
    if not (learns(frame, x) or learns(frame, y)):
        verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
    return verdict


def overestimates(frame: pd.DataFrame, scale: str, x: Side, y: Side, rule: Rule, metric: str) -> Verdict:
    """Mean Q of x at the end of training against R_max, where the metric is 0. y is not looked at."""
    q = final(frame, metric, *x, last=LAST)
    verdict = judge(q, np.zeros_like(q), rule, last_step(frame, x[1]), scale)
    if verdict.status == "not reproduced" and not learns(frame, x):  # a small Q means something once returns are large
        verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
    return verdict


# ---- many comparisons, one claim -------------------------------------------------------------------------------------


def settle_all(parts: dict[str, Verdict]) -> Verdict:
    """Every part has to hold. A claim of one part is that part."""
    if len(parts) > 1:
        return combine(parts)
    [(name, verdict)] = parts.items()
    verdict.note = f"{name}; {verdict.note}" if verdict.note else name
    return verdict


def settle_any(parts: dict[str, Verdict]) -> Verdict:
    """One part that holds is enough; the claim fails when every part does."""
    verdict, found = combine(parts), [part.status for part in parts.values()]
    verdict.effect = f"holds in {found.count('reproduced')} of {len(found)}, one is enough"
    if "reproduced" in found:
        verdict.status = "reproduced"
    elif len(set(found)) > 1:
        verdict.status = "inconclusive"
    return verdict


def tasks(experiment: str, scale: str) -> list[str]:
    return list(dict.fromkeys(entry.env for entry in EXPERIMENTS[experiment](scale)))


def contest(
    experiment: str,
    rule: Rule,
    pairs: Iterable[tuple[str, str]],
    *,
    env: Callable[[str], bool] = lambda name: True,
    other: str = "",
    metric: str = "normalized_return",
    compare: Callable[..., Verdict] = compare,
    settle: Callable[[dict[str, Verdict]], Verdict] = settle_all,
) -> Callable[[Results], Verdict]:
    """Check that ``rule`` holds of each pair of methods (x, y), in each task of the experiment's grid.

    A part without data is "not run". The check raises MissingData when no part has any, and when some have none but
    results of a lesser scale exist, which may have all.

    env: which tasks. other: what follows the task's name where y is looked up.
    """

    def check(results: Results) -> Verdict:
        frame, scale = results.need(experiment)
        chosen = [name for name in tasks(experiment, scale) if env(name)]
        parts, missing = {}, []
        for name in chosen:
            for x, y in pairs:
                part = f"{name}, {label(x)}" + ("" if x == y else f" vs {label(y)}")
                try:
                    parts[part] = compare(frame, scale, (x, name), (y, name + other), rule, metric)
                except MissingData as error:
                    parts[part] = Verdict("not run")
                    missing.append(str(error))
        lesser = Results(results.root, results.scales[results.scales.index(scale) + 1 :])
        if len(missing) == len(parts) or (missing and lesser(experiment)):
            raise MissingData(missing[0] if missing else f"{experiment} at {scale} does without the claim's tasks")
        return settle(parts)

    return check


def overall(results: Results) -> Verdict:
    """Fig. 3a: scores averaged over the tasks on which anybody learns, TER against each baseline."""
    frame, scale = results.need("fig3a")
    everywhere = tasks("fig3a", scale)
    steps = last_step(frame, *everywhere)
    scores = {(method, task): score(frame, (method, task)) for method in METHODS for task in everywhere}
    learned = [task for task in everywhere if any(learns(frame, (method, task)) for method in METHODS)]
    seeds = min(map(len, scores.values()))
    if not learned:
        return Verdict("inconclusive", NOBODY, "", seeds, steps, scale)
    # runs of one seed in two tasks are independent, so that pairing them is as good as any other way
    mean = {method: np.mean([scores[method, task][:seeds] for task in learned], axis=0) for method in METHODS}
    verdict = combine({f"TER vs {label(m)}": judge(mean["ter"], mean[m], better, steps, scale) for m in BASELINES})
    left_out = [task for task in everywhere if task not in learned]
    verdict.note += f"; without {', '.join(left_out)}, where {NOBODY}" if left_out else ""
    return verdict


def times(statistic: str, rule: Rule, x: str, y: str) -> Callable[[Results], Verdict]:
    """Check of Table B.1: ``rule`` on logarithms of batch times, x against y; printed as the ratio x / y."""

    def check(results: Results) -> Verdict:
        frame, scale = results.need("table-b1")
        [env] = tasks("table-b1", scale)
        first, second = (np.log(final(frame, f"batch_seconds_{statistic}", method, env)) for method in (x, y))
        steps, margin = last_step(frame, env), float(np.log(FACTOR))
        verdict = judge(first, second, rule, steps, scale, margin, lambda value: number(float(np.exp(value))))
        return settle_all({f"{label(x)} / {label(y)}, both with drawing the pictures": verdict})

    return check


# ---- the claims ------------------------------------------------------------------------------------------------------

HIGHER = [(family, f"{family} x{ratio}") for family in BASELINES for ratio in (1, 2)]
AGAINST = [("ter", baseline) for baseline in BASELINES]
ALL = "UER, PER, EBU and DisCor"
CURVES = "curves, no numbers"

CLAIMS = [
    *claims_nchain.CLAIMS,
    *(
        Claim(
            f"fig3a-{task.lower()}", "fig3a", f"{task}: TER learns at least as fast as {ALL} (margin {MARGIN})", CURVES,
            contest("fig3a", no_worse, AGAINST, env=task.__eq__),
        )
        for task in TASKS
    ),
    Claim("fig3a-overall", "fig3a", f"MiniGrid on average: TER learns faster than {ALL}", CURVES, overall),
    Claim(
        "fig4a-gap", "fig4", "Baselines at replay ratios 1 and 2 learn slower than TER at 0.25", CURVES,
        contest("fig4", better, [("ter x0.25", method) for _, method in HIGHER]),
    ),
    Claim(
        "fig4a-ratio", "fig4", "Higher replay ratios do not help every baseline (except on LavaCrossing-Hard)", CURVES,
        contest(
            "fig4", no_worse, [(f"{family} x0.25", method) for family, method in HIGHER],
            env="LavaCrossing-Hard".__ne__, settle=settle_any,
        ),
    ),
    Claim(
        "fig4a-lava", "fig4", "On LavaCrossing-Hard higher replay ratios help every baseline", CURVES,
        contest(
            "fig4", better, [(method, f"{family} x0.25") for family, method in HIGHER], env="LavaCrossing-Hard".__eq__
        ),
    ),
    Claim(
        "fig4b", "fig4", "At replay ratios 1 and 2 the baselines' mean Q ends above the largest return R_max",
        "far above 0",
        contest(
            "fig4", better, [(method, method) for _, method in HIGHER], metric="q_overestimation", compare=overestimates
        ),
    ),
    Claim(
        "fig5", "fig5", f"TER's mixing ratio η hardly matters on MiniGrid (within {MARGIN} of η=0.5)", CURVES,
        contest("fig5", same, [(f"eta={eta:g}", "eta=0.5") for eta in (0.0, 0.05, 0.1, 0.2, 0.7)]),
    ),
    Claim(
        "fig6", "fig6", "Stitching alone: TER (1 root, 1 predecessor, η=0) learns faster than EBU (β=0)", CURVES,
        contest("fig6", better, [("ter (1 root, 1 predecessor, eta=0)", "ebu (beta=0, terminal only)")]),
    ),
    Claim(
        "table-b1-mean", "table-b1", f"TER's mean time to make a batch is like UER's (within a factor of {FACTOR:g})",
        "TER / UER 1.0 (0.002 s each)", times("mean", same, "ter", "uer"),
    ),
    Claim(
        "table-b1-max", "table-b1", f"TER's longest time is not above PER's (margin: a factor of {FACTOR:g})",
        "PER / TER 1.09 (0.28 s, 0.256 s)", times("max", no_worse, "per", "ter"),
    ),
    Claim(
        "table-b1-median", "table-b1", "TER's median time to make a batch is above UER's",
        "TER / UER 6.7 (2e-4 s, 3e-5 s)", times("median", better, "ter", "uer"),
    ),
    Claim(
        "fig-f8", "fig-f8", f"EBU's diffusion factor β hardly matters (within {MARGIN} of β=0.5)", CURVES,
        contest("fig-f8", same, [(f"beta={beta:g}", "beta=0.5") for beta in (0.0, 0.25, 0.75, 1.0)]),
    ),
    Claim(
        "fig-g9", "fig-g9", f"With 10 % random actions TER still learns faster than {ALL}", CURVES,
        contest("fig-g9", better, AGAINST),
    ),
    Claim(
        "fig-h10-ter", "fig-h10", f"Where the goal is not terminal, TER learns faster than {ALL}", CURVES,
        contest("fig-h10", better, AGAINST, env=lambda name: name.endswith("(no terminal)")),
    ),
    Claim(
        "fig-h10-drop", "fig-h10", "Every baseline succeeds less often where the goal is not terminal", CURVES,
        contest(
            "fig-h10", better, [(baseline, baseline) for baseline in BASELINES], other=" (no terminal)",
            env=lambda name: not name.endswith("(no terminal)"), metric="success",
        ),
    ),
    Claim(
        "fig-i11-gain", "fig-i11", f"Mixing PER into EBU does not help it (margin {MARGIN})", CURVES,
        contest("fig-i11", no_worse, [("ebu", "ebu + per")]),
    ),
    Claim(
        "fig-i11-gap", "fig-i11", "TER learns faster than EBU with PER mixed in", CURVES,
        contest("fig-i11", better, [("ter", "ebu + per")]),
    ),
    Claim(
        "fig-j12-gain", "fig-j12", f"Leaving out time-outs does not help EBU (margin {MARGIN})", CURVES,
        contest("fig-j12", no_worse, [("ebu", "ebu (no timeout)")]),
    ),
    Claim(
        "fig-j12-gap", "fig-j12", "TER learns faster than EBU without time-outs", CURVES,
        contest("fig-j12", better, [("ter", "ebu (no timeout)")]),
    ),
    Claim(
        "fig-k13", "fig-k13", f"The projection's length d, even 1, hardly matters (within {MARGIN} of d=3)", CURVES,
        contest("fig-k13", same, [("d=1", "d=3"), ("d=10", "d=3")]),
    ),
    Claim(
        "own-target", "own-target", "Not in the paper: TER learns faster than UER with the target network copied every "
        "200 steps, too", "-", contest("own-target", better, [("ter (interval 200)", "uer (interval 200)")]),
    ),
]  # fmt: skip
