"""The paper's statements about Figures 6 to 9 (Appendices B to E), as checks of tidy results; see claims_runs.py."""

import numpy as np

from lab.claims import Claim, Verdict, combine, judge_difference, number
from lab.results import Results
from lab.stats import difference_interval
from papers.sibling_rivalry.evidence.claims_runs import MAZE, Runs, every, in_top_corridor, printed, rarely, within
from papers.sibling_rivalry.evidence.labels import label

EQUAL = 0.1
"""Largest difference of success rates, averaged over training, that counts as about equal."""
FOUND = 0.1
"""A method has found the goal when its mean success rate reaches this."""
LAG = 2.0
"""Largest ratio of the episodes until then that counts as a slight lag."""

LONGEST = {"corridor": "Corridor-10", "U": "UMaze-10"}
LENGTHS = (2, 4, 6, 8, 10)
FIG6_EPSILONS = (1, 2, 3, 5)


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


CLAIMS = [
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
