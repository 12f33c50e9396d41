"""The paper's statements about Figures 6 to 9 (Appendices B to E), as checks of tidy results; see claims_runs.py.

What depends on a choice that was made on the same data, the best of several thresholds or sizes, is a claim of our own.
The paper names no size of the Grid Oracle's regions; that of the authors' code, 2, was the default before all runs.
"""

import math

import numpy as np

from lab.claims import Claim
from lab.results import Results
from lab.verdicts import Verdict, above, all_of, decide, difference, judged
from papers.sibling_rivalry.evidence.claims_runs import (
    MAZE,
    Runs,
    every,
    in_top_corridor,
    may_yet,
    most,
    none,
    rarely,
)
from papers.sibling_rivalry.evidence.experiments import FIG6_EPSILONS, LENGTHS, SIDES, shapes_epsilon
from papers.sibling_rivalry.evidence.labels import label

FOUND = 0.1
"""A method has found the goal when its success rate reaches this."""
LAG = 2.0
"""Largest ratio of the episodes until then that counts as a slight lag."""
LONGEST = {"corridor": f"Corridor-{LENGTHS[-1]}", "U maze": f"UMaze-{LENGTHS[-1]}"}


def _epsilon(value: int) -> str:
    return f"ppo-sr (epsilon {value})"


# ---- Figure 6 --------------------------------------------------------------------------------------------------------


def corridors(results: Results) -> Verdict:
    """Sibling Rivalry solves corridors of every length in every run."""
    runs = Runs(results, "corridors")
    return all_of(judged(map(str, LENGTHS), lambda length: runs.solves("ppo-sr", f"Corridor-{length}", every)))


def corridor_thresholds(results: Results) -> Verdict:
    """The longest corridor is solved with each further threshold."""
    runs = Runs(results, "corridors")
    others = {f"ε = {e}": _epsilon(e) for e in FIG6_EPSILONS if e != shapes_epsilon(LENGTHS[-1])}
    return all_of(judged(others, lambda name: runs.solves(others[name], LONGEST["corridor"], every)))


def u_mazes(results: Results) -> Verdict:
    """Sibling Rivalry solves U mazes of every length but the longest in every run."""
    runs = Runs(results, "u-mazes")
    return all_of(judged(map(str, LENGTHS[:-1]), lambda length: runs.solves("ppo-sr", f"UMaze-{length}", every)))


def narrow(results: Results) -> Verdict:
    """Most runs solve the longest U maze with some thresholds, but with no more than half of those tried."""
    runs, env = Runs(results, "u-mazes"), LONGEST["U maze"]
    solved = {e: runs.solved(_epsilon(e), env) for e in FIG6_EPSILONS}
    good = sum(most(of_one.sum(), len(of_one)) for of_one in solved.values())
    text = ", ".join(f"ε = {e}: {of_one.sum()} of {len(of_one)} runs" for e, of_one in solved.items())
    verdict = runs.say(0 < good <= len(solved) / 2, text, map(_epsilon, solved), env)
    return verdict if good else may_yet(verdict)


def others_fail(results: Results) -> Verdict:
    """Curiosity and hindsight fail on the longest of both."""
    runs = Runs(results, "corridors+u-mazes")
    parts = {f"{label(m)}, {name}": (m, env) for name, env in LONGEST.items() for m in ("ppo-icm", "ddpg-her")}
    return all_of(judged(parts, lambda name: runs.fails(*parts[name], none)))


# ---- Figure 7 --------------------------------------------------------------------------------------------------------


def middle(results: Results) -> Verdict:
    """ε = 5 solves the maze in every run."""
    return Runs(results, "epsilon").solves(_epsilon(5), MAZE, every)


