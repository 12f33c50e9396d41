"""How runs of this paper are compared.

*Score.* SAC and TD3 are compared by returns from 16 fixed starts, the same for all runs (`score`); the paper's
evaluations, one episode each, only make replay rewards. Rainbow's evaluations are several games, which are its scores.
The score of a run: the mean of its last LAST scores, or of those of its last fifth if these are fewer. Where the paper
speaks of learning curves: the mean height of all of the curve. Early and late: the first and the last fifth of the rows
of a metric, at least one. Before learning: the scores during the random phase, whose policy is the untrained one.

*The sparse pendulum.* 60 to 85 % of the runs of Fig. 3 end at the task's ceiling, where no sampler can show a gain.
Comparisons registered since then are judged by the height of the curve, with the end beside it; those of Figs. 3 and 4
keep the score that they were registered with.

*Pairs.* Runs of one agent, task and seed share initial networks, exploration noise and the starts of all episodes,
whichever sampler or learning rate they have; so they share all transitions of the random phase, too. RANDOM and NERS
even draw with the same numbers. Hence every comparison of two methods is paired by seed; so is that of two kinds of
draws from one memory. Runs are compared with the paper's numbers unpaired.

*Parts.* A claim is judged for every agent and task that the scale plans and the claim speaks of. An experiment with
fewer than MIN_SEEDS seeds at a scale is for looking, not for judging: its parts count as not run.
"""

import copy
from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from lab.judge.comparisons import Comparison, Judge, Measure, Place, Room, Runs, Score
from lab.judge.results import MissingData
from lab.judge.verdicts import MIN_SEEDS, Learning, Verdict, all_of, learning
from papers.ners.evidence.labels import AGENTS, SAMPLERS, cell, label, score_metric, split, task
from papers.ners.evidence.paper_values import BASELINES, RANDOM_STEPS, STEPS, TABLE1, TABLE2, margin
from papers.ners.evidence.paper_values import SAMPLERS as FOUR
from papers.ners.evidence.plan import CHOSEN_WITH, HOPPER, cells, read_as, seeds

LAST = 10
"""Scores at the end of a run that make its one score. The paper does not say how it reads its curves' ends."""


