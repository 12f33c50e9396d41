"""All claims of the paper that runs can check; here those about Figures 3 and 4 and the ant maze, and our own.

Figures 1 and 2 are in claims_track.py, 5 in claims_build.py, 6 to 9 in claims_appendix.py; claims_runs.py says what
counts as solved, and at which budget a failure counts.

At quick the ant maze is half of it, which is a surrogate, and its runs are shorter: they can refute little. The paper's
final rates are compared at full only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from lab.judge.claims import Claim, planned_from
from lab.judge.comparisons import Runs, Score, last
from lab.judge.intervals import below, mean_of, number, same
from lab.judge.results import EVIDENCE
from lab.judge.verdicts import Verdict, all_of
from papers.sibling_rivalry import train_low_level
from papers.sibling_rivalry.evidence import claims_appendix, claims_build, claims_track
from papers.sibling_rivalry.evidence.claims_runs import (
    FOUND,
    LAST,
    MAZE,
    NEVER,
    ROOM,
    SOLVED,
    SOONER,
    ends,
    fails,
    final,
    finds,
    like,
    more_solved,
    never,
    solves,
    top_corridor,
)
from papers.sibling_rivalry.evidence.experiments import ANT, GRID
from papers.sibling_rivalry.evidence.labels import label
from papers.sibling_rivalry.evidence.paper_values import ANT_CURVES, CURVES

EMPTY = 0.05
"""Largest difference of final distances, as a share, that counts as that of an empty grid."""
NEAR = 0.5
"""Share of its subgoals that a trained low level has within the tolerance in the end, without walls."""

maze = partial(ROOM.all, of="maze", on=MAZE)
grid = partial(ROOM.all, of="grid", on=GRID)
ant = partial(ROOM.all, of="ant", on=ANT)
ant_long = partial(ROOM.all, of="ant-long", on=ANT["quick"])
ant_oracle = partial(ROOM.all, of="ant-oracle", on=ANT)


def no_toggling(runs: Runs, env: str) -> Verdict:
    """PPO's final distance to the goal is the number of the goal's pixels, as of a policy that never toggles one."""
    from papers.sibling_rivalry.agents.tasks import make_task

    pixels = float(make_task(env).goals(20_000, np.random.default_rng(0)).sum(axis=(1, 2, 3)).mean())
    distances = runs.last("distance", "ppo", env, LAST)
    note = f"{distances.mean():.2f} wrong pixels, empty grid {pixels:.2f}"
    found = mean_of(distances / pixels - 1)
    return runs.decide(found, same(EMPTY), [("ppo", env)], note=note, show=lambda value: f"{value:+.1%}")


def before_the_bar(points: pd.DataFrame, env: str) -> pd.Series:
    """On this side of the wall, below the bar's far end."""
    from papers.sibling_rivalry.agents.tasks import make_task

    side = make_task(env).world.layout.side  # type: ignore[attr-defined]
    return (points["y"] < 0.5 * side) & (points["x"] < 1.5 * side)


def trap(runs: Runs, env: str) -> Verdict:
    """PPO ends before the wall, and nearer to the goal than it began."""
    from papers.sibling_rivalry.agents.tasks import make_task

    task, rng = make_task(env), np.random.default_rng(0)
    began = float(task.distance(task.achieved(task.starts(20_000, rng)), task.goals(20_000, rng)).mean())
    there = ends("ppo", before_the_bar)(runs, env)
    nearer = runs.decide(mean_of(runs.last("distance", "ppo", env, LAST) - began), below(), [("ppo", env)])
    return all_of(parts := {"nearer": nearer, "before the bar": there}, decisive=parts)


def gain(runs: Runs, method: str, env: str) -> np.ndarray:
    """Success at the end, less that before training, (runs,)."""
    return runs.last("success", method, env) - runs.first("success", method, env)


def paper_rates(curves: Mapping[str, Sequence[float]], *methods: str) -> str:
    """The paper's final success rates; RND, which it does not draw, has 0."""
    return " / ".join(f"{curves.get(method, (0,))[-1]:g}" for method in methods)


FAST = ("ppo-sr", "dqn-her")
LATER = {f"after {label(method)}": (method, ">", "dqn") for method in FAST}
"""That dense rewards are later is what tells them from the other two."""
FINAL = Score(final, show=number)
NEVER_TEXT = f"never succeeds (at most {NEVER:g} in any evaluation)"
OTHERS = ("ppo", "ppo-icm", "ppo-rnd", "ddpg-her")
ANT_OTHERS = ("ppo", "ppo-icm", "ddpg-her")
FIG3 = CURVES["fig3"]
SURROGATES: dict[str, tuple[str, ...]] = {
    "fig4": ("7 x 7 pixels instead of 13 x 13", "quick"),
    "fig8-grid": ("7 x 7 pixels instead of 13 x 13", "quick"),
    "fig3-ant": ("half of the ant maze", "quick"),
    "fig9-ant": ("half of the ant maze", "quick"),
    "fig5": ("a world of our own, not Minecraft", *EVIDENCE),
}
"""How the names of claims begin that are judged in another world than the paper's: in which, and at which scales."""


