"""The paper's statements about Figures 3 and 4, as checks of tidy results, and the list of all its claims.

Figures 1 and 2 are in claims_track.py, 5 in claims_build.py, 6 to 9 in claims_appendix.py, the ant maze in
claims_ant.py; claims_runs.py says what counts as solved, at which budget a failure counts, and which runs are paired.
"""

from functools import partial

import numpy as np

from lab.claims import Claim, full_only
from lab.results import MissingData, Results
from lab.verdicts import Verdict, all_of, decide, judged, margin_of, mean_of, number, same
from papers.sibling_rivalry.evidence import claims_ant, claims_appendix, claims_build, claims_track
from papers.sibling_rivalry.evidence.claims_runs import (
    LAST,
    MAZE,
    NEVER,
    SOLVED,
    UNTRAINED,
    Runs,
    every,
    in_top_corridor,
    rarely,
)
from papers.sibling_rivalry.evidence.labels import label
from papers.sibling_rivalry.evidence.paper_values import CURVES, EPISODES

EMPTY = 0.05
"""Largest difference of final distances, as a share, that counts as that of an empty grid."""


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def never(results: Results, experiment: str, method: str) -> Verdict:
    """A method never succeeds, in the maze or, in the experiment `grid`, on the pixel grid."""
    runs = Runs(results, experiment)
    return runs.never(method, runs.grid if experiment == "grid" else MAZE)


def trap(results: Results) -> Verdict:
    """PPO ends in the top corridor."""
    return in_top_corridor(Runs(results, "maze"), "ppo")


def solved(results: Results) -> Verdict:
    """Sibling Rivalry solves the maze in every run."""
    return Runs(results, "maze").solves("ppo-sr", MAZE, every)


def seldom(results: Results, method: str) -> Verdict:
    """A method solves the maze in less than half of its runs."""
    return Runs(results, "maze").fails(method, MAZE, rarely)


def best(results: Results) -> Verdict:
    """Sibling Rivalry ends above every other method."""
    runs = Runs(results, "maze")
    others = {label(method): method for method in ("ppo", "ppo-icm", "ppo-rnd", "ddpg-her")}
    return all_of(judged(others, lambda name: runs.more("ppo-sr", others[name], MAZE)))


def final_success(results: Results) -> Verdict:
    """Sibling Rivalry's final success rate is the paper's. Runs must be as long as the paper's."""
    runs = Runs(results, "maze")
    score, paper, steps = runs.score("ppo-sr", MAZE), CURVES["fig3"]["ppo-sr"][-1], runs.steps(MAZE, "ppo-sr")
    if steps < EPISODES[-1]:
        raise MissingData(f"no runs of {EPISODES[-1]:,} episodes")
    rule = same(margin_of(float(score.mean()) - UNTRAINED, paper - UNTRAINED))
    return decide(mean_of(score - paper), rule, steps=steps, scale=runs.scale, show=lambda value: number(value + paper))


# ---- Figure 4 --------------------------------------------------------------------------------------------------------


def no_toggling(results: Results) -> Verdict:
    """PPO's final distance to the goal is the number of the goal's pixels, as of a policy that never toggles one."""
    from papers.sibling_rivalry.tasks import make_task

    runs = Runs(results, "grid")
    pixels = float(make_task(runs.grid).goals(20_000, np.random.default_rng(0)).sum(axis=(1, 2, 3)).mean())
    distances = runs.last("distance", "ppo", runs.grid, LAST)
    return decide(
        mean_of(distances / pixels - 1), same(EMPTY), steps=runs.steps(runs.grid, "ppo"), scale=runs.scale,
        note=f"{distances.mean():.2f} wrong pixels, empty grid {pixels:.2f}", show=lambda value: f"{value:+.1%}",
    )  # fmt: skip


def grid_fast(results: Results) -> Verdict:
    """Sibling Rivalry and hindsight solve the grid in every run."""
    runs = Runs(results, "grid")
    methods = {label(method): method for method in ("ppo-sr", "dqn-her")}
    return all_of(judged(methods, lambda name: runs.solves(methods[name], runs.grid, every)))


def grid_slow(results: Results) -> Verdict:
    """DQN with dense rewards solves it, too, but later than either. That it is later is what tells it from them."""
    runs = Runs(results, "grid")
    later = {f"after {label(method)}": method for method in ("ppo-sr", "dqn-her")}

    def part(name: str) -> Verdict:
        if name == "solved":
            return runs.solves("dqn", runs.grid, every)
        return runs.sooner(later[name], "dqn", runs.grid)

    return all_of(judged(["solved", *later], part), decisive=later)


