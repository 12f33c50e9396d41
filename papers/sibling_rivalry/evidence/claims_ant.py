"""The paper's statements about the ant maze (lower row of Figure 3, right half of Figure 9), as checks of tidy results.

At quick they are judged in half of the maze, which is a surrogate, after fewer episodes; see claims_runs.py for what
such runs can refute. The paper's final rates are compared at full only.
"""

from functools import partial

import numpy as np

from lab.claims import Claim
from lab.results import MissingData, Results
from lab.verdicts import Verdict, above, all_of, below, decide, difference, judged, margin_of, mean_of, number, same
from papers.sibling_rivalry.evidence.claims_runs import LAST, NEVER, SOLVED, UNTRAINED, Runs, every, may_yet, rarely
from papers.sibling_rivalry.evidence.ends import end_points
from papers.sibling_rivalry.evidence.experiments import ANT
from papers.sibling_rivalry.evidence.labels import label
from papers.sibling_rivalry.evidence.paper_values import ANT_CURVES, ANT_EPISODES

FOUND = 0.1
"""A method has found the goal when its success rate reaches this."""
NEAR = 0.5
"""Share of its subgoals that a trained low level has within the tolerance in the end, without walls."""


class Ant(Runs):
    """Runs in the ant maze of their scale."""

    def __init__(self, results: Results, experiment: str = "ant"):
        super().__init__(results, experiment)
        self.env = ANT[self.scale]


def never(results: Results) -> Verdict:
    """PPO never succeeds."""
    runs = Ant(results)
    return runs.never("ppo", runs.env)


def trap(results: Results) -> Verdict:
    """PPO ends before the wall: nearer to the goal than it began, and in every run most episodes end on this side of
    it, below the bar's far end. Ends are known of the first 15 evaluations."""
    from papers.sibling_rivalry.tasks import make_task

    runs = Ant(results)
    task = make_task(runs.env)
    rng = np.random.default_rng(0)
    began = float(task.distance(task.achieved(task.starts(20_000, rng)), task.goals(20_000, rng)).mean())
    points = end_points(runs.rows("ppo", runs.env)).reset_index()
    if points.empty:
        raise MissingData(f"no ends of ppo on {runs.env}")

    def nearer() -> Verdict:
        distances = runs.last("distance", "ppo", runs.env, LAST)
        return decide(mean_of(distances - began), below(), steps=runs.steps(runs.env, "ppo"), scale=runs.scale)

    def before_the_bar() -> Verdict:
        side = task.world.layout.side  # type: ignore[attr-defined]
        last = points[points["step"] == points.groupby("seed")["step"].transform("max")]
        inside = (last["y"] < 0.5 * side) & (last["x"] < 1.5 * side)
        shares = inside.groupby(last["seed"]).mean()
        effect = f"{shares.mean():.0%} of episodes, most in {(shares > 0.5).sum()} of {len(shares)} runs"
        return runs.say(bool((shares > 0.5).all()), effect, ["ppo"], runs.env, steps=int(last["step"].max()))

    checks = {"nearer": nearer, "before the bar": before_the_bar}
    return all_of(judged(checks, lambda name: checks[name]()), decisive=checks)


def solved(results: Results) -> Verdict:
    """Sibling Rivalry solves the maze in every run."""
    runs = Ant(results)
    return runs.solves("ppo-sr", runs.env, every)


def final_success(results: Results) -> Verdict:
    """Sibling Rivalry's final success rate is the paper's, in the paper's maze after as many episodes."""
    runs = Ant(results)
    score, paper, steps = runs.score("ppo-sr", runs.env), ANT_CURVES["ppo-sr"][-1], runs.steps(runs.env, "ppo-sr")
    if runs.env != ANT["full"] or steps < ANT_EPISODES[-1]:
        raise MissingData(f"no runs of {ANT_EPISODES[-1]:,} episodes in the paper's ant maze")
    rule = same(margin_of(float(score.mean()) - UNTRAINED, paper - UNTRAINED))
    return decide(mean_of(score - paper), rule, steps=steps, scale=runs.scale, show=lambda value: number(value + paper))


def seldom(results: Results, method: str) -> Verdict:
    """A method solves the maze in less than half of its runs."""
    runs = Ant(results)
    return runs.fails(method, runs.env, rarely)


