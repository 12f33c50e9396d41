"""How runs of this paper are judged: what all claims share.

*Solved.* A run's score is its success rate over the last LAST evaluations; from SOLVED on it counts as solved. The
paper's statements are about runs ("1 of 5"), and so are these: they are inconclusive with fewer than MIN_SEEDS runs.

*Budget.* Runs that are shorter than the paper's cannot refute that a method solves a task: it may yet. That a method
fails is seen only where another one of the figure solves the task in the same number of episodes. And a method that
waits until the goal is found by chance (WAITING) may find it late: in the paper's point maze they do so after 120,000
episodes at the earliest, in its ant maze after 32,000 to 40,000. That these fail can be seen in runs of the paper's
length alone.

*Pairs.* None: scores of equal seeds do not correlate (by -0.71 to 0.10), so comparisons are unpaired, which was changed
after the runs and changed no verdict.

*Score before learning.* An untrained policy does not reach the goal (UNTRAINED).

*Counts.* That one method solves the task in more of its runs than another is judged by Fisher's exact test: with three
runs of each nothing can be decided, with five it takes 5 against 1 or 4 against 0.

*Sizes.* "Never", "about equal" and so on need sizes. They are constants, here and in the files of the claims. All of
them, and the claims, were written down before the runs that they are judged on today; but runs of an earlier edition,
with other weights in the loss, another form of Adam's epsilon and other lengths, were known (NOTEBOOK, "Registered
before the runs").
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from lab.judge.comparisons import Judge, Room, Runs, Score, area, last
from lab.judge.intervals import LEVEL, margin_of
from lab.judge.results import MissingData
from lab.judge.verdicts import MIN_SEEDS, Verdict, controlled
from papers.sibling_rivalry.evidence.ends import end_points
from papers.sibling_rivalry.evidence.labels import label
from papers.sibling_rivalry.evidence.paper_values import ANT_EPISODES, BUILD_EPISODES, EPISODES

LAST = 3
"""Evaluations whose mean is a run's score."""
SOLVED = 0.5
"""Success rate from which a run has solved its task. In the paper's Fig. 3 runs end near 0 or near 1."""
NEVER = 0.05
"""A method never succeeds where no evaluation of no run is above this."""
FOUND = 0.1
"""A method has found the goal when its success rate reaches this."""
UNTRAINED = 0.0
"""Success rate before training, of point maze and pixel grid."""
WAITING = ("ppo-icm", "ppo-rnd", "ddpg-her")
"""Methods that learn nothing of the goal before they have reached it by chance."""
MAZE = "PointMaze"

ROOM = Room(
    Score(last("success", LAST), gated=True),
    learning=lambda runs, method, env: runs.learning("success", method, env, UNTRAINED),
    paired=lambda x, y: False,
    label=label,
)
SOONER = Score(area("success"), gated=True)
"""Success on average over training."""


def like(x: np.ndarray, y: np.ndarray | float) -> float:
    """The margin within which two success rates are about equal."""
    return margin_of(float(x.mean()) - UNTRAINED, float(np.mean(y)) - UNTRAINED)


# ---- the paper's length ----------------------------------------------------------------------------------------------


def papers_length(env: str) -> int:
    """Training episodes of the paper's runs; in smaller worlds, too."""
    lengths = {"Ant": ANT_EPISODES[-1], "Voxel": BUILD_EPISODES}
    return next((length for name, length in lengths.items() if env.startswith(name)), EPISODES[-1])


def may_yet(verdict: Verdict, env: str, on: str = "not reproduced") -> Verdict:
    """The verdict on what a method can do: runs shorter than the paper's do not refute it. on: what they cannot say."""
    if verdict.status != on or verdict.steps >= papers_length(env):
        return verdict
    short = f"runs shorter than the paper's {papers_length(env):,} episodes"
    return replace(verdict, status="inconclusive", p=None, note="; ".join(filter(None, [verdict.note, short])))


def final(runs: Runs, method: str, env: str) -> np.ndarray:
    """Success at the end of runs as long as the paper's, in its own maze, (runs,)."""
    if runs.steps(env, method) < papers_length(env) or env == "AntMazeSmall":
        where = " in the paper's ant maze" if env.startswith("Ant") else ""
        raise MissingData(f"no runs of {papers_length(env):,} episodes{where}")
    return runs.last("success", method, env, LAST)


# ---- judges of runs --------------------------------------------------------------------------------------------------


def say(
    runs: Runs, holds: bool, effect: str, methods: Iterable[str], env: str, note: str = "", steps: int = 0
) -> Verdict:
    """A verdict on the runs of `methods`: inconclusive where one of them has too few. steps: else their length."""
    methods = list(methods)
    seeds = min(len(runs.seeds(method, env)) for method in methods)
    status = "reproduced" if holds else "not reproduced"
    if seeds < MIN_SEEDS:
        status, note = "inconclusive", "; ".join(filter(None, [note, f"fewer than {MIN_SEEDS} seeds"]))
    return Verdict(status, effect, "", seeds, steps or runs.steps(env, *methods), runs.scale, note)


