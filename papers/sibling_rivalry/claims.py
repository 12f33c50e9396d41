"""The paper's statements about Figures 3, 4 and 6 to 9, as checks of tidy results. Figures 1 and 2: claims_track.py.

*Solved.* A run's score is its success rate over the last LAST evaluations; from SOLVED on it counts as solved. The
paper's statements are about runs ("1 of 5"), and so are these: they are inconclusive with fewer than MIN_SEEDS runs.

*Sizes.* "Never", "about equal" and so on need sizes. They are the constants below. They were written down before the
runs, but for TOP_CORRIDOR and LAG, and so were the claims, but for the wording of fig3-trap, fig6-u, fig6-u-epsilon,
fig7-low, fig7-high and fig9-sooner: these were brought closer to the paper's text when two runs each of PPO and PPO+SR
on the point maze, and nothing else, were known.
"""

from collections.abc import Callable, Iterable

import numpy as np

from common.lab.claims import MIN_SEEDS, Claim, Verdict, combine, judge_difference, number
from common.lab.results import MissingData, Results, final, matrix
from common.lab.stats import auc, bootstrap_interval, difference_interval
from papers.sibling_rivalry import claims_track
from papers.sibling_rivalry.figures import ends, label
from papers.sibling_rivalry.paper_values import CURVES, EPISODES

LAST = 3
"""Evaluations whose mean is a run's score."""
SOLVED = 0.5
"""Success rate from which a run has solved its task. In the paper's Fig. 3 runs end near 0 or near 1."""
NEVER = 0.05
"""A method never succeeds where no evaluation of no run is above this."""
TOP_CORRIDOR = {"above": 8.5, "left of": 7.5}
"""Where the point maze's top corridor lies; right of it, at the same height, is the goal."""
CLOSE = 0.05
"""Largest difference of final success rates that counts as the paper's value."""
EMPTY = 0.05
"""Largest difference of final distances, as a share, that counts as that of an empty grid."""
EQUAL = 0.1
"""Largest difference of success rates, averaged over training, that counts as about equal."""
FOUND = 0.1
"""A method has found the goal when its mean success rate reaches this."""
LAG = 2.0
"""Largest ratio of the episodes until then that counts as a slight lag."""

MAZE = "PointMaze"
LONGEST = {"corridor": "Corridor-10", "U": "UMaze-10"}
LENGTHS = (2, 4, 6, 8, 10)
FIG6_EPSILONS = (1, 2, 3, 5)


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


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def in_top_corridor(runs: Runs, method: str) -> Verdict:
    """In every run, most episodes of the last evaluation whose ends are known end in the point maze's top corridor."""
    rows = runs.frame[(runs.frame["method"] == method) & (runs.frame["env"] == MAZE)]
    points = ends(rows).reset_index()
    if points.empty:
        raise MissingData(f"no ends of {method} on {MAZE}")
    last = points[points["step"] == points.groupby("seed")["step"].transform("max")]
    inside = (last["y"] > TOP_CORRIDOR["above"]) & (last["x"] <= TOP_CORRIDOR["left of"])
    shares = inside.groupby(last["seed"]).mean()
    effect = f"{shares.mean():.0%} of episodes after {last['step'].max():,}, most in {(shares > 0.5).sum()} of "
    return runs.say(bool((shares > 0.5).all()), f"{effect}{len(shares)} runs", [method], MAZE)


def trap(results: Results) -> Verdict:
    """PPO ends in the top corridor."""
    return in_top_corridor(Runs(results, "maze"), "ppo")


def best(results: Results) -> Verdict:
    """Sibling Rivalry ends above every other method."""
    runs = Runs(results, "maze")
    others = ("ppo", "ppo-icm", "ppo-rnd", "ddpg-her")
    return combine({label(other): runs.more("ppo-sr", other, MAZE) for other in others})