def grid_keeps_all(results: Results) -> Verdict:
    """Keeping both siblings is better than keeping the closer one only where they end near each other."""
    runs = Runs(results, "grid")
    return runs.sooner("ppo-sr", "ppo-sr (epsilon 2)", runs.grid)


# ---- our own ---------------------------------------------------------------------------------------------------------


def workers_help(results: Results) -> Verdict:
    """Losses that are means over workers raise Sibling Rivalry's final success above those of one pool. After half of
    the episodes success still rises: what is final is judged at the paper's length alone."""
    runs = Runs(results, "weighting")
    if runs.steps(MAZE, "ppo-sr", "ppo-sr (one pool)") < EPISODES[-1]:
        raise MissingData(f"no runs of {EPISODES[-1]:,} episodes")
    return runs.more("ppo-sr", "ppo-sr (one pool)", MAZE)


def _final(*methods: str) -> str:
    """The paper's final success rates in Fig. 3; RND, which it does not draw, has 0."""
    return " / ".join(f"{CURVES['fig3'][method][-1]:g}" if method != "ppo-rnd" else "0" for method in methods)


NEVER_TEXT = f"never succeeds (at most {NEVER:g} in any evaluation)"
FULL_ONLY = ("fig3-sr-final", "fig3-ant-sr-final", "own-weighting")
"""About the end of runs as long as the paper's, and in its mazes."""
CLAIMS = full_only([
    *claims_track.CLAIMS,
    Claim(
        "fig3-ppo", "fig3", f"Point maze: PPO with the naive reward {NEVER_TEXT}", "0 of 5 runs",
        partial(never, experiment="maze", method="ppo"), reads="maze",
    ),
    Claim(
        "fig3-trap", "fig3", "Most episodes of PPO end in the top corridor of the maze, in every run, after its first "
        "15 evaluations", "consistently", trap, reads="maze",
    ),
    Claim(
        "fig3-sr", "fig3", f"PPO+SR solves the maze in every run (success from {SOLVED:g})", "5 of 5 runs", solved,
        reads="maze",
    ),
    Claim(
        "fig3-sr-final", "fig3", "PPO+SR ends at the paper's success rate", _final("ppo-sr"), final_success,
        reads="maze",
    ),
    Claim(
        "fig3-best", "fig3", "PPO+SR succeeds more often in the maze than PPO, PPO+ICM, PPO+RND and DDPG+HER",
        f"{_final('ppo-sr')} against {_final('ppo', 'ppo-icm', 'ppo-rnd', 'ddpg-her')}", best, reads="maze",
    ),
    Claim(
        "fig3-her", "fig3", "DDPG+HER solves the maze in less than half of the runs", "1 of 5 runs",
        partial(seldom, method="ddpg-her"), reads="maze",
    ),
    Claim(
        "fig3-icm", "fig3", "PPO+ICM solves the maze in less than half of the runs", "1 of 5 runs",
        partial(seldom, method="ppo-icm"), reads="maze",
    ),
    Claim(
        "fig3-rnd", "fig3", f"Point maze: PPO+RND {NEVER_TEXT}", "never (text only)",
        partial(never, experiment="maze", method="ppo-rnd"), reads="maze",
    ),
    Claim(
        "fig4-ppo", "fig4", f"Pixel grid: PPO with the naive reward {NEVER_TEXT}", "0",
        partial(never, experiment="grid", method="ppo"),
    ),
    Claim(
        "fig4-toggle", "fig4", "Pixel grid: PPO learns not to toggle: it ends as far from the goal as an empty grid is "
        f"(within {EMPTY:.0%})", "text only", no_toggling,
    ),
    Claim(
        "fig4-icm", "fig4", f"Pixel grid: PPO+ICM {NEVER_TEXT}", "0",
        partial(never, experiment="grid", method="ppo-icm"),
    ),
    Claim("fig4-fast", "fig4", "PPO+SR and DQN+HER solve the pixel grid in every run", "0.99 and 1", grid_fast),
    Claim(
        "fig4-dqn", "fig4", "DQN with dense rewards solves it in every run, too, but later than both",
        "1 after 180k episodes", grid_slow,
    ),
    Claim(
        "fig4-epsilon", "fig4", "Pixel grid: PPO+SR that keeps both siblings (ε = inf) learns faster than with ε = 2",
        "works best", grid_keeps_all,
    ),
    *claims_build.CLAIMS,
    *claims_appendix.CLAIMS,
    *claims_ant.CLAIMS,
    Claim(
        "own-weighting", "own-weighting", "Point maze: losses that are means over workers, as in the authors' code, "
        "raise PPO+SR's final success above that with the mean over all transitions", "-", workers_help, kind="own",
    ),
], FULL_ONLY)  # fmt: skip