def best(results: Results) -> Verdict:
    """Sibling Rivalry ends above every other method."""
    runs = Ant(results)
    others = {label(method): method for method in ("ppo", "ppo-icm", "ddpg-her")}
    return all_of(judged(others, lambda name: runs.more("ppo-sr", others[name], runs.env)))


def oracle_finds(results: Results) -> Verdict:
    """The Grid Oracle finds the goal: its mean success reaches FOUND."""
    runs = Ant(results, "ant-oracle")
    reached = float(runs.curve("success", "ppo-go", runs.env)[1].mean(axis=0).max())
    return may_yet(runs.say(reached >= FOUND, f"at most {reached:.2f}", ["ppo-go"], runs.env), runs.env)


def oracle_less_consistent(results: Results) -> Verdict:
    """A larger share of Sibling Rivalry's runs solves the maze than of the oracle's."""
    runs = Ant(results, "ant-oracle")
    return runs.more_solved("ppo-sr", "ppo-go", runs.env)


def low_level_arrives(results: Results) -> Verdict:
    """The low level, trained, is near more subgoals than before it was, and near at least NEAR of them."""
    runs = Runs(results, "low-level")
    [env] = runs.envs
    steps, (first, last) = runs.steps(env), (of("success", "low-level", env) for of in (runs.first, runs.last))

    def judge(name: str) -> Verdict:
        found = difference(last, first, paired=True) if name == "learns" else mean_of(last)
        return decide(found, above(0.0 if name == "learns" else NEAR), steps=steps, scale=runs.scale)

    return all_of(judged(["learns", "arrives"], judge))


def _final(*methods: str) -> str:
    return " / ".join(f"{ANT_CURVES[method][-1]:g}" for method in methods)


CLAIMS = [
    Claim(
        "fig3-ant-ppo", "fig3", f"Ant maze: PPO with the naive reward never succeeds (at most {NEVER:g} in any "
        "evaluation)", "0 of 5 runs", never, reads="ant",
    ),
    Claim(
        "fig3-ant-trap", "fig3", "Ant maze: PPO ends nearer to the goal than it began, and most of its episodes end "
        "before the wall, in every run, after its first 15 evaluations", "consistently", trap, reads="ant",
    ),
    Claim(
        "fig3-ant-sr", "fig3", f"PPO+SR solves the ant maze in every run (success from {SOLVED:g})", "5 of 5 runs",
        solved, reads="ant",
    ),
    Claim(
        "fig3-ant-sr-final", "fig3", "PPO+SR ends at the paper's success rate in the ant maze", _final("ppo-sr"),
        final_success, reads="ant",
    ),
    Claim(
        "fig3-ant-best", "fig3", "PPO+SR succeeds more often in the ant maze than PPO, PPO+ICM and DDPG+HER",
        f"{_final('ppo-sr')} against {_final('ppo', 'ppo-icm', 'ddpg-her')}", best, reads="ant",
    ),
    Claim(
        "fig3-ant-icm", "fig3", "PPO+ICM solves the ant maze in less than half of the runs", "2 of 5 runs",
        partial(seldom, method="ppo-icm"), reads="ant",
    ),
    Claim(
        "fig3-ant-her", "fig3", "DDPG+HER solves the ant maze in less than half of the runs",
        "3 of 5 runs find the goal, mean 0.23", partial(seldom, method="ddpg-her"), reads="ant",
    ),
    Claim(
        "fig9-ant-finds", "fig9", f"The Grid Oracle finds the goal of the ant maze (mean success reaches {FOUND:g})",
        "yes; side not named", oracle_finds, reads="ant-oracle",
    ),
    Claim(
        "fig9-ant-consistent", "fig9", "PPO+SR solves the ant maze in more of its runs than the oracle",
        "more consistently", oracle_less_consistent, reads="ant-oracle",
    ),
    Claim(
        "own-low-level", "own-low-level", "Without walls the low level of the ant, trained alone, is within 1 of at "
        f"least {NEAR:.0%} of its random subgoals when their time is over, more than before training", "-",
        low_level_arrives, kind="own",
    ),
]  # fmt: skip