def marked(claims: Iterable[Claim]) -> list[Claim]:
    """The claims, those about these worlds as surrogates."""
    found = {claim: [world for start, world in SURROGATES.items() if claim.id.startswith(start)] for claim in claims}
    return [replace(c, surrogate=w[0][0], surrogate_at=w[0][1:]) if w else c for c, w in found.items()]


HEADLINE = ("fig3-best", "fig4-fast", "fig3-ant-best", "fig5-better")
"""The introduction's "four settings": continuous navigation, bit flipping, hierarchical control for 3D navigation, 3D
construction. The abstract: Sibling Rivalry "solves a variety of hard-exploration tasks" where distance-based shaping
"otherwise fails, and intrinsic curiosity and reward relabeling strategies exhibit poor performance"."""
SUMMARY = {
    "On the point maze, at the paper's length ({fig3-sr.steps:,} episodes), PPO+SR succeeds ({fig3-sr.effect}); "
    "PPO and PPO+RND never do (PPO+ICM: {fig3-icm.effect}; DDPG+HER: {fig3-her.effect}).":
        {"reproduced": ["fig3-best", "fig3-sr", "fig3-ppo", "fig3-rnd", "fig3-icm", "fig3-her"]},
    "The other three settings ran as surrogates at `quick`: a 7 x 7 grid is solved, construction is better by one "
    "of two measures, half the ant maze is undecided after {fig3-ant-best.steps:,} episodes.":
        {"reproduced": ["fig4-fast"], "partly": ["fig5-better"], "inconclusive": ["fig3-ant-best"]},
    "Against the paper, the Grid Oracle never finds the goal of the point maze ({fig9-finds.steps:,} episodes, "
    "{fig9-finds.seeds} seeds).":
        {"not reproduced": ["fig9-finds"]},
}  # fmt: skip
"""The claims in three sentences, each with the verdicts that it rests on."""
CLAIMS = planned_from(marked([
    *claims_track.CLAIMS,
    Claim(
        "fig3-ppo", "fig3", f"Point maze: PPO with the naive reward {NEVER_TEXT}", "0 of 5 runs",
        maze(never("ppo")), reads="maze",
    ),
    Claim(
        "fig3-trap", "fig3", "Most episodes of PPO end in the top corridor of the maze, in every run, after its first "
        "15 evaluations", "consistently", maze(ends("ppo", top_corridor)), reads="maze",
    ),
    Claim(
        "fig3-sr", "fig3", f"PPO+SR solves the maze in every run (success from {SOLVED:g})", "5 of 5 runs",
        maze(solves("ppo-sr")), reads="maze",
    ),
    Claim(
        "fig3-sr-final", "fig3", "PPO+SR ends at the paper's success rate", paper_rates(FIG3, "ppo-sr"),
        maze("ppo-sr", "==", FIG3["ppo-sr"][-1], by=FINAL, margin=like), scale="full", reads="maze",
    ),
    Claim(
        "fig3-best", "fig3", "PPO+SR succeeds more often in the maze than PPO, PPO+ICM, PPO+RND and DDPG+HER",
        f"{paper_rates(FIG3, 'ppo-sr')} against {paper_rates(FIG3, *OTHERS)}",
        maze({label(method): ("ppo-sr", ">", method) for method in OTHERS}), reads="maze",
    ),
    Claim(
        "fig3-her", "fig3", "DDPG+HER solves the maze in less than half of the runs", "1 of 5 runs",
        maze(fails("ddpg-her")), reads="maze",
    ),
    Claim(
        "fig3-icm", "fig3", "PPO+ICM solves the maze in less than half of the runs", "1 of 5 runs",
        maze(fails("ppo-icm")), reads="maze",
    ),
    Claim(
        "fig3-rnd", "fig3", f"Point maze: PPO+RND {NEVER_TEXT}", "never (text only)",
        maze(never("ppo-rnd")), reads="maze",
    ),
    Claim("fig4-ppo", "fig4", f"Pixel grid: PPO with the naive reward {NEVER_TEXT}", "0", grid(never("ppo"))),
    Claim(
        "fig4-toggle", "fig4", "Pixel grid: PPO learns not to toggle: it ends as far from the goal as an empty grid is "
        f"(within {EMPTY:.0%})", "text only", grid(no_toggling),
    ),
    Claim("fig4-icm", "fig4", f"Pixel grid: PPO+ICM {NEVER_TEXT}", "0", grid(never("ppo-icm"))),
    Claim(
        "fig4-fast", "fig4", "PPO+SR and DQN+HER solve the pixel grid in every run", "0.99 and 1",
        grid({label(method): solves(method) for method in FAST}),
    ),
    Claim(
        "fig4-dqn", "fig4", "DQN with dense rewards solves it in every run, too, but later than both",
        "1 after 180k episodes", grid({"solved": solves("dqn"), **LATER}, by=SOONER, decisive=[*LATER]),
    ),
    Claim(
        "fig4-epsilon", "fig4", "Pixel grid: PPO+SR that keeps both siblings (ε = inf) learns faster than with ε = 2",
        "works best", grid("ppo-sr", ">", "ppo-sr (epsilon 2)", by=SOONER),
    ),
    *claims_build.CLAIMS,
    *claims_appendix.CLAIMS,
    Claim(
        "fig3-ant-ppo", "fig3", f"Ant maze: PPO with the naive reward {NEVER_TEXT}", "0 of 5 runs",
        ant(never("ppo")), reads="ant",
    ),
    Claim(
        "fig3-ant-trap", "fig3", "Ant maze: PPO ends nearer to the goal than it began, and most of its episodes end "
        "before the wall, in every run, after its first 15 evaluations", "consistently", ant(trap), reads="ant",
    ),
    Claim(
        "fig3-ant-sr", "fig3", f"PPO+SR solves the ant maze in every run (success from {SOLVED:g})", "5 of 5 runs",
        ant(solves("ppo-sr")), reads="ant",
    ),
    Claim(
        "fig3-ant-sr-final", "fig3", "PPO+SR ends at the paper's success rate in the ant maze",
        paper_rates(ANT_CURVES, "ppo-sr"),
        ant("ppo-sr", "==", ANT_CURVES["ppo-sr"][-1], by=FINAL, margin=like), scale="full", reads="ant",
    ),
    Claim(
        "fig3-ant-best", "fig3", "PPO+SR succeeds more often in the ant maze than PPO, PPO+ICM and DDPG+HER",
        f"{paper_rates(ANT_CURVES, 'ppo-sr')} against {paper_rates(ANT_CURVES, *ANT_OTHERS)}",
        ant({label(method): ("ppo-sr", ">", method) for method in ANT_OTHERS}), reads="ant",
    ),
    Claim(
        "fig3-ant-icm", "fig3", "PPO+ICM solves the ant maze in less than half of the runs", "2 of 5 runs",
        ant(fails("ppo-icm")), reads="ant",
    ),
    Claim(
        "fig3-ant-her", "fig3", "DDPG+HER solves the ant maze in less than half of the runs",
        "3 of 5 runs find the goal, mean 0.23", ant(fails("ddpg-her")), reads="ant",
    ),
    Claim(
        "fig9-ant-finds", "fig9", f"The Grid Oracle finds the goal of the ant maze (mean success reaches {FOUND:g})",
        "yes; side not named", ant_oracle(finds("ppo-go")), reads="ant-oracle",
    ),
    Claim(
        "fig9-ant-consistent", "fig9", "PPO+SR solves the ant maze in more of its runs than the oracle",
        "more consistently", ant_oracle(more_solved("ppo-sr", "ppo-go")), reads="ant-oracle",
    ),
    Claim(
        "own-ant-long-sr", "own-ant-long", "Half the ant maze, 80,000 episodes: PPO+SR solves it in every run (success "
        f"from {SOLVED:g})", "-", ant_long(solves("ppo-sr")), kind="own",
    ),
    Claim(
        "own-ant-long-best", "own-ant-long", "Half the ant maze, 80,000 episodes: PPO+SR succeeds more often than PPO",
        "-", ant_long("ppo-sr", ">", "ppo"), kind="own",
    ),
    Claim(
        "own-dense-grid", "own-dense-grid", "Pixel grid, 100,000 episodes: DQN with dense rewards solves it in every "
        "run", "-", ROOM.all(solves("dqn"), of="dense-grid", on={**GRID, "full": GRID["quick"]}), kind="own",
    ),
    Claim(
        "own-low-level", "own-low-level", "Without walls the low level of the ant, trained alone, is within 1 of at "
        f"least {NEAR:.0%} of its random subgoals when their time is over, more than before training", "-",
        ROOM.all(
            {"learns": ("low-level", ">", 0.0, Score(gain)), "arrives": ("low-level", ">", NEAR)},
            of="low-level", on=train_low_level.Config().env, by=Score(last("success")),
        ), kind="own",
    ),
    Claim(
        "own-weighting", "own-weighting", "Point maze: losses that are means over workers, as in the authors' code, "
        "raise PPO+SR's final success above that with the mean over all transitions", "-",
        ROOM.all("ppo-sr", ">", "ppo-sr (one pool)", of="weighting", on=MAZE, by=Score(final, gated=True)), kind="own",
        scale="full",
    ),
]), headline=HEADLINE)  # fmt: skip