def final_success(results: Results) -> Verdict:
    """Sibling Rivalry's final success rate is the paper's, within CLOSE. Runs must be as long as the paper's."""
    runs = Runs(results, "maze")
    score, paper = runs.score("ppo-sr", MAZE), CURVES["fig3"]["ppo-sr"][-1]
    if runs.steps("ppo-sr", MAZE) < EPISODES[-1]:
        raise MissingData(f"no runs of {EPISODES[-1]:,} episodes")
    low, high = bootstrap_interval(score)
    status = within(low - paper, high - paper, CLOSE)
    return runs.say(status, number(float(score.mean())), ["ppo-sr"], MAZE, printed(low, high))


# ---- Figure 4 --------------------------------------------------------------------------------------------------------


def no_toggling(results: Results) -> Verdict:
    """PPO's final distance to the goal is the number of the goal's pixels, as of a policy that never toggles one."""
    from papers.sibling_rivalry.tasks import make_task

    runs = Runs(results, "grid")
    env = runs.grid()
    pixels = float(make_task(env).goals(20_000, np.random.default_rng(0)).sum(axis=(1, 2, 3)).mean())
    distances = final(runs.frame, "distance", "ppo", env, last=LAST)
    holds = bool((np.abs(distances / pixels - 1) < EMPTY).all())
    return runs.say(holds, f"{distances.mean():.2f} wrong pixels, empty grid {pixels:.2f}", ["ppo"], env)


def grid_fast(results: Results) -> Verdict:
    """Sibling Rivalry and hindsight solve the grid in every run."""
    runs = Runs(results, "grid")
    return combine({label(m): runs.count(m, runs.grid(), every) for m in ("ppo-sr", "dqn-her")})


def grid_slow(results: Results) -> Verdict:
    """DQN with dense rewards solves it, too, but later than either."""
    runs = Runs(results, "grid")
    env = runs.grid()
    later = {f"after {label(m)}": runs.sooner(m, "dqn", env) for m in ("ppo-sr", "dqn-her")}
    return combine({"solved": runs.count("dqn", env, every), **later})


def grid_keeps_all(results: Results) -> Verdict:
    """Keeping both siblings is better than keeping the closer one only where they end near each other."""
    runs = Runs(results, "grid")
    return runs.sooner("ppo-sr", "ppo-sr (epsilon 2)", runs.grid())


# ---- Figure 6 --------------------------------------------------------------------------------------------------------


def corridors(results: Results) -> Verdict:
    """Sibling Rivalry solves corridors of every length in every run."""
    runs = Runs(results, "shapes")
    return combine({str(length): runs.count("ppo-sr", f"Corridor-{length}", every) for length in LENGTHS})


def corridor_thresholds(results: Results) -> Verdict:
    """The longest corridor is solved with each threshold."""
    runs = Runs(results, "shapes")
    return combine({f"ε = {e}": runs.count(_epsilon(e), LONGEST["corridor"], every) for e in FIG6_EPSILONS})


def u_mazes(results: Results) -> Verdict:
    """Sibling Rivalry solves U mazes in every run; of the longest, most runs, with the best of the thresholds."""
    runs = Runs(results, "shapes")
    parts = {str(length): runs.count("ppo-sr", f"UMaze-{length}", every) for length in LENGTHS[:-1]}
    top = max(FIG6_EPSILONS, key=lambda e: (_solves(runs, e), runs.score(_epsilon(e), LONGEST["U"]).mean()))
    most = runs.count(_epsilon(top), LONGEST["U"], lambda solved, n: solved > n / 2)
    return combine({**parts, f"{LENGTHS[-1]} with ε = {top}": most})


def narrow(results: Results) -> Verdict:
    """Most runs solve the longest U maze with some thresholds, but with no more than half of those tried."""
    runs = Runs(results, "shapes")
    shares = {e: _solves(runs, e) for e in FIG6_EPSILONS}
    good = sum(share > 0.5 for share in shares.values())
    text = ", ".join(f"ε = {e}: {share:.0%} of runs" for e, share in shares.items())
    return runs.say(0 < good <= len(shares) / 2, text, [_epsilon(e) for e in shares], LONGEST["U"])


