"""The paper's statements about Figures 6 to 9 (Appendices B to E); see claims_runs.py.

What depends on a choice that was made on the same data, the best of several thresholds or sizes, is a claim of our own.
The paper names no size of the Grid Oracle's regions; that of the authors' code, 2, was the default before all runs.
"""

import math
from collections.abc import Iterable
from functools import partial

import numpy as np

from lab.judge.claims import Claim
from lab.judge.comparisons import Judge, Runs
from lab.judge.intervals import above, difference
from lab.judge.results import MissingData
from lab.judge.verdicts import Verdict, gated
from papers.sibling_rivalry.evidence.claims_runs import (
    FOUND,
    MAZE,
    ROOM,
    SOLVED,
    SOONER,
    at,
    ends,
    fails,
    finds,
    like,
    may_yet,
    more_solved,
    say,
    solved,
    solves,
    stays_below,
    top_corridor,
)
from papers.sibling_rivalry.evidence.experiments import FIG6_EPSILONS, GRID, LENGTHS, SIDES, shapes_epsilon
from papers.sibling_rivalry.evidence.labels import label

LAG = 2.0
"""Largest ratio of the episodes until the goal is found that counts as a slight lag."""
LONGEST = {"corridor": f"Corridor-{LENGTHS[-1]}", "U maze": f"UMaze-{LENGTHS[-1]}"}
INDEPENDENT = "ppo-sr (independent starts)"
ORACLES = tuple(f"ppo-go (side {side:g})" for side in SIDES)
ORACLE = "ppo-go (side 2)"
"""As in the authors' code."""

corridors = partial(ROOM.all, of="corridors", on=LONGEST["corridor"])
u_mazes = partial(ROOM.all, of="u-mazes", on=LONGEST["U maze"])
thresholds = partial(ROOM.all, of="epsilon", on=MAZE)
oracle = partial(ROOM.all, of="oracle", on=MAZE)


def epsilon(value: int) -> str:
    return f"ppo-sr (epsilon {value})"


def each_solved(name: str, lengths: Iterable[int]) -> dict[str, Judge]:
    """Sibling Rivalry solves corridors or U mazes of each length."""
    return {str(length): at(f"{name}-{length}", solves("ppo-sr")) for length in lengths}


def narrow(runs: Runs, env: str) -> Verdict:
    """Most runs solve the longest U maze with some thresholds, but with no more than half of those tried."""
    found = {e: solved(runs, epsilon(e), env) for e in FIG6_EPSILONS}
    good = sum(of_one.mean() > 0.5 for of_one in found.values())
    text = ", ".join(f"ε = {e}: {of_one.sum()} of {len(of_one)} runs" for e, of_one in found.items())
    verdict = say(runs, 0 < good <= len(found) / 2, text, map(epsilon, found), env)
    return verdict if good else may_yet(verdict, env)


