"""How runs of this paper are compared.

*Score.* The paper's statements are about sample efficiency, so a run's score is the area under its curve of normalised
return: the mean height between the first and the last evaluation.

*Pairs.* Whatever the method, runs of one seed share the levels they train on, the draws of exploration, the first
weights of the network, and the levels of every evaluation; on NChain the data set and the first table. Comparisons
within a task are therefore paired by seed, those between two tasks are not. (This was set before the runs. Scores of
equal seeds turned out to correlate by 0.3 on MiniGrid and not at all on Sokoban, where pairing only costs certainty.)

*Before learning.* The evaluation at step 0: the untrained network, played like all others (greedy, 5 % random actions).

*Steps.* Where some runs of a task are planned shorter than others, all of them are judged by what the shortest has.

*Parts.* The tasks that an experiment runs at a scale; where these are but a part of what the paper runs, all of the
paper's, so that the rest counts as not run. Comparisons that are not planned in a task are no parts.
"""

import functools
from collections.abc import Iterable

from lab.judge.comparisons import Compare, Place, Room, Score, Side, area, last
from papers.ter.evidence.experiments import EXPERIMENTS
from papers.ter.evidence.labels import label

METRIC = "normalized_return"
LAST = 3
"""Evaluations whose mean is the end of a curve."""


@functools.cache
def places(experiment: str, scale: str) -> list[Place]:
    """The tasks that a claim is about, in order."""

    def sides(scale: str) -> dict[Side, None]:
        return dict.fromkeys((entry.method, entry.env) for entry in EXPERIMENTS[experiment](scale))

    about = sides("full") if sides(scale).keys() <= sides("full").keys() else sides(scale)
    return [Place(env, experiment, env, sides=about.keys()) for env in dict.fromkeys(env for _, env in about)]


@functools.cache
def until(experiment: str, scale: str) -> dict[str, int]:
    """Tasks with runs of different length, and the steps of the shortest."""
    planned: dict[str, set[int]] = {}
    for entry in EXPERIMENTS[experiment](scale):
        planned.setdefault(entry.env, set()).add(getattr(entry.config, "steps", 0))
    return {env: min(steps) for env, steps in planned.items() if len(steps) > 1}


ROOM = Room(
    Score(area(METRIC), gated=True),
    learning=lambda runs, method, env: runs.learning(METRIC, method, env),
    label=label,
    places=places,
    until=until,
    paired=lambda x, y: x != y,  # else one method on two tasks
)
OVERESTIMATION = Score(last("q_overestimation", LAST), gated=lambda value: value < 0)
"""(mean Q - R_max) / R_max at the end. A mean Q below R_max says something only where the method learns: until then
returns are small, too."""


def contest(of: str, sign: str, pairs: Iterable[tuple[str, str]], **how) -> Compare:
    """Check that x `sign` y for each pair of methods, in every task; how: see lab.judge.comparisons.Compare."""
    return ROOM.all({f"{label(x)} vs {label(y)}": (x, sign, y) for x, y in pairs}, of=of, **how)
