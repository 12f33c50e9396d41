"""What the checks of claims.py and claims_appendix.py share: the runs of an experiment, and sizes.

*Solved.* A run's score is its success rate over the last LAST evaluations; from SOLVED on it counts as solved. The
paper's statements are about runs ("1 of 5"), and so are these: they are inconclusive with fewer than MIN_SEEDS runs.

*Budget.* Runs that are shorter than the paper's cannot refute that a method solves a task: it may yet. That a method
fails is seen only where another one of the figure solves the task in the same number of episodes. And a method that
waits until the goal is found by chance (WAITING) may find it late: the paper's own do after 120,000 episodes at the
earliest. That these fail can be seen in runs of the paper's length alone.

*Pairs.* The methods of train.py (PPO and what is built on it) share by seed the initial policy, the stream of which
starts, goals and actions are drawn, and the starts and goals of every evaluation: they are compared seed by seed. The
methods of train_off_policy.py have other networks and draw in another order: their runs are independent of those.

*Score before learning.* An untrained policy does not reach the goal (UNTRAINED).

*Counts.* That one method solves the task in more of its runs than another is judged by Fisher's exact test: with three
runs of each nothing can be decided, with five it takes 5 against 1 or 4 against 0.

*Sizes.* "Never", "about equal" and so on need sizes. They are constants, here and in the files of the checks. All of
them, and the claims, were written down before the runs that they are judged on today; but runs of an earlier edition,
with other weights in the loss, another form of Adam's epsilon and other lengths, were known (README, "Registered before
the runs").

*Ant.* claims_ant.py has those of the ant maze. At quick its runs are in half of the maze and shorter than the paper's:
what they cannot refute is said by the same rules.

*Scales.* A claim is judged at one scale.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from scipy.stats import fisher_exact

from lab import scores
from lab.results import MissingData, Results
from lab.verdicts import (
    LEVEL,
    MIN_SEEDS,
    Rule,
    Verdict,
    above,
    controlled,
    decide,
    difference,
    gated,
    margin_of,
    number,
    same,
)
from papers.sibling_rivalry.evidence.ends import end_points
from papers.sibling_rivalry.evidence.experiments import GRID
from papers.sibling_rivalry.evidence.labels import label
from papers.sibling_rivalry.evidence.paper_values import ANT_EPISODES, EPISODES

LAST = 3
"""Evaluations whose mean is a run's score."""
SOLVED = 0.5
"""Success rate from which a run has solved its task. In the paper's Fig. 3 runs end near 0 or near 1."""
NEVER = 0.05
"""A method never succeeds where no evaluation of no run is above this."""
UNTRAINED = 0.0
"""Success rate before training, of point maze and pixel grid."""
TOP_CORRIDOR = {"above": 8.5, "left of": 7.5}
"""Where the point maze's top corridor lies; right of it, at the same height, is the goal."""
WAITING = ("ppo-icm", "ppo-rnd", "ddpg-her")
"""Methods that learn nothing of the goal before they have reached it by chance."""

MAZE = "PointMaze"
Show = Callable[[float], str]


def signed(value: float) -> str:
    return number(value, "+")


def papers_length(env: str) -> int:
    """Training episodes of the paper's runs; in the ant maze, also of those in half of it."""
    return ANT_EPISODES[-1] if env.startswith("Ant") else EPISODES[-1]


def short(env: str) -> str:
    return f"runs shorter than the paper's {papers_length(env):,} episodes"