def over_exploration(results: Results) -> Verdict:
    """ε = 0: less success over training than with 5, and siblings that drift apart: they end farther from each other in
    the middle half of training than in its first tenth. (Near its end the paper sees them come nearer again.) That they
    drift apart is what tells over-exploration from under-exploration."""
    runs = Runs(results, "epsilon")

    def drift() -> Verdict:
        apart = runs.curve("apart", _epsilon(0), MAZE)[1]
        n = apart.shape[1]
        first, mid = apart[:, : max(1, n // 10)].mean(axis=1), apart[:, n // 4 : n - n // 4].mean(axis=1)
        steps = runs.steps(MAZE, _epsilon(0))
        return decide(difference(mid, first, paired=True), above(), steps=steps, scale=runs.scale)

    checks = {"slower": lambda: runs.sooner(_epsilon(5), _epsilon(0), MAZE), "apart": drift}
    return all_of(judged(checks, lambda name: checks[name]()), decisive=["apart"])


def under_exploration(results: Results) -> Verdict:
    """ε = 10 does not solve the maze, and ends where PPO does, which tells under-exploration from over-exploration."""
    runs = Runs(results, "epsilon")
    checks = {
        "fails": lambda: runs.fails(_epsilon(10), MAZE, rarely),
        "top corridor": lambda: in_top_corridor(runs, _epsilon(10)),
    }
    return all_of(judged(checks, lambda name: checks[name]()), decisive=["top corridor"])


# ---- Figures 8 and 9 -------------------------------------------------------------------------------------------------

INDEPENDENT = "ppo-sr (independent starts)"
ORACLES = tuple(f"ppo-go (side {side:g})" for side in SIDES)
ORACLE = "ppo-go (side 2)"
"""As in the authors' code."""


def starts_maze(results: Results) -> Verdict:
    """Independent starts are faster on the point maze."""
    return Runs(results, "starts").sooner(INDEPENDENT, "ppo-sr", MAZE)


def starts_grid(results: Results) -> Verdict:
    """About equal on the pixel grid."""
    runs = Runs(results, "starts")
    return runs.as_soon(INDEPENDENT, "ppo-sr", runs.grid)


def oracle_finds(results: Results) -> Verdict:
    """The Grid Oracle finds the goal: mean success reaches FOUND."""
    return _found(Runs(results, "oracle"), ORACLE)


def some_oracle_finds(results: Results) -> Verdict:
    """The Grid Oracle finds the goal with some size of its regions."""
    return _found(Runs(results, "oracle"), *ORACLES)


def _found(runs: Runs, *methods: str) -> Verdict:
    reached = {method: float(runs.curve("success", method, MAZE)[1].mean(axis=0).max()) for method in methods}
    text = ", ".join(f"{label(method)}: at most {value:.2f}" for method, value in reached.items())
    return may_yet(runs.say(max(reached.values()) >= FOUND, text, methods, MAZE))


def found_after(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Episodes after which the success of each run, values [runs, t], reaches FOUND: (runs,).

    Where it never does, as if it did at the next evaluation after the last.
    """
    reached = values >= FOUND
    never = steps[-1] + (steps[-1] - steps[-2] if len(steps) > 1 else steps[-1])
    return np.where(reached.any(axis=1), steps[reached.argmax(axis=1)], never)


def oracle_sooner(results: Results) -> Verdict:
    """Sibling Rivalry needs more episodes to find the goal than the oracle, but no more than LAG times as many.

    The ratio is that of geometric means over runs. A run of Sibling Rivalry that has not found the goal may need any
    number of episodes, and leaves it open that the lag is slight.
    """
    runs = Runs(results, "oracle")

    def slight(low: float, high: float) -> str:
        if high < 0 or low > math.log(LAG):
            return "not reproduced"
        return "reproduced" if low > 0 and high <= math.log(LAG) and not never["ppo-sr"] else "inconclusive"

    def wait(method: str, env: str) -> np.ndarray:
        return np.log(found_after(*runs.curve("success", method, env)))

    never = {m: int((runs.curve("success", m, MAZE)[1].max(axis=1) < FOUND).sum()) for m in (ORACLE, "ppo-sr")}
    verdict = runs.compare("ppo-sr", ORACLE, MAZE, wait, slight, show=lambda value: f"{math.exp(value):.3g}")
    missed = [f"{n} runs of {label(method)} have not found it" for method, n in never.items() if n]
    verdict.note = "; ".join(filter(None, [verdict.note, *missed]))
    return verdict


def oracle_less_consistent(results: Results) -> Verdict:
    """A larger share of Sibling Rivalry's runs solves the maze than of the oracle's, with every size of its regions."""
    runs = Runs(results, "oracle")
    sides = {label(method): method for method in ORACLES}
    return all_of(judged(sides, lambda name: runs.more_solved("ppo-sr", sides[name], MAZE)))


CLAIMS = [
    Claim(
        "fig6-corridor", "fig6", "PPO+SR (ε: half the length) solves corridors of every length in every run",
        "curves, no numbers", corridors, reads="corridors",
    ),
    Claim(
        "fig6-corridor-epsilon", "fig6", "PPO+SR solves the longest corridor in every run with each other threshold, "
        "too", "each", corridor_thresholds, reads="corridors",
    ),
    Claim(
        "fig6-u", "fig6", "PPO+SR (ε: half the length) solves U mazes of every length but the longest in every run",
        "curves, no numbers", u_mazes, reads="u-mazes",
    ),
    Claim(
        "fig6-u-epsilon", "fig6", f"The longest U maze is solved in most runs with some of the thresholds "
        f"{', '.join(map(str, FIG6_EPSILONS))}, but with at most half of them", "decent, if carefully chosen",
        narrow, kind="own", reads="u-mazes",
    ),
    Claim("fig6-others", "fig6", "PPO+ICM and DDPG+HER solve the longest of both in no run", "both fail", others_fail),
    Claim(
        "fig7-middle", "fig7", "ε = 5 solves the point maze in every run", "5 of 5 runs", middle,
        counted_with="fig3-sr",
    ),
    Claim(
        "fig7-low", "fig7", "ε = 0 over-explores: it learns later than ε = 5, and its siblings drift apart",
        "slow, distance increases", over_exploration,
    ),
    Claim(
        "fig7-high", "fig7", "ε = 10 under-explores: less than half of its runs solve the maze, and in every run most "
        "episodes end in the top corridor", "consistently", under_exploration,
    ),
    Claim(
        "fig8-maze", "fig8", "On the point maze, siblings with starts of their own learn faster (success over "
        "training)", "faster", starts_maze,
    ),
    Claim(
        "fig8-grid", "fig8", "On the pixel grid they learn about as fast (success over training)", "similar",
        starts_grid,
    ),
    Claim(
        "fig9-finds", "fig9", "The Grid Oracle finds the goal of the point maze with regions of side 2, as in the "
        f"authors' code (mean success reaches {FOUND:g})", "yes; side not named", oracle_finds, reads="oracle",
    ),
    Claim(
        "fig9-finds-some", "fig9", "It does with regions of side 1, 2 or 3, the best of them chosen afterwards",
        "yes; side not named", some_oracle_finds, kind="own", reads="oracle",
    ),
    Claim(
        "fig9-sooner", "fig9", f"PPO+SR finds it later than the oracle with regions of side 2, by a factor of {LAG:g} "
        "at most", "slightly lags", oracle_sooner, reads="oracle",
    ),
    Claim(
        "fig9-consistent", "fig9", "PPO+SR solves the maze in more of its runs than the oracle, with regions of every "
        "size", "more consistently", oracle_less_consistent, reads="oracle",
    ),
]  # fmt: skip