def solved(runs: Runs, method: str, env: str) -> np.ndarray:
    """Which runs have solved their task, bool."""
    return runs.last("success", method, env, LAST) >= SOLVED


def _count(runs: Runs, method: str, env: str, right: Callable[[np.ndarray], bool]) -> Verdict:
    good, score = solved(runs, method, env), runs.last("success", method, env, LAST)
    effect = f"{good.sum()} of {len(good)} runs, {score.mean():.2f}"
    lowest = runs.curve("success", method, env)[1][good, -LAST:].min(initial=1.0)
    note = f"the last evaluations of a solved run go down to {lowest:.2f}" if lowest < SOLVED else ""
    return say(runs, bool(right(good)), effect, [method], env, note)


def _for_want_of_method(verdict: Verdict, runs: Runs, method: str, env: str) -> Verdict:
    """A failure counts where most runs of another method solve the task; of a method that waits, in runs as long as the
    paper's."""
    others = {other for other, where in runs.groups if where == env} - {method}
    verdict = controlled(verdict, any(solved(runs, other, env).mean() > 0.5 for other in others))
    return may_yet(verdict, env, on="reproduced") if method in WAITING else verdict


def solves(method: str) -> Judge:
    """Every run solves the task."""
    return lambda runs, env: may_yet(_count(runs, method, env, np.all), env)


def fails(method: str) -> Judge:
    """Less than half of the runs solve the task, where others do."""

    def judge(runs: Runs, env: str) -> Verdict:
        verdict = _count(runs, method, env, lambda good: good.mean() < 0.5)
        return _for_want_of_method(verdict, runs, method, env)

    return judge


def stays_below(method: str) -> Judge:
    """The mean of the runs' final success is below SOLVED, where others solve the task."""

    def judge(runs: Runs, env: str) -> Verdict:
        mean = runs.last("success", method, env, LAST).mean()
        verdict = say(runs, bool(mean < SOLVED), f"{mean:.2f}", [method], env)
        return _for_want_of_method(verdict, runs, method, env)

    return judge


def never(method: str) -> Judge:
    """No evaluation of any run is above NEVER, where others solve the task."""

    def judge(runs: Runs, env: str) -> Verdict:
        best = float(runs.curve("success", method, env)[1].max())
        return _for_want_of_method(say(runs, best <= NEVER, f"at most {best:.2f}", [method], env), runs, method, env)

    return judge


def finds(*methods: str) -> Judge:
    """The mean success rate of one of them reaches FOUND."""

    def judge(runs: Runs, env: str) -> Verdict:
        reached = {method: float(runs.curve("success", method, env)[1].mean(axis=0).max()) for method in methods}
        names = {method: f"{label(method)}: " if " " in method else "" for method in methods}  # of variants alone
        text = ", ".join(f"{names[method]}at most {value:.2f}" for method, value in reached.items())
        return may_yet(say(runs, max(reached.values()) >= FOUND, text, methods, env), env)

    return judge


def more_solved(x: str, y: str) -> Judge:
    """x solves the task in a larger share of its runs than y."""

    def judge(runs: Runs, env: str) -> Verdict:
        first, second = solved(runs, x, env), solved(runs, y, env)
        p = float(fisher_exact([[good.sum(), (~good).sum()] for good in (first, second)]).pvalue)
        larger = "reproduced" if first.mean() > second.mean() else "not reproduced"
        effect = f"{first.sum()} of {len(first)} runs against {second.sum()} of {len(second)}"
        seeds, status = min(len(first), len(second)), "inconclusive" if p > 1 - LEVEL else larger
        return Verdict(status, effect, "", seeds, runs.steps(env, x, y), runs.scale, p=p)

    return judge


def ends(method: str, inside: Callable[[pd.DataFrame, str], pd.Series]) -> Judge:
    """In every run, most episodes of the last evaluation whose ends are known end inside, (points, task) -> bool.

    Ends are known of the first evaluations, those that Fig. 3 shows; the verdict's steps are those of the last of them.
    """

    def judge(runs: Runs, env: str) -> Verdict:
        points = end_points(runs.rows(method, env)).reset_index()
        if points.empty:
            raise MissingData(f"no ends of {method} on {env}")
        points = points[points["step"] == points.groupby("seed")["step"].transform("max")]
        shares = inside(points, env).groupby(points["seed"]).mean()
        effect = f"{shares.mean():.0%} of episodes, most in {(shares > 0.5).sum()} of {len(shares)} runs"
        return say(runs, bool((shares > 0.5).all()), effect, [method], env, steps=int(points["step"].max()))

    return judge


def top_corridor(points: pd.DataFrame, env: str) -> pd.Series:
    """Of the point maze; right of it, at the same height, is the goal."""
    return (points["y"] > 8.5) & (points["x"] <= 7.5)


def at(env: str, judge: Judge) -> Judge:
    """The judge in this task."""
    return lambda runs, _: judge(runs, env)