class Runs(scores.Runs):
    """The runs of an experiment at the scale they were found at."""

    def __init__(self, results: Results, experiment: str):
        super().__init__(results, experiment)
        self.grid = GRID[self.scale]
        """The pixel grid of this scale."""

    # ---- numbers (runs,) ---------------------------------------------------------------------------------------------

    def score(self, method: str, env: str) -> np.ndarray:
        """Success rate at the end of training."""
        return self.last("success", method, env, LAST)

    def solved(self, method: str, env: str) -> np.ndarray:
        """Which runs have solved their task, bool."""
        return self.score(method, env) >= SOLVED

    # ---- statements about runs ---------------------------------------------------------------------------------------

    def say(
        self, holds: bool, effect: str, methods: Iterable[str], env: str, note: str = "", steps: int = 0
    ) -> Verdict:
        """A verdict on the runs of `methods`: inconclusive where one of them has too few. steps: else their length."""
        methods = list(methods)
        seeds = min(len(self.seeds(method, env)) for method in methods)
        status = "reproduced" if holds else "not reproduced"
        if seeds < MIN_SEEDS:
            status, note = "inconclusive", "; ".join(filter(None, [note, f"fewer than {MIN_SEEDS} seeds"]))
        return Verdict(status, effect, "", seeds, steps or self.steps(env, *methods), self.scale, note)

    def _count(self, method: str, env: str, right: Callable[[int, int], bool]) -> Verdict:
        solved, score = self.solved(method, env), self.score(method, env)
        effect = f"{solved.sum()} of {len(solved)} runs, {score.mean():.2f}"
        lowest = self.curve("success", method, env)[1][solved, -LAST:].min(initial=1.0)
        note = f"the last evaluations of a solved run go down to {lowest:.2f}" if lowest < SOLVED else ""
        return self.say(right(int(solved.sum()), len(solved)), effect, [method], env, note)

    def solves(self, method: str, env: str, enough: Callable[[int, int], bool]) -> Verdict:
        """Whether `enough(solved runs, all runs)` solve the task."""
        return may_yet(self._count(method, env, enough), env)

    def fails(self, method: str, env: str, few: Callable[[int, int], bool]) -> Verdict:
        """Whether so `few(solved runs, all runs)` solve the task, where others do."""
        return self._for_want_of_method(self._count(method, env, few), method, env)

    def never(self, method: str, env: str) -> Verdict:
        """Whether no evaluation of any run is above NEVER, where others solve the task."""
        best = float(self.curve("success", method, env)[1].max())
        verdict = self.say(best <= NEVER, f"at most {best:.2f}", [method], env)
        return self._for_want_of_method(verdict, method, env)

    def _for_want_of_method(self, verdict: Verdict, method: str, env: str) -> Verdict:
        """A failure counts where most runs of another method solve the task; of a method that waits, in runs as long as
        the paper's."""
        others = {other for other, where in self.groups if where == env} - {method}
        verdict = controlled(verdict, any(self.solved(other, env).mean() > 0.5 for other in others))
        if verdict.status == "reproduced" and method in WAITING and verdict.steps < papers_length(env):
            return replace(verdict, status="inconclusive", note="; ".join(filter(None, [verdict.note, short(env)])))
        return verdict

    # ---- comparisons of two methods ----------------------------------------------------------------------------------

    def more(self, x: str, y: str, env: str) -> Verdict:
        """Whether x succeeds more often than y at the end."""
        return self.compare(x, y, env, self.score, above())

    def sooner(self, x: str, y: str, env: str) -> Verdict:
        """Whether x succeeds more often than y on average over training."""
        return self.compare(x, y, env, self._height, above())

    def as_soon(self, x: str, y: str, env: str) -> Verdict:
        """Whether x and y succeed about as often on average over training."""
        means = (float(self._height(method, env).mean()) - UNTRAINED for method in (x, y))
        return self.compare(x, y, env, self._height, same(margin_of(*means)))

    def more_solved(self, x: str, y: str, env: str) -> Verdict:
        """Whether x solves the task in a larger share of its runs than y."""
        first, second = self.solved(x, env), self.solved(y, env)
        table = [[solved.sum(), (~solved).sum()] for solved in (first, second)]
        p = float(fisher_exact(table).pvalue)
        status = "inconclusive" if p > 1 - LEVEL else "reproduced" if first.mean() > second.mean() else "not reproduced"
        effect = f"{first.sum()} of {len(first)} runs against {second.sum()} of {len(second)}"
        seeds = min(len(first), len(second))
        return Verdict(status, effect, "", seeds, self.steps(env, x, y), self.scale, p=p)

    def _height(self, method: str, env: str) -> np.ndarray:
        return self.area("success", method, env)

    def compare(
        self, x: str, y: str, env: str, score: Callable[[str, str], np.ndarray], rule: Rule, show: Show = signed
    ) -> Verdict:
        """What the rule says of the difference of scores (method, env) -> (runs,), where one of the two learns."""
        paired = x.startswith("ppo") and y.startswith("ppo")
        first, second = score(x, env), score(y, env)
        if paired:
            first, second = self.pairs(first, second, (x, y), env)
        found = difference(first, second, paired=paired)
        verdict = decide(found, rule, steps=self.steps(env, x, y), scale=self.scale, show=show)
        return gated(verdict, **{label(method): self.learning("success", method, env, UNTRAINED) for method in (x, y)})


def every(solved: int, runs: int) -> bool:
    return solved == runs


def most(solved: int, runs: int) -> bool:
    return solved > runs / 2


def rarely(solved: int, runs: int) -> bool:
    """Less than half of the runs; none, too."""
    return solved < runs / 2


def none(solved: int, runs: int) -> bool:
    return solved == 0


def may_yet(verdict: Verdict, env: str = MAZE) -> Verdict:
    """The verdict on what a method can do: runs shorter than the paper's do not refute it."""
    if verdict.status == "not reproduced" and verdict.steps < papers_length(env):
        return replace(verdict, status="inconclusive", note="; ".join(filter(None, [verdict.note, short(env)])))
    return verdict


def in_top_corridor(runs: Runs, method: str) -> Verdict:
    """In every run, most episodes of the last evaluation whose ends are known end in the point maze's top corridor.

    Ends are known of the first evaluations, those that Fig. 3 shows; the verdict's steps are those of the last of them.
    """
    points = end_points(runs.rows(method, MAZE)).reset_index()
    if points.empty:
        raise MissingData(f"no ends of {method} on {MAZE}")
    last = points[points["step"] == points.groupby("seed")["step"].transform("max")]
    inside = (last["y"] > TOP_CORRIDOR["above"]) & (last["x"] <= TOP_CORRIDOR["left of"])
    shares = inside.groupby(last["seed"]).mean()
    effect = f"{shares.mean():.0%} of episodes, most in {(shares > 0.5).sum()} of {len(shares)} runs"
    return runs.say(bool((shares > 0.5).all()), effect, [method], MAZE, steps=int(last["step"].max()))