def _solves(runs: Runs, epsilon: int) -> float:
    """Share of the runs with a threshold that solve the longest U maze."""
    return float(runs.solved(_epsilon(epsilon), LONGEST["U"]).mean())


def others_fail(results: Results) -> Verdict:
    """Curiosity and hindsight fail on the longest of both."""
    runs = Runs(results, "shapes")
    return combine(
        {
            f"{label(method)}, {name}": runs.count(method, env, lambda solved, n: solved == 0)
            for name, env in LONGEST.items()
            for method in ("ppo-icm", "ddpg-her")
        }
    )


# ---- Figure 7 --------------------------------------------------------------------------------------------------------


def _epsilon(value: int) -> str:
    return f"ppo-sr (epsilon {value})"


def middle(results: Results) -> Verdict:
    """ε = 5 solves the maze in every run."""
    return Runs(results, "epsilon").count(_epsilon(5), MAZE, every)


def over_exploration(results: Results) -> Verdict:
    """ε = 0: less success over training than with 5, and siblings that drift apart: they end farther from each other in
    the middle half of training than in its first tenth. (Near its end the paper sees them come nearer again.)"""
    runs = Runs(results, "epsilon")
    apart = runs.curve("apart", _epsilon(0), MAZE)[1]
    n = apart.shape[1]
    first, mid = apart[:, : max(1, n // 10)].mean(axis=1), apart[:, n // 4 : n - n // 4].mean(axis=1)
    return combine(
        {
            "slower": runs.sooner(_epsilon(5), _epsilon(0), MAZE),
            "apart": judge_difference(mid, first, steps=runs.steps(_epsilon(0), MAZE), scale=runs.scale),
        }
    )


def under_exploration(results: Results) -> Verdict:
    """ε = 10 does not solve the maze, and ends where PPO does."""
    runs = Runs(results, "epsilon")
    return combine(
        {
            "fails": runs.count(_epsilon(10), MAZE, rarely),
            "top corridor": in_top_corridor(runs, _epsilon(10)),
        }
    )


# ---- Figures 8 and 9 -------------------------------------------------------------------------------------------------

INDEPENDENT = "ppo-sr (independent starts)"
ORACLES = tuple(f"ppo-go (side {side})" for side in (1, 2, 3))


def starts_maze(results: Results) -> Verdict:
    """Independent starts are faster on the point maze."""
    return Runs(results, "starts").sooner(INDEPENDENT, "ppo-sr", MAZE)


def starts_grid(results: Results) -> Verdict:
    """About equal on the pixel grid: the difference's interval lies within EQUAL."""
    runs = Runs(results, "starts")
    env = runs.grid()
    two, one = runs.area(INDEPENDENT, env), runs.area("ppo-sr", env)
    low, high = difference_interval(two, one)
    effect = number(float(two.mean() - one.mean()), "+")
    return runs.say(within(low, high, EQUAL), effect, [INDEPENDENT, "ppo-sr"], env, printed(low, high, "+"))


def oracle_finds(results: Results) -> Verdict:
    """The Grid Oracle finds the goal with some size of its regions: mean success reaches FOUND."""
    runs = Runs(results, "oracle")
    reached = {method: float(runs.curve("success", method, MAZE)[1].mean(axis=0).max()) for method in ORACLES}
    text = ", ".join(f"{label(method)}: {value:.2f}" for method, value in reached.items())
    return runs.say(max(reached.values()) >= FOUND, text, ORACLES, MAZE)


def found_after(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Episodes after which mean success over runs reaches FOUND, for values [..., runs, t]: [...]. Where it never does,
    as if it did at the next evaluation after the last."""
    reached = values.mean(axis=-2) >= FOUND
    never = steps[-1] + (steps[-1] - steps[-2] if len(steps) > 1 else steps[-1])
    return np.where(reached.any(axis=-1), steps[reached.argmax(axis=-1)], never)


def oracle_sooner(results: Results) -> Verdict:
    """Sibling Rivalry needs more episodes to find the goal than the oracle with the best size of its regions, but no
    more than LAG times as many. The ratio's interval is one of resampled runs."""
    runs, rng, n = Runs(results, "oracle"), np.random.default_rng(0), 2_000
    curves = {method: runs.curve("success", method, MAZE) for method in (*ORACLES, "ppo-sr")}
    first = {method: float(found_after(*curve)) for method, curve in curves.items()}
    oracle = min(ORACLES, key=lambda method: first[method])
    resampled = {
        method: found_after(steps, values[rng.integers(len(values), size=(n, len(values)))])
        for method, (steps, values) in curves.items()
    }
    low, high = np.percentile(resampled["ppo-sr"] / resampled[oracle], [2.5, 97.5])
    status = "not reproduced" if high < 1 or low > LAG else "reproduced" if 1 < low and high <= LAG else "inconclusive"
    effect = f"{number(first['ppo-sr'] / first[oracle])} times as many as {label(oracle)}"
    return runs.say(status, effect, [oracle, "ppo-sr"], MAZE, printed(low, high))


def oracle_less_consistent(results: Results) -> Verdict:
    """Fewer of its runs solve the maze than of Sibling Rivalry's, with every size of its regions."""
    runs, parts = Runs(results, "oracle"), {}
    own = runs.solved("ppo-sr", MAZE)
    for method in ORACLES:
        solved = runs.solved(method, MAZE)
        effect = f"{solved.sum()} of {len(solved)} runs against {own.sum()} of {len(own)}"
        parts[label(method)] = runs.say(bool(solved.mean() < own.mean()), effect, [method, "ppo-sr"], MAZE)
    return combine(parts)


def _in(experiment: str, env: str, judge: Callable[[Runs, str], Verdict]) -> Callable[[Results], Verdict]:
    """A check of one task of an experiment; env "grid": the pixel grid that was run."""

    def check(results: Results) -> Verdict:
        runs = Runs(results, experiment)
        return judge(runs, runs.grid() if env == "grid" else env)

    return check


def _final(*methods: str) -> str:
    """The paper's final success rates in Fig. 3; RND, which it does not draw, has 0."""
    return " / ".join(f"{CURVES['fig3'][method][-1]:g}" if method != "ppo-rnd" else "0" for method in methods)


NEVER_TEXT = f"never succeeds (at most {NEVER:g} in any evaluation)"
CLAIMS = [
    *claims_track.CLAIMS,
    Claim(
        "fig3-ppo", "fig3", f"Point maze: PPO with the naive reward {NEVER_TEXT}", "0 of 5 runs",
        _in("maze", MAZE, lambda runs, env: runs.never("ppo", env)),
    ),
    Claim(
        "fig3-trap", "fig3", "Most episodes of PPO end in the top corridor of the maze, in every run",
        "consistently", trap,
    ),
    Claim(
        "fig3-sr", "fig3", f"PPO+SR solves the maze in every run (success from {SOLVED:g})", "5 of 5 runs",
        _in("maze", MAZE, lambda runs, env: runs.count("ppo-sr", env, every)),
    ),
    Claim(
        "fig3-sr-final", "fig3", f"PPO+SR ends at the paper's success rate (within {CLOSE:g})", _final("ppo-sr"),
        final_success,
    ),
    Claim(
        "fig3-best", "fig3", "PPO+SR succeeds more often than PPO, PPO+ICM, PPO+RND and DDPG+HER",
        f"{_final('ppo-sr')} against {_final('ppo', 'ppo-icm', 'ppo-rnd', 'ddpg-her')}", best,
    ),
    Claim(
        "fig3-her", "fig3", "DDPG+HER solves it in less than half of the runs", "1 of 5 runs",
        _in("maze", MAZE, lambda runs, env: runs.count("ddpg-her", env, rarely)),
    ),
    Claim(
        "fig3-icm", "fig3", "PPO+ICM solves it in less than half of the runs", "1 of 5 runs",
        _in("maze", MAZE, lambda runs, env: runs.count("ppo-icm", env, rarely)),
    ),
    Claim(
        "fig3-rnd", "fig3", f"PPO+RND {NEVER_TEXT}", "never (text only)",
        _in("maze", MAZE, lambda runs, env: runs.never("ppo-rnd", env)),
    ),
    Claim(
        "fig4-ppo", "fig4", f"Pixel grid: PPO with the naive reward {NEVER_TEXT}", "0",
        _in("grid", "grid", lambda runs, env: runs.never("ppo", env)),
    ),
    Claim(
        "fig4-toggle", "fig4", f"PPO learns not to toggle: it ends as far from the goal as an empty grid is (within "
        f"{EMPTY:.0%}), in every run", "text only", no_toggling,
    ),
    Claim(
        "fig4-icm", "fig4", f"PPO+ICM {NEVER_TEXT}", "0",
        _in("grid", "grid", lambda runs, env: runs.never("ppo-icm", env)),
    ),
    Claim("fig4-fast", "fig4", "PPO+SR and DQN+HER solve the grid in every run", "0.99 and 1", grid_fast),
    Claim(
        "fig4-dqn", "fig4", "DQN with dense rewards solves it in every run, too, but later than both",
        "1 after 180k episodes", grid_slow,
    ),
    Claim(
        "fig4-epsilon", "fig4", "PPO+SR that keeps both siblings (ε = inf) learns faster than with ε = 2", "works best",
        grid_keeps_all,
    ),
    Claim(
        "fig6-corridor", "fig6", "PPO+SR solves corridors of every length in every run", "curves, no numbers", corridors
    ),
    Claim(
        "fig6-corridor-epsilon", "fig6", "PPO+SR solves the longest corridor in every run with each threshold", "each",
        corridor_thresholds,
    ),
    Claim(
        "fig6-u", "fig6", "PPO+SR solves U mazes in every run; the longest in most, with the best of the thresholds",
        "curves; the longest: decent", u_mazes,
    ),
    Claim(
        "fig6-u-epsilon", "fig6", "The longest U maze is solved in most runs with some ε, but with at most half of "
        "those tried", "carefully chosen", narrow,
    ),
    Claim("fig6-others", "fig6", "PPO+ICM and DDPG+HER solve the longest of both in no run", "both fail", others_fail),
    Claim("fig7-middle", "fig7", "ε = 5 solves the point maze in every run", "5 of 5 runs", middle),
    Claim(
        "fig7-low", "fig7", "ε = 0 over-explores: it learns later than ε = 5, and its siblings drift apart",
        "slow, distance increases", over_exploration,
    ),
    Claim(
        "fig7-high", "fig7", "ε = 10 under-explores: less than half of its runs solve the maze, and in every run most "
        "episodes end in the top corridor", "consistently", under_exploration,
    ),
    Claim(
        "fig8-maze", "fig8", "On the point maze, siblings with starts of their own learn faster", "faster", starts_maze
    ),
    Claim(
        "fig8-grid", "fig8", f"On the pixel grid they learn about as fast (success over training within {EQUAL:g})",
        "similar", starts_grid,
    ),
    Claim(
        "fig9-finds", "fig9", f"The Grid Oracle finds the goal with regions of some size (mean success reaches "
        f"{FOUND:g})", "yes", oracle_finds,
    ),
    Claim(
        "fig9-sooner", "fig9", f"PPO+SR finds it later than the oracle with the best size of regions, by a factor of "
        f"{LAG:g} at most", "slightly lags", oracle_sooner,
    ),
    Claim(
        "fig9-consistent", "fig9", "The oracle solves the maze in fewer runs than PPO+SR, with regions of every size",
        "less consistently", oracle_less_consistent,
    ),
]  # fmt: skip
