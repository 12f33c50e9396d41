"""What the checks of claims.py share: the runs of an experiment, what is compared, and sizes.

*Score.* Of a run: the mean of its last LAST evaluations. Where the paper speaks of learning curves ("speed of
learning"), the mean of all evaluations. A comparison is the difference of means over runs with its 95 % bootstrap
interval. Part of a run: the first or last fifth of the rows of a metric, at least one.

*Cells.* A claim is judged for each agent and task that was run, and then for all of them or for most of them. At a
small scale these are few; the effect says how many. Of two scales the better one counts once it has as many cells.

*Gate.* Where neither side of a comparison of returns ends above its first evaluation, nothing is compared.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from lab.claims import MIN_SEEDS, Verdict, combine, number
from lab.results import MissingData, Results, matrix
from lab.stats import bootstrap_interval, difference_interval
from papers.ners.evidence.labels import AGENTS, split, task

LAST = 10
"""Evaluations at the end of a run that make its score."""
PART = 5
"""The first and the last of so many parts of a run are early and late."""
CLOSE = 0.25
"""Difference that counts as none: as a share of the larger gain over the first evaluation where returns are compared,
else of the larger number."""
NOBODY = "nobody learns at this budget"

# ---- rules: what the interval (low, high) of a difference says; size: what CLOSE is a share of -----------------------

Rule = Callable[[float, float, float], str]
OPPOSITE = {"reproduced": "not reproduced", "not reproduced": "reproduced"}


def above(low: float, high: float, size: float) -> str:
    """It is positive."""
    return "reproduced" if low > 0 else "not reproduced" if high < 0 else "inconclusive"


def below(low: float, high: float, size: float) -> str:
    """It is negative."""
    return above(-high, -low, size)


def no_worse(low: float, high: float, size: float) -> str:
    """It is not negative, or hardly."""
    return "not reproduced" if high < 0 else "reproduced" if low > -CLOSE * size else "inconclusive"


def close(low: float, high: float, size: float) -> str:
    """It is 0 to within CLOSE."""
    margin = CLOSE * size
    if -margin < low and high < margin:
        return "reproduced"
    return "not reproduced" if low > margin or high < -margin else "inconclusive"


# ---- the runs --------------------------------------------------------------------------------------------------------


class Runs:
    """The runs of an experiment at one scale. MissingData where there are none. `runs_of` makes them."""

    def __init__(self, frame: pd.DataFrame, scale: str):
        frame = frame.dropna(subset="value")
        self.scale = scale
        self.groups = {pair: rows for pair, rows in frame.groupby(["method", "env"])}
        """(method, env) -> its rows."""
        self.cells = sorted({(split(method)[0], env) for method, env in self.groups})
        """(agent, env)."""
        self._curves: dict[tuple[str, str, str], tuple[np.ndarray, np.ndarray]] = {}
        self._gains: dict[tuple[str, str], tuple[float, bool]] = {}

    def rows(self, method: str, env: str) -> pd.DataFrame:
        """All rows of a method on a task."""
        if (method, env) not in self.groups:
            raise MissingData(f"no runs of {method} on {env}")
        return self.groups[method, env]

    def steps(self, method: str, env: str) -> int:
        """Environment steps of the longest run."""
        return int(self.rows(method, env)["step"].max())

    def curve(self, metric: str, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
        """A metric: steps [T] and values [runs, T]."""
        key = metric, method, env
        if key not in self._curves:
            self._curves[key] = matrix(self.rows(method, env), metric, method, env)
        return self._curves[key]

    def score(self, method: str, env: str, *, training: bool = False) -> np.ndarray:
        """Mean of the last evaluations, or of all of training, (runs,)."""
        values = self.curve("return", method, env)[1]
        return (values if training else values[:, -LAST:]).mean(axis=1)

    def gain(self, method: str, env: str) -> tuple[float, bool]:
        """How far the score is above the first evaluation, on average over runs, and whether clearly."""
        if (method, env) not in self._gains:
            score, first = self.score(method, env), self.curve("return", method, env)[1][:, 0]
            gain = float(score.mean() - first.mean())
            low = difference_interval(score, first)[0] if len(score) > 1 else gain
            self._gains[method, env] = gain, bool(low > 0)
        return self._gains[method, env]

    def early(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean of a metric in the first part of training, (runs,)."""
        values = self.curve(metric, method, env)[1]
        return values[:, : max(1, values.shape[1] // PART)].mean(axis=1)

    def late(self, metric: str, method: str, env: str) -> np.ndarray:
        """Mean of a metric in the last part of training, (runs,)."""
        values = self.curve(metric, method, env)[1]
        return values[:, -max(1, values.shape[1] // PART) :].mean(axis=1)

    # ---- verdicts ----------------------------------------------------------------------------------------------------

    def say(self, status: str, effect: str, interval: tuple[float, float], seeds: int, steps: int, sign: str = ""):
        """A verdict; inconclusive where there are too few runs."""
        note = "" if seeds >= MIN_SEEDS else f"fewer than {MIN_SEEDS} seeds"
        text = f"[{number(interval[0], sign)}, {number(interval[1], sign)}]" if seeds > 1 else ""
        return Verdict("inconclusive" if note else status, effect, text, seeds, steps, self.scale, note)

    def differ(
        self, x: np.ndarray, y: np.ndarray, rule: Rule, steps: int, *, size: float | None = None, beyond: float = 0.0
    ) -> Verdict:
        """Whether mean(x) - mean(y) - beyond, over independent runs, is as the rule says. size: of the larger mean."""
        low, high = difference_interval(x, y)
        size = max(abs(float(x.mean())), abs(float(y.mean()))) if size is None else size
        effect = number(float(x.mean() - y.mean()), "+")
        return self.say(rule(low - beyond, high - beyond, size), effect, (low, high), min(len(x), len(y)), steps, "+")

    def level(self, x: np.ndarray, limit: float, rule: Rule, steps: int) -> Verdict:
        """Whether mean(x) - limit is as the rule says."""
        low, high = bootstrap_interval(x)
        status = rule(low - limit, high - limit, abs(limit))
        return self.say(status, number(float(x.mean())), (low, high), len(x), steps)

    def compare(
        self, x: str, y: str, env: str, rule: Rule = above, *, training: bool = False, beyond: float = 0.0
    ) -> Verdict:
        """Whether the returns of two methods differ as the rule says."""
        gains = [self.gain(method, env) for method in (x, y)]
        scores = [self.score(method, env, training=training) for method in (x, y)]
        size, steps = max(gain for gain, _ in gains), max(self.steps(method, env) for method in (x, y))
        verdict = self.differ(scores[0], scores[1], rule, steps, size=size, beyond=beyond)
        if not any(clear for _, clear in gains):
            verdict.status, verdict.effect, verdict.interval = "inconclusive", NOBODY, ""
        return verdict


@lru_cache(maxsize=16)
def runs_of(results: Results, experiment: str, scale: str) -> Runs:
    """The runs of an experiment; MissingData when there are none."""
    return Runs(results.at(experiment, scale), scale)


# ---- one claim, several agents and tasks -----------------------------------------------------------------------------

Judge = Callable[[Runs, str, str], Verdict]
"""The runs of an experiment, an agent and a task -> a verdict; may raise MissingData."""
Check = Callable[[Results], Verdict]


def judged(results: Results, experiment: str, judge: Judge) -> dict[str, Verdict]:
    """A verdict for each cell that has what `judge` needs, at the scale with most of them; the better of two."""
    found: list[dict[str, Verdict]] = []
    missing = []
    for scale in results.scales:
        parts: dict[str, Verdict] = {}
        try:
            runs = runs_of(results, experiment, scale)
        except MissingData as error:
            missing.append(str(error))
            continue
        for agent, env in runs.cells:
            try:
                parts[f"{AGENTS.get(agent, agent)} {task(env)}"] = judge(runs, agent, env)
            except MissingData as error:
                missing.append(str(error))
        found.append(parts)
    best = max(found, key=len, default={})
    if not best:
        raise MissingData(missing[0] if missing else f"no runs of {experiment}")
    return best


def majority(parts: dict[str, Verdict]) -> Verdict:
    """Reproduced where it holds in more than half of the parts, refuted where it fails in half of them or more."""
    verdict, found = combine(parts), [part.status for part in parts.values()]
    good, bad, n = found.count("reproduced"), found.count("not reproduced"), len(found)
    verdict.status = "reproduced" if 2 * good > n else "not reproduced" if 2 * bad >= n else "inconclusive"
    if verdict.status == "inconclusive" and (good or "partly" in found):
        verdict.status = "partly"
    verdict.effect = f"holds in {good} of {n}, fails in {bad}"
    return verdict


def _over(experiments: Sequence[str], judge: Judge, unite: Callable[[dict[str, Verdict]], Verdict]) -> Check:
    def check(results: Results) -> Verdict:
        parts: dict[str, Verdict] = {}
        missing = []
        for experiment in experiments:
            try:
                parts |= judged(results, experiment, judge)
            except MissingData as error:
                missing.append(error)
        if not parts:
            raise missing[0]
        if len(parts) > 1:
            return unite(parts)
        [(name, part)] = parts.items()
        part.note = "; ".join(text for text in (f"{name} only", part.note) if text)
        return part

    return check


def most(*experiments: str, judge: Judge) -> Check:
    """Check that `judge` holds for most agents and tasks of these experiments; of one, that one's verdict."""
    return _over(experiments, judge, majority)


def each(*experiments: str, judge: Judge) -> Check:
    """Check that `judge` holds for every agent and task of these experiments that was run."""
    return _over(experiments, judge, combine)


def both(**judges: Judge) -> Judge:
    """Judge that needs all of these to hold; their names are printed with blanks for underscores."""
    return lambda runs, agent, env: combine(
        {name.replace("_", " "): judge(runs, agent, env) for name, judge in judges.items()}
    )


def opposite(judge: Judge) -> Judge:
    """Judge of the negation: it is reproduced where a part of `judge` is refuted, and refuted where all of it holds."""

    def negated(runs: Runs, agent: str, env: str) -> Verdict:
        verdict = judge(runs, agent, env)
        if verdict.status == "partly":  # a conjunction of which a part holds
            verdict.status = "not reproduced" if ": not reproduced" in verdict.note else "inconclusive"
        verdict.status = OPPOSITE.get(verdict.status, verdict.status)
        return verdict

    return negated
