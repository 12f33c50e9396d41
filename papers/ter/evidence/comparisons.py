"""Comparisons of runs, and how many of them make one claim. All check tidy results.

*Effect.* The paper's statements are about sample efficiency, so a run's score is the area under its curve of normalised
return: the mean height between the first and the last evaluation. A comparison is the difference of mean scores over
seeds with its 95 % bootstrap interval.

*Margin.* "No effect" and "at least as good" need a size that is still called nothing. It is MARGIN of normalised return
for all of them, fixed before the comparisons were run.

*Gate.* A comparison in which neither side succeeds clearly more often than a policy that acts at random -- on Atari:
neither comes clearly nearer to a person's score -- is inconclusive, whatever its interval: at this budget there is
nothing to compare.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from lab.claims import MIN_SEEDS, Verdict, combine, number
from lab.results import MissingData, Results, final, matrix
from lab.stats import auc, difference_interval
from papers.ter.evidence.experiments import EXPERIMENTS, GAMES
from papers.ter.evidence.labels import label

MARGIN = 0.1
"""Largest difference of normalised return (its range is 1) that counts as none."""
LEARNED = 0.1
"""Success rate above that of the random policy, or normalised score, from which a method counts as learning."""
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
    "5x5-1": 0.605,
    "5x5-2": 0.504,
    "6x6-1": 0.427,
    "6x6-2": 0.142,
    "6x6-3": 0.060,
    "7x7-1": 0.298,
    "7x7-2": 0.078,
}

# ---- rules: what the interval (low, high) of mean(x) - mean(y) says --------------------------------------------------

Rule = Callable[[float, float, float], str]
"""(low, high, margin) -> status."""


def below(low: float, high: float, margin: float) -> str:
    """x < y."""
    return "reproduced" if high < 0 else "not reproduced" if low > 0 else "inconclusive"


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
    """Whether the method ends clearly above the random policy's success rate, or in a game above its score."""
    task = side[1].partition(" (")[0]
    if task in GAMES:
        return final(frame, "normalized_return", *side, last=LAST).mean() > LEARNED
    return final(frame, "success", *side, last=LAST).mean() > RANDOM_SUCCESS[task] + LEARNED


def last_step(frame: pd.DataFrame, *envs: str) -> int:
    return int(frame.loc[frame["env"].isin(envs), "step"].max())


def compare(frame: pd.DataFrame, scale: str, x: Side, y: Side, rule: Rule, metric: str) -> Verdict:
    """Two methods in one world, or one method in two worlds."""
    verdict = judge(score(frame, x, metric), score(frame, y, metric), rule, last_step(frame, x[1], y[1]), scale)
    if not (learns(frame, x) or learns(frame, y)):
        verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
    return verdict


def against_zero(frame: pd.DataFrame, scale: str, x: Side, y: Side, rule: Rule, metric: str) -> Verdict:
    """Over-estimation of x at the end of training, 0 where mean Q is R_max. y is not looked at."""
    q = final(frame, metric, *x, last=LAST)
    verdict = judge(q, np.zeros_like(q), rule, last_step(frame, x[1]), scale)
    low = (rule is below and verdict.status == "reproduced") or (rule is better and verdict.status == "not reproduced")
    if low and not learns(frame, x):  # a small Q means something once returns are large
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

    Pairs that the grid does not have in a task are left out there. A part without data is "not run". The check raises
    MissingData when no part has any, and when some have none but results of a lesser scale exist, which may have all.

    env: which tasks. other: what follows the task's name where y is looked up.
    """

    def check(results: Results) -> Verdict:
        frame, scale = results.need(experiment)
        grid = {(entry.method, entry.env) for entry in EXPERIMENTS[experiment](scale)}
        chosen = [name for name in tasks(experiment, scale) if env(name)]
        parts, missing = {}, []
        for name in chosen:
            for x, y in pairs:
                if not {(x, name), (y, name + other)} <= grid:
                    continue
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