def fifth(rows: int) -> int:
    """How many rows of a metric are early, and how many late."""
    return max(1, rows // 5)


def last_of(evaluations: int) -> int:
    """How many of a run's evaluations make its score."""
    return min(LAST, fifth(evaluations))


def score(runs: Runs, method: str, env: str) -> np.ndarray:
    """Mean of the last scores of each run, (runs,)."""
    values = runs.curve(score_metric(split(method)[0]), method, env)[1]
    return values[:, -last_of(values.shape[1]) :].mean(axis=1)


def height(runs: Runs, method: str, env: str) -> np.ndarray:
    """Mean height of each run's learning curve, (runs,)."""
    return runs.area(score_metric(split(method)[0]), method, env)


def learns(runs: Runs, method: str, env: str) -> Learning:
    """Whether a method learns, against its scores in the random phase (or the first, where there is none)."""
    steps, values = runs.curve(score_metric(split(method)[0]), method, env)
    count = max(1, int((steps <= RANDOM_STEPS[split(method)[0]]).sum()))
    return learning(values, values[:, :count].mean(axis=1))


def early(metric: str) -> Measure:
    """Mean of a metric in the first part of training."""
    return lambda runs, *side: (values := runs.curve(metric, *side)[1])[:, : fifth(values.shape[1])].mean(axis=1)


def late(metric: str) -> Measure:
    """Mean of a metric in the last part of training."""
    return lambda runs, *side: (values := runs.curve(metric, *side)[1])[:, -fifth(values.shape[1]) :].mean(axis=1)


def places(experiment: str, scale: str) -> list[Place]:
    """The agents and tasks that an experiment has at a scale."""
    count = len(seeds(scale, experiment))
    few = "" if count >= MIN_SEEDS else f"{scale} has {count} seeds of {{}}, a verdict needs {MIN_SEEDS}"
    return [
        Place(cell(agent, env), read_as(experiment), env, prefix=f"{agent} ", missing=few.format(task(env)))
        for agent, env in cells(experiment, scale)
    ]


ROOM = Room(Score(score, gated=True), learning=learns, label=partial(label, short=True), places=places)
THROUGHOUT = Score(height, gated=True)
"""Over all of training, not at its end."""


def together(parts: Mapping[str, Comparison], *, decisive: Iterable[str] = (), margin: float | None = None) -> Judge:
    """Judge of comparisons that say something only together: where one of them was not run, none was."""

    def judge(runs: Runs, env: str) -> Verdict:
        found = {name: runs.compare(*of[:3], env, *of[3:], margin=margin) for name, of in parts.items()}
        return all_of(found, decisive=decisive)

    return judge


def beyond(x: str, sign: str, others: Iterable[str], by: Score = ROOM.score, *, margin: float | None = None) -> Judge:
    """Judge of a superlative: it holds where it does against each other sampler, and fails where it fails against one.

    To be compared with the best of several is the same question, but the best of several noisy means is too good.
    """
    parts = {SAMPLERS[other]: (x, sign, other, by) for other in others}
    return together(parts, decisive=parts, margin=margin)


def unseen(runs: Runs, env: str) -> Runs:
    """The same runs, of TD3 on Hopper without the seeds by which its learning rate was chosen there; MissingData when
    nothing is left."""
    if (runs.prefix, env) != ("td3 ", HOPPER):
        return runs
    other = copy.copy(runs)
    other._curves, other._learns = {}, {}  # those of all seeds are not its own
    kept = {pair: rows[~rows["seed"].isin(CHOSEN_WITH)] for pair, rows in runs.groups.items()}
    other.groups = {pair: rows for pair, rows in kept.items() if len(rows)}
    if not other.groups:
        raise MissingData(f"{runs.scale} has no other seeds of {runs.experiment} than those that chose the setting")
    return other


# ---- beside the paper's numbers --------------------------------------------------------------------------------------

TABLES = {"table1": TABLE1, "table2": TABLE2}
CLOSE = 0.25
"""Difference that counts as none where our numbers are compared with the paper's, as a share of these."""


def printed(runs: Runs, env: str, samplers: Iterable[str]) -> dict[str, float]:
    """The paper's numbers for an agent and a task; MissingData when our runs are shorter than the paper's."""
    if min(runs.steps(env, runs.prefix + sampler) for sampler in samplers) < STEPS[runs.experiment]:
        raise MissingData(f"no runs of {runs.experiment} as long as the paper's")
    return TABLES[runs.experiment][runs.prefix.strip(), env]


def half_the_margin(runs: Runs, env: str) -> Verdict:
    """NERS is above each baseline by more than half of what it is above the best one in the paper."""
    return beyond("ners", ">", BASELINES, margin=margin(printed(runs, env, FOUR)) / 2)(runs, env)


def random_as_printed(runs: Runs, env: str) -> Verdict:
    """RANDOM's score is the paper's, to within CLOSE of it, by seeds that did not choose a rate for being near it."""
    theirs = printed(runs, env, ("random",))["random"]
    away = Score(lambda runs, method, env: score(runs, method, env) - theirs)
    return unseen(runs, env).compare("random", "==", 0.0, env, away, margin=CLOSE * abs(theirs))


def lower_rate_is_better(runs: Runs, env: str) -> Verdict:
    """TD3 ends higher with the default learning rate than with the one that the paper prints."""
    return unseen(runs, env).compare("lr 0.001", ">", "lr 0.005", env)


# ---- the paper against itself ----------------------------------------------------------------------------------------


def ordering(table: dict[tuple[str, str], dict[str, float]], x: str, y: str) -> str:
    """In how many cells of a table of the paper x is above y."""
    return f"{sum(row[x] > row[y] for row in table.values())} of {len(table)} cells"


def ero_apart(table: dict[tuple[str, str], dict[str, float]]) -> str:
    """How far ERO is from RANDOM in the paper's own table: the cell where it is most, as a share of the larger."""
    apart = {c: abs(row["ero"] - row["random"]) / max(abs(row["ero"]), abs(row["random"])) for c, row in table.items()}
    agent, env = max(apart, key=lambda cell: apart[cell])
    return f"up to {apart[agent, env]:.0%} apart ({AGENTS[agent]} {task(env)})"