def drift(runs: Runs, env: str) -> Verdict:
    """With ε = 0 siblings end farther from each other in the middle half of training than in its first tenth. (Near its
    end the paper sees them come nearer again.)"""
    apart = runs.curve("apart", epsilon(0), env)[1]
    n = apart.shape[1]
    first, middle = apart[:, : max(1, n // 10)].mean(axis=1), apart[:, n // 4 : n - n // 4].mean(axis=1)
    return runs.decide(difference(middle, first, paired=True), above(), [(epsilon(0), env)])


def found_after(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Episodes after which the success of each run, values [runs, t], reaches FOUND: (runs,).

    Where it never does, as if it did at the next evaluation after the last.
    """
    reached = values >= FOUND
    never = steps[-1] + (steps[-1] - steps[-2] if len(steps) > 1 else steps[-1])
    return np.where(reached.any(axis=1), steps[reached.argmax(axis=1)], never)


def slight_lag(runs: Runs, env: str) -> Verdict:
    """Sibling Rivalry needs more episodes to find the goal than the oracle, but no more than LAG times as many.

    The ratio is that of geometric means over runs. A run of Sibling Rivalry that has not found the goal may need any
    number of episodes, and leaves it open that the lag is slight.
    """
    sides = [("ppo-sr", env), (ORACLE, env)]
    never = {m: int((runs.curve("success", m, env)[1].max(axis=1) < FOUND).sum()) for m in (ORACLE, "ppo-sr")}
    waits = [np.log(found_after(*runs.curve("success", *side))) for side in sides]

    def slight(low: float, high: float) -> str:
        if high < 0 or low > math.log(LAG):
            return "not reproduced"
        return "reproduced" if low > 0 and high <= math.log(LAG) and not never["ppo-sr"] else "inconclusive"

    if never[ORACLE] == len(waits[1]):
        raise MissingData(f"no run of {label(ORACLE)} that finds the goal")
    lag = difference(*waits)
    verdict = runs.decide(lag, slight, sides, show=lambda value: f"{math.exp(value):.3g}")
    verdict = gated(verdict, **runs.sides_learn(sides))
    missed = [f"{n} runs of {label(method)} have not found it" for method, n in never.items() if n]
    verdict.note = "; ".join(filter(None, [verdict.note, *missed]))
    return verdict


CLAIMS = [
    Claim(
        "fig6-corridor", "fig6", "PPO+SR (ε: half the length) solves corridors of every length in every run",
        "curves, no numbers", corridors(each_solved("Corridor", LENGTHS)), reads="corridors",
    ),
    Claim(
        "fig6-corridor-epsilon", "fig6", "PPO+SR solves the longest corridor in every run with each other threshold, "
        "too", "each",
        corridors({f"ε = {e}": solves(epsilon(e)) for e in FIG6_EPSILONS if e != shapes_epsilon(LENGTHS[-1])}),
        reads="corridors",
    ),
    Claim(
        "fig6-u", "fig6", "PPO+SR (ε: half the length) solves U mazes of every length but the longest in every run",
        "curves, no numbers", u_mazes(each_solved("UMaze", LENGTHS[:-1])), reads="u-mazes",
    ),
    Claim(
        "fig6-u-epsilon", "fig6", f"The longest U maze is solved in most runs with some of the thresholds "
        f"{', '.join(map(str, FIG6_EPSILONS))}, but with at most half of them", "decent, if carefully chosen",
        u_mazes(narrow), kind="own", reads="u-mazes",
    ),
    Claim(
        "fig6-others", "fig6", "PPO+ICM and DDPG+HER fail in the longest of both (final success below "
        f"{SOLVED:g})", "both fail",
        ROOM.all(
            {
                f"{label(method)}, {name}": at(env, stays_below(method))
                for name, env in LONGEST.items()
                for method in ("ppo-icm", "ddpg-her")
            },
            of="corridors+u-mazes", on=LONGEST["corridor"],
        ),
    ),
    Claim(
        "fig7-middle", "fig7", "ε = 5 solves the point maze in every run", "5 of 5 runs",
        thresholds(solves(epsilon(5))), counted_with="fig3-sr",
    ),
    Claim(
        "fig7-low", "fig7", "ε = 0 over-explores: it learns later than ε = 5, and its siblings drift apart",
        "slow, distance increases",
        thresholds({"slower": (epsilon(5), ">", epsilon(0)), "apart": drift}, by=SOONER, decisive=["apart"]),
    ),
    Claim(
        "fig7-high", "fig7", "ε = 10 under-explores: less than half of its runs solve the maze, and in every run most "
        "episodes end in the top corridor", "consistently",
        thresholds(
            {"fails": fails(epsilon(10)), "top corridor": ends(epsilon(10), top_corridor)}, decisive=["top corridor"]
        ),
    ),
    Claim(
        "fig8-maze", "fig8", "On the point maze, siblings with starts of their own learn faster (success over "
        "training)", "faster", ROOM.all(INDEPENDENT, ">", "ppo-sr", of="starts", on=MAZE, by=SOONER),
    ),
    Claim(
        "fig8-grid", "fig8", "On the pixel grid they learn about as fast (success over training)", "similar",
        ROOM.all(INDEPENDENT, "==", "ppo-sr", of="starts", on=GRID, by=SOONER, margin=like),
    ),
    Claim(
        "fig9-finds", "fig9", "The Grid Oracle finds the goal of the point maze with regions of side 2, as in the "
        f"authors' code (mean success reaches {FOUND:g})", "yes; side not named", oracle(finds(ORACLE)), reads="oracle",
    ),
    Claim(
        "fig9-finds-some", "fig9", "It does with regions of side 1, 2 or 3, the best of them chosen afterwards",
        "yes; side not named", oracle(finds(*ORACLES)), kind="own", reads="oracle",
    ),
    Claim(
        "fig9-sooner", "fig9", f"PPO+SR finds it later than the oracle with regions of side 2, by a factor of {LAG:g} "
        "at most", "slightly lags", oracle(slight_lag), reads="oracle",
    ),
    Claim(
        "fig9-consistent", "fig9", "PPO+SR solves the maze in more of its runs than the oracle, with regions of every "
        "size", "more consistently",
        oracle({label(method): more_solved("ppo-sr", method) for method in ORACLES}), reads="oracle",
    ),
]  # fmt: skip
