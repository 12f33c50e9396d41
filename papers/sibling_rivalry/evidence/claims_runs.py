"""What the checks of claims.py and claims_appendix.py share: the runs of an experiment, and sizes.

*Solved.* A run's score is its success rate over the last LAST evaluations; from SOLVED on it counts as solved. The
paper's statements are about runs ("1 of 5"), and so are these: they are inconclusive with fewer than MIN_SEEDS runs.

*Sizes.* "Never", "about equal" and so on need sizes. They are constants, here and in the files of the checks. They were
written down before the runs, but for TOP_CORRIDOR and LAG; and so were the claims, but for the wording of fig3-trap,
fig6-u, fig6-u-epsilon, fig7-low, fig7-high and fig9-sooner. These were brought closer to the paper's text when two runs
each of PPO and PPO+SR on the point maze, and single pilot runs on U mazes (README, deviation 16), were known.
"""

from collections.abc import Callable, Iterable

import numpy as np

from lab.claims import MIN_SEEDS, Verdict, judge_difference, number
from lab.results import MissingData, Results, final, matrix
from lab.stats import auc
from papers.sibling_rivalry.evidence.ends import end_points

LAST = 3
"""Evaluations whose mean is a run's score."""
SOLVED = 0.5
"""Success rate from which a run has solved its task. In the paper's Fig. 3 runs end near 0 or near 1."""
NEVER = 0.05
"""A method never succeeds where no evaluation of no run is above this."""
TOP_CORRIDOR = {"above": 8.5, "left of": 7.5}
"""Where the point maze's top corridor lies; right of it, at the same height, is the goal."""

MAZE = "PointMaze"


class Runs:
    """The runs of an experiment at the scale they were found at."""

    def __init__(self, results: Results, experiment: str):
        self.frame, self.scale = results.need(experiment)

    def curve(self, metric: str, method: str, env: str) -> tuple[np.ndarray, np.ndarray]:
        """Episodes [t], and values [runs, t]."""
        return matrix(self.frame, metric, method, env)

    def score(self, method: str, env: str) -> np.ndarray:
        """Success rate at the end of training (runs,)."""
        return final(self.frame, "success", method, env, last=LAST)

    def area(self, method: str, env: str) -> np.ndarray:
        """Success rate averaged over training (runs,)."""
        return np.asarray(auc(*self.curve("success", method, env)))

    def solved(self, method: str, env: str) -> np.ndarray:
        """Which runs have solved their task, bool (runs,)."""
        return self.score(method, env) >= SOLVED

    def steps(self, method: str, env: str) -> int:
        """Training episodes."""
        return int(self.curve("success", method, env)[0].max())

    def grid(self) -> str:
        """The pixel grid that was run at this scale."""
        grids = [env for env in self.frame["env"].unique() if env.startswith("PixelGrid")]
        if not grids:
            raise MissingData("no runs on a pixel grid")
        return grids[0]

    def say(self, status: bool | str, effect: str, methods: Iterable[str], env: str, interval: str = "") -> Verdict:
        """A verdict on the runs of `methods`: inconclusive where one of them has too few."""
        seeds = min(len(self.score(method, env)) for method in methods)
        if isinstance(status, bool):
            status = "reproduced" if status else "not reproduced"
        if seeds < MIN_SEEDS:
            status, interval = "inconclusive", ""
        return Verdict(status, effect, interval, seeds, max(self.steps(m, env) for m in methods), self.scale)

    def count(self, method: str, env: str, right: Callable[[int, int], bool]) -> Verdict:
        """Whether `right(solved runs, all runs)`."""
        solved = self.solved(method, env)
        n = int(solved.sum())
        effect = f"{n} of {len(solved)} runs, {self.score(method, env).mean():.2f}"
        return self.say(right(n, len(solved)), effect, [method], env)

    def never(self, method: str, env: str) -> Verdict:
        """Whether no evaluation of any run is above NEVER."""
        best = float(self.curve("success", method, env)[1].max())
        return self.say(best <= NEVER, f"at most {best:.2f}", [method], env)

    def more(self, x: str, y: str, env: str) -> Verdict:
        """Whether x succeeds more often than y at the end."""
        return judge_difference(self.score(x, env), self.score(y, env), steps=self.steps(x, env), scale=self.scale)

    def sooner(self, x: str, y: str, env: str) -> Verdict:
        """Whether x succeeds more often than y on average over training."""
        return judge_difference(self.area(x, env), self.area(y, env), steps=self.steps(x, env), scale=self.scale)


def every(solved: int, runs: int) -> bool:
    return solved == runs


def rarely(solved: int, runs: int) -> bool:
    """Less than half of the runs; none, too."""
    return solved < runs / 2


def within(low: float, high: float, margin: float) -> str:
    """Status of "it is 0 to within the margin" from an interval."""
    if -margin < low and high < margin:
        return "reproduced"
    return "not reproduced" if low > margin or high < -margin else "inconclusive"


def printed(low: float, high: float, sign: str = "") -> str:
    return f"[{number(low, sign)}, {number(high, sign)}]"


def in_top_corridor(runs: Runs, method: str) -> Verdict:
    """In every run, most episodes of the last evaluation whose ends are known end in the point maze's top corridor."""
    rows = runs.frame[(runs.frame["method"] == method) & (runs.frame["env"] == MAZE)]
    points = end_points(rows).reset_index()
    if points.empty:
        raise MissingData(f"no ends of {method} on {MAZE}")
    last = points[points["step"] == points.groupby("seed")["step"].transform("max")]
    inside = (last["y"] > TOP_CORRIDOR["above"]) & (last["x"] <= TOP_CORRIDOR["left of"])
    shares = inside.groupby(last["seed"]).mean()
    effect = f"{shares.mean():.0%} of episodes after {last['step'].max():,}, most in {(shares > 0.5).sum()} of "
    return runs.say(bool((shares > 0.5).all()), f"{effect}{len(shares)} runs", [method], MAZE)
