"""The paper's statements about Figures 3 and 4, as checks of tidy results, and the list of all its claims.

Figures 1 and 2 are in claims_track.py, 6 to 9 in claims_appendix.py; claims_runs.py says what counts as solved.
"""

from collections.abc import Callable

import numpy as np

from lab.claims import Claim, Verdict, combine, number
from lab.results import MissingData, Results, final
from lab.stats import bootstrap_interval
from papers.sibling_rivalry.evidence import claims_appendix, claims_track
from papers.sibling_rivalry.evidence.claims_runs import (
    LAST,
    MAZE,
    NEVER,
    SOLVED,
    Runs,
    every,
    in_top_corridor,
    printed,
    rarely,
    within,
)
from papers.sibling_rivalry.evidence.labels import label
from papers.sibling_rivalry.evidence.paper_values import CURVES, EPISODES

CLOSE = 0.05
"""Largest difference of final success rates that counts as the paper's value."""
EMPTY = 0.05
"""Largest difference of final distances, as a share, that counts as that of an empty grid."""


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


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
    *claims_appendix.CLAIMS,
]  # fmt: skip
